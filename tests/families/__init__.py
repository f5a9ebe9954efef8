"""Layer families, proven alike: a module has the examples of its layers for every part of the proof.

    cases()      name -> Case: small graphs that use each layer with every field away from its default at least once
    DEFINITIONS  layer kind -> its forward, written a second time without regard for speed (test_numpy_reference.py)
    COMPACT      a graph with each of the family's layers once, whose every mutant must be refused (test_mutants.py)
    EQUIVALENT   mutants of COMPACT that compute exactly the same, with the reason
"""

import importlib
import pkgutil

FAMILIES = tuple(importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)
                 if module.name != "common")
