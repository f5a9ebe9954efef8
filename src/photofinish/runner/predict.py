"""The first guess of every contender on the same pictures."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile

import numpy as np

from photofinish.runner.allocator import AS_IT_LIKES
from photofinish.runner.course import Course
from photofinish.runner.entry import Entry
from photofinish.runner.process import Worker, WorkerFailed
from photofinish.runner.remote import SENSELESS
from photofinish.values import Progress, unnamed


def _cannot_take(differences: list[list[str]]) -> str:
    """Why another package's model has no use for the user's weights: the first thing that does not fit."""
    what, ours, theirs = differences[0]
    if unnamed(differences):
        return "cannot be given your weights: no map of names says which of its arrays are the graph's"
    return f"cannot be given your weights: {what} is {ours} in the graph, {theirs} in it"


class Prediction:
    """Runs the contenders of a course over batches of images, each in a worker of its own; who fails is recorded and
    left behind."""

    def __init__(self, course: Course) -> None:
        self.course = course
        self.workers: dict[str, Worker] = {}
        self.inputs, self.outputs = (course.folder / name for name in ("images.npz", "guesses.npz"))

    def run(self, batches: Iterator[np.ndarray], total: int) -> dict[str, np.ndarray]:
        """Contender -> the class it gives each image, `total` of them (batches may be filled up at the end)."""
        found: dict[str, list[np.ndarray]] = {}
        try:
            for entry in self.course.live:
                with self._guard(entry):
                    self._start(entry)
            for images in takewhile(lambda _: self.workers, batches):
                np.savez(self.inputs, **{self.course.graph.inputs[0][0]: images})  # type: ignore[arg-type]
                for entry in self.course.live:
                    with self._guard(entry):
                        found.setdefault(entry.name, []).append(self._guess(entry))
                done = max((sum(map(len, guesses)) for guesses in found.values()), default=0)
                self.course.listener(Progress("predict", "images", done=min(done, total), total=total))
        finally:
            for worker in self.workers.values():
                worker.kill()
        return {entry.name: np.concatenate(found[entry.name])[:total] for entry in self.course.live}

    def _start(self, entry: Entry) -> None:
        course, patience = self.course, self.course.patience
        course.listener(Progress("environment", f"starting {entry.name}", entry.name))
        worker = self.workers[entry.name] = course.start(entry, 0, memory=AS_IT_LIKES, timed=False)
        course.load(worker, entry)
        built = worker.ask("build", patience.build, **course.build_arguments())
        if built["differences"] and "build" in dict(entry.contender.options):
            raise WorkerFailed("unsupported", _cannot_take(built["differences"]))
        worker.ask("weights", patience.weights, **dict(course.weights_arguments(), count=0))

    def _guess(self, entry: Entry) -> np.ndarray:
        """The class with the largest of the first outputs."""
        graph, worker = self.course.graph, self.workers[entry.name]
        self.outputs.unlink(missing_ok=True)  # who writes none must not be taken to have guessed as the one before
        worker.ask("predict", self.course.patience.warm, inputs=str(self.inputs), outputs=str(self.outputs))
        try:
            with np.load(self.outputs) as file:
                scores = file["output/" + graph.outputs[0]]
        except SENSELESS as error:
            raise WorkerFailed("protocol", f"left no outputs that can be read: {error}", worker.log_tail()) from None
        expected = (self.course.case.batch, *graph.spec(graph.outputs[0]).shape)
        if scores.shape != expected:
            raise WorkerFailed("protocol", f"gave outputs of shape {scores.shape}, not {expected}", worker.log_tail())
        return np.asarray(scores.argmax(axis=1))

    @contextmanager
    def _guard(self, entry: Entry) -> Iterator[None]:
        try:
            yield
        except WorkerFailed as error:
            self.course.failed(entry, error, 0, "predict")
            failed = self.workers.pop(entry.name, None)
            if failed is not None:
                failed.kill()
