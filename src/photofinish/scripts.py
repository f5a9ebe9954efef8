"""A model's training program in a framework's own words: the printed code, a batch that is drawn with NumPy, and the
loop that the code's own docstring tells. It runs without Photofinish.

A form's part says in `script.py` how a NumPy array is fed (FEED), how a loss is read (READ), whether images have their
channels last, where the docstring has no loop, the STEP of one, and where the framework is of another time, the EDITS
that make the program one of then, as patterns and replacements. PARALLEL are its ways to train one model on several
devices: how such a program is started, and what has to change in that of one device, as patterns and replacements,
or what makes these of a graph.
"""

import ast
import difflib
import importlib
import io
import re
import sys
import textwrap
import tokenize
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from photofinish import frameworks
from photofinish.errors import UsageError
from photofinish.frameworks import Unsupported, native_source
from photofinish.frameworks._common.channels_last import native_shape
from photofinish.graph import Graph
from photofinish.layers import CTC, BinaryCrossEntropy, SoftmaxCrossEntropy, Spec
from photofinish.values import Contender

STEPS = 10
FORMS = {"torch": "torch", "tensorflow": "keras", "jax": "flax"}  # what the contenders of a framework are printed as
DIGEST = re.compile(r'(# The digest of the graph[^\n]*\n)?GRAPH = "\w+"\n+')
UNREAD = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING,
          tokenize.ENDMARKER}
PROGRAM = '''\
"""{title}, trained for {steps} steps on one batch of drawn numbers; prints the loss of each."""

{module}

def drawn_batch():
    """Numbers in the shapes of {inputs}."""
    rng = np.random.default_rng(0)
{draws}
    return {fed}


batches = [drawn_batch()] * {steps}
{loop}
'''


@dataclass(frozen=True)
class Counts:
    """How much of a program there is to read: `lines` of code (no comments, docstrings, blanks), `tokens`, `calls` of
    what it imports (by that name, or as a method of something), and McCabe's cyclomatic `complexity`, summed
    over functions."""

    lines: int
    tokens: int
    calls: int
    complexity: int


@dataclass(frozen=True)
class Changes:
    """What a way to train in parallel asks for in the program of one device: `lines` of code that are added or changed,
    and by how much the other counts grow."""

    lines: int
    tokens: int
    calls: int
    complexity: int


def forms() -> list[str]:
    """The forms of native code that programs are made of."""
    return [form for form in frameworks.forms() if (Path(frameworks.__file__).parent / f"_{form}/script.py").exists()]


def program(form: str, title: str, graph: Graph, batch: int) -> str:
    """The program for one of the `forms`. Raises Unsupported: a layer the form lacks, or a graph without a loss."""
    if not graph.losses:
        raise Unsupported("a model without a loss is not trained")
    native = importlib.import_module(f"photofinish.frameworks._{form}.script")
    told, module = _parts(native_source(form, graph))
    names, loop = _trained(told, module, native)
    imports = ["import numpy as np", *getattr(native, "IMPORTS", "").splitlines()]
    module = _importing(_without_unused(module, loop), imports)
    draws = [f"    {name} = {text}" for name, text in zip(names, _draws(graph, batch, native), strict=True)]
    fed = [getattr(native, "FEED", "{}").format(name) for name in names]
    text = PROGRAM.format(
        title=title, steps=STEPS, module=module, inputs=" and ".join(names), draws="\n".join(draws),
        fed=", ".join(fed) + ("," if len(fed) == 1 else ""), loop=loop)
    for pattern, replacement in getattr(native, "EDITS", ()):
        text = re.sub(pattern, replacement, text)
    return text


def parallel_ways(form: str) -> tuple[str, ...]:
    """In which a form's programs can be made to train on several devices; () if none is written."""
    return tuple(getattr(importlib.import_module(f"photofinish.frameworks._{form}.script"), "PARALLEL", ()))


def way_of(contender: Contender) -> tuple[str, str] | None:
    """The form and the way in which a contender that is several processes is printed; None if none is written."""
    form = FORMS.get(contender.framework, "")
    words = [value if key == "hook" else key for key, value in contender.options
             if key == "hook" or (key == "accumulate" and int(value) > 1)]
    way = "-".join([contender.strategy, *words])
    return (form, way) if form and way in parallel_ways(form) else None


def parallel_program(form: str, title: str, graph: Graph, batch: int, way: str) -> str:
    """The same program on several devices, which share each batch. Raises as `program`, and Unsupported where the
    program of this model has not what changes."""
    start, edits = importlib.import_module(f"photofinish.frameworks._{form}.script").PARALLEL[way]
    text = program(form, title, graph, batch)
    for pattern, replacement in edits(graph) if callable(edits) else edits:
        text, times = re.subn(pattern, replacement.replace("{batch}", str(batch)), text, flags=re.MULTILINE)
        if times != 1:
            raise Unsupported(f"{way} is not written for a program like that of {title}")
    return text.replace("; prints the loss of each.", f"; prints the loss of each.\n\nStart it with: {start}\n", 1)


def changes(alone: str, parallel: str) -> Changes:
    """Of the second program over the first. Raises as `counts`."""
    one, other = counts(alone), counts(parallel)
    added = [each for each in difflib.ndiff(_code(alone), _code(parallel)) if each.startswith("+ ")]
    return Changes(len(added), other.tokens - one.tokens, other.calls - one.calls, other.complexity - one.complexity)


def _code(text: str) -> list[str]:
    """The lines of a program after its docstring that are not blank."""
    head = ast.parse(text).body[0]
    return [line for line in text.splitlines()[head.end_lineno or 0:] if line.strip()]


def _parts(source: str) -> tuple[str, str]:
    """The code that the docstring of a printed module tells, and the module without it and the graph's digest."""
    head = ast.parse(source).body[0]
    docstring = ast.get_docstring(ast.parse(source), clean=False) or ""
    told = "\n".join(line for line in docstring.splitlines() if line.startswith("    ") or not line)
    module = "\n".join(source.splitlines()[head.end_lineno or 0:])
    return textwrap.dedent(told).strip("\n"), DIGEST.sub("\n", module, count=1).strip("\n") + "\n"


def _trained(told: str, module: str, native: Any) -> tuple[list[str], str]:
    """What a step takes, inputs and targets, by the names it has for them; and the code that trains, with a loop over
    batches that prints each loss."""
    if hasattr(native, "STEP"):
        step = next(each for each in ast.walk(ast.parse(module + told))
                    if isinstance(each, ast.FunctionDef) and each.name == "train_step")
        names = [each.arg for each in step.args.args]
        target = ", ".join(names) + ("," if len(names) == 1 else "")
        told += f"\n\nfor {target} in batches:\n    {native.STEP.format(', '.join(names))}"
    loop = next(each for each in ast.parse(told).body if isinstance(each, ast.For))
    lines = told.splitlines()
    lines.insert(loop.end_lineno or len(lines), f"    print({native.READ})")
    return [ast.unparse(each) for each in getattr(loop.target, "elts", [loop.target])], "\n".join(lines).strip("\n")


def _without_unused(module: str, loop: str) -> str:
    """The module without functions that training does not call, such as inference."""
    lines = module.splitlines()
    for each in reversed(ast.parse(module).body):
        if isinstance(each, ast.FunctionDef) and len(re.findall(rf"\b{each.name}\b", module + loop)) == 1:
            first = min([each.lineno, *(above.lineno for above in each.decorator_list)])
            del lines[first - 1:each.end_lineno]
    return "\n".join(lines).strip("\n") + "\n"


def _importing(module: str, wanted: list[str]) -> str:
    """The module with these lines among its imports, before the first that does not come with Python."""
    lines = module.splitlines()
    first = next(each for each in ast.parse(module).body if isinstance(each, (ast.Import, ast.ImportFrom))
                 and getattr(each, "module", "") not in sys.stdlib_module_names)
    place = first.lineno - 1
    lines[place:place] = [line for line in wanted if line and line not in lines]
    return "\n".join(lines) + "\n"


def _draws(graph: Graph, batch: int, native: Any) -> list[str]:
    """A NumPy expression for each input and target of the graph, shaped as the form lays them out."""
    tables = {node.inputs[0]: node.layer.vocabulary for node in graph.nodes if hasattr(node.layer, "vocabulary")}
    shaped = native_shape if getattr(native, "CHANNELS_LAST", False) else lambda spec: spec.shape
    found = [_input(spec, (batch, *shaped(spec)), tables.get(name, 2)) for name, spec in graph.inputs]
    losses = {each.target: each for each in reversed(graph.losses)}
    for name, spec in graph.targets:
        kind = type(losses[name].layer)
        if kind not in TARGETS:
            raise Unsupported(f"what {kind.__name__} compares with is not drawn here")
        found.append(TARGETS[kind](graph.spec(losses[name].prediction), (batch, *spec.shape)))
    return found


def _input(spec: Spec, shape: tuple[int, ...], vocabulary: int) -> str:
    """Normal values, a mask up to a length, ids below `vocabulary`, or rows of weights that sum to one."""
    if spec.dtype == "bool":
        return f"np.arange({shape[-1]}) < rng.integers({(shape[-1] + 1) // 2}, {shape[-1] + 1}, {(*shape[:-1], 1)})"
    if spec.dtype.startswith("int"):
        return f"rng.integers({vocabulary}, size={shape})"
    if spec.axes == "TU" and shape[-1] == shape[-2]:
        return f"rng.dirichlet(np.ones({shape[-1]}), {shape[:-1]}).astype(np.float32)"
    return f"rng.standard_normal({shape}, np.float32)"


TARGETS: dict[type, Callable[[Spec, tuple[int, ...]], str]] = {
    SoftmaxCrossEntropy: lambda prediction, shape: f"rng.integers({prediction.size('C')}, size={shape})",
    BinaryCrossEntropy: lambda prediction, shape: f"rng.integers(2, size={shape}).astype(np.float32)",
    CTC: lambda prediction, shape: f"rng.integers(1, {prediction.size('C')}, size={shape})"}


def counts(text: str) -> Counts:
    """Of a program. Raises UsageError without radon, which knows its lines and its complexity."""
    try:
        from radon.raw import analyze
        from radon.visitors import ComplexityVisitor
    except ImportError as error:
        raise UsageError("counting a script takes radon, which is not installed for this Python",
                         "pip install radon") from error
    imported = {each.asname or each.name.partition(".")[0] for node in ast.walk(ast.parse(text))
                if isinstance(node, (ast.Import, ast.ImportFrom)) for each in node.names}
    called = [node.func for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    calls = sum(isinstance(each, ast.Attribute) or (isinstance(each, ast.Name) and each.id in imported)
                for each in called)
    tokens = sum(token.type not in UNREAD for token in tokenize.generate_tokens(io.StringIO(text).readline))
    return Counts(analyze(text).sloc, tokens, calls, ComplexityVisitor.from_code(text).total_complexity)
