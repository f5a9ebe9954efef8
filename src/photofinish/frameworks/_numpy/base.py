"""What a rule is given and gives."""

from typing import Any, Callable, Dict, Optional, Sequence, Tuple

import numpy as np

from photofinish import layers

Arrays = Dict[str, np.ndarray]
Pull = Callable[..., Sequence[Optional[np.ndarray]]]
Ruled = Tuple[Any, Pull]
Rules = Dict[type, Callable[..., Ruled]]


class Use:
    """One layer while it runs: its arrays by the layer's own names, and what its rule leaves behind
    (`gradients` of parameters after `pull`, `new_state` after a training pass)."""

    def __init__(self, layer: Any, specs: Sequence[layers.Spec], parameters: Arrays, state: Arrays,
                 training: bool, generator: np.random.RandomState) -> None:
        self.layer = layer
        self.specs = specs
        self.parameters = parameters
        self.state = state
        self.training = training
        self.generator = generator
        self.gradients: Arrays = {}
        self.new_state: Arrays = {}

    def axis(self, letter: str) -> int:
        """Where the first input has that axis, the batch axis counted."""
        return 1 + self.specs[0].axes.index(letter)

    def axes_but_channels(self) -> Tuple[int, ...]:
        """Every axis of the first input but C, the batch axis included."""
        return tuple(axis for axis in range(1 + len(self.specs[0].axes)) if axis != self.axis("C"))
