"""`photofinish list`: the models, frameworks and contenders there are."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from photofinish.cli import options
from photofinish.errors import UsageError, unknown

if TYPE_CHECKING:
    from photofinish.environments import FrameworkInfo
    from photofinish.render.document import Block

Entry = dict[str, Any]


@click.command("list", epilog="""\b
Examples:
  photofinish list models
  photofinish list models resnet keras
  photofinish list models --task recommendation
  photofinish list contenders --json""")
@click.argument("what", metavar="models|frameworks|contenders")
@click.argument("words", nargs=-1, metavar="[WORD]...")
@click.option("--task", metavar="TASK", help="Only models made for TASK, such as classification.")
@options.as_json
def command(what: str, words: tuple[str, ...], task: str | None, as_json: bool) -> None:
    """List the models, frameworks or contenders there are.

    With WORDs, only those that have each of them somewhere in what is listed. What the frameworks make of each model
    (native, lowered or absent) is in --json and in docs/reference/models.md.
    """
    from photofinish.cli import output
    from photofinish.environments import DOUBLE
    if what not in KINDS:
        raise unknown("list", what, KINDS)
    kind = KINDS[what]
    found = kind.entries()
    if task is not None:
        found = _of_task(what, task, found)
    found = [each for each in found if _has((*each.values(), *kind.row(each)), words)
             and (DOUBLE in words or each["name"].partition(":")[0] != DOUBLE)]
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        output.show(output.sheet(what.capitalize(), "", *_blocks(what, kind, found)))


def _of_task(what: str, task: str, entries: list[Entry]) -> list[Entry]:
    if what != "models":
        raise UsageError(f"--task is for models, not for {what}", "see: photofinish list models --task classification")
    tasks = list(dict.fromkeys(each["task"] for each in entries))
    if task not in tasks:
        raise unknown("task", task, tasks)
    return [each for each in entries if each["task"] == task]


def _has(told: Sequence[Any], words: Sequence[str]) -> bool:
    text = " ".join(each for each in told if isinstance(each, str)).lower()
    return all(word.lower() in text for word in words)


def _blocks(what: str, kind: "Kind", entries: list[Entry]) -> "Iterator[Block]":
    """One table, or one for each value of what the kind is grouped by."""
    from photofinish.render.document import Column, Heading, Note, Table
    columns = tuple(Column(title, hint) for title, hint in kind.columns.items())
    if not entries:
        yield Note((f"none of the {what} has all these words",))
    for group in dict.fromkeys(each.get(kind.group, "") for each in entries):
        rows = tuple(kind.row(each) for each in entries if each.get(kind.group, "") == group)
        if group:
            yield Heading(f"{group.capitalize()} ({len(rows)})")
        yield Table(what, columns, rows)


def models() -> list[Entry]:
    """Every model at its default input size and classes."""
    from photofinish import support
    from photofinish.models import all_models
    found = []
    for name, entry in all_models().items():
        graph = entry.graph()
        found.append({
            "name": name, "parameters": graph.parameter_count, "macs": graph.macs,
            "input": list(graph.inputs[0][1].shape), "unit": entry.unit, "task": entry.task, "source": entry.source,
            "batch": entry.batch,
            "inputs": [{"name": each, "axes": spec.axes, "shape": list(spec.shape), "dtype": spec.dtype}
                       for each, spec in graph.inputs],
            "support": {each: support.told(support.of_model(each, graph)) for each in support.frameworks()}})
    return found


def frameworks() -> list[Entry]:
    """Every framework, where it runs, and the version that is there or how to get it."""
    from photofinish import environments, support
    return [{"name": name, "title": info.title, **_whereabouts(info), "modes": list(info.modes),
             "devices": list(info.devices), "tasks": list(support.tasks(name)),
             "download": info.recipe.download or None, "disk": info.recipe.disk or None,
             "options": {option: list(values) for option, values in {**info.options, **info.pipeline}.items()}}
            for name, info in environments.frameworks().items()]


def _whereabouts(info: "FrameworkInfo") -> Entry:
    """Where a framework runs in its usual version: "this Python", "made" (an environment that is there), "made on
    demand", or "nowhere" with the reason."""
    from photofinish.environments import Choice, Environment, Missing, choice, cure, may_make, own, resolve
    from photofinish.values import Contender
    contender = Contender(info.name, info.default_mode)
    found = resolve(contender)
    if isinstance(found, Environment):
        return {"where": found.origin, "version": found.version, "reason": "", "install": ""}
    lacking = choice.look(contender, Choice()) if may_make() else own(contender)
    if isinstance(lacking, Missing):
        return {"where": "nowhere", "version": None, "reason": lacking.reason, "install": lacking.cure}
    return {"where": "made on demand", "version": None, "reason": "", "install": cure(info)}


def contenders() -> list[Entry]:
    """Every framework in every mode, every loop of its own over a data set, and in two processes by each strategy."""
    from photofinish.environments import Environment, resolve
    from photofinish.environments import frameworks as headers
    from photofinish.environments.framework import STRATEGY_TASKS
    from photofinish.values import Contender

    def installed(name: str) -> bool:
        return isinstance(resolve(Contender.parse(name)), Environment)
    found = []
    for each in frameworks():
        info = headers()[each["name"]]
        ways = {mode: info.tasks_of(mode) for mode in (*each["modes"], *info.loops)}
        several = {f"{mode}+{name}[2]": strategy for name, strategy in info.strategies.items()
                   for mode in strategy.modes}
        ways.update(dict.fromkeys(several, STRATEGY_TASKS))
        found += [{"name": f"{each['name']}:{way}", "default": way == each["modes"][0],
                   "installed": each["version"] is not None and (
                       way not in several or several[way].recipe is None or installed(f"{each['name']}:{way}")),
                   "tasks": list(tasks),
                   "never_run": several[way].never_run if way in several
                   else way in info.never_run or set(info.devices_of(way)) <= set(info.never_run),
                   "options": {**each["options"], **({key: list(values) for key, values in several[way].options.items()}
                                                     if way in several else {})}}
                  for way, tasks in ways.items()]
    return found


def size(inputs: Sequence[Entry]) -> str:
    """What a model takes, in short: the size of its first input and how many others there are, or the names of
    single values."""
    first, *others = inputs
    if not first["shape"]:
        return ", ".join(each["name"] for each in inputs)
    return "x".join(map(str, first["shape"])) + (f" and {len(others)} more" if others else "")


def _spelled(options: dict[str, list[str]]) -> str:
    return ", ".join(f"{name}={'|'.join(values) or '...'}" for name, values in options.items())


def _tasks(contender: Entry) -> str:
    return ", ".join(contender["tasks"]) + (" (never run)" if contender["never_run"] else "")


class Kind(NamedTuple):
    """One thing that can be listed: its entries, its columns (title -> hint), the row of an entry, and the key by
    which entries are put in tables of their own, if any."""

    entries: Callable[[], list[Entry]]
    columns: dict[str, str]
    row: Callable[[Entry], tuple[Any, ...]]
    group: str = ""


KINDS = {
    "models": Kind(models, {"Model": "code", "Parameters": "count", "MACs": "count", "Input": "text", "Unit": "text",
                            "Source": "text"},
                   lambda each: (each["name"], each["parameters"], each["macs"], size(each["inputs"]), each["unit"],
                                 each["source"]), "task"),
    "frameworks": Kind(frameworks, {"Framework": "code", "Version here": "text", "Modes": "text", "Tasks": "text",
                                     "Devices": "text"},
                       lambda each: (each["name"], each["version"] or each["install"], ", ".join(each["modes"]),
                                     ", ".join(each["tasks"]), ", ".join(each["devices"]))),
    "contenders": Kind(contenders, {"Contender": "code", "Installed": "text", "Tasks": "text", "Options": "text"},
                       lambda each: (each["name"], "yes" if each["installed"] else "no", _tasks(each),
                                     _spelled(each["options"]))),
}
