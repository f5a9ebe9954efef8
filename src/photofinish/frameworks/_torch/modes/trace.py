"""torch.jit.trace of an inference, frozen: the weights are constants of the graph, a BatchNorm is folded into them."""

import warnings
from collections import Counter
from typing import Any, Callable, Dict, Tuple

from photofinish.frameworks import Setup
from photofinish.frameworks._torch.inference import Program

QUIET = (r"`torch.jit.(trace|trace_method|freeze)` is deprecated",
         # shapes are those of the race alone, so what Python decides by them (nn.LSTM's checks too) stays decided
         r"(Iterating over a tensor|Converting a tensor to a Python boolean) might cause the trace to be incorrect")


class Mode(Program):
    """TorchScript, which returns tensors only: an output that only training has is left out of it, and put back."""

    compiled = True

    def __init__(self, torch: Any, setup: Setup) -> None:
        super().__init__(torch, setup)
        for message in QUIET:
            warnings.filterwarnings("ignore", message=message)

    def make(self, function: Callable[..., Any], inputs: Tuple[Any, ...]) -> Any:
        if not isinstance(function, self.torch.nn.Module):
            return self.torch.jit.trace(function, inputs)
        outputs = function(*inputs)
        self.there = [each is not None for each in outputs] if isinstance(outputs, tuple) else [True]
        model = function if all(self.there) else self._present(function)
        return self.torch.jit.freeze(self.torch.jit.trace(model, inputs))

    def _present(self, model: Any) -> Any:
        class Present(self.torch.nn.Module):  # type: ignore[name-defined, misc]
            def __init__(self) -> None:
                super().__init__()
                self.model = model

            def forward(self, *inputs: Any) -> Any:
                return tuple(each for each in self.model(*inputs) if each is not None)

        return Present().eval()

    def _infer(self, *inputs: Any) -> Any:
        outputs = super()._infer(*inputs)
        if all(self.there):
            return outputs
        found = iter(outputs)
        return tuple(next(found) if there else None for there in self.there)

    def evidence(self, contestant: Any) -> Dict[str, Any]:
        """The operations of the graph that runs, and the kernels they call."""
        kernels = self.kernels(contestant)
        operations = Counter(node.kind() for node in self.program.inlined_graph.nodes())
        return {"operations": dict(operations.most_common()), "kernels": kernels}
