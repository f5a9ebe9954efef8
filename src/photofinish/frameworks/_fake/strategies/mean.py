"""Every process computes its part of the batch; all update by the mean of their gradients.

It keeps the fake's own clock: a step takes what one of this process' part takes, and option `sync` seconds more.
Running statistics are those of rank 0, as PyTorch's DDP has it.
"""

import io
from multiprocessing.connection import Client, Listener
from typing import Any, Callable, List, Tuple

import numpy as np

from photofinish.frameworks import Arrays, Setup, part_of
from photofinish.frameworks._ranks.meeting import find, leave, own_address
from photofinish.frameworks.fake import Contestant as Alone
from photofinish.frameworks.numpy import Pass
from photofinish.values import TracedStep


class Contestant(Alone):
    """One of `setup.world` processes, which all do the same at the same time."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.setup = setup
        self.sync = float(setup.options.get("sync", "0"))
        self.circle = Circle(setup)

    def build(self, graph: Any, batch: int, optimizer: Any = None) -> None:
        super().build(graph, batch // self.setup.world, optimizer)

    def feed(self, arrays: Arrays) -> Arrays:
        return super().feed(part_of(arrays, self.setup))

    def train_step(self, batch: Arrays) -> Any:
        handle = super().train_step(batch)
        self.now += self.sync
        return handle

    def trace(self, step: Callable[[Any], Any], batches: List[Any]) -> List[TracedStep]:
        """By its script: it computes, and then sends its gradients, which takes `sync` from when the last is ready."""
        found = []
        for batch in batches:
            before = self.now
            self.wait(step(batch))
            ready = self.now - before - self.sync
            end = max(float(each["ready"]) for each in self.circle.gather({"ready": np.array(ready)})) + self.sync
            size = sum(each.nbytes for each in self.parameters.values())
            found.append(TracedStep(0.0, end, ((ready, end, size),), ((ready, end),)))
        return found

    def infer(self, batch: Arrays) -> Arrays:
        return self._whole(super().infer(batch))

    def gradients(self, batch: Arrays) -> Arrays:
        return self._whole(super().gradients(batch))

    def get(self) -> Arrays:
        self.state = self.circle.gather(self.state)[0]
        return super().get()

    def agreed(self, done: bool) -> bool:
        return bool(self.circle.gather({"done": np.array(done)})[0]["done"])

    def _backward(self, run: Pass) -> Tuple[np.ndarray, Arrays]:
        loss, gradients = super()._backward(run)
        all_of_them = self.circle.gather(dict(gradients, **{"": loss}))
        mean = {name: sum(each[name] for each in all_of_them) / self.dtype.type(self.setup.world)
                for name in all_of_them[0]}
        return mean.pop(""), mean

    def _whole(self, arrays: Arrays) -> Arrays:
        """With the outputs of the whole batch."""
        outputs = self.circle.gather({name: each for name, each in arrays.items() if name.startswith("output/")})
        return dict(arrays, **{name: np.concatenate([each[name] for each in outputs]) for name in outputs[0]})


class Circle:
    """The processes of a group: rank 0 hears all and tells all."""

    def __init__(self, setup: Setup) -> None:
        self.others: List[Any] = []
        if setup.rank == 0:
            address = own_address()
            listener = Listener(_place(address))
            leave(setup, address)
            arrived = [listener.accept() for _ in range(1, setup.world)]
            self.others = sorted(arrived, key=lambda each: int(each.recv_bytes()))
            return
        self.leader = Client(_place(find(setup, 0)))
        self.leader.send_bytes(str(setup.rank).encode())

    def gather(self, arrays: Arrays) -> List[Arrays]:
        """The arrays of every rank, in order. Raises EOFError or OSError if one has gone."""
        if not self.others:
            self.leader.send_bytes(_packed([arrays]))
            return _unpacked(self.leader.recv_bytes())
        found = [arrays] + [_unpacked(each.recv_bytes())[0] for each in self.others]
        packed = _packed(found)
        for each in self.others:
            each.send_bytes(packed)
        return found


def _place(address: str) -> Tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)


def _packed(found: List[Arrays]) -> bytes:
    file = io.BytesIO()
    named = {"{}/{}".format(i, name): values for i, arrays in enumerate(found) for name, values in arrays.items()}
    np.savez(file, count=np.array(len(found)), **named)  # type: ignore[arg-type]
    return file.getvalue()


def _unpacked(packed: bytes) -> List[Arrays]:
    with np.load(io.BytesIO(packed)) as file:
        return [{name.partition("/")[2]: file[name] for name in file.files if name.partition("/")[0] == str(i)}
                for i in range(int(file["count"]))]
