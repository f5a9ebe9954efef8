"""Photofinish judges races between deep-learning frameworks."""

from typing import Any

__version__ = "0.1.0"
__all__ = ["Interrupted", "load", "race", "serve", "sweep", "verify"]


def __getattr__(name: str) -> Any:
    """The verbs of `photofinish.api`, imported when first used: `import photofinish` stays light."""
    if name not in __all__:
        raise AttributeError(f"module 'photofinish' has no attribute {name!r}")
    from photofinish import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
