"""Studies: many races declared in one file, with a question in words, and what was published of it.

A file is TOML (docs/reference/studies.md). Reading it gives races that can be run, each with a key of its own, or a
reason why one is left out; nothing here starts anything.
"""

import sys
from pathlib import Path

from photofinish.errors import UsageError, unknown
from photofinish.study.checks import MORE, Source
from photofinish.study.planned import OUT_OF_MEMORY, Accuracy, Elsewhere, PlannedRace, Published, Settled, Study
from photofinish.study.reading import Reading

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["OUT_OF_MEMORY", "Accuracy", "Elsewhere", "PlannedRace", "Published", "Settled", "Study", "builtin", "find",
           "read"]

BUILTIN = Path(__file__).parent / "builtin"


def builtin() -> dict[str, Path]:
    """The studies that come with Photofinish, by name."""
    return {path.stem: path for path in sorted(BUILTIN.glob("*.toml"))}


def find(name: str, scale: str = "") -> Study:
    """A built-in study by name, or one in a file of the user's. Raises UsageError."""
    if name.endswith(".toml") or "/" in name:
        return read(Path(name), scale)
    known = builtin()
    if name not in known:
        raise unknown("study", name, known, "or give the path of a .toml file")
    return read(known[name], scale)


def read(path: Path, scale: str = "") -> Study:
    """Raises UsageError, with the line, for a file that cannot be read or says what cannot be."""
    try:
        words = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the study {path}: {getattr(error, 'strerror', None) or error}",
                         f"the built-in ones are: {', '.join(builtin())}") from error
    try:
        tables = tomllib.loads(words)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: {error}", f"a study is a TOML file: {MORE}") from error
    return Reading(Source(path, words), tables, scale).study()
