"""PyTorch as it comes: each operation runs when Python reaches it."""

from typing import Any, Dict

from photofinish.frameworks._torch.mode import Mode as AsItIs


class Mode(AsItIs):
    """Everything as it is."""

    def evidence(self, contestant: Any) -> Dict[str, Any]:
        return {"kernels": self.kernels(contestant)}
