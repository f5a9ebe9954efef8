"""A trial: the contenders that one command tries without racing them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from photofinish.environments import TASKS, Choice
from photofinish.graph import Graph
from photofinish.optimizers import Optimizer
from photofinish.runner.arrange import check_shares, find_entries, open_course
from photofinish.runner.course import Course
from photofinish.runner.meet import Listener, Places
from photofinish.store import Store
from photofinish.values import Case, Failure, Skip
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
    """Of those contenders that have any of the `tasks`; `cases` are by task. Raises UsageError."""
    kept, (case, *_) = Store(Path(store)), cases.values()
    entries, absent = find_entries(contenders, case.device, Choice.of(environments, make_environments), listener, tasks)
    check_shares(entries, cases.values())
    failures = [_not_tried(each) for each in absent]

    def record(task: str | None, kind: str, *records: object) -> None:
        if kind == "failures":
            failures.extend(each for each in records if isinstance(each, Failure))

    with open_course(kept, dict(cases), graph, optimizer, entries, record, seed, listener, timeout, weights) as course:
        yield Trial(kept, course, failures)


def _not_tried(skip: Skip) -> Failure:
    return Failure(skip.contender, "missing", skip.reason, phase="environment", command=skip.cure)
