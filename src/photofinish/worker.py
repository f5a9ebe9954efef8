"""The child: commands on standard input, answers on standard output, one JSON object a line each.

Started as `python run.py` from a copied folder that holds only the rooms a worker may import. Whatever a
library prints goes to the log instead. Protocol: docs/reference/protocol.md.
"""

import importlib
import json
import os
import select
import signal
import sys
import threading
import time
import traceback
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

from photofinish.measure import system

PROTOCOL = 1
GUARD = "PHOTOFINISH_GUARD"  # the variable of a worker on another machine, where no watchdog sees it


class Worker:
    """Holds the one contestant of this process. Each public method is a command; it returns the answer."""

    def __init__(self) -> None:
        self.contestant: Any = None
        self.planted: Any = None  # the same, where faults were planted in it
        self.twin = ""  # the model of another package that stands in the place of ours
        self.engine: Any = None
        self.graph: Any = None
        self.framework = ""
        self.batch = 0
        self.training: Any = None

    def load(self, framework: str, setup: Dict[str, Any], sabotage: Dict[str, str],
             driver: str = "") -> Dict[str, Any]:
        """Imports the framework and makes its contestant, which gets its device ready (some do when they are asked for
        facts; what else is made late is made in `build`). Answers with its facts."""
        begin = time.perf_counter()
        frameworks = importlib.import_module("photofinish.frameworks")
        cls = frameworks.load(framework, driver)
        self.contestant = cls(frameworks.Setup(**setup))
        facts = self.contestant.facts()
        seconds = time.perf_counter() - begin
        self.framework = framework
        self.twin = setup.get("options", {}).get("build", "")
        if sabotage:
            from photofinish.measure.sabotage import Sabotaged
            self.planted = self.contestant = Sabotaged(self.contestant, sabotage, framework)
        return {"seconds": seconds, "facts": facts}

    def build(self, graph: str, batch: int, optimizer: Optional[Dict[str, Any]]) -> Dict[str, Any]:
        """Makes the native model of the graph in that JSON file. Answers with how it differs, if it is another."""
        from photofinish.graph import Graph
        from photofinish.optimizers import optimizer_from_json
        self.graph = Graph.from_json(json.loads(Path(graph).read_text()))
        self.batch = batch
        begin = time.perf_counter()
        try:
            self.contestant.build(self.graph, batch, optimizer and optimizer_from_json(optimizer))
        except Exception as error:
            if self.twin and failure_kind(error) == "crash":
                raise _unfit(self.twin, self.graph, error) from error
            raise
        return {"seconds": time.perf_counter() - begin, "differences": self.contestant.differences()}

    def weights(self, state: str, batches: str, count: int) -> Dict[str, Any]:
        """Loads canonical weights and puts `count` batches on the device (batch i is keyed "i/<name>")."""
        import numpy as np

        from photofinish.measure.engine import Engine
        with np.load(state) as file:
            arrays = dict(file)
        with np.load(batches) as file:
            drawn = [{key.split("/", 1)[1]: file[key] for key in file if key.startswith("{}/".format(i))}
                     for i in range(count)]
        begin = time.perf_counter()
        self.contestant.put(arrays)
        seconds = time.perf_counter() - begin
        begin = time.perf_counter()
        fed = [self.contestant.feed(batch) for batch in drawn]
        self.engine = Engine(self.contestant, arrays, fed)
        return {"seconds": seconds, "transfer": time.perf_counter() - begin}

    def warm(self, task: str, limit: float) -> Dict[str, Any]:
        """First step and warm-up of a task."""
        return {"series": self.engine.warm(task, limit)}

    def block(self, task: str, steps: int) -> Dict[str, Any]:
        """A block of timed steps in steady state."""
        return self.engine.block(task, steps)  # type: ignore[no-any-return]

    def trace(self, task: str, steps: int) -> Dict[str, Any]:
        """Steps in which a process of several sees what it computes and what it sends; null where it cannot."""
        return {"steps": self.engine.trace(task, steps)}

    def profile(self, task: str, steps: int) -> Dict[str, Any]:
        """Where the time of such steps goes, by the framework's own profiler and by what the system counts."""
        from photofinish.measure.profile import profile
        return profile(self.engine, self.framework, task, steps)

    def serve(self, queries: int, arrivals: Optional[str], clients: int) -> Dict[str, Any]:
        """Answers queries that come at the moments in a file, or from so many clients."""
        import numpy as np
        moments = [] if arrivals is None else np.load(arrivals).tolist()
        return self.engine.serve(queries, moments, clients)  # type: ignore[no-any-return]

    def resize(self, task: str, batches: str, sizes: List[int]) -> Dict[str, Any]:
        """A few steps of each of those batch sizes: the first batch of a file, cut or repeated."""
        import numpy as np
        with np.load(batches) as file:
            first = {key.split("/", 1)[1]: file[key] for key in file if key.startswith("0/")}

        def sized(size: int) -> Any:
            return self.contestant.feed({name: np.resize(values, (size,) + values.shape[1:])
                                         for name, values in first.items()})

        return {"sizes": [self.engine.resize(task, sized(size)) for size in sizes]}

    def data(self, folder: str, orders: Optional[str], seed: int, loop: str = "",
             options: Optional[Dict[str, str]] = None) -> Dict[str, Any]:
        """Opens the data set in a folder: to take its samples in the order that a file has for each epoch, or without
        one through the framework's own input pipeline, in that loop of its own and with those options."""
        from photofinish.measure.fit import Fit
        from photofinish.measure.passes import Passes
        begin = time.perf_counter()
        if orders is not None:
            self.training = Fit(self.contestant, self.graph, self.batch, Path(folder), Path(orders))
        else:
            self.training = Passes(self.contestant, self.framework, self.graph, self.batch, Path(folder), seed, loop,
                                   options)
            if self.planted is not None:
                self.training.pipeline = self.planted.fed(self.training.pipeline)
        return {"seconds": time.perf_counter() - begin}

    def epoch(self, number: int) -> Dict[str, Any]:
        """Trains over one epoch of that data set."""
        return self.training.epoch(number)  # type: ignore[no-any-return]

    def look(self, guesses: Optional[str] = None) -> Dict[str, Any]:
        """Infers the validation samples of a data set with orders, and writes the classes guessed to that file."""
        return self.training.look(guesses and Path(guesses))  # type: ignore[no-any-return]

    def probe(self) -> Dict[str, Any]:
        """What this contender really runs with."""
        from photofinish.measure import probes
        return {"probes": probes.run(self.contestant)}

    def prove(self, folder: str, label: str, forward_only: bool = False, unit: float = 0.0,
              draw: int = 0, parts: int = 1, sent: str = "", equal: bool = False) -> Dict[str, Any]:
        """Runs the exercises of the proof planned in `folder` and writes their arrays under `label`; of a reference
        that rounds what it computes with, those of one `draw` of roundings by `unit`, of each value or, where steps are
        `equal`, of its tensor's range; of one that divides each batch as several processes do, with so many `parts`,
        whose gradients are `sent` in that format."""
        from photofinish.measure import proof
        from photofinish.measure.quantised import Quantised
        from photofinish.measure.rounded import Rounded
        divided = self._divided(parts, sent)
        rounding = Quantised if equal else Rounded
        contestant: Any = rounding(divided, unit, draw) if unit else divided
        written = proof.run(lambda: contestant, Path(folder), label, forward_only=forward_only)
        return {"written": written}

    def predict(self, inputs: str, outputs: str) -> Dict[str, Any]:
        """Runs inference on the batch in one file and writes the outputs to another."""
        return self.verb("infer", inputs, outputs)

    def verb(self, name: str, given: str, result: str) -> Dict[str, Any]:
        """Calls one of VERBS on the arrays in a file (a batch; canonical state for `put`; nothing for `get`) and writes
        those that come of it to another."""
        import numpy as np
        with np.load(given) as file:
            arrays = dict(file)
        found = VERBS[name](self.contestant, arrays)
        np.savez(result, **found)
        return {}

    def confirm(self, folder: str, label: str, forward_only: bool = False, parts: int = 1) -> Dict[str, Any]:
        """Runs the few exercises by which one reference confirms another."""
        from photofinish.measure import proof
        return {"written": proof.confirm(lambda: self._divided(parts), Path(folder), label, forward_only)}

    def witness(self, given: str) -> Dict[str, Any]:
        """What only this process can see of itself: its threads while a matrix product repeats (of operands of its own,
        which are those in `given`), and the evidence of its mode."""
        from photofinish.measure import probes
        return {"threads": probes.attempt(probes.threads, self.contestant),
                "evidence": probes.attempt(lambda each: each.evidence(), self.contestant)}

    def free_runs(self, folder: str, label: str, parts: int = 1) -> Dict[str, Any]:
        """Runs the free runs of the reference that `prove` leaves out."""
        from photofinish.measure import proof
        return {"written": proof.free_runs(lambda: self._divided(parts), Path(folder), label)}

    def _divided(self, parts: int, sent: str = "") -> Any:
        from photofinish.measure.split import Split
        return Split(self.contestant, parts, sent) if parts > 1 else self.contestant


COMMANDS = {name: getattr(Worker, name) for name in ("load", "build", "weights", "warm", "block", "trace", "profile",
                                                      "serve", "resize", "data", "epoch", "look", "probe", "prove",
                                                      "predict", "confirm", "free_runs", "verb", "witness")}
TIMED = ("block", "trace", "profile", "serve")  # beside which nothing of ours may run, not even a clock on a screen


def _put(contestant: Any, arrays: Dict[str, Any]) -> Dict[str, Any]:
    contestant.put(arrays)
    return {}


def _probe(name: str, contestant: Any, arrays: Dict[str, Any]) -> Dict[str, Any]:
    return contestant.probe(name, arrays)  # type: ignore[no-any-return]


VERBS: Dict[str, Callable[[Any, Dict[str, Any]], Dict[str, Any]]] = {
    "put": _put,
    "get": lambda contestant, arrays: contestant.get(),
    "gradients": lambda contestant, batch: contestant.gradients(contestant.feed(batch)),
    "infer": lambda contestant, batch: contestant.read(contestant.infer(contestant.feed(batch))),
    "train_step": lambda contestant, batch: contestant.read(contestant.train_step(contestant.feed(batch))),
    **{name: partial(_probe, name) for name in ("matmul", "conv", "multiply")},
}


def answer(worker: Worker, request: Dict[str, Any]) -> Dict[str, Any]:
    """The reply to one request: {"ok": true, ...} or {"ok": false, "kind": ..., "message": ...}."""
    name = request.pop("do")
    if name not in COMMANDS:
        return {"ok": False, "kind": "unsupported", "message": "there is no request {}".format(name)}
    system.reset_peak_memory()
    try:
        reply = COMMANDS[name](worker, **request)
        device = worker.contestant.device_memory() if worker.contestant is not None else None
        told = {} if name in TIMED else {"held": system.held()}
        memory = system.peak_memory() + reply.get("memory", 0)  # what a reply says others hold for this process
        return dict(reply, ok=True, memory=memory, device_memory=device, **told)
    except Exception as error:
        traceback.print_exc()
        return {"ok": False, "kind": failure_kind(error), "message": _said(error)}


def _unfit(twin: str, graph: Any, error: Exception) -> Exception:
    """What its user is told where another package's model takes nothing of what this one takes."""
    from photofinish.frameworks import WrongUse
    taken = " and ".join("{} {}".format(name, "x".join(map(str, spec.shape))).strip() for name, spec in graph.inputs)
    return WrongUse("{} does not take the {} of this model: enter it beside the model whose twin it is ({}: {})"
                    .format(twin, taken, type(error).__name__, error))


def _said(error: BaseException) -> str:
    """The exception with its type: of one that TensorFlow puts an account of traced code before, its last line."""
    lines = str(error).strip().splitlines()
    if lines and lines[0].endswith("in user code:"):
        return lines[-1].strip()
    return "{}: {}".format(type(error).__name__, error)


OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "cannot allocate memory", "failed to allocate",
                 "resource_exhausted", "bad_alloc", "oom when allocating", "alloc_failed")
WRONG_USE = "wrong use"  # of Photofinish, by whoever asked for what is not there: no failure of a contender


def failure_kind(error: BaseException) -> str:
    """Names a Python exception in the words of `values.Failure.kind`."""
    text = "{} {}".format(type(error).__name__, error).lower()
    if isinstance(error, MemoryError) or any(sign in text for sign in OUT_OF_MEMORY):
        return "out of memory"
    kinds = {"Unsupported": "unsupported", "WrongUse": WRONG_USE, "NotFinite": "nan", "ImportError": "missing",
             "ModuleNotFoundError": "missing"}
    return kinds.get(type(error).__name__, "crash")


def _end_with_reader(answers: int) -> None:
    """Kills this process and what it has started once nobody can read its answers. Until then the kernel waits."""
    watch = select.poll()
    watch.register(answers, 0)  # an error is told unasked
    watch.poll()
    os.killpg(0, signal.SIGKILL)


def main() -> None:
    """Reads requests until standard input closes."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    cores = os.environ.get("PHOTOFINISH_CORES")
    if cores:
        system.stay_on([int(core) for core in cores.split(",")])

    if os.environ.get(GUARD):
        threading.Thread(target=_end_with_reader, args=(replies.fileno(),), daemon=True).start()

    def say(message: Dict[str, Any]) -> None:
        replies.write(json.dumps(message) + "\n")
        replies.flush()

    say({"ok": True, "protocol": PROTOCOL, "python": sys.version.split()[0], "memory": system.peak_memory()})
    worker = Worker()
    for line in iter(sys.stdin.readline, ""):
        say(answer(worker, json.loads(line)))
