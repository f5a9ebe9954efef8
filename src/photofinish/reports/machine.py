"""Where this was measured, and how to measure it again."""

from __future__ import annotations

import json
from typing import Any

from photofinish.render.document import Block, Code, Column, Facts, Fold, Heading, Section, Table
from photofinish.render.quantities import counted
from photofinish.reports.reading import contender
from photofinish.values import Race, Result

_SHORT = 24  # characters of a cell in the table of versions
_SHARED = 4  # a column of it is told by one of so many at least
_BYTES = ("memory", "ram", "swap")


def section(result: Result) -> Section:
    race = result.race
    blocks: list[Block] = []
    if race.machine:
        known = tuple((name, word) for name, word in _facts(race.machine) if word)
        blocks += [Heading("Machine"), Facts(known)]
    if race.versions:
        blocks += [Heading("Versions"), *_versions(race.versions)]
    blocks += _environments(race.environments)
    blocks += [Heading("Again"), Code(race.command, "The command of this race")] if race.command else []
    case = race.case
    blocks.append(Facts(tuple((name, value) for name, value in (
        ("race", race.id), ("made", race.created), ("launches", _launches(race)),
        ("model digest", case.digest), ("optimizer", _word(case.optimizer)),
        ("seeds", ", ".join(str(each.seed) for each in race.launches))) if value)))
    return Section("machine", "Machine and reproduction", tuple(blocks))


def _launches(race: Race) -> str:
    """How many ended, and whether one more had begun: its steps count, too."""
    ended = {each.number for each in race.launches}
    begun = {each.launch for each in race.blocks} | {each.launch for each in race.epochs}
    return f"{len(ended)}{' and one that was not finished' if begun - ended else ''}"


def _versions(versions: dict[str, dict[str, Any]]) -> tuple[Block, ...]:
    """A table of what is short for everyone and told by many; what is long (build flags) or rare folded away,
    contender by contender."""
    words = {name: {fact: _word(value, fact) for fact, value in facts.items()} for name, facts in versions.items()}
    every = list(dict.fromkeys(fact for facts in words.values() for fact in facts))
    short = [fact for fact in every if all(len(facts.get(fact) or "") <= _SHORT for facts in words.values())
             and sum(bool(facts.get(fact)) for facts in words.values()) >= len(words) / _SHARED]
    columns = (Column("Contender", "contender"), *(Column(fact.replace("_", " ")) for fact in short))
    table = Table("versions", columns, tuple((contender(name), *(facts.get(fact) for fact in short))
                                             for name, facts in words.items()))
    folds = tuple(Fold(f"{name}: more", (Facts(tuple((fact, word) for fact, word in facts.items()
                                                     if fact not in short)),))
                  for name, facts in words.items() if any(fact not in short for fact in facts))
    return (table, *folds)


def _environments(environments: dict[str, dict[str, Any]]) -> list[Fold]:
    """Every package of each environment, folded away; contenders that share one stand together."""
    shared: dict[str, list[str]] = {}
    for name, each in environments.items():
        shared.setdefault(json.dumps(each, sort_keys=True), []).append(name)
    folds = []
    for names in shared.values():
        each = environments[names[0]]
        kind = {"given": "an environment of the user's", "made": "made for it"}.get(each["origin"], each["origin"])
        title = f"{', '.join(names)}: {kind}, Python {each['python']}, {counted(len(each['packages']), 'package')}"
        folds.append(Fold(title, (Facts(tuple(each["packages"].items())),)))
    return folds


def _facts(values: dict[str, Any], prefix: str = "") -> list[tuple[str, str | None]]:
    found: list[tuple[str, str | None]] = []
    for name, value in values.items():
        label = prefix + name.replace("_", " ")
        found += _facts(value, label + ": ") if isinstance(value, dict) else [(label, _word(value, name))]
    return found


def _word(value: Any, name: str = "") -> str | None:
    if value is None or value in ("", {}, [], ()):
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_word(each)}" for key, each in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(str(_word(each)) for each in value)
    if name in _BYTES and isinstance(value, (int, float)) and value > 2**20:
        return f"{value / 2**30:.1f} GiB"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
