"""Writes the generated pages of docs/reference; a test checks that they are current.

cli.md from the commands' own help, models.md from the zoo, layers.md from the vocabulary and the frameworks' tables,
measures.md from the table of measures.
"""

import inspect
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from photofinish import environments, layers, support, vocabulary
from photofinish import models as zoo
from photofinish.cli import listing, photofinish
from photofinish.metrics import METRICS

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
WIDTH = 100
COMMANDS = """# Commands

Made by `make docs` from the commands' own `--help`.
"""
MODELS = """# Models

Made by `make docs` from the zoo. Parameters are the trainable values; MACs the multiply-accumulates of one sample's
inference (convolution, linear and attention products) at the input named, which `--input` changes; the batch is what a
race takes unless `--batch` says otherwise. [Weights](../guides/your-own-weights.md) are taken under the graph's own
names, and under those of the libraries named. A framework has a model natively if it has every layer of its own; where
layers are lowered (made of several operations), [layers](layers.md) says which and why. All train with plain SGD with
momentum or Adam: what sources add (weight decay, RMSProp, schedules, clipped gradients) is left out. So are their own
initial weights: matrices and kernels start normally distributed by He's rule (arXiv 1502.01852), biases at zero, tables
of words where a model says so.
"""
LAYERS = """# Layers

Made by `make docs` from the vocabulary and the frameworks' tables. *native*: the framework's own layer or operation.
*lowered*: made of several, because the framework ships no such layer. *absent*: a contender of that framework cannot
run a model with it. `make test-environments` proves each against NumPy in float64; what has not been proven
so stands under "Known gaps" in the changelog.
"""
OLD = """
## In old versions

Where old versions that have been tried have a layer otherwise than the present one; the others are as above.
"""


MEASURES = """# Measures

Made by `make docs` from the table of measures. Each is recorded raw and summed up anew whenever it is read.
"""


def commands() -> str:
    """The help of every command, as it is printed in a terminal of WIDTH columns."""
    root = click.Context(photofinish, info_name="photofinish", max_content_width=WIDTH, terminal_width=WIDTH,
                         help_option_names=photofinish.context_settings["help_option_names"])
    parts = [COMMANDS, _entry(root)]
    for name, command in photofinish.commands.items():
        context = click.Context(command, root, name, max_content_width=WIDTH, terminal_width=WIDTH)
        parts.append(_entry(context))
        for inner, each in (command.commands.items() if isinstance(command, click.Group) else ()):
            parts.append(_entry(click.Context(each, context, inner, max_content_width=WIDTH, terminal_width=WIDTH)))
    return "\n".join(parts)


def _entry(context: click.Context) -> str:
    return f"## {context.command_path}\n\n```text\n{context.get_help().rstrip()}\n```\n"


def models() -> str:
    """Every model, by what it is made for."""
    found = listing.models()
    parts = [MODELS]
    for task in dict.fromkeys(each["task"] for each in found):
        rows = [_model(each) for each in found if each["task"] == task]
        parts.append(f"## {task.capitalize()}\n\n" + _table(
            ("Model", "Parameters", "MACs", "Input", "Counted in", "Batch", "Source", "Weights of", *_titles()), rows))
    return "\n".join(parts)


def _model(each: dict[str, Any]) -> list[str]:
    source = re.sub(r"arXiv (\d+\.\d+)", r"[arXiv \1](https://arxiv.org/abs/\1)", each["source"])
    weights = ", ".join(zoo.find(each["name"]).names)
    return [f"`{each['name']}`", f"{each['parameters']:,}", f"{each['macs']:,}", listing.size(each["inputs"]),
            each["unit"], str(each["batch"]), source, weights,
            *(_brief(each["support"][name]) for name in support.frameworks())]


def _brief(found: dict[str, str]) -> str:
    kinds = re.findall(r"(?:^|; )(\w+): ", found["reason"])
    return found["level"] + (f" ({', '.join(kinds)})" if kinds else "")


def kinds() -> str:
    """Every layer kind, its word in the vocabulary, and how each framework has it."""
    rows = [[f"`{name}`", _word(name), _first_sentence(layers.KINDS[name]), *(_cell(each) for each in found.values())]
            for name, found in support.matrix().items()]
    return LAYERS + "\n" + _table(("Layer", "Word", "Meaning", *_titles()), rows) + OLD + "\n" + _old_versions()


def _old_versions() -> str:
    """The layers that an old version that was tried has otherwise than today's."""
    tried = list(dict.fromkeys((each.framework, each.version) for each in environments.older()))
    rows = []
    for name, kind in sorted(layers.KINDS.items()):
        found = [support.of_layer(framework, kind, version) for framework, version in tried]
        if found != [support.of_layer(framework, kind) for framework, _ in tried]:
            rows.append([f"`{name}`", *map(_cell, found)])
    return _table(("Layer", *(f"`{framework}@{version}`" for framework, version in tried)), rows)


def _word(kind: str) -> str:
    """The first word of the vocabulary that records this kind; none for losses."""
    words = (name for name in vocabulary.__all__
             if f"layers.{kind}(" in inspect.getsource(getattr(vocabulary, name)))
    word = next(words, "")
    return f"`{word}`" if word else ""


def _first_sentence(kind: type) -> str:
    paragraph = " ".join(inspect.getdoc(kind).split("\n\n")[0].split())  # type: ignore[union-attr]
    return re.split(r"(?<!al)(?<!\.)\.(?:\s|$)", paragraph)[0]


def _cell(found: support.Support) -> str:
    if found.level == "native":
        return f"native ({found.reason})" if found.reason else "native"
    return f"{found.level}: {found.reason}"


def measures() -> str:
    """Every measure of a contender: what it is called, its unit, which way is better and how it is obtained."""
    rows = [(each.title, each.unit, each.better, each.how) for each in METRICS.values()]
    return MEASURES + "\n" + _table(("Measure", "Unit", "Better", "How"), rows)


def _titles() -> list[str]:
    return [environments.frameworks()[name].title + (" (inference)" if support.tasks(name) == ("infer",) else "")
            for name in support.frameworks()]


def _table(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(re.sub(r"(?=[|*])", r"\\", cell) for cell in cells) + " |\n"

    titles = list(titles)
    return line(titles) + "|" + "---|" * len(titles) + "\n" + "".join(map(line, rows))


PAGES: dict[str, Callable[[], str]] = {"cli.md": commands, "models.md": models, "layers.md": kinds,
                                    "measures.md": measures}

if __name__ == "__main__":
    for page, write in PAGES.items():
        (FOLDER / page).write_text(write(), encoding="utf-8")
