"""Checks that the rooms which travel to a worker run on Python 3.6 with NumPy alone.

Syntax is left to the parser itself (`feature_version`); what parses on 3.6 but fails there when run
(list[int], X | Y, Protocol, time_ns) and what may not be imported are found in the tree.
"""

import ast
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from check_frameworks import packages_of

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "photofinish"
ROOMS = ("likeness", "layers", "graph", "optimizers", "arguments", "vocabulary", "models", "weights", "data", "values",
         "metrics", "frameworks", "measure", "worker")
NEWER_MODULES = {"__future__", "asyncio.runners", "contextvars", "graphlib", "importlib.metadata",
                 "importlib.resources", "tomllib", "zoneinfo"}
NEWER_TYPES = {"Annotated", "Concatenate", "Final", "ForwardRef", "Literal", "Never", "OrderedDict", "ParamSpec",
               "Protocol", "Self", "SupportsIndex", "TypeAlias", "TypedDict", "TypeGuard", "final",
               "runtime_checkable"}
NEWER_NAMES = {"default_rng", "get_args", "get_origin", "monotonic_ns", "nullcontext", "perf_counter_ns",
               "process_time_ns", "removeprefix", "removesuffix", "time_ns"}
NEWER_KEYWORDS = {"capture_output", "dirs_exist_ok", "kw_only", "missing_ok", "slots"}
PLAIN_CLASSES = {"list", "dict", "tuple", "set", "frozenset", "type", "OrderedDict", "defaultdict", "deque",
                 "Counter"}  # not subscriptable before Python 3.9


def check(path: Path, package: Path = PACKAGE) -> list[str]:
    """What Python 3.6, or a worker without the rest of the house, would stumble over: "file:line: why"."""
    room = path.relative_to(package).with_suffix("").as_posix()
    source = path.read_text()
    try:
        ast.parse(source, feature_version=(3, 6))
        tree = ast.parse(source)
    except SyntaxError as error:
        return [f"{path}:{error.lineno}: {error.msg}"]
    faults = sorted({fault for node in _evaluated(tree) for fault in _faults(node, room)})
    return [f"{path}:{line}: {why}" for line, why in faults]


def _evaluated(tree: ast.AST, local: bool = False) -> Iterator[ast.AST]:
    """Every node Python evaluates: all but the annotations of local variables."""
    yield tree
    local = local or isinstance(tree, (ast.FunctionDef, ast.Lambda))
    for name, value in ast.iter_fields(tree):
        if isinstance(tree, ast.AnnAssign) and local and name == "annotation":
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _evaluated(child, local and not isinstance(child, ast.ClassDef))


def _faults(node: ast.AST, room: str) -> Iterator[tuple[int, str]]:
    line = getattr(node, "lineno", 0)
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from ((line, why) for why in _import_faults(node, room))
    elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in PLAIN_CLASSES:
        yield line, f"{node.value.id}[...] cannot be evaluated: write typing's name"
    elif isinstance(node, ast.Attribute) and node.attr in NEWER_NAMES:
        yield line, f".{node.attr} is newer"
    elif isinstance(node, ast.keyword) and node.arg in NEWER_KEYWORDS:
        yield node.value.lineno, f"{node.arg}= is newer"
    for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
        if annotation is not None and any(isinstance(each, ast.BitOr) for each in ast.walk(annotation)):
            yield annotation.lineno, "X | Y cannot be evaluated: write Union or Optional"


def _import_faults(node: ast.Import | ast.ImportFrom, room: str) -> Iterator[str]:
    names = [each.name for each in node.names]
    if isinstance(node, ast.ImportFrom):
        if node.level:
            yield "a relative import: write the whole name"
            return
        modules = [f"{node.module}.{name}" if node.module in ("photofinish", "importlib") else str(node.module)
                   for name in names]
        yield from (f"{node.module}.{name} is newer" for name in names if name in NEWER_NAMES
                    or (node.module == "typing" and name in NEWER_TYPES))
    else:
        modules = names
    for module in modules:
        top, _, rest = module.partition(".")
        if module in NEWER_MODULES or top in NEWER_MODULES:
            yield f"{module} is newer"
        elif top == "photofinish":
            if rest.split(".")[0] not in ROOMS:
                yield f"{module} does not travel to a worker"
        elif top != "numpy" and top not in sys.stdlib_module_names and top not in packages_of(room):
            yield f"{module} is not there: a worker has NumPy and the standard library"


def travelling(package: Path = PACKAGE) -> list[Path]:
    """The files that travel to a worker."""
    found = [path for room in ROOMS for path in (package / f"{room}.py", *(package / room).rglob("*.py"))]
    return sorted(path for path in found if path.is_file())


def compile_with_real_python36(paths: list[Path]) -> list[str] | None:
    """What a real Python 3.6 says of the files' syntax; None where there is none."""
    python = shutil.which("python3.6")
    environment = dict(os.environ, PYENV_VERSION="3.6", PYTHONDONTWRITEBYTECODE="1")
    probe = "import sys; sys.exit(sys.version_info[:2] != (3, 6))"
    if not python or subprocess.run([python, "-c", probe], env=environment, capture_output=True).returncode:
        return None
    program = ("import py_compile, sys\n"
               "for path in sys.argv[2:]: py_compile.compile(path, cfile=sys.argv[1], doraise=True)")
    with tempfile.TemporaryDirectory() as folder:
        command = [python, "-c", program, str(Path(folder) / "compiled"), *map(str, paths)]
        run = subprocess.run(command, env=environment, capture_output=True, text=True)
    return [run.stderr.strip()] if run.returncode else []


if __name__ == "__main__":
    files = travelling()
    faults = [fault for path in files for fault in check(path)]
    real = compile_with_real_python36(files)
    print("\n".join(faults + (real or [])) or f"{len(files)} travelling files keep to Python 3.6"
          + ("" if real is not None else " (no python3.6 here to confirm it)"))
    sys.exit(bool(faults or real))
