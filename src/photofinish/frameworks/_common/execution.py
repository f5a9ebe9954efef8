"""Native source, executed."""

import linecache
import sys
import types
from typing import Any, Dict


def execute(source: str, name: str) -> Dict[str, Any]:
    """What the source of a module defines; tracebacks and compilers can read it under that name ("<...>")."""
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    module = types.ModuleType(name.strip("<>"))
    sys.modules[module.__name__] = module
    exec(compile(source, name, "exec"), vars(module))
    return vars(module)
