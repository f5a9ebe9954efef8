"""What the races of a study say to a claim: a function for each kind of test. Those of time and learning stand here."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np

from photofinish import machine
from photofinish.claims import costs, memory
from photofinish.claims.claim import Claim, Judgement, together, weighed
from photofinish.claims.evidence import Measure, Test, alpha_of, comparable, decided, margin_of, not_run, samples
from photofinish.stats import alike, batches, curves, jobs, learning, paired
from photofinish.stats.interaction import differences, interaction
from photofinish.stats.scaling import scalings
from photofinish.stats.standings import REHEARSAL, failure_of
from photofinish.stats.verdict import ALPHA, compared, decide, decide_apart, decide_within
from photofinish.study import Settled
from photofinish.values import Race

MARGIN = 0.02  # a first epoch within this of the others is as long
NEAR = 0.9  # of linear: the figure of Horovod for two of its three networks (arXiv 1802.05799)


def _faster(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """a is faster than b in every race that is decided, judged together (Holm): in the time that is raced for, or in
    the phases that the claim names."""
    found = decided(claim, races, _phases(claim.asks["phases"]) if "phases" in claim.asks else differences)
    if isinstance(found, Judgement):
        return found
    ahead, against = found["FASTER"], found["SLOWER"] + found["EQUIVALENT"]
    told = ", ".join(f"{len(found[word])} {word.lower()}" for word in found)
    word = weighed(ahead, against, read=sum(map(len, found.values())))
    return Judgement(claim, word, f"{claim.asks['a']} in {told}", ahead, against)


def _sometimes(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """a is faster than b in some race."""
    found = decided(claim, races)
    if isinstance(found, Judgement):
        return found
    open_still = bool(found["UNDECIDED"]) or any(each.pending for each in races)
    word = "CONFIRMED" if found["FASTER"] else "UNDECIDED" if open_still else "REFUTED"
    told = f"{claim.asks['a']} is faster in {len(found['FASTER'])} of {sum(map(len, found.values()))} races"
    return Judgement(claim, word, told, found["FASTER"], found["SLOWER"])


def _depends(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """Each of a and b is faster somewhere, and the ratios of two races differ (`interaction`). Against it speaks one
    ratio alone, with every race decided: all are equivalent, or the ratios of every two races are (`alike`). That no
    two are shown to differ says nothing: noise does that too."""
    found = decided(claim, races)
    if isinstance(found, Judgement):
        return found
    groups = [values for values, _ in samples(claim, races)]
    test = interaction(groups, alpha_of(races))
    if test is None:
        return not_run(claim, races, "one race does not say whether others are alike")
    both, ever = bool(found["FASTER"] and found["SLOWER"]), bool(found["FASTER"] or found["SLOWER"])
    told = (f"{claim.asks['a']} is faster in {len(found['FASTER'])} races, {claim.asks['b']} in "
            f"{len(found['SLOWER'])}; "
            + (f"Welch's p = {test.chance:.2g}" if test.shown else "no two ratios are shown to differ"))
    one = not found["UNDECIDED"] and (
        not ever or alike.alike({"": groups}, margin_of(races), alpha_of(races))[""] == alike.ALIKE)
    word = "CONFIRMED" if both and test.shown else "MIXED" if both or test.shown else "REFUTED" if one else "UNDECIDED"
    if word == "UNDECIDED":
        told += f"; {len(found[word])} undecided, ratios up to {alike.apart(groups):.3f} times apart"
    return Judgement(claim, word, told, found["FASTER"], found["SLOWER"])


def _first_epoch(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """Whether a contender's first epoch takes longer than its later ones: t tests over launches, Holm over races."""
    name = claim.asks["contender"]
    titled = [(curves.excess(result.race, name), each.planned.title) for each in races for result in each.results]
    samples = [(values, title) for values, title in titled if len(values) > 1]
    if not samples:
        return not_run(claim, races)
    words: dict[str, list[str]] = {}
    for decision, (_, title) in zip(decide([values for values, _ in samples], MARGIN, alpha_of(races)), samples):
        words.setdefault(decision.word, []).append(title)
    longer, not_longer = words.get("FASTER", []), words.get("SLOWER", []) + words.get("EQUIVALENT", [])
    speaking, against = (longer, not_longer) if claim.asks["longer"] else (not_longer, longer)
    median = math.exp(float(np.median(np.concatenate([values for values, _ in samples]))))
    told = f"the first epoch takes {median:.2f} times a later one (median of launches)"
    return Judgement(claim, weighed(speaking, against, read=len(samples)), told, tuple(speaking), tuple(against))


def _same_accuracy(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """Whether a and b end equally accurate after whole trainings: tests of equivalence within the tolerance of each
    race, all judged together (Holm). Nobody stops a race for its accuracies, so that looks cost them nothing."""
    pair = {claim.asks["a"], claim.asks["b"]}
    found = [(values / result.race.case.training.tolerance, each.planned.title) for each in races
             for result in each.results if result.race.case.training is not None and result.race.case.task == "fit"
             for names, values in learning.accuracy_differences(result.race).items() if set(names) == pair
             and len(values)]
    if not found:
        return not_run(claim, races)
    several = [(values, title) for values, title in found if len(values) > 1]
    decisions = decide_within([values for values, _ in several], 1.0)
    same, other = (tuple(title for decision, (_, title) in zip(decisions, several) if decision.word in words)
                   for words in (("EQUIVALENT",), ("FASTER", "SLOWER")))
    left = len(found) - len(same) - len(other)
    told = f"{len(same)} trainings end equally accurate, {len(other)} do not, {left} undecided"
    return Judgement(claim, weighed(same, other, read=len(found)), told, same, other)


def _with_batch(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """The time of a sample falls as the batch grows, for each contender of the claim: Page's test (1963) with the
    networks and inputs as blocks, Bonferroni over contenders."""
    contenders = claim.asks["contenders"]
    trends = {name: batches.trend(_by_batch(name, races)) for name in contenders}
    found = {name: trend for name, trend in trends.items() if trend is not None}
    if not found:
        some = any(each.results for each in races)
        return not_run(claim, races, "a trend takes two networks at three batches each" if some else "")
    falls = tuple(name for name, trend in found.items() if trend.chance < ALPHA / len(contenders))
    rises = tuple(name for name, trend in found.items() if trend.doubling.high < 1)
    told = "; ".join(f"{name}: twice the batch has {trend.doubling.value:.2f} times the throughput, Page's p = "
                     f"{trend.chance:.2g}" for name, trend in found.items())
    return Judgement(claim, weighed(falls, rises, read=len(found)), told, falls, rises)


def _by_batch(name: str, races: Sequence[Settled]) -> batches.Logs:
    """Batch -> network and input (a number each) -> log seconds of a step, of those that have every batch; their levels
    are taken out, so that only the way with the batch is left."""
    logs: dict[str, dict[int, float]] = {}
    for _, result in comparable(races):
        case = result.race.case
        steps = paired.by_launch(paired.log_steps(result.race).get(name, {}))
        if steps and not failure_of(result.race, name):
            logs.setdefault(f"{case.model} {case.shape} {case.device}", {})[case.batch] = float(
                np.mean(list(steps.values())))
    sizes = {size for each in logs.values() for size in each}
    whole = [each for each in logs.values() if each.keys() == sizes]
    levels = [float(np.mean([each[size] - math.log(size) for size in sizes])) for each in whole]
    return {size: {number: each[size] - level for number, (each, level) in enumerate(zip(whole, levels), 1)}
            for size in sorted(sizes)} if whole else {}


def _near_linear(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """N processes are at least NEAR times N times as fast as one of them, all races judged together (Holm)."""
    found = [(scaling, differences(result.race, scaling.contender, scaling.against), each.planned.title)
             for each in races for result in each.results for scaling in scalings(result.race)
             if scaling.contender == claim.asks["contender"] and scaling.launches > 1]
    if not found:
        return not_run(claim, races)
    decisions = decide_within([logs - math.log(NEAR * scaling.processes) for scaling, logs, _ in found], 0.0,
                              alpha_of(races))
    near, far = (tuple(title for decision, (*_, title) in zip(decisions, found) if decision.word == word)
                 for word in ("FASTER", "SLOWER"))
    told = ", ".join(f"{each.value:.0%} ({each.low:.0%} to {each.high:.0%})"
                     for each in (scaling.efficiency for scaling, *_ in found))
    word = weighed(near, far, read=len(found))
    return Judgement(claim, word, f"efficiency {told}; {NEAR:.0%} is near linear", near, far)


def _phases(names: Sequence[str]) -> Measure:
    """The time of these phases together, whatever the task; of one that a launch has again, for another group, the
    mean."""
    def measured(race: Race, a: str, b: str) -> np.ndarray:
        found: dict[tuple[str, int], dict[str, list[float]]] = defaultdict(dict)
        for each in race.phases:
            if each.name.partition(":")[0] in names and each.launch != REHEARSAL:
                found[each.contender, each.launch].setdefault(each.name, []).append(each.seconds)
        seconds = {key: sum(map(fmean, by_name.values())) for key, by_name in found.items()}
        return np.array([math.log(seconds[b, launch] / total) for (name, launch), total in sorted(seconds.items())
                         if name == a and total > 0 and seconds.get((b, launch), 0) > 0])
    return measured


def _over_days(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """From day to day the times of a and of b differ, and their ratio does not: in each race every two days are
    compared, all together. Of a race that was run twice on a day the first counts."""
    a, b = claim.asks["a"], claim.asks["b"]
    days: dict[str, dict[str, Race]] = {}
    for each in races:
        for result in each.results:
            if result.comparable and compared(result, a, b) and len(differences(result.race, a, b)) > 1:
                of_race = days.setdefault(replace(each.planned, day=None).title, {})
                of_race.setdefault(result.race.created[:10], result.race)
    enough = {title: list(found.values()) for title, found in days.items() if len(found) >= claim.asks["days"]}
    if not enough:
        most = max(map(len, days.values()), default=0)
        return not_run(claim, races) if not most else Judgement(
            claim, "NOT YET RUN", f"run on {most} of {claim.asks['days']} days; on another day: {claim.command}")
    families = {(title, name): [_logs(race, name) for race in found] for title, found in enough.items()
                for name in (a, b)}
    families |= {(title, ""): [differences(race, a, b) for race in found] for title, found in enough.items()}
    words = alike.alike(families, margin_of(races), alpha_of(races))
    speaking, against = [], []
    for title in enough:
        of_times = {words[title, name] for name in (a, b)}
        if of_times == {alike.DIFFERENT} and words[title, ""] == alike.ALIKE:
            speaking.append(title)
        elif alike.ALIKE in of_times or words[title, ""] == alike.DIFFERENT:
            against.append(title)
    told = "; ".join(f"{title}: over {len(found)} days times differ by up to "
                     f"{max(alike.apart(families[title, name]) for name in (a, b)):.3f} times, their ratio by "
                     f"{alike.apart(families[title, '']):.3f}{_places(found)}" for title, found in enough.items())
    return Judgement(claim, weighed(speaking, against, read=len(enough)), told, tuple(speaking), tuple(against))


def _places(days: Sequence[Race]) -> str:
    """That days differ in their machine too, as those of a cloud may."""
    places = len({machine.identity(race.machine) for race in days})
    return f" (on {places} machines)" if places > 1 else ""


def _logs(race: Race, name: str) -> np.ndarray:
    """log seconds of what is raced for, of each launch."""
    return paired.launch_steps(paired.log_steps(race)[name])


def _loading(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """A step of a pass through a framework's own input pipeline takes longer than one on a batch that lies ready, which
    is what dummy batches leave out: for each contender, races of task epoch against those of task train (Welch, Holm).
    """
    steps: dict[tuple[str, str], dict[str, np.ndarray]] = {}
    for each in races:
        for result in each.results:
            case, planned = result.race.case, each.planned
            raced = [name for name in claim.asks["contenders"] if name in result.race.contenders
                     and not failure_of(result.race, name)]
            for name in raced if result.comparable else ():
                if case.training is not None and case.training.samples % case.batch:
                    continue  # a short batch is no step like the others
                logs = _mean_steps(result.race, name)
                if len(logs) > 1:
                    title = replace(planned, tasks=(), data="").title
                    steps.setdefault((title, name), {})[case.task] = logs
    both = {key: (found["train"], found["epoch"]) for key, found in steps.items() if {"train", "epoch"} <= found.keys()}
    if not both:
        return not_run(claim, races)
    decisions = dict(zip(both, decide_apart(list(both.values()), margin_of(races), alpha_of(races))))
    told = {(title, name): f"{name}, {title}: a pass takes {math.exp(each.mean):.3f} times as long as a step"
            for (title, name), each in decisions.items()}
    longer = tuple(told[key] for key, each in decisions.items() if each.word == "FASTER")
    not_longer = tuple(told[key] for key, each in decisions.items() if each.word in ("SLOWER", "EQUIVALENT"))
    return Judgement(claim, weighed(longer, not_longer, read=len(both)), "; ".join(told.values()), longer, not_longer)


def _mean_steps(race: Race, name: str) -> np.ndarray:
    """log of the mean seconds of a step of each launch: beside a pass, a sum of slow steps and all, a median would read
    short."""
    training = race.case.training
    steps = training.samples // race.case.batch if training is not None else 1
    return np.log([seconds / steps for seconds in jobs.mean_steps(race)[name].values()])


def _all(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """Every part of the claim holds, each by a test of its own."""
    return together(claim, {part: TESTS[part](claim, races) for part in claim.asks["parts"]})


TESTS: dict[str, Test] = {
    "faster": _faster, "sometimes": _sometimes, "depends": _depends, "first-epoch": _first_epoch,
    "same-accuracy": _same_accuracy, "with-batch": _with_batch, "near-linear": _near_linear, "over-days": _over_days,
    "loading": _loading, "all": _all, **costs.TESTS,
    **memory.TESTS}
