"""Sweeps over batches on the fake framework, whose step takes a fixed time and so much more for each sample."""

import csv
import io
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest

from photofinish import api
from photofinish.cli import run
from photofinish.errors import UsageError
from photofinish.outcome import Sweep
from photofinish.render import html
from photofinish.reports import json as reports_json
from photofinish.runner.sweep import Sweep as Passes
from photofinish.store import Store
from photofinish.values import Progress

MODEL = str(Path(__file__).parent / "tiny.py") + ":tiny"
EARLY = "fake:steady[noise=0.002,sample=0.03,step=0.03]"  # infers in 10 + 10 batch ms: the knee is at 16
STEEP = "fake:steady[noise=0.002,sample=0.03,step=3]"  # in 1000 + 10 batch ms: never flat up to 32
BATCHES = (8, 16, 32)


def sweep(store: Path, *contenders: str, **options: object) -> Sweep:
    settings: dict[str, object] = {"batches": BATCHES, "launches": 2, "seed": 1, "store": store}
    return api.sweep(MODEL, contenders, **{**settings, **options})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def found(store: Path) -> Sweep:
    return sweep(store, EARLY, STEEP, latency=0.2)


def test_models_side_by_side_may_have_a_word_in_common(tmp_path: Path) -> None:
    """Its last one names their races, unless that would be one name for both."""
    found = api.side_by_side({"my net": MODEL, "your net": MODEL}, ["fake"], launches=1, batch=2, certify=False,
                             store=tmp_path)
    assert len({each.race.id for each in found}) == 2


def test_what_one_of_the_races_cannot_be_is_told_before_any_is_stored(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot share a batch of 9"):
        sweep(tmp_path, "fake:steady+mean[2]", EARLY, task="train", batches=(8, 9), threads=2)
    assert Store(tmp_path, only_read=True).sessions() == []


def test_the_knees_and_the_best_batches_are_those_of_the_script(found: Sweep) -> None:
    early, steep = found.to_json()[0]["curves"]
    assert early["knee"] == {"batch": 16, "low": 16, "high": 16, "launches": 2}
    assert steep["knee"] == {"batch": None, "low": None, "high": None, "launches": 2}
    assert early["best"] == 16  # 170 ms; 330 ms at 32 are too long
    assert steep["best"] is None and {each["within"]["word"] for each in steep["points"]} == {"MISSED"}
    for curve, fixed in ((early, 0.01), (steep, 1.0)):
        for point in curve["points"]:
            batch = point["batch"]
            step = fixed + batch * 0.01
            assert point["seconds_per_step"]["value"] == pytest.approx(step, rel=0.01)
            assert point["seconds_per_sample"]["value"] == pytest.approx(step / batch, rel=0.01)
            assert point["throughput"]["value"] == pytest.approx(batch / step, rel=0.01)
            assert point["latency"]["p90"]["value"] == pytest.approx(step, rel=0.02)
        assert curve["trend"]["doubling"]["low"] > 1
    assert early["points"][0]["gain"] is None


def test_its_json_conforms_to_the_schema_and_its_table_has_a_row_for_each(found: Sweep) -> None:
    jsonschema.validate(found.to_json()[0], reports_json.schema("sweep"), cls=jsonschema.Draft202012Validator)
    frame = found.to_pandas()
    assert len(frame) == 2 * len(BATCHES) and set(frame["contender"]) == {EARLY, STEEP}
    assert len(found.to_pandas(samples=True)) > 10 * len(frame)
    assert "photofinish" in html.render(found.documents()).lower()


def test_every_batch_is_certified_by_one_proof(found: Sweep) -> None:
    assert all(result.comparable for result in found)
    certificates = [each for result in found for each in result.race.certificates]
    assert len(certificates) == 2 * len(BATCHES) and all(each.passed for each in certificates)
    assert [result.race.certificates[0].reused for result in found] == [False, True, True]
    assert "not proven apart" in str(found)


class Noted:
    """A session that notes its launches."""

    def __init__(self, batch: str, seen: list[tuple[int, str]]) -> None:
        self.batch, self.seen, self.course = batch, seen, SimpleNamespace(contested=True)
        self.begin = 0.0  # long before the first launch, as where proofs take hours

    def prepare(self, rehearse: Callable[[], None]) -> None:
        rehearse()

    def launch(self, number: int, rounds: int) -> None:
        self.seen.append((number, self.batch))

    def tell(self, done: int, planned: int) -> None:
        pass


@pytest.mark.parametrize(("budget", "launches", "passes"), [(0.0, None, 2), (60.0, None, 6), (0.0, 8, 8)])
def test_passes_take_the_batches_in_an_order_of_their_own(budget: float, launches: int | None, passes: int) -> None:
    rehearsed: list[str] = []
    seen: list[tuple[int, str]] = []
    sessions = {batch: Noted(batch, seen) for batch in "1248"}
    told: list[Progress] = []
    Passes(sessions, budget, launches, 1, told.append).run(  # type: ignore[arg-type]
        {batch: partial(rehearsed.append, batch) for batch in sessions})
    assert rehearsed == list(sessions) and [number for number, _ in seen] == sorted([*range(1, passes + 1)] * 4)
    orders = [[batch for number, batch in seen if number == each] for each in range(1, passes + 1)]
    assert all(sorted(each) == rehearsed for each in orders) and orders[0] == orders[1][::-1]
    assert passes == 2 or len({*map(tuple, orders)}) > 2
    assert len(told) == passes
    assert len({each.begin for each in sessions.values()} | {0.0}) == 2  # all tell what is left of the same budget
    assert any("overrun" in each.text for each in told) is (passes == 2)


def test_it_can_be_read_again_with_another_bound(store: Path, found: Sweep) -> None:
    session = found[0].race.id.rsplit("-", 2)[0]
    again = api.load(session, store, latency=0.1)
    assert isinstance(again, Sweep) and again.to_json()[0]["curves"][0]["best"] == 8
    with pytest.raises(UsageError, match="leave --latency out"):
        api.load(found[0].race.id, store, latency=0.1)
    assert not isinstance(api.load(found[0].race.id, store), Sweep)


def test_the_shell_says_the_same(store: Path, found: Sweep, capsys: pytest.CaptureFixture[str]) -> None:
    session = found[0].race.id.rsplit("-", 2)[0]
    assert run(["report", session, "--store", str(store), "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["Batch"] for row in rows if row["Contender"] == EARLY] == list(map(str, BATCHES))
    assert run(["report", session, "--store", str(store), "--json", "--latency", "200ms"]) == 0
    assert json.loads(capsys.readouterr().out)["curves"][0]["best"] == 16


@pytest.mark.parametrize(("options", "said"), [
    ({"batches": (8,)}, "two batches"), ({"batches": (0, 8)}, "two batches"), ({"task": "fit"}, "infer")])
def test_wrong_use_is_told(tmp_path: Path, options: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        sweep(tmp_path, EARLY, **options)


@pytest.mark.parametrize(("text", "sizes"), [("1..32", (1, 2, 4, 8, 16, 32)), ("1,3, 8", (1, 3, 8)),
                                             ("3..20", (3, 4, 8, 16, 20)), ("1..4,100", (1, 2, 4, 100))])
def test_batches_are_read_as_they_are_written(text: str, sizes: tuple[int, ...]) -> None:
    from photofinish.cli.options import Batches
    assert Batches().convert(text, None, None) == sizes


@pytest.mark.parametrize(("text", "said"), [
    ("8..1", "the other way round"),
    *((text, "write 1..32 or 1,2,4,8") for text in ("", "0..4", "1..", "a", "1,,2", "1...4", "-1"))])
def test_what_is_no_batch_is_told_the_form(text: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sweep", "digits_cnn", "--batch", text]) == 2
    assert said in capsys.readouterr().err
