"""Photofinish judges races between deep-learning frameworks."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
__all__ = ["Interrupted", "load", "race", "serve", "sweep", "verify", "why"]
_ELSEWHERE = {"why": "verbs.why"}  # the verbs that are not in `api`


def __getattr__(name: str) -> Any:
    """The verbs of `photofinish.api`, imported when first used: `import photofinish` stays light."""
    if name not in __all__:
        raise AttributeError(f"module 'photofinish' has no attribute {name!r}")
    return getattr(import_module(f"photofinish.{_ELSEWHERE.get(name, 'api')}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
