"""Training one contender in one process: an epoch over a data set in a given order, then a look at how well it does.

Batches are cut and handed over (`feed`) within the time of an epoch, as a user's loop does; losses are read after it.
"""

from pathlib import Path
from typing import Any, Dict, List, Tuple

import numpy as np

from photofinish.graph import Graph
from photofinish.measure.engine import NotFinite
from photofinish.measure.system import counters, foreign_share

FIRST = 20  # steps of an epoch whose losses are told one by one
SPLITS = ("train", "validation")
PIECE = 256  # guesses judged at once: of a vocabulary of 50,000 words they are 100 MB in double precision


class Fit:
    """A built contestant, the data set in `folder` (<split>-inputs.npy, <split>-labels.npy) and the order in which each
    epoch takes its samples (a row each). What does not fill a batch is left out of an epoch: `orders` differ."""

    def __init__(self, contestant: Any, graph: Graph, batch: int, folder: Path, orders: Path) -> None:
        self.contestant = contestant
        self.graph = graph
        self.batch = batch
        self.samples = {split: tuple(np.load(str(folder / "{}-{}.npy".format(split, what)), mmap_mode="r")
                                     for what in ("inputs", "labels")) for split in SPLITS}
        self.orders = np.load(str(orders), mmap_mode="r")

    def epoch(self, number: int) -> Dict[str, Any]:
        """Trains over epoch `number` (from 1), then infers: on the validation samples, and on as many to learn from.

        Raises NotFinite if a loss is not a number.
        """
        contestant, clock = self.contestant, self.contestant.clock
        order = self.orders[number - 1]
        starts = range(0, len(order) - self.batch + 1, self.batch)
        handles: List[Any] = []
        first = 0.0
        before, begin = counters(), clock()
        for start in starts:
            handles.append(contestant.train_step(self._batch("train", order[start:start + self.batch])))
            if start == 0:
                contestant.wait(handles[0])
                first = clock() - begin
        contestant.wait(handles[-1])
        seconds, after = clock() - begin, counters()
        losses = [_finite(contestant.read(handle)["loss"]) for handle in handles]
        begin = clock()
        validation_loss, validation_accuracy = self._look("validation")
        return {"seconds": seconds, "steps": len(losses), "first_batch": None, "first_step": first, "last_step": None,
                "loss": float(np.mean(losses)),
                "first_losses": losses[:FIRST], "validation_seconds": clock() - begin,
                "validation_loss": validation_loss, "validation_accuracy": validation_accuracy,
                "accuracy": self._look("train")[1], "cpu": after.cpu - before.cpu, "wall": after.wall - before.wall,
                "faults": after.faults - before.faults, "foreign": foreign_share(before, after)}

    def _batch(self, split: str, rows: np.ndarray) -> Any:
        inputs, labels = self.samples[split]
        names = self.graph.inputs[0][0], self.graph.losses[0].target
        return self.contestant.feed(dict(zip(names, (np.array(inputs[rows]), np.array(labels[rows])))))

    def _look(self, split: str) -> Tuple[float, float]:
        """Mean cross entropy and share of right first guesses, of samples or of the words in them. The last batch is
        filled up with samples from the front, which do not count twice."""
        labels, output = self.samples[split][1], self.graph.outputs[0]
        count = min(len(labels), len(self.samples["validation"][1]))
        classes = 1 + self.graph.spec(output).axes.index("C")
        loss, right, asked = 0.0, 0, 0
        for start in range(0, count, self.batch):
            rows = np.arange(start, start + self.batch) % len(labels)
            outputs = self.contestant.read(self.contestant.infer(self._batch(split, rows)))
            scores = outputs["output/" + output][:count - start]
            truth = np.array(labels[rows[:len(scores)]]).ravel()
            guesses = np.moveaxis(scores, classes, -1).reshape(len(truth), -1)
            asked += len(truth)
            for first in range(0, len(truth), PIECE):
                more, found = _judged(guesses[first:first + PIECE], truth[first:first + PIECE])
                loss, right = loss + more, right + found
        return _finite(loss / asked), right / float(asked)


def _judged(scores: np.ndarray, truth: np.ndarray) -> Tuple[float, int]:
    """The cross entropies of guesses (n, classes), added up, and how many are right."""
    scores = scores.astype(np.float64)
    right = int(np.sum(scores.argmax(axis=1) == truth))
    scores -= scores.max(axis=1, keepdims=True)
    own = scores[np.arange(len(truth)), truth]
    return float(np.sum(np.log(np.exp(scores).sum(axis=1)) - own)), right


def _finite(value: Any) -> float:
    found = float(value)
    if not np.isfinite(found):
        raise NotFinite("a loss is not finite")
    return found
