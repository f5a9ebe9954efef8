"""The folder a worker is started from: a copy of the rooms that travel, and nothing of the core."""

import hashlib
import shutil
from functools import lru_cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
TRAVELLERS = ("layers", "graph.py", "vocabulary.py", "models", "weights.py", "data", "optimizers.py", "values.py",
              "metrics.py", "frameworks", "measure", "worker.py")
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


@lru_cache(maxsize=None)
def adapter_digest(framework: str) -> str:
    """SHA-256 of everything that decides what a worker of this framework computes."""
    digest = hashlib.sha256()
    own = Path("frameworks") / f"{framework}.py"
    for path in _files():
        if path.parts[0] not in ("frameworks", "models") or path == own or path.name.startswith("_"):
            digest.update(str(path).encode() + (PACKAGE / path).read_bytes())
    return digest.hexdigest()


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
