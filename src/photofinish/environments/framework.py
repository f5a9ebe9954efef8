"""A framework as its header describes it: how an environment of it is made, what it can do, and what a contender of it
is."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from packaging.specifiers import SpecifierSet

from photofinish.environments import npm
from photofinish.environments.switches import is_switch
from photofinish.values import Contender

TASKS = ("train", "infer")
PIPELINE_TASKS = ("epoch",)  # those of a loop over a data set, and of who says how one is fed
STRATEGY_TASKS = ("train",)  # of several processes that train one model
HOOK = "hook"  # the option of a strategy that says what becomes of gradients on their way
ACCUMULATE = "accumulate"  # the one that says in how many parts each process takes its share of a batch


@dataclass(frozen=True)
class Recipe:
    """How an environment of a framework is made.

    `version` is the range of the framework's versions it is for ("" for the usual one); `build_dependencies` are
    installed before the rest, which is then built among them if `build_isolation` is off, with `build_environment`
    among the variables and `compiler_flags` after those that a package gives the C++ compiler; `system` are programs,
    libraries or Debian packages that must be there, `build_system` those that only its installation takes; `download`
    and `disk` are bytes, 0 where nobody has measured them; `npm` are packages for Node.js ("@scope/name@1.2.3").
    `modes` are those that these versions have, none listed meaning all; `driver` is the module of a part that drives
    them ("" for the framework's own file) and `layers` one that tells what they make of each layer ("" where that is
    the same as today); `hazards` are told before they race.
    """

    python: str
    dependencies: tuple[str, ...]
    version: str = ""
    build_dependencies: tuple[str, ...] = ()
    build_isolation: bool = True
    system: tuple[str, ...] = ()
    download: int = 0
    disk: int = 0
    npm: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    driver: str = ""
    layers: str = ""
    hazards: str = ""
    build_environment: dict[str, str] = field(default_factory=dict)
    compiler_flags: str = ""
    build_system: tuple[str, ...] = ()


@dataclass(frozen=True)
class Strategy:
    """The modes and devices in which several processes may train one model together by it (or several devices of
    `one_process`, to which each layer may be of the `whole_batch`); the `options` that it adds; what a `hook` among
    these makes of `gradients` that are sent: a format, or "approximated"; the `recipe` of its environment, None where
    that is the framework's."""

    modes: tuple[str, ...]
    devices: tuple[str, ...]
    options: dict[str, tuple[str, ...]] = field(default_factory=dict)
    gradients: dict[str, str] = field(default_factory=dict)
    never_run: bool = False
    one_process: bool = False
    whole_batch: bool = False
    recipe: Recipe | None = None


@dataclass(frozen=True)
class FrameworkInfo:
    """A framework as its header describes it. `options` maps a name to its allowed values, none listed meaning any and
    "N" a whole number; the first mode is the default; in `environment`, variables of its workers, "{cache}" stands for
    the race's own folder of compile caches; `builds` maps the packages whose models the option `build` may name to what
    installs them; `recipes` are for other versions than the usual one; `imported` is what Python imports where that
    does not follow from the packages; `tasks` are those of a mode that has not all of them; `mode_devices` are those of
    a mode that does not run on all, `precisions` the format of one that computes in a coarser one and the mode whose
    code it is; `compiles` maps the modes that compile for long to "seconds" or "minutes"; `variables` maps an option to
    its values that are variables of the workers, and those to these; `language` is what runs its worker, "python" or
    "node"; `brings` what its packages install beside themselves and its file imports (Keras comes with TensorFlow);
    `loops` maps a loop over a data set to the mode whose steps it takes; `pipeline` are the options of the pipeline
    that feeds one; `libraries` maps the names of shared libraries that its binaries ask for to those of the system
    that stand in for them; `strategies` are those by which several processes, or devices, train one model; `lines` are
    what a user writes for a setting ("layout=channels_last", "threads"); `unused` maps one to a part of its kernels'
    names, and to what is to be known where none of them runs; `never_run` are modes that nobody has run, and
    devices on which nobody has run any; `of_training` are options that change nothing in inference."""

    name: str
    title: str
    recipe: Recipe
    modes: tuple[str, ...]
    devices: tuple[str, ...]
    options: dict[str, tuple[str, ...]]
    environment: dict[str, str] = field(default_factory=dict)
    builds: dict[str, str] = field(default_factory=dict)
    recipes: tuple[Recipe, ...] = ()
    imported: str = ""
    tasks: dict[str, tuple[str, ...]] = field(default_factory=dict)
    mode_devices: dict[str, tuple[str, ...]] = field(default_factory=dict)
    precisions: dict[str, tuple[str, str]] = field(default_factory=dict)
    compiles: dict[str, str] = field(default_factory=dict)
    variables: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    language: str = "python"
    brings: tuple[str, ...] = ()
    loops: dict[str, str] = field(default_factory=dict)
    pipeline: dict[str, tuple[str, ...]] = field(default_factory=dict)
    libraries: dict[str, str] = field(default_factory=dict)
    strategies: dict[str, Strategy] = field(default_factory=dict)
    lines: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unused: dict[str, tuple[str, str]] = field(default_factory=dict)
    never_run: tuple[str, ...] = ()
    of_training: tuple[str, ...] = ()

    @property
    def python(self) -> str:
        return self.recipe.python

    @property
    def dependencies(self) -> tuple[str, ...]:
        return self.recipe.dependencies

    def recipe_for(self, version: str) -> Recipe:
        """The recipe whose range holds the version; the usual one if there is none."""
        if not re.match(r"\d", version):
            return self.recipe
        return next((each for each in self.recipes if SpecifierSet(each.version).contains(version, prereleases=True)),
                    self.recipe)

    def modes_of(self, version: str) -> tuple[str, ...]:
        """Those that this version has, the default first; loops only where it has all."""
        return self.recipe_for(version).modes or (*self.modes, *self.loops)

    @property
    def default_mode(self) -> str:
        return self.modes[0]

    def driver_of(self, version: str, strategy: str = "") -> str:
        """The module of a part that drives this version, or one process of this strategy; "" where the framework's own
        file does."""
        own = self.name.replace("-", "_")
        return f"_{own}.strategies.{strategy}" if strategy else self.recipe_for(version).driver

    def processes_of(self, contender: Contender) -> int:
        """How many it runs in."""
        strategy = self.strategies.get(contender.strategy)
        return 1 if strategy is None or strategy.one_process else contender.world

    def slices_of(self, contender: Contender) -> int:
        """Into how many equal parts it divides a batch: one for each process, or so many that each takes in turn."""
        return contender.world * int(dict(contender.options).get(ACCUMULATE, "1"))

    def tasks_of(self, mode: str) -> tuple[str, ...]:
        """What a contender in that mode can be timed at."""
        return PIPELINE_TASKS if mode in self.loops else self.tasks.get(mode, TASKS)

    def devices_of(self, mode: str) -> tuple[str, ...]:
        """Where a contender in that mode can run."""
        return self.mode_devices.get(self.loops.get(mode, mode), self.devices)

    def stepping(self, contender: Contender) -> Contender:
        """Whose steps that contender takes: without a loop around them and options of the pipeline before them."""
        return replace(contender, mode=self.loops.get(contender.mode, contender.mode),
                       options=tuple(each for each in contender.options if each[0] not in self.pipeline))

    def feeding(self, contender: Contender) -> dict[str, Any]:
        """What its worker is told when it is given a data set: the loop it runs itself, if any, and those options."""
        return {"loop": contender.mode if contender.mode in self.loops else "",
                "options": {name: value for name, value in contender.options if name in self.pipeline}}

    def environment_with(self, options: Sequence[tuple[str, str]]) -> dict[str, str]:
        """The variables of a worker whose contender has these options."""
        chosen = [{name: value} if is_switch(name) else self.variables.get(name, {}).get(value, {})
                  for name, value in options]
        return {name: value for each in [self.environment, *chosen] for name, value in each.items()}

    def options_told(self, options: Sequence[tuple[str, str]]) -> dict[str, str]:
        """The options that a worker is told of: those that are not variables it was started with."""
        return {name: value for name, value in options if name not in self.variables and not is_switch(name)}

    @property
    def packages(self) -> tuple[str, ...]:
        """The names of its dependencies, without versions."""
        return tuple(map(package_of, self.dependencies))

    @property
    def main(self) -> str:
        """The package whose version is the framework's."""
        return main_of(self.name, self.recipe)

    @property
    def requirement(self) -> str:
        """What installs the main package."""
        return next((each for each in self.dependencies if package_of(each) == self.main), self.main)

    @property
    def module(self) -> str:
        """What Python imports: the framework's own name if a package starts with it (tensorflow-cpu)."""
        own = self.name if self.main.startswith(self.name) else self.main.replace("-", "_")
        return self.imported or own

    @property
    def imports(self) -> frozenset[str]:
        """What its files may import: its packages as Python calls them, those of its strategies, and what they
        `bring`."""
        more = [package_of(each) for strategy in self.strategies.values() if strategy.recipe
                for each in strategy.recipe.dependencies]
        plain = {re.sub(r"[-_](cpu|gpu)$", "", name).replace("-", "_") for name in (*self.packages, *more)}
        return frozenset({self.module, *plain, *self.brings} - {"numpy"})

    @property
    def in_house(self) -> bool:
        """True for the referee's reference and the rehearsal: they need nothing but NumPy."""
        return self.packages == ("numpy",)


def main_of(framework: str, recipe: Recipe) -> str:
    """Which of a framework's packages has its version: npm's first where its worker is JavaScript, else one that is
    called like it (tensorflow-cpu), else the first."""
    if recipe.npm:
        return npm.package_of(recipe.npm[0])
    packages = list(map(package_of, recipe.dependencies))
    return next((each for each in packages if each.startswith(framework)), packages[0] if packages else framework)


def package_of(requirement: str) -> str:
    """The name in a requirement: "mlx" in "mlx[cpu]==0.32.4"."""
    return re.split(r"[^A-Za-z0-9._-]", requirement)[0]
