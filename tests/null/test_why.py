"""Explanations on the fake framework: a planted cause found, a placebo without one, a layer that fails, a stop by
hand."""

import json
import os
import re
import shlex
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import photofinish
from photofinish.cli import factors, flip
from photofinish.errors import Stopped
from photofinish.explain import Explanation, roofline
from photofinish.explain.causes import LAYER, PLACE, SETTING
from photofinish.render.quantities import plain
from photofinish.reports import why as report
from photofinish.reports.json import schema
from photofinish.runner import layers, process
from photofinish.values import Contender, Progress
from photofinish.verbs import why

MODEL = str(Path(__file__).parent / "tiny.py") + ":tiny"
PLAIN, SLOW = "fake:steady[node=0.01,noise=0.001]", "fake:steady[node=0.01,noise=0.001,slow=BatchNorm:3]"
NODE = 0.01


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is scripted: more rounds cost real time and say the same."""
    monkeypatch.setattr(layers, "ROUNDS", 2)
    monkeypatch.setattr(roofline, "WIDTH", 8)
    monkeypatch.setattr(roofline, "ROWS", 8)
    monkeypatch.setattr(roofline, "STREAMED", 64)


def test_a_planted_cause_is_found_with_its_size_and_read_again(command: Callable[..., Any], tmp_path: Path) -> None:
    found = photofinish.why(MODEL, (SLOW, PLAIN), batch=8, launches=3, store=tmp_path / "store")
    (pair,) = found.comparisons
    assert (pair.a, pair.b) == (PLAIN, SLOW) and not pair.lacking
    assert pair.lines[0].part.kind == "BatchNorm" and pair.lines[0].shown
    assert pair.lines[0].gap.value == pytest.approx(2 * NODE, rel=0.05) and pair.lines[0].gap.low > 0
    assert {line.part.kind for line in pair.lines} == {"Conv", "BatchNorm", "Relu", "GlobalAveragePool", "Linear"}
    assert all(line.a.value == pytest.approx(NODE, rel=0.1) for line in pair.lines)
    for account, nodes in zip(pair.accounts, (5, 7)):
        assert account.layers.value == pytest.approx(nodes * NODE, rel=0.02)
        assert account.start.value == pytest.approx(0.01, rel=0.05) and abs(account.rest.value) < 0.001
    for told, name in zip(found.profiles, (PLAIN, SLOW)):
        shares = {place: share.value for place, share in told.shares.items() if share}
        assert (told.contender, told.profiler, told.launches) == (name, "the script", 3)
        assert sum(shares.values()) == pytest.approx(1) and "idle" not in shares
        assert (shares["kernels"], shares["host dispatch"]) == pytest.approx((0.5, 0.25)) and told.kernels == 3
        assert told.unplaced == ("something else",)
    assert found.roofline is not None and found.roofline.ceilings.macs == pytest.approx(8 * 8 * 8 / (NODE / 3), rel=0.1)
    assert pair.lines[0].forward[SLOW].value == pytest.approx(NODE, rel=0.05)  # a third of a step's

    again = command("why", "--from", "last", "--store", "store", "--json")
    told = json.loads(again.out)
    jsonschema.validate(told, schema("why"), cls=jsonschema.Draft202012Validator)
    assert again.code == 0 and told["comparisons"][0]["named"][0] == "batch_norm1" and told == report.as_json(found)
    shown = command("why", "--from", "last", "--store", "store", "--html", "why.html")
    assert shown.code == 0 and "NAMED" in shown.out and "Distance to the machine" in shown.out
    assert "Where the step goes" in shown.out and "5 % of it could not be placed (something else)" in shown.out
    assert "batch_norm1 (BatchNorm of 4x6x6) adds " in plain(report.sentence(pair))
    page = (tmp_path / "why.html").read_text()
    assert len(re.findall(r'<span class="shade"[^>]*>(Conv|BatchNorm|Relu|GlobalAveragePool|Linear)', page)) == 5
    for line, runs in zip(re.findall("photofinish ((?:factors|flip) .*)", shown.out), (factors.command, flip.command)):
        asked = runs.make_context("", shlex.split(line)[1:]).params
        assert (asked["contenders"], asked["batch"], asked["shape"]) == ((f"{PLAIN},{SLOW}",), 8, (3, 6, 6))
    assert command("report", "last", "--store", "store").code == 0


def test_whatever_was_planted_comes_first_with_its_size(tmp_path: Path) -> None:
    planted = {"step=0.02": (SETTING, "step", "0.02 instead of the default", 0.01 / 3),
               "copies=2": (PLACE, "copies and layout", "", 2 * 5 * NODE / 3),
               "float64=Conv:3x6x6": (LAYER, "conv1", "", NODE / 3)}
    names = [f"fake:steady[node=0.01,noise=0.001,{each}]" for each in planted]
    found = photofinish.why(MODEL, (*names, "fake:steady[node=0.01,noise=0.001]"), "infer", batch=8, launches=3,
                            store=tmp_path / "store")
    expected = {Contender.parse(name).name: each for name, each in zip(names, planted.values())}
    assert {pair.b for pair in found.comparisons} == expected.keys()
    for pair in found.comparisons:
        kind, name, what, size = expected[pair.b]
        first = pair.causes[0]
        assert (first.kind, first.name, first.what) == (kind, name, what)
        assert first.gap.value == pytest.approx(size, rel=0.05) and first.gap.low > 0
        assert (f"First comes {name}" in plain(report.sentence(pair))) == (kind != LAYER)
    told = report.as_json(found)
    jsonschema.validate(told, schema("why"), cls=jsonschema.Draft202012Validator)
    assert {each["causes"][0]["name"] for each in told["comparisons"]} == {each[1] for each in planted.values()}


def test_two_settings_are_told_apart_by_those_who_race_between(tmp_path: Path) -> None:
    slower = "fake:steady[node=0.012,noise=0.001,step=0.05]"
    found = photofinish.why(MODEL, (slower, "fake:steady[node=0.01,noise=0.001,step=0.01]"), "infer", batch=8,
                            launches=3, store=tmp_path / "store")
    (pair,) = found.comparisons
    assert len(found.result.race.contenders) == 4 and found.result.standings[-1].contender == slower
    assert {block.contender for block in found.result.race.part_blocks} == {pair.a, pair.b}
    assert [(each.name, each.kind) for each in pair.causes[:2]] == [("step", SETTING), ("node", SETTING)]
    for cause, size in zip(pair.causes, (0.04 / 3, 5 * 0.002 / 3)):
        assert cause.gap.value == pytest.approx(size, rel=0.05) and cause.gap.low > 0


def test_a_slow_input_pipeline_is_what_epochs_wait_for(command: Callable[..., Any]) -> None:
    slow = "fake:steady[input=20,noise=0.001,step=0.010]"
    asked = ("why", MODEL, "--task", "epoch", "--data", "patterns:44", "-b", "8", "--epochs", "4", "--launches", "3",
             "--json", "-q")
    told = json.loads(command(*asked, "-c", f"{slow},fake:steady[noise=0.001,step=0.010]").out)
    jsonschema.validate(told, schema("why"), cls=jsonschema.Draft202012Validator)
    (pair,) = told["epochs"]
    assert pair["b"] == slow and (pair["causes"][0]["kind"], pair["causes"][0]["name"]) == ("place", "input wait")
    assert pair["causes"][0]["gap"]["value"] == pytest.approx(6 * 0.020)  # a scripted clock: no wait scatters
    assert [each["waited"]["value"] for each in pair["contenders"]] == pytest.approx([0.0, 6 * 0.020])
    shown = command("why", "--from", "last", "--html", "why.html")
    assert shown.code == 0 and "First comes input wait" in shown.out
    assert command("why", "--from", "last", "--csv").out.startswith("Race,Contender,Epoch (s)")
    slow = "fake:steady[noise=0.001,step=0.011]"
    told = json.loads(command(*asked, "-c", f"{slow},fake:steady[noise=0.001,step=0.010]").out)
    assert [each["name"] for each in told["epochs"][0]["causes"]] == ["step", "training steps"]


def test_of_epochs_the_two_that_were_asked_for_are_compared(tmp_path: Path) -> None:
    slow, quick = "fake:steady[input=20,noise=0.001,step=0.010]", "fake:steady[input=1,noise=0.001,step=0.020]"
    found = photofinish.why(MODEL, (slow, quick), "epoch", data="patterns:44", batch=8, epochs=2, launches=2,
                            store=tmp_path / "store")
    (pair,) = found.epochs
    assert len(found.result.race.contenders) == 4 and {pair.a, pair.b} == {slow, quick}
    assert why.read("last", tmp_path / "store").epochs == found.epochs


def test_a_placebo_has_no_cause(tmp_path: Path) -> None:
    same = "fake:steady[node=0.01,noise=0]"
    found = photofinish.why(MODEL, (same, same), "infer", batch=8, launches=2, store=tmp_path / "store")
    (pair,) = found.comparisons
    assert len(pair.lines) == 5 and not pair.named and not pair.causes and found.forward is None
    assert "No layer is shown to make a difference" in plain(report.sentence(pair))


def test_a_layer_that_fails_alone_costs_that_layer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = layers.Work.write

    def broken(folder: Path, graph: Any, *about: Any, **more: Any) -> Any:
        work = write(folder, graph, *about, **more)
        if more.get("name") == "layer" and any(type(node.layer).__name__ == "BatchNorm" for node in graph.nodes):
            work.graph.write_text("{}")
        return work

    monkeypatch.setattr(layers.Work, "write", broken)
    found = photofinish.why(MODEL, (SLOW, PLAIN), batch=8, launches=2, store=tmp_path / "store")
    (pair,) = found.comparisons
    assert pair.lacking == ("batch_norm1",) and len(pair.lines) == 4
    failed = [(each.contender, each.phase) for each in found.result.race.failures]
    assert sorted(failed) == sorted((name, "layer:batch_norm1") for name in (PLAIN, SLOW))  # once: not tried again
    timed = {block.part for block in found.result.race.part_blocks if block.launch == 2}
    assert "batch_norm1" not in timed and {"conv1", "relu1", "linear1", "global_average_pool1"} < timed


@pytest.mark.parametrize("way", ["killed", "silent"])
def test_a_process_that_ends_in_a_layer_is_there_for_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                                  way: str) -> None:
    ask = process.WorkerProcess.ask
    building: dict[int, str] = {}

    def fatal(self: process.WorkerProcess, do: str, *about: Any, **more: Any) -> Any:
        building[self.pid] = more.get("graph", building.get(self.pid, ""))
        if do == "block" and building[self.pid].endswith("layer.json") and "BatchNorm" in Path(
                building[self.pid]).read_text():
            if way == "silent":
                raise process.WorkerFailed("hang", "gave no answer")
            os.kill(self.pid, signal.SIGKILL)
        return ask(self, do, *about, **more)

    monkeypatch.setattr(process.WorkerProcess, "ask", fatal)
    found = photofinish.why(MODEL, (SLOW, PLAIN), "infer", batch=8, launches=1, seed=1, store=tmp_path / "store")
    (pair,) = found.comparisons
    assert pair.lacking == ("batch_norm1",) and len(pair.lines) == 4
    failed = sorted((each.contender, each.phase) for each in found.result.race.failures)
    assert failed == sorted((name, "layer:batch_norm1") for name in (PLAIN, SLOW))


def test_who_cannot_be_started_again_is_out_of_the_race(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = process.WorkerProcess.ask
    looked: set[str] = set()

    def fatal(self: process.WorkerProcess, do: str, *about: Any, **more: Any) -> Any:
        if do == "profile":
            looked.add(do)
            raise process.WorkerFailed("hang", "gave no answer")
        if do == "load" and looked and "slow" in str(more):
            raise process.WorkerFailed("crash", "not again")
        return ask(self, do, *about, **more)

    monkeypatch.setattr(process.WorkerProcess, "ask", fatal)
    found = photofinish.why(MODEL, (SLOW, PLAIN), "infer", batch=8, launches=1, store=tmp_path / "store")
    failed = [(each.contender, each.phase) for each in found.result.race.failures if each.phase != "steps:profiler"]
    assert failed == [(SLOW, "start")] and not found.comparisons


def test_the_model_is_timed_as_long_in_every_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(why, "default_room", lambda: 1)
    same = "fake:steady[node=0.01,noise=0]"
    race = photofinish.why(MODEL, (same, same, same), "infer", batch=8, launches=1, certify=False,
                           store=tmp_path / "store").result.race
    assert [len(each.groups) for each in race.launches] == [2]
    (steps,) = {len(block.seconds) for block in race.blocks}
    assert steps > max(len(block.seconds) for block in race.part_blocks if block.part == "batch_norm1")


def test_a_race_looks_into_steps_where_it_is_asked_to(command: Callable[..., Any]) -> None:
    asked = ("race", MODEL, "-c", f"{PLAIN},{SLOW}", "--profile", "--store", "store", "--quiet")
    told = command(*asked, "-t", "train", "-t", "infer", "--batch", "8", "--launches", "2", "--json")
    for race in json.loads(told.out):
        jsonschema.validate(race, schema("race"), cls=jsonschema.Draft202012Validator)
        looked = {each["contender"]: (each["profiler"], each["launches"]) for each in race["profiles"]}
        assert looked == dict.fromkeys((PLAIN, SLOW), ("the script", 2))
    assert "Where the step goes" in command("report", "last", "--store", "store").out
    refused = command(*asked, "--task", "epoch", "--data", "digits")
    assert refused.code == 2 and "leave --profile out" in refused.err


@pytest.mark.parametrize(("kind", "recorded"), [("crash", True), ("hang", True), ("unsupported", False)])
def test_a_profiler_that_fails_costs_its_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str,
                                                 recorded: bool) -> None:
    ask = process.WorkerProcess.ask

    def broken(self: process.WorkerProcess, do: str, *about: Any, **more: Any) -> Any:
        if do == "profile":
            raise process.WorkerFailed(kind, "not now")
        return ask(self, do, *about, **more)

    monkeypatch.setattr(process.WorkerProcess, "ask", broken)
    found = photofinish.why(MODEL, (SLOW, PLAIN), "infer", batch=8, launches=2, store=tmp_path / "store")
    (pair,) = found.comparisons
    assert pair.lines[0].part.name == "batch_norm1" and not pair.lacking and not found.profiles
    failed = sorted((each.contender, each.phase, each.kind) for each in found.result.race.failures)
    assert failed == (sorted((name, "steps:profiler", kind) for name in (PLAIN, SLOW)) if recorded else [])
    assert "Where the step goes" not in {section.title for section in report.document(found).sections}


def test_stopped_by_hand_it_says_what_there_is(tmp_path: Path) -> None:
    def stop(progress: Progress) -> None:
        if progress.stage == "block" and progress.text.startswith("launch 2, layer 4"):
            raise KeyboardInterrupt

    with pytest.raises(Stopped) as stopped:
        photofinish.why(MODEL, (SLOW, PLAIN), batch=8, launches=3, store=tmp_path / "store", listener=stop)
    (pair,) = stopped.value.found.comparisons
    assert pair.launches == 1 and pair.lines[0].part.name == "batch_norm1"
    kept: Explanation = why.read("last", tmp_path / "store")
    assert report.as_json(kept) == report.as_json(stopped.value.found)
    assert {block.launch for block in kept.result.race.part_blocks} == {1, 2}


def test_stopped_before_the_first_epoch_it_compares_nobody(tmp_path: Path) -> None:
    def stop(progress: Progress) -> None:
        if progress.stage == "certify":
            raise KeyboardInterrupt

    with pytest.raises(Stopped) as stopped:
        photofinish.why(MODEL, (SLOW, PLAIN), "epoch", data="patterns:44", batch=8, epochs=2, store=tmp_path / "store",
                        listener=stop)
    found = stopped.value.found
    assert found.result.race.case.task == "epoch" and not found.epochs and not found.comparisons
    assert report.as_json(why.read("last", tmp_path / "store")) == report.as_json(found)


@pytest.mark.parametrize(("asked", "said"), [
    ((), "photofinish why resnet18"), ((MODEL, "--from", "last"), "not of both"),
    ((MODEL, "--task", "fit"), "no task to explain is called 'fit'"),
    ((MODEL, "-c", "fake:steady"), "a race needs two contenders"),
    ((MODEL, "-c", "fake:steady,fake:steady+mean[2]", "-b", "8"), "no layer to themselves"),
    ((MODEL, "-c", "fake:steady,fake:steady", "--epochs", "3"), "explain --task epoch"),
    ((MODEL, "-c", "fake:steady,fake:steady", "--task", "epoch", "--device", "cuda"), "works off its queue"),
    (("--from", "last"), "no race has been run"),
    (("--from", "last", "--budget", "15m"), "--budget does nothing here")])
def test_wrong_use_is_told(command: Callable[..., Any], asked: tuple[str, ...], said: str) -> None:
    refused = command("why", *asked)
    assert refused.code == 2 and said in refused.err


def test_a_race_without_layers_explains_nothing(command: Callable[..., Any]) -> None:
    assert command("race", MODEL, "-c", f"{PLAIN},{SLOW}", "-b", "8", "--launches", "2", "--no-certify", "-q").code == 1
    refused = command("why", "--from", "last")
    assert refused.code == 2 and "were not timed" in refused.err
