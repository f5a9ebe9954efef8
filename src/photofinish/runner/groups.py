"""Who is alive together in a launch: everybody where their memory allows it, else groups that share an anchor.

The anchor runs in every group, in a fresh process each time, so that contenders of different groups can be compared
through it (`stats.paired`). It is the fastest of the rehearsal, where memory allows: comparisons with the leader, which
a report begins with, are then direct, and running it again costs least. Groups are drawn anew for each pair of
launches: who lies in memory beside a contender is an accident, as the order of starting is, and is averaged like it.

The ranks of a strategy cannot be stopped while others run, so each such contender is alive alone, before or after the
others in turn: it is compared launch by launch. So is everybody where the memory of a device does not hold them all:
who is stopped gives none of it back.
"""

import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from photofinish import machine
from photofinish.runner.course import STEP_OF, Course

SHARE = 0.5  # of the machine's memory: the rest is for pages of files, the parent, and whoever else is here
TRIES = 50  # draws before one more group is made
DEVICE_SHARE = 0.5  # of a device's memory: a pool that doubles as it grows holds up to twice what it gives out
CONTEXT = 2**30  # bytes of a device that a process holds before it computes: the driver's, and code of libraries


def default_room() -> int | None:
    """Bytes that the workers of a launch may hold together; None where the machine does not say what it has."""
    memory = machine.usable_memory(Path("/"))
    return None if memory is None else int(SHARE * memory)


def gather(course: Course, number: int) -> list[list[str]]:
    """The contenders of launch `number`, by groups that run one after another; an even one has those of the launch
    before it, in reverse."""
    crowded = crowd_device(course, [entry.name for entry in course.live])
    alone = [[entry.name] for entry in course.live if crowded or entry.contender.strategy]
    waiting = [] if crowded else [entry.name for entry in course.live if not entry.contender.strategy]
    groups = _together(course, waiting, number)
    if alone:
        groups = _draw(course, number).sample([*groups, *alone], len(groups) + len(alone))
    return groups if number % 2 else groups[::-1]


def crowd_device(course: Course, names: Sequence[str]) -> bool:
    """Whether the device's memory, if it is not the machine's, does not hold these at once. Whose framework does not
    tell what it gave out there counts as the largest of the others."""
    room = machine.device_memory() if course.case.device != "cpu" and len(names) > 1 else None
    if room is None:
        return False
    usual = max(course.device_peaks.values(), default=0)
    return sum(course.device_peaks.get(name, usual) + CONTEXT for name in names) > DEVICE_SHARE * room


def _draw(course: Course, number: int) -> random.Random:
    """The same for both launches of a pair."""
    return random.Random(f"{course.seed}/groups/{(number + 1) // 2}")


def _together(course: Course, names: list[str], number: int) -> list[list[str]]:
    """Those that can wait stopped. Chooses the course's anchor when one is needed first, or the old one is out."""
    peaks = {name: course.peaks.get(name, 0) for name in names}
    if course.room is None or len(peaks) < 3 or sum(peaks.values()) <= course.room:  # two run together in any case
        return [names] if names else []
    if course.anchor not in peaks:
        course.anchor = choose_anchor(course, peaks, course.room)
    return divide(peaks, course.room, course.anchor, _draw(course, number))


def choose_anchor(course: Course, peaks: Mapping[str, int], room: int) -> str:
    """The fastest that runs all tasks and leaves room for the largest of the others; the smallest where none does."""
    def fits(name: str) -> bool:
        return peaks[name] + max(peak for other, peak in peaks.items() if other != name) <= room

    def seconds(name: str) -> float:
        return sum(course.estimates.get(STEP_OF.get(task, task), {}).get(name, math.inf) for task in course.tasks)

    able = [name for name in peaks if fits(name)]
    return min(able, key=seconds) if able else min(peaks, key=peaks.__getitem__)


def divide(peaks: Mapping[str, int], room: int, anchor: str, draw: random.Random) -> list[list[str]]:
    """Groups with the anchor in each, as few as are found, drawn at random and as equal in number as memory allows.

    Two contenders are the least that can be compared: a pair runs together even where it does not fit.
    """
    others = [name for name in peaks if name != anchor]
    left = room - peaks[anchor]
    fewest = math.ceil(sum(min(peaks[name], left) for name in others) / left) if left > 0 else len(others)
    for count in range(fewest, len(others)):
        for _ in range(TRIES):
            dealt = _deal(draw.sample(others, len(others)), count, peaks, left)
            if dealt:
                return [[anchor, *group] for group in dealt]
    return [[anchor, name] for name in draw.sample(others, len(others))]


def _deal(names: Sequence[str], count: int, peaks: Mapping[str, int], left: int) -> list[list[str]] | None:
    """Each name in turn to the smallest group that has room for it; None where one finds none. An empty group takes
    anybody."""
    groups: list[list[str]] = [[] for _ in range(count)]
    for name in names:
        able = [group for group in groups if not group or sum(peaks[each] for each in group) + peaks[name] <= left]
        if not able:
            return None
        min(able, key=len).append(name)
    return groups
