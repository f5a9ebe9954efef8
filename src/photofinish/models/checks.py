"""What may stand in a declaration, `@model(...)` and `Preparation(...)`.

Each check raises ArgumentError for a mistake: the argument as it was given, and what it takes.
"""

import inspect
import re
from typing import Any, Callable, Dict, Iterator, Sequence, Tuple

from photofinish.arguments import ArgumentError, meant, natural, number, positive
from photofinish.graph import Graph, ModelError
from photofinish.layers import BinaryCrossEntropy, SoftmaxCrossEntropy, Spec
from photofinish.optimizers import OPTIMIZERS

SOURCES = ("torchvision", "timm", "transformers", "keras.applications")  # whose names of layers can be read
DTYPES = ("float32", "int32", "int64", "bool")
CHANNELS = ("RGB", "BGR", "L")
RESAMPLING = ("bilinear", "bicubic")

# The language of names: files/names.py tells it.
_CHOICE = re.compile(r"\(([^()|]*(?:\|[^()|]*)+)\)")
_PLACE = re.compile(r"\{(\w+)\}")
_NUMBER = re.compile(r"\{(\w+|#)([+-]\d+)?\}")


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _options(value: Any) -> bool:
    return isinstance(value, dict) and all(_text(key) for key in value)


def _optimizer(value: Any) -> bool:
    return isinstance(value, tuple(OPTIMIZERS.values())) and all(
        number(each) and 0 <= each < float("inf") for each in vars(value).values())


# What each fact of a model takes, and what tells whether a value is one; `inputs` and `names` have checks of their own.
FACTS: Dict[str, Tuple[str, Callable[[Any], bool]]] = {
    "name": ("a text", _text),
    "classes": ("a whole number above 0, or None for a function that has no argument `classes`",
                lambda value: value is None or positive(value)),
    "objective": ("SoftmaxCrossEntropy() or BinaryCrossEntropy() of photofinish.layers, or None for a function that "
                  "calls graph.loss itself",
                  lambda value: value is None or isinstance(value, (SoftmaxCrossEntropy, BinaryCrossEntropy))),
    "task": ("a text, such as \"classification\"", _text),
    "unit": ("a text, such as \"images\"", lambda value: _text(value) and value != ""),
    "unit_axis": ("a letter", _text),
    "unit_size": ("a number above 0", lambda value: number(value) and 0 < value < float("inf")),
    "batch": ("a whole number above 0", positive),
    "optimizer": ("SGD() or Adam() of photofinish.optimizers, with numbers from 0 on", _optimizer),
    "source": ("a text", _text),
    "arguments": ("a dictionary of the function's arguments, such as {\"width\": 8}", _options),
    "reduced": ("a dictionary of the function's arguments, such as {\"width\": 8}", _options),
}


def facts(given: Dict[str, Any], known: Sequence[str]) -> None:
    """The keywords of a declaration are `known`."""
    for name in given:
        if name not in known:
            raise ArgumentError("@model has no argument {!r}: {}".format(name, meant(name, known)))


def model(entry: Any, preparation: type) -> None:
    """All of a Model. `preparation` is the class of that fact."""
    for fact, (expected, fits) in FACTS.items():
        value = getattr(entry, fact)
        if not fits(value):
            raise ArgumentError("{}={!r}: it takes {}".format(fact, value, expected))
    if not isinstance(entry.preparation, preparation):
        raise ArgumentError("preparation={!r}: it takes Preparation(...), CAFFE or MINUS_ONE_TO_ONE of "
                            "photofinish.models".format(entry.preparation))
    _inputs("inputs", entry.inputs)
    first = entry.inputs[0][1]
    if entry.unit_axis and (entry.unit_axis not in first.axes or len(entry.unit_axis) > 1):
        raise ArgumentError("unit_axis={!r}: the first input has {}".format(
            entry.unit_axis, "the axes " + ", ".join(first.axes) if first.axes else "no axis"))
    names(entry.names)
    _called(entry, "arguments", entry.arguments, entry.inputs)
    small = dict(entry.reduced)
    inputs, shape = small.pop("inputs", entry.inputs), small.pop("shape", first.shape)
    _inputs("reduced[\"inputs\"]", inputs)
    if not isinstance(shape, (tuple, list)) or len(shape) != len(first.shape) or not all(map(positive, shape)):
        raise ArgumentError("reduced[\"shape\"]={!r}: it takes sizes {} such as {}".format(
            shape, first.axes, first.shape))
    _called(entry, "reduced", dict(entry.arguments, **small), inputs)


def recorded(graph: Graph) -> None:
    """What a function made of its inputs: names that a printed network can have, and outputs that are several.

    Raises ModelError.
    """
    for name, _ in graph.inputs:
        if name == "model":
            raise ModelError("an input is called model, as the network is in printed code: give it another name")
        if name in dict(graph.targets):
            raise ModelError("an input is called {}, as what the loss compares with: give it another name".format(name))
    for name in graph.outputs:
        if graph.outputs.count(name) > 1:
            raise ModelError("{} is returned {} times: once is enough".format(name, graph.outputs.count(name)))


def preparation(given: Any) -> None:
    """All of a Preparation."""
    for field, choices in (("channels", CHANNELS), ("resample", RESAMPLING)):
        value = getattr(given, field)
        if value not in choices:
            raise ArgumentError("{}={!r}: {}".format(field, value, meant(value, choices)))
    if not number(given.crop) or not 0 < given.crop <= 1:
        raise ArgumentError("crop={!r}: it takes a share of the picture's side, above 0 and up to 1".format(given.crop))
    if not natural(given.border):
        raise ArgumentError("border={!r}: it takes a number of pixels from 0 on".format(given.border))
    for field in ("mean", "deviation"):
        value = getattr(given, field)
        if not isinstance(value, (tuple, list)) or len(value) != len(given.channels) or not all(map(number, value)):
            raise ArgumentError("{}={!r}: it takes {} of channels {!r}, such as ({})".format(
                field, value, "a number for each" if len(given.channels) > 1 else "the number", given.channels,
                ", ".join(["0.5"] * len(given.channels)) + ("," if len(given.channels) == 1 else "")))
    if min(given.deviation) <= 0:
        raise ArgumentError("deviation={!r}: pictures are divided by it, so it takes numbers above 0".format(
            given.deviation))


def _inputs(label: str, inputs: Any) -> None:
    pairs = list(inputs) if isinstance(inputs, (tuple, list)) else []
    sizes = len(pairs) == 3 and all(map(positive, pairs))  # (3, 32, 32)
    if not pairs or not all(isinstance(pair, (tuple, list)) and len(pair) == 2 and _text(pair[0])
                            and isinstance(pair[1], Spec) for pair in pairs):
        raise ArgumentError("{}={!r}: it takes {}".format(label, inputs, "image{}".format(tuple(pairs)) if sizes else (
            "a name and a Spec for each input: image(3, 32, 32), words(128, \"text\") or "
            "((\"image\", Spec(\"CHW\", (3, 32, 32))),)")))
    called = [name for name, _ in pairs]
    if len(set(called)) < len(called) or not all(name.isidentifier() for name in called):
        raise ArgumentError("{} are called {}: each takes a name of its own, a word as in Python".format(
            label, ", ".join(map(repr, called))))
    for name, spec in pairs:
        if spec.dtype not in DTYPES:
            raise ArgumentError("{}: {} is of type {!r}: {}".format(
                label, name, spec.dtype, meant(spec.dtype, DTYPES)))
        if not all(map(positive, spec.shape)):
            raise ArgumentError("{}: {} has the sizes {}, which are whole numbers".format(label, name, spec.shape))


def _called(entry: Any, label: str, arguments: Dict[str, Any], inputs: Any) -> None:
    """The function takes its inputs and these arguments."""
    signature = inspect.signature(entry.function)
    function = getattr(entry.function, "__name__", "the function")
    takes = signature.parameters
    if "classes" in (arguments if entry.classes is not None else entry.reduced):
        raise ArgumentError("{}: \"classes\" is none of them: @model takes classes=10, and a reduced model "
                            "has 10".format(label))
    if not any(each.kind is each.VAR_KEYWORD for each in takes.values()):
        free = [name for name in list(takes)[len(inputs):] if name != "classes"]
        for name in arguments:
            if name not in takes:
                raise ArgumentError("{}: {} has no argument {!r}{}".format(
                    label, function, name, ": " + meant(name, free) if free else ""))
        if entry.classes is not None and "classes" not in takes:
            raise ArgumentError("classes={}: {} has no argument `classes`: give it one, or write classes=None".format(
                entry.classes, function))
    options = dict(arguments, **({} if entry.classes is None else {"classes": entry.classes}))
    try:
        signature.bind(*(spec for _, spec in inputs), **options)
    except TypeError as error:
        given = [name for name, _ in inputs] + ["{}={!r}".format(*each) for each in options.items()]
        raise ArgumentError("{}{} is called with {}: {}".format(
            function, signature, ", ".join(given), error)) from error


def names(given: Any) -> None:
    """What sources call the layers."""
    if not isinstance(given, dict):
        raise ArgumentError("names={!r}: it takes pairs for each source: "
                            "{{\"torchvision\": ((\"linear1\", \"fc\"),)}}".format(given))
    for source, pairs in given.items():
        if source not in SOURCES:
            raise ArgumentError("names: no source is called {!r}: {}".format(source, meant(source, SOURCES)))
        label = "names[\"{}\"]".format(source)
        if not isinstance(pairs, (tuple, list)):
            raise ArgumentError("{}={!r}: it takes pairs: ((\"linear1\", \"fc\"),)".format(label, pairs))
        for pair in pairs:
            if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not all(map(_text, pair)):
                raise ArgumentError("{}: {!r} is no pair of a pattern and a name, such as (\"linear1\", \"fc\")".format(
                    label, pair))
            for wrong in _wrong(*pair):
                raise ArgumentError("{}: {!r}: {}".format(label, tuple(pair), wrong))


def _wrong(pattern: str, name: str) -> Iterator[str]:
    """What is wrong with a pair."""
    choices = [[found.group(1).split("|") for found in _CHOICE.finditer(side)] for side in (pattern, name)]
    counts = sorted({len(each) for side in choices for each in side})
    if len(counts) > 1:
        yield "its brackets have {} alternatives, which correspond one by one".format(" and ".join(map(str, counts)))
        return
    if any(each in _CHOICE.sub("", side) for side in (pattern, name) for each in "(|)"):
        yield "brackets hold alternatives: \"(conv|batch_norm)1\""
    for i in range(max(counts, default=1)):
        own, theirs = (_CHOICE.sub(lambda found, i=i: found.group(1).split("|")[i], side)  # type: ignore[misc]
                       for side in (pattern, name))
        numbers = _PLACE.findall(own)
        if any(each in _PLACE.sub("", own) for each in "{}") or not all(map(str.isidentifier, numbers)):
            yield "in a pattern a number is written as a word, {n}"
        elif len(set(numbers)) < len(numbers):
            yield "in a pattern each number has a word of its own, {s} and {b}"
        if any(each in _NUMBER.sub("", theirs) for each in "{}"):
            yield "in a name a number is written as {n}, {n+1}, {n-1} or {#}"
        for each, _ in _NUMBER.findall(theirs):
            if each not in (*numbers, "#"):
                yield "{{{}}} of {!r} is not in {!r}{}".format(
                    each, theirs, own, ", which has {{{}}}".format("}, {".join(numbers)) if numbers else "")
