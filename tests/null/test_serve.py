"""Queries under load on the fake framework, whose service takes a fixed time: queueing theory knows the rest."""

import math
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from photofinish import api
from photofinish.cli import run
from photofinish.errors import UsageError
from photofinish.frameworks import AWAKE, Contestant, Setup
from photofinish.measure.engine import Engine
from photofinish.render import html
from photofinish.render.quantities import plain
from photofinish.reports import json as reports_json
from photofinish.reports import verdict as verdict_report
from photofinish.runner.answers import complaint
from photofinish.runner.arrange import make_case, open_course, tasks_of
from photofinish.runner.course import Patience
from photofinish.runner.serving import arrivals
from photofinish.store import Store
from photofinish.values import Contender, Progress, Result

MODEL = str(Path(__file__).parent / "tiny.py") + ":tiny"
QUICK = "fake:steady[noise=0,step=0.03]"  # answers a query in 10 ms
SLOW = "fake:steady[noise=0,step=0.06]"  # in 20 ms


class Clerk:
    """Answers each query in the time that its script has for it, and has the rest of what the engine asks for."""

    def __init__(self, *service: float) -> None:
        self.service, self.now, self.asked = service, 0.0, -1  # the first is the untimed one
        self.clock = lambda: self.now

    def put(self, arrays: Any) -> None:
        pass

    def infer(self, batch: Any) -> None:
        self.now += self.service[max(0, self.asked) % len(self.service)]
        self.asked += 1

    train_step = infer

    def wait(self, handle: Any) -> None:
        pass

    def read(self, handle: Any) -> dict[str, np.ndarray]:
        return {"output/x": np.zeros(1)}

    def rest_until(self, moment: float) -> None:
        self.now = max(self.now, moment)


def engine(*service: float) -> Engine:
    return Engine(Clerk(*service), {}, [None])


@pytest.mark.parametrize("busy", [0.3, 0.6, 0.85])
def test_random_arrivals_wait_as_lindley_and_pollaczek_have_it(busy: float) -> None:
    count, service = 60_000, 0.01
    moments = arrivals(busy / service, count, (7,))
    found = engine(service).serve(count, moments.tolist())
    waits = np.array(found["seconds"]) - service
    expected = [0.0]
    for gap in np.diff(moments):  # Lindley's recursion (1952), which holds for every single query
        expected.append(max(0.0, expected[-1] + service - gap))
    assert np.allclose(waits, expected, rtol=0, atol=1e-9)
    assert np.mean(waits) == pytest.approx(busy * service / (2 * (1 - busy)), rel=0.1)  # M/D/1
    assert np.mean(waits > 1e-9) == pytest.approx(busy, abs=0.02)  # Poisson arrivals see time averages
    assert found["wall"] == pytest.approx(moments[-1], rel=0.01)


def test_a_pause_is_paid_for_by_all_who_come_in_it() -> None:
    """Coordinated omission: from when it was taken up, one query of a hundred would have seen it."""
    service = [0.001] * 100
    service[10] = 1.0
    found = engine(*service).serve(100, [0.01 * number for number in range(100)])
    assert sum(each > 0.1 for each in found["service"]) == 1
    assert sum(each > 0.1 for each in found["seconds"]) > 85
    assert found["seconds"][11] == pytest.approx(0.991, abs=1e-9)


@pytest.mark.parametrize("clients", [1, 4])
def test_clients_who_wait_ask_no_faster_than_they_are_answered(clients: int) -> None:
    found = engine(0.01).serve(40, clients=clients)
    assert found["seconds"][clients:] == pytest.approx([0.01 * clients] * (40 - clients))
    assert found["wall"] == pytest.approx(0.4)


def test_nobody_is_served_before_he_comes() -> None:
    found = engine(0.01).serve(2, [5.0, 9.0])
    assert found["seconds"] == pytest.approx([0.01, 0.01]) and found["wall"] == pytest.approx(9.01)


def test_a_contender_rests_until_the_moment_and_not_longer_than_it_must() -> None:
    contestant = Contestant(Setup("none"))
    moment = contestant.clock() + 3 * AWAKE
    contestant.rest_until(moment)
    assert contestant.clock() >= moment
    contestant.rest_until(moment - 1000)  # a moment that is over is not waited for


@pytest.mark.parametrize(("seconds", "service", "said"), [
    ([0.1], [0.1], "1 latencies and 1 times"), ([0.1, 0.1], [0.1], "2 latencies and 1 times"),
    ([0.1, -0.1], [0.1, 0.1], "-0.1"), ([0.1, 0.1], None, "lacks service")])
def test_an_answer_that_makes_no_sense_is_told(seconds: list[float], service: list[float] | None, said: str) -> None:
    reply = {"memory": 0, "device_memory": None, "seconds": seconds, "cpu": 0.1, "wall": 0.2, "faults": 0,
             "foreign": None, "resume": 0.1, "loss": None, **({} if service is None else {"service": service})}
    assert said in complaint("serve", {"queries": 2}, reply)


def test_arrivals_are_the_same_for_the_same_seed() -> None:
    assert np.array_equal(arrivals(20, 50, (1, 2, 3)), arrivals(20, 50, (1, 2, 3)))
    assert not np.array_equal(arrivals(20, 50, (1, 2, 3)), arrivals(20, 50, (1, 2, 4)))
    gaps = np.diff(arrivals(20, 100_000, (1,)))
    assert np.mean(gaps) == pytest.approx(0.05, rel=0.02) and np.std(gaps) == pytest.approx(0.05, rel=0.02)


def serve(store: Path, *contenders: str, **options: object) -> Result:
    settings: dict[str, object] = {"rate": 30.0, "seed": 1, "store": store, "certify": False}
    (result,) = api.serve(MODEL, contenders, **{**settings, **options})  # type: ignore[arg-type]
    return result


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return serve(tmp_path_factory.mktemp("store"), QUICK, SLOW, queries=600, launches=3, certify=True)


def test_who_serves_quicker_has_the_lower_latency(result: Result) -> None:
    (verdict,) = result.verdicts
    assert verdict.verdict == "FASTER" and verdict.ratio is not None and verdict.ratio > 2  # 2 by service alone
    assert "answers queries to" in plain(verdict_report.sentence(result))
    told = {each["name"]: each["serving"] for each in reports_json.race(result)["contenders"]}
    for name, service in ((QUICK, 0.01), (SLOW, 0.02)):
        found = told[name]
        assert found["queries"] == 600 and found["seconds_of_service"] == pytest.approx(service)
        assert found["offered"] == pytest.approx(30 * service)
        assert found["busy"] == pytest.approx(30 * service, rel=0.15)
        assert found["expected_waiting"] == pytest.approx(30 * service**2 / (2 * (1 - 30 * service)))
        assert found["waiting"] == pytest.approx(found["expected_waiting"], rel=0.5)  # of six hundred, correlated
    assert all(result.comparable for each in [result])


def test_both_meet_the_same_arrivals(result: Result) -> None:
    """The quicker one's queries come when the slower one's do: both leave at the arrival plus the latency."""
    blocks = {(each.launch, each.round, each.contender): each for each in result.race.blocks}
    for (launch, turn, name), block in blocks.items():
        if name == QUICK:
            other = blocks[launch, turn, SLOW]
            assert block.wall is not None and other.wall is not None
            assert block.wall - block.seconds[-1] == pytest.approx(other.wall - other.seconds[-1], abs=1e-6)


def test_its_json_conforms_to_the_schema_and_its_report_is_drawn(result: Result) -> None:
    found = reports_json.race(result)
    jsonschema.validate(found, reports_json.schema("race"), cls=jsonschema.Draft202012Validator)
    outcome = api.Outcome([result])
    assert "Latency under load" in html.render(outcome.documents()) and "Latency under load" in str(outcome)
    assert "Khinchine" in str(outcome)
    frame = outcome.to_pandas()
    assert list(frame["latency"]) == [each.time.value for each in result.standings if each.time]


def test_it_stops_when_the_bound_is_decided(tmp_path: Path) -> None:
    """1,036 queries are planned; 619 are enough if none is late."""
    found = serve(tmp_path, QUICK, rate=None, clients=2, latency=0.1)
    (told,) = reports_json.race(found)["contenders"]
    assert told["serving"]["claim"]["word"] == "MET" and len(found.race.launches) < 5
    for block in found.race.blocks:  # without the first answer of each, which nobody waits for
        assert block.seconds == pytest.approx([0.02] * len(block.seconds)) and len(block.seconds) == len(block.service)
        assert block.wall == pytest.approx(sum(block.service))
    assert "99 % of the queries within 100 ms" in str(api.Outcome([found]))
    missed = serve(tmp_path, QUICK, rate=None, clients=2, latency=0.015)
    (told,) = reports_json.race(missed)["contenders"]
    assert told["serving"]["claim"]["word"] == "MISSED" and len(missed.race.launches) == 2
    assert told["serving"]["expected_waiting"] is None and "Khinchine" not in str(api.Outcome([missed]))


@pytest.mark.parametrize(("task", "trains"), [("infer", False), ("serve", False), ("train", True), ("fit", True)])
def test_an_optimizer_is_for_who_trains(tmp_path: Path, task: str, trains: bool) -> None:
    graph, case, optimizer = make_case(MODEL, 1, None, None, "", "matched", "cpu", None)
    with open_course(Store(tmp_path), {task: case}, graph, optimizer, [], lambda *records: None, 0) as course:
        assert (course.build_arguments()["optimizer"] is not None) == trains


def test_a_budget_too_small_for_two_launches_is_said_to_be(tmp_path: Path) -> None:
    told: list[Progress] = []
    found = serve(tmp_path, QUICK, SLOW, queries=90, launches=3, budget=0.01, listener=told.append)
    assert len(found.race.launches) == 2
    assert [each.text.partition(";")[0] for each in told if "overrun" in each.text] == ["launch 2"]


def test_who_waits_for_queries_is_not_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """How long nobody comes is ours to know; a contender is timed out for what it takes itself."""
    patience = Patience(serve=0.7)
    monkeypatch.setattr(Patience, "of", lambda seconds: patience)
    found = serve(tmp_path, "numpy", rate=4.0, queries=16, launches=2, energy=False)
    assert found.race.failures == ()
    assert max(each.wall or 0.0 for each in found.race.blocks) > patience.serve


def test_who_cannot_keep_up_is_told(tmp_path: Path) -> None:
    found = serve(tmp_path, SLOW, rate=60.0, queries=200, launches=2)
    assert "cannot keep up" in str(api.Outcome([found]))
    assert found.race.blocks[0].seconds[-1] > found.race.blocks[0].seconds[0]


@pytest.mark.parametrize(("options", "said"), [
    ({"rate": None}, "--rate 20 or --clients 4"), ({"clients": 3}, "--rate 20 or --clients 4"), ({"rate": -1.0}, "-1"),
    ({"rate": math.nan}, "nan queries or clients are no load"), ({"rate": math.inf}, "inf queries"),
    ({"share": 1.0}, "--share 99%"), ({"confidence": 1.0}, "--confidence 99%"),
    ({"queries": 3, "launches": 2}, "3 queries are fewer than the 4 stretches")])
def test_wrong_use_is_told(tmp_path: Path, options: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        serve(tmp_path, QUICK, **options)
    with pytest.raises(UsageError, match="photofinish serve"):
        api.race(MODEL, [QUICK, SLOW], "serve", store=tmp_path)


def test_who_has_no_such_worker_is_left_out_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert "serve" in tasks_of(Contender.parse("fake:forward"))
    assert "serve" not in tasks_of(Contender.parse("tfjs:wasm"))
    assert run(["serve", "digits_cnn", "-c", "tfjs:wasm", "--rate", "5"]) == 2
    assert "no queries under a load" in capsys.readouterr().err
