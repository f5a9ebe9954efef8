"""Who may compute the float64 results that contenders are compared with: NumPy, and who stands in for it.

On a processor TensorFlow is asked first, then PyTorch: the 1/√2 of TensorFlow's GELU, for one, is rounded to float32.
In a race on a GPU PyTorch is asked there before either.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from photofinish import environments
from photofinish.runner.entry import Entry
from photofinish.values import Contender

NUMPY = Contender("numpy", "reference")
TENSORFLOW, TORCH = Contender("tensorflow", "graph"), Contender("torch", "eager")
CPU, GPU = "cpu", "cuda"


@dataclass(frozen=True)
class Witness(Entry):
    """A framework in double precision on that device."""

    device: str = CPU

    @property
    def name(self) -> str:
        return self.contender.name if self.device == CPU else f"{self.contender.name} on {self.device}"

    @property
    def title(self) -> str:
        """What is said of it while it computes."""
        return self.contender.framework if self.device == CPU else f"{self.contender.framework} on {self.device}"

    @property
    def credit(self) -> str:
        """What certificates say of the reference that it computed."""
        where = "" if self.device == CPU else f" on {self.device}"
        borne_out = "" if self.contender == NUMPY else ", confirmed by numpy"
        return f"{self.contender.framework} float64{where}{borne_out}"


def numpy() -> Witness:
    """This Python, which has NumPy."""
    found = environments.own(NUMPY)
    assert isinstance(found, environments.Environment)
    return Witness(NUMPY, found)


def stand_ins(device: str, entries: Iterable[Entry] = ()) -> list[Witness]:
    """The frameworks that may stand in for NumPy in a race on that device, in the order in which they are asked. On a
    GPU the PyTorch of one of the `entries` does, if there is one: it is known to see that device."""
    return [*_on_gpu(device, entries), *_on_cpu()]


def _on_gpu(device: str, entries: Iterable[Entry]) -> Iterator[Witness]:
    if device.partition(":")[0] == GPU:
        found = [each.home for each in entries if each.contender.framework == TORCH.framework]
        home = found[0] if found else environments.held(TORCH)
        if isinstance(home, environments.Environment):
            yield Witness(TORCH, home, device=device)


def _on_cpu() -> Iterator[Witness]:
    for each in (TENSORFLOW, TORCH):
        home = environments.held(each)
        if isinstance(home, environments.Environment):
            yield Witness(each, home)
