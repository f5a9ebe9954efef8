"""How a worker is started in an environment: the command, and the variables around it."""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from photofinish.environments import libraries
from photofinish.environments.environment import Environment

PYTHON_VARIABLES = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP")
NODE_VARIABLES = ("NODE_OPTIONS", "NODE_PATH")
# Where a library would read its user's settings (keras.json, .pytensorrc), by what a framework imports: there are none
# in a race. TensorFlow brings Keras, which leaves some where it finds none.
_KERAS = ("KERAS_HOME", "{cache}/keras")
SETTINGS = {"keras": _KERAS, "tensorflow": _KERAS, "pytensor": ("PYTENSORRC", os.devnull)}
SCRIPTS = {"python": "run.py", "node": "photofinish/node/worker.mjs"}  # in the folder of the rooms that travelled


def command(home: Environment, rooms: Path) -> list[str]:
    """What starts a worker there: the program of the framework's language, and its script among the rooms that have
    travelled into that folder."""
    language = home.framework.language
    program = str(home.python) if language == "python" else language
    return [program, str(rooms / SCRIPTS[language])]


def variables(home: Environment, inherited: Mapping[str, str], cache: Path | str,
              options: Sequence[tuple[str, str]] = ()) -> dict[str, str]:
    """The variables for a worker there, with those that its framework asks for, or an option of the contender; compile
    caches lie in `cache`.

    In another environment than ours nothing leads back to our packages or to the user's own, and the programs that
    came with it are found first. In ours PYTHONPATH stays: a framework may be there by that alone (modules of a cluster
    set it so).
    """
    wanted = {**dict(SETTINGS[each] for each in home.framework.imports & SETTINGS.keys()),
              **home.framework.environment_with(options)}
    asked = {name: _placed(value, str(cache)) for name, value in wanted.items()}
    if str(home.python) == sys.executable:
        return {**inherited, **asked}
    kept = {name: value for name, value in inherited.items() if name not in PYTHON_VARIABLES + NODE_VARIABLES}
    programs = os.pathsep.join([str(home.python.parent), inherited.get("PATH", os.defpath)])
    packages = {"NODE_PATH": str(home.python.parents[1] / "node_modules")} if home.framework.language == "node" else {}
    stand_ins = libraries.variable(home.framework.libraries, inherited)
    return {**kept, "PYTHONNOUSERSITE": "1", "PATH": programs, **packages, **stand_ins, **asked}


def _placed(text: str, cache: str) -> str:
    """With the folder of compile caches for "{cache}". In a text of flags it is in quotes, with the rest of its flag:
    TensorFlow would split it at blanks, Theano at commas."""
    escaped = cache.replace("\\", r"\\").replace('"', r'\"')
    flags = re.sub(r"=([^\s,]*)\{cache\}([^\s,]*)", lambda found: f'="{found[1]}{escaped}{found[2]}"', text)
    return flags.replace("{cache}", cache)
