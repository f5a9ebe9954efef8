"""Tasks epoch and fit: passes over a data set. A launch is one training of every contender, each in a fresh process; a
round is an epoch, so that whatever drifts meets all alike. In task fit all start from the same weights and take the
same batches, and another launch draws others; in task epoch batches come out of the framework's own input pipeline."""

from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from photofinish.data.sets import DataSet, orders
from photofinish.measure.fit import SPLITS
from photofinish.runner import energy
from photofinish.runner.course import Course
from photofinish.runner.entry import Entry
from photofinish.runner.launch import LaunchRun, balanced_order
from photofinish.runner.process import Worker, WorkerFailed
from photofinish.runner.session import Session
from photofinish.sensors import Meter
from photofinish.stats import plan
from photofinish.store import Store
from photofinish.values import Epoch, Launch, Progress, Race, SameGuesses, Training
from photofinish.weights import initial_state

LAUNCHES = 5
TOLD = ("seconds", "steps", "first_batch", "waited", "first_step", "last_step", "loss", "cpu", "faults", "foreign")
SEEN = ("accuracy", "validation_seconds", "validation_loss", "validation_accuracy")  # by a look, in task fit


class EpochSession(Session):
    """As many trainings as were asked for; LAUNCHES, or what the budget allows of them, if nobody did."""

    def __init__(self, course: Course, store: Store, races: dict[str, Race], budget: float, data: DataSet,
                 seeds: int | None = None, metered: bool = False) -> None:
        super().__init__(course, store, races, budget, 0.0, seeds, time_all=True, metered=metered)
        self.folder = course.folder / "data"
        self.folder.mkdir()
        for split in SPLITS:
            samples = getattr(data, split)
            np.save(self.folder / f"{split}-inputs.npy", samples.inputs)
            np.save(self.folder / f"{split}-labels.npy", samples.labels)

    def _pilot(self) -> plan.Plan:
        training = _training(self.course)
        return plan.Plan(self.launches or LAUNCHES, training.epochs, f"trainings of {training.epochs} epochs")

    def launch(self, number: int, rounds: int) -> Launch:
        return EpochLaunch(self.course, number, rounds, self.folder).run()

    def _next_plan(self) -> plan.Plan:
        return plan.Plan(0, 0, "every training is done")


class EpochLaunch(LaunchRun):
    """One training of every contender, from weights and over orders drawn for this launch."""

    def __init__(self, course: Course, number: int, rounds: int, folder: Path) -> None:
        super().__init__(course, number, rounds)
        self.title = f"training {number}"
        (self.task,) = course.tasks
        self.seed = seed = course.seed + number
        self.orders_file, self.state_file = folder / f"orders-{number}.npy", folder / f"state-{number}.npz"
        if self.task == "fit":
            np.save(self.orders_file, orders(_training(course).samples, rounds, seed))
        state = initial_state(course.graph, seed) if course.weights is None else course.weights
        np.savez(self.state_file, **state)  # type: ignore[arg-type]
        self.folder = folder
        self.guesses: dict[str, np.ndarray] = {}

    def run(self) -> Launch:
        launch = super().run()
        for drawn in (self.state_file, self.orders_file):  # those of all trainings together would fill a disk
            drawn.unlink(missing_ok=True)
        names = [entry.name for entry in self.course.entries if entry.name in self.guesses]
        for a, b in combinations(names, 2):
            same = int(np.sum(self.guesses[a] == self.guesses[b]))
            self.course.record(self.task, "same_guesses", SameGuesses(self.number, a, b, same, len(self.guesses[a])))
        return launch

    def _fill(self, entry: Entry, worker: Worker) -> None:
        patience = self.course.patience
        reply = worker.ask("weights", patience.weights, state=str(self.state_file),
                           batches=str(self.course.batches_file), count=0)
        self._phase(entry, "weights", reply["seconds"], reply)
        reply = worker.ask("data", patience.weights, folder=str(self.folder), seed=self.seed,
                           orders=str(self.orders_file) if self.task == "fit" else None,
                           **entry.home.framework.feeding(entry.contender))
        self._phase(entry, "data", reply["seconds"], reply)

    def _get_ready(self, entries: dict[str, Entry], warmed: list[str]) -> None:
        """Nobody warms up: what a first epoch costs is part of a training."""

    def _round(self, entries: dict[str, Entry], number: int) -> None:
        course = self.course
        for position, name in enumerate(self._order(number)):
            with self._guard(entries[name], "epoch", self.task) as worker:
                if worker is None:
                    continue
                reply = trained = self._train(worker, name, number)
                if self.task == "fit":
                    reply = {**trained, **self._look(worker, name, number)}
                course.record(self.task, "epochs", self._epoch(name, number, position, reply))
                self._phases(entries[name], number, trained)
        course.listener(Progress("block", f"{self.title}: epoch {number} of {self.rounds}", done=number,
                                 total=self.rounds))

    def _phases(self, entry: Entry, number: int, trained: dict[str, Any]) -> None:
        """What the first epoch and the last one took, with the epoch's peaks: a look at samples to be judged by has its
        own."""
        if number == 1 and trained.get("first_batch") is not None:
            self._phase(entry, f"first_batch:{self.task}", trained["first_batch"], {}, self.task)
        if number == 1:
            self._phase(entry, f"first_step:{self.task}", trained["first_step"], trained, self.task)
        if number == self.rounds > 1:
            self._phase(entry, f"last_epoch:{self.task}", trained["seconds"], trained, self.task)

    def _energies(self, entries: dict[str, Entry]) -> None:
        """Every epoch was measured as it ran."""

    def _train(self, worker: Worker, name: str, number: int) -> dict[str, Any]:
        """An epoch, with what it takes where there is a sensor."""
        course = self.course
        before = energy.ask(course, Meter.read)
        reply = worker.ask("epoch", course.patience.epoch, number=number)
        if before is not None:
            taken = energy.ask(course, partial(energy.of_epoch, before=before, launch=self.number, contender=name,
                                               task=self.task, number=number, reply=reply))
            if taken is not None:
                course.record(self.task, "energies", taken)
        return reply

    def _look(self, worker: Worker, name: str, number: int) -> dict[str, Any]:
        """How well it does; after the last epoch its guesses are kept. The anchor of groups counts with its first."""
        file = self.folder / "guesses.npy"
        file.unlink(missing_ok=True)  # who writes none must not be taken to have guessed as the one before
        last = number == self.rounds
        reply = worker.ask("look", self.course.patience.epoch, guesses=str(file) if last else None)
        if last:
            self.guesses.setdefault(name, self._read_guesses(worker, file))
        return reply

    def _read_guesses(self, worker: Worker, file: Path) -> np.ndarray:
        asked = np.load(self.folder / "validation-labels.npy", mmap_mode="r").size
        try:
            found = np.asarray(np.load(file))
        except (OSError, ValueError, EOFError, BadZipFile) as error:
            raise WorkerFailed("protocol", f"left no guesses that can be read: {error}", worker.log_tail()) from None
        if found.shape != (asked,):
            raise WorkerFailed("protocol", f"gave guesses of shape {found.shape}, not {(asked,)}", worker.log_tail())
        return found

    def _order(self, number: int) -> list[str]:
        """Every place is shared fairly among pairs of epochs, and that of a first epoch among pairs of launches."""
        order = balanced_order(sorted(self.workers), number, self.course.seed * 1000 + (self.number + 1) // 2)
        return order if self.number % 2 else order[::-1]

    def _epoch(self, name: str, number: int, position: int, reply: dict[str, Any]) -> Epoch:
        told = {key: reply[key] for key in (TOLD + SEEN if self.task == "fit" else TOLD)}
        return Epoch(self.number, number, position, name, **told, first_losses=tuple(reply["first_losses"]),
                     group=self.group)


def _training(course: Course) -> Training:
    training = course.case.training
    assert training is not None
    return training
