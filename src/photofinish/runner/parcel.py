"""The folder a worker is started from: a copy of the rooms that travel, and nothing of the core."""

import hashlib
import re
import shutil
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from photofinish.graph import Graph
from photofinish.layers import Scan

PACKAGE = Path(__file__).resolve().parent.parent
TRAVELLERS = ("layers", "graph.py", "vocabulary.py", "models", "weights.py", "data", "optimizers.py", "values.py",
              "metrics.py", "frameworks", "measure", "worker.py")
DRIVERS = ("graph.py", "weights.py", "optimizers.py", "data/synthetic.py", "layers/base.py", "measure/proof.py")
RUN = '''import os, sys
sys.path[0] = os.path.dirname(os.path.abspath(__file__))
from photofinish.worker import main
main()
'''


def _files() -> list[Path]:
    """Every source file that travels, relative to the package."""
    found: list[Path] = []
    for name in TRAVELLERS:
        path = PACKAGE / name
        found += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return [path.relative_to(PACKAGE) for path in found]


def adapter_digest(framework: str, graph: Graph) -> str:
    """SHA-256 of the files that decide what a worker of this framework computes of this graph: those of the layer
    families it uses, and what drives them. Another family's file may change without an effect on it."""
    digest = hashlib.sha256()
    for path in sorted(_deciding(framework, frozenset(_families(graph)))):
        digest.update(path.encode() + (PACKAGE / path).read_bytes())
    return digest.hexdigest()


def _families(graph: Graph) -> Iterator[str]:
    """The files of layers/ that the graph's layers, losses and inner graphs come from."""
    layers = [node.layer for node in graph.nodes] + [loss.layer for loss in graph.losses]
    for layer in layers:
        yield type(layer).__module__.rpartition(".")[2]
        if isinstance(layer, Scan):
            yield from _families(layer.body)


@lru_cache(maxsize=None)
def _deciding(framework: str, families: frozenset[str]) -> frozenset[str]:
    """The paths of those files. A family has a file of the same name in layers/ and in the framework's part; files
    that collect all families (__init__, table) decide nothing themselves, nor does what puts another's model in the
    place of ours (shipped)."""
    own = f"frameworks/{framework}.py"
    parts = re.findall(r"from photofinish\.frameworks\.(_\w+)", (PACKAGE / own).read_text())
    known = {path.stem for path in (PACKAGE / "layers").glob("*.py")} - {"base", "windows"}
    wanted = [own, *DRIVERS] + [f"{room}/{family}.py" for family in families
                                for room in ("layers", *(f"frameworks/{part}" for part in parts))]
    wanted += [str(path.relative_to(PACKAGE)) for part in parts for path in (PACKAGE / "frameworks" / part).glob("*.py")
               if path.stem not in known]
    found: set[str] = set()
    while wanted:  # and what those import of the same rooms
        path = wanted.pop()
        if path in found or not (PACKAGE / path).exists() or Path(path).stem in ("__init__", "table", "shipped"):
            continue
        found.add(path)
        imported = re.findall(r"^from photofinish\.((?:layers|frameworks)\.\w+(?:\.\w+)?) import",
                              (PACKAGE / path).read_text(), re.MULTILINE)
        wanted += [name.replace(".", "/") + ".py" for name in imported]
    return frozenset(found)


def pack(folder: Path) -> Path:
    """Copies the travelling rooms into `folder` (once) and returns the script that starts a worker."""
    script = folder / "run.py"
    if script.exists():
        return script
    for path in _files():
        target = folder / "photofinish" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(PACKAGE / path, target)
    (folder / "photofinish" / "__init__.py").write_text("")
    script.write_text(RUN)
    return script
