"""Locks: the exact versions of everything in an environment that was seen to work, a text file each in locks/.

    # tinygrad, Python 3.11
    # made of: tinygrad==0.14.0, numpy
    numpy==2.4.6
    tinygrad==0.14.0

No hashes and no addresses: what is pinned is the version, wherever it comes from. Packages for Node.js begin with
"npm:".
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

FOLDER = Path(__file__).parent / "locks"
INSTALLERS = ("node", "pip", "uv")  # what brought the packages is none of them
_HEAD = "# {name}, Python {minor}\n# made of: {requirements}\n"


def path_of(name: str) -> Path:
    """The lock of a framework ("torch") or of one of its versions ("torch@2.8.0")."""
    return FOLDER / f"{name}.txt"


def read(name: str, requirements: Sequence[str], minor: str) -> tuple[str, ...]:
    """The pins for exactly these requirements on this Python ("3.11"), none where no lock says so: another Python
    has other versions to choose from."""
    try:
        text = path_of(name).read_text(encoding="utf-8")
    except OSError:
        return ()
    head = _head(name, requirements, minor)
    return tuple(text[len(head):].splitlines()) if text.startswith(head) else ()


def write(name: str, requirements: Sequence[str], minor: str, packages: Mapping[str, str]) -> Path:
    """Writes the lock of an environment and returns where. Raises OSError."""
    lines = [f"{package}=={version.partition('+')[0]}\n"  # 2.13.0+cpu is a build of the version 2.13.0
             for package, version in sorted(packages.items()) if package not in INSTALLERS]
    path = path_of(name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(_head(name, requirements, minor) + "".join(lines), encoding="utf-8")
    return path


def _head(name: str, requirements: Sequence[str], minor: str) -> str:
    return _HEAD.format(name=name, minor=minor, requirements=", ".join(requirements))
