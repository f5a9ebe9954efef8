"""What each framework asks for, read from its file's header without importing it.

Headers are PEP 723 blocks: the Python range and packages any installer understands, and under
[tool.photofinish] what a race needs to know (title, modes, devices, options) and how an environment is made. A file in
JavaScript has the same block in its own comments, and says under `npm` which packages its worker imports; those of
Python are for programs that this worker calls.

    compiles = { jit = "seconds", nojit = "minutes" }   what a small model waits for before it runs, in these modes; in
                                                        others it runs at once. The parity tests try the first layer
                                                        by layer, those of "seconds" on one graph of all layers, and
                                                        leave those of "minutes" to tests of the framework's own.
    precisions = { bf16 = ["bfloat16", "eager"] }       modes that compute in a coarser format than the race asks for,
                                                        and the mode whose code each is: they are certified by that
                                                        format's rounding, and in the other mode by float32's.
    mode-devices = { cudagraphs = ["cuda"] }            the devices of modes that do not run on all of the framework's.
    loops = { fit = "jit" }                             another mode's steps within a loop of the framework's own over a
                                                        data set: for task epoch alone.
    pipeline = { workers = ["N"] }                      options of the input pipeline: for task epoch alone.
    [tool.photofinish.strategies]                       how several processes train one model together, the modes and
    zero = { modes = ["eager"], devices = ["cpu"] }     devices in which that has been tried: what drives each of them
                                                        is _<framework>/strategies/zero.py. `options` are those that it
                                                        adds; `gradients` says of values of its option `hook` what they
                                                        make of gradients on their way: a format ("float16") to which
                                                        they round, or "approximated"; `accumulate` among its options
                                                        is into how many parts, one after another, each process divides
                                                        its share of a batch. With `one-process = true` it is
                                                        several devices of one process; with `whole-batch = true` what
                                                        depends on the batch (its statistics, a mean over tokens) is
                                                        taken of the whole one, and not of each one's part. One that is
                                                        `never-run`, for want of the devices, says so where it is met.
                                                        One that needs more than the framework has a `recipe`.
    [tool.photofinish.libraries]                        the system's libraries that stand in for those of other names
    "libmpi.so.12" = "libmpi.so.40"                     which old binaries ask for.
    [tool.photofinish.variables]                        the values of an option that are variables of the worker, for
    onednn = { off = { TF_ENABLE_ONEDNN_OPTS = "0" } }  what must be known before the framework is imported
    [tool.photofinish.lines]                            what a user writes to have a mode, an option's level, so many
    "mode=compile" = ["model = torch.compile(model)"]   threads ("{value}"), or what the matched regime sets: lines of a
    threads = ["export OMP_NUM_THREADS={value}"]        program, or of a shell (export).
    [[tool.photofinish.recipes]]                        other versions: what else they need, which modes they have, what
    version = "<2"                                      to know before one races them, and which module of a part drives
    modes = ["graph"]                                   them, where the framework's own file cannot. The release that
    driver = "_tensorflow.session"                      the packages name is the one that has been tried. `layers` is a
    layers = "_keras.keras2"                            module whose `level` tells what they make of a layer.
    hazards = "built without AVX-512"
"""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet

from photofinish.environments import npm
from photofinish.environments.switches import is_switch
from photofinish.values import Contender

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parent.parent / "frameworks"
_HEADER = re.compile(r"^(?P<mark>#|//) /// script\n(?P<body>(?:(?P=mark)(?: .*)?\n)+?)(?P=mark) ///$", re.MULTILINE)
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?(kB|MB|GB)")
_UNITS = {"kB": 1e3, "MB": 1e6, "GB": 1e9}
TASKS = ("train", "infer")
PIPELINE_TASKS = ("epoch",)  # those of a loop over a data set, and of who says how one is fed
STRATEGY_TASKS = ("train",)  # of several processes that train one model
HOOK = "hook"  # the option of a strategy that says what becomes of gradients on their way
ACCUMULATE = "accumulate"  # the one that says in how many parts each process takes its share of a batch
LANGUAGES = {".py": "python", ".mjs": "node"}  # of a framework's file, by what runs its worker
WAITS = ("seconds", "minutes")


@dataclass(frozen=True)
class Recipe:
    """How an environment of a framework is made.

    `version` is the range of the framework's versions it is for ("" for the usual one); `build_dependencies` are
    installed before the rest, which is then built among them if `build_isolation` is off, with `build_environment`
    among the variables and `compiler_flags` after those that a package gives the C++ compiler; `system` are programs,
    libraries or Debian packages that must be there; `download` and `disk` are bytes, 0 where nobody has measured them;
    `npm` are packages for Node.js ("@scope/name@1.2.3"). `modes` are those that these versions have, none listed
    meaning all; `driver` is the module of a part that drives them ("" for the framework's own file) and
    `layers` one that tells what they make of each layer ("" where that is the same as today); `hazards` are told before
    they race.
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
    what a user writes for a setting ("layout=channels_last", "threads")."""

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


def read_header(path: Path) -> FrameworkInfo:
    """Raises ValueError, naming the file, if its header is absent or incomplete."""
    match = _HEADER.search(path.read_text(encoding="utf-8"))
    if match is None:
        raise ValueError(f"{path.name} has no `# /// script` header")
    margin = len(match.group("mark")) + 1
    header: dict[str, Any] = tomllib.loads("\n".join(line[margin:] for line in match.group("body").splitlines()))
    try:
        own = header["tool"]["photofinish"]
        usual = replace(_recipe(Recipe(header["requires-python"], tuple(header["dependencies"])), own), modes=())
        unmeasured = replace(usual, download=0, disk=0)
        name = path.stem.replace("_", "-")
        return FrameworkInfo(name, own["title"], usual, tuple(own["modes"]), tuple(own["devices"]),
                             {name: tuple(values) for name, values in own["options"].items()},
                             own.get("environment", {}), own.get("builds", {}),
                             tuple(_recipe(unmeasured, each) for each in own.get("recipes", ())),
                             own.get("module", ""), _tasks(own), _mode_devices(own), _precisions(own),
                             _compiles(own), own.get("variables", {}), LANGUAGES[path.suffix],
                             tuple(own.get("brings", ())), _loops(own),
                             {name: tuple(values) for name, values in own.get("pipeline", {}).items()},
                             own.get("libraries", {}), _strategies(own, unmeasured),
                             {name: tuple(values) for name, values in own.get("lines", {}).items()})
    except KeyError as error:
        raise ValueError(f"the header of {path.name} lacks {error}") from error
    except ValueError as error:
        raise ValueError(f"the header of {path.name}: {error}") from error


def _recipe(usual: Recipe, given: dict[str, Any]) -> Recipe:
    """`usual` with what the table in a header says otherwise."""
    return Recipe(given.get("python", usual.python), tuple(given.get("dependencies", usual.dependencies)),
                  given.get("version", usual.version),
                  tuple(given.get("build-dependencies", usual.build_dependencies)),
                  not given.get("no-build-isolation", not usual.build_isolation),
                  tuple(given.get("system", usual.system)),
                  _bytes(given["download"]) if "download" in given else usual.download,
                  _bytes(given["disk"]) if "disk" in given else usual.disk,
                  tuple(given.get("npm", usual.npm)), tuple(given.get("modes", ())), given.get("driver", ""),
                  given.get("layers", ""), given.get("hazards", ""), given.get("build-environment", {}),
                  given.get("compiler-flags", ""))


def _tasks(own: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """`tasks = ["infer"]` holds for every mode, `tasks = { trace = ["infer"] }` for those named. Raises ValueError."""
    given = own.get("tasks", {})
    found = given if isinstance(given, dict) else dict.fromkeys(own["modes"], given)
    wrong = [each for tasks in found.values() for each in tasks if each not in TASKS]
    if wrong or not set(found) <= set(own["modes"]):
        raise ValueError(f"tasks are {' and '.join(TASKS)}, of the modes it names, not {given}")
    return {mode: tuple(tasks) for mode, tasks in found.items()}


def _loops(own: dict[str, Any]) -> dict[str, str]:
    """Raises ValueError."""
    given: dict[str, str] = own.get("loops", {})
    if not set(given.values()) <= set(own["modes"]) or set(given) & set(own["modes"]):
        raise ValueError(f"loops says which of {', '.join(own['modes'])} a loop of another name takes the steps of, "
                         f"not {given}")
    return given


def _mode_devices(own: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """Raises ValueError."""
    given = own.get("mode-devices", {})
    named = {each for devices in given.values() for each in devices}
    if not set(given) <= set(own["modes"]) or not named <= set(own["devices"]):
        raise ValueError(f"mode-devices says which of {', '.join(own['devices'])} a mode runs on, not {given}")
    return {mode: tuple(devices) for mode, devices in given.items()}


def _strategies(own: dict[str, Any], usual: Recipe) -> dict[str, Strategy]:
    """Raises ValueError."""
    found = {name: Strategy(tuple(each["modes"]), tuple(each["devices"]),
                            {option: tuple(values) for option, values in each.get("options", {}).items()},
                            each.get("gradients", {}), each.get("never-run", False), each.get("one-process", False),
                            each.get("whole-batch", False),
                            _recipe(usual, each["recipe"]) if "recipe" in each else None)
             for name, each in own.get("strategies", {}).items()}
    for name, each in found.items():
        if not set(each.gradients) <= set(each.options.get(HOOK, ())):
            raise ValueError(f"gradients says of values of the option {HOOK} of {name} what they send, not {each}")
        if not set(each.modes) <= set(own["modes"]) or not set(each.devices) <= set(own["devices"]):
            raise ValueError(f"strategies says in which modes and on which devices {name} runs, not {each}")
    return found


def _precisions(own: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Raises ValueError."""
    given = own.get("precisions", {})
    if not {*given, *(exact for _, exact in given.values())} <= set(own["modes"]):
        raise ValueError(f"precisions says of a mode its format and the mode whose code it is, not {given}")
    return {mode: (form, exact) for mode, (form, exact) in given.items()}


def _compiles(own: dict[str, Any]) -> dict[str, str]:
    """Raises ValueError."""
    given: dict[str, str] = own.get("compiles", {})
    if not set(given) <= set(own["modes"]) or not set(given.values()) <= set(WAITS):
        raise ValueError(f"compiles says {' or '.join(WAITS)} of the modes it names, not {given}")
    return given


def _bytes(text: str) -> int:
    """Raises ValueError."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a size: write 190 MB or 1.5 GB")
    return int(float(match.group(1)) * _UNITS[match.group(2)])


def without_header(source: str) -> str:
    """A framework's file without its header, any other as it is."""
    return _HEADER.sub("", source, count=1)


@lru_cache(maxsize=1)
def frameworks() -> dict[str, FrameworkInfo]:
    """Every framework that has a file, by name."""
    files = sorted(path for path in FOLDER.iterdir() if path.suffix in LANGUAGES and not path.name.startswith("_"))
    return {info.name: info for info in map(read_header, files)}


def file_of(framework: str) -> Path:
    """The framework's own file. Raises StopIteration if there is none."""
    stem = framework.replace("-", "_")
    return next(path for path in (FOLDER / (stem + suffix) for suffix in LANGUAGES) if path.exists())
