"""What a model is made of."""

from dataclasses import dataclass
from typing import Tuple


@dataclass(frozen=True)
class Part:
    """A distinct layer of a model: one kind, the same fields, the same input shapes. `nodes` are all that are that
    layer and `places` where they stand in the model's running order; `name` is the first of them, `fields` are its
    parameters in words.

    It is timed in a scaffold (`explain.anatomy`): `inputs` are the shapes whose gradient is needed, `outputs` those
    that are used, each spelled as the scaffold of that shape is. `macs` are of one sample, `values` what one sample
    reads and writes (inputs and outputs), `parameters` what is read once for a batch.
    """

    name: str
    kind: str
    fields: str
    shapes: Tuple[str, ...]
    nodes: Tuple[str, ...]
    places: Tuple[int, ...]
    inputs: Tuple[str, ...]
    outputs: Tuple[str, ...]
    macs: int = 0
    values: int = 0
    parameters: int = 0
    training_only: bool = False

    @property
    def count(self) -> int:
        """How often it stands in the model."""
        return len(self.nodes)
