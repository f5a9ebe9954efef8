"""What the races of a study say to a claim: a function for each kind of test."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from photofinish import models
from photofinish.claims.claim import Claim, Judgement, weighed
from photofinish.stats import batches, curves, learning, operations, paired
from photofinish.stats.energy import consumption
from photofinish.stats.interaction import differences, interaction
from photofinish.stats.scaling import scalings
from photofinish.stats.standings import REHEARSAL
from photofinish.stats.verdict import ALPHA, decide
from photofinish.study import Settled
from photofinish.values import Race, Result

MARGIN = 0.02  # a first epoch within this of the others is as long
RELIABLE = 1.25  # operations tell the time of a network if a line is off by less, typically, for one left out of it
NEAR = 0.9  # of linear: the figure of Horovod for two of its three networks (arXiv 1802.05799)
Measure = Callable[[Race, str, str], np.ndarray]  # differences of a and b, one for each launch


def about(claim: Claim, races: Sequence[Settled]) -> list[Settled]:
    """The races that the claim speaks of."""
    groups, other = claim.asks.get("groups"), claim.asks.get("except-models", ())
    return [each for each in races if (groups is None or each.planned.group in groups)
            and each.planned.model not in other]


def _faster(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """a is faster than b in every race that is decided, judged together (Holm)."""
    found = _decided(claim, races)
    if isinstance(found, Judgement):
        return found
    ahead, against = found["FASTER"], found["SLOWER"] + found["EQUIVALENT"]
    told = ", ".join(f"{len(found[word])} {word.lower()}" for word in found)
    return Judgement(claim, weighed(ahead, against), f"{claim.asks['a']} in {told}", ahead, against)


def _sometimes(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """a is faster than b in some race."""
    found = _decided(claim, races)
    if isinstance(found, Judgement):
        return found
    word = "CONFIRMED" if found["FASTER"] else "UNDECIDED" if found["UNDECIDED"] else "REFUTED"
    return Judgement(claim, word, f"{claim.asks['a']} is faster in {len(found['FASTER'])} races", found["FASTER"],
                     found["SLOWER"])


def _depends(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """Each of a and b is faster somewhere, and the ratio is not one (Welch's test)."""
    found = _decided(claim, races)
    if isinstance(found, Judgement):
        return found
    test = interaction([values for values, _ in _samples(claim, races)])
    if test is None:
        return Judgement(claim, "NOT YET RUN", "one race does not say whether others are alike")
    both = bool(found["FASTER"] and found["SLOWER"])
    told = (f"{claim.asks['a']} is faster in {len(found['FASTER'])} races, {claim.asks['b']} in "
            f"{len(found['SLOWER'])}; Welch's p = {test.chance:.2g}")
    word = "CONFIRMED" if both and test.chance < ALPHA else "MIXED" if both or test.chance < ALPHA else "REFUTED"
    return Judgement(claim, word, told, found["FASTER"], found["SLOWER"])


def _first_epoch(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """Whether a contender's first epoch takes longer than its later ones: t tests over launches, Holm over races."""
    name = claim.asks["contender"]
    titled = [(_excess(result, name), each.planned.title) for each in races for result in each.results]
    samples = [(values, title) for values, title in titled if len(values) > 1]
    if not samples:
        return _not_run(claim, races)
    words: dict[str, list[str]] = {}
    for decision, (_, title) in zip(decide([values for values, _ in samples], MARGIN), samples):
        words.setdefault(decision.word, []).append(title)
    longer, not_longer = words.get("FASTER", []), words.get("SLOWER", []) + words.get("EQUIVALENT", [])
    speaking, against = (longer, not_longer) if claim.asks["longer"] else (not_longer, longer)
    median = math.exp(float(np.median(np.concatenate([values for values, _ in samples]))))
    told = f"the first epoch takes {median:.2f} times a later one (median of launches)"
    return Judgement(claim, weighed(speaking, against), told, tuple(speaking), tuple(against))


def _same_accuracy(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """Whether a and b end equally accurate after whole trainings: the equivalence tests of each race."""
    pair = {claim.asks["a"], claim.asks["b"]}
    found = [(agreement.verdict, each.planned.title) for each in races for result in each.results
             if result.race.case.task == "fit" for agreement in learning.agreements(result.race)
             if {agreement.a, agreement.b} == pair]
    if not found:
        return _not_run(claim, races)
    same = tuple(title for word, title in found if word == "EQUIVALENT")
    other = tuple(title for word, title in found if word in learning.WORDS.values())
    left = len(found) - len(same) - len(other)
    told = f"{len(same)} trainings end equally accurate, {len(other)} do not, {left} undecided"
    return Judgement(claim, weighed(same, other), told, same, other)


def _excess(result: Result, name: str) -> np.ndarray:
    """log seconds of the first epoch less the mean log of later ones, of each launch."""
    launches = curves.curves(result.race).get(name, {}) if result.race.case.training else {}
    found = []
    for epochs in launches.values():
        logs = {each.number: math.log(each.seconds) for each in epochs}
        later = [value for number, value in logs.items() if number > 1]
        if 1 in logs and later:
            found.append(logs[1] - sum(later) / len(later))
    return np.array(found)


def _less_memory(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """a's peak is below b's in every race, by more than its margin: of one rehearsal each, so without an interval."""
    peaks = [({each.contender: each.memory for each in result.standings if each.memory}, result.race.margin, title)
             for title, result in _comparable(races)]
    ratios = {title: (peak[claim.asks["b"]] / peak[claim.asks["a"]], margin) for peak, margin, title in peaks
              if {claim.asks["a"], claim.asks["b"]} <= peak.keys()}
    if not ratios:
        return _not_run(claim, races)
    less = tuple(title for title, (ratio, margin) in ratios.items() if ratio > 1 + margin)
    other = tuple(title for title in ratios if title not in less)
    told = f"{claim.asks['b']} holds {np.median([ratio for ratio, _ in ratios.values()]):.2f} times as much (median)"
    return Judgement(claim, weighed(less, other), told, less, other)


def _with_batch(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """The time of a sample falls as the batch grows, for each contender of the claim: Page's test (1963) with the
    networks and inputs as blocks, Bonferroni over contenders."""
    contenders = claim.asks["contenders"]
    trends = {name: batches.trend(_by_batch(name, races)) for name in contenders}
    found = {name: trend for name, trend in trends.items() if trend is not None}
    if not found:
        return _not_run(claim, races) if not any(each.results for each in races) else Judgement(
            claim, "NOT YET RUN", "a trend takes two networks at three batches each")
    falls = tuple(name for name, trend in found.items() if trend.chance < ALPHA / len(contenders))
    rises = tuple(name for name, trend in found.items() if trend.doubling.high < 1)
    told = "; ".join(f"{name}: twice the batch has {trend.doubling.value:.2f} times the throughput, Page's p = "
                     f"{trend.chance:.2g}" for name, trend in found.items())
    return Judgement(claim, weighed(falls, rises), told, falls, rises)


def _by_batch(name: str, races: Sequence[Settled]) -> batches.Logs:
    """Batch -> network and input (a number each) -> log seconds of a step, of those that have every batch; their levels
    are taken out, so that only the way with the batch is left."""
    logs: dict[str, dict[int, float]] = {}
    for _, result in _comparable(races):
        case = result.race.case
        steps = paired.by_launch(paired.log_steps(result.race).get(name, {}))
        if steps:
            logs.setdefault(f"{case.model} {case.shape} {case.device}", {})[case.batch] = float(
                np.mean(list(steps.values())))
    sizes = {size for each in logs.values() for size in each}
    whole = [each for each in logs.values() if each.keys() == sizes]
    levels = [float(np.mean([each[size] - math.log(size) for size in sizes])) for each in whole]
    return {size: {number: each[size] - level for number, (each, level) in enumerate(zip(whole, levels), 1)}
            for size in sorted(sizes)} if whole else {}


def _same_power(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """The mean watts of each contender at the largest batch equal those at the smallest: an equivalence test with the
    networks and inputs as samples."""
    found = _comparable(races)
    samples = {name: _powers(name, found) for name in claim.asks["contenders"]}
    samples = {name: values for name, values in samples.items() if len(values) > 1}
    if not samples:
        reasons = sorted({result.race.metering.reason for _, result in found if result.race.metering} - {""})
        return Judgement(claim, "NOT TESTABLE HERE", "; ".join(reasons)) if reasons else _not_run(claim, races)
    decisions = dict(zip(samples, decide(list(samples.values()), found[0][1].race.margin)))
    same = tuple(name for name, each in decisions.items() if each.word == "EQUIVALENT")
    other = tuple(name for name, each in decisions.items() if each.word in ("FASTER", "SLOWER"))
    told = "; ".join(f"{name}: {math.exp(each.mean):.3f} times the power at the largest batch" for name, each in
                     decisions.items())
    return Judgement(claim, weighed(same, other), told, same, other)


def _powers(name: str, found: Sequence[tuple[str, Result]]) -> np.ndarray:
    """log of watts at the largest batch over those at the smallest, of each network and input."""
    watts: dict[str, dict[int, float]] = {}
    for _, result in found:
        case = result.race.case
        for each in consumption(result.race):
            if each.contender == name and each.watts > 0:
                watts.setdefault(f"{case.model} {case.shape} {case.device} {case.task}", {})[case.batch] = each.watts
    return np.array([math.log(each[max(each)] / each[min(each)]) for each in watts.values() if len(each) > 1])


def _near_linear(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """N processes are at least NEAR times N times as fast as one of them, by the interval of each race."""
    found = {each.planned.title: scaling.efficiency for each in races for result in each.results
             for scaling in scalings(result.race) if scaling.contender == claim.asks["contender"]
             and scaling.launches > 1}
    if not found:
        return _not_run(claim, races)
    near = tuple(title for title, efficiency in found.items() if efficiency.low >= NEAR)
    far = tuple(title for title, efficiency in found.items() if efficiency.high < NEAR)
    told = ", ".join(f"{each.value:.0%} ({each.low:.0%} to {each.high:.0%})" for each in found.values())
    return Judgement(claim, weighed(near, far), f"efficiency {told}; {NEAR:.0%} is near linear", near, far)


def _operations(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """Operations tell the time of a network that a line through the others was not drawn through."""
    pairs = [(models.find(result.race.case.model).graph(result.race.case.shape or None,
                                                        result.race.case.classes).macs, result)
             for _, result in _comparable(races)]
    fits = {setting: line for setting, line in operations.fits(pairs).items() if setting[1] in claim.asks["contenders"]}
    if not fits:
        return _not_run(claim, races) if not pairs else Judgement(
            claim, "NOT YET RUN", f"a line takes {operations.FEWEST} networks")
    told = {setting: f"{setting[1]}, batch {setting[2]}, {setting[0]}: off by {line.factor:.2f} times"
            for setting, line in fits.items()}
    close = tuple(told[setting] for setting, line in fits.items() if line.factor < RELIABLE)
    off = tuple(told[setting] for setting, line in fits.items() if line.factor >= RELIABLE)
    why = f"operations tell the time within {RELIABLE} times in {len(close)} of {len(fits)} settings"
    why += f"; {claim.asks['reason']}" if "reason" in claim.asks else ""
    return Judgement(claim, weighed(close, off), why, close, off)


def _comparable(races: Sequence[Settled]) -> list[tuple[str, Result]]:
    return [(each.planned.title, result) for each in races for result in each.results if result.comparable]


def _phases(names: Sequence[str]) -> Measure:
    """The time of these phases together, whatever the task."""
    def measured(race: Race, a: str, b: str) -> np.ndarray:
        seconds: dict[tuple[str, int], float] = defaultdict(float)
        for each in race.phases:
            if each.name.partition(":")[0] in names and each.launch != REHEARSAL:
                seconds[each.contender, each.launch] += each.seconds
        return np.array([math.log(seconds[b, launch] / total) for (name, launch), total in sorted(seconds.items())
                         if name == a and total > 0 and seconds.get((b, launch), 0) > 0])
    return measured


def _samples(claim: Claim, races: Sequence[Settled]) -> list[tuple[np.ndarray, str]]:
    """Differences of the claim's pair, of each race that is certified and has two launches, and its title: of the time
    that is raced for, or of the phases that the claim names."""
    a, b = claim.asks["a"], claim.asks["b"]
    measured = _phases(claim.asks["phases"]) if "phases" in claim.asks else differences
    pairs = [(measured(result.race, a, b), each.planned.title) for each in races for result in each.results
             if result.comparable and {a, b} <= set(result.race.contenders)]
    return [(values, title) for values, title in pairs if len(values) > 1]


def _decided(claim: Claim, races: Sequence[Settled]) -> Judgement | dict[str, tuple[str, ...]]:
    """Word -> titles of races, all judged together; a judgement if there is nothing to judge."""
    samples = _samples(claim, races)
    if not samples:
        return _not_run(claim, races)
    margin = next(result.race.margin for each in races for result in each.results)
    decisions = decide([values for values, _ in samples], margin)
    return {word: tuple(title for decision, (_, title) in zip(decisions, samples) if decision.word == word)
            for word in ("FASTER", "SLOWER", "EQUIVALENT", "UNDECIDED")}


def _not_run(claim: Claim, races: Sequence[Settled]) -> Judgement:
    reasons = Counter(each.reason for each in races)
    if races and not reasons[""]:
        return Judgement(claim, "NOT TESTABLE HERE", "; ".join(reasons))
    return Judgement(claim, "NOT YET RUN", f"photofinish study run {claim.study}")


TESTS: dict[str, Callable[[Claim, Sequence[Settled]], Judgement]] = {
    "faster": _faster, "sometimes": _sometimes, "depends": _depends, "first-epoch": _first_epoch,
    "same-accuracy": _same_accuracy, "less-memory": _less_memory, "with-batch": _with_batch, "operations": _operations,
    "same-power": _same_power, "near-linear": _near_linear}
