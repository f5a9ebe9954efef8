"""What each framework makes of each layer, and so of each model: read from the framework's own tables.

A family's file in a framework's part has the layers it can make in RULES (losses: LOSSES). Beside them it may name,
each with a reason, those it makes of several operations because the framework ships no such layer (LOWERED), those
whose native form does not cover everything (LIMITS), and those left out (ABSENT). What is in no table is absent, too.
"""

import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from photofinish import environments
from photofinish.graph import Graph
from photofinish.layers import KINDS, Layer, layer_fields

LEVELS = ("native", "lowered", "absent")  # from best to worst
NO_RULE = "nobody has written it for this framework"


@dataclass(frozen=True)
class Support:
    """`level`: native (the framework's own layer or operation), lowered (made of several) or absent."""

    level: str
    reason: str = ""


def frameworks() -> list[str]:
    """The frameworks that race, by name."""
    return [info.name for info in environments.frameworks().values() if not info.in_house]


def of_layer(framework: str, kind: type[Layer]) -> Support:
    """How the framework has a layer kind (or loss)."""
    family = _family(framework, kind.__module__.rpartition(".")[2])
    if kind in getattr(family, "LOWERED", {}):
        return Support("lowered", family.LOWERED[kind])
    if kind in getattr(family, "RULES", {}) or kind in getattr(family, "LOSSES", {}):
        return Support("native", getattr(family, "LIMITS", {}).get(kind, ""))
    return Support("absent", getattr(family, "ABSENT", {}).get(kind, NO_RULE))


def of_model(framework: str, graph: Graph) -> Support:
    """How the framework has a model: as well as the worst of its layers, whose reasons are told."""
    found = {kind: of_layer(framework, kind) for kind in sorted(set(kinds(graph)), key=lambda kind: kind.__name__)}
    level = max((each.level for each in found.values()), key=LEVELS.index, default="native")
    if level == "native":
        return Support(level)
    return Support(level, "; ".join(f"{kind.__name__}: {each.reason}" for kind, each in found.items()
                                    if each.level == level))


def matrix() -> dict[str, dict[str, Support]]:
    """Layer kind -> framework -> support, in alphabetical order."""
    return {name: {framework: of_layer(framework, KINDS[name]) for framework in frameworks()} for name in sorted(KINDS)}


def kinds(graph: Graph) -> Iterator[type[Layer]]:
    """The kinds of a graph's layers and losses, those of graphs inside it included."""
    for layer in [node.layer for node in graph.nodes] + [term.layer for term in graph.losses]:
        yield type(layer)
        for value in layer_fields(layer).values():
            if isinstance(value, Graph):
                yield from kinds(value)


def told(found: Support) -> dict[str, str]:
    """As JSON."""
    return {"level": found.level, "reason": found.reason}


@lru_cache(maxsize=None)
def _family(framework: str, name: str) -> Any:
    """The framework's file of a family of layers, found without importing the framework: in the package that the
    framework's own file takes its parts from."""
    source = (environments.FOLDER / f"{framework}.py").read_text(encoding="utf-8")
    part = re.findall(r"from photofinish\.frameworks\.(_\w+)", source)[0]
    return importlib.import_module(f"photofinish.frameworks.{part}.{name}")
