"""Where pip has been told to find packages, in the words of uv, which reads none of pip's configuration.

This file imports the standard library alone: tools/install.py uses it before anything is installed.
"""

import os
import subprocess
from ast import literal_eval
from pathlib import Path

FORWARDED = {  # a setting of pip -> the variable that tells uv the same
    "find-links": "UV_FIND_LINKS",
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
    "proxy": "ALL_PROXY",
}

OLDER = {"UV_DEFAULT_INDEX": "UV_INDEX_URL", "UV_INDEX": "UV_EXTRA_INDEX_URL"}  # names that uv still understands
YES = ("1", "on", "t", "true", "y", "yes")  # to pip


def pip_settings(python: Path) -> dict[str, str]:
    """What its environment variables and all its configuration files tell pip: the machine's, the user's and the
    environment's. Variables go before files, and of these what they say of `install`."""
    run = subprocess.run([str(python), "-m", "pip", "config", "list"], capture_output=True, text=True)
    found: dict[str, str] = {}
    for section in ("global", "install"):
        for line in run.stdout.splitlines():
            key, _, value = line.partition("=")
            if key.startswith(f"{section}."):
                found[key.partition(".")[2]] = str(literal_eval(value))
    said = {name: os.environ.get("PIP_" + name.upper().replace("-", "_")) for name in (*FORWARDED, "no-index")}
    found.update({name: value for name, value in said.items() if value is not None})  # also where there is no pip
    return {name: " ".join(value.split()) for name, value in found.items()}


def uv_settings(python: Path) -> dict[str, str]:
    """The variables that let uv see what the pip of `python` sees. What the user has told uv itself stands."""
    told = pip_settings(python)
    settings = {variable: told.get(name, "") for name, variable in FORWARDED.items()}
    settings["UV_FIND_LINKS"] = settings["UV_FIND_LINKS"].replace(" ", ",")  # uv separates these by commas
    settings["UV_INDEX_STRATEGY"] = "unsafe-best-match"  # as pip takes them
    return {variable: value for variable, value in settings.items()
            if value and variable not in os.environ and OLDER.get(variable, variable) not in os.environ}


def uv_flags(python: Path) -> list[str]:
    """What uv must be told of pip's settings on its command line, because no variable of its says it."""
    return ["--no-index"] if pip_settings(python).get("no-index", "").lower() in YES else []
