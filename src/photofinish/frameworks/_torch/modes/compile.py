"""torch.compile of the function that returns the loss (a loss outside would leave fusion to be had), so of its
backward too, and for inference of the model; the optimizer stays as torch.optim ships it."""

import importlib
import warnings
from typing import Any, Callable, ClassVar, Dict, List

from photofinish.frameworks import Setup, Unsupported
from photofinish.frameworks._torch.mode import Mode as AsItIs

QUIET = (  # what torch.compile says of PyTorch's own code (as of its way around nn.LSTM), and its advice to allow TF32
    "`torch.jit.script_method` is deprecated", "TensorFloat32 tensor cores",
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed")


class Mode(AsItIs):
    """One graph for the loss and one for inference, for the shapes of the race alone."""

    compiled = True
    options: ClassVar[Dict[str, Any]] = {}  # of torch.compile, beside its static shapes

    def __init__(self, torch: Any, setup: Setup) -> None:
        super().__init__(torch, setup)
        if not hasattr(torch, "compile"):
            raise Unsupported("PyTorch {} has no torch.compile".format(torch.__version__))
        for message in QUIET:
            warnings.filterwarnings("ignore", message=message)

    def operation(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return self.torch.compile(function, dynamic=False, **self.options)  # type: ignore[no-any-return]

    def training(self, loss: Callable[..., Any]) -> Callable[..., Any]:
        return self.operation(loss)

    def inference(self, model: Any) -> Callable[..., Any]:
        return self.operation(model)

    def evidence(self, contestant: Any) -> Dict[str, Any]:
        """What torch.compile made of this model: none of its graphs twice."""
        utils, metrics = map(importlib.import_module, ("torch._dynamo.utils", "torch._inductor.metrics"))  # type: Any, Any
        own = self._graphs(contestant)
        return {"graphs": len(own), "recompiles": sum(1 for each in own if each.recompile_reason),
                "graph_breaks": sum(utils.counters["graph_break"].values()),
                "generated_kernels": metrics.generated_kernel_count}

    def compilations(self, contestant: Any) -> int:
        return len(self._graphs(contestant))

    def _graphs(self, contestant: Any) -> List[Any]:
        """What TorchDynamo remembers of each graph it made of this model."""
        found: Any = importlib.import_module("torch._dynamo.utils").get_compilation_metrics()  # type: ignore[attr-defined]
        return [each for each in found if contestant.shipped or each.co_filename == contestant.filename]
