"""What each framework makes of each layer, and so of each model: read from the framework's own tables.

A family's file in a framework's part has the layers it can make in RULES (losses: LOSSES). Beside them it may name,
each with a reason, those it makes of several operations because the framework ships no such layer (LOWERED), those
whose native form does not cover everything (LIMITS), and those left out (ABSENT). What is in no table is absent, too.
"""

import importlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from photofinish import environments
from photofinish.graph import Graph
from photofinish.layers import KINDS, Layer, layer_fields

LEVELS = ("native", "lowered", "absent")  # from best to worst
NO_RULE = "nobody has written it for this framework"


@dataclass(frozen=True)
class Support:
    """`level`: native (the framework's own layer or operation), lowered (made of several) or absent; of a model,
    `tasks` are what it can be timed at."""

    level: str
    reason: str = ""
    tasks: tuple[str, ...] = ()


def frameworks() -> list[str]:
    """The frameworks that race, by name."""
    return [info.name for info in environments.frameworks().values() if not info.in_house]


def tasks(framework: str) -> tuple[str, ...]:
    """What some mode of the framework can be timed at."""
    info = environments.frameworks()[framework]
    return tuple(task for task in environments.TASKS if any(task in info.tasks_of(mode) for mode in info.modes))


def of_layer(framework: str, kind: type[Layer], version: str = "") -> Support:
    """How the framework (or that old version of it) has a layer kind (or loss)."""
    tables = environments.frameworks()[framework].recipe_for(version).layers
    told = importlib.import_module(f"photofinish.frameworks.{tables}").level(kind, version) if tables else None
    if told is not None:
        return Support(*told)
    family = _family(framework, kind.__module__.rpartition(".")[2])
    if kind in getattr(family, "LOWERED", {}):
        return Support("lowered", family.LOWERED[kind])
    if kind in getattr(family, "RULES", {}) or kind in getattr(family, "LOSSES", {}):
        return Support("native", getattr(family, "LIMITS", {}).get(kind, ""))
    return Support("absent", getattr(family, "ABSENT", {}).get(kind, NO_RULE))


def of_model(framework: str, graph: Graph) -> Support:
    """How the framework has a model: as well as the worst of its layers, whose reasons are told. What only training
    has does not count where the framework trains nothing."""
    able = tasks(framework)
    used = sorted(set(kinds(graph, training="train" in able)), key=lambda kind: kind.__name__)
    found = {kind: of_layer(framework, kind) for kind in used}
    level = max((each.level for each in found.values()), key=LEVELS.index, default="native")
    if level == "native":
        return Support(level, tasks=able)
    return Support(level, "; ".join(f"{kind.__name__}: {each.reason}" for kind, each in found.items()
                                    if each.level == level), able)


def matrix() -> dict[str, dict[str, Support]]:
    """Layer kind -> framework -> support, in alphabetical order."""
    return {name: {framework: of_layer(framework, KINDS[name]) for framework in frameworks()} for name in sorted(KINDS)}


def kinds(graph: Graph, training: bool = True) -> Iterator[type[Layer]]:
    """The kinds of a graph's layers, those of graphs inside it included; with `training`, its losses' too."""
    nodes = [node.layer for node in graph.nodes if training or not node.training_only]
    for layer in nodes + [term.layer for term in graph.losses if training]:
        yield type(layer)
        for value in layer_fields(layer).values():
            if isinstance(value, Graph):
                yield from kinds(value)


def told(found: Support) -> dict[str, Any]:
    """As JSON."""
    return {"level": found.level, "reason": found.reason, "tasks": list(found.tasks)}


def part(framework: str) -> str:
    """The package that the framework's own file takes the forms of its layers from, found without importing either."""
    source = environments.file_of(framework).read_text(encoding="utf-8")
    return str(re.findall(r"(?:photofinish\.frameworks\.|\./)(_(?!common)\w+)", source)[0])


@lru_cache(maxsize=None)
def _family(framework: str, name: str) -> Any:
    """The framework's file of a family of layers; of a part in JavaScript what its support.json says of all."""
    told = environments.FOLDER / part(framework) / "support.json"
    if told.exists():
        found = json.loads(told.read_text(encoding="utf-8"))
        return SimpleNamespace(RULES=[KINDS[kind] for kind in found["native"]],
                               LOWERED={KINDS[kind]: why for kind, why in found["lowered"].items()},
                               LIMITS={KINDS[kind]: why for kind, why in found["native"].items() if why},
                               ABSENT={KINDS[kind]: why for kind, why in found["absent"].items()})
    return importlib.import_module(f"photofinish.frameworks.{part(framework)}.{name}")
