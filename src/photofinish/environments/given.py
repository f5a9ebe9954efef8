"""What the user says about environments: the Pythons of their own, and whether others may be made."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from photofinish.environments import builds, headers, interpreters
from photofinish.environments.cache import spelled
from photofinish.environments.contenders import known
from photofinish.environments.environment import GIVEN, Environment, is_asked
from photofinish.environments.make import Missing
from photofinish.environments.recipes import beside, source_of
from photofinish.errors import UsageError, at_home, unknown
from photofinish.values import Contender, SpellingError


def may_make() -> bool:
    """Whether environments are made on demand: PHOTOFINISH_ENVIRONMENTS=never forbids it. Raises UsageError where it
    says something else: who meant to forbid it must not find gigabytes downloaded."""
    said = os.environ.get("PHOTOFINISH_ENVIRONMENTS", "").strip().lower()
    if said not in ("", "never"):
        raise UsageError(f"PHOTOFINISH_ENVIRONMENTS={said} is unknown here", "say never, or unset it")
    return said != "never"


@dataclass(frozen=True)
class Choice:
    """What the user says about environments: the Pythons of their own, by what contenders call them (torch,
    torch@2.8.0, or a single contender's name), and whether others may be made."""

    given: Mapping[str, Path] = field(default_factory=dict)
    make: bool = field(default_factory=may_make)

    @classmethod
    def of(cls, given: Mapping[str, Path | str] | Sequence[str] = (), make: bool | None = None) -> "Choice":
        """From a mapping, or from texts such as "torch=/path/to/venv". Raises UsageError."""
        pairs = given.items() if isinstance(given, Mapping) else map(_pair, given)
        return cls({whose(name): _python_at(name, Path(path)) for name, path in pairs},
                   may_make() if make is None else make)

    def insist(self, contenders: Sequence[Contender], exactly: bool = True) -> None:
        """Raises UsageError if an environment was named for somebody who is none of these, and would not be used;
        where others may join them (not `exactly`), if it is one for another framework."""
        called = [name for each in contenders for name in (_callings(each) if exactly else (each.framework,))]
        told = dict.fromkeys(name for name in called if not name.endswith("#1"))
        for name in self.given:
            if (name if exactly else Contender.parse(name).framework) not in called:
                raise UsageError(f"--env {name}: nobody of that name takes part",
                                 f"leave it out, or name one of {', '.join(told)}")


def named(contender: Contender, choice: Choice) -> Environment | Missing | None:
    """The user's own environment for it, None if they named none. The one named for a framework serves every version
    that it has, the one named for a version that version alone, the one named for a contender all entries of it, or the
    one that is numbered ("torch:eager#1") and nobody else."""
    framework = headers.frameworks()[contender.framework]
    name = spelled(framework.name, contender.version)
    asked = next((each for each in _callings(contender) if each in choice.given), None)
    if asked is None:
        return None
    python = choice.given[asked]
    if framework.language != "python":
        return Missing(f"a worker of {framework.title} finds its packages in an environment made for it",
                       f"leave --env {name} out")
    found = interpreters.examine(python)
    if found is None:
        return Missing(f"{python} does not start as a CPython 3", f"name another with --env {name}=PATH")
    needed = {framework.module: framework.requirement, "numpy": "numpy", **beside(contender, framework)}
    source = source_of(contender)
    if source:
        needed[source.partition(".")[0]] = framework.builds[source]
    for module, requirement in needed.items():
        if not found.has(module):
            return Missing(f"{python} has no {module}", f"{python} -m pip install '{requirement}'")
    packages = found.packages()
    names = (framework.module.replace("_", "-"), *builds.names(framework.main))
    version = next((packages[each] for each in names if each in packages), "unknown")
    if is_asked(version, contender.version):
        return Environment(python, framework, version, GIVEN, found.version, packages)
    if asked == framework.name != name:
        return None
    return Missing(f"{python} has {framework.title} {version}, not {contender.version}",
                   f"name another with --env {name}=PATH")


def _callings(contender: Contender) -> tuple[str, ...]:
    """The names that an environment can be given to it by, the narrowest first."""
    plain = replace(contender, copy=1).name
    return (f"{plain}#{contender.copy}", plain, spelled(contender.framework, contender.version), contender.framework)


def _pair(text: str) -> tuple[str, str]:
    found = re.fullmatch(r"([^=\[]+(?:\[[^\]]*\])?(?:#\d+)?)=(.+)", text)
    if found is None:
        raise UsageError(f"--env {text} does not say which environment is whose", "write --env torch=/path/to/venv")
    return found[1], found[2]


def whose(name: str) -> str:
    """Who is called so, as contenders are spelled. Raises UsageError for a name that nobody can have."""
    try:
        contender = Contender.parse(name)
    except SpellingError as error:
        raise UsageError(str(error)) from error
    framework = known(contender.framework)
    modes = framework.modes_of(contender.version)
    if contender.mode and contender.mode not in modes:
        raise unknown(f"mode of {framework.name}", contender.mode, modes)
    return f"{contender.name}#1" if contender.copy == 1 and "#" in name else contender.name


def _python_at(name: str, path: Path) -> Path:
    """The interpreter of a virtual environment or of a conda prefix, or the interpreter that was named itself."""
    place = at_home(path).absolute()  # not resolved: the link tells Python which environment it is
    python = place / "bin" / "python" if place.is_dir() else place
    if not os.access(python, os.X_OK):
        raise UsageError(f"--env {name}={path}: there is no Python",
                         "name a virtual environment, a conda prefix or a Python")
    return python
