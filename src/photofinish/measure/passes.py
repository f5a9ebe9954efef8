"""Epochs through the framework's own input pipeline, their phases apart: the first batch, the first step, the step on
what is left over, the whole.

A framework's pipeline is the class `Pipeline` in frameworks/_<framework>/pipeline.py, found by that name: `batches()`
iterates over an epoch, shuffled, its last batch as short as it comes; `step(batch)` trains on one. A loop of its own
over a data set is one of the `LOOPS` there: `epoch()` runs it once over the set and tells `first_step` and `loss`.
Options are those that the framework's header names under `pipeline`.
"""

from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional

import numpy as np

from photofinish.frameworks import Arrays, beside
from photofinish.graph import Graph
from photofinish.measure.engine import NotFinite
from photofinish.measure.system import counters, foreign_share, memory_of_children

UNDER_WAY = 0.05  # of an epoch: what steps together may still have to do when their calls return


class Plain:
    """For a framework without a pipeline of its own: NumPy draws the rows, and `feed` hands them over."""

    def __init__(self, contestant: Any, samples: Arrays, batch: int, seed: int) -> None:
        self.contestant = contestant
        self.samples = samples
        self.batch = batch
        self.generator = np.random.RandomState(seed)
        self.step = contestant.train_step

    def batches(self) -> Iterator[Any]:
        order = self.generator.permutation(len(next(iter(self.samples.values()))))
        for start in range(0, len(order), self.batch):
            rows = order[start:start + self.batch]
            yield self.contestant.feed({name: values[rows] for name, values in self.samples.items()})


def pipeline_of(framework: str, loop: str = "") -> Any:
    """The class of that framework's pipeline, or of that loop of its own."""
    own = beside(framework, "pipeline")
    if own is None:
        return Plain
    return own.LOOPS[loop] if loop else vars(own).get("Pipeline", Plain)


class Passes:
    """A built contestant and the training samples of the data set in `folder`, in its framework's pipeline."""

    def __init__(self, contestant: Any, framework: str, graph: Graph, batch: int, folder: Path, seed: int,
                 loop: str = "", options: Optional[Dict[str, str]] = None) -> None:
        names = graph.inputs[0][0], graph.losses[0].target
        samples = {name: np.load(str(folder / "train-{}.npy".format(what))) for name, what in
                   zip(names, ("inputs", "labels"))}
        self.contestant = contestant
        self.pipeline = pipeline_of(framework, loop)(contestant, samples, batch, seed, **(options or {}))
        self.run = self.pipeline.epoch if loop else self._steps
        count = len(samples[names[1]])
        self.steps, self.short = -(-count // batch), count % batch != 0

    def epoch(self, number: int) -> Dict[str, Any]:
        """Trains over all samples once. Raises NotFinite if a loss is not a number."""
        clock = self.contestant.clock
        before, begin = counters(family=True), clock()
        told = self.run()
        seconds, after = clock() - begin, counters(family=True)
        losses = [told["loss"]] if "loss" in told else [
            float(self.contestant.read(handle)["loss"]) for handle in told["handles"]]
        if not np.all(np.isfinite(losses)):
            raise NotFinite("a loss is not finite")
        return {"seconds": seconds, "steps": self.steps, "first_batch": told.get("first_batch"),
                "waited": told.get("waited"), "first_step": told["first_step"], "last_step": told.get("last_step"),
                "loss": float(np.mean(losses)),
                "first_losses": [], "cpu": after.cpu - before.cpu, "wall": after.wall - before.wall,
                "faults": after.faults - before.faults, "foreign": foreign_share(before, after),
                "memory": memory_of_children()}

    def _steps(self) -> Dict[str, Any]:
        """Every batch of the pipeline is stepped on; returns when the last step is done."""
        wait, clock, step, kept = self.contestant.wait, self.contestant.clock, self.pipeline.step, self.contestant.kept
        last: Optional[float] = None
        handles: List[Any] = []
        waited: List[float] = []
        first = left = 0.0
        begun = asked = clock()
        for index, batch in enumerate(self.pipeline.batches(), 1):
            came = clock()
            waited.append(came - asked)
            if self.short and index == self.steps > 1:
                wait(handles[-1])
                last = clock()
            handles.append(kept(step(batch)))
            if index == 1:
                returned = clock()
                wait(handles[0])
                done = clock()
                first, left = done - came, done - returned
            asked = clock()
        wait(handles[-1])
        end = clock()
        return {"handles": handles, "first_batch": waited[0], "first_step": first,
                "last_step": None if last is None else end - last,
                "waited": self._late(waited, left, end - begun)}

    def _late(self, waited: List[float], left: float, seconds: float) -> Optional[float]:
        """Seconds in which the loop waited for its batches. Untold where steps go on meanwhile: on a GPU, which works
        off its queue, and where a framework hands its steps over at once on a CPU, too: `left` was still to come of the
        first one when its call had returned, in an epoch of so many `seconds`."""
        if self.contestant.setup.device != "cpu" or left * self.steps > UNDER_WAY * seconds:
            return None
        return sum(waited)
