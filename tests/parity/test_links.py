"""That the processes of a real framework are in touch over the link that joins their hosts."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from photofinish.environments import installed
from photofinish.runner.arrange import find_entries, make_case, open_course
from photofinish.runner.course import Course
from photofinish.runner.links import DEVICE
from photofinish.runner.process import Worker, WorkerFailed
from photofinish.runner.ranks import Ranks
from photofinish.store import Store
from photofinish.values import Link
from traffic import sent

STEPS = 3
QUICK = "torch:eager+ddp[2]"  # `make test-environments` tries one of each framework
ALL = (QUICK, "tensorflow:graph+multiworker[2]", "jax:jit+distributed[2]")


@contextmanager
def ready(name: str, store: Path) -> Iterator[tuple[Course, Worker]]:
    """Two processes that have a model and weights, on hosts of their own."""
    if name.partition(":")[0] not in {each.framework for each in installed()}:
        pytest.skip("it is not installed for this Python")
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two processes need two cores")
    graph, case, optimizer = make_case("digits_cnn", 8, None, None, "", "matched", "cpu", 2)
    case = replace(case, link=Link(1e8))
    entries, _ = find_entries([name], "cpu")
    with open_course(Store(store), {"train": case}, graph, optimizer, entries, lambda *records: None, 0) as course:
        worker = course.start(entries[0], 1)
        try:
            worker.ask("load", 120, **course.load_arguments(entries[0]))
            worker.ask("build", 120, **course.build_arguments())
            worker.ask("weights", 120, **course.weights_arguments())
            yield course, worker
        finally:
            worker.kill()


@pytest.mark.parametrize("name", ALL if "PHOTOFINISH_STRATEGIES" in os.environ else [QUICK])
def test_gradients_go_over_the_link(name: str, linked: None, tmp_path: Path) -> None:
    with ready(name, tmp_path) as (course, worker):
        before = [sent(host.namespace) for host in course.hosts]
        worker.ask("block", 120, task="train", steps=STEPS)
        moved = [sent(host.namespace) - was for host, was in zip(course.hosts, before)]
    assert len(moved) == 2 and min(moved) > STEPS * 4 * course.graph.parameter_count


def test_processes_that_lose_each_other_end_with_the_time_out(linked: None, tmp_path: Path) -> None:
    with ready(QUICK, tmp_path) as (course, worker):
        worker.ask("block", 120, task="train", steps=STEPS)
        subprocess.run(["ip", "-n", course.hosts[1].namespace, "link", "set", DEVICE, "down"], check=True)
        with pytest.raises(WorkerFailed, match=r"ranks? .*of 2: "):
            worker.ask("block", 5, task="train", steps=STEPS)
        assert isinstance(worker, Ranks)
        worker.kill()
        assert not any(each.alive for each in worker.ranks)
