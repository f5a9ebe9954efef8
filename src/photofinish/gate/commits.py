"""A model of the user's own as it stood in a commit."""

import os
import subprocess
from pathlib import Path

from photofinish.errors import UsageError

# Set for hooks: git then takes the folder it is called in for the top of the files, and another one of that name there.
OF_HOOKS = ("GIT_DIR", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")
MARK = "git:"  # before a revision, in what a baseline is called


def stood(model: str, revision: str, folder: Path) -> tuple[str, str]:
    """The model of a file (FILE.py:FUNCTION) as of that revision, written into a folder; and the commit in short.

    Raises UsageError: not a file, no repository, or nothing there at that revision.
    """
    path, colon, function = model.partition(":")
    file = Path(path).resolve()
    if file.suffix != ".py" or not file.is_file():
        raise UsageError(f"--baseline {MARK}{revision}: {model} is no model in a file",
                         "commits are compared of a model of your own: photofinish gate ./net.py:model")
    said = _git(file, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", otherwise=(
        f"--baseline {MARK}{revision}: git knows no such revision of {file.parent}", "see: git log --oneline"))
    commit = said.decode("ascii").strip()
    text = _git(file, "show", f"{commit}:./{file.name}", otherwise=(
        f"--baseline {MARK}{revision}: {file.name} is not in that commit", f"see: git log --oneline -- {path}"))
    kept = folder / commit[:12] / file.name
    kept.parent.mkdir(parents=True, exist_ok=True)
    draft = kept.with_suffix(f".{os.getpid()}")  # another gate may be reading it as of that commit
    draft.write_bytes(text)
    draft.replace(kept)
    return f"{kept}{colon}{function}", commit[:12]


def _git(file: Path, *words: str, otherwise: tuple[str, str]) -> bytes:
    """What git says in the file's folder, to the byte: Python's files say themselves how they are encoded. Raises
    UsageError with these words, and git's own if it has any, where it fails."""
    dropped = () if "GIT_WORK_TREE" in os.environ else OF_HOOKS
    variables = {name: value for name, value in os.environ.items() if name not in dropped}
    try:
        done = subprocess.run(["git", *words], cwd=file.parent, capture_output=True, check=False, env=variables)
    except OSError as error:
        raise UsageError(f"git cannot be started: {error.strerror}", "install it, or name another --baseline") from None
    if done.returncode:
        message, hint = otherwise
        why = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise UsageError(f"{message} ({why})" if why else message, hint)
    return done.stdout
