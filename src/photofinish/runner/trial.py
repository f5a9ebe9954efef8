"""A trial: the contenders that one command tries without racing them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from photofinish.environments import ALL, TASKS, Choice, split
from photofinish.graph import Graph
from photofinish.optimizers import Optimizer
from photofinish.runner.arrange import check_shares, find_entries, named, open_course, tasks_of
from photofinish.runner.course import Course
from photofinish.runner.meet import Listener, Places
from photofinish.store import Store
from photofinish.values import Case, Failure, Progress, Skip
from photofinish.weights import Arrays


@dataclass(frozen=True)
class Trial:
    """Its course; in `failures` one for each contender that could not be tried, as they come."""

    store: Store
    course: Course
    failures: list[Failure]


@contextmanager
def trial(contenders: Sequence[str], cases: Mapping[str, Case], graph: Graph, optimizer: Optimizer, store: Path | str,
          *, listener: Listener | None, timeout: float | None, environments: Places, make_environments: bool | None,
          weights: Arrays | None = None, seed: int = 0, tasks: Sequence[str] = TASKS) -> Iterator[Trial]:
    """Of those contenders that have any of the `tasks`; who was not named and has none of them is no failure. `cases`
    are by task. Raises UsageError."""
    kept, (case, *_), choice = Store(Path(store)), cases.values(), Choice.of(environments, make_environments)
    entries, absent = find_entries(contenders, case.device, choice, listener, tasks)
    check_shares(entries, cases.values())
    unasked = {each.name for each in named(contenders, case.device, choice) if not set(tasks_of(each)) & set(tasks)} \
        if not contenders or ALL in split(contenders) else set()
    failures = [_not_tried(each) for each in absent if each.contender not in unasked]
    tell = listener or (lambda progress: None)
    for each in absent:
        if each.contender in unasked:
            tell(Progress("plan", f"{each.contender} is left out: {each.reason}", each.contender))

    def record(task: str | None, kind: str, *records: object) -> None:
        if kind == "failures":
            failures.extend(each for each in records if isinstance(each, Failure))

    with open_course(kept, dict(cases), graph, optimizer, entries, record, seed, listener, timeout, weights) as course:
        yield Trial(kept, course, failures)


def _not_tried(skip: Skip) -> Failure:
    return Failure(skip.contender, "missing", skip.reason, phase="environment", command=skip.cure)
