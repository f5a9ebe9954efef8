"""The ranks of a strategy as one worker: every request goes to all of them, and they answer as one.

Each rank is a process of its own, pinned to its share of the cores, that speaks the protocol of every worker. Ranks
wait for each other within a step, so one that dies or hangs would keep the others for ever: the first that fails is the
failure of all, and then none is left alive. They are never stopped, for what keeps them in touch would count that as
silence.
"""

import select
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from photofinish.machine import by_core
from photofinish.measure import system
from photofinish.runner import idle
from photofinish.runner.process import LOOK, WorkerFailed, WorkerProcess
from photofinish.worker import TIMED

Done = TypeVar("Done")

GRACE = 2.0  # seconds, after a rank says it failed, to hear of one that died: the others fail for its sake
SUMMED = ("memory", "cpu", "faults")  # of a reply; times are those of rank 0


def share(cores: Sequence[int], each: int, rank: int, ranks: int) -> list[int]:
    """`each` of the cores for this one of so many ranks, and others for every other: of the first that are given out,
    with the threads of a physical core in one part as far as parts that are all alike allow it."""
    together = [thread for core in by_core(cores[:each * ranks]) for thread in core]
    return together[rank * each:(rank + 1) * each]


class Ranks:
    """Started together; `start` makes one rank, which has said nothing yet, `meeting` is the folder in which they find
    each other."""

    def __init__(self, world: int, start: Callable[[int], WorkerProcess], meeting: str,
                 sign_of_life: Callable[[], None] = lambda: None, parts: int = 0, seen: bool = False,
                 machines: Sequence[str] = ()) -> None:
        """`parts` are those of a batch, where that is not one for each rank. `seen` is whether what they do can be seen
        from here, and so that they do nothing; `machines` name that of each rank, where not all share this one. Raises
        WorkerFailed, and leaves none behind."""
        self.world = world
        self.parts = parts or world
        self.seen = seen
        self.machines = machines
        self.meeting = meeting
        self._sign_of_life = sign_of_life
        self._parted = False  # whether some have answered what others have not
        self.ranks: list[WorkerProcess] = []
        begin = time.perf_counter()
        try:
            for number in range(world):
                self.ranks.append(self._named(number, partial(start, number)))
            for number, rank in enumerate(self.ranks):
                self._named(number, rank.greet)
        except BaseException:
            self.kill()
            raise
        self.start_seconds = time.perf_counter() - begin
        self.hello = together([rank.hello for rank in self.ranks], machines)
        self.leaves: tuple[str, ...] = ()

    def ask(self, do: str, timeout: float, **arguments: Any) -> dict[str, Any]:
        """Asks all, and sleeps until the last has answered. Raises WorkerFailed, which names the rank."""
        asked = [self._own(number, do, arguments) for number in range(self.world)]
        for number, rank in enumerate(self.ranks):
            try:
                rank.send(do, asked[number])
            except WorkerFailed as error:
                self._parted = True
                raise self._of(number, error) from None
        return together(self._replies(do, asked, timeout), self.machines)

    def _own(self, number: int, do: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """What one rank is asked: which it is when it loads; a proof under a label of its own."""
        own = dict(arguments)
        if do == "load":
            setup = own["setup"]
            own["setup"] = {**setup, "rank": number, "world": self.parts, "meeting": self.meeting,
                            "threads": setup["threads"] // self.world, "seed": setup["seed"] + number}
            planted = dict(own["sabotage"])
            if int(planted.pop("rank", number)) != number:
                planted = {}
            own["sabotage"] = planted
        if number and "guesses" in own:
            own["guesses"] = None  # those of rank 0 are the contender's
        if "label" in own:
            own["label"] = label_of(own["label"], number)
        return own

    def _replies(self, do: str, asked: Sequence[dict[str, Any]], timeout: float) -> list[dict[str, Any]]:
        found: dict[int, dict[str, Any]] = {}
        failed: dict[int, WorkerFailed] = {}
        begin = time.monotonic()
        deadline = begin + timeout
        idleness: idle.Idleness | None = None
        waiting = list(range(self.world))
        while waiting:
            for number in waiting:
                try:
                    reply = self.ranks[number].listen()
                    if reply is not None:
                        found[number] = self.ranks[number].checked(do, asked[number], reply)
                except WorkerFailed as error:
                    deadline = min(deadline, time.monotonic() + GRACE) if not failed else deadline
                    failed[number] = error
            waiting = [number for number in waiting if number not in found and number not in failed]
            left = deadline - time.monotonic()
            if waiting and left <= 0:
                self._parted = True
                break
            if waiting and not select.select([self.ranks[each].answers for each in waiting], [], [],
                                             min(left, LOOK))[0]:
                if do not in TIMED:
                    self._sign_of_life()
                if self.seen and time.monotonic() - begin > idle.BEGIN:
                    idleness = idleness or idle.Idleness([rank.mark for rank in self.ranks])
                    if idleness.look() > idle.LIMIT:
                        self._parted = True
                        raise self._hung(waiting, f"nothing was computed or sent for {idle.LIMIT:.0f} s")
        if failed:
            raise self._of(*min(failed.items(), key=lambda each: self.ranks[each[0]].alive))  # who died is the cause
        if waiting:
            raise self._hung(waiting, f"no answer to {do!r} within {timeout:.0f} s")
        return [found[number] for number in range(self.world)]

    def _hung(self, waiting: Sequence[int], said: str) -> WorkerFailed:
        names = " and ".join(map(str, waiting))
        return WorkerFailed("hang", f"rank{'s' * (len(waiting) > 1)} {names} of {self.world}: {said} (who hangs keeps "
                                    "the others waiting)", self.ranks[waiting[0]].log_tail())

    def stop(self) -> None:
        """They are left running: asleep until they are asked."""

    def wake(self) -> None:
        """They were never stopped."""

    def kill(self) -> None:
        for rank in self.ranks:
            rank.kill()

    @property
    def alive(self) -> bool:
        """Whether all of them can be asked again."""
        return not self._parted and all(rank.alive for rank in self.ranks)

    def log_tail(self) -> str:
        return "\n".join(f"rank {number}: {line}" for number, rank in enumerate(self.ranks)
                         for line in rank.log_tail().splitlines())

    def _named(self, number: int, act: Callable[[], Done]) -> Done:
        try:
            return act()
        except WorkerFailed as error:
            raise self._of(number, error) from None

    def _of(self, number: int, error: WorkerFailed) -> WorkerFailed:
        return WorkerFailed(error.kind, f"rank {number} of {self.world}: {error.message}", error.log)


def label_of(label: str, rank: int) -> str:
    """Under which a rank leaves its part of a proof: rank 0 under that of the contender itself."""
    return f"{label}-rank{rank}" if rank else label


def together(replies: Sequence[Mapping[str, Any]], machines: Sequence[str] = ()) -> dict[str, Any]:
    """What the replies of all ranks say of their contender: times, and what was found out, are of rank 0; what they
    hold and use adds up (what each holds is kept, too); the loss is the mean over their equal parts of the batch;
    traced `steps` are kept by rank."""
    first = replies[0]
    if "steps" in first:
        return {**first, "steps": [each["steps"] for each in replies]}
    found = {**first, **{key: sum(each[key] for each in replies) for key in SUMMED if key in first}}
    if "memory" in first:
        found["memory_of_each"] = tuple(each["memory"] for each in replies)
    if first.get("foreign") is not None:
        found["foreign"] = _foreign(replies, machines or [""] * len(replies))
    if first.get("loss") is not None:
        found["loss"] = sum(each["loss"] for each in replies) / len(replies)
    for key in ("device_memory", "held"):
        if first.get(key) is not None:
            found[key] = _added([each[key] for each in replies])
    if "probes" in first and "unsupported" not in first["probes"]["threads"]:
        found["probes"] = {**first["probes"], "threads": _added([each["probes"]["threads"] for each in replies])}
    return found


def _foreign(replies: Sequence[Mapping[str, Any]], machines: Sequence[str]) -> float:
    """The share that others used of that machine of which they used most. To a rank those beside it are foreign."""
    shares: list[float] = []
    for machine in dict.fromkeys(machines):
        first, *beside = [reply for reply, own in zip(replies, machines) if own == machine]
        if first["foreign"] is not None:
            ours = sum(each["cpu"] for each in beside) / (first["wall"] * system.CORES)
            shares.append(max(0.0, first["foreign"] - ours))
    return max(shares)


def _added(amounts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Key by key; None where one does not know."""
    return {key: None if any(each[key] is None for each in amounts) else sum(each[key] for each in amounts)
            for key in amounts[0]}
