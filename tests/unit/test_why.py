"""A model taken apart, and what simulated races of its parts say: how often a cause is named that is none, how often
the planted one is in its interval."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache

import jsonschema
import numpy as np
import pytest

import factories
from photofinish import models
from photofinish.explain import causes, explain
from photofinish.explain.anatomy import Anatomy, anatomy
from photofinish.explain.roofline import PRODUCT, STREAM, STREAMED, moved, with_probes
from photofinish.graph import Tensor, record
from photofinish.layers import Spec
from photofinish.optimizers import OPTIMIZERS, optimizer_json
from photofinish.render import markdown
from photofinish.render.document import Code, blocks_of
from photofinish.render.quantities import plain
from photofinish.reports import causes as caused
from photofinish.reports import why as report
from photofinish.reports.json import schema
from photofinish.runner import again
from photofinish.stats import judge
from photofinish.stats.student import confidence
from photofinish.values import (
    Block,
    Case,
    Certificate,
    Contender,
    Epoch,
    Estimate,
    Launch,
    Part,
    Profile,
    ProfiledStep,
    Race,
    Skip,
    Training,
)
from photofinish.values.profile import COPIES, DISPATCH, IDLE, KERNELS, PLACES
from photofinish.vocabulary import (
    conv,
    dropout,
    embedding,
    embedding_bag,
    flatten,
    learned_positions,
    linear,
    relu,
    slice_axis,
)
from stats_races import least_by_chance, most_by_chance

START = 0.0002  # of a step; every node takes NODE besides
NODE = 0.001


@lru_cache(maxsize=None)
def taken(name: str = "digits_cnn", training: bool = True) -> Anatomy:
    return with_probes(anatomy(models.find(name).graph(), training), 8)


def raced(noise: np.random.Generator, slow: Mapping[str, float], launches: int = 6, spread: float = 0.01) -> Race:
    """Of a and b, whose every graph takes START and NODE for each node, in b with `slow` seconds more for a use of
    these layers."""
    whole = sum(part.count for part in taken().parts)
    steps = {name: START + NODE * len(graph.nodes) for name, graph in taken().graphs.items()}
    blocks: list[Block] = []
    parts: list[Block] = []
    for launch in range(1, launches + 1):
        for place, contender in enumerate("ab"):
            extra = slow if contender == "b" else {}
            pace = np.exp(noise.normal(0, spread))  # a process keeps its own speed
            model = START + NODE * whole + sum(part.count * extra.get(part.name, 0.0) for part in taken().parts)
            timed = {"": model, **{name: each + extra.get(name, 0.0) for name, each in steps.items()}}
            for name, seconds in timed.items():
                for turn in (1, 2, 3):
                    took = seconds * pace * np.exp(noise.normal(0, spread))
                    (parts if name else blocks).append(Block(launch, turn, place, contender, "train", (took,), 0.0, 0,
                                                             0.0, took, part=name))
    case = Case("digits_cnn", "digest", "train", 8, (1, 8, 8))
    return Race("race", case, ("a", "b"), blocks=tuple(blocks), parts=taken().parts, part_blocks=tuple(parts),
                launches=tuple(Launch(number, 0, (), ()) for number in range(1, launches + 1)),
                certificates=tuple(Certificate(name, "digest", True, (), "numpy", 8) for name in "ab"))


def holds(estimate: Estimate, truth: float) -> bool:
    return estimate.low <= truth <= estimate.high


def test_layers_that_differ_in_nothing_are_named_in_five_percent_of_races_at_most() -> None:
    noise, trials = np.random.default_rng(1), 200
    named = 0
    for _ in range(trials):
        (pair,) = explain(judge(raced(noise, {}))).comparisons
        named += bool(pair.causes)
        assert len(pair.named) == len(pair.causes)
    assert named <= most_by_chance(trials, 0.05)


def test_a_planted_cause_comes_first_with_its_size() -> None:
    noise, trials, planted = np.random.default_rng(2), 100, 0.0015
    first = covered = summed = operations = 0
    for _ in range(trials):
        (pair,) = explain(judge(raced(noise, {"relu1": planted}))).comparisons
        assert all(each.forward_operation is None for each in pair.accounts)
        operations += sum(each.operation is not None and holds(each.operation, NODE) for each in pair.accounts)
        line = next(each for each in pair.lines if each.part.name == "relu1")
        first += pair.named[:1] == (line,) and line.part.count == 2 and pair.causes[0].name == "relu1"
        assert pair.causes[0].gap == line.gap  # one interval, wherever it is told
        covered += holds(line.gap, 2 * planted)
        summed += holds(pair.gap, 2 * planted) and holds(pair.rest, 0.0)
    assert first == trials
    assert operations >= least_by_chance(2 * trials, 0.95)
    assert covered >= least_by_chance(trials, 0.95) and summed >= least_by_chance(trials, 0.90)


@pytest.mark.parametrize(("slow", "said"), [(4, "; the other one +"), (5, "; the other 2 together +")])
def test_the_sentence_sums_up_what_it_does_not_name(slow: int, said: str) -> None:
    names = [part.name for part in taken().parts][:slow]
    (pair,) = explain(judge(raced(np.random.default_rng(2), dict.fromkeys(names, 0.004)))).comparisons
    assert len(pair.named) == slow and said in plain(report.sentence(pair))


@pytest.mark.parametrize(("device", "commands"), [("cpu", ["factors", "flip"]), ("cuda", ["flip"])])
def test_what_would_prove_a_cause_is_asked_of_the_same_case(device: str, commands: list[str]) -> None:
    """The allocator of the processor is none of a GPU's causes."""
    race = raced(np.random.default_rng(2), {"relu1": 0.0015})
    case = replace(race.case, classes=7, device=device, regime="out-of-the-box", optimizer={"kind": "adam"})
    told = [each.text for each in blocks_of(report.document(explain(judge(replace(race, case=case)))), Code)
            if isinstance(each, Code)]
    assert [command.split()[1] for command in told] == commands
    there = "" if device == "cpu" else f"--device {device} "
    for command in told:
        assert f"--classes 7 {there}--threads 1 --regime out-of-the-box --optimizer adam -c a,b" in command
    assert device != "cpu" or told[0].endswith("--factor allocator=default,keep")  # as it stands first


def test_an_optimizer_that_is_the_model_s_own_is_not_named_again() -> None:
    """Named, it would have the usual rate."""
    for model in ("lstm_lm_small", "vit_b16"):
        own = models.find(model)
        case = Case(model, "digest", "train", 8, own.inputs[0][1].shape, own.classes, "float32", "cpu", "matched", 1,
                    optimizer_json(own.optimizer))
        assert "--optimizer" not in again.same(case)
        usual = optimizer_json(OPTIMIZERS[case.optimizer["kind"]]())
        assert again.same(replace(case, optimizer=usual))[-2:] == ["--optimizer", case.optimizer["kind"]]
    gone = replace(case, model="./nowhere.py:net", classes=3)
    assert again.same(gone)[-2:] == ["--optimizer", case.optimizer["kind"]] and "--classes" in again.same(gone)


def test_a_layer_that_was_not_timed_is_no_work_outside_of_layers() -> None:
    assert report.rest_is(Estimate(2, 1, 3), ("relu1",)) == "work outside of the layers that were timed"


def test_who_was_left_out_is_told() -> None:
    race = raced(np.random.default_rng(2), {"relu1": 0.0015})
    explanation = explain(judge(replace(race, skipped=(Skip("jax:jit", "it is not installed"),))))
    assert "was left out: it is not installed" in markdown.render([report.document(explanation)])
    said = report.as_json(explanation)
    jsonschema.validate(said, schema("why"))
    assert said["skipped"][0]["contender"] == "jax:jit"


def test_settings_divide_the_gap_and_leave_what_is_none() -> None:
    fast, slow = "torch:eager[threads=2]", "torch:eager[copies=3,layout=channels_last,threads=1]"
    one, other = Contender.parse(fast), Contender.parse(slow)
    assert causes.differences(one, other) == ("threads", "layout")  # what was planted is to be found
    steps = {fast: 1.0, "torch:eager[copies=3,threads=2]": 1.5, "torch:eager[copies=3,layout=channels_last,threads=2]":
             1.75, "torch:eager[copies=3,threads=1]": 2.5, slow: 3.0}
    racing = {fast, slow, *(each.name for each in causes.between(one, other))}
    assert steps.keys() <= racing and len(racing) == 8  # the others tell the same of who is the faster
    found, rest = causes.settings(fast, slow, {name: np.full(2, each) for name, each in steps.items()})
    assert found[causes.SETTING, "threads"] == pytest.approx([1.125] * 2)
    assert found[causes.SETTING, "layout"] == pytest.approx([0.375] * 2)
    assert rest is not None and rest == pytest.approx([0.5, 0.5])


def test_settings_that_nobody_tells_apart_are_one_and_a_single_one_is_the_gap() -> None:
    steps = {"torch:eager": np.ones(2), "torch:eager[layout=channels_last,threads=1]": np.full(2, 3.0),
             "torch:eager[threads=1]": np.full(2, 2.5), "tensorflow:graph[threads=1]": np.full(2, 4.0)}
    fast, both, single, _ = steps
    for slow, name, size in ((both, "layout and threads", 2.0), (single, "threads", 1.5)):
        lacking = {each: steps[each] for each in (fast, slow)}
        found, rest = causes.settings(fast, slow, lacking)
        assert found.keys() == {(causes.SETTING, name)} and found[causes.SETTING, name] == pytest.approx([size] * 2)
        assert rest is not None and not rest.any()
    assert causes.between(Contender.parse(fast), Contender.parse(single)) == ()
    assert [each.name for each in causes.between(*map(Contender.parse, (fast, "tensorflow:graph[threads=1]")))] == [
        "torch:eager[threads=1]", "tensorflow:graph"]  # of two frameworks what every contender has
    assert causes.settings(fast, "tensorflow:graph[threads=1]", steps) == ({}, None)


def test_what_acts_through_layers_comes_before_them_unless_something_else_is_left() -> None:
    layer = causes.Cause(causes.LAYER, "conv1", Estimate(3, 2, 4))
    setting = causes.Cause(causes.SETTING, "threads", Estimate(2, 1, 3))
    back = causes.Cause(causes.PLACE, "allocation", Estimate(-5, -6, -4))
    for rest, first in ((None, layer), (Estimate(0.0, 0.0, 0.0), setting), (Estimate(1, -1, 3), setting),
                        (Estimate(2, 1, 3), layer), (Estimate(1e-5, 1e-6, 1e-4), setting)):
        ordered = causes.ranked([back, layer, setting], rest, 1e-3)
        assert ordered[0] == first and ordered[-1] == back


def test_a_layer_is_told_no_more_exactly_than_all_of_them_tell_the_step() -> None:
    alone = Estimate(-2.0, -2.3, -1.6, 0.99)
    assert causes.in_place(alone, 0.0) == alone
    assert causes.in_place(alone, 0.2) == Estimate(-2.0, pytest.approx(-2.5), pytest.approx(-2.0 + 0.4 * 2**0.5), 0.99)
    figures = {(causes.LAYER, "small"): np.array([1.0, 1.3, 0.8]), (causes.LAYER, "sure"): np.array([9.0, 9.1, 8.9])}
    (decided,) = causes.decide([figures])
    a, b = "torch:eager", "tensorflow:graph"
    assert [each.name for each in causes.found(a, b, decided, None, 0.0)] == ["sure", "small"]
    assert [each.name for each in causes.found(a, b, decided, None, 0.0, 0.9)] == ["sure"]


def test_places_of_a_step_sum_to_a_plain_one() -> None:
    race = raced(np.random.default_rng(6), {}, launches=3)

    def profiles(name: str, copying: float, hidden: tuple[str, ...] = ()) -> list[Profile]:
        where = {**dict.fromkeys(PLACES, 0.0), KERNELS: 2.0, DISPATCH: 1.0, COPIES: copying}
        step = ProfiledStep(3.0 + copying, where, 3, {})
        return [Profile(launch, name, "train", (2.6 + copying,), 1.0, 0.0, 0, 0, 0, "a profiler", hidden, (step,))
                for launch in (1, 2, 3)]

    seen = replace(race, profiles=(*profiles("a", 0.1), *profiles("b", 0.6, ("idle",))))
    found = causes.places(seen, "a", "b", (1, 2, 3))
    assert found[causes.PLACE, COPIES] == pytest.approx([0.5] * 3)
    assert found[causes.PLACE, DISPATCH] == pytest.approx([0.0] * 3)
    assert not {(causes.PLACE, each) for each in (KERNELS, IDLE)} & found.keys()
    assert causes.places(replace(seen, profiles=seen.profiles[1:]), "a", "b", (1, 2, 3)) == {}  # a launch lacks it
    (pair,) = explain(judge(seen)).comparisons
    assert pair.causes[0].name == COPIES
    counted = {"a": {DISPATCH: 4}, "b": {DISPATCH: 3, COPIES: 1}}  # of the 0.4 s that recording takes, in b a quarter
    told = replace(seen, profiles=tuple(replace(each, profiled=tuple(
        replace(step, events=counted[each.contender]) for step in each.profiled)) for each in seen.profiles))
    assert causes.places(told, "a", "b", (1, 2, 3))[causes.PLACE, COPIES] == pytest.approx([0.4] * 3)


def test_every_layer_takes_what_it_takes_and_the_rest_is_nothing() -> None:
    (pair,) = explain(judge(raced(np.random.default_rng(3), {}, spread=0.0))).comparisons
    for line in pair.lines:
        assert line.a.value == pytest.approx(NODE) and line.ratio is not None
        assert line.ratio.value == pytest.approx(1)
    for account in pair.accounts:
        assert account.start.value == pytest.approx(START) and account.rest.value == pytest.approx(0, abs=1e-12)
    assert [name for name, _ in pair.order] == [node.name for node in models.find("digits_cnn").graph().nodes]


def test_nobody_unproven_is_explained_and_one_launch_names_nothing() -> None:
    race = raced(np.random.default_rng(4), {"conv1": 0.01})
    unproven = explain(judge(replace(race, certificates=())))
    assert not unproven.comparisons and "not proven" in str(report.document(unproven).summary)
    (pair,) = explain(judge(raced(np.random.default_rng(4), {"conv1": 0.01}, launches=1))).comparisons
    assert not pair.named and pair.lines[0].part.name == "conv1"
    half = replace(race, launches=race.launches[:2])  # stopped within the third
    assert explain(judge(half)).comparisons[0].launches == 2


@pytest.mark.parametrize(("scenario", "said"), [("fallen", "to its end"), ("nobody", "to its end"),
                                               ("uncertified", "not proven"), ("not_comparable", "not proven")])
def test_why_nothing_is_explained_is_told(scenario: str, said: str) -> None:
    assert said in plain(report.document(explain(factories.SCENARIOS[scenario]())).summary)


def test_the_ceilings_are_the_best_of_all_and_floors_follow_from_them() -> None:
    race = raced(np.random.default_rng(5), {STREAM: NODE}, spread=0.0)
    found = explain(judge(race)).roofline
    assert found is not None and found.ceilings.bytes_by == "a"
    known = {part.name: part for part in taken().parts}
    assert found.ceilings.macs == pytest.approx(8 * known[PRODUCT].macs / NODE)
    assert found.ceilings.bytes == pytest.approx(2 * 4 * STREAMED / NODE)
    roofs = {each.part.name: each for each in found.roofs}
    assert roofs["relu1"].bound == "memory" and roofs["conv2"].bound == "product"
    assert roofs["conv2"].floor == pytest.approx(NODE * known["conv2"].macs / known[PRODUCT].macs)
    assert roofs["conv2"].reached["b"] == pytest.approx(roofs["conv2"].floor / NODE)
    assert found.floor == pytest.approx(sum(each.part.count * each.floor for each in found.roofs))
    assert not {PRODUCT, STREAM} & {line.part.name for line in explain(judge(race)).comparisons[0].lines}


def test_a_floor_has_no_rows_that_nobody_asked_for() -> None:
    def first(run: Callable[[Tensor], Tensor], spec: Spec) -> Part:
        return anatomy(record(run, {"x": spec}), training=False).parts[0]

    ids = Spec("T", (5,), "int32")
    few = first(lambda x: linear(embedding(x, 8, 4), 8), ids)
    many = first(lambda x: linear(embedding(x, 8000, 4), 8), ids)
    assert many.kind == "Embedding" and many.parameters == 1000 * few.parameters
    assert moved(few, 3) == moved(many, 3) == 4 * 3 * (5 + 5 * 4)
    assert moved(first(lambda x: linear(embedding_bag(x, 900, 4), 8), ids), 3) == 4 * 3 * (5 + 4)
    assert moved(first(lambda x: learned_positions(x, 700), Spec("TC", (5, 4))), 3) == 4 * 3 * (20 + 20)


def test_what_moves_nothing_has_no_floor() -> None:
    graph = record(lambda x: linear(flatten(dropout(slice_axis(conv(x, 4, 3), 0, 2), 0.5)), 8), {
        "x": Spec("CHW", (3, 6, 6))})
    bytes_of = {part.kind: moved(part, 8) for part in anatomy(graph, training=False).parts}
    assert bytes_of == {"Conv": pytest.approx(4 * (8 * (108 + 144) + 108)), "Slice": 0, "Dropout": 0, "Flatten": 0,
                        "Linear": pytest.approx(4 * (8 * (72 + 8) + 72 * 8 + 8))}
    race = raced(np.random.default_rng(5), {}, spread=0.0)
    turned = replace(race, parts=tuple(replace(part, kind="Flatten" if part.name == "relu1" else part.kind)
                                       for part in race.parts))
    whole, left = (explain(judge(each)).roofline for each in (race, turned))
    assert whole is not None and left is not None
    gone = {each.part.name for each in whole.roofs} - {each.part.name for each in left.roofs}
    assert gone == {"relu1"} and left.floor < whole.floor


@pytest.mark.parametrize(("reached", "said", "kept"), [
    (0.4, "cannot take less than", "Somebody was faster"), (3.1, "Somebody was faster", "cannot take less than")])
def test_who_is_faster_than_the_ceilings_shows_that_they_are_none(reached: float, said: str, kept: str) -> None:
    explained = explain(judge(raced(np.random.default_rng(5), {STREAM: NODE}, spread=0.0)))
    assert explained.roofline is not None
    shown = report.document(replace(explained, roofline=replace(explained.roofline, reached={"a": 0.2, "b": reached})))
    (machine,) = (each for each in shown.sections if each.name == "machine")
    text = str(machine.blocks[0])
    assert said in text and kept not in text


def test_a_layer_that_is_faster_than_its_floor_shows_that_it_is_none() -> None:
    explained = explain(judge(raced(np.random.default_rng(5), {STREAM: NODE}, spread=0.0)))
    assert explained.roofline is not None
    first, *others = explained.roofline.roofs
    fast = replace(explained.roofline, reached={"a": 0.2, "b": 0.4},
                   roofs=(replace(first, reached={"a": 0.5, "b": 2.5}), *others))
    shown = report.document(replace(explained, roofline=fast))
    (machine,) = (each for each in shown.sections if each.name == "machine")
    text = str(machine.blocks[0])
    assert "Somebody was faster in a layer" in text and "cannot take less than" not in text


def test_causes_are_named_at_the_levels_that_were_reached_for_them() -> None:
    found = explain(judge(raced(np.random.default_rng(5), {"conv2": 3 * NODE, "relu1": 2 * NODE}))).comparisons[0]
    assert len(found.causes) > 1
    (table,) = caused.tables(found.causes, found.lines, False)
    assert confidence(*(each.gap.level for each in found.causes)) in table.caption
    assert "hold together" not in table.caption


def test_what_is_left_of_a_step_is_named_as_far_as_it_is_shown() -> None:
    assert "fusion" in report.rest_is(Estimate(-2, -3, -1)) and "loss" in report.rest_is(Estimate(2, 1, 3))
    assert report.rest_is(Estimate(0, -1, 1)) == report.rest_is(Estimate(5, 5, 5, 0.0)) == "not shown to be anything"


@pytest.mark.parametrize("name", ["resnet50", "transformer_base", "gnmt_v2", "inception_v3", "dlrm_small"])
@pytest.mark.parametrize("training", [True, False])
def test_models_come_apart_into_all_their_layers(name: str, training: bool) -> None:
    graph = models.find(name).graph()
    found = anatomy(graph, training)
    nodes = [node.name for node in graph.nodes if training or not node.training_only]
    assert sorted([*(each for part in found.parts for each in part.nodes), *found.untimed]) == sorted(nodes)
    assert sum(part.count * part.macs for part in found.parts if not part.training_only) == graph.macs
    for part in found.parts:
        assert found.graphs[part.name].losses and {*part.inputs, *part.outputs} <= found.graphs.keys()


def test_only_what_a_step_differentiates_has_gradients() -> None:
    graph = record(lambda image: relu(conv(image, 4, 3)), {"image": Spec("CHW", (3, 6, 6))})
    first, second = anatomy(graph, training=True).parts
    assert first.inputs == () and second.inputs == ("CHW 4x6x6",)  # no step needs the gradient of an image
    words = record(lambda ids: linear(embedding(ids, 8, 4), 8), {"ids": Spec("T", (5,), "int32")})
    table, product = anatomy(words, training=True).parts
    assert table.inputs == () and table.outputs == product.inputs == ("TC 5x4",)


def test_layers_of_one_kind_fields_and_shape_are_one() -> None:
    graph = record(lambda x: conv(conv(conv(conv(x, 3, 3), 3, 3), 3, 3), 3, 3, 2), {"x": Spec("CHW", (3, 8, 8))})
    found = anatomy(graph, training=True).parts
    assert [part.nodes for part in found] == [("conv1",), ("conv2", "conv3"), ("conv4",)]


def of_epochs(waits: Mapping[str, float | None], faster: Mapping[str, float], launches: int = 4) -> Race:
    """A race of three epochs in each launch, in which contenders take 2 seconds times `faster`."""
    race = factories.race(tuple(factories.Runner(name, 0.05) for name in waits), launches=launches)
    noise = np.random.default_rng(7)
    epochs = tuple(Epoch(launch, number, place, name, 2.0 * faster.get(name, 1.0) * np.exp(noise.normal(0, 0.01)), 32,
                         0.1, 1.0, first_batch=0.01, waited=waits[name])
                   for launch in range(1, launches + 1) for number in (1, 2, 3) for place, name in enumerate(waits))
    case = replace(race.case, task="epoch", training=Training("digits", "d" * 64, 1000, 100, 3, None))
    return replace(race, case=case, blocks=(), epochs=epochs)


def test_of_epochs_those_are_compared_who_tell_what_they_waited_for() -> None:
    waits = {"keras-jax:fit": None, "torch:eager": 0.1, "tensorflow:graph": 0.6}
    found = explain(judge(of_epochs(waits, {"keras-jax:fit": 0.5, "tensorflow:graph": 1.2})))
    (pair,) = found.epochs
    assert (pair.a, pair.b) == ("torch:eager", "tensorflow:graph") and pair.causes[0].name == "input wait"
    assert "is compared with nobody" in markdown.render([report.document(found)])


@pytest.mark.parametrize(("waited", "said"), [(None, "tell what their loops waited for"), (0.1, "after the first")])
def test_why_no_epochs_are_compared_is_told(waited: float | None, said: str) -> None:
    race = of_epochs({"torch:eager": waited, "jax:jit": waited}, {})
    told = race.epochs if waited is None else tuple(each for each in race.epochs if each.number == 1)
    found = explain(judge(replace(race, epochs=told)))
    assert not found.epochs and said in plain(report.document(found).summary)


ASKED = ("torch:eager", "torch:eager[threads=1,workers=2]")
APART = ("torch:eager[threads=1]", "torch:eager[workers=2]")


@pytest.mark.parametrize(("others", "compared"), [(APART, 1), (APART[1:], 2)])
def test_who_races_to_tell_two_apart_is_compared_with_nobody(others: tuple[str, ...], compared: int) -> None:
    """With one of the others alone three were asked for: for two, all race that go together."""
    names = (*ASKED, *others)
    faster = {name: (1.3 if "threads=1" in name else 1.0) * (0.8 if "workers=2" in name else 1.0) for name in names}
    found = explain(judge(of_epochs({name: 0.05 if "workers=2" in name else 0.4 for name in names}, faster)))
    pairs = {(pair.a, pair.b) for pair in found.epochs}
    assert len(pairs) == compared and (pairs == {ASKED}) == (compared == 1)
    if compared == 1:
        assert {each.name for each in found.epochs[0].causes if each.kind == causes.SETTING} == {"threads", "workers"}
