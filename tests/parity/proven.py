"""What was proven before, under a digest of all that decided it: a race does not earn a certificate twice, and tests do
not either.

proven.json holds a digest for each case that passed, written by `make prove`. It is another as soon as the graph, the
native source written of it, what drives it, the reference, what judges, or a framework's version is another; then the
case is proven again. Left out are the processor, so that each kind of machine does not prove all again, and how
test_models.py and test_layers.py ask: whoever changes their draws, seeds or inputs runs `make prove`.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from importlib import metadata
from pathlib import Path

import pytest

from photofinish import environments
from photofinish.graph import Graph
from photofinish.runner.parcel import adapter_digest, rules_digest
from photofinish.values import Contender

FILE = Path(__file__).with_name("proven.json")
AGAIN = "PHOTOFINISH_PROVE"  # the variable that asks for all proofs, and has what passes written to FILE
LAYERS = "layers/"  # begins the cases of test_layers.py, all others are models
PROPERTY = "proven"  # by which a worker of the tests tells what it tried: a case and its digest


def digest(graph: Graph, contender: Contender, judge: str = "") -> str:
    """SHA-256 of what decides whether the contender's proof of the graph passes; `judge` is a digest of who judges, if
    that is not the referee."""
    of = (contender.framework, graph, contender.mode, contender.options)
    decided = [graph.digest, adapter_digest("numpy", graph), adapter_digest(*of), judge or rules_digest(),
               *_versions(contender.framework)]
    return hashlib.sha256("/".join(decided).encode()).hexdigest()


def unless_before(case: str, decided: str, record_property: Callable[[str, object], None]) -> None:
    """Skips the test of a case that passed under the same digest; has what comes of any other told to `keep`."""
    if before().get(case) == decided and AGAIN not in os.environ:
        pytest.skip("proven before, and nothing that decides it has changed since (make prove proves all again)")
    record_property(PROPERTY, (case, decided))


@lru_cache(maxsize=None)
def before() -> Mapping[str, str]:
    """Case → digest."""
    return dict(json.loads(FILE.read_text())) if FILE.exists() else {}


def keep(passed: Mapping[str, str], failed: Iterable[str] = ()) -> None:
    """Writes what passed beside what did before, but for the cases that failed."""
    known = {case: each for case, each in {**before(), **passed}.items() if case not in set(failed)}
    FILE.write_text(json.dumps(dict(sorted(known.items())), indent=0) + "\n")


@lru_cache(maxsize=None)
def _versions(framework: str) -> tuple[str, ...]:
    """What its packages bring without naming a version."""
    return tuple(f"{name} {_version(name)}" for name in ("numpy", *environments.frameworks()[framework].brings))


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:  # part of a package of another name, whose version counts, or not here
        return ""
