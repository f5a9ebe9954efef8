"""What the races of a study say to a claim of power, energy, operations or accuracy."""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import permutations

import numpy as np

from photofinish import models, study
from photofinish.claims.claim import Claim, Judgement, reading, weighed
from photofinish.claims.evidence import Test, comparable, not_run
from photofinish.stats import alike, lines, operations
from photofinish.stats.energy import consumption
from photofinish.stats.verdict import ALPHA, decide
from photofinish.study import Settled
from photofinish.values import Result

RELIABLE = 1.25  # operations tell the time of a network if a line is off by less, typically, for one left out of it
COUNTED = 9  # networks, all 362,880 orders of which are counted
DRAWN = 99_999  # orders, of more networks
Setting = tuple[str, str, int]  # device, contender, batch


def _same_power(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """The mean watts of each contender at the largest batch equal those at the smallest: an equivalence test with the
    networks and inputs as samples."""
    found = comparable(races)
    samples = {name: _powers(name, found) for name in claim.asks["contenders"]}
    samples = {name: values for name, values in samples.items() if len(values) > 1}
    if not samples:
        return _unmeasured(claim, races)
    decisions = dict(zip(samples, decide(list(samples.values()), found[0][1].race.margin)))
    same = tuple(name for name, each in decisions.items() if each.word == "EQUIVALENT")
    other = tuple(name for name, each in decisions.items() if each.word in ("FASTER", "SLOWER"))
    told = "; ".join(reading(f"{name}: {math.exp(each.mean):.3f} times the power at the largest batch",
                             name in same + other) for name, each in decisions.items())
    return Judgement(claim, weighed(same, other, read=len(decisions)), told, same, other)


def _powers(name: str, found: Sequence[tuple[str, Result]]) -> np.ndarray:
    """log of watts at the largest batch over those at the smallest, of each network and input."""
    watts: dict[str, dict[int, float]] = {}
    for _, result in found:
        case = result.race.case
        for each in consumption(result.race):
            if each.contender == name and each.watts > 0:
                watts.setdefault(f"{case.model} {case.shape} {case.device} {case.task}", {})[case.batch] = each.watts
    return np.array([math.log(each[max(each)] / each[min(each)]) for each in watts.values() if len(each) > 1])


def _unmeasured(claim: Claim, races: Sequence[Settled]) -> Judgement:
    reasons = sorted({result.race.metering.reason for _, result in comparable(races) if result.race.metering} - {""})
    return Judgement(claim, "NOT TESTABLE HERE", "; ".join(reasons)) if reasons else not_run(claim, races)


def _same_power_of_networks(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """Each contender takes as many watts at its largest batch whatever the network: every two networks are compared
    by launch, all together."""
    watts: dict[Setting, dict[str, np.ndarray]] = {}
    for _, result in comparable(races):
        case = result.race.case
        for name in claim.asks["contenders"]:
            logs = [math.log(sum(each.joules.values()) / each.seconds) for each in result.race.energies
                    if (each.contender, each.task) == (name, case.task)
                    and sum(each.joules.values()) > 0 and each.seconds > 0]  # a counter may stand still
            if len(logs) > 1:
                watts.setdefault((case.device, name, case.batch), {})[case.model] = np.array(logs)
    largest = {setting: list(each.values()) for setting, each in watts.items() if len(each) > 1
               and setting[2] == max(batch for device, name, batch in watts if (device, name) == setting[:2])}
    if not largest:
        return _unmeasured(claim, races)
    words = alike.alike(largest, next(result.race.margin for _, result in comparable(races)))
    told = {setting: f"{_told(setting)}: networks differ by up to {alike.apart(groups):.3f} times in power"
            for setting, groups in largest.items()}
    same = tuple(told[setting] for setting, word in words.items() if word == alike.ALIKE)
    other = tuple(told[setting] for setting, word in words.items() if word == alike.DIFFERENT)
    return Judgement(claim, weighed(same, other, read=len(told)), _readings(told, same + other), same, other)


def _readings(told: Mapping[Setting, str], decided: Sequence[str]) -> str:
    return "; ".join(reading(each, each in decided) for each in told.values())


def _told(setting: Setting) -> str:
    device, contender, batch = setting
    return f"{contender}, batch {batch}, {device}"


def _operations(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """Operations tell the time of a network that a line through the others was not drawn through."""
    pairs = [(_macs(result), result) for _, result in comparable(races)]
    fits = {setting: line for setting, line in operations.fits(pairs).items() if setting[1] in claim.asks["contenders"]}
    if not fits:
        return _too_few(claim, races)
    told = {setting: f"{_told(setting)}: off by {line.factor:.2f} times" for setting, line in fits.items()}
    close = tuple(told[setting] for setting, line in fits.items() if line.factor < RELIABLE)
    off = tuple(told[setting] for setting, line in fits.items() if line.factor >= RELIABLE)
    why = f"operations tell the time within {RELIABLE} times in {len(close)} of {len(fits)} settings"
    return Judgement(claim, weighed(close, off), why, close, off)


def _hyperbola(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """Accuracy rises with time as a hyperbola does, ever less: accuracy over the reciprocal of the time of an image
    falls (Student's interval), and is off by less for a network left out than a straight line of accuracy over time."""
    times: dict[Setting, list[tuple[float, float]]] = {}
    accuracies = _accuracies(claim)
    for _, result in comparable(races):
        case = result.race.case
        for each in result.standings:
            if each.contender in claim.asks["contenders"] and each.failure is None and each.time is not None \
                    and case.model in accuracies:
                times.setdefault((case.device, each.contender, case.batch), []).append(
                    (each.time.value / case.batch, accuracies[case.model]))
    found = {}
    for setting, pairs in times.items():
        seconds, top1 = np.array(pairs).T
        both = lines.line(1 / seconds, top1), lines.line(seconds, top1)
        if both[0] is not None and both[1] is not None:
            found[setting] = both[0], both[1]
    if not found:
        return _too_few(claim, races)
    told = {setting: f"{_told(setting)}: off by {100 * curve.off:.1f} points, a straight line by {100 * line.off:.1f}"
            for setting, (curve, line) in found.items()}
    holds = tuple(told[setting] for setting, (curve, line) in found.items()
                  if curve.slope.high < 0 and curve.off < line.off)
    fails = tuple(told[setting] for setting, (curve, line) in found.items()
                  if curve.slope.low > 0 or curve.off >= line.off)
    return Judgement(claim, weighed(holds, fails, read=len(told)), _readings(told, holds + fails), holds, fails)


def _energy_bound(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """The more energy an image may take, the more accurate and the larger the network that is run: Spearman's
    correlations of joules with accuracy and with operations over networks, both positive, or one negative; each way
    one-sided, Bonferroni over both and all settings. Few networks have too few orders to show anything."""
    from scipy.stats import spearmanr

    accuracies = _accuracies(claim)
    found: dict[Setting, list[tuple[float, float, float]]] = {}
    for _, result in comparable(races):
        case = result.race.case
        for each in consumption(result.race) if case.model in accuracies else ():
            if each.contender in claim.asks["contenders"]:
                found.setdefault((case.device, each.contender, case.batch), []).append(
                    (each.joules.value, accuracies[case.model], _macs(result)))
    found = {setting: rows for setting, rows in found.items() if len(rows) >= lines.FEWEST}
    if not found:
        return _unmeasured(claim, races)
    tests = {}
    for setting, rows in found.items():
        joules, top1, macs = np.array(rows).T
        tests[setting] = [(spearmanr(joules, each).statistic, *_chances(joules, each)) for each in (top1, macs)]
    told = {setting: "{}: rank correlation of joules with accuracy {:.2f}, with operations {:.2f}".format(
        _told(setting), *(rank for rank, _, _ in both)) for setting, both in tests.items()}
    level = ALPHA / (2 * len(tests))
    bound = tuple(told[setting] for setting, both in tests.items() if all(up < level for _, up, _ in both))
    free = tuple(told[setting] for setting, both in tests.items() if any(down < level for _, _, down in both))
    return Judgement(claim, weighed(bound, free, read=len(told)), _readings(told, bound + free), bound, free)


def _chances(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """How likely a rank correlation at least as high is, and one at least as low, where every order is as likely:
    counted (Hotelling & Pabst, Annals of Mathematical Statistics 7, 1936), for the t of few networks is far off."""
    from scipy.stats import rankdata

    ranks, others = rankdata(a), rankdata(b)
    products = others[_orders(len(a))] @ ranks  # Spearman's correlation rises with it; exact, of halves
    seen = others @ ranks
    return float(np.mean(products >= seen)), float(np.mean(products <= seen))


@lru_cache(maxsize=2)
def _orders(count: int) -> np.ndarray:
    """All orders of so many things; of more than COUNTED the one they are in, and DRAWN more."""
    if count <= COUNTED:
        return np.array(list(permutations(range(count))))
    drawn = np.random.default_rng(0).permuted(np.tile(np.arange(count), (DRAWN, 1)), axis=1)
    return np.vstack([np.arange(count), drawn])


def _accuracies(claim: Claim) -> dict[str, float]:
    """Those that the claim's study has published."""
    published = study.find(claim.study).accuracy
    return published.top1 if published is not None else {}


def _macs(result: Result) -> float:
    case = result.race.case
    return models.find(case.model).graph(case.shape or None, case.classes).macs


def _too_few(claim: Claim, races: Sequence[Settled]) -> Judgement:
    return not_run(claim, races, f"a line takes {lines.FEWEST} networks" if comparable(races) else "")


TESTS: dict[str, Test] = {
    "operations": _operations, "hyperbola": _hyperbola, "energy-bound": _energy_bound, "same-power": _same_power,
    "same-power-of-networks": _same_power_of_networks}
