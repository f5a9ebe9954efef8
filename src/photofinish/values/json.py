"""Values as plain JSON data, and back."""

import typing
from dataclasses import fields, is_dataclass
from typing import Any, Tuple, Type, TypeVar

T = TypeVar("T")


def to_json(value: Any) -> Any:
    """A dataclass (or a tuple, list or dict of them) as plain JSON data."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: to_json(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, (list, tuple)):
        return [to_json(each) for each in value]
    if isinstance(value, dict):
        return {str(key): to_json(each) for key, each in value.items()}
    return value


def from_json(cls: Type[T], data: Any) -> T:
    """The inverse of `to_json` for a dataclass. Unknown keys are refused with TypeError."""
    hints = typing.get_type_hints(cls)
    return cls(**{name: _restore(hints.get(name, Any), value) for name, value in data.items()})


def _restore(hint: Any, value: Any) -> Any:
    arguments: Tuple[Any, ...] = getattr(hint, "__args__", None) or ()
    if value is None:
        return None
    if isinstance(hint, type) and is_dataclass(hint):
        return from_json(hint, value)
    if isinstance(value, list):
        inner = next(iter(arguments), None)
        return tuple(_restore(inner, each) for each in value)
    if isinstance(value, dict) and len(arguments) == 2 and type(None) not in arguments:
        return {key: _restore(arguments[1], each) for key, each in value.items()}
    if type(None) in arguments:  # Optional
        return _restore(next(each for each in arguments if each is not type(None)), value)
    return value
