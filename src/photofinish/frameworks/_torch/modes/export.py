"""torch.export of an inference: a graph of ATen operations without Python around them, run as the module it gives."""

import warnings
from collections import Counter
from typing import Any, Callable, Dict, Tuple

from photofinish.frameworks import Setup, Unsupported
from photofinish.frameworks._torch.inference import Program

QUIET = r"The tensor attributes? .*\._flat_weights\["  # of nn.LSTM and nn.GRU, which make that list anew in each call


class Mode(Program):
    """The exported program as it is, not compiled any further."""

    def __init__(self, torch: Any, setup: Setup) -> None:
        super().__init__(torch, setup)
        if not hasattr(torch, "export"):
            raise Unsupported("PyTorch {} has no torch.export".format(torch.__version__))
        warnings.filterwarnings("ignore", message=QUIET)

    def make(self, function: Callable[..., Any], inputs: Tuple[Any, ...]) -> Any:
        with self.torch.inference_mode(False), self.torch.no_grad():
            return self.torch.export.export(self._module(function), inputs).module()

    def _module(self, function: Callable[..., Any]) -> Any:
        class Function(self.torch.nn.Module):  # type: ignore[name-defined, misc]
            def forward(self, *tensors: Any) -> Any:
                return function(*tensors)

        return function if isinstance(function, self.torch.nn.Module) else Function()

    def evidence(self, contestant: Any) -> Dict[str, Any]:
        """The operations of the graph that runs, and the kernels they call."""
        kernels = self.kernels(contestant)
        operations = Counter(str(node.target) for node in self.program.graph.nodes if node.op == "call_function")
        return {"operations": dict(operations.most_common()), "kernels": kernels}
