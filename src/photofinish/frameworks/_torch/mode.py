"""What a mode of PyTorch decides: how the loss, the model and a single operation run.

Each mode is a class `Mode` in a file of modes/. None imports PyTorch: ../torch.py hands it over.
"""

from typing import Any, Callable, Dict, List, Optional

import numpy as np

from photofinish.frameworks import Differences, Setup


class Mode:
    """Everything as it is: what a mode does not say otherwise."""

    written = ""  # PyTorch's source is the same in every mode
    trains = True  # else the header says `tasks = { <mode> = ["infer"] }`
    compiled = False

    def __init__(self, torch: Any, setup: Setup) -> None:
        """Raises Unsupported where this PyTorch, or the device, lacks the mode."""
        self.torch = torch
        self.setup = setup

    def training(self, loss: Callable[..., Any]) -> Callable[..., Any]:
        """The function of a model and a batch that returns the loss and the outputs, as this mode runs it."""
        return loss

    def inference(self, model: Any) -> Callable[..., Any]:
        """The model as this mode runs it. Made in training mode; first called in evaluation mode."""
        return model  # type: ignore[no-any-return]

    def operation(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A probe of the audit as this mode would run it in a model."""
        return function

    def renew(self) -> None:
        """Called when arrays have been put into the model, in place: what was made of the old values is stale."""

    def differences(self) -> Differences:
        """How what it computes differs from the graph on purpose: no certificate can be earned then."""
        return []

    def facts(self) -> Dict[str, Any]:
        """What is particular to the mode."""
        return {}

    def evidence(self, contestant: Any) -> Dict[str, Any]:
        """What can be seen of the mode being real."""
        return {}

    def compilations(self, contestant: Any) -> Optional[int]:
        """How often the steps were traced or compiled, by PyTorch's own count."""
        return None if self.compiled else 0

    def kernels(self, contestant: Any) -> List[str]:
        """The oneDNN and cuDNN operators that one inference calls."""
        batch = contestant.feed({name: np.zeros((contestant.batch,) + spec.shape, spec.dtype)
                                 for name, spec in contestant.graph.inputs})
        with self.torch.autograd.profiler.profile() as profile:
            contestant.wait(contestant.infer(batch))
        names = {event.name for event in profile.function_events}
        return sorted(name for name in names if "mkldnn" in name or "onednn" in name or "cudnn" in name)
