"""Error rates by simulation: does a nominal 5 % mean 5 %? All seeded; bounds are binomial at 0.1 %."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ttest_ind

from photofinish import stats
from photofinish.stats import paired, plan, student, verdict
from photofinish.values import Race
from stats_races import World, least_by_chance, most_by_chance

NOISY = World(launch=0.02, round=0.03, step=0.05, drift=0.001, rounds=5, steps=3)
BARE = World(launch=0.02, round=0.0, step=0.0, rounds=1, steps=1)  # one number per launch: many races in little time
CLAIMS = ("FASTER", "SLOWER")


def whole_race(world: World, noise: np.random.Generator, seconds: tuple[float, ...], *, precision: float = 0.01,
               budget: float = 400.0, margin: float = 0.02) -> Race:
    """Pilot, look, planned end."""
    race = world.race(noise, seconds, plan.PILOT, margin)
    coming = plan.after(race, budget, precision)
    race = replace(race, looks=coming.looks)
    return world.more(race, noise, seconds, coming.launches) if coming.launches else race


def test_the_interval_of_the_ratio_covers_it() -> None:
    noise, trials = np.random.default_rng(1), 1000
    covered = 0
    for _ in range(trials):
        estimate = paired.estimate_ratio(NOISY.race(noise, (0.05, 0.06), 5), "a", "b")
        covered += estimate.low <= 1.2 <= estimate.high
    assert trials - most_by_chance(trials, 0.05) <= covered <= trials - least_by_chance(trials, 0.05)


def test_where_the_usual_protocol_does_not() -> None:
    """The same worlds, read the usual way (all steps of two processes, Welch's t test), mislead: so the test
    above can fail."""
    noise, trials = np.random.default_rng(1), 300
    claims = 0
    for _ in range(trials):
        blocks = NOISY.race(noise, (0.05, 0.05), 1).blocks
        a, b = ([step for block in blocks if block.contender == name for step in block.seconds] for name in "ab")
        claims += ttest_ind(a, b, equal_var=False).pvalue < 0.05
    assert claims > 2 * most_by_chance(trials, 0.05)


def test_the_interval_covers_under_interference() -> None:
    """A tenth of the steps three times slower, a twentieth of the blocks twice: still 95 %, not much wider."""
    noise, trials = np.random.default_rng(2), 300
    world = World(launch=0.01, round=0.01, step=0.01, rounds=10, steps=5)
    covered, widths, clean_widths = 0, [], []
    for _ in range(trials):
        race = world.race(noise, (0.05, 0.05), 5)
        hit = tuple(replace(block, seconds=tuple(
            step * slow * (3 if noise.random() < 0.1 else 1) for step in block.seconds))
            for block, slow in zip(race.blocks, np.where(noise.random(len(race.blocks)) < 0.05, 2, 1)))
        estimate = paired.estimate_ratio(replace(race, blocks=hit), "a", "b")
        covered += estimate.low <= 1.0 <= estimate.high
        widths.append(estimate.high - estimate.low)
        clean = paired.estimate_ratio(race, "a", "b")
        clean_widths.append(clean.high - clean.low)
    assert covered >= trials - most_by_chance(trials, 0.05)
    assert np.mean(widths) < 1.5 * np.mean(clean_widths)


def placebo_claims(trials: int, precision: float) -> int:
    """How often a placebo is called different by pilot, look, planning from the pilot's own spread, and end.
    With a margin of 0 no EQUIVALENT hides a false claim."""
    noise = np.random.default_rng(3)
    return sum(stats.judge(whole_race(BARE, noise, (0.05, 0.05), precision=precision, margin=0.0)).verdicts[0].verdict
               in CLAIMS for _ in range(trials))


@pytest.mark.parametrize("precision", [0.02, 0.03])
def test_placebos_are_rarely_called_different_by_the_whole_procedure(precision: float) -> None:
    assert placebo_claims(1000, precision) <= most_by_chance(1000, verdict.ALPHA)


def test_two_looks_that_are_not_paid_for_would_call_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """So the test above can fail."""
    monkeypatch.setattr(verdict, "SPENDING", (1.0, 1.0))
    assert placebo_claims(1000, 0.02) > most_by_chance(1000, verdict.ALPHA)


def test_looking_after_every_launch_would_not_keep_the_rate() -> None:
    """What the plan forbids: so the test above can fail."""
    noise, trials = np.random.default_rng(3), 400
    claims = 0
    for _ in range(trials):
        logs = noise.normal(0, 0.03, 30)
        claims += any(verdict.decide([logs[:count]], 0.0)[0].word in CLAIMS for count in range(4, 31))
    assert claims > 2 * most_by_chance(trials, 0.05)


@pytest.mark.parametrize("launch", [0.007, 0.015])
def test_equivalence_is_rarely_claimed_at_the_margin(launch: float) -> None:
    noise, trials = np.random.default_rng(4), 500
    world = replace(BARE, launch=launch)
    claims = sum(stats.judge(whole_race(world, noise, (0.05, 0.051))).verdicts[0].verdict == "EQUIVALENT"
                 for _ in range(trials))
    assert claims <= most_by_chance(trials, verdict.ALPHA)


def test_a_planted_slow_down_of_three_percent_is_found_and_measured(record_property: pytest.FixtureRequest) -> None:
    """With the spread of a matched race (1 % between launches) and 400 seconds."""
    noise, trials = np.random.default_rng(5), 150
    found = [stats.judge(whole_race(World(), noise, (0.05, 0.0515))).verdicts[0] for _ in range(trials)]
    power = sum(each.verdict == "FASTER" for each in found)
    covered = sum(each.low <= 1.03 <= each.high for each in found)
    record_property("power", power / trials)
    launches = np.mean([each.launches for each in found])
    print(f"a planted 3 % is found in {power} of {trials} races after {launches:.1f} launches; covered in {covered}")
    assert power >= least_by_chance(trials, 0.95)
    assert covered >= trials - most_by_chance(trials, 0.05)


@pytest.mark.parametrize("seconds", [(1.0, 1.0, 1.0, 1.0), (1.0, 1.3, 1.3, 1.3)])
def test_several_contenders_share_one_error_rate(seconds: tuple[float, ...]) -> None:
    """Any claim among identical contenders, all four or the three behind a leader, counts as one error."""
    noise, trials = np.random.default_rng(6), 700
    errors = split = 0
    for _ in range(trials):
        result = stats.judge(BARE.race(noise, seconds, 5, margin=0.0))
        same = [each for each in result.verdicts if seconds["abcd".index(each.a)] == seconds["abcd".index(each.b)]]
        errors += any(each.verdict in CLAIMS for each in same)
        split += len({each.tie_group for each in result.standings}) > len(set(seconds))
    assert errors <= most_by_chance(trials, verdict.ALPHA)
    assert split <= errors


def test_the_planned_end_reaches_the_precision_in_the_stated_share() -> None:
    noise, trials = np.random.default_rng(7), 200
    world = World(launch=0.015)
    reached = planned = 0
    for _ in range(trials):
        race = whole_race(world, noise, (0.05, 0.05), precision=0.015, budget=1e6, margin=0.0)
        if len(race.launches) > plan.PILOT:
            found = stats.judge(race).verdicts[0]
            planned += 1
            reached += (math.log(found.high) - math.log(found.low)) / 2 <= math.log1p(0.015)
    assert planned > 0.9 * trials
    assert reached >= least_by_chance(planned, plan.ASSURANCE)


def test_the_planned_end_reaches_the_precision_of_who_is_never_alive_beside_others() -> None:
    """A strategy, compared launch by launch: planned as if its rounds did not scatter, hardly any would."""
    noise, trials, names = np.random.default_rng(12), 40, {"a": "torch:eager", "b": "torch:eager+ddp[2]"}
    world, seconds = World(launch=0.002, round=0.03, step=0.0, rounds=20, steps=1), (0.05, 0.05)

    def alone(race: Race) -> Race:
        return replace(race, contenders=tuple(names.values()), certificates=tuple(
            replace(each, contender=names[each.contender]) for each in race.certificates), blocks=tuple(
            replace(each, contender=names[each.contender], group=int(each.contender == "b")) for each in race.blocks))

    reached = planned = 0
    for _ in range(trials):
        pilot = world.race(noise, seconds, plan.PILOT, margin=0.0)
        coming = plan.after(alone(pilot), 1e6, 0.015)
        if coming.launches:
            more = replace(world, rounds=coming.rounds).more(pilot, noise, seconds, coming.launches)
            found = stats.judge(alone(replace(more, looks=coming.looks))).verdicts[0]
            planned += 1
            reached += (math.log(found.high) - math.log(found.low)) / 2 <= math.log1p(0.015)
    assert planned > 0.9 * trials
    assert reached >= least_by_chance(planned, plan.ASSURANCE)


SKEWS = {"a fifth": lambda noise, shape: 0.1 * (noise.random(shape) < 0.2) - 0.02,
         "exponential": lambda noise, shape: noise.exponential(0.01, shape) - 0.01,
         "log-normal": lambda noise, shape: 0.01 * (noise.lognormal(0, 1, shape) - math.exp(0.5))}


@pytest.mark.parametrize(("skew", "launches", "low", "high"), [
    ("a fifth", 3, 0.49, 0.52), ("a fifth", 4, 0.41, 0.41), ("a fifth", 6, 0.26, 0.26), ("a fifth", 10, 0.11, 0.12),
    *((skew, launches, 0.08, 0.17) for skew in ("exponential", "log-normal") for launches in (4, 10))])
def test_launches_that_are_skewed_on_one_side_mislead_as_often_as_is_told(skew: str, launches: int, low: float,
                                                                          high: float) -> None:
    noise, trials = np.random.default_rng(13), 1500
    logs = SKEWS[skew](noise, (trials, launches)) + noise.normal(0, 0.003, (trials, launches))
    words = [verdict.decide([values], 0.0)[0].word for values in logs]
    false = trials - words.count("UNDECIDED")
    assert least_by_chance(trials, low) <= false <= most_by_chance(trials, high)
    assert words.count("SLOWER") > 0.9 * false  # b is the skewed one, and said to be the faster


def test_variance_components_are_recovered() -> None:
    """Between launches 0.02 and within 0.03 for each contender: twice their squares for the ratio."""
    noise = np.random.default_rng(8)
    race = World(launch=0.02, round=0.03, step=0.0, rounds=8, steps=1).race(noise, (1.0, 1.0), 150)
    spread = plan.measure_spread(race, [("a", "b")])
    assert spread.within == pytest.approx(2 * 0.03**2, rel=0.15)
    assert spread.between == pytest.approx(2 * 0.02**2, rel=0.3)
    assert student.assured(1.0, 150, 0.5) == pytest.approx(1.0, rel=0.01)


FIXED = [((0, 1, 2), (0, 3, 4))] * 5  # the first is the anchor; the same groups in every launch
DRAWN = [((0, 1, 2), (0, 3, 4)), ((0, 1, 3), (0, 2, 4)), ((0, 1, 4), (0, 2, 3))] * 2  # groups drawn anew


@pytest.mark.parametrize("groups", [FIXED, DRAWN], ids=["fixed", "drawn"])
def test_the_interval_through_the_anchor_covers(groups: list) -> None:
    """b and d meet in no launch, or in some: launches that compare them scatter unequally then."""
    noise, trials = np.random.default_rng(11), 500
    seconds = (0.05, 0.05, 0.05, 0.06, 0.07)
    covered = 0
    for _ in range(trials):
        estimate = paired.estimate_ratio(BARE.grouped(noise, seconds, groups), "b", "d")
        covered += estimate.low <= 1.2 <= estimate.high
    assert covered >= trials - most_by_chance(trials, 0.05)


@pytest.mark.parametrize("groups", [FIXED, DRAWN], ids=["fixed", "drawn"])
def test_identical_contenders_in_groups_share_one_error_rate(groups: list) -> None:
    noise, trials = np.random.default_rng(12), 300
    errors = 0
    for _ in range(trials):
        race = replace(BARE.grouped(noise, (0.05,) * 5, groups), margin=0.0)
        errors += any(each.verdict in CLAIMS for each in stats.judge(race).verdicts)
    assert errors <= most_by_chance(trials, verdict.ALPHA)


def test_without_the_anchor_a_group_that_runs_later_would_look_slower() -> None:
    """So the two tests above can fail: each launch's second group is 3 % slower, whoever is in it."""
    noise, trials = np.random.default_rng(13), 100
    through = without = 0
    for _ in range(trials):
        race = BARE.grouped(noise, (0.05,) * 5, FIXED, shift=0.03)
        steps = paired.log_steps(race)
        differences = paired.launch_differences(steps, "b", "d")
        unpaired = paired.launch_steps(steps["d"]) - paired.launch_steps(steps["b"])
        through += verdict.decide([differences], 0.0)[0].word in CLAIMS
        without += verdict.decide([unpaired], 0.0)[0].word in CLAIMS
    assert through <= most_by_chance(trials, verdict.ALPHA) < without


def test_equivalence_through_the_anchor_is_rarely_claimed_at_the_margin() -> None:
    """At 90 %, where no theorem covers launches that scatter unequally."""
    noise, trials = np.random.default_rng(14), 500
    world = replace(BARE, launch=0.003)
    claims = 0
    for _ in range(trials):
        steps = paired.log_steps(world.grouped(noise, (0.05, 0.05, 0.05, 0.051, 0.05), DRAWN))
        claims += verdict.decide([paired.launch_differences(steps, "b", "d")], 0.02)[0].word == "EQUIVALENT"
    assert claims <= most_by_chance(trials, verdict.ALPHA)
