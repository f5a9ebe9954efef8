"""Where pip has been told to find packages, in the words of uv, which reads none of pip's configuration.

This file imports the standard library alone: tools/install.py uses it before anything is installed.
"""

import os
import subprocess
from pathlib import Path

FORWARDED = {  # a setting of pip -> the variable that tells uv the same
    "find-links": "UV_FIND_LINKS",
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
}

OLDER = {"UV_DEFAULT_INDEX": "UV_INDEX_URL", "UV_INDEX": "UV_EXTRA_INDEX_URL"}  # names that uv still understands
YES = ("1", "on", "t", "true", "y", "yes")  # to pip


def pip_setting(python: Path, name: str) -> str:
    """A setting from pip's environment variables or configuration files, "" where it has none."""
    value = os.environ.get("PIP_" + name.upper().replace("-", "_"))
    if value is None:
        command = [str(python), "-m", "pip", "config", "get", f"global.{name}"]
        value = subprocess.run(command, capture_output=True, text=True).stdout
    return " ".join(value.split())


def uv_settings(python: Path) -> dict[str, str]:
    """The variables that let uv see what the pip of `python` sees. What the user has told uv itself stands."""
    settings = {variable: pip_setting(python, name) for name, variable in FORWARDED.items()}
    settings["UV_FIND_LINKS"] = settings["UV_FIND_LINKS"].replace(" ", ",")  # uv separates these by commas
    settings["UV_INDEX_STRATEGY"] = "unsafe-best-match"  # as pip takes them
    return {variable: value for variable, value in settings.items()
            if value and variable not in os.environ and OLDER.get(variable, variable) not in os.environ}


def uv_flags(python: Path) -> list[str]:
    """What uv must be told of pip's settings on its command line, because no variable of its says it."""
    return ["--no-index"] if pip_setting(python, "no-index").lower() in YES else []
