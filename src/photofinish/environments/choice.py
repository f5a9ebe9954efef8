"""Which environment a contender runs in: one that the user named, this Python, one that was made, one to be made.

`resolve` says what is there now and makes nothing; `obtain` makes what is missing.
"""

import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from ctypes.util import find_library
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from photofinish.environments import builds, cache, headers, interpreters, make, recipes, releases
from photofinish.environments.cache import spelled
from photofinish.environments.contenders import everybody, known
from photofinish.environments.framework import FrameworkInfo
from photofinish.environments.make import Listener, Missing
from photofinish.environments.recipes import Order, apart, beside, creating, home_of, source_of, titled
from photofinish.errors import UsageError, at_home, unknown
from photofinish.values import Contender, SpellingError

OWN, GIVEN, MADE = "this Python", "given", "made"
DEBIAN = {"c++": "g++", "node": "nodejs", "libmpi": "libopenmpi3"}  # what has a package of another name
DRIVER = "nvidia-smi"  # comes with it: installing that alone brings no GPU


@dataclass(frozen=True)
class Environment:
    """Where a contender can run. `origin` is one of OWN, GIVEN and MADE; `packages` are empty for OWN, whose record
    reads them when they are wanted."""

    python: Path
    framework: FrameworkInfo
    version: str
    origin: str = OWN
    python_version: str = ""
    packages: Mapping[str, str] = field(default_factory=dict)

    @property
    def driver(self) -> str:
        """The module of a part that drives this version, "" where the framework's own file does."""
        return self.framework.driver_of(self.version)

    @property
    def hazards(self) -> str:
        """What to know of this version before one believes a race of it."""
        return self.framework.recipe_for(self.version).hazards

    def record(self) -> dict[str, Any]:
        """What a result keeps of it: where it came from, and the exact version of everything in it. No path: that
        would name a person."""
        if self.origin == OWN:
            return {"origin": OWN, "python": sys.version.split()[0], "packages": _own_packages()}
        return {"origin": self.origin, "python": self.python_version, "packages": dict(self.packages)}


def may_make() -> bool:
    """Whether environments are made on demand: PHOTOFINISH_ENVIRONMENTS=never forbids it."""
    return os.environ.get("PHOTOFINISH_ENVIRONMENTS", "") != "never"


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


def resolve(contender: Contender, choice: Choice | None = None) -> Environment | Missing:
    """The environment a contender would run in now, or why there is none. Nothing is made."""
    found = look(contender, choice or Choice())
    if not isinstance(found, Order):
        return found
    there = _found(found)
    return own(contender) if there is None else _made(there, found.framework)


def held(contender: Contender) -> Environment | Missing:
    """As `resolve`, and nobody removes what was made for it while this process lives."""
    found = look(contender, Choice())
    if not isinstance(found, Order):
        return found
    try:
        there = cache.hold(found.folder)
    except (OSError, UsageError):  # where nothing can be locked, and where nobody knows a folder for it
        there = None
    return own(contender) if there is None else _made(there, found.framework)


def obtain(contender: Contender, choice: Choice, listener: Listener) -> Environment | Missing:
    """As `resolve`, but what can be made is made, and held: nobody removes it while this process lives."""
    found = foresee(contender, choice)
    if not isinstance(found, Order):
        return found
    there = have(found, listener)
    return there if isinstance(there, Missing) else _made(there, found.framework)


def able(found: Environment | Missing | Order, device: str) -> Environment | Missing | Order:
    """What was found for a contender, or why it sees no such device."""
    if isinstance(found, Missing) or (isinstance(found, Environment) and found.origin != MADE):
        return found
    reason = builds.lacks(found.framework, device)
    return Missing(reason, f"name one that sees {device} with --env {found.framework.name}=PATH") if reason else found


def foresee(contender: Contender, choice: Choice) -> Environment | Missing | Order:
    """What `obtain` will do, as far as can be told before anything is made."""
    found = look(contender, choice)
    forbidden = isinstance(found, Order) and not choice.make and _found(found) is None
    return own(contender) if forbidden else found


def _found(order: Order) -> cache.Made | None:
    """The environment if it has been made; nowhere is there one, where nobody knows a folder for it."""
    try:
        return cache.read(order.folder)
    except UsageError:
        return None


def have(order: Order, listener: Listener) -> cache.Made | Missing:
    """The environment as ordered, made if it is not there, and held. Older ones that nobody uses make room.

    Raises UsageError if the limit of the cache cannot be read.
    """
    most = cache.limit()
    try:
        while (there := cache.hold(order.folder)) is None:
            made = _unmakeable(order) or make.make(order, listener)
            if isinstance(made, Missing):
                return made
            if (there := cache.hold(order.folder)) is not None:
                break
            time.sleep(make.PATIENCE)  # it is being removed, or what its installer started still has the lock
    except BrokenPipeError:  # of who is told
        raise
    except OSError as error:
        place = error.filename2 or error.filename or cache.root()
        return Missing(f"no environment for {order.title} can be made: {error.strerror or error}: {place}",
                       "choose a place that can be written, with room enough, by PHOTOFINISH_CACHE=FOLDER")
    cache.trim(most)
    return there


def look(contender: Contender, choice: Choice) -> Environment | Missing | Order:
    """The user's environment or this Python, if the contender can run there; else the environment to be had."""
    settled = _lacking(contender) or _given(contender, choice)
    if settled is not None:
        return settled
    here = own(contender)
    if isinstance(here, Environment):
        return here
    order = order_for(contender)
    if isinstance(order, Order) and (lacking := _unmakeable(order)) and _found(order) is None:
        return lacking
    return order


def order_for(contender: Contender) -> Order | Missing:
    """The environment that could be made for a contender, wherever else it may run."""
    framework = headers.frameworks()[contender.framework]
    lacking = _unreleased(framework, contender.version) or _lacking(contender)
    if lacking is not None:
        return lacking
    found = recipes.order(contender, framework)
    if isinstance(found, Order):
        return found
    title = titled(framework, contender.version)
    return Missing(f"{title} needs Python {found.python}; none was found on PATH, under pyenv, uv or conda",
                   f"install one, for example: {_installing(found.python)}")


def _unreleased(framework: FrameworkInfo, version: str) -> Missing | None:
    """A version that never came out, seen before an installer looks for it."""
    if not version or not releases.unheard_of(framework.name, version):
        return None
    known = list(releases.of(framework.name))
    near = " or ".join(spelled(framework.name, each) for each in releases.around(framework.name, version))
    return Missing(f"{framework.title} has no release {version}",
                   f"did you mean {near}? (its releases: {known[0]} to {known[-1]}; for a build of your own: "
                   f"--env {spelled(framework.name, version)}=PATH)")


def _lacking(contender: Contender) -> Missing | None:
    """What the framework needs of the system and does not find there."""
    framework = headers.frameworks()[contender.framework]
    recipe = recipes.recipe_of(framework, contender.version, contender.strategy)
    return _absent(recipe.system, titled(framework, strategy=apart(contender, framework)))


def _unmakeable(order: Order) -> Missing | None:
    """What making an environment takes of the system and does not find there."""
    return _absent(order.recipe.build_system, f"making an environment for {order.title}")


def _absent(needed: Sequence[str], title: str) -> Missing | None:
    lacking = [each for each in needed if not _on_system(each)]
    packages = [DEBIAN.get(each, each) for each in lacking]
    if DRIVER in lacking:
        return Missing(f"{title} needs an NVIDIA GPU, and no driver of one is here ({DRIVER} is missing)",
                       "run it on a machine that has one")
    return Missing(f"{title} needs {' and '.join(lacking)}, which this machine lacks",
                   f"install it, on Debian with: apt-get install {' '.join(packages)}") if lacking else None


def own(contender: Contender) -> Environment | Missing:
    """This Python, if it has the framework in the wanted version and what else the contender asks for."""
    framework = headers.frameworks()[contender.framework]
    version = installed_version(framework)
    here = sys.version.split()[0]
    if version is None:
        create = creating(home_of(contender, framework))
        if framework.language != "python":
            return Missing(f"{framework.title} runs in Node.js, in an environment of its own", create)
        return Missing(f"{framework.title} is not installed for this Python {here}", create)
    if not _is(version, contender.version):
        return Missing(f"{framework.title} {contender.version} is not installed: this Python has {version}",
                       creating(home_of(contender, framework)))
    for module in beside(contender, framework):
        if importlib.util.find_spec(module) is None:
            return Missing(f"{module} is not installed for this Python {here}",
                           creating(home_of(contender, framework)))
    source = source_of(contender)
    if source and importlib.util.find_spec(source.partition(".")[0]) is None:
        return Missing(f"{source} is not installed for this Python {here}", f"pip install '{framework.builds[source]}'")
    return Environment(Path(sys.executable), framework, version)


def installed_version(framework: FrameworkInfo) -> str | None:
    """The version this Python would import, found without importing; None if it, or another of its packages, is not
    there."""
    try:
        spec = importlib.util.find_spec(framework.module) if framework.language == "python" else None
    except ImportError:
        return None
    others = [each for each in framework.packages if each != framework.main]
    if spec is None or not all(map(_is_there, others)):
        return None
    # A folder that no package is recorded of may be what an uninstalled one left, or anybody's of that name.
    known = map(_version, (framework.module, *builds.names(framework.main)))
    return next(filter(None, known), "unknown" if spec.origin else None)


def cure(framework: FrameworkInfo, version: str = "") -> str:
    """The command that makes it available, in an environment of its own: what it pins would change this Python's other
    packages."""
    return creating(spelled(framework.name, version))


def installed(choice: Choice | None = None, device: str = "cpu") -> list[Contender]:
    """Every framework that can race here on the device at once, in its default mode: nothing has to be made."""
    return [contender for contender in everybody(device)
            if isinstance(able(resolve(contender, choice), device), Environment)]


def at_hand(framework: str, choice: Choice) -> list[str]:
    """The versions of a framework that can race at once: this Python's, the user's own, those made for a version."""
    here = installed_version(headers.frameworks()[framework])
    given = [_given(Contender(framework, version=name.partition("@")[2]), choice) for name in choice.given
             if name.partition("@")[0] == framework]
    found = [here or "", *(each.version for each in given if isinstance(each, Environment)),
             *(made.asked for made in cache.everything() if made.name == spelled(framework, made.asked))]
    return list(dict.fromkeys(version.partition("+")[0] for version in found if version))


def _given(contender: Contender, choice: Choice) -> Environment | Missing | None:
    """The user's own environment for it, None if they named none. The one named for a framework serves every version
    that it has, the one named for a version that version alone, the one named for a contender all entries of it, or the
    one that is numbered ("torch:eager#1") and nobody else."""
    framework = headers.frameworks()[contender.framework]
    name = spelled(framework.name, contender.version)
    plain = replace(contender, copy=1).name
    asked = next((each for each in (f"{plain}#{contender.copy}", plain, name, framework.name) if each in choice.given),
                 None)
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
    if _is(version, contender.version):
        return Environment(python, framework, version, GIVEN, found.version, packages)
    if asked == framework.name != name:
        return None
    return Missing(f"{python} has {framework.title} {version}, not {contender.version}",
                   f"name another with --env {name}=PATH")


def _made(there: cache.Made, framework: FrameworkInfo) -> Environment:
    return Environment(there.python, framework, there.version, MADE, there.python_version, there.packages)


def _is(version: str, wanted: str) -> bool:
    """Whether that is the version asked for; "" asks for none."""
    return not wanted or version.partition("+")[0] == wanted


def _is_there(package: str) -> bool:
    """Whether it is installed, under any of its names."""
    return any(map(_is_whole, builds.names(package)))


def _is_whole(package: str) -> bool:
    """Whether it is installed, and what it says it is imported as can be found: its record may outlive it."""
    try:
        told = importlib.metadata.distribution(package).read_text("top_level.txt")  # some packages have none
    except importlib.metadata.PackageNotFoundError:
        return False
    modules = (told or "").split()
    return not modules or any(map(_can_be_found, modules))


def _can_be_found(module: str) -> bool:
    """Whether an import would find it. Who looks for pip in the usual way makes setuptools withdraw its distutils from
    this process, and whatever imports setuptools later is warned."""
    return (PathFinder if module == "pip" else importlib.util).find_spec(module) is not None


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


@lru_cache(maxsize=1)
def _own_packages() -> dict[str, str]:
    return interpreters.own().packages()


@lru_cache(maxsize=None)
def _on_system(name: str) -> bool:
    """Whether there is a program, a library or a Debian package of that name."""
    if shutil.which(name) or (name.startswith("lib") and find_library(name[3:])):
        return True
    if not shutil.which("dpkg-query"):
        return False
    told = subprocess.run(["dpkg-query", "--show", "--showformat=${Status}", name], capture_output=True, text=True)
    return told.stdout.endswith("ok installed")


def _installing(requires: str) -> str:
    """How to get the lowest Python of a range."""
    least = min((each.version for each in SpecifierSet(requires) if each.operator in (">=", "==", "~=")),
                key=Version, default="3.11")
    if Version(least) >= Version("3.8"):
        return f"uv python install {least}"
    return f"pyenv install {least}, or: conda create --name python{least} python={least}"  # Debian has none so old


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
