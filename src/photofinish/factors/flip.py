"""What would flip the verdict: settings, batches and sizes at which the slower of two is ahead. Values that reports
draw, and where along a line of batches or sizes to look next; `verbs.flip` makes them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log, log2

from photofinish import environments
from photofinish.environments import headers
from photofinish.environments.contenders import NUMBER, WHOLE_NUMBER
from photofinish.errors import UsageError
from photofinish.factors import CONFIRMED, NOT_CONFIRMED
from photofinish.stats import effects, paired
from photofinish.stats.standings import failure_of, no_certificate
from photofinish.stats.verdict import ALPHA
from photofinish.values import MODE, Contender, Estimate, Race

SETTING, BATCH, SIZE = "setting", "batch", "size"


@dataclass(frozen=True)
class Change:
    """Something to try: its `kind`, what it is told as, the two contenders then, and by what factor a batch or size is
    another (1 of a setting)."""

    kind: str
    told: str
    slower: str
    faster: str
    factor: float = 1.0

    @property
    def distance(self) -> float:
        """0 of a setting, of a batch or size how many times another it is, as a logarithm."""
        return abs(log(self.factor))


@dataclass(frozen=True)
class Look:
    """What came of it in which `race`: `ratio` is seconds(slower) / seconds(faster), named as they were at the start;
    None with the `reason` why there is none."""

    change: Change
    race: str
    ratio: Estimate | None
    reason: str = ""

    @property
    def reversed(self) -> bool:
        """Whether the one that was slower is shown to be ahead."""
        return self.ratio is not None and effects.shown(self.ratio) and self.ratio.value < 1


@dataclass(frozen=True)
class Answer:
    """The smallest change of a kind that was found to reverse the ranking, and the same `again` on fresh launches, None
    where that was not run. `short` is the nearest batch or size on the way there at which that is not shown, None where
    the start is."""

    look: Look
    short: str | None = None
    again: Look | None = None

    @property
    def outcome(self) -> str:
        """"" where nothing was raced again."""
        if self.again is None:
            return ""
        return CONFIRMED if self.again.reversed else NOT_CONFIRMED


@dataclass(frozen=True)
class Flips:
    """`ratio` is seconds(slower) / seconds(faster) at the start; None with the `reason`. `looks` are everything that
    was tried, `answers` the smallest change first; `left` says what was not tried and why."""

    start: Race
    slower: str
    faster: str
    ratio: Estimate | None
    reason: str = ""
    looks: tuple[Look, ...] = ()
    answers: tuple[Answer, ...] = ()
    left: str = ""

    @property
    def ranked(self) -> bool:
        """Whether there is a ranking to reverse."""
        return self.ratio is not None and effects.shown(self.ratio)


def variations(contender: Contender, named: Sequence[str], task: str, device: str) -> list[tuple[str, Contender]]:
    """The contender with one setting changed: to each of `named` ("layout=channels_last") that it knows, or of those
    that its framework lists: other levels of options, other modes of the same precision that do not compile for
    minutes, one thread, the default allocator. Raises UsageError for a name that is none."""
    pairs = [_split(text) for text in named] or list(_listed(contender, task, device))
    found = []
    for name, level in pairs:
        changed = contender.set_to(name, level)
        if contender.setting(name) == level:
            continue
        try:
            environments.checked(changed.name, device)
        except UsageError:
            continue
        found.append((f"{name}={level}", changed))
    return found


def check_settings(contenders: Sequence[Contender], named: Sequence[str], device: str) -> None:
    """Raises UsageError for a setting that is no change: who knows it stands there, or nobody does, as the first
    contender says it."""
    for text in named:
        if not any(variations(each, [text], "", device) for each in contenders):
            name, level = _split(text)
            there = " and ".join(each.name for each in contenders if each.setting(name) == level)
            if there:
                raise UsageError(f"{text} changes nothing: so it is in {there}", "name another level")
            environments.checked(contenders[0].set_to(name, level).name, device)


def _split(text: str) -> tuple[str, str]:
    name, equals, level = (each.strip() for each in text.partition("="))
    if not equals or not name or not level:
        raise UsageError(f"{text!r} is not a setting", "write --setting layout=channels_last")
    return name, level


def _listed(contender: Contender, task: str, device: str) -> Iterator[tuple[str, str]]:
    info = headers.frameworks()[contender.framework]
    for name, levels in info.options.items():
        idle = task == "infer" and name in info.of_training
        if levels and levels not in (WHOLE_NUMBER, NUMBER) and not idle:
            own = contender.setting(name) or levels[0]
            yield from ((name, level) for level in levels if level != own)
    for mode in info.modes_of(contender.version):
        if task in info.tasks_of(mode) and device.partition(":")[0] in info.devices_of(mode) \
                and mode not in info.precisions and info.compiles.get(mode) != "minutes":
            yield MODE, mode
    if device != "cpu":
        return
    if contender.world == 1:  # several processes would have to share it
        yield "threads", "1"
    yield "allocator", "default"


def look(change: Change, race: Race, family: int) -> Look:
    """What a race says of a change, as one of a `family` of looks (Bonferroni)."""
    names = (change.slower, change.faster)
    skipped = {each.contender: each.reason for each in race.skipped}
    for name in names:
        failure = failure_of(race, name) if name in race.contenders else None
        reason = skipped.get(name) or (f"it failed: {failure.kind}" if failure else no_certificate(race, name))
        if reason:
            return Look(change, race.id, None, f"{name}: {reason}")
    logs = paired.launch_differences(paired.log_steps(race), change.faster, change.slower)
    if len(logs) < 2:
        return Look(change, race.id, None, "fewer than two launches compare them")
    return Look(change, race.id, paired.interval(logs, 1 - ALPHA / family))


def looks(count: int, start: int) -> int:
    """The most that a search along so many values takes: on each side of the start the end, and halvings."""
    return sum(1 + ceil(log2(side)) for side in (start, count - 1 - start) if side)


def candidate(count: int, start: int, turned: Mapping[int, bool]) -> int | None:
    """The index to look at next along `count` values: the ends, then halfway between what does not reverse the ranking
    and what does, on either side of `start`; None if all is known. `turned` maps those looked at to whether it was
    reversed there; what stayed undecided was not."""
    for end in (0, count - 1):
        if end != start and end not in turned:
            return end
    return next(((short + beyond) // 2 for short, beyond in brackets(start, turned) if abs(beyond - short) > 1), None)


def brackets(start: int, turned: Mapping[int, bool]) -> Iterator[tuple[int, int]]:
    """On each side of the start where the ranking was reversed: the last index on the way that does not, and the first
    that does."""
    for side in (-1, 1):
        there = [each for each, reverse in turned.items() if reverse and (each - start) * side > 0]
        if there:
            beyond = min(there, key=lambda each: abs(each - start))
            on_the_way = [each for each in turned if 0 < (each - start) * side < abs(beyond - start)]
            yield max(on_the_way, key=lambda each: abs(each - start), default=start), beyond
