"""A history and a search on the fake framework, whose speeds are scripted release by release."""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from photofinish import api
from photofinish.errors import UsageError
from photofinish.study import PlannedRace
from photofinish.timeline import FOUND, SEARCHING, Search
from photofinish.timeline.versions import Dated
from photofinish.values import Progress
from photofinish.verbs import study, timeline
from photofinish.verbs.timeline import Races

pytestmark = pytest.mark.usefixtures("few_rounds")
MODEL = str(Path(__file__).parent / "tiny.py") + ":tiny"
SPEEDS = {"1.0": 0.0100, "1.1": 0.0101, "2.0": 0.0130}


def scripted() -> list[Dated]:
    return [Dated(f"fake:steady[noise=0.001,step={step}]", "fake:steady", version, date(2020 + i, 1, 1))
            for i, (version, step) in enumerate(SPEEDS.items())]


def races(store: Path, group: str = "bisection", budget: float = 60.0, **changes: object) -> Races:
    asked = PlannedRace(group, MODEL, ("train",), (), batch=8, launches=2, budget=budget)
    return Races(asked, store, **changes)  # type: ignore[arg-type]


def last(versions: Sequence[Dated], racing: Races) -> Search:
    return list(timeline.search(versions, racing))[-1]


def test_stopped_by_hand_a_search_goes_on_and_finds_the_release_that_got_slower(tmp_path: Path) -> None:
    versions, seen = scripted(), []

    def stop(progress: Progress) -> None:
        if seen and progress.stage == "block":  # of the second race
            raise KeyboardInterrupt
    with pytest.raises(api.Interrupted):
        for search in timeline.search(versions, races(tmp_path, listener=stop)):
            seen.append(search)
    assert [each.outcome for each in seen] == [SEARCHING]
    found = last(versions, races(tmp_path))
    assert found.outcome == FOUND and [each.version for each in found.bracket] == ["1.1", "2.0"]
    assert found.ends == seen[0].ends  # not raced again
    assert found.change is not None and found.change.ratio == pytest.approx(0.0130 / 0.0101, rel=0.01)
    again = last(versions, races(tmp_path, listener=stop))
    assert again == found


def test_what_was_raced_is_kept_as_of_the_model_it_was_raced_on(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(before := Path(MODEL.partition(":")[0]).read_text())
    asked = replace(races(tmp_path, "history").asked, model=f"{file}:tiny")

    def edit(progress: Progress) -> None:
        file.write_text(before + "# edited\n")
    raced = timeline.history(scripted()[::2], Races(asked, tmp_path, listener=edit)).results
    file.write_text(before)
    assert timeline.history(scripted()[::2], Races(asked, tmp_path)).results == raced


def test_stopped_while_an_environment_is_made_a_search_shows_what_it_knows(
        store: Path, monkeypatch: pytest.MonkeyPatch, command: Callable[..., Any]) -> None:
    last(scripted(), races(store))
    asked: list[Sequence[str]] = []

    def stop(self: Races, contenders: Sequence[str]) -> tuple[Sequence[str], tuple[()]]:
        asked.append(contenders)
        if len(asked) > 1:  # of the version in the middle
            raise KeyboardInterrupt
        return contenders, ()
    monkeypatch.setattr(Races, "available", stop)
    monkeypatch.setattr("photofinish.timeline.versions.between", lambda *ends, **options: scripted())
    found = command("bisect", MODEL, "--framework", "fake", "--good", "1.0", "--bad", "2.0", "--store", str(store),
                    *MEASURING)
    assert found.code == 130 and "goes on from here" in found.err
    assert json.loads(found.out)["outcome"] == SEARCHING


def test_a_larger_budget_does_not_race_again_what_is_decided(store: Path) -> None:
    before = last(scripted(), races(store))
    assert last(scripted(), races(store, budget=90.0)) == before


def test_a_history_races_those_that_can_be_had(store: Path) -> None:
    versions = scripted()[::2]
    absent = Dated("fake@9.9:steady", "fake:steady", "9.9", date(2029, 1, 1))
    found = timeline.history([*versions, absent], races(store, "history"))
    assert [each.contender for each in found.skipped] == [absent.contender] and found.skipped[0].reason
    (result,) = found.results
    assert result.comparable and set(result.race.contenders) == {each.contender for each in versions}
    assert timeline.history([*versions, absent], races(store, "history")).results == found.results  # from the store


def test_a_history_of_fewer_than_two_is_refused(store: Path) -> None:
    absent = [Dated(f"fake@9.{i}:steady", "fake:steady", f"9.{i}", date(2029, 1, 1)) for i in range(2)]
    for versions, said in (([], "no version can run"), ([scripted()[0], *absent], "two versions that can run here")):
        with pytest.raises(UsageError, match=said):
            timeline.history(versions, races(store))


def test_what_was_raced_in_one_environment_is_not_shown_for_another(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By whatever path an environment is named."""
    one, other = (tmp_path / name / "bin" / "python" for name in ("one", "other"))
    for python in (one, other):
        python.parent.mkdir(parents=True)
        python.symlink_to(sys.executable)
    monkeypatch.chdir(tmp_path)
    keys, asked = [], races(tmp_path)
    for environments in ((), (f"fake={tmp_path / 'one'}",), ("fake=./one",), ("fake=other",)):
        found = replace(asked, environments=environments)
        monkeypatch.setattr(study, "race", lambda planned, **_: keys.append(planned.key) or "20200101-0")
        monkeypatch.setattr(api, "load", lambda session, store: ())
        found.results(["a", "b"])
    assert keys[0] == replace(asked.asked, contenders=("a", "b")).key  # what was raced before is found
    assert keys[1] == keys[2] and len(set(keys)) == 3


MEASURING = ("--batch", "8", "--launches", "2", "--budget", "60s", "--quiet", "--json")


def test_the_commands_show_what_is_in_the_store(store: Path, monkeypatch: pytest.MonkeyPatch,
                                                command: Callable[..., Any]) -> None:
    """Nothing is raced again."""
    last(scripted(), races(store))
    timeline.history(scripted()[::2], races(store, "history"))
    monkeypatch.setattr("photofinish.timeline.versions.choose", lambda *lines, **options: scripted()[::2])
    monkeypatch.setattr("photofinish.timeline.versions.between", lambda *ends, **options: scripted())
    monkeypatch.setattr(api, "race", None)
    found = command("bisect", MODEL, "--framework", "fake", "--good", "1.0", "--bad", "2.0", "--store", str(store),
                    *MEASURING)
    assert found.code == 0 and json.loads(found.out)["slow"] == "2.0"
    shown = command("history", MODEL, "--framework", "fake", "--store", str(store), *MEASURING)
    assert shown.code == 0 and [each["version"] for each in json.loads(shown.out)[0]["versions"]] == ["1.0", "2.0"]
    for told in (found, shown):
        assert told.err.count("shown again from the store") == 1 and "another machine" not in told.err
    monkeypatch.setattr("photofinish.reports.provenance.facts", lambda: {"cpu": "another"})
    for verb in (("bisect", "--good", "1.0", "--bad", "2.0"), ("history",)):
        warned = command(verb[0], MODEL, "--framework", "fake", *verb[1:], "--store", str(store), *MEASURING)
        assert warned.code == 0 and "Warning: races in this store were run on another machine (1 on " in warned.err
    refused = command("bisect", MODEL, "--framework", "fake", "--good", "1.0")
    assert refused.code == 2 and "--bad" in refused.err
