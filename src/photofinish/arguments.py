"""What an argument of a word takes, in a model's function: a mistake is told where it is written."""

import functools
import inspect
from typing import Any, Callable, Dict, Iterable, Optional, Tuple, TypeVar, Union

from photofinish.graph import Graph, ModelError, Tensor
from photofinish.likeness import nearest

Pair = Union[int, Tuple[int, int]]
Padding = Union[None, int, Tuple[int, int], Tuple[int, int, int, int]]
Border = Union[int, Tuple[int, int], Tuple[int, int, int, int]]  # what is below 0 crops
Word = TypeVar("Word", bound=Callable[..., Any])


class ArgumentError(ModelError):
    """An argument that a word, or a declaration, does not take: names it, and what it takes."""


def meant(given: Any, choices: Iterable[str]) -> str:
    """What may be meant by `given`, and all there is: "did you mean stride? choose from: kernel, stride"."""
    names = list(choices)
    near = nearest(str(given), names, most=1)
    return ("did you mean {}? ".format(near[0]) if near else "") + "choose from: {}".format(", ".join(names))


def whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def positive(value: Any) -> bool:
    return whole(value) and value > 0


def natural(value: Any) -> bool:
    return whole(value) and value >= 0


def number(value: Any) -> bool:
    """An int or a float, but no NaN."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value


def _several(value: Any, counts: Tuple[int, ...], fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, (tuple, list)) and len(value) in counts and all(fits(each) for each in value)


_PAIR = ("a whole number above 0, or two (down, across)",
         lambda value: positive(value) or _several(value, (2,), positive))
_TENSOR = ("a tensor", lambda value: isinstance(value, Tensor))

# What an argument takes, and what tells whether a value is one: by its annotation, or where that says too little its
# name. None is taken where it is the default.
_OF_TYPE: Dict[Any, Tuple[str, Callable[[Any], bool]]] = {
    Tensor: _TENSOR,
    Optional[Tensor]: _TENSOR,
    int: ("a whole number above 0", positive),
    float: ("a number", number),
    bool: ("True or False", lambda value: isinstance(value, int) and value in (0, 1)),
    str: ("a text", lambda value: isinstance(value, str)),
    Pair: _PAIR,
    Optional[Pair]: _PAIR,
    Padding: ("a whole number from 0 on, two (down, across) or four (top, left, bottom, right)",
              lambda value: natural(value) or _several(value, (2, 4), natural)),
    Border: ("a whole number, two (down, across) or four (top, left, bottom, right)",
             lambda value: whole(value) or _several(value, (2, 4), whole)),
    Optional[Tuple[int, int]]: ("two whole numbers from 0 on (before, after)",
                                lambda value: _several(value, (2,), natural)),
}
_OF_NAME: Dict[str, Tuple[str, Callable[[Any], bool]]] = {
    "approximate": ('"none" or "tanh"', lambda value: value in ("none", "tanh")),
    "body": ("a Graph of (carry, x) -> (carry, y)", lambda value: isinstance(value, Graph)),
    "index": ("a whole number", whole),
    "rate": ("a number from 0 to less than 1", lambda value: number(value) and 0 <= value < 1),
    "running_variance": ('"sample" or "population"', lambda value: value in ("sample", "population")),
    "start": ("a whole number", whole),
    "stop": ("a whole number", whole),
}


def checked(function: Word) -> Word:
    """Decorator of every word: raises ArgumentError for arguments that it does not take."""
    signature = inspect.signature(function)
    arguments = signature.parameters
    told = ", ".join(str(each.replace(annotation=each.empty)) for each in arguments.values())

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        for name in options:
            if name not in arguments:
                raise ArgumentError("{} has no argument {!r}: {}".format(
                    function.__name__, name, meant(name, arguments)))
        try:
            given = signature.bind(*args, **options).arguments
        except TypeError as error:
            raise ArgumentError("{}: {}; write {}({})".format(
                function.__name__, error, function.__name__, told)) from error
        for name, value in given.items():
            argument = arguments[name]
            expected, fits = _OF_NAME.get(name) or _OF_TYPE[argument.annotation]
            for each in value if argument.kind is argument.VAR_POSITIONAL else (value,):
                if not fits(each) and (each is not None or argument.default is not None):
                    raise ArgumentError("{} takes {} as {}, not {!r}".format(
                        function.__name__, expected, name, each))
        return function(*args, **options)
    return call  # type: ignore[return-value]
