"""Judgements follow from what the store holds, and from nothing else."""

import math
import sqlite3
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from claim_rows import PAIR, claim
from factories import Runner, case, race
from photofinish import claims, study
from photofinish.claims import Claim, Judgement, judge, programs
from photofinish.claims.evidence import alpha_of
from photofinish.errors import UsageError
from photofinish.render import html, markdown
from photofinish.reports.claims import as_json, document
from photofinish.reports.json import schema
from photofinish.stats import judge as judged
from photofinish.stats.verdict import ALPHA, SPENDING
from photofinish.store import Store
from photofinish.study import PlannedRace, Settled
from photofinish.values import Epoch, Failure, Observation, Race, Result, Training


def settled(ratio: float, model: str = "resnet18", launches: int = 6, **noise: float) -> Settled:
    """A race in which the second takes `ratio` times as long."""
    field = (Runner(PAIR[0], 0.05), Runner(PAIR[1], 0.05 * ratio, **noise))
    result = judged(race(field, of=case(model), launches=launches, seed=len(model)))
    return Settled(PlannedRace("training", model, ("train",), PAIR), (result,))


@pytest.mark.parametrize(("ratios", "word"), [((1.3, 1.2), "CONFIRMED"), ((0.7, 0.8), "REFUTED"), ((1.3, 0.8), "MIXED"),
                                              ((1.3, 1.0), "MIXED"), ((1.0,), "REFUTED")])
def test_faster_is_confirmed_only_if_no_race_speaks_against_it(ratios: tuple[float, ...], word: str) -> None:
    found = judge(claim("faster"), [settled(ratio, name) for ratio, name in zip(ratios, ("resnet18", "vgg16"))])
    assert found.word == word
    assert len(found.speaking_for) + len(found.speaking_against) == len(ratios)


@pytest.mark.parametrize(("decided", "word"), [(2, "CONFIRMED"), (1, "UNDECIDED"), (0, "UNDECIDED")])
def test_what_most_races_leave_open_is_not_confirmed(decided: int, word: str) -> None:
    models = ("resnet18", "vgg16", "mobilenet_v2")
    races = [settled(1.3, name) if number < decided else settled(1.0, name, launches=3, between=0.1)
             for number, name in enumerate(models)]
    assert judge(claim("faster"), races).word == word


def test_against_several_each_of_them_counts() -> None:
    of_others = judge(replace(claim("faster"), asks={**claim("faster").asks, "b": [PAIR[1], "jax:jit"]}),
                      [settled(1.3)])
    assert of_others.speaking_for == (f"{settled(1.3).planned.title}, against {PAIR[1]}",)


def test_a_judgement_says_how_many_races_it_does_not_know_yet() -> None:
    waiting = Settled(PlannedRace("training", "vgg16", ("train",), PAIR))
    found = judge(claim("faster"), [settled(1.3), waiting])
    assert found.word == "CONFIRMED" and found.why.endswith("; 1 of its 2 races is still to be run")
    assert "still" not in judge(claim("faster"), [settled(1.3)]).why


def test_depends_needs_both_ways_and_one_ratio_refuted() -> None:
    both = judge(claim("depends"), [settled(1.3), settled(0.8, "vgg16")])
    assert both.word == "CONFIRMED" and "p = " in both.why
    assert judge(claim("depends"), [settled(1.3), settled(1.3, "vgg16")]).word == "REFUTED"
    assert judge(claim("depends"), [settled(1.3), settled(1.8, "vgg16")]).word == "MIXED"


def test_depends_is_refuted_by_no_races_that_are_undecided() -> None:
    few = [settled(1.0, name, launches=3, between=0.1) for name in ("resnet18", "vgg16")]
    assert {each.verdict for race in few for result in race.results for each in result.verdicts} == {"UNDECIDED"}
    assert judge(claim("depends"), few).word == "UNDECIDED"


@pytest.mark.parametrize("noisy", [
    [settled(1.0, "vgg16", launches=3, between=0.1)],
    [settled(0.8, name, launches=2, between=0.2) for name in ("vgg16", "mobilenet_v2", "resnet50")]])
def test_depends_is_not_refuted_while_a_race_is_undecided(noisy: list[Settled]) -> None:
    """Whatever the one that is decided says: the others may go either way."""
    found = judge(claim("depends"), [settled(1.3), *noisy])
    assert found.word == "UNDECIDED" and f"{len(noisy)} undecided" in found.why, found.why


@pytest.mark.parametrize(("between", "word"), [(0.01, "MIXED"), (0.02, "MIXED"), (0.06, "UNDECIDED")])
def test_noise_does_not_make_two_ratios_one(between: float, word: str) -> None:
    """1.3 and 1.35, all decided for one side; where Welch's test does not tell them apart, nothing shows them alike."""
    found = judge(claim("depends"), [settled(1.3), settled(1.35, "vgg16", between=between)])
    assert found.word == word and "faster in 2 races" in found.why, found.why


def test_depends_is_refuted_where_all_races_are_equivalent() -> None:
    assert judge(claim("depends"), [settled(1.0), settled(1.0, "vgg16")]).word == "REFUTED"


def test_a_pair_that_the_race_itself_does_not_judge_decides_nothing() -> None:
    one = settled(1.3)
    (result,) = one.results
    failed = replace(result, verdicts=tuple(replace(each, verdict="NOT COMPARABLE") for each in result.verdicts))
    assert judge(claim("faster"), [replace(one, results=(failed,))]).word == "NOT TESTABLE HERE"


@pytest.mark.parametrize("asked", [claim("over-days", days=3), claim("less-memory"),
                                   claim("with-batch", contenders=[PAIR[1]])])
def test_who_failed_in_a_race_speaks_for_no_claim_by_what_was_measured_before(asked: Claim) -> None:
    races = [day(number) for number in (1, 2, 3)]
    sizes = [replace(each, results=(judged(replace(each.results[0].race, case=case(model, batch=batch))),))
             for each in races[:1] for model in ("resnet18", "vgg16") for batch in (1, 2, 4)]
    fields = sizes if asked.test == "with-batch" else races
    assert judge(asked, fields).word != "NOT YET RUN"
    crash = (Failure(PAIR[1], "crash", "", 6, "block:train"),)
    failed = [replace(each, results=(judged(replace(each.results[0].race, failures=crash)),)) for each in fields]
    told = judge(asked, failed)
    assert told.word == "NOT TESTABLE HERE" and ("failed: crash" in told.why or asked.test == "with-batch")


def test_races_that_were_looked_at_before_their_end_have_less_left_to_judge_by() -> None:
    one = settled(1.02, launches=6)
    (result,) = one.results
    assert judge(claim("faster"), [one]).word == "CONFIRMED"
    chances = []
    for looks in ((), (6,)):
        races = [replace(one, results=(replace(result, race=replace(result.race, looks=looks)),))]
        chances.append(alpha_of(races))
    assert chances == [ALPHA, pytest.approx(ALPHA * SPENDING[0])]
    words = set()
    for ratio in (1.006, 1.007, 1.008, 1.009, 1.01):  # one of them lies between the two levels
        near = settled(ratio)
        bare = replace(near.results[0].race, margin=0.0)
        words.add(tuple(judge(claim("faster"), [replace(near, results=(replace(
            near.results[0], race=replace(bare, looks=looks)),))]).word for looks in ((), (6,))))
    assert ("CONFIRMED", "UNDECIDED") in words


def test_sometimes_needs_one_race() -> None:
    assert judge(claim("sometimes"), [settled(1.3), settled(0.8, "vgg16")]).word == "CONFIRMED"
    assert judge(claim("sometimes"), [settled(0.8)]).word == "REFUTED"
    doubtful = settled(1.0, launches=3, between=0.1)
    assert judge(claim("sometimes"), [doubtful]).word == "UNDECIDED"
    assert judge(claim("sometimes"), [doubtful, settled(0.8, "vgg16")]).word == "UNDECIDED"


def passes(first: float) -> Settled:
    """Three launches of three epochs, the first of which takes `first` times as long as a later one."""
    epochs = tuple(Epoch(launch, number, 0, PAIR[0], (first if number == 1 else 1.0) * (1 + launch * number / 1000), 4,
                         0.1, 0.5) for launch in (1, 2, 3) for number in (1, 2, 3))
    of = replace(case(), task="epoch", training=Training("patterns", "digest", 32, 0, 3))
    result = Result(Race("race", of, PAIR, 0.02, epochs=epochs), True, (), ())
    return Settled(PlannedRace("passes", "resnet18", ("epoch",), PAIR), (result,))


@pytest.mark.parametrize(("first", "longer", "word"), [(1.5, True, "CONFIRMED"), (1.5, False, "REFUTED"),
                                                       (1.0, False, "CONFIRMED"), (1.0, True, "REFUTED")])
def test_a_first_epoch_is_compared_with_later_ones(first: float, longer: bool, word: str) -> None:
    assert judge(claim("first-epoch", contender=PAIR[0], longer=longer), [passes(first)]).word == word


@pytest.mark.parametrize(("apart", "word"), [(0.0, "CONFIRMED"), (0.05, "REFUTED")])
def test_trainings_that_end_equally_accurate(apart: float, word: str) -> None:
    epochs = tuple(Epoch(launch, 1, 0, name, 1.0, 4, 0.1, 0.5, validation_accuracy=0.9 + launch / 1000
                         + apart * (name == PAIR[0])) for launch in range(1, 6) for name in PAIR)
    of = replace(case(), task="fit", training=Training("digits", "digest", 32, 1000, 1))
    result = Result(Race("race", of, PAIR, 0.02, epochs=epochs), True, (), ())
    planned = PlannedRace("digits", "digits_cnn", ("fit",), PAIR)
    assert judge(claim("same-accuracy"), [Settled(planned, (result,))]).word == word


@pytest.mark.parametrize(("races", "word"), [(1, "CONFIRMED"), (2, "UNDECIDED")])
def test_trainings_share_the_chance_of_an_error(races: int, word: str) -> None:
    """Each is equally accurate with p = 0.037: enough for one race, too little for the first of two."""
    spread = 0.01 / (2.4 * math.sqrt(0.5))
    epochs = tuple(Epoch(launch, 1, 0, name, 1.0, 4, 0.1, 0.5,
                         validation_accuracy=0.9 + spread * (launch - 3) * (name == PAIR[0]))
                   for launch in range(1, 6) for name in PAIR)
    of = replace(case(), task="fit", training=Training("digits", "digest", 32, 1000, 1))
    result = Result(Race("race", of, PAIR, 0.02, epochs=epochs), True, (), ())
    found = [Settled(PlannedRace("digits", name, ("fit",), PAIR), (result,))
             for name in ("digits_cnn", "resnet18")[:races]]
    assert judge(claim("same-accuracy"), found).word == word


def test_only_the_races_it_speaks_of_count() -> None:
    races = [settled(1.3), settled(0.8, "vgg16")]
    assert judge(claim("faster", **{"except-models": ["vgg16"]}), races).word == "CONFIRMED"
    assert judge(claim("faster", groups=["inference"]), races).word == "NOT YET RUN"


def test_a_race_that_is_not_comparable_decides_nothing() -> None:
    refused = settled(1.3)
    barred = replace(refused, results=tuple(replace(each, comparable=False) for each in refused.results))
    told = judge(claim("faster"), [barred])
    assert (told.word, told.why) == ("NOT TESTABLE HERE", "the contenders are not proven to compute the same")
    more = Settled(replace(refused.planned, model="vgg16"))
    assert judge(claim("faster"), [barred, more]).word == "NOT YET RUN"


def test_what_no_machine_here_can_run_is_not_testable() -> None:
    left_out = Settled(settled(1.3).planned, reason="no NVIDIA GPU here")
    found = judge(claim("faster"), [left_out])
    assert (found.word, found.why) == ("NOT TESTABLE HERE", "no NVIDIA GPU here")


@pytest.mark.parametrize(("ahead", "word"), [(1.0, "CONFIRMED"), (9.0, "REFUTED")])
def test_phases_are_compared_where_the_claim_names_them(ahead: float, word: str) -> None:
    """However fast the steps are."""
    field = (Runner(PAIR[0], 0.05, build=ahead), Runner(PAIR[1], 0.02, build=3.0))
    result = judged(race(field, launches=4, seed=3))
    races = [Settled(PlannedRace("training", "resnet18", ("train",), PAIR), (result,))]
    assert judge(claim("faster", phases=["build"]), races).word == word
    assert judge(claim("faster"), races).word == "REFUTED"


def test_a_phase_that_a_launch_has_for_each_group_counts_once() -> None:
    field = (Runner(PAIR[0], 0.05, build=1.0), Runner(PAIR[1], 0.05, build=1.5))
    once = race(field, launches=4, seed=3)
    again = tuple(each for each in once.phases if each.contender == PAIR[0])
    result = judged(replace(once, phases=once.phases + again + again))
    races = [Settled(PlannedRace("training", "resnet18", ("train",), PAIR), (result,))]
    assert judge(claim("faster", phases=["build"]), races).word == "CONFIRMED"


def of_batches(power: float, networks: int = 5) -> list[Settled]:
    """A step of batch b takes b to that power; the networks differ in level."""
    races = []
    for number, model in enumerate(("resnet18", "vgg16", "alexnet", "mobilenet_v2", "googlenet")[:networks]):
        for batch in (1, 8, 16):
            field = tuple(Runner(name, 0.01 * (1 + number) * batch**power) for name in PAIR)
            result = judged(race(field, of=case(model, batch=batch), launches=3, seed=number * 100 + batch))
            races.append(Settled(PlannedRace("inference", model, ("infer",), PAIR, batch=batch), (result,)))
    return races


@pytest.mark.parametrize(("power", "word"), [(0.7, "CONFIRMED"), (1.3, "REFUTED"), (1.0, "UNDECIDED")])
def test_the_time_of_a_sample_over_batches(power: float, word: str) -> None:
    races = of_batches(power)
    found = judge(claim("with-batch", contenders=list(PAIR)), races)
    assert found.word == word, found.why
    assert judge(claim("with-batch", contenders=list(PAIR)), races[:2]).word == "NOT TESTABLE HERE"


@pytest.mark.parametrize(("contenders", "word"), [(PAIR[:1], "CONFIRMED"), (PAIR, "UNDECIDED")])
def test_contenders_share_the_chance_of_seeing_a_trend(contenders: tuple[str, ...], word: str) -> None:
    """Of the orders of three batches in two networks one of 36 falls in both: enough for one alone."""
    found = judge(claim("with-batch", contenders=list(contenders)), of_batches(0.7, networks=2))
    assert found.word == word, found.why


@pytest.mark.parametrize(("speedup", "scatter", "word"), [
    (1.95, 0.002, "CONFIRMED"), (1.3, 0.002, "REFUTED"), (1.95, 0.1, "UNDECIDED")])
def test_two_processes_are_nearly_twice_as_fast_or_not(speedup: float, scatter: float, word: str) -> None:
    two, one = "torch:eager+ddp[2]", "torch:eager[threads=1]"
    field = (Runner(one, 0.05, between=scatter), Runner(two, 0.05 / speedup, between=scatter))
    result = judged(race(field, of=replace(case(), threads=2), launches=6, seed=4))
    races = [Settled(PlannedRace("two processes", "resnet18", ("train",), (one, two)), (result,))]
    found = judge(claim("near-linear", contender=two), races)
    assert found.word == word, found.why


@pytest.mark.parametrize(("races", "word"), [(1, "CONFIRMED"), (2, "UNDECIDED")])
def test_races_of_several_processes_share_the_chance_of_an_error(races: int, word: str) -> None:
    """Each is above the line with p = 0.038: enough for one race, too little for the first of two."""
    two, one = "torch:eager+ddp[2]", "torch:eager[threads=1]"
    once = race((Runner(one, 0.05), Runner(two, 0.03)), of=replace(case(), threads=2), launches=6, seed=4)
    logs = {launch: math.log(1.8) + 2.8 * 0.01 / math.sqrt(5) + 0.01 * (-1)**launch for launch in range(1, 7)}
    result = judged(replace(once, blocks=tuple(replace(
        each, seconds=(math.exp(logs[each.launch] if each.contender == one else 0.0),)) for each in once.blocks)))
    found = [Settled(PlannedRace("two processes", name, ("train",), (one, two)), (result,))
             for name in ("resnet18", "vgg16")[:races]]
    assert judge(claim("near-linear", contender=two), found).word == word


def day(number: int, time: float = 0.05, ratio: float = 1.3, date: str = "") -> Settled:
    """The race of `settled` on that day of August, at `time` seconds a step."""
    field = (Runner(PAIR[0], time, between=0.002), Runner(PAIR[1], time * ratio, between=0.002))
    found = replace(race(field, launches=6, seed=number), created=date or f"2026-08-{number:02}T09:00:00+0000")
    return Settled(PlannedRace("from day to day", "resnet18", ("train",), PAIR, day=number), (judged(found),))


@pytest.mark.parametrize(("times", "ratios", "word"), [
    ((0.05, 0.06, 0.055), (1.3, 1.3, 1.3), "CONFIRMED"), ((0.05, 0.05, 0.05), (1.3, 1.3, 1.3), "REFUTED"),
    ((0.05, 0.06, 0.055), (1.3, 1.5, 1.3), "REFUTED")])
def test_times_differ_from_day_to_day_and_their_ratio_does_not(times: tuple[float, ...], ratios: tuple[float, ...],
                                                               word: str) -> None:
    found = judge(claim("over-days", days=3), [day(*each) for each in zip((1, 2, 3), times, ratios)])
    assert found.word == word, found.why
    assert "over 3 days" in found.why and "machines" not in found.why


def test_days_on_other_machines_are_told_to_be() -> None:
    """One name of a processor, other instruction sets."""
    days = [day(number, time) for number, time in enumerate((0.05, 0.06, 0.055), 1)]
    (result,) = days[2].results
    elsewhere = replace(result.race, machine={**result.race.machine, "flags": ["avx512f"]})
    days[2] = replace(days[2], results=(replace(result, race=elsewhere),))
    assert "(on 2 machines)" in judge(claim("over-days", days=3), days).why


def test_three_races_of_one_day_are_one_day() -> None:
    races = [day(number, date="2026-08-01T09:00:00+0000") for number in (1, 2, 3)]
    found = judge(claim("over-days", days=3), races)
    assert found.word == "NOT YET RUN" and found.why.startswith("run on 1 of 3 days; on another day: photofinish study")


def through_pipeline(times: float) -> list[Settled]:
    """A race of training steps, and passes of four such steps that take `times` as long each."""
    train = judged(race(tuple(Runner(name, 0.05, between=0.002) for name in PAIR), launches=6, seed=2))
    of = replace(case(), task="epoch", training=Training("patterns", "digest", 32, 0, 3))
    epochs = tuple(Epoch(launch, number, 0, name, 4 * 0.05 * times * (1 + launch / 1000), 4, 0.1, 0.5)
                   for launch in (1, 2, 3, 4) for number in (1, 2, 3) for name in PAIR)
    passes = Result(Race("race", of, PAIR, 0.02, epochs=epochs), True, (), ())
    return [Settled(PlannedRace("ready", "resnet18", ("train",), PAIR), (train,)),
            Settled(PlannedRace("pipeline", "resnet18", ("epoch",), PAIR, data="patterns:32"), (passes,))]


@pytest.mark.parametrize(("times", "word"), [(1.2, "CONFIRMED"), (1.0, "REFUTED")])
def test_what_a_batch_that_lies_ready_leaves_out(times: float, word: str) -> None:
    asked = claim("loading", contenders=list(PAIR))
    found = judge(asked, through_pipeline(times))
    assert found.word == word, found.why
    assert [found.why.index(name) for name in PAIR] == sorted(found.why.index(name) for name in PAIR)  # as it is asked
    assert judge(asked, through_pipeline(times)[:1]).word == "NOT TESTABLE HERE"


def test_a_pass_whose_launches_scatter_more_than_loading_takes_shows_nothing() -> None:
    ready, pipeline = through_pipeline(1.02)
    (result,) = pipeline.results
    epochs = tuple(replace(each, seconds=each.seconds * 1.1**(each.launch % 2)) for each in result.race.epochs)
    noisy = replace(pipeline, results=(replace(result, race=replace(result.race, epochs=epochs)),))
    found = judge(claim("loading", contenders=list(PAIR)), [ready, noisy])
    assert found.word == "UNDECIDED" and not found.speaking_for + found.speaking_against, found.why


@pytest.mark.parametrize("slow", ["steps", "blocks", "passes"])
def test_slow_steps_of_both_races_are_no_loading(slow: str) -> None:
    """On the batch that lies ready one step of eight takes 1.4 times as long: one of each block, or all of one block.
    A step then takes 1.05 times as long as most, on either side; what two passes take may be split unevenly."""
    ready, pipeline = through_pipeline(1.05)
    (train,), (passes,) = ready.results, pipeline.results
    blocks = tuple(replace(each, seconds=tuple(
        0.05 * (1 + each.launch / 1000) * (1.4 if (each.round if slow == "blocks" else number) % 8 == 1 else 1)
        for number in range(8))) for each in train.race.blocks)
    uneven = {2: 1.2, 3: 0.8} if slow == "passes" else {}
    epochs = tuple(replace(each, seconds=each.seconds * uneven.get(each.number, 1)) for each in passes.race.epochs)
    races = [replace(ready, results=(replace(train, race=replace(train.race, blocks=blocks)),)),
             replace(pipeline, results=(replace(passes, race=replace(passes.race, epochs=epochs)),))]
    found = judge(claim("loading", contenders=list(PAIR)), races)
    assert found.word == "REFUTED" and "a pass takes 0.999 times as long as a step" in found.why, found.why


def test_a_pass_with_a_short_batch_is_not_compared() -> None:
    ready, pipeline = through_pipeline(1.2)
    (result,) = pipeline.results
    of = replace(result.race.case, training=Training("patterns", "digest", 30, 0, 3))
    short = replace(pipeline, results=(replace(result, race=replace(result.race, case=of)),))
    assert judge(claim("loading", contenders=list(PAIR)), [ready, short]).word == "NOT TESTABLE HERE"


def test_every_part_of_a_claim_counts() -> None:
    """The first part of two is shown; the other is refuted, or nobody knows."""
    parts = claim("all", parts=["faster", "near-linear"], contender="torch:eager+ddp[2]")
    assert judge(parts, []).word == "NOT YET RUN"
    known = judge(parts, [settled(1.3)])
    assert known.word == "UNDECIDED" and "near-linear: NOT TESTABLE HERE" in known.why
    mixed = judge(claim("all", parts=["faster", "sometimes"]), [settled(1.3), settled(0.8, "vgg16")])
    assert mixed.word == "MIXED" and any(each.startswith("faster: ") for each in mixed.speaking_against)
    assert judge(claim("all", parts=["faster", "sometimes"]), [settled(1.3)]).word == "CONFIRMED"
    assert judge(claim("all", parts=["faster", "sometimes"]), [settled(0.7)]).word == "REFUTED"


def test_what_happens_sometimes_is_not_refuted_while_races_are_to_be_run() -> None:
    slower, more = settled(0.7), Settled(replace(settled(0.7).planned, model="vgg16"))
    assert judge(claim("sometimes"), [slower]).word == "REFUTED"
    assert judge(claim("sometimes"), [slower, more]).word == "UNDECIDED"


def test_what_is_yet_to_be_run_is_told_with_its_scale() -> None:
    (asked,) = claims.chosen(["C27"], "small")
    assert judge(asked).why == "photofinish study run asu-2023 --scale small"
    assert judge(claims.chosen(["C27"])[0]).why == "photofinish study run asu-2023"


def test_what_was_run_at_another_scale_is_pointed_at() -> None:
    """Unless the claim speaks of none of it; nothing else of the judgement changes."""
    planned = settled(1.3).planned
    (asked,) = claims.chosen(["C27"])
    bare = replace(asked, asks={"study": "asu-2023", "a": PAIR[0], "b": PAIR[1], "groups": ["training"]}, test="faster")
    found = claims.pointed(judge(bare), {"small": [planned], "tiny": [replace(planned, group="inference")]})
    assert found.elsewhere == "run at --scale small: photofinish claims --scale small"
    assert as_json([found]) == as_json([judge(bare)]) and found.elsewhere in html.render([document([found])])
    assert claims.pointed(judge(bare), {"small": []}) == judge(bare)
    assert claims.pointed(judge(bare, [settled(1.3)]), {"small": [planned]}).elsewhere == ""
    small = claims.pointed(judge(replace(bare, scale="small")), {"": [planned]})
    assert small.elsewhere == "run at its full scale: photofinish claims"


def test_words_are_quoted_once_and_a_paraphrase_is_not() -> None:
    page = markdown.render([document([judge(each) for each in claims.chosen(["C1", "C22", "C36"])])])
    assert '"Pytorch consistently outperforms' in page and ' PyTorch debuggable with pdb; TF needs "a special' in page
    assert " power independent of batch" in page


def test_what_was_seen_one_time_was_seen_once() -> None:
    seen = [Observation("graph", f"is traced {many} times", True) for many in ("1", "11", "0.1", "2")]
    assert [each.split("traced ")[1] for each in judge(program(PROGRAM), (), seen).speaking_for] == [
        "once", "11 times", "0.1 times", "2 times"]


PROGRAM = "import json\nprint('noise')\nprint(json.dumps({'holds': %s, 'told': 'seen'}))\n"


def program(*codes: str, **asks: object) -> Claim:
    return Claim("C0", "", "", "programs", {"program": [{"in": "numpy", "code": code} for code in codes], **asks})


@pytest.mark.parametrize(("codes", "otherwise", "word"), [
    ([PROGRAM % True], "OUTDATED", "CONFIRMED"), ([PROGRAM % False], "OUTDATED", "OUTDATED"),
    ([PROGRAM % False], "REFUTED", "REFUTED"), ([PROGRAM % True, PROGRAM % False], "REFUTED", "MIXED"),
    (["import no_such_package"], "REFUTED", "NOT TESTABLE HERE"), (["print('noise')"], "REFUTED", "NOT TESTABLE HERE"),
    ([PROGRAM % True, "import no_such_package"], "REFUTED", "UNDECIDED")])
def test_what_programs_see_is_kept_and_judged(codes: list[str], otherwise: str, word: str, tmp_path: Path) -> None:
    asked, store = program(*codes, otherwise=otherwise), Store(tmp_path)
    assert judge(asked, (), store.observations(programs.key(asked))).word == "NOT YET RUN"
    store.keep_observations(programs.key(asked), programs.observe(asked))
    found = judge(asked, (), store.observations(programs.key(asked)))
    assert found.word == word
    assert "no_such_package" not in codes[-1] or "no_such_package" in found.why


@pytest.mark.parametrize(("holds", "word"), [
    ([True] + 7 * [None], "UNDECIDED"), ([True] + [None], "UNDECIDED"), (2 * [True] + [None], "CONFIRMED"),
    (5 * [True] + 3 * [None], "CONFIRMED"), ([False] + 7 * [None], "REFUTED"), (8 * [None], "UNDECIDED")])
def test_what_is_equal_in_most_programs_is_not_confirmed(holds: list[bool | None], word: str) -> None:
    seen = [Observation(f"model {number}", "lines in a, lines in b", each) for number, each in enumerate(holds)]
    found = judge(claim("counts"), (), seen)
    assert found.word == word, found.why
    if len(holds) == 8 and None in holds:
        assert found.why.endswith(f"against it, {holds.count(None)} neither")


def test_what_failed_was_not_read() -> None:
    """It is told by itself, and leaves a claim undecided in any case."""
    seen = [Observation(f"model {number}", "seen", True) for number in range(4)]
    found = judge(claim("counts"), (), [*seen, Observation("another", failure="broken")])
    assert (found.word, found.why) == ("UNDECIDED", "4 for it, 0 against it; another: broken")


def test_a_store_of_before_there_were_programs_can_be_read(tmp_path: Path) -> None:
    with sqlite3.connect(Store(tmp_path).path) as connection:
        connection.execute("DROP TABLE observation")
    assert Store(tmp_path, only_read=True).observations("C7") == ()


def test_another_program_has_seen_nothing_yet() -> None:
    assert programs.key(program(PROGRAM % True)) != programs.key(program(PROGRAM % False))


def test_a_program_that_hangs_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "SECONDS", 0.2)
    (seen,) = programs.observe(program("import time; time.sleep(60)"))
    assert "more than" in seen.failure and seen.holds is None


def test_counts_of_training_programs_are_a_proxy() -> None:
    pytest.importorskip("radon", reason="radon is not installed")
    (asked,) = claims.chosen(["C24"])
    small = replace(asked, asks={**asked.asks, "models": ["digits_cnn"]})
    seen = programs.observe(small)
    assert [each.told.split()[1] for each in seen] == ["lines", "tokens", "calls", "complexity"]
    assert "proxy" in judge(small, (), seen).why


def test_what_several_devices_change_is_a_proxy() -> None:
    pytest.importorskip("radon", reason="radon is not installed")
    (asked,) = claims.chosen(["C23"])
    one = replace(asked, asks={**asked.asks, "models": ["digits_cnn"], "others": ["keras"]})
    seen = programs.observe(one)
    assert len(seen) == 16 and "lines for torch ddp, " in seen[0].told and "for keras mirrored" in seen[0].told
    assert "proxy" in judge(one, (), seen).why
    for holds, word in ((True, "CONFIRMED"), (False, "REFUTED")):
        assert judge(one, (), [replace(each, holds=holds) for each in seen]).word == word


def test_networks_of_one_name_are_compared() -> None:
    twins = Claim("C0", "", "", "alike", {"pairs": [["resnet50", "resnet50"], ["resnet50", "resnet50_v1_keras"]]})
    same, other = programs.observe(twins)
    assert same.holds and not other.holds
    assert "25,557,032" in other.told and "25,583,592" in other.told
    assert judge(twins, (), (same, other)).word == "MIXED"


@pytest.mark.parametrize("framework", ["torch", "tensorflow", "keras-tensorflow"])
def test_every_program_of_the_ledger_compiles(framework: str) -> None:
    codes = [each["code"] for asked in claims.ledger() if asked.test == "programs" for each in asked.asks["program"]
             if each["in"].partition(":")[0] == framework]
    assert codes
    for code in codes:
        compile(code, framework, "exec")


def test_on_an_empty_store_every_claim_that_races_decide_is_not_yet_run() -> None:
    ledger = claims.chosen([])
    assert [each.id for each in ledger] == [f"C{number}" for number in range(1, 38)]
    planned = {name: [Settled(replace(each, skip="")) for each in study.find(name, "small").races]
               for name in {each.study for each in ledger if each.study}}
    found = [judge(each, planned.get(each.study, ())) for each in ledger]
    assert {each.word for each in found if each.claim.study} == {"NOT YET RUN"}
    assert {each.word for each in found if each.claim.test in programs.OBSERVERS} == {"NOT YET RUN"}
    assert {each.word for each in found if each.claim.test == "elsewhere"} == {"NOT TESTABLE HERE"}
    assert all(each.why for each in found)
    jsonschema.validate(as_json(found), schema("claims"))
    assert "NOT YET RUN" in html.render([document(found)])


def test_every_test_names_a_study_and_contenders_of_it() -> None:
    for each in claims.ledger():
        if each.study:
            races = study.find(each.study).races
            named = [each.asks[key] for key in ("a", "b", "contender") if key in each.asks]
            wanted = {name for found in named for name in (found if isinstance(found, list) else [found])}
            wanted |= set(each.asks.get("contenders", ()))
            groups = each.asks.get("groups", {planned.group for planned in races})
            assert set(groups) <= {planned.group for planned in races}
            assert all(wanted <= set(planned.contenders) or planned.contenders == ("all",) for planned in races
                       if planned.group in groups)
            assert set(each.asks.get("except-models", ())) <= {planned.model for planned in races}


def test_the_published_figure_stands_beside_the_judgement() -> None:
    (found,) = claims.chosen(["C11"])
    assert found.published and "published" not in found.asks
    judged_claim = judge(found)
    assert found.published in html.render([document([judged_claim])])
    assert as_json([judged_claim])[0]["published"] == found.published


def test_races_on_both_sides_are_named() -> None:
    mixed = Judgement(claim("faster"), "MIXED", "why", ("one race",), ("another race",))
    page = html.render([document([mixed])])
    assert "one race" in page and "another race" in page


def test_a_claim_that_is_none_is_told_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean C27"):
        claims.chosen(["C277"])
