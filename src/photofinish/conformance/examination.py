"""Every request of the protocol, put to one worker on a small model, and what is right of its answers."""

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from photofinish import models
from photofinish.conformance.candidate import Broken, Candidate, Check
from photofinish.data import draw_batch
from photofinish.data.sets import orders
from photofinish.environments import TASKS
from photofinish.errors import UsageError
from photofinish.frameworks import Setup
from photofinish.frameworks.numpy import Contestant as Reference
from photofinish.machine import usable_cores
from photofinish.measure import proof, sabotage
from photofinish.measure.fit import SPLITS, Fit
from photofinish.optimizers import SGD, optimizer_json
from photofinish.referee import certificate
from photofinish.runner import remote
from photofinish.runner.process import WorkerFailed, WorkerProcess
from photofinish.runner.watchdog import MARK, mark_of
from photofinish.weights import Arrays, initial_state
from photofinish.worker import WRONG_USE

MODEL = "digits_cnn"
BATCH = 8
STEPS = 3
APART = 0.02  # seconds between queries
PATIENCE = 120.0  # seconds for any answer
ENDING = 10.0  # seconds to end when standard input closes


def run(candidate: Candidate, tasks: Sequence[str] = TASKS, model: str = MODEL,
        patience: float = PATIENCE) -> Generator[Check, None, None]:
    """Puts every request to a worker and gives the checks one by one. The first that kills it, or that it has not
    answered after `patience` seconds, is the last: what it says later would be taken for answers to others."""
    with tempfile.TemporaryDirectory(prefix="photofinish-") as folder:
        examination = Examination(candidate, tuple(tasks), model, Path(folder), patience)
        try:
            for name, act in examination.acts():
                try:
                    yield Check(name, True, act())
                except UsageError as error:  # it answered that what it was asked for is not there
                    yield Check(name, False, error.message)
                except (WorkerFailed, Broken) as error:
                    if isinstance(error, WorkerFailed) and error.kind == "hang":
                        examination.close()
                    alive = examination.alive
                    yield Check(name, False, str(error),
                                error.log if isinstance(error, WorkerFailed) and not alive else "")
                    if not alive:
                        return
        finally:
            examination.close()


class Examination:
    """One worker, and what it is given and writes in `folder`."""

    def __init__(self, candidate: Candidate, tasks: tuple[str, ...], model: str, folder: Path, patience: float) -> None:
        self.candidate, self.tasks, self.folder, self.patience = candidate, tasks, folder, patience
        self.options = dict(candidate.contender.options)
        self.threads = int(self.options.pop("threads", 1))
        self.options.pop("allocator", None)  # which is its process's
        self.planted = {key: self.options.pop(key) for key in sabotage.OPTIONS if key in self.options}
        self.graph = models.find(model).small()
        self.state = initial_state(self.graph, 0)
        self.batch = draw_batch(self.graph, BATCH, 0)
        self.worker: WorkerProcess | None = None
        self.facts: dict[str, Any] = {}

    @property
    def alive(self) -> bool:
        return self.worker is not None and self.worker.alive

    def acts(self) -> Iterator[tuple[str, Callable[[], str]]]:
        yield "says hello in this version", self.hello
        yield "load", self.load
        yield "build", self.build
        yield "weights", self.weights
        for task in self.tasks:
            yield f"warm ({task})", partial(self.warm, task)
            yield f"block ({task})", partial(self.block, task)
        if "train" in self.tasks and len(self.graph.inputs) == 1:
            yield "an epoch in a given order (for task fit; may be lacking)", partial(self.epoch, True)
            yield "an epoch by its own pipeline (for task epoch; may be lacking)", partial(self.epoch, False)
        yield "probe", self.probe
        yield "predict", self.predict
        yield "prove", self.prove
        yield "verb (for tests of single layers; may be lacking)", self.verb
        yield "serve (for queries under load; may be lacking)", self.serve
        yield "an unknown request is refused", self.unknown
        yield "a request that fails is told", self.failing
        yield "stops and wakes", self.pause
        yield "says nothing unasked", self.silence
        yield "ends when standard input closes", self.end

    def hello(self) -> str:
        cores = ",".join(map(str, usable_cores()[:self.threads]))
        self.worker = WorkerProcess(
            list(self.candidate.command), dict(self.candidate.variables, PHOTOFINISH_CORES=cores),
            self.folder / "worker.log", mark_of("conformance"), self.patience, folder=self.candidate.folder)
        return f"protocol {self.worker.hello['protocol']}, {self.worker.hello['python']}"

    def load(self) -> str:
        contender, driver = self.candidate.contender, self.candidate.driver
        setup = {"mode": contender.mode, "options": self.options, "device": "cpu", "threads": self.threads,
                 "precision": "float32", "regime": "matched", "seed": 0, "names": {}}
        self.facts = self._ask("load", framework=contender.framework, **({"driver": driver} if driver else {}),
                               setup=setup, sabotage=self.planted)["facts"]
        if not any("version" in name for name in self.facts):
            raise Broken("its facts name no version: certificates would not know what they are of")
        return f"{len(self.facts)} facts"

    def build(self) -> str:
        path = self.folder / "graph.json"
        path.write_text(json.dumps(self.graph.to_json()))
        self._ask("build", graph=str(path), batch=BATCH, optimizer=optimizer_json(SGD()))
        return f"{len(self.graph.nodes)} layers"

    def weights(self) -> str:
        batches = {f"{number}/{name}": values for number in range(2) for name, values in self.batch.items()}
        self._ask("weights", state=self._given("state", self.state), batches=self._given("batches", batches), count=2)
        return f"{len(self.state)} arrays"

    def warm(self, task: str) -> str:
        return f"{len(self._ask('warm', task=task, limit=1.0)['series'])} steps"

    def block(self, task: str) -> str:
        reply = self._ask("block", task=task, steps=STEPS)
        if (reply["loss"] is None) == (task == "train"):
            raise Broken(f"the loss of a block of {task} is {reply['loss']}")
        return f"{min(reply['seconds']):.3g} s a step"

    def epoch(self, ordered: bool) -> str:
        """Of so many samples that one batch is not full; what is learned in a given order is what NumPy learns."""
        folder, count = self.folder / "data", 2 * BATCH + 1
        folder.mkdir(exist_ok=True)
        names = self.graph.inputs[0][0], self.graph.losses[0].target
        for number, split in enumerate(SPLITS):
            samples = draw_batch(self.graph, count, number)
            for name, what in zip(names, ("inputs", "labels")):
                np.save(folder / f"{split}-{what}.npy", samples[name])
        np.save(folder / "orders.npy", orders(count, 1, 0))
        given = {"orders": str(folder / "orders.npy")} if ordered else {"orders": None, **self.candidate.feeding}
        self.weights()
        try:
            self._ask("data", folder=str(folder), seed=0, **given)
        except WorkerFailed as error:
            if error.kind != "unsupported":
                raise
            return "lacks them"
        reply = self._ask("epoch", number=1)
        if ordered:
            reply = {**reply, **self._ask("look", guesses=None)}
        steps = count // BATCH if ordered else -(-count // BATCH)
        if reply["steps"] != steps:
            raise Broken(f"an epoch of {count} samples in batches of {BATCH} has {reply['steps']} steps, not {steps}")
        if ordered:
            self._compare(reply, folder)
        elif reply["last_step"] is None and not given.get("loop"):
            raise Broken("no time is told for the step on what does not fill a batch")
        return f"{steps} steps, loss {reply['loss']:.4g}"

    def _compare(self, reply: Mapping[str, Any], folder: Path) -> None:
        """Raises Broken unless the reference learns the same, to within what rounding grows to in a few steps."""
        reference = Reference(Setup("reference", precision="float64"))
        reference.build(self.graph, BATCH, SGD())
        reference.put(self.state)
        fit = Fit(reference, self.graph, BATCH, folder, folder / "orders.npy")
        own = {**fit.epoch(1), **fit.look()}
        wrong = [name for name in ("loss", "first_losses", "validation_loss")
                 if np.shape(reply[name]) != np.shape(own[name])
                 or not np.allclose(reply[name], own[name], rtol=1e-3)] if not self.graph.random_nodes else []
        if wrong:
            raise Broken(", ".join(f"{name} is {reply[name]}, the reference's {own[name]}" for name in wrong))

    def probe(self) -> str:
        assert self.worker is not None
        seen = remote.probe(self.worker, self.patience, self.facts, self.folder)
        return ", ".join(f"{name}: {'not probed' if 'unsupported' in seen[name] else 'probed'}"
                         for name in ("matmul", "conv", "denormals", "threads"))

    def predict(self) -> str:
        outputs = self.folder / "outputs.npz"
        self._ask("predict", inputs=self._given("inputs", self.batch), outputs=str(outputs))
        return self._shapes(self._read(outputs))

    def prove(self) -> str:
        folder = self.folder / "proof"
        forward_only = "train" not in self.tasks
        proof.prepare(folder, self.graph, BATCH, draws=1, exact_draws=2)
        proof.run(lambda: Reference(Setup("reference", precision="float64")), folder, proof.REFERENCE)
        assert self.worker is not None
        remote.prove(self.worker, self.patience, self.facts, folder, "worker", forward_only=forward_only)
        self.build()  # what comes is of the model again: a proof ends with what it builds for dropout
        self.weights()
        try:
            earned = certificate.judge(folder, "worker", self.candidate.contender.name)
        except remote.SENSELESS as error:
            raise Broken(f"what it wrote cannot be judged: {type(error).__name__}: {error}") from error
        refused = [check for check in earned.checks if not check.passed]
        if refused:
            raise Broken("; ".join(f"{each.group}: error {each.error:.2g} of {each.allowed:.2g} allowed ({each.worst})"
                                   for each in refused))
        return f"{len(earned.checks)} groups of tensors are right"

    def verb(self) -> str:
        try:
            self._verb("put", self.state)
        except WorkerFailed as error:
            if error.kind != "unsupported":
                raise
            return "lacks it"
        returned = self._verb("get", {})
        for name, values in self.state.items():
            if name not in returned or not np.array_equal(returned[name], values):
                raise Broken(f"{name} does not come back as it was put")
        done = ["put", "get"]
        for name in ("infer", *(("gradients", "train_step") if "train" in self.tasks else ())):
            self._verb(name, self.batch)
            done.append(name)
        return ", ".join(done)

    def serve(self) -> str:
        moments = self.folder / "arrivals.npy"
        np.save(moments, APART * np.arange(STEPS))
        try:
            reply = self._ask("serve", queries=STEPS, arrivals=str(moments), clients=0)
            closed = self._ask("serve", queries=STEPS, arrivals=None, clients=STEPS)
        except WorkerFailed as error:
            if error.kind != "unsupported":
                raise
            return "lacks it"
        if reply["wall"] < APART * (STEPS - 1):
            raise Broken(f"queries that come within {APART * (STEPS - 1):g} s are all answered after {reply['wall']:g}")
        for told in (reply, closed):
            if any(latency < own for latency, own in zip(told["seconds"], told["service"])):
                raise Broken("a query was worked on for longer than its answer took")
        if closed["seconds"] != sorted(closed["seconds"]):
            raise Broken("of queries that come together a later one is answered sooner after it came")
        return f"{min(reply['service']):.3g} s a query"

    def unknown(self) -> str:
        return self._refused("nothing of the kind")

    def failing(self) -> str:
        return self._refused("predict", inputs=str(self.folder / "nowhere.npz"), outputs=str(self.folder / "none.npz"))

    def pause(self) -> str:
        assert self.worker is not None
        self.worker.stop()
        time.sleep(0.1)
        self.worker.wake()
        self.block(self.tasks[0])
        return "a block afterwards went well"

    def silence(self) -> str:
        assert self.worker is not None
        time.sleep(0.2)
        self.worker.expect_silence()
        return "nothing"

    def end(self) -> str:
        """A worker of its own: the one examined is ended otherwise."""
        process = subprocess.Popen(self.candidate.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, cwd=self.candidate.folder, start_new_session=True,
                                   env=dict(self.candidate.variables, **{MARK: mark_of("conformance")}))
        try:
            process.communicate(timeout=ENDING)
        except subprocess.TimeoutExpired:
            raise Broken(f"it lives on {ENDING:.0f} s later") from None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if process.returncode:
            raise Broken(f"it ends with exit code {process.returncode}")
        return "exit code 0"

    def close(self) -> None:
        if self.worker is not None:
            self.worker.kill()

    def _ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        assert self.worker is not None
        return self.worker.ask(do, self.patience, **arguments)

    def _refused(self, do: str, **arguments: Any) -> str:
        try:
            self._ask(do, **arguments)
        except UsageError as error:
            return f"{WRONG_USE}: {error.message}"
        except WorkerFailed as error:
            if error.kind == "protocol" or not self.alive:
                raise
            return f"{error.kind}: {error.message}"
        raise Broken("it says that this went well")

    def _verb(self, name: str, arrays: Arrays) -> Arrays:
        result = self.folder / f"{name}-result.npz"
        self._ask("verb", name=name, given=self._given(name, arrays), result=str(result))
        found = self._read(result)
        if name == "infer":
            self._shapes(found)
        if name in ("gradients", "train_step") and "loss" not in found:
            raise Broken(f"{name} gives no loss")
        return found

    def _given(self, name: str, arrays: Arrays) -> str:
        path = self.folder / f"{name}-given.npz"
        np.savez(path, **arrays)  # type: ignore[arg-type]
        return str(path)

    def _read(self, path: Path) -> Arrays:
        try:
            with path.open("rb") as stream, np.load(stream) as file:
                return dict(file)
        except remote.SENSELESS as error:
            raise Broken(f"it left no arrays that can be read in {path.name}: {error}") from error

    def _shapes(self, outputs: Arrays) -> str:
        """The shapes of the outputs, which must be those of the graph."""
        for name in self.graph.outputs:
            expected = (BATCH, *self.graph.spec(name).shape)
            found = outputs.get(f"output/{name}")
            if found is None or found.shape != expected:
                raise Broken(f"output/{name} has shape {None if found is None else found.shape}, not {expected}")
        return ", ".join(f"{name} {outputs[f'output/{name}'].shape}" for name in self.graph.outputs)

