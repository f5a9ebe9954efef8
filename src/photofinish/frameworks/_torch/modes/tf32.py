"""PyTorch with TF32 allowed in products of float32: operands of 11 bits of mantissa."""

from typing import Any, Callable, Dict

from photofinish.frameworks import Setup, Unsupported
from photofinish.frameworks._common.on_torch import find
from photofinish.frameworks._torch.mode import Mode as AsItIs

SWITCHES = ("cuda.matmul", "cudnn.conv", "cudnn.rnn")
OLDER = ("cuda.matmul", "cudnn")  # where versions have no fp32_precision


class Mode(AsItIs):
    """Eager, with the switches that a user sets; a matched process has been told to be strict before."""

    def __init__(self, torch: Any, setup: Setup) -> None:
        super().__init__(torch, setup)
        if not setup.device.startswith("cuda"):
            raise Unsupported("torch:tf32 needs a CUDA device, not {}".format(setup.device))

    def operation(self, function: Callable[..., Any]) -> Callable[..., Any]:
        newer = [find(self.torch, "backends." + path) for path in SWITCHES]
        if all(hasattr(each, "fp32_precision") for each in newer):
            for each in newer:
                each.fp32_precision = "tf32"
        else:
            for path in OLDER:
                find(self.torch, "backends." + path).allow_tf32 = True
        return function

    def training(self, loss: Callable[..., Any]) -> Callable[..., Any]:
        return self.operation(loss)

    def inference(self, model: Any) -> Callable[..., Any]:
        return self.operation(model)

    def evidence(self, contestant: Any) -> Dict[str, Any]:
        return {"kernels": self.kernels(contestant)}
