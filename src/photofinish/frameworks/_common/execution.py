"""Printed source, executed."""

import linecache
import sys
import types
from typing import Any

from photofinish.graph import Graph


def execute(source: str, writer: str, graph: Graph) -> Any:
    """The source of a graph as a module. Tracebacks and compilers can read it, as <photofinish_(writer)_(digest)>."""
    name = "photofinish_{}_{}".format(writer, graph.digest[:12])
    file = "<{}>".format(name)
    module = types.ModuleType(name)
    sys.modules[name] = module
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec"), vars(module))
    return module
