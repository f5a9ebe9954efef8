"""Checks who may import a framework: its own file, and what of its part is loaded after it; nobody else in the house.

What a framework's file may import stands in its header, so that a new one is entered nowhere but there. Files of
frameworks never import each other; a package that starts with _ is a part of those that take it, and takes nothing but
what all share.
"""

import ast
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from photofinish.environments.headers import FOLDER, read_header

PACKAGE = FOLDER.parent
# Files of a part that its frameworks import when they are there themselves.
LOADED = {"shipped", "pipeline", "model", "exporter", "profile", "planted"}
RANKS = ("rank", "hooks")  # what strategies of a framework have in common
SHARED = "_common"
BUILT_ON = {("fake", "numpy")}  # the fake framework runs on the reference


@lru_cache(maxsize=None)
def allowed() -> dict[str, frozenset[str]]:
    """Framework's module -> what its file may import, but for what every worker has."""
    return {path.stem: read_header(path).imports for path in FOLDER.glob("*.py") if not path.stem.startswith("_")}


@lru_cache(maxsize=None)
def drivers() -> dict[str, str]:
    """The room of a file that drives old versions of a framework, or a strategy of it (or what these have in common)
    -> the framework's module."""
    headers = {path.stem: read_header(path) for path in FOLDER.glob("*.py") if not path.stem.startswith("_")}
    named = [(name, each.driver) for name, info in headers.items() for each in info.recipes if each.driver]
    named += [(name, info.driver_of("", each)) for name, info in headers.items() for each in info.strategies]
    named += [(name, f"_{name}.{each}") for name, info in headers.items() for each in RANKS if info.strategies]
    return {"frameworks/" + driver.replace(".", "/"): name for name, driver in named}


@lru_cache(maxsize=None)
def users(part: str) -> frozenset[str]:
    """The frameworks whose files take that part, and the one that it is called after."""
    return frozenset(name for name in allowed() if f"_{name}" == part or any(
        module.startswith(f"photofinish.frameworks.{part}") for _, module in imported(FOLDER / f"{name}.py")))


def packages_of(room: str) -> frozenset[str]:
    """What the file of a room ("frameworks/torch", "frameworks/_onnx/model", "stats/paired") may import of frameworks'
    packages."""
    folder, _, rest = room.partition("/")
    part, _, file = rest.partition("/")
    if folder != "frameworks":
        return frozenset()
    if room in drivers():
        return allowed()[drivers()[room]]
    if part in allowed():
        return allowed()[part]
    return frozenset().union(*(allowed()[name] for name in users(part))) if file in LOADED else frozenset()


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Line and whole name of every module that the file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, each.name) for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, f"{node.module}.{each.name}") for each in node.names)


def check(path: Path, package: Path = PACKAGE) -> list[str]:
    """What the file imports and may not: "file:line: why"."""
    room = path.relative_to(package).with_suffix("").as_posix()
    everything = frozenset().union(*allowed().values())
    found = []
    for line, module in imported(path):
        top = module.partition(".")[0]
        if top in everything - packages_of(room):
            found.append(f"{path}:{line}: {top} is imported by the files of its frameworks alone")
        if module.startswith("photofinish.frameworks.") and room.startswith("frameworks/"):
            found += [f"{path}:{line}: {why}" for why in _among_frameworks(room, module)]
    return found


def _among_frameworks(room: str, module: str) -> Iterator[str]:
    own, other = drivers().get(room, room.split("/")[1]), module.split(".")[2]
    if other in allowed() and other != own and (own, other) not in BUILT_ON:
        yield f"the file of {other} is imported by no other framework's"
    if own.startswith("_") and other.startswith("_") and other not in (own, SHARED):
        yield f"a part imports {SHARED} and itself, not {other}"


def main() -> int:
    faults = [fault for path in sorted(PACKAGE.rglob("*.py")) for fault in check(path)]
    print("\n".join(faults) or f"{len(allowed())} frameworks are imported by their own files")
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
