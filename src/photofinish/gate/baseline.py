"""What a candidate is compared with: itself in another version, in another environment, or as it was when it was raced
before; or another contender."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from photofinish import environments
from photofinish.environments import Choice, Environment
from photofinish.errors import UsageError, at_home
from photofinish.store import FILE, Store
from photofinish.values import Contender, Skip

_VERSION = re.compile(r"\d[\w.]*")
FORMS = ("write a version (2.12.1), a contender (torch@2.12.1:eager), a virtual environment, the folder of a store, or "
         "git:REVISION")


@dataclass(frozen=True)
class Pair:
    """Two contenders to race, and where the first runs if that has to be said ("torch:eager#1=/path/to/venv")."""

    baseline: str
    candidate: str
    places: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """The baseline, and where it runs if it has the candidate's name."""
        return " in ".join((self.baseline, *(each.removeprefix(f"{self.baseline}#1=") for each in self.places)))


def pairs(text: str, contenders: Sequence[str], choice: Choice, device: str = "cpu") -> tuple[list[Pair], list[Skip]]:
    """Each candidate with its baseline, and those that have none or are what they were. Without `contenders` the
    candidates are those that the baseline names. Raises UsageError."""
    if not text.strip():
        raise UsageError("--baseline names nothing", FORMS)
    kept = at_home(text)
    if (kept / FILE).is_file():
        wanted = [_plain(each) for each in environments.expand(*contenders, device=device)]
        return _stored(Store(kept, only_read=True), wanted, choice)
    if kept.exists():
        return _each(text, contenders, device, lambda each: Pair(each.name, each.name, (f"{each.name}#1={kept}",))), []
    if "/" in text.partition("[")[0]:  # no contender, and no version
        raise UsageError(f"--baseline {text}: there is no such folder", FORMS)
    if _VERSION.fullmatch(text):
        return _each(text, contenders, device, lambda each: _other(_versioned(each, text), each)), []
    try:
        other = _plain(environments.checked(text, device))
    except UsageError as error:
        contender = any(mark in text for mark in "@:[+")  # else it may have been meant as anything
        raise UsageError(f"--baseline {text}: {error.message}", (contender and error.hint) or FORMS) from error
    return _each(text, contenders or [replace(other, version="").name], device, lambda each: _other(other, each)), []


def _each(text: str, contenders: Sequence[str], device: str, pair: Callable[[Contender], Pair]) -> list[Pair]:
    if not contenders:
        raise UsageError(f"--baseline {text} does not say whose", "name the candidates: --contenders torch:eager")
    return [pair(_plain(each)) for each in environments.expand(*contenders, device=device)]


def _other(baseline: Contender, candidate: Contender) -> Pair:
    if baseline == candidate:
        raise UsageError(f"{candidate.name} would race against itself", FORMS)
    return Pair(baseline.name, candidate.name)


def _versioned(contender: Contender, version: str) -> Contender:
    environments.check_version(contender.framework, version)
    return replace(contender, version=version)


def _plain(contender: Contender) -> Contender:
    return replace(contender, copy=1)


def _stored(store: Store, wanted: Sequence[Contender], choice: Choice) -> tuple[list[Pair], list[Skip]]:
    """In the versions in which each was raced last, on whatever model."""
    versions = dict(_raced(store))
    found: list[Pair] = []
    skipped: list[Skip] = []
    for each in wanted or [Contender.parse(name) for name in versions]:
        version = versions.get(each.name)
        if version is None:
            known = ", ".join(versions) or "nobody"
            skipped.append(Skip(each.name, f"the baseline has no race of it, only of {known}"))
        elif version == _present(each, choice):
            skipped.append(Skip(each.name, f"it is what it was: version {version}"))
        else:
            found.append(Pair(_versioned(each, version).name, each.name))
    return found, skipped


def _raced(store: Store) -> Iterator[tuple[str, str]]:
    """(contender, version) of every race, the latest last."""
    for _, _, races in store.sessions():
        for race in (store.read(each, ("launches",)) for each in races):  # the head, and few records
            for name, facts in race.versions.items():
                contender = Contender.parse(name)
                if contender.copy == 1 and not contender.version:
                    yield name, str(facts.get("version", "")).partition("+")[0]


def _present(contender: Contender, choice: Choice) -> str:
    """The version in which it would race now, "" where an environment has yet to be made."""
    found = environments.resolve(contender, choice)
    return found.version.partition("+")[0] if isinstance(found, Environment) else ""
