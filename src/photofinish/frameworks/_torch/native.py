"""How one layer is written in PyTorch."""

from typing import Any, Callable, Dict

from photofinish.frameworks._common.forward import Native

__all__ = ["Native", "Rules", "plain", "write"]

DEFAULTS: Dict[str, Any] = {  # PyTorch's own: an argument that equals it is not written
    "stride": 1, "padding": 0, "output_padding": 0, "dilation": 1, "groups": 1, "bias": True, "ceil_mode": False,
    "affine": True, "count_include_pad": True, "eps": 1e-5, "momentum": 0.1, "label_smoothing": 0.0,
    "ignore_index": -100}


def write(function: str, *arguments: Any, **named: Any) -> str:
    """The text of a call; a string argument is taken as code, a pair of equal numbers is written once."""
    def short(value: Any) -> Any:
        return value[0] if isinstance(value, tuple) and value == value[:1] * 2 else value

    words = [each if isinstance(each, str) else repr(short(each)) for each in arguments]
    words += ["{}={!r}".format(name, short(value)) for name, value in named.items()
              if name not in DEFAULTS or short(value) != DEFAULTS[name]]
    return "{}({})".format(function, ", ".join(words))


def plain(call: str) -> Callable[..., Native]:
    return lambda layer, *specs: Native(call)


Rules = Dict[type, Callable[..., Native]]  # from a layer and the specs of its inputs
