"""What was proven before, under a digest of all that decided it: a race does not earn a certificate twice, and tests do
not either.

proven.json holds a digest for each case that passed, written by `make prove`. It is another as soon as the graph, the
native source written of it, what drives it, the reference, what judges, or a framework's version is another; then the
case is proven again. Left out are the processor, so that each kind of machine does not prove all again, and how
test_models.py asks: whoever changes its draws or seeds runs `make prove`.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from photofinish import environments
from photofinish.graph import Graph
from photofinish.runner.parcel import adapter_digest, rules_digest
from photofinish.values import Contender

FILE = Path(__file__).with_name("proven.json")
AGAIN = "PHOTOFINISH_PROVE"  # the variable that asks for all proofs, and has what passes written to FILE
PROPERTY = "proven"  # by which a worker of the tests tells what it tried: a case and its digest


def digest(graph: Graph, contender: Contender) -> str:
    """SHA-256 of what decides whether the contender's proof of the graph passes."""
    of = (contender.framework, graph, contender.mode, contender.options)
    decided = [graph.digest, adapter_digest("numpy", graph), adapter_digest(*of), rules_digest(),
               *_versions(contender.framework)]
    return hashlib.sha256("/".join(decided).encode()).hexdigest()


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
