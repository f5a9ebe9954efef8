"""The largest batch that fits, on the fake framework: real processes, and in part a real limit."""

from pathlib import Path

import jsonschema
import pytest

from photofinish import api
from photofinish.errors import UsageError
from photofinish.reports.json import largest_batches, schema
from photofinish.reports.json import race as race_object
from photofinish.stats import plan
from photofinish.stats.largest import MOST_TRIALS
from photofinish.values import LargestBatch, Progress

MODEL = str(Path(__file__).parent / "tiny.py") + ":tiny"
MIB = 2**20
SMALL, LARGE, NONE = "fake:steady[fits=3]", "fake:steady[fits=33]", "fake:steady[fits=0]"


def find(store: Path, *contenders: str, **options: object) -> dict[str, LargestBatch]:
    found = api.largest_batch(MODEL, contenders, store=store, **options)  # type: ignore[arg-type]
    jsonschema.validate(largest_batches(found.model, found.digest, found.task, found.contenders, found.failures),
                        schema("largest_batch"))
    assert not found.failures
    return {each.contender: each for each in found.contenders}


def test_who_runs_out_of_memory_is_no_failure(tmp_path: Path) -> None:
    told: list[str] = []
    found = find(tmp_path, SMALL, LARGE, NONE, listener=lambda progress: told.append(progress.text))
    assert f"largest batch of {NONE}: trying 1 (trial 2 of up to 12)" in told  # and not that "0 fits", after 2 did not
    assert {name: (each.batch, each.beyond, each.exact) for name, each in found.items()} == {
        SMALL: (3, 4, True), LARGE: (32, 34, True), NONE: (0, 1, True)}
    for each in found.values():
        assert len(each.trials) <= MOST_TRIALS and {trial.kind for trial in each.trials} <= {"", "out of memory"}


def test_under_a_limit_of_the_system_it_is_the_same_each_time(tmp_path: Path) -> None:
    heavy, item = "fake:steady[item=32]", 32 * MIB
    first, second = (find(tmp_path, heavy, memory_limit=512 * MIB, again=True)[heavy] for _ in range(2))
    assert first.exact and (first.batch, first.beyond) == (second.batch, second.beyond)
    assert first.batch * item < 512 * MIB and first.beyond and first.beyond * item > 256 * MIB
    assert all(trial.held in ("cgroup", "RLIMIT_DATA") for trial in first.trials)


def test_a_search_that_is_stopped_goes_on(tmp_path: Path) -> None:
    tried: list[str] = []

    def stop_at_the_third(progress: Progress) -> None:
        if "trying" in progress.text:
            tried.append(progress.text)
            if len(tried) == 3:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        find(tmp_path, LARGE, listener=stop_at_the_third)
    found = find(tmp_path, LARGE, listener=lambda progress: tried.append(progress.text))[LARGE]
    assert sum("trying" in text for text in tried) == len(found.trials) + 1  # the third, twice
    tried.clear()
    assert find(tmp_path, LARGE, listener=lambda progress: tried.append(progress.text))[LARGE] == found
    assert not any("trying" in text for text in tried)


def test_a_race_at_the_smallest_of_the_largest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "MOST_ROUNDS", 2)  # the clock is scripted
    (result,) = api.race(MODEL, [SMALL, LARGE, NONE], batch="max", launches=1, seed=1, store=tmp_path, certify=False)
    assert result.race.case.batch == 3 and result.race.contenders == (SMALL, LARGE)
    assert [(each.contender, each.batch) for each in result.race.largest] == [(SMALL, 3), (LARGE, 32), (NONE, 0)]
    assert [each.contender for each in result.race.skipped] == [NONE]
    assert "largest batch that fits" in str(api.Outcome([result]))
    jsonschema.validate(race_object(result), schema("race"))


@pytest.mark.parametrize(("options", "said"), [
    ({"batch": "most"}, "no|not a batch"), ({"memory_limit": MIB}, "a search for the largest batch"),
    ({"batch": "max", "contenders": [SMALL, NONE]}, "fewer than two contenders are left"),
    ({"batch": "max", "memory_limit": MIB, "device": "cuda"}, "the device's own memory")])
def test_what_makes_no_sense_is_said(tmp_path: Path, options: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        api.race(MODEL, **{"contenders": [SMALL, LARGE], "store": tmp_path, **options})  # type: ignore[arg-type]
