"""The tables of a framework's part, which has a file for each family of layers, taken as one."""

import importlib
from typing import Any, Dict

FAMILIES = ("activation", "arithmetic", "attention", "convolution", "dense", "normalisation", "pooling", "recurrent",
            "losses")


def gathered(part: str, table: str) -> Dict[Any, Any]:
    """What the families of a part ("_torch") have in their tables of that name, where they have one: RULES, how each
    layer is written; LOSSES; HELPERS, the text of what the framework does not ship, printed where a model needs it."""
    families = [importlib.import_module("photofinish.frameworks.{}.{}".format(part, name)) for name in FAMILIES]
    return {key: value for family in families for key, value in getattr(family, table, {}).items()}
