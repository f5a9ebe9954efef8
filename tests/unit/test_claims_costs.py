"""Claims of memory, power, operations and accuracy, by rows that speak for them and by rows that speak against."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from claim_rows import PAIR, claim
from factories import Runner, case, race
from photofinish import models, study
from photofinish.claims import costs, judge
from photofinish.stats import judge as judged
from photofinish.study import OUT_OF_MEMORY, PlannedRace, Settled
from photofinish.values import Energy, Failure, Metering, Phase, Race, Result, Training

NETWORKS = ("resnet18", "resnet34", "vgg16", "mobilenet_v2", "googlenet", "alexnet", "densenet121")
GIB = 2**30


@pytest.mark.parametrize(("memory", "word"), [(1.5, "CONFIRMED"), (0.7, "REFUTED"), (1.0, "REFUTED")])
def test_the_lower_peak(memory: float, word: str) -> None:
    field = (Runner(PAIR[0], 0.05, memory=2**30), Runner(PAIR[1], 0.05, memory=int(memory * 2**30)))
    races = [Settled(PlannedRace("training", "resnet18", ("train",), PAIR), (judged(race(field, seed=1)),))]
    assert judge(claim("less-memory"), races).word == word


def test_the_days_of_a_race_count_one_by_one() -> None:
    """They share a title."""
    days = [(Runner(PAIR[0], 0.05, memory=2**30), Runner(PAIR[1], 0.05, memory=int(more * 2**30)))
            for more in (0.7, 1.5)]
    of = PlannedRace("training", "resnet18", ("train",), PAIR)
    found = judge(claim("less-memory"), [Settled(of, tuple(judged(race(field, seed=1)) for field in days))])
    assert found.word == "MIXED" and "1.10 times" in found.why


@pytest.mark.parametrize(("loading", "word"), [(1.5, "CONFIRMED"), (0.7, "REFUTED"), (1.0, "REFUTED")])
def test_memory_while_loading(loading: float, word: str) -> None:
    """`loading` is the peak while the data set is opened over that of the first epoch; the rehearsal's does not count.
    """
    phases = tuple(Phase(launch, name, phase, 1.0, int(peak * GIB * (1 + launch / 10000)) if launch else GIB // 9)
                   for name in PAIR for launch in (0, 1, 2, 3)
                   for phase, peak in (("data", loading), ("first_step:epoch", 1.0)))
    of = replace(case(), task="epoch", training=Training("patterns", "digest", 32, 0, 3))
    result = Result(Race("race", of, PAIR, 0.02, phases=phases), True, (), ())
    races = [Settled(PlannedRace("loading the data", "resnet18", ("epoch",), PAIR), (result,))]
    asked = claim("memory-while-loading", contenders=list(PAIR))
    found = judge(asked, races)
    assert found.word == word and f"{loading:.2f} GiB while loading, 1.00 in the first epoch" in found.why, found.why
    assert judge(asked, [Settled(races[0].planned)]).word == "NOT YET RUN"


def missing(needs: tuple[float, float], card: int = 80, printed: object = OUT_OF_MEMORY) -> Settled:
    """A point that a figure may lack: GiB that each takes on a GPU of `card` GiB, or infinitely many."""
    phases = tuple(Phase(1, name, "first_step:train", 1.0, GIB, int(need * GIB)) for name, need in zip(PAIR, needs)
                   if need < card)
    failures = tuple(Failure(name, OUT_OF_MEMORY, "no room", 1, "warm_up:train") for name, need in zip(PAIR, needs)
                     if need >= card)
    found = Race("race", replace(case(), device="cuda"), PAIR, 0.02, phases=phases, failures=failures,
                 machine={"gpus": [{"name": "a GPU", "memory": card * GIB, "driver": ""}]})
    planned = PlannedRace("training on a GPU", "resnet18", ("train",), PAIR, device="cuda", published=printed)  # type: ignore[arg-type]
    return Settled(planned, (Result(found, False, (), ()),))


@pytest.mark.parametrize(("needs", "card", "word"), [
    ((14.0, 9.0), 80, "CONFIRMED"), ((99.0, 99.0), 80, "CONFIRMED"), ((9.0, 8.0), 80, "REFUTED"),
    ((99.0, 5.0), 8, "UNDECIDED")])
def test_a_point_is_missing_because_memory_was_not_enough(needs: tuple[float, float], card: int, word: str) -> None:
    """One that runs out of 8 GiB might have had enough in 11."""
    found = judge(claim("does-not-fit", card=11), [missing(needs, card)])
    assert found.word == word, found.why


def test_a_point_that_is_there_says_nothing_of_those_that_are_not() -> None:
    asked = claim("does-not-fit", card=11)
    assert judge(asked, [missing((20.0, 20.0), printed=1.5)]).word == "NOT YET RUN"
    left_out = [replace(missing((20.0, 20.0)), results=(), reason="no NVIDIA GPU here")]
    assert judge(asked, left_out).word == "NOT TESTABLE HERE"
    assert judge(asked, []).word == "NOT YET RUN"


@pytest.mark.parametrize(("apart", "word"), [(1.0, "CONFIRMED"), (3.0, "REFUTED")])
def test_operations_tell_the_time_or_do_not(apart: float, word: str) -> None:
    races = []
    for number, model in enumerate(("resnet18", "resnet34", "vgg16", "mobilenet_v2", "googlenet", "alexnet")):
        seconds = 1e-12 * models.find(model).graph().macs * apart**(number % 2)
        of = replace(case(model), task="infer", shape=(3, 224, 224), classes=1000)
        result = judged(race(tuple(Runner(name, seconds) for name in PAIR), of=of, launches=3, seed=number))
        races.append(Settled(PlannedRace("networks", model, ("infer",), PAIR), (result,)))
    found = judge(claim("operations", contenders=list(PAIR)), races)
    assert found.word == word, found.why
    assert judge(claim("operations", contenders=list(PAIR)), races[:2]).word == "NOT TESTABLE HERE"


@pytest.mark.parametrize(("more", "word"), [(1.0, "CONFIRMED"), (1.2, "REFUTED"), (None, "NOT TESTABLE HERE")])
def test_power_over_batches(more: float | None, word: str) -> None:
    """`more` is what the largest batch takes over the smallest; None: no sensor."""
    races = []
    for number, model in enumerate(("resnet18", "vgg16", "alexnet", "mobilenet_v2")):
        for batch in (1, 16):
            result = judged(race(tuple(Runner(name, 0.01) for name in PAIR), of=case(model, batch=batch), launches=2,
                                 seed=number))
            if more is None:
                result = replace(result, race=replace(result.race, metering=Metering(reason="no sensor")))
            else:
                watts = 50 * (1 + 0.001 * number * batch / 16) * (more if batch == 16 else 1)
                energies = tuple(Energy(launch, name, result.race.case.task, {"package": 2 * watts}, 2.0, 100)
                                 for name in PAIR for launch in (1, 2))
                result = replace(result, race=replace(result.race, metering=Metering(idle={"package": 5.0}),
                                                      energies=energies))
            races.append(Settled(PlannedRace("training", model, ("train",), PAIR, batch=batch), (result,)))
    found = judge(claim("same-power", contenders=list(PAIR)), races)
    assert found.word == word, found.why


def energetic(power: float = 0.0, joules: dict[str, float] | None = None) -> list[Settled]:
    """Networks that take so many joules an image, or 50 watts and `power` more of them from one to the next."""
    races = []
    for number, model in enumerate(NETWORKS if joules is None else joules):
        of = replace(case(model, batch=8), task="infer", shape=(3, 224, 224), classes=1000)
        found = race(tuple(Runner(name, 0.01) for name in PAIR), of=of, launches=4, seed=number)
        taken = 100 * (1 + power * number) if joules is None else 100 * 8 * joules[model]
        energies = tuple(Energy(launch, name, "infer", {"package": taken * (1 + launch / 1000)}, 2.0, 100)
                         for name in PAIR for launch in (1, 2, 3, 4))
        found = replace(found, metering=Metering(idle={"package": 5.0}), energies=energies)
        races.append(Settled(PlannedRace("networks", model, ("infer",), PAIR, batch=8), (judged(found),)))
    return races


def test_a_counter_that_stood_still_says_nothing_of_power() -> None:
    still = energetic(joules=dict.fromkeys(NETWORKS, 0.0))
    found = judge(claim("same-power-of-networks", contenders=list(PAIR)), still)
    assert found.word not in ("CONFIRMED", "REFUTED")


@pytest.mark.parametrize(("power", "word"), [(0.0, "CONFIRMED"), (0.1, "REFUTED")])
def test_power_over_networks(power: float, word: str) -> None:
    asked = claim("same-power-of-networks", contenders=list(PAIR))
    found = judge(asked, energetic(power))
    assert found.word == word, found.why
    assert judge(asked, []).word == "NOT YET RUN"


def in_order(joules: Sequence[float]) -> list[Settled]:
    """Of seven networks, or the largest of them: operations rise, and so do the accuracies of the largest five."""
    ordered = ("mobilenet_v2", "googlenet", "resnet18", "resnet34", "resnet50", "resnet101", "resnet152")
    races = []
    for each, model in zip(energetic(joules=dict(zip(NETWORKS, joules))), ordered[-len(joules):]):
        (result,) = each.results
        races.append(replace(each, results=(replace(result, race=replace(
            result.race, case=replace(result.race.case, model=model))),)))
    return races


@pytest.mark.parametrize(("contenders", "word"), [(PAIR[:1], "CONFIRMED"), (PAIR, "UNDECIDED")])
def test_contenders_share_the_chance_of_seeing_a_correlation(contenders: tuple[str, ...], word: str) -> None:
    """One of 0.79 over seven networks, which chance reaches in 2.4 % of orders: 121 of 5040."""
    races = in_order([10.0 + rank for rank in (2, 1, 0, 4, 3, 6, 5)])
    found = judge(claim("energy-bound", study="canziani-2016", contenders=list(contenders)), races)
    assert found.word == word and "0.79" in found.why, found.why


@pytest.mark.parametrize("way", [1, -1])
@pytest.mark.parametrize(("networks", "decided"), [(4, False), (5, True)])
def test_few_networks_have_few_orders(networks: int, decided: bool, way: int) -> None:
    """One contender, two correlations: 2.5 % each. Of the orders of four networks one of 24 is perfect, of five one of
    120."""
    races = in_order([10.0 + way * rank for rank in range(networks)])
    found = judge(claim("energy-bound", study="canziani-2016", contenders=list(PAIR[:1])), races)
    assert found.word == (("CONFIRMED" if way > 0 else "REFUTED") if decided else "UNDECIDED"), found.why
    assert f"{way:.2f}" in found.why


def test_a_correlation_that_chance_makes_negative_refutes_nothing() -> None:
    races = in_order([10.0 + rank for rank in (3, 6, 1, 4, 5, 0, 2)])
    found = judge(claim("energy-bound", study="canziani-2016", contenders=list(PAIR)), races)
    assert found.word == "UNDECIDED" and "-0.39" in found.why, found.why


@pytest.mark.parametrize("count", [4, 6, 9, 10, 12])
def test_chances_of_a_rank_correlation_are_those_of_all_orders(count: int) -> None:
    """By scipy's enumeration, or for more networks the tail of many orders; ties share a rank."""
    generator = np.random.default_rng(count)
    a, b = generator.normal(size=count), generator.integers(0, 4, size=count)
    expected = [stats.permutation_test(
        (a,), lambda each: stats.spearmanr(each, b).statistic, permutation_type="pairings", alternative=side,
        n_resamples=800, random_state=1).pvalue for side in ("greater", "less")]
    assert costs._chances(a, b) == pytest.approx(expected, abs=1e-12 if count <= 6 else 0.07)


def test_a_perfect_order_of_many_networks_is_as_rare_as_it_can_be_told() -> None:
    up, down = costs._chances(np.arange(12), np.arange(12))
    assert up == 1 / (costs.DRAWN + 1) and down == 1


@pytest.mark.parametrize(("way", "word"), [(1, "CONFIRMED"), (-1, "REFUTED")])
def test_more_accurate_and_larger_networks_take_more_energy_or_do_not(way: int, word: str) -> None:
    races = in_order([10.0 + way * rank for rank in range(7)])
    asked = claim("energy-bound", study="canziani-2016", contenders=list(PAIR))
    found = judge(asked, races)
    assert found.word == word, found.why
    blind = [replace(each.results[0].race, metering=Metering(reason="no sensor"), energies=()) for each in races]
    unmeasured = [replace(each, results=(judged(found),)) for each, found in zip(races, blind)]
    assert (judge(asked, unmeasured).word, judge(asked, unmeasured).why) == ("NOT TESTABLE HERE", "no sensor")


@pytest.mark.parametrize(("curved", "word"), [(True, "CONFIRMED"), (False, "REFUTED")])
def test_accuracy_over_time_is_a_hyperbola_or_not(curved: bool, word: str) -> None:
    """Seconds that make published accuracies lie on a hyperbola, or on a line."""
    published = study.find("canziani-2016").accuracy
    assert published is not None
    races = []
    for number, model in enumerate(NETWORKS):
        top1 = published.top1[model]
        seconds = 0.002 / (0.78 - top1) if curved else 0.5 * (top1 - 0.5)
        of = replace(case(model, batch=1), task="infer")
        result = judged(race(tuple(Runner(name, seconds, between=0.001) for name in PAIR), of=of, launches=3,
                             seed=number))
        races.append(Settled(PlannedRace("networks", model, ("infer",), PAIR), (result,)))
    asked = claim("hyperbola", study="canziani-2016", contenders=list(PAIR))
    found = judge(asked, races)
    assert found.word == word, found.why
    assert judge(asked, races[:2]).word == "NOT TESTABLE HERE"
    sides = found.speaking_for + found.speaking_against
    assert [each for each in found.why.split("; ") if not each.endswith(" (undecided)")] == list(sides)


def test_a_reading_that_decides_nothing_is_marked() -> None:
    """Of two readings one speaks."""
    told = {("cpu", "torch:eager", 1): "one", ("cpu", "tensorflow:graph", 1): "another"}
    assert costs._readings(told, ("one",)) == "one; another (undecided)"
