"""The folder a worker is started from: a copy of the rooms that travel, and nothing of the core."""

import hashlib
import importlib
import inspect
import json
import re
import shutil
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from photofinish.environments.headers import read_header, without_header
from photofinish.frameworks import Unsupported, module_of
from photofinish.frameworks._common import modes
from photofinish.graph import Graph
from photofinish.layers import Scan

PACKAGE = Path(__file__).resolve().parent.parent
TRAVELLERS = ("likeness.py", "layers", "graph.py", "arguments.py", "vocabulary.py", "models", "weights.py", "data",
              "optimizers.py", "values", "metrics.py", "frameworks", "measure", "worker.py")
JAVASCRIPT = "node"  # the worker of frameworks in JavaScript
SOURCES = (".py", ".mjs", ".json")
DRIVERS = ("graph.py", "weights.py", "optimizers.py", "data/synthetic.py", "layers/base.py", "measure/proof.py",
           "measure/moved.py", "measure/thinning.py")
# They collect all families, put another's model in the place of ours, feed a data set to a proven model, look into its
# steps, or make programs of it.
NOT_DECIDING = frozenset({"__init__", "shipped", "pipeline", "profile", "script"})
RULES = ("certificate", "parameters", "tolerance", "dropout", "witness")  # the files of the referee that judge a proof
RUN = '''import os, sys
sys.path[0] = os.path.dirname(os.path.abspath(__file__))
from photofinish.worker import main
main()
'''


def _files() -> list[Path]:
    """Every source file that travels, relative to the package."""
    found: list[Path] = []
    for name in (*TRAVELLERS, JAVASCRIPT):
        path = PACKAGE / name
        found += sorted(each for each in path.rglob("*") if each.suffix in SOURCES) if path.is_dir() else [path]
    return [path.relative_to(PACKAGE) for path in found]


def adapter_digest(framework: str, graph: Graph, mode: str = "", options: Sequence[tuple[str, str]] = (),
                   version: str = "", strategy: str = "", driven: bool = True) -> str:
    """SHA-256 of what decides what a worker of this framework computes of this graph in this mode.

    Where the framework writes graphs out as native source, that text is what runs: it counts, in this mode, and the
    files that drive it (of a strategy, its own too), but not how it came to be written. Elsewhere the files of the
    layer families count that the graph uses, and what drives them. A mode that has a file counts by its own and by no
    other's. Of the framework's header its packages (of this version) and variables count (with these options), but no
    titles, sizes, modes or devices.

    Not `driven`, the framework's files that drive native source are left out but for the optimizers it writes: they do
    the same for a graph of any depth, so that who has proven them on the reduced models need not prove the large ones
    again. Of options that no file of a mode stands for, the names and values count there.
    """
    info = read_header(PACKAGE / _file(framework))
    own = info.strategies[strategy].recipe if strategy else None
    recipe, driver = own or info.recipe_for(version), info.driver_of(version, strategy)
    main = f"frameworks/{driver.replace('.', '/')}.py" if driver else _file(framework)
    writer = _writer(main)
    parts = (*_parts(main), *(_parts(_file(framework)) if strategy else ()))
    files = _driving(main, driven) if writer else _interpreting(main, parts, frozenset(_families(graph)))
    asked: list[Any] = [recipe.dependencies + recipe.npm, info.environment_with(options)]
    asked += [] if driven else [sorted(info.options_told(options).items())]
    digest = hashlib.sha256(json.dumps(asked, sort_keys=True).encode())
    for path in sorted(files | _imported([_mode_file(framework, mode)], NOT_DECIDING)):
        digest.update((path + without_header((PACKAGE / path).read_text())).encode())
    if writer:
        written = modes.find(framework, mode).written if (PACKAGE / _mode_file(framework, mode)).exists() else mode
        digest.update(_text(writer, graph, written).encode())
    return digest.hexdigest()


def rules_digest() -> str:
    """SHA-256 of what judges proofs: one that passed by other rules may not pass now."""
    digest = hashlib.sha256()
    for name in RULES:
        digest.update((PACKAGE / f"referee/{name}.py").read_bytes())
    return digest.hexdigest()


def _mode_file(framework: str, mode: str) -> str:
    """Where a mode is that has a file of its own (../frameworks/_common/modes.py)."""
    return f"frameworks/_{module_of(framework)}/modes/{module_of(mode)}.py"


def _file(framework: str) -> str:
    stem = f"frameworks/{module_of(framework)}"
    return next(stem + suffix for suffix in SOURCES if (PACKAGE / (stem + suffix)).exists())


def _parts(main: str) -> list[str]:
    """The packages beside the framework's main file that it takes its parts from."""
    return re.findall(r"(?:photofinish\.frameworks\.|\./)(_\w+)", (PACKAGE / main).read_text())


def _writer(main: str) -> str | None:
    """The part whose `source` writes graphs out for the framework, if there is one."""
    found = re.findall(r"from photofinish\.frameworks\.(_\w+)\.source import", (PACKAGE / main).read_text())
    return found[0] if found else None


def _text(writer: str, graph: Graph, mode: str) -> str:
    """The native source of a graph (or why there is none), written without the framework."""
    own = (PACKAGE / f"frameworks/{writer}/{mode}.py").exists()  # a mode that is a style has a writer of its own
    module = importlib.import_module(f"photofinish.frameworks.{writer}." + (mode if own else "source"))
    native_source = module.native_source
    options = {"mode": mode} if mode and "mode" in inspect.signature(native_source).parameters else {}
    try:
        return str(native_source(graph, **options))
    except Unsupported as error:
        return str(error)


def _families(graph: Graph) -> Iterator[str]:
    """The files of layers/ that the graph's layers, losses and inner graphs come from."""
    layers = [node.layer for node in graph.nodes] + [loss.layer for loss in graph.losses]
    for layer in layers:
        yield type(layer).__module__.rpartition(".")[2]
        if isinstance(layer, Scan):
            yield from _families(layer.body)


@lru_cache(maxsize=None)
def _driving(main: str, whole: bool) -> frozenset[str]:
    """The paths of what drives any framework, of the optimizers that this one writes, of its main file, if it is to be
    the `whole`, and of what they import, but for what writes source."""
    optimizers = [f"frameworks/{part}/optimizers.py" for part in _parts(main)]
    return _imported([*DRIVERS, *optimizers, *([main] if whole else [])], NOT_DECIDING | {"source"})


@lru_cache(maxsize=None)
def _interpreting(main: str, own: tuple[str, ...], families: frozenset[str]) -> frozenset[str]:
    """The paths of the framework's main file, of its own parts for these families of layers, of the layers themselves,
    and of what they import. A family has a file of the same name in layers/ and in the framework's part. Of what is in
    JavaScript every file counts."""
    parts = [f"frameworks/{part}" for part in own]
    wanted = [main, *DRIVERS]
    wanted += [f"{room}/{family}{suffix}" for family in families for room in ("layers", *parts) for suffix in SOURCES]
    if main.endswith(".mjs"):
        known = {path.stem for path in (PACKAGE / "layers").glob("*.py")} - {"base", "windows"}
        wanted += [str(path.relative_to(PACKAGE)) for room in (*parts, JAVASCRIPT)
                   for path in (PACKAGE / room).iterdir() if path.suffix in SOURCES and path.stem not in known]
    return _imported(wanted, NOT_DECIDING)


def _imported(wanted: list[str], left_out: frozenset[str]) -> frozenset[str]:
    """These files and what they import of the layers and frameworks, but for files of the names left out."""
    found: set[str] = set()
    while wanted:
        path = wanted.pop()
        if path in found or not (PACKAGE / path).exists() or Path(path).stem in left_out:
            continue
        found.add(path)
        imported = re.findall(r"^ *from photofinish\.((?:layers|frameworks)(?:\.\w+)*) import (\([^)]*\)|.*)",
                              (PACKAGE / path).read_text(), re.MULTILINE)
        for module, names in imported:
            place = module.replace(".", "/")  # a file, or a folder of which whole files may be imported by name
            wanted += [f"{place}.py", *(f"{place}/{name}.py" for name in re.findall(r"\w+", names))]
    return frozenset(found)


def pack(folder: Path) -> Path:
    """Copies the travelling rooms into `folder` (once), with the script that starts a Python worker, and returns it."""
    script = folder / "run.py"
    if script.exists():
        return folder
    for path in _files():
        target = folder / "photofinish" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(PACKAGE / path, target)
    (folder / "photofinish" / "__init__.py").write_text("")
    script.write_text(RUN)
    return folder
