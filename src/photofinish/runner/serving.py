"""Task serve: contenders answer the same queries, which come at random moments or from clients that wait for answers.

In each round all contenders take their turn with the same arrivals, drawn for that round. The race ends early once the
claim about the tail of the latencies is decided for all, which the claim's confidence pays for (`stats.serving`).
"""

import math

import numpy as np

from photofinish.errors import UsageError
from photofinish.runner.course import Course
from photofinish.runner.launch import LaunchRun
from photofinish.runner.process import Worker
from photofinish.runner.session import Session
from photofinish.stats import plan, serving, tails
from photofinish.store import Store
from photofinish.values import SERVE, Block, Launch, Load, Race

LAUNCHES = 5
ROUNDS = 2  # of a launch
ALLOWED = 2  # queries over the bound that the number of them leaves room for


def make_load(rate: float | None, clients: int | None, latency: float | None, share: float, confidence: float,
              queries: int | None, launches: int | None) -> Load:
    """The load as it is divided among blocks. `queries` are those of each contender in all; unless they are said, as
    many as the claim needs where ALLOWED of them come late. Raises UsageError."""
    if (rate is None) == (clients is None):
        raise UsageError("a load is either a rate or a number of clients", "write --rate 20 or --clients 4")
    if (rate is not None and not 0 < rate < math.inf) or (clients is not None and clients < 1):
        raise UsageError(f"{clients if rate is None else rate} queries or clients are no load", "write --rate 20")
    for name, value in (("share", share), ("confidence", confidence)):
        if not 0 < value < 1:
            raise UsageError(f"a {name} of {value:g} can never be shown", f"write --{name} 99%")
    looks = launches or LAUNCHES
    blocks = looks * ROUNDS
    if queries is not None and queries < blocks:
        raise UsageError(f"{queries} queries are fewer than the {blocks} stretches that they are asked in",
                         f"write --queries {blocks} or more, or fewer --launches")
    each = queries // blocks if queries else -(-tails.needed(share, ALLOWED, 1 - (1 - confidence) / looks) // blocks)
    return Load(each, rate, clients, latency, share, confidence, looks)


class ServeSession(Session):
    """Launches until the claim is decided, the budget is spent, or all that were planned are done."""

    def __init__(self, course: Course, store: Store, races: dict[str, Race], budget: float,
                 metered: bool = False) -> None:
        super().__init__(course, store, races, budget, 0.0, _load(course).looks, time_all=True, metered=metered)

    def launch(self, number: int, rounds: int) -> Launch:
        return ServeLaunch(self.course, number, rounds).run()

    def _pilot(self) -> plan.Plan:
        load = _load(self.course)
        return plan.Plan(load.looks, ROUNDS, f"{load.looks} launches of {ROUNDS} times {load.queries} queries")

    def _is_bounded(self) -> bool:
        return True  # its number of launches is the most there may be

    def _affords(self, done: int, costs: list[float]) -> bool:
        if done < plan.FEWEST:
            return True
        return self._left() > max(costs[1:]) and not serving.decided(self.store.read(self.races[SERVE].id))


class ServeLaunch(LaunchRun):
    """Fresh processes, warmed up by inference; a block is a stretch of queries."""

    def _block(self, worker: Worker, name: str, task: str, number: int, position: int) -> Block:
        return self._timed(worker, name, task, number, position, _load(self.course).queries)

    def _pace(self, name: str, task: str) -> float:
        """Queries come no faster than they are sent, and go no faster than they are answered."""
        rate, answered = _load(self.course).rate, super()._pace(name, task)
        return max(answered, 1 / rate) if rate else answered

    def _timed(self, worker: Worker, name: str, task: str, number: int, position: int, steps: int) -> Block:
        """So many queries; of one number, fewer of them are the first ones.

        Clients all ask for the first time at once, of a server that has nothing to do: these first answers come sooner
        than any later, and are left out.
        """
        load, file, coming = _load(self.course), None, 0.0
        first = load.clients or 0
        if load.rate:
            file = self.course.folder / f"arrivals-{self.number}-{number}.npy"
            moments = arrivals(load.rate, steps, (self.course.seed, self.number, number))
            np.save(file, moments)
            coming = float(moments[-1])  # until the last query is there, whoever waits for it is no sluggard
        reply = worker.ask(SERVE, self.course.patience.serve + coming, queries=first + steps, clients=first,
                           arrivals=None if file is None else str(file))
        seconds, service, wall = tuple(reply["seconds"]), tuple(reply["service"]), reply["wall"]
        lasting = wall - seconds[first - 1] if first else wall  # whoever asked first waited since the beginning
        share = lasting / wall if wall else 1.0
        return Block(self.number, number, position, name, task, seconds[first:], share * reply["cpu"],
                     round(share * reply["faults"]), reply["foreign"], reply["resume"], reply["loss"], group=self.group,
                     service=service[first:], wall=lasting)


def arrivals(rate: float, queries: int, seed: tuple[int, ...]) -> np.ndarray:
    """When queries come, in seconds: a Poisson process of `rate` a second, the same for the same seed."""
    return np.cumsum(np.random.default_rng(seed).exponential(1 / rate, queries))


def _load(course: Course) -> Load:
    load = course.case.load
    assert load is not None
    return load
