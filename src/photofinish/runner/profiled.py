"""A launch whose processes, once the model has been timed, look into a few of its steps, each by its framework's own
profiler."""

from collections.abc import Sequence

from photofinish.runner.course import Course
from photofinish.runner.entry import Entry
from photofinish.runner.launch import LaunchRun, balanced_order
from photofinish.runner.process import WorkerFailed
from photofinish.values import Failure, Profile, ProfiledStep, Progress, from_json

PROFILED = 5  # steps, and as many under a profiler, which makes them longer
PROFILE = "profiler"  # what fails where a look into steps does
LOST = ("hang", "protocol", "out of memory")  # failures after which a process is ended


class ProfiledLaunch(LaunchRun):
    """Steps of `tasks` are looked into; `broken` are the (contender, part) that failed before and are not tried again.
    What several processes do in a step is told by their traces."""

    def __init__(self, course: Course, number: int, rounds: int, tasks: Sequence[str],
                 broken: set[tuple[str, str]]) -> None:
        super().__init__(course, number, rounds)
        self.tasks = tasks
        self.broken = broken

    def _more(self, entries: dict[str, Entry]) -> None:
        self.part = PROFILE
        for task in self.tasks:
            for name in balanced_order(sorted(self.workers), self.number, f"{self.course.seed}/{PROFILE}"):
                if self._runs(entries[name], task) and not entries[name].contender.strategy:
                    self._profile(entries[name], task)
        self.part = ""

    def _profile(self, entry: Entry, task: str) -> None:
        with self._guard(entry, PROFILE, task) as worker:
            if worker is not None:
                self.course.listener(Progress("launch", f"{self.title}: looking into steps of {entry.name}",
                                              entry.name))
                told = worker.ask("profile", self.course.patience.block, task=task, steps=PROFILED)
                self.course.record(task, "profiles", Profile(
                    self.number, entry.name, task, tuple(told["seconds"]), told["cpu"], told["system"],
                    told["faults"], told["waits"], told["preempted"], told["profiler"], tuple(told["hidden"]),
                    tuple(from_json(ProfiledStep, each) for each in told["profiled"])))

    def _runs(self, entry: Entry, task: str) -> bool:
        return super()._runs(entry, task) and (entry.name, self.part) not in self.broken

    def _failed(self, entry: Entry, error: WorkerFailed, phase: str, task: str) -> None:
        """A layer that fails alone costs the contender that layer, a profiler that fails its profile, and neither the
        race. A worker in another language may have no profile to give."""
        if not self.part:
            super()._failed(entry, error, phase, task)
            return
        self.broken.add((entry.name, self.part))
        if self.part != PROFILE or error.kind != "unsupported":
            what = "steps" if self.part == PROFILE else "layer"  # with what is no task behind it: that ends no race
            self.course.record(None, "failures", Failure(entry.name, error.kind, error.message, self.number,
                                                         f"{what}:{self.part}", error.log))
            text = f"{entry.name}: {self.part}: {error.kind}: {error.message}"
            self.course.listener(Progress("failure", text, entry.name))
        worker = self.workers[entry.name]
        if error.kind in LOST or not worker.alive:
            self._end(entry.name)
        else:
            worker.stop()
