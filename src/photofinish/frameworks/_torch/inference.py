"""A program that PyTorch makes of a model for inference alone, from the first batch it sees."""

from typing import Any, Callable, Dict, Tuple

from photofinish.frameworks._common.stale import digest
from photofinish.frameworks._torch.mode import Mode as AsItIs


class Program(AsItIs):
    """Made when the first batch comes, and again when other weights have been put: it may hold them as constants."""

    trains = False

    def make(self, function: Callable[..., Any], inputs: Tuple[Any, ...]) -> Any:
        """The program of a model, or of a function, for inputs of these shapes."""
        raise NotImplementedError

    def inference(self, model: Any) -> Callable[..., Any]:
        self.model, self.program, self.made_of = model, None, ""  # type: Any, Any, str
        return self._infer

    def _infer(self, *inputs: Any) -> Any:
        if self.program is None:
            self.program, self.made_of = self.make(self.model, inputs), self._weights()
        return self.program(*inputs)

    def operation(self, function: Callable[..., Any]) -> Callable[..., Any]:
        made: Dict[Any, Any] = {}

        def run(*inputs: Any) -> Any:
            shapes = tuple(each.shape for each in inputs)
            if shapes not in made:
                made[shapes] = self.make(function, inputs)
            return made[shapes](*inputs)

        return run

    def renew(self) -> None:
        if self.program is not None and self.made_of != self._weights():
            self.program = None

    def _weights(self) -> str:
        return digest(tensor.detach().cpu().numpy() for tensor in self.model.state_dict().values())
