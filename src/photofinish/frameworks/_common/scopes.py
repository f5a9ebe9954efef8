"""A graph written scope by scope: each scope is a class (or a function) with straight-line code, as a person would
write it; scopes that are alike share one."""

import keyword
import re
from collections import Counter, OrderedDict
from itertools import chain, count, groupby
from textwrap import indent
from typing import Any, Callable, Dict, Iterable, List, Sequence, Tuple

from photofinish.frameworks import Unsupported
from photofinish.frameworks._common.forward import VARIABLES, Native, Step
from photofinish.graph import Graph, Node


def camel(parts: Sequence[str]) -> str:
    return "".join(word[:1].upper() + word[1:] for part in parts for word in re.split(r"[\W_]+", part))


def snake(parts: Sequence[str]) -> str:
    return "_".join(word for part in parts for word in re.split(r"[\W_]+", part) if word).lower()


def returned(graph: Graph) -> Tuple[str, ...]:
    """What the forward returns: the outputs, and whatever else a loss looks at (None in inference)."""
    seen = OrderedDict.fromkeys(loss.prediction for loss in graph.losses)
    return graph.outputs + tuple(name for name in seen if name not in graph.outputs)


def predictions(graph: Graph) -> Dict[str, str]:
    """What training calls the tensors that the model returns: output, or output1, output2, ..."""
    names = returned(graph)
    return {name: "output{}".format(i if len(names) > 1 else "") for i, name in enumerate(names, start=1)}


def function(name: str, arguments: Iterable[str], lines: Sequence[str]) -> str:
    return "def {}({}):\n{}\n".format(name, ", ".join(arguments), indent("\n".join(lines), "    "))


def owner(graph: Graph, node: Node) -> Node:
    """The node that has a node's shared parameters. Raises Unsupported if there are several."""
    sources = {name.rpartition(".")[0] for own, name in node.parameters if name != "{}.{}".format(node.name, own)}
    found = [each for each in graph.nodes if {each.name} == sources]
    if not found:
        raise Unsupported("{}: shares weights with {}".format(node.name, " and ".join(sorted(sources))))
    return found[0]


def objective(graph: Graph, losses: Dict[type, Callable[..., str]], outputs: Dict[str, str],
              spell: Callable[[str], str]) -> str:
    """The text of the training loss. `losses` write one term, `outputs` are the variables of the predictions, `spell`
    gives the name of a target."""
    terms = []
    for loss in graph.losses:
        if type(loss.layer) not in losses:
            raise Unsupported("the loss {} has no form here".format(type(loss.layer).__name__))
        text = losses[type(loss.layer)](loss.layer, outputs[loss.prediction], spell(loss.target),
                                        graph.spec(loss.prediction))
        terms.append(text if loss.weight == 1 else "{!r} * {}".format(loss.weight, text))
    return " + ".join(terms)


class Writer:
    """Writes one graph. `units` maps the body of each class or function to its name, inner ones first.

    A style of code says how one layer is written (`native`), what a scope's body is (`body`) and how it is used
    (`entered`), and how names are spelled (`attribute`, `spell`); `taken` are names no unit may have.
    """

    taken: Iterable[str] = ()

    def __init__(self, graph: Graph, units: Dict[str, str]) -> None:
        self.graph = graph
        self.units = units
        self.reads = _reads(graph.nodes) + Counter(returned(graph))

    def native(self, node: Node) -> Native:
        """One layer. Raises Unsupported, naming it."""
        raise NotImplementedError

    def body(self, nodes: Sequence[Node], inputs: Dict[str, str], outputs: Sequence[str], depth: int) -> str:
        """The text of a scope: `inputs` maps its tensors to the names of arguments, `depth` counts scopes around."""
        raise NotImplementedError

    def entered(self, unit: str, nodes: Sequence[Node], attribute: str, inputs: int) -> Native:
        """How a scope is used, whose class or function is called `unit`."""
        raise NotImplementedError

    def attribute(self, name: str) -> str:
        """A name of the graph as one that the style allows."""
        raise NotImplementedError

    def spell(self, parts: Sequence[str]) -> str:
        """The name of a class or function, from the path of a scope."""
        raise NotImplementedError

    def steps(self, nodes: Sequence[Node], depth: int) -> List[Step]:
        """The lines of a scope. Raises Unsupported where two parts of it have one name."""
        def place(node: Node) -> Tuple[str, bool]:
            parts = node.name.split(".")
            return parts[depth], len(parts) > depth + 1

        found = [self._scope(list(run), depth) if scoped else self._layer(next(run))
                 for (_, scoped), run in groupby(nodes, key=place)]
        for name, times in Counter(step.attribute for step in found).items():
            if times > 1:
                raise Unsupported("two parts of one scope are called {}: give one another name".format(name))
        if all(step.training_only for step in found):  # then the caller asks whether this is training
            found = [step._replace(training_only=False) for step in found]
        return found

    def name_of(self, path: Sequence[str], body: str) -> str:
        """The name of the unit with that body: the last part of its path, or all of it where that is taken."""
        if body not in self.units:
            used = set(self.units.values()) | set(self.taken)
            full = self.spell(path)
            names = chain([self.spell([re.sub(r"\d+$", "", path[-1])]), full], (full + str(i) for i in count(2)))
            self.units[body] = next(name for name in names if name.isidentifier() and name not in used
                                    and not keyword.iskeyword(name))
        return self.units[body]

    def _layer(self, node: Node) -> Step:
        attribute = self.attribute(node.name.split(".")[-1])
        return Step(type(node.layer), attribute, self.native(node), node.inputs, node.outputs, node.training_only)

    def _scope(self, nodes: List[Node], depth: int) -> Step:
        path = nodes[0].name.split(".")[:depth + 1]
        inside, made = _reads(nodes), [name for node in nodes for name in node.outputs]
        inputs = [name for name in inside if name not in made]
        outputs = [name for name in made if self.reads[name] > inside[name]]
        unit = self.name_of(path, self.body(nodes, OrderedDict(zip(inputs, VARIABLES)), outputs, depth + 1))
        attribute = self.attribute(path[-1])
        return Step(None, attribute, self.entered(unit, nodes, attribute, len(inputs)), tuple(inputs), tuple(outputs),
                    all(node.training_only for node in nodes))


def slots(number: int) -> str:
    """Places for that many operands: "{0}, {1}"."""
    return ", ".join("{%d}" % i for i in range(number))


def _reads(nodes: Sequence[Node]) -> Any:  # Counter[str], which Python 3.6 cannot subscript
    return Counter(chain.from_iterable(node.inputs for node in nodes))
