"""What an environment for a contender is made of: the recipe of its version, the packages, the pins, the Python."""

import hashlib
import json
import shlex
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from photofinish.environments import cache, interpreters, npm, pins
from photofinish.environments.cache import spelled
from photofinish.environments.framework import FrameworkInfo, Recipe, main_of, package_of
from photofinish.environments.interpreters import Interpreter
from photofinish.values import Contender


@dataclass(frozen=True)
class Order:
    """An environment that can be made. `version` is the one asked for ("" for the usual), `strategy` the one that has a
    recipe of its own, if it is for that, `source` the package whose models it is for, if any; `pins` are exact versions
    for whatever of them gets installed."""

    framework: FrameworkInfo
    version: str
    recipe: Recipe
    requirements: tuple[str, ...]
    pins: tuple[str, ...]
    interpreter: Interpreter
    strategy: str = ""
    source: str = ""

    @property
    def name(self) -> str:
        return spelled(self.framework.name, self.version, self.strategy, self.source)

    @property
    def title(self) -> str:
        return titled(self.framework, self.version, self.strategy, self.source)

    @property
    def asked(self) -> tuple[str, ...]:
        """All that installers are asked for."""
        return self.requirements + self.recipe.npm

    @property
    def key(self) -> str:
        """A digest of everything that decides what is in it."""
        parts = [self.recipe.build_dependencies, self.recipe.build_isolation, self.requirements, self.pins,
                 str(self.interpreter.base), self.interpreter.version, self.interpreter.platform, *self.recipe.npm]
        if self.recipe.build_environment or self.recipe.compiler_flags:
            parts += [self.recipe.build_environment, self.recipe.compiler_flags]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    @property
    def folder(self) -> Path:
        plain = spelled(self.framework.name, self.version, self.strategy)  # brackets in a path are a pattern to many
        return cache.root() / f"{plain}-{self.key}"


def order(contender: Contender, framework: FrameworkInfo) -> Order | Recipe:
    """The environment for a contender, as it can be made here; the recipe alone if there is no Python for it.

    The option `build` adds the package whose model it names.
    """
    recipe = recipe_of(framework, contender.version, contender.strategy)
    interpreter = interpreters.choose(recipe.python)
    if interpreter is None:
        return recipe
    source = source_of(contender)
    more = ((framework.builds[source],) if source else ()) + _for_the_worker(framework, interpreter)
    there = {canonicalize_name(package_of(each)) for each in recipe.dependencies}
    more = tuple(each for each in more if canonicalize_name(package_of(each)) not in there)
    requirements = recipe.dependencies + more
    known = pins.read(home_of(contender, framework), requirements + recipe.npm, interpreter.minor)
    return Order(framework, contender.version, recipe, requirements, known, interpreter, apart(contender, framework),
                 source)


def recipe_of(framework: FrameworkInfo, version: str = "", strategy: str = "") -> Recipe:
    """The strategy's own recipe if it has one; else that for a version: the one whose range holds it, else the usual
    one (how large another version is than the usual one nobody has measured). The framework's main package is pinned
    to the version."""
    usual = (framework.strategies[strategy].recipe if strategy else None) or framework.recipe
    if not version:
        return usual
    found = framework.recipe_for(version)
    if found is framework.recipe:
        found = replace(usual, download=0, disk=0)
    main = main_of(framework.name, found)
    if found.npm:
        return replace(found, npm=(npm.spelled(main, version), *found.npm[1:]))
    there = [tuple(_pinned(each, version) if package_of(each) == main else each for each in group)
             for group in (found.dependencies, found.build_dependencies)]
    return replace(found, dependencies=there[0], build_dependencies=there[1])


def apart(contender: Contender, framework: FrameworkInfo) -> str:
    """The contender's strategy if it has an environment of its own, else ""."""
    return contender.strategy if contender.strategy and framework.strategies[contender.strategy].recipe else ""


def source_of(contender: Contender) -> str:
    """The package whose model the option `build` asks for, "" without it."""
    return dict(contender.options).get("build", "").partition(":")[0]


def home_of(contender: Contender, framework: FrameworkInfo) -> str:
    """The name of the environment that is made for a contender."""
    return spelled(framework.name, contender.version, apart(contender, framework), source_of(contender))


def creating(name: str) -> str:
    """The command that makes the environment of that name."""
    return f"photofinish env create {shlex.quote(name)}"


def beside(contender: Contender, framework: FrameworkInfo) -> dict[str, str]:
    """What the contender's strategy needs beside the framework: what Python imports, and what installs it."""
    strategy = apart(contender, framework)
    found = recipe_of(framework, strategy=strategy).dependencies if strategy else ()
    return {package_of(each).replace("-", "_"): each for each in found if package_of(each) not in framework.packages}


def titled(framework: FrameworkInfo, version: str = "", strategy: str = "", source: str = "") -> str:
    more = " and ".join(filter(None, (strategy.capitalize(), source)))
    return " ".join(filter(None, (framework.title, version, f"with {more}" if more else "")))


def _pinned(requirement: str, version: str) -> str:
    found = Requirement(requirement)
    found.specifier = SpecifierSet(f"=={version}")
    return str(found)


def _for_the_worker(framework: FrameworkInfo, interpreter: Interpreter) -> tuple[str, ...]:
    """What the worker itself needs."""
    if framework.language != "python":
        return ()
    return ("numpy", "dataclasses") if Version(interpreter.version) < Version("3.7") else ("numpy",)
