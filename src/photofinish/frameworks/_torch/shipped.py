"""The as-shipped twin: a model as torchvision, timm or transformers build it, in the place of ours.

It is built untrained, without a download. Where the model family says how the package names its layers, the twin takes
the graph's weights and is proven like ours; where it does not, or the two do not fit, the twin keeps weights of its own
and says how it differs.
"""

import copy
import importlib
from collections import Counter
from contextlib import suppress
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np

from photofinish.frameworks import MISFIT, Arrays, Differences, Unsupported, among, counted, differences, drop_rates
from photofinish.frameworks._common.places import Place
from photofinish.frameworks._torch.theirs import alike, named_places
from photofinish.frameworks._torch.weights import places
from photofinish.graph import Graph

# The C++ operators of torchvision's detection models. A build for another PyTorch than the one here (PyPI's, for CUDA)
# lacks them and refuses to be imported until they are declared; its classification models never call them.
OPERATORS = ("nms", "qnms", "roi_align", "qroi_align", "_roi_align_backward", "roi_pool", "ps_roi_align",
             "ps_roi_pool", "deform_conv2d", "box_iou_rotated")
RANDOM = {"Dropout": "p", "StochasticDepth": "p", "DropPath": "drop_prob"}  # modules that draw, and their rates
ALIAS = {"DropPath": "StochasticDepth"}
INPUTS = {"words": "input_ids", "segments": "token_type_ids", "mask": "attention_mask"}  # transformers'
SPOKEN: Dict[str, Tuple[str, Dict[str, Any]]] = {  # a name of a model: its class, and what is not its default
    "bert-base": ("BertModel", {}),
    "bert-large": ("BertModel", {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
                                 "intermediate_size": 4096}),
    "gpt2": ("GPT2LMHeadModel", {}),
}
HEADED = {"googlenet": 3, "inception_v3": 2}  # torchvision's, and how many losses train them
CHANGED: Dict[str, Any] = {  # of a configuration of transformers, where it has it
    "attention_probs_dropout_prob": 0.0,  # the graph's attention drops no probabilities
    "attn_pdrop": 0.0,
    "pad_token_id": None,  # id 0 is a word like any other here, and its vector is trained
    "use_cache": False,  # nothing is generated
}


def _package(source: str) -> Any:
    """The package, with torchvision's operators declared where they are missing: all three import it."""
    with suppress(ImportError):
        _declare()
    return importlib.import_module(source)


def _declare() -> None:
    try:
        importlib.import_module("torchvision")
        return
    except RuntimeError as error:
        if "does not exist" not in str(error):
            raise
    import torch
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in OPERATORS:
        library.define(name + "() -> ()")
    module: Any = importlib.import_module("torchvision")
    module.declared = library  # they are gone with it


def _torchvision(package: Any, name: str, graph: Graph) -> Any:
    among(name, package.models.list_models(), "torchvision")
    return package.models.get_model(name, weights=None, num_classes=_classes(graph), **_heads(name, graph))


def _heads(name: str, graph: Graph) -> Dict[str, bool]:
    """Whether torchvision's model keeps the heads that help it train: only beside a graph that has them, too."""
    return {"aux_logits": len(graph.losses) == HEADED[name]} if name in HEADED else {}


def _timm(package: Any, name: str, graph: Graph) -> Any:
    among(name, package.list_models(), "timm")
    return package.create_model(name, pretrained=False, num_classes=_classes(graph))


def _transformers(package: Any, name: str, graph: Graph) -> Any:
    """A class of transformers by its name, with the defaults of its configuration, or one of SPOKEN."""
    kind, changes = SPOKEN.get(name, (name, {}))
    cls: Any = getattr(package, kind, None)
    if not hasattr(cls, "config_class"):
        models = [each for each in dir(package) if each.endswith(("Model", "LM", "PreTraining", "Classification"))]
        among(name, list(SPOKEN) + models, "transformers")
        raise Unsupported("{} of transformers is no model".format(name))
    config = cls.config_class(**changes)
    for attribute, value in CHANGED.items():
        if hasattr(config, attribute):
            setattr(config, attribute, value)
    if kind.endswith("Classification"):
        config.num_labels = _classes(graph)
    return cls(config)


SOURCES: Dict[str, Callable[[Any, str, Graph], Any]] = {"torchvision": _torchvision, "timm": _timm,
                                                     "transformers": _transformers}


class _Shaped(Place):
    """Of an array that has more or fewer axes of one element there; `shapes` are ours and theirs."""

    shapes: Tuple[Tuple[int, ...], Tuple[int, ...]]

    def native(self, array: np.ndarray) -> np.ndarray:
        return super().native(array).reshape(self.shapes[1])

    def canonical(self, array: np.ndarray) -> np.ndarray:
        return super().canonical(array.reshape(self.shapes[0]))


def _native_shape(place: Place, graph: Graph, name: str) -> Tuple[int, ...]:
    declared = graph.parameters.get(name) or graph.state[name]
    return place.native(np.empty(declared.shape, np.bool_)).shape


class Shipped:
    """The twin that `spelled` ("torchvision:resnet50") says. `names` are what it calls the layers of the graph.

    Raises Unsupported if the package is not here.
    """

    def __init__(self, spelled: str, names: Dict[str, str]) -> None:
        self.source, _, self.name = spelled.partition(":")
        self.names = names
        self.differences: Differences = []
        self.weights: Arrays = {}  # its own, where it cannot take the graph's
        self.changed: Dict[str, Any] = CHANGED if self.source == "transformers" else {}  # of what the package builds
        self.drawing: List[Tuple[str, float, Any]] = []  # kind, rate and copy of its modules that draw
        try:
            self.package = _package(self.source)
        except ImportError as error:
            raise Unsupported("{} is not installed here: {}".format(self.source, error)) from error

    def facts(self) -> Dict[str, str]:
        facts = {"build": "{}:{}".format(self.source, self.name), "build_version": self.package.__version__}
        return dict(facts, changed=str(self.changed)) if self.changed else facts

    def replace(self, ours: Any, graph: Graph) -> Tuple[Any, Dict[str, Place]]:
        """The model that stands in the place of ours, and where it keeps its arrays."""
        if self.names and not any(node.name in self.names for node in graph.nodes):
            return self._drawn(ours), places(graph)
        model = SOURCES[self.source](self.package, self.name, graph)
        prefixes = [""]
        if self.source == "torchvision":
            self.changed = {key: value for key, value in _heads(self.name, graph).items() if not value}
        if self.source == "transformers":  # its files name arrays with and without the model inside
            model, prefixes = _called(model, graph), ["model.", "model.{}.".format(model.base_model_prefix)]
        passed, macs, loose = _tried(model, graph)
        self._calm(passed, loose, graph)
        tensors = model.state_dict(keep_vars=True)
        found = max((self._places(graph, tensors, prefix) for prefix in prefixes),
                    key=lambda places: sum(place.path in tensors for place in places.values()))
        why = self._misfit(model, graph, found)
        self.differences, self.weights = [], {}
        if why:
            self.differences = differences(graph, why, sum(each.numel() for each in model.parameters()), macs,
                                           _layers(model))
            arrays = {"parameter/" + name: each for name, each in model.named_parameters()}
            arrays.update({"state/" + name: each for name, each in model.named_buffers() if each.is_floating_point()})
            self.weights = {name: each.detach().numpy().copy() for name, each in arrays.items()}
            found = {name.split("/", 1)[1]: Place(name.split("/", 1)[1]) for name in self.weights}
        return model, found

    def _places(self, graph: Graph, tensors: Any, prefix: str) -> Dict[str, Place]:
        """Where the model keeps the graph's arrays, in the shapes that they have there."""
        found = named_places(graph, {ours: prefix + theirs for ours, theirs in self.names.items()})
        for name, place in found.items():
            shape = _native_shape(place, graph, name)
            theirs = tuple(tensors[place.path].shape) if place.path in tensors else shape
            if theirs != shape and alike(theirs, shape):
                shaped = found[name] = _Shaped(*place)
                shaped.shapes = shape, theirs
        return found

    def _misfit(self, model: Any, graph: Graph, found: Dict[str, Place]) -> Optional[Tuple[str, str, str]]:
        """The first thing that the two do not share: what it is, ours and theirs."""
        tensors = model.state_dict(keep_vars=True)
        for name, declared in list(graph.parameters.items()) + list(graph.state.items()):
            ours = "{} {}".format(name, _times(declared.shape))
            if name not in found:
                return MISFIT, ours, "no map names it"
            theirs = tensors.get(found[name].path)
            if theirs is None or tuple(theirs.shape) != _native_shape(found[name], graph, name):
                shape = "is absent" if theirs is None else _times(theirs.shape)
                return MISFIT, ours, "{} {}".format(found[name].path, shape)
        used = {id(tensors[place.path]) for place in found.values()}
        for name, parameter in model.named_parameters():
            if id(parameter) not in used:
                return MISFIT, "none", "{} {}".format(name, _times(parameter.shape))
        asked = Counter(each for each in drop_rates(graph) if each[1])
        drawn = Counter((kind, rate) for kind, rate, _ in self.drawing)
        if asked != drawn and not _silenced(graph):
            return "dropout", counted(asked), counted(drawn)
        return None

    def _calm(self, modules: List[Any], loose: List[Tuple[Any, float]], graph: Graph) -> None:
        """Notes what draws, and silences it where the graph's layers are silenced (for a proof): modules made for that,
        and others that call the function themselves, at a rate they keep as `drop_rate` (as timm does).

        Raises Unsupported where the rate is nowhere to be found.
        """
        import torch
        self.drawing = []
        for module in modules:
            kind = type(module).__name__
            if getattr(module, RANDOM.get(kind, ""), 0):
                self.drawing.append((ALIAS.get(kind, kind), getattr(module, RANDOM[kind]), copy.deepcopy(module)))
                if _silenced(graph):
                    setattr(module, RANDOM[kind], 0.0)
        for module, rate in loose:
            self.drawing.append(("Dropout", rate, torch.nn.Dropout(rate)))
            if _silenced(graph):
                if getattr(module, "drop_rate", None) != rate:
                    raise Unsupported("{}:{} drops out at a rate of {} in a {}, which cannot be silenced for the proof"
                                      .format(self.source, self.name, rate, type(module).__name__))
                module.drop_rate = 0.0

    def _drawn(self, probe: Any) -> Any:
        """The small model by which dropout is proven, with the twin's own modules that draw."""
        for path, module in list(probe.named_modules()):
            kind = type(module).__name__
            if kind not in RANDOM:
                continue
            rate = getattr(module, "rate", getattr(module, "p", None))
            fitting = [each for name, own, each in self.drawing if (name, own) == (kind, rate)]
            if not fitting:
                raise Unsupported("{}:{} has no {} of rate {}".format(self.source, self.name, kind, rate))
            above, _, attribute = path.rpartition(".")
            setattr(probe.get_submodule(above), attribute, copy.deepcopy(fitting[0]))
        return probe


def _called(model: Any, graph: Graph) -> Any:
    """A model of transformers as ours is called: inputs in order, the graph's outputs back."""
    import torch

    class Called(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.model = model
            self.arguments = [INPUTS.get(name, name) for name, _ in graph.inputs]
            self.order = [0]

        def forward(self, *inputs: Any) -> Any:
            found = self.model(**dict(zip(self.arguments, inputs))).to_tuple()
            chosen = tuple(found[i] for i in self.order)
            return chosen if len(chosen) > 1 else chosen[0]

    called = Called()
    if len(graph.outputs) == 1:
        return called
    with torch.no_grad():
        found = list(model(**dict(zip(called.arguments, _zeros(graph)))).to_tuple())
    order: List[int] = []
    for name in graph.outputs:  # each is the first of theirs that has as many axes
        fitting = [i for i, each in enumerate(found) if i not in order and each.dim() == 1 + len(graph.spec(name).axes)]
        order += fitting[:1]
    if len(order) == len(graph.outputs):
        called.order = order
    return called


def _zeros(graph: Graph) -> List[Any]:
    """A sample of every input: zeros, and masks that hide nothing."""
    import torch
    kinds = {"f": torch.float32, "b": torch.bool}
    return [torch.full((1,) + spec.shape, np.dtype(spec.dtype).kind == "b",
                       dtype=kinds.get(np.dtype(spec.dtype).kind, torch.int64)) for _, spec in graph.inputs]


def _classes(graph: Graph) -> int:
    spec = graph.spec(graph.outputs[0])
    return spec.size("C") if "C" in spec.axes else 1


def _silenced(graph: Graph) -> bool:
    """True if the graph's layers that draw are all told not to."""
    rates = drop_rates(graph)
    return bool(rates) and not any(rate for _, rate in rates)


def _times(shape: Any) -> str:
    return "x".join(map(str, shape))


def _layers(model: Any) -> List[str]:
    """The kind of every module that has parameters of its own."""
    return [type(each).__name__ for each in model.modules() if any(True for _ in each.parameters(recurse=False))]


def _tried(model: Any, graph: Graph) -> Tuple[List[Any], int, List[Tuple[Any, float]]]:
    """Of one inference of one sample: the modules that were called, the multiply-accumulates in convolutions and matrix
    products with weights, and what else calls the dropout function, with its rate."""
    import torch
    called: List[Any] = []
    running: List[Any] = []
    macs: List[int] = []
    loose: List[Tuple[Any, float]] = []
    dropout = torch.nn.functional.dropout

    def note(module: Any, inputs: Any, output: Any) -> None:
        called.append(running.pop())
        if isinstance(module, (torch.nn.Conv2d, torch.nn.Linear)):
            channels = module.weight.shape[0]
            macs.append(output.numel() // channels * module.weight.numel())

    def dropped(values: Any, p: float = 0.5, *rest: Any, **named: Any) -> Any:
        if p and type(running[-1]).__name__ not in RANDOM:
            loose.append((running[-1], p))
        return dropout(values, p, *rest, **named)

    hooks = [each.register_forward_pre_hook(lambda module, inputs: running.append(module)) for each in model.modules()]
    hooks += [each.register_forward_hook(note) for each in model.modules()]
    training = model.training
    torch.nn.functional.dropout = dropped
    try:
        with torch.no_grad():
            model.eval()(*_zeros(graph))
    finally:
        torch.nn.functional.dropout = dropout
    model.train(training)
    for hook in hooks:
        hook.remove()
    return called, sum(macs), loose
