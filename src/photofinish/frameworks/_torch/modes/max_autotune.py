"""torch.compile told to take its time: it times kernels of its own making against the library's before it chooses."""

import importlib
from typing import Any, ClassVar, Dict

from photofinish.frameworks._torch.modes.compile import Mode as Compiled


class Mode(Compiled):
    """What PyTorch calls mode="max-autotune"."""

    options: ClassVar[Dict[str, Any]] = {"mode": "max-autotune"}

    def evidence(self, contestant: Any) -> Dict[str, Any]:
        """Besides: how many products it timed, and how many of its own kernels won."""
        counted = importlib.import_module("torch._dynamo.utils").counters["inductor"]  # type: ignore[attr-defined]
        return dict(super().evidence(contestant), autotuned=counted["select_algorithm_autotune"])
