"""Training one contender in one process: epochs over a data set in a given order, and looks at how well it does.

Batches are cut and handed over (`feed`) within the time of an epoch, as a user's loop does; losses are read after it.
"""

from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

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
        """Trains over epoch `number` (from 1).

        Raises NotFinite if a loss is not a number.
        """
        contestant, clock = self.contestant, self.contestant.clock
        order = self.orders[number - 1]
        starts = range(0, len(order) - self.batch + 1, self.batch)
        handles: List[Any] = []
        first = 0.0
        before, begin = counters(), clock()
        for start in starts:
            handle = contestant.train_step(self._batch("train", order[start:start + self.batch]))
            handles.append(contestant.kept(handle))
            if start == 0:
                contestant.wait(handles[0])
                first = clock() - begin
        contestant.wait(handles[-1])
        seconds, after = clock() - begin, counters()
        losses = [_finite(contestant.read(handle)["loss"]) for handle in handles]
        return {"seconds": seconds, "steps": len(losses), "first_batch": None, "waited": None, "first_step": first,
                "last_step": None, "loss": float(np.mean(losses)), "first_losses": losses[:FIRST],
                "cpu": after.cpu - before.cpu, "wall": after.wall - before.wall, "faults": after.faults - before.faults,
                "foreign": foreign_share(before, after)}

    def look(self, guesses: Optional[Path] = None) -> Dict[str, Any]:
        """Infers: on the validation samples, whose guessed classes it writes to `guesses` if that is asked for, and on
        as many to learn from. Raises NotFinite as `epoch` does."""
        begin = self.contestant.clock()
        loss, accuracy, guessed = self._look("validation")
        seconds = self.contestant.clock() - begin
        if guesses is not None:
            np.save(str(guesses), guessed)
        return {"validation_seconds": seconds, "validation_loss": loss, "validation_accuracy": accuracy,
                "accuracy": self._look("train")[1]}

    def _batch(self, split: str, rows: np.ndarray) -> Any:
        inputs, labels = self.samples[split]
        names = self.graph.inputs[0][0], self.graph.losses[0].target
        return self.contestant.feed(dict(zip(names, (np.array(inputs[rows]), np.array(labels[rows])))))

    def _look(self, split: str) -> Tuple[float, float, np.ndarray]:
        """Mean cross entropy and share of right first guesses, and the guesses (asked,), of samples or of the words in
        them. The last batch is filled up with samples from the front, which do not count twice."""
        labels, output = self.samples[split][1], self.graph.outputs[0]
        count = min(len(labels), len(self.samples["validation"][1]))
        classes = 1 + self.graph.spec(output).axes.index("C")
        loss, right, guessed = 0.0, 0, []  # type: float, int, List[np.ndarray]
        for start in range(0, count, self.batch):
            rows = np.arange(start, start + self.batch) % len(labels)
            outputs = self.contestant.read(self.contestant.infer(self._batch(split, rows)))
            scores = outputs["output/" + output][:count - start]
            truth = np.array(labels[rows[:len(scores)]]).ravel()
            rated = np.moveaxis(scores, classes, -1).reshape(len(truth), -1)
            for first in range(0, len(truth), PIECE):
                true = truth[first:first + PIECE]
                more, found = _judged(rated[first:first + PIECE], true)
                loss, right = loss + more, right + int(np.sum(found == true))
                guessed.append(found)
        guesses = np.concatenate(guessed)
        return _finite(loss / len(guesses)), right / float(len(guesses)), guesses


def _judged(scores: np.ndarray, truth: np.ndarray) -> Tuple[float, np.ndarray]:
    """The cross entropies of scores (n, classes), added up, and the first guesses (n,)."""
    scores = scores.astype(np.float64)
    guesses = scores.argmax(axis=1)
    scores -= scores.max(axis=1, keepdims=True)
    own = scores[np.arange(len(truth)), truth]
    return float(np.sum(np.log(np.exp(scores).sum(axis=1)) - own)), guesses


def _finite(value: Any) -> float:
    found = float(value)
    if not np.isfinite(found):
        raise NotFinite("a loss is not finite")
    return found
