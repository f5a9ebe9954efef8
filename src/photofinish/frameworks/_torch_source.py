"""A graph as PyTorch source: nested nn.Module classes with a straight-line forward, as a person would write them.

The state dictionary of `Model` has the graph's own names. Needs no PyTorch: see torch.py for what runs it.
"""

import keyword
import re
from collections import Counter, OrderedDict
from itertools import chain, count, groupby
from textwrap import indent
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from photofinish import layers
from photofinish.frameworks import Unsupported
from photofinish.graph import Graph, Node
from photofinish.layers import Spec

# Layers: what each kind is called in PyTorch


class Native(NamedTuple):
    """One layer in PyTorch: an expression of its inputs {0}, {1} and its module {self}, the module's
    constructor if it needs one, and statements that must follow the constructor."""

    call: str
    module: str = ""
    then: Tuple[str, ...] = ()


DEFAULTS: Dict[str, Any] = {  # PyTorch's own: an argument that equals it is not written
    "stride": 1, "padding": 0, "dilation": 1, "groups": 1, "bias": True, "ceil_mode": False, "affine": True,
    "count_include_pad": True, "eps": 1e-5, "momentum": 0.1, "label_smoothing": 0.0}


def _write(function: str, *arguments: Any, **named: Any) -> str:
    """The text of a call; a string argument is taken as code, a pair of equal numbers is written once."""
    def short(value: Any) -> Any:
        return value[0] if isinstance(value, tuple) and value == value[:1] * 2 else value

    words = [each if isinstance(each, str) else repr(short(each)) for each in arguments]
    words += ["{}={!r}".format(name, short(value)) for name, value in named.items()
              if name not in DEFAULTS or short(value) != DEFAULTS[name]]
    return "{}({})".format(function, ", ".join(words))


def _conv(layer: layers.Conv, spec: Spec) -> Native:
    top, left, bottom, right = layer.padding
    even = (top, left) == (bottom, right)
    module = _write("nn.Conv2d", spec.size("C"), layer.channels, layer.kernel, stride=layer.stride,
                    padding=(top, left) if even else 0, dilation=layer.dilation, groups=layer.groups, bias=layer.bias)
    return Native("{self}({0})" if even else "{self}(F.pad({0}, %r))" % ((left, right, top, bottom),), module)


def _batch_norm(layer: layers.BatchNorm, spec: Spec) -> Native:
    kind = {"C": "nn.BatchNorm1d", "TC": "nn.BatchNorm1d", "CHW": "nn.BatchNorm2d"}[spec.axes]
    module = _write(kind, spec.size("C"), eps=layer.epsilon, momentum=float("%.15g" % (1 - layer.momentum)),
                    affine=layer.scale or layer.center)
    frozen = [name for name, kept in (("weight", layer.scale), ("bias", layer.center)) if not kept]
    call = "torch.transpose({self}(torch.transpose({0}, 1, 2)), 1, 2)" if spec.axes == "TC" else "{self}({0})"
    return Native(call, module, tuple("{self}.%s.requires_grad_(False)" % name for name in frozen)
                  if len(frozen) == 1 else ())


def _edges(layer: Any, spec: Spec) -> Optional[Tuple[int, ...]]:
    """F.pad's (left, right, top, bottom) up to the end of the last window, where the padding is not one
    that PyTorch's pools take: equal on both sides and at most half a window."""
    top, left, bottom, right = layer.padding
    if (top, left) == (bottom, right) and 2 * top <= layer.kernel[0] and 2 * left <= layer.kernel[1]:
        return None
    (out,) = layer.outputs(spec)
    reach = [(out.size(axis) - 1) * layer.stride[i] + layer.kernel[i] - spec.size(axis) for i, axis in enumerate("HW")]
    return (left, reach[1] - left, top, reach[0] - top)


def _max_pool(layer: layers.MaxPool, spec: Spec) -> Native:
    edges = _edges(layer, spec)
    if edges is None:
        return Native(_write("F.max_pool2d", "{0}", layer.kernel, layer.stride, padding=layer.padding[:2],
                             ceil_mode=layer.ceil))
    return Native(_write("F.max_pool2d", 'F.pad({0}, %r, value=float("-inf"))' % (edges,), layer.kernel, layer.stride))


def _average_pool(layer: layers.AveragePool, spec: Spec) -> Native:
    edges = _edges(layer, spec)
    if edges is None:
        return Native(_write("F.avg_pool2d", "{0}", layer.kernel, layer.stride, padding=layer.padding[:2],
                             ceil_mode=layer.ceil, count_include_pad=layer.count_padding))
    top, left, bottom, right = layer.padding
    counted = (left, right, top, bottom) if layer.count_padding else (0, 0, 0, 0)
    return Native(_write("uneven_average_pool", "{0}", layer.kernel, layer.stride, edges, counted))


def _global_average_pool(layer: layers.GlobalAveragePool, spec: Spec) -> Native:
    if spec.axes == "TC" and not layer.keep_axes:
        return Native("torch.mean({0}, 1)")
    pooled = {"CHW": "F.adaptive_avg_pool2d({0}, 1)"}[spec.axes]
    return Native(pooled if layer.keep_axes else "torch.flatten({}, 1)".format(pooled))


def _clip(layer: layers.Clip, spec: Spec) -> Native:
    if (layer.low, layer.high) == (0, 6):
        return Native("F.relu6({0}{inplace})")
    return Native("F.hardtanh({0}, %r, %r{inplace})" % (layer.low, layer.high))


def _plain(call: str) -> Callable[..., Native]:
    return lambda layer, *specs: Native(call)


RULES: Dict[type, Callable[..., Native]] = {
    layers.Conv: _conv,
    layers.Linear: lambda layer, spec: Native(
        "{self}({0})", _write("nn.Linear", spec.size("C"), layer.features, bias=layer.bias)),
    layers.BatchNorm: _batch_norm,
    layers.Relu: _plain("F.relu({0}{inplace})"),
    layers.Clip: _clip,
    layers.Sigmoid: _plain("torch.sigmoid({0})"),
    layers.Tanh: _plain("torch.tanh({0})"),
    layers.Swish: _plain("F.silu({0})"),
    layers.Dropout: lambda layer, spec: Native("{self}({0})", _write("nn.Dropout", layer.rate)),
    layers.StochasticDepth: lambda layer, spec: Native("{self}({0})", _write("StochasticDepth", layer.rate)),
    layers.MaxPool: _max_pool,
    layers.AveragePool: _average_pool,
    layers.AdaptiveAveragePool: lambda layer, spec: Native(_write("F.adaptive_avg_pool2d", "{0}", layer.size)),
    layers.GlobalAveragePool: _global_average_pool,
    layers.Flatten: _plain("torch.flatten({0}, 1)"),
    layers.Add: _plain("{0} + {1}"),
    layers.Multiply: _plain("{0} * {1}"),
    layers.Concat: lambda layer, *specs: Native("torch.cat((%s), %d)" % (
        ", ".join("{%d}" % i for i in range(len(specs))), 1 + specs[0].axes.index(layer.axis))),
    layers.Embedding: lambda layer, spec: Native(
        "{self}({0})", _write("nn.Embedding", layer.vocabulary, layer.features)),
    layers.MaskedMean: _plain("masked_mean({0}, {1})"),
}

LOSSES: Dict[type, Callable[..., str]] = {
    layers.SoftmaxCrossEntropy: lambda layer, prediction, target: _write(
        "F.cross_entropy", prediction, target, label_smoothing=layer.label_smoothing),
}

HELPERS = {  # what PyTorch does not ship, printed where a model needs it
    "StochasticDepth": '''\
class StochasticDepth(nn.Module):
    """Drops whole samples in training (torchvision's mode "row")."""

    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, x):
        if not self.training or self.rate == 0:
            return x
        kept = x.new_empty((x.shape[0],) + (1,) * (x.dim() - 1)).bernoulli_(1 - self.rate)
        return x * kept.div_(1 - self.rate)
''',
    "masked_mean": '''\
def masked_mean(x, mask):
    """The mean over time of the steps whose mask is true."""
    mask = mask.unsqueeze(-1).to(x.dtype)
    return (x * mask).sum(1) / mask.sum(1)
''',
    "uneven_average_pool": '''\
def uneven_average_pool(x, kernel, stride, padding, counted):
    """An average pool whose padding differs by side; only the padding in `counted` counts in the mean."""
    ones = F.pad(torch.ones_like(x[:1, :1]), counted, value=1.0)
    ones = F.pad(ones, tuple(p - c for p, c in zip(padding, counted)))
    return F.avg_pool2d(F.pad(x, padding), kernel, stride) / F.avg_pool2d(ones, kernel, stride)
''',
}

# Source: a graph as nested classes


class Step(NamedTuple):
    """One line of a forward: a layer, or a scope of layers that is a class of its own."""

    kind: Optional[type]
    attribute: str
    native: Native
    inputs: Tuple[str, ...]
    outputs: Tuple[str, ...]
    training_only: bool = False


VARIABLES = ["x", "y", "z", "u", "v", "w"] + ["x{}".format(i) for i in range(1, 1000)]
BINARY = (layers.Add, layers.Multiply)
SPARE = (layers.Conv, layers.Linear, layers.BatchNorm, layers.Add)  # their backward does not read their output
ENDS = (layers.Relu, layers.Clip, layers.Swish, None)  # an activation or a scope ends a line


class Forward:
    """The statements of a forward. A variable is used again once its tensor is read no more, which reads
    well and frees memory as hand-written code does; what is read once, by the next line, is nested in it;
    a ReLU or an addition overwrites its input where nobody else needs it."""

    def __init__(self, steps: Sequence[Step], inputs: Dict[str, str], outputs: Sequence[str]) -> None:
        back = Step(None, "", Native("return " + ", ".join("{%d}" % i for i in range(len(outputs)))),
                    tuple(outputs), ())
        steps = list(steps) + ([back] if outputs else [])
        self.lines: List[str] = []
        self.variable = dict(inputs)
        self.written = dict(inputs)  # how a tensor is spelled: its variable, or an expression nested in the next line
        self.busy = set(inputs.values())
        self.reads = Counter(chain.from_iterable(step.inputs for step in steps))
        self.left = Counter(self.reads)
        self.spare = {name for step in steps if step.kind in SPARE for name in step.outputs if self.reads[name] == 1}
        for training_only, run in groupby(steps, key=lambda step: step.training_only):
            block, begin = list(run), len(self.lines)
            for step, following in zip(block, block[1:] + [None]):  # type: ignore[list-item]
                self._add(step, following)
            if training_only:
                self.lines[begin:] = ["if self.training:"] + ["    " + line for line in self.lines[begin:]]
                missing = [self.variable[name] for step in block for name in step.outputs if name in outputs]
                self.lines += ["else:"] + ["    {} = None".format(name) for name in missing] if missing else []

    def _add(self, step: Step, following: Optional[Step]) -> None:
        operands = [self.written[name] for name in step.inputs]
        overwritten = [name for name in step.inputs if name in self.spare]
        self.left.subtract(step.inputs)
        done = [self.variable[name] for name in OrderedDict.fromkeys(step.inputs)
                if not self.left[name] and self.variable[name] in VARIABLES]
        if step.kind is layers.Add and overwritten:
            text = self.variable[overwritten[0]]
            other = operands[1 - step.inputs.index(overwritten[0])]
            self.lines.append("{} += {}".format(text, other))
            done.sort(key=text.__ne__)  # so that the sum keeps that variable
        else:
            text = step.native.call.format(*operands, self="self." + step.attribute,
                                           inplace=", inplace=True" if overwritten else "")
        self.busy.difference_update(done)
        for name in step.outputs:
            variable = done.pop(0) if done else next(each for each in VARIABLES if each not in self.busy)
            self.busy.add(variable)
            self.variable[name] = self.written[name] = variable
        if not step.outputs:
            self.lines.append(text)
        elif following is not None and self._nests(step, following, text):
            self.written[step.outputs[0]] = text
        elif text != self.variable[step.outputs[0]]:
            self.lines.append("{} = {}".format(", ".join(self.variable[name] for name in step.outputs), text))
        self.busy.difference_update(self.variable[name] for name in step.outputs if not self.reads[name])

    def _nests(self, step: Step, following: Step, text: str) -> bool:
        name = step.outputs[0]
        added_to = following.kind is layers.Add and name in self.spare
        both_binary = step.kind in BINARY and following.kind in BINARY
        whole = step.kind in ENDS and following.outputs and following.kind is not layers.Add
        return (len(step.outputs) == 1 and self.reads[name] == 1 and name in following.inputs
                and not added_to and not both_binary and not whole and len(text) <= 64)


RESERVED = re.compile("""
    (F|nn|self|torch|training|step|forward|float|double|half|bfloat16|to|to_empty|cpu|cuda|ipu|xpu|mtia|type|train|eval
    |apply|compile|modules|children|parameters|buffers|named_\\w+|add_module|(get|set|register)_\\w+|requires_grad_
    |(load_)?state_dict|zero_grad|share_memory|extra_repr|call_super_init|dump_patches|T_destination)$""", re.VERBOSE)


def _attribute(name: str) -> str:
    """A name of the graph as an attribute that is legal and that nn.Module does not use itself."""
    word = re.sub(r"\W", "_", name)
    return "_" + word if RESERVED.match(word) or keyword.iskeyword(word) or not word.isidentifier() else word


def native_path(name: str) -> str:
    """Where the native model keeps what the graph calls `name`."""
    renamed = {"running_variance": "running_var"}
    return ".".join(renamed.get(part, _attribute(part)) for part in name.split("."))


def _camel(parts: Sequence[str]) -> str:
    return "".join(word[:1].upper() + word[1:] for part in parts for word in re.split(r"[\W_]+", part))


def _reads(nodes: Sequence[Node]) -> "Counter[str]":
    return Counter(chain.from_iterable(node.inputs for node in nodes))


def _returned(graph: Graph) -> Tuple[str, ...]:
    """What the forward returns: the outputs, and whatever else a loss looks at (None in inference)."""
    seen = OrderedDict.fromkeys(loss.prediction for loss in graph.losses)
    return graph.outputs + tuple(name for name in seen if name not in graph.outputs)


class Writer:
    """Writes one graph. `classes` maps the body of each class to its name, inner classes first; scopes
    that are alike share a class."""

    def __init__(self, graph: Graph, classes: Dict[str, str]) -> None:
        self.graph = graph
        self.classes = classes
        self.reads = _reads(graph.nodes) + Counter(_returned(graph))

    def body(self, inputs: Dict[str, str], method: str = "forward") -> str:
        """The body of the class of the whole graph; `inputs` maps its tensors to the names of arguments."""
        ties = ["self.{} = self.{}".format(native_path(node.name + "." + own), native_path(shared))
                for node in self.graph.nodes for own, shared in node.parameters if shared != node.name + "." + own]
        return self._body(self.graph.nodes, inputs, _returned(self.graph), 0, ties, method)

    def _body(self, nodes: Sequence[Node], inputs: Dict[str, str], outputs: Sequence[str], depth: int,
              ties: Sequence[str] = (), method: str = "forward") -> str:
        def place(node: Node) -> Tuple[str, bool]:
            parts = node.name.split(".")
            return parts[depth], len(parts) > depth + 1

        steps = [self._scope(list(run), depth) if scoped else self._layer(next(run))
                 for (_, scoped), run in groupby(nodes, key=place)]
        for name, times in Counter(step.attribute for step in steps).items():
            if times > 1:
                raise Unsupported("two parts of one scope are called {}: give one another name".format(name))
        if all(step.training_only for step in steps):  # then the caller asks whether this is training
            steps = [step._replace(training_only=False) for step in steps]
        modules = ["self.{} = {}".format(step.attribute, step.native.module) for step in steps if step.native.module]
        modules += [line.format(self="self." + step.attribute) for step in steps for line in step.native.then]
        construct = _function("__init__", ["self"], ["super().__init__()"] + modules + list(ties)) + "\n"
        forward = _function(method, ["self"] + list(inputs.values()), Forward(steps, inputs, outputs).lines)
        return (construct if modules else "") + forward

    def _class(self, path: Sequence[str], body: str) -> str:
        """The name of the class with that body: the last part of its path, or all of it where that is taken."""
        if body not in self.classes:
            used = set(self.classes.values()) | set(HELPERS) | {"Model", "F"}
            full = _camel(path)
            names = chain([_camel([re.sub(r"\d+$", "", path[-1])]), full], (full + str(i) for i in count(2)))
            self.classes[body] = next(name for name in names if name.isidentifier() and name not in used)
        return self.classes[body]

    def _layer(self, node: Node) -> Step:
        kind, attribute = type(node.layer), _attribute(node.name.split(".")[-1])
        if kind is layers.Scan:
            native = Native("{self}({0}, {1})", self._scan(node) + "()")
        elif kind in RULES:
            try:
                native = RULES[kind](node.layer, *self.graph.input_specs(node))
            except KeyError as axes:
                raise Unsupported(
                    "{} ({}): no form in PyTorch for axes {}".format(node.name, kind.__name__, axes)) from axes
        else:
            raise Unsupported("{} ({}): no form in PyTorch".format(node.name, kind.__name__))
        return Step(kind, attribute, native, node.inputs, node.outputs, node.training_only)

    def _scan(self, node: Node) -> str:
        """The class of a loop over time: `step` is the body of the Scan."""
        body = node.layer.body  # type: ignore[attr-defined]
        if body.state:
            raise Unsupported("{} (Scan): a body with state of its own".format(node.name))
        step = Writer(body, self.classes).body(dict(zip((name for name, _ in body.inputs), ("carry", "x"))), "step")
        return self._class(node.name.split("."), step + "\n" + _function("forward", ["self", "carry", "sequence"], [
            "outputs = []",
            "for x in sequence.unbind(1):",
            "    carry, y = self.step(carry, x)",
            "    outputs.append(y)",
            "return carry, torch.stack(outputs, 1)"]))

    def _scope(self, nodes: List[Node], depth: int) -> Step:
        path = nodes[0].name.split(".")[:depth + 1]
        inside, made = _reads(nodes), [name for node in nodes for name in node.outputs]
        inputs = [name for name in inside if name not in made]
        outputs = [name for name in made if self.reads[name] > inside[name]]
        name = self._class(path, self._body(nodes, dict(zip(inputs, VARIABLES)), outputs, depth + 1))
        call = "{self}(%s)" % ", ".join("{%d}" % i for i in range(len(inputs)))
        return Step(None, _attribute(path[-1]), Native(call, name + "()"), tuple(inputs), tuple(outputs),
                    all(node.training_only for node in nodes))


def _function(name: str, arguments: Sequence[str], lines: Sequence[str]) -> str:
    return "def {}({}):\n{}\n".format(name, ", ".join(arguments), indent("\n".join(lines), "    "))


def _training_loss(graph: Graph) -> str:
    """The function a user minimises: forward and loss together, so that both are compiled together."""
    returned = _returned(graph)
    named = {name: "output{}".format(i if len(returned) > 1 else "") for i, name in enumerate(returned, start=1)}
    inputs, targets = ([_attribute(name) for name, _ in each] for each in (graph.inputs, graph.targets))
    terms = []
    for loss in graph.losses:
        text = LOSSES[type(loss.layer)](loss.layer, named[loss.prediction], _attribute(loss.target))
        terms.append(text if loss.weight == 1 else "{!r} * {}".format(loss.weight, text))
    outputs = ", ".join("{}.detach()".format(named[name]) for name in graph.outputs)
    return _function("training_loss", ["model"] + inputs + targets, [
        '"""The loss, and the outputs it was computed from."""',
        "{} = model({})".format(", ".join(named[name] for name in returned), ", ".join(inputs)),
        "return {}, {}".format(" + ".join(terms), "({})".format(outputs) if len(graph.outputs) > 1 else outputs)])


SOURCE = '''\
"""To train:

    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for {batch} in batches:
        optimizer.zero_grad()
        loss, _ = training_loss(model, {batch})
        loss.backward()
        optimizer.step()

Mode "compile" makes it torch.compile(training_loss, dynamic=False), and torch.compile(model) for inference.
"""

import torch
import torch.nn.functional as F
from torch import nn

# The digest of the graph this was written from.
GRAPH = "{digest}"
'''


def native_source(graph: Graph) -> str:
    """A module with the class Model and the function training_loss. Raises Unsupported, naming the layer."""
    classes: Dict[str, str] = OrderedDict()
    body = Writer(graph, classes).body(OrderedDict((name, _attribute(name)) for name, _ in graph.inputs))
    classes[body] = "Model"
    parts = ["class {}(nn.Module):\n{}".format(name, indent(body, "    ")) for body, name in classes.items()]
    helpers = [text for name, text in HELPERS.items() if any(name + "(" in part for part in parts)]
    batch = ", ".join(_attribute(name) for name, _ in graph.inputs + graph.targets)
    head = SOURCE.format(digest=graph.digest, batch=batch)
    return "\n\n".join([head] + helpers + parts + ([_training_loss(graph)] if graph.losses else []))
