"""Where, when and in which versions the races of a report were run that has many of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from photofinish.machine import Identity, facts, identity
from photofinish.render.document import Block, Cell, Column, Note, Section, Table
from photofinish.render.quantities import counted, write
from photofinish.values import Result

IMPLIES = {"avx2": ("avx", "fma"), "avx512f": ("avx2",)}


@dataclass(frozen=True)
class Stay:
    """The races on one machine: how many, and the days of the first and the last."""

    machine: Identity
    races: int
    first: str
    last: str


def section(results: Sequence[Result]) -> Section:
    """Without blocks where no race is known."""
    stays = _stays(results)
    blocks: list[Block] = []
    if len(stays) > 1:
        blocks.append(Note((f"These races ran on {len(stays)} machines: what holds on one need not on another. "
                            "Keep a store for each (--store).",), "warning"))
    if stays:
        columns = (Column("Processor"), Column("Instructions"), Column("Cores", "count"), Column("Memory", "bytes"),
                   Column("GPU"), Column("System"), Column("Races", "count"), Column("Days"))
        blocks.append(Table("machines", columns, tuple(_row(each) for each in stays)))
    versions = _versions(results)
    if versions:
        blocks.append(Table("versions", (Column("Contender", "contender"), Column("Version"), Column("Python")), tuple(
            (name, ", ".join(each["versions"]) or None, ", ".join(each["pythons"]) or None)
            for name, each in versions.items())))
    return Section("where", "Where, when and in which versions", tuple(blocks))


def of_others(results: Sequence[Result]) -> str:
    """A warning, or "", for who is about to add races of this machine to those of another."""
    here = identity(facts())
    others = [stay for stay in _stays(results) if stay.machine != here]
    if not others:
        return ""
    told = "; ".join(f"{stay.races} on {_named(stay.machine)}" for stay in others)
    return (f"races in this store were run on another machine ({told}); this is {_named(here)}. What is run now stands "
            "beside them: for results of this machine alone, keep another store (--store).")


def as_json(results: Sequence[Result]) -> dict[str, Any]:
    """The machines, each with its number of races and their days, and the versions of each contender."""
    machines = [{**asdict(each.machine), "instructions": list(each.machine.instructions), "races": each.races,
                 "first": each.first, "last": each.last} for each in _stays(results)]
    return {"machines": machines, "versions": _versions(results)}


def _named(machine: Identity) -> str:
    return ", ".join((f"{machine.cpu} with {' '.join(_highest(machine))}" if machine.instructions else machine.cpu,
                      counted(machine.cores or 0, "core"), write(machine.memory, "bytes")))


def _row(stay: Stay) -> tuple[Cell, ...]:
    one = stay.machine
    days = " to ".join(dict.fromkeys((stay.first, stay.last)))
    return (one.cpu, ", ".join(_highest(one)) or None, one.cores, one.memory, one.gpus or None, one.system or None,
            stay.races, days)


def _highest(machine: Identity) -> list[str]:
    """Without what every processor has that has the others."""
    implied = {each for later, earlier in IMPLIES.items() if later in machine.instructions for each in earlier}
    return [each for each in machine.instructions if each not in implied]


def _stays(results: Sequence[Result]) -> list[Stay]:
    days: dict[Identity, list[str]] = {}
    for result in results:
        if result.race.machine:
            days.setdefault(identity(result.race.machine), []).append(result.race.created[:10])
    return [Stay(machine, len(each), min(each), max(each)) for machine, each in days.items()]


def _versions(results: Sequence[Result]) -> dict[str, dict[str, list[str]]]:
    """Of each contender, every version that was raced, and in which Pythons."""
    found: dict[str, dict[str, list[str]]] = {}
    for race in (result.race for result in results):
        for name in race.contenders:
            each = found.setdefault(name, {"versions": [], "pythons": []})
            for kind, word in (("versions", _version(race.versions.get(name, {}))),
                               ("pythons", race.environments.get(name, {}).get("python"))):
                each[kind] += [word] if word and word not in each[kind] else []
    return {name: each for name, each in found.items() if each["versions"]}


def _version(facts: dict[str, Any]) -> str | None:
    """With that of what it runs on, where a framework has backends."""
    below = facts.get("backend")
    return f"{facts['version']} on {below} {facts[below]}" if below in facts else facts.get("version")
