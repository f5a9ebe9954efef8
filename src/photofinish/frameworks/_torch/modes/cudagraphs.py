"""torch.compile with its kernels captured in CUDA graphs, which replay without Python."""

import importlib
from typing import Any, ClassVar, Dict

from photofinish.frameworks import Setup, Unsupported
from photofinish.frameworks._torch.modes.compile import Mode as Compiled


class Mode(Compiled):
    """What PyTorch calls mode="reduce-overhead"."""

    options: ClassVar[Dict[str, Any]] = {"mode": "reduce-overhead"}

    def __init__(self, torch: Any, setup: Setup) -> None:
        super().__init__(torch, setup)
        if not setup.device.startswith("cuda"):
            raise Unsupported("torch:cudagraphs needs a CUDA device, not {}".format(setup.device))

    def evidence(self, contestant: Any) -> Dict[str, Any]:
        """Besides: how many graphs it left uncaptured."""
        counted = importlib.import_module("torch._dynamo.utils").counters["inductor"]  # type: ignore[attr-defined]
        return dict(super().evidence(contestant), not_captured=counted["cudagraph_skips"])
