"""`photofinish env`: the environments that contenders run in, which races make on demand."""

import json
import re
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from photofinish.cli import options
from photofinish.errors import UsageError

if TYPE_CHECKING:
    from photofinish.environments.cache import Made
    from photofinish.environments.recipes import Order
    from photofinish.render.document import Document
    from photofinish.values import Contender

Entry = dict[str, Any]
ALL = "all"
NO_MODEL = re.compile(r"(?<=[\[,])build=[^:,\]]+(?=[,\]])")  # a source of models: an environment has any of it
NAMES = click.argument("names", nargs=-1, required=True, metavar="FRAMEWORK...")


@click.group("env", epilog="""\b
Examples:
  photofinish env list
  photofinish env create paddle
  photofinish env create torch@2.8.0
  photofinish env remove paddle""")
def command() -> None:
    """List, make, lock and remove the environments of frameworks.

    A race makes what it needs by itself. A framework that this Python has runs in it; any other, or another
    version (torch@2.8.0), gets an environment of its own below ~/.cache/photofinish (PHOTOFINISH_CACHE), where
    the longest unused make room when all of them take more than 20 GB (PHOTOFINISH_CACHE_LIMIT).
    """


@command.command("list", epilog="""\b
Example:
  photofinish env list --json""")
@options.as_json
def list_all(as_json: bool) -> None:
    """Say where each framework would run, and what has been made."""
    from photofinish.cli import output
    from photofinish.environments import cache
    frameworks, made = places(), [told(each) for each in cache.everything()]
    if as_json:
        _print({"root": str(cache.root()), "frameworks": frameworks, "environments": made})
    else:
        output.show(sheet(frameworks, made))


@command.command("create", epilog="""\b
Examples:
  photofinish env create torch@2.8.0
  photofinish env create torch+horovod
  photofinish env create all

Exit code: 0 done, 1 one could not be made, 2 wrong use.""")
@NAMES
@options.as_json
@options.quiet
def create(names: tuple[str, ...], as_json: bool, quiet: bool) -> int:
    """Make the environment of each FRAMEWORK (torch, torch@2.8.0, torch+horovod, or all), even where this Python has
    it."""
    from photofinish.cli import output
    from photofinish.environments import Missing, choice
    wanted = _contenders(names)
    done, failures = [], []
    with output.watching(quiet) as listener:
        for each in wanted:
            order = choice.order_for(each)
            found = order if isinstance(order, Missing) else choice.have(order, listener or (lambda progress: None))
            if isinstance(found, Missing):
                failures.append({"name": each.name, "reason": found.reason, "cure": found.cure, "log": found.log})
            else:
                done.append(told(found))
    if as_json:
        _print({"environments": done, "failures": failures})
    for entry in () if as_json else done:
        click.echo(f"{entry['name']} {entry['version']}: {entry['path']}")
    for entry in () if as_json else failures:
        click.echo(f"{entry['name']}: {entry['reason']}\n  {entry['cure']}", err=True)
    return 1 if failures else 0


@command.command("lock", epilog="""\b
Example:
  photofinish env lock tinygrad""")
@NAMES
@options.as_json
def lock(names: tuple[str, ...], as_json: bool) -> None:
    """Write down the exact versions in the environment of each FRAMEWORK, for those that are made later.

    The lock lies in the package: this is for work on Photofinish itself. What was made before the lock is made anew.
    """
    from photofinish.environments import pins
    written = []
    for order, made in map(_existing, _contenders(names)):
        try:
            path = pins.write(order.name, order.asked, order.interpreter.minor, made.packages)
        except OSError as error:
            raise UsageError(f"cannot write {error.filename}: {error.strerror}",
                             "lock from a checkout of the project") from error
        written.append({"name": order.name, "lock": str(path), "packages": len(made.packages)})
    if as_json:
        _print(written)
    for entry in () if as_json else written:
        click.echo(f"{entry['name']}: {entry['lock']}")


@command.command("path", epilog="""\b
Example:
  $(photofinish env path paddle)/bin/python -c 'import paddle'""")
@NAMES
@options.as_json
def path(names: tuple[str, ...], as_json: bool) -> None:
    """Print where the environment of each FRAMEWORK lies."""
    found = [told(made) for _, made in map(_existing, _contenders(names))]
    if as_json:
        _print(found)
    for entry in () if as_json else found:
        click.echo(entry["path"])


@command.command("remove", epilog="""\b
Examples:
  photofinish env remove torch@2.8.0
  photofinish env remove all

Exit code: 0 done, 1 one is in use, 2 wrong use.""")
@NAMES
@options.as_json
def remove(names: tuple[str, ...], as_json: bool) -> int:
    """Remove the environments of each FRAMEWORK: torch all of torch's, torch@2.8.0 that version's, all every one."""
    from photofinish.environments import WITHOUT, cache, split
    wanted = [name for name in split(names) if not name.startswith(WITHOUT)]
    kept = [name.removeprefix(WITHOUT) for name in split(names) if name.startswith(WITHOUT)]
    for name in (*wanted, *kept):  # misspelt ones are told before anything is gone
        if name != ALL and (home := _home(name)) != name:
            raise UsageError(f"{name}: an environment is that of all modes and options", f"write {home}")
    removed: list[Entry] = []
    in_use: list[Entry] = []
    refused: list[UsageError] = []
    made = cache.everything()
    for each in made:
        if any(_means(name, each) for name in wanted) and not any(_means(name, each) for name in kept):
            entry = told(each)
            try:
                (removed if cache.remove(each.folder) else in_use).append(entry)
            except OSError as error:  # somebody else's, or on a disk where nobody can say who uses it
                refused.append(UsageError(
                    f"{each.name} {each.version} cannot be removed: {error.strerror}: {error.filename}",
                    "if it is yours and nobody uses it, remove its folder by hand; environments can lie elsewhere: "
                    "PHOTOFINISH_CACHE=FOLDER"))
    if as_json:
        _print({"removed": removed, "in_use": in_use})
    for entry in () if as_json else removed:
        click.echo(f"removed {entry['name']} {entry['version']}")
    for entry in () if as_json else in_use:
        click.echo(f"{entry['name']} {entry['version']} is in use", err=True)
    for name in wanted:
        if not any(_means(name, each) for each in made):
            click.echo(f"no environment of {name} has been made", err=True)
    if refused:
        raise refused[0]
    return 1 if in_use else 0


def places() -> list[Entry]:
    """Where each framework that races would run."""
    from photofinish import environments
    from photofinish.cli import listing
    keys = ("name", "title", "where", "version", "reason", "install", "download", "disk")
    return [{key: each[key] for key in keys} for each in listing.frameworks()
            if not environments.frameworks()[each["name"]].in_house]


def told(made: "Made") -> Entry:
    """A made environment as `--json` gives it."""
    return {"name": made.name, "version": made.version,
            "python": made.python_version, "path": str(made.python.parent.parent), "bytes": made.bytes,
            "made": made.made, "used": time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(made.used)),
            "packages": made.packages}


def sheet(frameworks: Sequence[Entry], made: Sequence[Entry]) -> "Document":
    """Where frameworks run, why some cannot, and what has been made."""
    from photofinish.cli import output
    from photofinish.environments import cache, make
    from photofinish.render.document import Block, Column, Heading, Note, Table
    blocks: list[Block] = [Table("frameworks", (
        Column("Framework", "code"), Column("Runs in"), Column("Version"), Column("To download"), Column("On disk")),
        tuple((each["name"], each["where"], each["version"],
               *(make.told(each[size]) if each[size] else None for size in ("download", "disk")))
              for each in frameworks))]
    blocks += [Note((f"{each['reason']}: {each['install']}",)) for each in frameworks if each["reason"]]
    if made:
        total = make.told(sum(each["bytes"] for each in made))
        blocks += [Heading(f"Made: {total} of {make.told(cache.limit())} in {cache.root()}"), Table("environments", (
            Column("Environment", "code"), Column("Version"), Column("Python"), Column("Size"), Column("Last used")),
            tuple((each["name"], each["version"], each["python"], make.told(each["bytes"]), each["used"][:10])
                  for each in made))]
    return output.sheet("Environments", "", *blocks)


def _contenders(names: Sequence[str]) -> "list[Contender]":
    """In their default modes, on whatever device they run. Raises UsageError for a name that is none."""
    from photofinish.environments import expand, split
    return expand(*map(_entered, split(names)), device=None)


def _entered(name: str) -> str:
    """The name of an environment as that of a contender, with the number of processes and the model that it leaves
    out."""
    home, bracket, options = NO_MODEL.sub(lambda found: f"{found[0]}:any", name).partition("[")
    if "+" in home and not options[:1].isdecimal():
        return f"{home}[2,{options}" if bracket else f"{home}[2]"
    return home + bracket + options


def _home(name: str) -> str:
    """What the environment of that contender is called. Raises UsageError for a name that is none."""
    from photofinish.environments import checked, frameworks, recipes
    contender = checked(_entered(name), device=None)
    return recipes.home_of(contender, frameworks()[contender.framework])


def _existing(contender: "Contender") -> "tuple[Order, Made]":
    """A contender's environment. Raises UsageError if it has not been made."""
    from photofinish.environments import Missing, cache, choice, recipes
    order = choice.order_for(contender)
    if isinstance(order, Missing):
        raise UsageError(order.reason, order.cure)
    made = cache.read(order.folder)
    if made is None:
        raise UsageError(f"no environment of {order.title} has been made", recipes.creating(order.name))
    return order, made


def _means(name: str, made: "Made") -> bool:
    return name in (ALL, made.framework, made.name)


def _print(value: Any) -> None:
    click.echo(json.dumps(value, indent=2))
