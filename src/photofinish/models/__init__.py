"""The zoo: one file per architecture family, found by listing this folder.

A model is a plain function from symbolic tensors to symbolic tensors, entered by `@model`, and nothing else in the
code names it. What else one of the zoo needs (its counts in the tests, its proofs, its line in the documentation) is
told in docs/architecture.md, "Where to add".
"""

import functools
import importlib
import importlib.util
import inspect
import os
import pkgutil
import sys
import traceback
from collections import OrderedDict
from contextlib import redirect_stdout
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

from photofinish.arguments import ArgumentError, checked
from photofinish.graph import Graph, ModelError, Tensor, loss, record
from photofinish.layers import BinaryCrossEntropy, Layer, Shape, SoftmaxCrossEntropy, Spec
from photofinish.likeness import nearest
from photofinish.models import checks
from photofinish.optimizers import SGD, Optimizer

CROSS_ENTROPY = SoftmaxCrossEntropy()
Names = Tuple[Tuple[str, str], ...]  # how one source names the layers of a model: files/names.py reads it
TURNED = "^T"  # ends the name of a layer whose matrix the source keeps turned round


@dataclass(frozen=True)
class Preparation:
    """How a picture becomes an input: it is resized and cropped around its centre; each channel, which counts 0 to 1,
    less `mean` and over `deviation`.

    `crop` is the side of the crop over the shorter one of the resized picture; `channels` is "RGB", "BGR" or "L" (a
    grey one); `resample` is "bilinear" or "bicubic"; `border` are the pixels of black put around what is cropped. The
    default is torchvision's for ImageNet.
    Raises ArgumentError for anything else.
    """

    crop: float = 0.875
    mean: Tuple[float, ...] = (0.485, 0.456, 0.406)
    deviation: Tuple[float, ...] = (0.229, 0.224, 0.225)
    channels: str = "RGB"
    resample: str = "bilinear"
    border: int = 0

    def __post_init__(self) -> None:
        checks.preparation(self)


CAFFE = Preparation(mean=(103.939 / 255, 116.779 / 255, 123.68 / 255), deviation=(1 / 255,) * 3, channels="BGR")
MINUS_ONE_TO_ONE = Preparation(mean=(0.5,) * 3, deviation=(0.5,) * 3)


def timm_inception(crop: float) -> Preparation:
    """What timm's configurations say of the networks that come from TensorFlow."""
    return replace(MINUS_ONE_TO_ONE, crop=crop, resample="bicubic")


@dataclass(frozen=True)
class Model:
    """An entry of the zoo: the function, and what a race needs to know to use it.

    `inputs` are the default input specs. `objective` is the loss of the first output, None where the
    function declares its losses itself; `classes` is passed to the function, None where it takes none.
    `unit` is what throughput counts: samples, or so many (`unit_size`) to each position of the first input's
    `unit_axis`, where there is one ("T" for tokens; 0.01 of "T" for seconds of audio in frames of 10 ms).
    `reduced` are keyword arguments (and, under "shape", an input shape, or under "inputs" all input specs) that make a
    small model by the same function, for proofs that must be quick: it has every kind of layer of the full one, with
    the same fields up to sizes.
    `names` maps a source of weights ("torchvision") to how it names the layers; `preparation` is its pictures'.
    Raises ArgumentError for a fact that cannot be one.
    """

    name: str
    function: Callable[..., Any]
    inputs: Tuple[Tuple[str, Spec], ...]
    classes: Optional[int] = 1000
    objective: Optional[Layer] = CROSS_ENTROPY
    task: str = "classification"
    unit: str = "images"
    unit_axis: str = ""
    unit_size: float = 1.0
    batch: int = 8
    optimizer: Optimizer = field(default_factory=SGD)
    source: str = ""
    arguments: Dict[str, Any] = field(default_factory=dict)
    reduced: Dict[str, Any] = field(default_factory=dict)
    names: Dict[str, Names] = field(default_factory=dict)
    preparation: Preparation = field(default_factory=Preparation)

    def __post_init__(self) -> None:
        checks.model(self, Preparation)

    def graph(self, shape: Optional[Shape] = None, classes: Optional[int] = None, **arguments: Any) -> Graph:
        """Records the model for one shape of its first input (channels first) and number of classes.

        An axis that other inputs share with the first (the words and their mask) is resized in all of them; axis U
        counts the same positions as T.
        Raises ModelError, naming model, input and layer, when the architecture does not allow that shape.
        """
        inputs = self._resized(shape)
        options = dict(self.arguments, **arguments)
        if self.classes is not None:
            options["classes"] = self.classes if classes is None else classes
        elif classes is not None:
            raise ModelError("{} has no classes to set: its function takes none".format(self.name))

        def with_objective(*tensors: Tensor) -> Any:
            outputs = self.function(*tensors, **options)
            prediction = outputs[0] if isinstance(outputs, tuple) else outputs
            if self.objective is not None and isinstance(prediction, Tensor):
                loss(self.objective, prediction, "label", self._target(prediction.spec))
            return outputs

        try:
            graph = record(with_objective, inputs)
            checks.recorded(graph)
            return graph
        except ModelError as error:
            sizes = ", ".join(_times(spec.shape) for spec in inputs.values())
            own = "" if shape is None else "; its own input is {}".format(_times(self.inputs[0][1].shape))
            raise ModelError("{} with input {}: {}{}".format(self.name, sizes, error, own)) from error

    def units(self, graph: Graph) -> float:
        """How many units one sample of the recorded model has."""
        return self.unit_size * (graph.inputs[0][1].size(self.unit_axis) if self.unit_axis else 1)

    def _target(self, prediction: Spec) -> Spec:
        """What the objective compares a prediction with: a class per sample, a number for each value, or (in any
        other task) a class for each position."""
        if isinstance(self.objective, BinaryCrossEntropy):
            return Spec(prediction.axes, prediction.shape)
        if self.task == "classification":
            return Spec("", (), "int32")
        kept = [pair for pair in zip(prediction.axes, prediction.shape) if pair[0] != "C"]
        return Spec("".join(axis for axis, _ in kept), tuple(size for _, size in kept), "int32")

    def _resized(self, shape: Optional[Shape]) -> "OrderedDict[str, Spec]":
        inputs = OrderedDict(self.inputs)
        if shape is None:
            return inputs
        first = self.inputs[0][1]
        if not first.shape:
            raise ModelError("{} takes single values: there is no input size to set".format(self.name))
        if len(shape) != len(first.shape) or min(shape) < 1:
            raise ModelError("{} takes an input {} such as {}, not {}".format(
                self.name, first.axes, _times(first.shape), _times(shape)))
        sizes = {axis: (before, now) for axis, before, now in zip(first.axes, first.shape, shape)}
        if "T" in sizes:
            sizes["U"] = sizes["T"]
        for name, spec in self.inputs:
            changed = {axis: sizes[axis][1] for axis, size in zip(spec.axes, spec.shape)
                       if axis in sizes and sizes[axis][0] == size}
            inputs[name] = spec.resized(**changed)
        return inputs

    def small(self, classes: int = 10) -> Graph:
        """The same function at reduced depth and size."""
        arguments = dict(self.reduced)
        shape, inputs = arguments.pop("shape", None), arguments.pop("inputs", self.inputs)
        return replace(self, inputs=inputs).graph(shape, None if self.classes is None else classes, **arguments)


def _times(shape: Shape) -> str:
    return "x".join(map(str, shape))


_MODELS: Dict[str, Model] = OrderedDict()


@checked
def image(channels: int, height: int, width: int) -> Tuple[Tuple[str, Spec], ...]:
    """The input specs of a model that takes one image."""
    return (("image", Spec("CHW", (channels, height, width))),)


@checked
def words(length: int, *names: str, mask: str = "") -> Tuple[Tuple[str, Spec], ...]:
    """The input specs of a model that takes lists of ids of one length, and a mask over them if it is named."""
    ids = tuple((name, Spec("T", (length,), "int32")) for name in names)
    return ids + (((mask, Spec("T", (length,), "bool")),) if mask else ())


def model(name: str = "", inputs: Tuple[Tuple[str, Spec], ...] = image(3, 224, 224),
          **facts: Any) -> Callable[..., Any]:
    """Decorator: enters the function in the zoo under `name` (default: its own). Repeatable for variants:
    `arguments={...}` are passed to the function. Raises ArgumentError for what the Model does not take."""
    if callable(name):
        raise ArgumentError("@model takes brackets: @model(inputs=image(3, 32, 32), classes=10)")
    checks.facts(facts, [each.name for each in fields(Model) if each.name != "function"])

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        entry = Model(name or function.__name__, function, inputs, **facts)
        _MODELS[entry.name] = entry
        return function
    return enter


def all_models() -> Dict[str, Model]:
    """Every model of the zoo by name, families in alphabetical order of their files."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module("{}.{}".format(__name__, module.name))
    return dict(_MODELS)


class UnknownModel(ModelError):
    """No such model: the message names the nearest ones."""


def find(name: str) -> Model:
    """The model called `name`, or the function in a file: "./net.py:model".

    Raises UnknownModel (nearest names included) or ModelError (the file cannot be used).
    """
    if ".py" in name:
        return _from_file(name)
    models = all_models()
    if name not in models:
        near = nearest(name, models)
        hint = "did you mean {}?".format(" or ".join(near)) if near else "see: photofinish list models"
        if os.access(name, os.F_OK) or ":" in name:  # Path.exists refuses a name that is too long
            hint = "a model of your own is ./FILE.py:FUNCTION"
        raise UnknownModel("no model is called {!r}: {}".format(name, hint))
    return models[name]


def _from_file(name: str) -> Model:
    path, _, function_name = name.partition(":")
    zoo = all_models()  # first, so that importing part of the zoo in the file enters nothing new
    try:
        module = _imported(path)
        entered = [entry for key, entry in _MODELS.items() if zoo.get(key) is not entry]
    finally:
        _MODELS.clear()
        _MODELS.update(zoo)
    named = [entry.name for entry in entered]
    own = named + [each for each in _public_functions(module)
                   if not any(vars(module)[each] is entry.function for entry in entered)]
    wanted = function_name or _only(own, named)
    function = getattr(module, wanted, None)
    # by its name first: one function may stand behind several
    for entry in sorted(entered, key=lambda entry: wanted != entry.name):
        if wanted == entry.name or function is entry.function:
            return replace(entry, name=name, function=_clear(entry.function, path))
    if not inspect.isfunction(function) or function is model:  # the decorator that the file imports
        raise ModelError("{} has no function {}; {}".format(path, wanted, "write {}".format(
            " or ".join("{}:{}".format(path, each) for each in own)) if own else "it has none at all"))
    classes = Model.classes if "classes" in inspect.signature(function).parameters else None  # its own head decides
    try:
        return Model(name, _clear(function, path), image(3, 224, 224), classes)
    except ArgumentError as error:
        raise ModelError("{}: {}".format(path, error)) from error


def _only(own: List[str], entered: List[str]) -> str:
    """Which function of a file is meant where none is named: `model`, or the only one there is."""
    for candidates in (entered, own):
        if len(candidates) == 1 and "model" not in own:
            return candidates[0]
    return "model"


def _imported(path: str) -> Any:
    """The file as a module. Raises ModelError if there is no such file or running it fails."""
    if not Path(path).is_file():
        raise ModelError("there is no file {}: a model of your own is ./FILE.py:FUNCTION".format(path))
    spec = importlib.util.spec_from_file_location("photofinish_user_model", path)
    if spec is None or spec.loader is None:
        raise ModelError("{} is not a Python file".format(path))
    module = importlib.util.module_from_spec(spec)
    try:
        with redirect_stdout(sys.stderr):  # what a command answers on stdout may be JSON
            spec.loader.exec_module(module)
    except ArgumentError as error:
        raise ModelError("{}: {}".format(_place(path, error), error)) from error
    except SyntaxError as error:
        where = "{} line {}".format(path, error.lineno) if error.lineno else path
        raise ModelError("{} cannot be read: {}".format(where, error.msg)) from error
    except (Exception, SystemExit) as error:
        raise ModelError("{} cannot be imported: {}: {}".format(path, type(error).__name__, error)) from error
    return module


def _clear(function: Callable[..., Any], path: str) -> Callable[..., Any]:
    """A user's function whose own mistakes come back as a ModelError that shows the line."""
    @functools.wraps(function)
    def call(*tensors: Tensor, **options: Any) -> Any:
        try:
            with redirect_stdout(sys.stderr):
                return function(*tensors, **options)
        except ArgumentError as error:
            raise ModelError("{}: {}".format(_place(path, error), error)) from error
        except ModelError:
            raise
        except Exception as error:
            raise ModelError("{}: {}: {}".format(_place(path, error), type(error).__name__, error)) from error
    return call


def _place(path: str, error: Exception) -> str:
    """The file, with the line of it in which the error came up where there is one."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [each for each in frames if Path(each.filename).resolve() == Path(path).resolve()]
    return "{} line {}, {}".format(path, own[-1].lineno, own[-1].line) if own else path


def _public_functions(module: Any) -> List[str]:
    return [key for key, value in vars(module).items()
            if inspect.isfunction(value) and value.__module__ == module.__name__ and not key.startswith("_")]
