"""Timing one contender in one process: first step, warm-up, blocks of steady steps. It knows a callable,
a `wait` and a clock; it returns raw series only."""

import math
from collections import deque
from typing import Any, Callable, Dict, List, Optional, Sequence

import numpy as np

from photofinish.measure.system import counters, foreign_share
from photofinish.measure.warm import settled
from photofinish.values.json import to_json

Arrays = Dict[str, np.ndarray]
RESIZED = 3  # steps of another size: the second has all that an optimizer keeps


class NotFinite(Exception):
    """A loss or an output held NaN or infinity."""


class Engine:
    """Drives a built contestant. `batches` lie on the device already and rotate; `state` is the canonical
    state that is loaded again, untimed, before each block, so that values never drift."""

    def __init__(self, contestant: Any, state: Arrays, batches: Sequence[Any]) -> None:
        self.contestant = contestant
        self.state = state
        self.batches = batches
        self.clock: Callable[[], float] = contestant.clock
        self.turn = 0

    def _whole(self, task: str, steps: int) -> int:
        """So many steps, and those that are left of the last period."""
        period = self._period(task)
        return -(-steps // period) * period

    def step(self, task: str) -> float:
        """Seconds of one step, from the call until its work is done."""
        run = self._verb(task)
        batch = self._next_batch()
        begin = self.clock()
        handle = run(batch)
        self.contestant.wait(handle)
        return self.clock() - begin

    def warm(self, task: str, limit: float, steps: int = 200) -> List[float]:
        """Steps until they settle, at most `limit` seconds or `steps`; the first one carries compilation."""
        self.contestant.put(self.state)
        series = [self.step(task)]
        begin = self.clock()
        while not self.contestant.agreed(
                len(series) >= steps or self.clock() - begin >= limit or settled(series[1:])):
            series.append(self.step(task))
        return series

    def block(self, task: str, steps: int) -> Dict[str, Any]:
        """`steps` timed steps after one untimed (it pays for being woken and for reloading the state). Of a contestant
        with a period they are whole ones, and each step counts as the mean of its own.

        Raises NotFinite if the loss or an output at the end is not finite.
        """
        self.contestant.put(self.state)
        resume = self.step(task)
        run, wait, clock = self._verb(task), self.contestant.wait, self.clock
        steps = self._whole(task, steps)
        batches = [self._next_batch() for _ in range(steps)]
        seconds = [0.0] * steps
        handle = None
        before = counters()
        for i in range(steps):
            begin = clock()
            handle = run(batches[i])
            wait(handle)
            seconds[i] = clock() - begin
        after = counters()
        period = self._period(task)
        told = {"period": period} if period > 1 else {}
        return {"seconds": means(seconds, period), "cpu": after.cpu - before.cpu, "wall": after.wall - before.wall,
                "faults": after.faults - before.faults, "foreign": foreign_share(before, after),
                "resume": resume, "loss": self._finite(handle), **told}

    def serve(self, queries: int, arrivals: Sequence[float] = (), clients: int = 0) -> Dict[str, Any]:
        """Answers `queries`, one at a time in the order they come: at `arrivals`, in seconds from now, however long the
        one before takes; or from `clients`, each of which asks again when it has been answered.

        Latency counts from when a query came, not from when it was taken up. Raises NotFinite as `block` does.
        """
        self.contestant.put(self.state)
        resume = self.step("infer")
        contestant, clock = self.contestant, self.clock
        run, wait = contestant.infer, contestant.wait
        latencies: List[float] = []
        service: List[float] = []
        handle = None
        before, begin = counters(), clock()
        coming = deque(begin + each for each in arrivals) if clients == 0 else deque([begin] * clients)
        for _ in range(queries):
            came = coming.popleft()
            contestant.rest_until(came)
            taken = clock()
            handle = run(self._next_batch())
            wait(handle)
            done = clock()
            latencies.append(done - came)
            service.append(done - taken)
            if clients:
                coming.append(done)
        wall, after = clock() - begin, counters()
        return {"seconds": latencies, "service": service, "cpu": after.cpu - before.cpu, "wall": wall,
                "faults": after.faults - before.faults, "foreign": foreign_share(before, after),
                "resume": resume, "loss": self._finite(handle)}

    def trace(self, task: str, steps: int) -> Optional[List[Dict[str, Any]]]:
        """What the contestant sees of so many training steps (whole periods), after one untraced."""
        self.contestant.put(self.state)
        self.step(task)
        steps = self._whole(task, steps)
        traced = self.contestant.trace(self._verb(task), [self._next_batch() for _ in range(steps)])
        return None if traced is None else [to_json(each) for each in traced]

    def watched(self, task: str, steps: int, watch: Callable[..., Any]) -> Any:
        """What `watch` sees of so many steps, after one in which it begins to look."""
        def step(batch: Any) -> None:
            self.contestant.wait(run(batch))

        run = self._verb(task)
        return watch(self.contestant, step, [self._next_batch() for _ in range(steps)])

    def resize(self, task: str, batch: Any) -> Dict[str, Any]:
        """Steps of a batch of another size, of which the first pays for what is traced or compiled anew, with how often
        that was by the framework's own count (None where it does not count)."""
        self.contestant.put(self.state)
        self.contestant.resized()
        before, kept, self.batches = self.contestant.compilations(), self.batches, [batch]
        seconds = [self.step(task) for _ in range(RESIZED)]
        after, self.batches = self.contestant.compilations(), kept
        self.contestant.resized()
        return {"seconds": seconds, "compilations": None if before is None or after is None else after - before}

    def _verb(self, task: str) -> Callable[[Any], Any]:
        return {"train": self.contestant.train_step, "infer": self.contestant.infer}[task]  # type: ignore[no-any-return]

    def _period(self, task: str) -> int:
        return self.contestant.period if task == "train" else 1  # type: ignore[no-any-return]

    def _next_batch(self) -> Any:
        self.turn += 1
        return self.batches[self.turn % len(self.batches)]

    def _finite(self, handle: Any) -> Optional[float]:
        """The loss read back (None in inference): the work was real and its result a number."""
        arrays = self.contestant.read(handle)
        for name, values in arrays.items():
            if not np.all(np.isfinite(values)):
                raise NotFinite("{} is not finite".format(name))
        loss = float(arrays["loss"]) if "loss" in arrays else None
        return loss if loss is None or math.isfinite(loss) else None


def means(seconds: Sequence[float], period: int) -> List[float]:
    """For each step the mean of its period."""
    periods = [seconds[i:i + period] for i in range(0, len(seconds), period)]
    return [sum(each) / period for each in periods for _ in each]
