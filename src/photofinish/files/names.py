"""How another library names the layers of a graph, by the name map that a model family carries.

A map is a sequence of pairs: a pattern over the graph's names, and what the source calls such a layer.

    ("stage{s}.*{b}.(conv|batch_norm){n}", "layer{s}.{b-1}.(conv|bn){n}")

In a pattern `{s}` stands for a number and `*` for a word. In the source's name `{s}`, `{b-1}` and `{s+1}` are those
numbers, and `{#}` counts the blocks around such layers, of one word, from 1 in running order. Alternatives in brackets
correspond, one by one, on both sides. The first pair that fits holds. A pattern may also fit an array
("decoder.bias") that the source keeps elsewhere. An empty pattern names what the source has beyond the graph, `*`
standing for anything: ("", "cls.*"). A name that ends in `^T` is of a layer whose matrix the source keeps turned round:
("output", "c_proj^T").
"""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from photofinish.graph import Graph
from photofinish.models import Names

# The sources whose layers a family may name, and whose layouts they have.
PYTORCH = ("torchvision", "timm", "transformers")
KERAS = ("keras.applications",)

_CHOICE = re.compile(r"\(([^()|]*(?:\|[^()|]*)+)\)")
_TOKEN = re.compile(r"(\{\w+\}|\*)")
_NUMBER = re.compile(r"\{(\w+|#)([+-]\d+)?\}")


def translated(graph: Graph, names: Names) -> dict[str, str]:
    """What the source calls each layer with arrays, or an array itself where the map names that; what it does not
    name is left out."""
    rules = [(re.compile(_expression(pattern)), name) for pattern, name in _expanded(names) if pattern]
    found: dict[str, str] = {}
    blocks: dict[str, list[str]] = {}
    for node in graph.nodes:
        if not node.parameters + node.state:
            continue
        scope = node.name.rpartition(".")[0]
        alike = blocks.setdefault(re.sub(r"\d+$", "", scope.rpartition(".")[2]), [])
        if scope not in alike:
            alike.append(scope)
        for each in (*(array for _, array in node.parameters + node.state), node.name):
            fitting = ((pattern.fullmatch(each), name) for pattern, name in rules)
            match, name = next(((match, name) for match, name in fitting if match), (None, ""))
            if match:
                found[each] = _named(name, {**match.groupdict(), "#": str(alike.index(scope) + 1)})
    return found


def left_over(names: Names, array: str) -> bool:
    """True for an array that the source is known to have beyond the graph."""
    return any(fnmatchcase(array, name) for pattern, name in _expanded(names) if not pattern)


def _expanded(names: Names) -> Iterator[tuple[str, str]]:
    """The pairs, one for each of their alternatives."""
    for pair in names:
        choices = [found.group(1).count("|") + 1 for side in pair for found in _CHOICE.finditer(side)]
        for i in range(max(choices, default=1)):
            pattern, name = (_CHOICE.sub(lambda found, i=i: found.group(1).split("|")[i], side)  # type: ignore[misc]
                             for side in pair)
            yield pattern, name


def _expression(pattern: str) -> str:
    """A pattern as a regular expression."""
    return "".join("[a-z_]+" if part == "*" else f"(?P<{part[1:-1]}>\\d+)" if part.startswith("{") else re.escape(part)
                   for part in _TOKEN.split(pattern))


def _named(name: str, numbers: dict[str, str]) -> str:
    return _NUMBER.sub(lambda found: str(int(numbers[found.group(1)]) + int(found.group(2) or 0)), name)
