"""A race whose processes, once the model has been timed, look into a few of its steps, and time each of its distinct
layers too, by the same rounds."""

from collections.abc import Callable, Mapping, Sequence
from itertools import count

from photofinish.graph import Graph
from photofinish.runner.course import Course, Work
from photofinish.runner.entry import Entry
from photofinish.runner.launch import balanced_order, typical_of
from photofinish.runner.process import Worker
from photofinish.runner.profiled import PROFILE, ProfiledLaunch
from photofinish.runner.session import Session
from photofinish.stats import plan
from photofinish.store import Store
from photofinish.values import Launch, Progress, Race

LAUNCHES = 6  # if the budget allows: a fixed number, at which nobody looks before
ROUNDS = 4  # of the model, and of each layer: each of two contenders goes first as often as the other
WARM_SECONDS = 0.1  # a process that has run the whole model has little left to warm up
BLOCK_SECONDS = 0.05
BATCHES = 1  # drawn anew for each launch: those of all layers together would fill a disk
TOLD = 10  # layers of which one is told where no more than lines are kept


class LayerSession(Session):
    """Runs the races of a course in LAUNCHES launches, or in as many as were asked for, or as the budget allows;
    `graphs` are those of the layers and their scaffolds, by name; the steps that are looked into are of `task`. Of
    `whole` only the model is timed."""

    def __init__(self, course: Course, store: Store, races: dict[str, Race], budget: float, launches: int | None,
                 graphs: Mapping[str, Graph], task: str, whole: Sequence[str] = ()) -> None:
        super().__init__(course, store, races, budget, 0.0, launches)
        self.graphs = graphs
        self.task = task
        self.broken = {(name, part) for name in whole for part in (*graphs, PROFILE)}

    def run(self, rehearse: Callable[[], None]) -> None:
        self.prepare(rehearse)
        longest = 0.0
        for number in count(1):
            if not self.course.contested or not plan.another(
                    number, self.launches, LAUNCHES, self._left(), longest):
                return
            late = plan.overrun(longest, self._left()) if self.launches is None and 1 < number <= plan.FEWEST else ""
            self.course.listener(Progress("plan", f"launch {number}: the model, then {len(self.graphs)} graphs of its "
                                                  f"layers{late}", done=number - 1, total=self.launches or LAUNCHES,
                                          seconds_left=self._left()))
            longest = max(longest, self.launch(number, ROUNDS).seconds)
            self.tell(number, self.launches or LAUNCHES)

    def launch(self, number: int, rounds: int) -> Launch:
        return LayerLaunch(self.course, number, rounds, self.graphs, self.task, self.broken).run()


class LayerLaunch(ProfiledLaunch):
    """One launch; the layers take turns in random order, and within a layer the contenders do."""

    def __init__(self, course: Course, number: int, rounds: int, graphs: Mapping[str, Graph], task: str,
                 broken: set[tuple[str, str]]) -> None:
        super().__init__(course, number, rounds, [task], broken)
        self.graphs = graphs

    def _more(self, entries: dict[str, Entry]) -> None:
        present = set(self.workers)
        super()._more(entries)
        title, usual = self.title, self.block_seconds
        self.block_seconds = BLOCK_SECONDS
        order = balanced_order(list(self.graphs), self.number, f"{self.course.seed}/layers")
        for i, part in enumerate(order, 1):
            for name in sorted(present - self.workers.keys() - self.course.out):
                self._start_again(entries[name])
            self.part = part
            self.title = f"{title}, layer {i} of {len(order)}: {self.part}"
            if i % TOLD == 1:
                self.course.listener(Progress("launch", self.title))
            self._ready(entries)
            for number in range(1, self.rounds + 1):
                self._round(entries, number)
            self.part = ""
        self.title, self.block_seconds = title, usual

    def _start_again(self, entry: Entry) -> None:
        """Whoever ended in one layer, or when it was looked into, is there for the layers that follow: what was not
        timed in every launch is lost. The model is not built anew."""
        course = self.course
        course.listener(Progress("launch", f"{self.title}: starting {entry.name} again", entry.name))
        with self._guard(entry, "start"):
            worker = self.workers[entry.name] = course.start(entry, self.number)
            worker.ask("load", course.patience.load, **course.load_arguments(entry))
            worker.stop()

    def _ready(self, entries: dict[str, Entry]) -> None:
        """Built, fed and warmed up, one contender after another."""
        course = self.course
        work = Work.write(course.folder, self.graphs[self.part], course.case.batch, course.seed + self.number,
                          name="layer", count=BATCHES)
        for name in balanced_order(sorted(self.workers), self.number, f"{course.seed}{self.part}"):
            if (name, self.part) in self.broken:
                continue
            with self._guard(entries[name], "build") as worker:
                if worker is not None:
                    worker.ask("build", course.patience.build, **course.build_arguments(work))
                    worker.ask("weights", course.patience.weights, **course.weights_arguments(work))
                    for task in sorted(course.tasks):
                        if course.runs(entries[name], task):
                            self.typical[name, task] = self._typical(worker, task)

    def _typical(self, worker: Worker, task: str) -> float:
        return typical_of(worker.ask("warm", self.course.patience.warm, task=task, limit=WARM_SECONDS)["series"])
