"""`photofinish list`: the models, frameworks and contenders there are."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import click

from photofinish.cli import options
from photofinish.errors import unknown


@click.command("list", epilog="""\b
Examples:
  photofinish list models
  photofinish list contenders --json""")
@click.argument("what", metavar="models|frameworks|contenders")
@options.as_json
def command(what: str, as_json: bool) -> None:
    """List the models, frameworks or contenders there are."""
    from photofinish.cli import output
    from photofinish.render.document import Column, Table
    if what not in KINDS:
        raise unknown("list", what, KINDS)
    kind = KINDS[what]
    found = kind.entries()
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        columns = tuple(Column(title, hint) for title, hint in kind.columns.items())
        output.show(output.sheet(what.capitalize(), "", Table(what, columns, tuple(map(kind.row, found)))))


def models() -> list[dict[str, Any]]:
    """Every model at its default input size and classes."""
    from photofinish.models import all_models
    found = []
    for name, entry in all_models().items():
        graph = entry.graph()
        found.append({"name": name, "parameters": graph.parameter_count, "macs": graph.macs,
                      "input": list(graph.inputs[0][1].shape), "unit": entry.unit, "task": entry.task})
    return found


def frameworks() -> list[dict[str, Any]]:
    """Every framework, with the version installed here or how to get it."""
    from photofinish import environments
    found = []
    for name, info in environments.frameworks().items():
        version = environments.installed_version(info)
        found.append({"name": name, "title": info.title, "version": version, "modes": list(info.modes),
                      "devices": list(info.devices), "install": "" if version else environments.cure(info),
                      "options": {option: list(values) for option, values in info.options.items()}})
    return found


def contenders() -> list[dict[str, Any]]:
    """Every framework in every mode."""
    return [{"name": f"{each['name']}:{mode}", "default": mode == each["modes"][0],
             "installed": each["version"] is not None, "options": each["options"]}
            for each in frameworks() for mode in each["modes"]]


def _spelled(options: dict[str, list[str]]) -> str:
    return ", ".join(f"{name}={'|'.join(values) or '...'}" for name, values in options.items())


class Kind(NamedTuple):
    """One thing that can be listed: its entries, its columns (title -> hint) and the row of an entry."""

    entries: Callable[[], list[dict[str, Any]]]
    columns: dict[str, str]
    row: Callable[[dict[str, Any]], tuple[Any, ...]]


KINDS = {
    "models": Kind(models, {"Model": "code", "Parameters": "count", "MACs": "count", "Input": "text", "Task": "text"},
                   lambda each: (each["name"], each["parameters"], each["macs"], "x".join(map(str, each["input"])),
                                 each["task"])),
    "frameworks": Kind(frameworks, {"Framework": "code", "Version here": "text", "Modes": "text", "Devices": "text"},
                       lambda each: (each["name"], each["version"] or each["install"], ", ".join(each["modes"]),
                                     ", ".join(each["devices"]))),
    "contenders": Kind(contenders, {"Contender": "code", "Installed": "text", "Options": "text"},
                       lambda each: (each["name"], "yes" if each["installed"] else "no", _spelled(each["options"]))),
}
