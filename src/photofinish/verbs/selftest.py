"""Proves the instrument on this machine: races whose answer is known beforehand, run by the ordinary path.

Nothing here measures a framework: every check asks whether Photofinish says what is true.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from photofinish import api, environments
from photofinish.environments import Choice
from photofinish.errors import UsageError
from photofinish.outcome import Outcome
from photofinish.runner import watchdog
from photofinish.runner.arrange import find_entries
from photofinish.runner.meet import Places
from photofinish.stats import positions
from photofinish.values import Contender, Estimate, Progress, Result

MODEL = "digits_cnn"
HANDICAP = 0.03
ERROR_RATE = 0.05  # what a verdict states of itself
SURPRISE = 0.01  # more false verdicts than happen by chance in one self-test of a hundred fail it
PATIENCE = 4  # times the budget of a placebo goes to the planted race: its interval must tell 3 % from nothing
USUAL = ("torch", "tensorflow")  # the frameworks that are taken first where they are installed
SILENCE = 40.0  # seconds after which the planted hang counts as one
FAULTS = {"crash": "crash", "hang": "hang", "memory": "out of memory", "nan": "nan"}


@dataclass(frozen=True)
class Check:
    """One question put to the instrument, whether the answer was right, and what was seen."""

    name: str
    passed: bool
    seen: str


@dataclass(frozen=True)
class SelfTest:
    """The answers, and the position effects found in all placebo races together (ratio of second to
    first, None where too little was run)."""

    checks: tuple[Check, ...]
    start_position: Estimate | None
    round_position: Estimate | None
    contenders: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)


def run(store: Path | str | None = None, contenders: Sequence[str] = (), budget: float = 60.0,
        listener: Callable[[Progress], None] | None = None, environments: Places = (),
        make_environments: bool | None = None, thorough: bool = False) -> SelfTest:
    """Takes about ten minutes; `budget` seconds go to each placebo, four times that to the planted race.

    `contenders` default to two frameworks that this Python has, one of them in its second mode, which most compile in;
    to the first two modes of each with `thorough`. `environments` and `make_environments` are as in `api.race`.
    Raises UsageError.
    """
    folder = Path(store) if store is not None else api.DEFAULT_STORE
    if thorough and contenders:
        raise UsageError("thorough chooses the contenders, and contenders are named as well",
                         "leave one of the two out: --thorough or --contenders")
    chosen = tuple(contenders) or default_contenders(thorough)
    _check(chosen, Choice.of(environments, make_environments), listener)
    places = {"environments": environments, "make_environments": make_environments}
    return _SelfTest(folder, chosen, budget, listener or (lambda progress: None), places).run()


def _check(contenders: Sequence[str], choice: Choice, listener: Callable[[Progress], None] | None) -> None:
    """Whether all of them can run, before the first does, which takes minutes. Raises UsageError."""
    for entry in find_entries(contenders, "cpu", choice, listener)[0]:
        lacking = [task for task in environments.TASKS if task not in entry.tasks]
        if lacking:
            raise UsageError(f"{entry.name} lacks task {lacking[0]}, and the self-test races in both",
                             "name contenders that train and infer; see: photofinish list contenders")


def default_contenders(thorough: bool) -> tuple[str, ...]:
    """Of the frameworks that this Python has and that train. Raises UsageError if there is none."""
    here = [environments.frameworks()[each.framework] for each in environments.everybody()
            if isinstance(environments.own(each), environments.Environment)]
    found = [names for each in sorted(here, key=_rank) if (names := _first_modes(each))]
    if not found:
        raise UsageError("no framework is installed for this Python",
                         "name contenders, and environments are made for them: photofinish selftest -c torch")
    if thorough:
        return tuple(name for names in found for name in names)
    return tuple(dict.fromkeys((found[0][0], found[:2][-1][-1])))


def _rank(framework: environments.FrameworkInfo) -> int:
    return USUAL.index(framework.name) if framework.name in USUAL else len(USUAL)


def _first_modes(framework: environments.FrameworkInfo) -> list[str]:
    """Its first two modes that train."""
    return [Contender(framework.name, mode).name for mode in framework.modes
            if framework.tasks_of(mode) == environments.TASKS][:2]


class _SelfTest:
    def __init__(self, store: Path, contenders: tuple[str, ...], budget: float,
                 listener: Callable[[Progress], None], places: dict[str, Any]) -> None:
        self.store, self.contenders, self.budget, self.listener = store, contenders, budget, listener
        self.places = places
        self.placebos: list[Result] = []

    def run(self) -> SelfTest:
        checks = tuple(self._checks())
        return SelfTest(checks, positions.of_start([each.race for each in self.placebos]),
                        positions.in_round([each.race for each in self.placebos]), self.contenders)

    def _checks(self) -> Iterator[Check]:
        yield self._placebo()
        yield self._planted()
        yield self._wrong_model()
        yield self._wrong_numerics()
        yield from self._faults()

    def _placebo(self) -> Check:
        """The same contender twice is not called faster more often than the stated error rate allows."""
        for name in self.contenders:
            self.placebos += self._race(name, name, task=("train", "infer"))
        words = [verdict.verdict for result in self.placebos for verdict in result.verdicts]
        false = sum(word in ("FASTER", "SLOWER") for word in words)
        lost = sum(word == "NOT COMPARABLE" for word in words)
        seen = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
        return Check("placebo", bool(words) and not lost and false <= _allowed(len(words)), seen)

    def _planted(self) -> Check:
        """A contender slowed by a known share is found, and the share lies in the interval."""
        planted = [_with(self.contenders[0], handicap=str(share)) for share in (0, HANDICAP)]
        results = self._race(*planted, task=("train", "infer"), budget=PATIENCE * self.budget)
        verdicts = [verdict for result in results for verdict in result.verdicts]
        missed = [each for each in verdicts if each.low is None or each.high is None
                  or not each.low <= 1 + HANDICAP <= each.high]
        found = any(each.verdict == "FASTER" for each in verdicts)
        seen = "; ".join(f"{each.verdict}, {_span(each.low, each.high)}" for each in verdicts)
        return Check("planted slow-down of 3 %", found and len(missed) <= _allowed(len(verdicts)), seen)

    def _wrong_model(self) -> Check:
        """A contender that computes with a slightly wrong parameter is refused."""
        name = self.contenders[0]
        (result,) = self._race(name, _with(name, fault="wrong"), launches=1)
        failures = [each for each in result.race.failures if each.kind == "wrong answer"]
        return Check("wrong model refused", len(failures) == 1 and not result.comparable,
                     failures[0].message if failures else "it was not refused")

    def _wrong_numerics(self) -> Check:
        """Products that lose bits although every flag says float32 are seen by the audit."""
        name = self.contenders[0]
        (result,) = self._race(name, _with(name, fault="bfloat16"), launches=1)
        warnings = [each.warning for each in result.race.audit if each.warning]
        return Check("numerics mismatch seen", bool(warnings), warnings[0] if warnings else "the audit saw nothing")

    def _faults(self) -> Iterator[Check]:
        """Crash, hang, out of memory and NaN: each is named, and the others' race goes on."""
        name = self.contenders[0]
        broken = {fault: _with(name, fault=fault, at="12") for fault in FAULTS}
        (result,) = self._race(name, name, *broken.values(), launches=2, certify=False, timeout=SILENCE)
        failures = {failure.contender: failure for failure in result.race.failures}
        for fault, kind in FAULTS.items():
            failure = failures.get(environments.checked(broken[fault]).name)
            yield Check(f"{kind} survived", failure is not None and failure.kind == kind,
                        f"{failure.kind}: {failure.message}" if failure else "it was not noticed")
        finished = {launch.number for launch in result.race.launches} == {1, 2}
        left = watchdog.children()
        yield Check("the race goes on", finished and len(result.race.failures) == len(FAULTS) and not left,
                    f"{len(result.race.launches)} launches finished, {len(left)} processes left behind")

    def _race(self, *contenders: str, task: str | Sequence[str] = "train", launches: int | None = None,
              certify: bool = True, timeout: float | None = None, budget: float | None = None) -> Outcome:
        self.listener(Progress("launch", "self-test: " + " against ".join(contenders)))
        return api.race(MODEL, contenders, task, budget=budget or self.budget, launches=launches, certify=certify,
                        store=self.store, timeout=timeout, listener=self.listener, command="photofinish selftest",
                        **self.places)


def _allowed(tests: int) -> int:
    """The most false verdicts out of `tests` that chance explains: P(more) is below SURPRISE."""
    chances = [math.comb(tests, k) * ERROR_RATE**k * (1 - ERROR_RATE) ** (tests - k) for k in range(tests + 1)]
    return next(k for k in range(tests + 1) if sum(chances[k + 1:]) < SURPRISE)


def _with(name: str, **options: str) -> str:
    contender = environments.checked(name)
    return replace(contender, options=tuple(sorted({**dict(contender.options), **options}.items()))).name


def _span(low: float | None, high: float | None) -> str:
    return "no interval" if low is None or high is None else f"{low:.3f} to {high:.3f}"
