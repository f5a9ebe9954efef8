"""Keras' own loop over a data set: `model.fit` on NumPy arrays, as users write it.

It runs in a thread, so that one call lasts as many epochs as are asked for: what `fit` does once, a user pays once.
"""

from queue import Queue
from threading import Semaphore, Thread
from typing import Any, Dict

import keras
import numpy as np

from photofinish.frameworks._common.channels_last import to_native


class Turns(keras.callbacks.Callback):  # type: ignore[misc]
    """Lets an epoch begin when it is asked for, and tells when it has ended. What else it does costs nothing that
    counts: it reads the clock as a batch begins."""

    def __init__(self, clock: Any) -> None:
        super().__init__()
        self.clock = clock
        self.asked = Semaphore(0)
        self.told: "Queue[Any]" = Queue()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.told.put("ready")
        self.asked.acquire()
        self.begin, self.second = self.clock(), None

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if batch == 1:
            self.second = self.clock()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        first = (self.second or self.clock()) - self.begin
        self.told.put({"first_step": first, "loss": float(logs["loss"])})

    def hear(self) -> Any:
        """What the loop says next. Raises what ended it."""
        found = self.told.get()
        if isinstance(found, BaseException):
            raise found
        return found


class Fit:
    """The arrays lie in the layout of the model; Keras shuffles, cuts and hands them over. The first batch counts as a
    part of the first step: Keras says when a batch begins, which is before it is there on some backends."""

    def __init__(self, contestant: Any, samples: Dict[str, np.ndarray], batch: int, seed: int) -> None:
        keras.utils.set_random_seed(seed)
        graph = contestant.graph
        arrays = [np.ascontiguousarray(to_native(samples[name], spec)) for name, spec in graph.inputs + graph.targets]
        given, label = arrays  # one of each: sets of images and of texts have no more
        self.turns = Turns(contestant.clock)
        self.arguments = {"x": given, "y": {term.prediction: label for term in graph.losses}, "batch_size": batch,
                          "epochs": 1 << 30, "verbose": 2,  # what Keras advises where nobody watches
                          "callbacks": [self.turns]}
        Thread(target=self._run, args=(contestant.model.fit,), daemon=True).start()
        self.turns.hear()

    def _run(self, fit: Any) -> None:
        try:
            fit(**self.arguments)
        except BaseException as error:
            self.turns.told.put(error)

    def epoch(self) -> Dict[str, Any]:
        self.turns.asked.release()
        found = self.turns.hear()
        self.turns.hear()  # ready again
        return found  # type: ignore[no-any-return]


LOOPS = {"fit": Fit}
