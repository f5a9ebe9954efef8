"""TensorFlow in plain Python: each operation runs when Python reaches it."""

from typing import Any, Callable, Dict, List

from photofinish.frameworks._tensorflow.mode import Mode as Traced


class Mode(Traced):
    """Nothing is traced."""

    written = "eager"

    def function(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function

    def bind(self, contestant: Any, name: str, specs: List[Any]) -> Callable[..., Any]:
        return contestant.native[name]  # type: ignore[no-any-return]

    def seen(self, contestant: Any, name: str, bound: Any) -> Dict[str, Any]:
        return {"traces": 0}
