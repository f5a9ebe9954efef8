"""torch.autocast to bfloat16: products take operands of 8 bits of mantissa, weights and updates stay in float32.

Its certificate is by the rounding of that format, beside that of mode eager, whose code it runs.
"""

from typing import Any, Callable, Dict

from photofinish.frameworks import Setup, Unsupported
from photofinish.frameworks._torch.mode import Mode as AsItIs


class Mode(AsItIs):
    """Eager, under autocast: the loss with the forward pass, as PyTorch's users have it; the backward pass follows."""

    form = "bfloat16"

    def __init__(self, torch: Any, setup: Setup) -> None:
        super().__init__(torch, setup)
        if not hasattr(torch, "autocast"):
            raise Unsupported("PyTorch {} has no torch.autocast".format(torch.__version__))

    def operation(self, function: Callable[..., Any]) -> Callable[..., Any]:
        kind, dtype = self.setup.device.partition(":")[0], getattr(self.torch, self.form)

        def cast(*arguments: Any) -> Any:
            with self.torch.autocast(kind, dtype=dtype):
                return function(*arguments)

        return cast

    def training(self, loss: Callable[..., Any]) -> Callable[..., Any]:
        return self.operation(loss)

    def inference(self, model: Any) -> Callable[..., Any]:
        return self.operation(model)

    def facts(self) -> Dict[str, Any]:
        return {"autocast": self.form}

    def evidence(self, contestant: Any) -> Dict[str, Any]:
        return {"kernels": self.kernels(contestant)}
