"""What an environment for a contender is made of: the recipe of its version, the packages, the pins, the Python."""

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from photofinish.environments import cache, interpreters, npm, pins
from photofinish.environments.headers import FrameworkInfo, Recipe, main_of, package_of
from photofinish.environments.interpreters import Interpreter
from photofinish.values import Contender


@dataclass(frozen=True)
class Order:
    """An environment that can be made. `version` is the one asked for ("" for the usual); `pins` are exact versions
    for whatever of them gets installed."""

    framework: FrameworkInfo
    version: str
    recipe: Recipe
    requirements: tuple[str, ...]
    pins: tuple[str, ...]
    interpreter: Interpreter

    @property
    def name(self) -> str:
        """As a contender spells it: torch, torch@2.8.0."""
        return spelled(self.framework, self.version)

    @property
    def title(self) -> str:
        return f"{self.framework.title} {self.version}".rstrip()

    @property
    def asked(self) -> tuple[str, ...]:
        """All that installers are asked for."""
        return self.requirements + self.recipe.npm

    @property
    def key(self) -> str:
        """A digest of everything that decides what is in it."""
        parts = [self.recipe.build_dependencies, self.recipe.build_isolation, self.requirements, self.pins,
                 str(self.interpreter.base), self.interpreter.version, self.interpreter.platform, *self.recipe.npm]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    @property
    def folder(self) -> Path:
        return cache.root() / f"{self.name}-{self.key}"


def order(contender: Contender, framework: FrameworkInfo) -> Order | Recipe:
    """The environment for a contender, as it can be made here; the recipe alone if there is no Python for it.

    The option `build` adds the package whose model it names.
    """
    recipe = recipe_of(framework, contender.version)
    interpreter = interpreters.choose(recipe.python)
    if interpreter is None:
        return recipe
    source = dict(contender.options).get("build", "").partition(":")[0]
    more = ((framework.builds[source],) if source else ()) + _for_the_worker(framework, interpreter)
    there = {canonicalize_name(package_of(each)) for each in recipe.dependencies}
    more = tuple(each for each in more if canonicalize_name(package_of(each)) not in there)
    requirements = recipe.dependencies + more
    known = pins.read(spelled(framework, contender.version), requirements + recipe.npm, interpreter.minor)
    return Order(framework, contender.version, recipe, requirements, known, interpreter)


def recipe_of(framework: FrameworkInfo, version: str = "") -> Recipe:
    """The recipe for a version: the one whose range holds it, else the usual one (how large another version is than
    the usual one nobody has measured). The framework's main package is pinned to the version."""
    if not version:
        return framework.recipe
    found = framework.recipe_for(version)
    if found is framework.recipe:
        found = replace(found, download=0, disk=0)
    main = main_of(framework.name, found)
    if found.npm:
        return replace(found, npm=(npm.spelled(main, version), *found.npm[1:]))
    return replace(found, dependencies=tuple(_pinned(each, version) if package_of(each) == main else each
                                             for each in found.dependencies))


def spelled(framework: FrameworkInfo, version: str) -> str:
    return framework.name + (f"@{version}" if version else "")


def _pinned(requirement: str, version: str) -> str:
    found = Requirement(requirement)
    found.specifier = SpecifierSet(f"=={version}")
    return str(found)


def _for_the_worker(framework: FrameworkInfo, interpreter: Interpreter) -> tuple[str, ...]:
    """What the worker itself needs."""
    if framework.language != "python":
        return ()
    return ("numpy", "dataclasses") if Version(interpreter.version) < Version("3.7") else ("numpy",)
