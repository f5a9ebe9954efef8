"""What each framework asks for, read from its file's header without importing it.

Headers are PEP 723 blocks: the Python range and packages any installer understands, and under
[tool.photofinish] what a race needs to know (title, modes, devices, options) and how an environment is made. A file in
JavaScript has the same block in its own comments, and says under `npm` which packages its worker imports; those of
Python are for programs that this worker calls.

    system = ["clang"]                                  programs, libraries or Debian packages without which nothing of
                                                        it runs,
    build-system = ["cmake"]                            and those that only making an environment takes.
    compiles = { jit = "seconds", nojit = "minutes" }   what a small model waits for before it runs, in these modes; in
                                                        others it runs at once. The parity tests try the first layer
                                                        by layer, those of "seconds" on one graph of all layers, and
                                                        leave those of "minutes" to tests of the framework's own.
    precisions = { bf16 = ["bfloat16", "eager"] }       modes that compute in a coarser format than the race asks for,
                                                        and the mode whose code each is: they are certified by that
                                                        format's rounding, and in the other mode by float32's.
    mode-devices = { cudagraphs = ["cuda"] }            the devices of modes that do not run on all of the framework's.
    never-run = ["fp16", "tpu"]                         modes that nobody has run, for want of the device or processor,
                                                        and devices on which nobody has run any.
    of-training = ["fused"]                             options that change nothing in inference.
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
    [tool.photofinish.unused]                           a setting: a part of its kernels' names, and what to know where
    "onednn=on" = ["Mkl", "none of oneDNN's runs"]      it is not made and no such kernel is seen in a step.
    [[tool.photofinish.recipes]]                        other versions: what else they need, which modes they have, what
    version = "<2"                                      to know before one races them, and which module of a part drives
    modes = ["graph"]                                   them, where the framework's own file cannot. The release that
    driver = "_tensorflow.session"                      the packages name is the one that has been tried. `layers` is a
    layers = "_keras.keras2"                            module whose `level` tells what they make of a layer.
    hazards = "built without AVX-512"
"""

import re
import sys
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from photofinish.environments.framework import HOOK, TASKS, FrameworkInfo, Recipe, Strategy

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parent.parent / "frameworks"
_HEADER = re.compile(r"^(?P<mark>#|//) /// script\n(?P<body>(?:(?P=mark)(?: .*)?\n)+?)(?P=mark) ///$", re.MULTILINE)
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?(kB|MB|GB)")
_UNITS = {"kB": 1e3, "MB": 1e6, "GB": 1e9}
LANGUAGES = {".py": "python", ".mjs": "node"}  # of a framework's file, by what runs its worker
WAITS = ("seconds", "minutes")


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
                             {name: tuple(values) for name, values in own.get("lines", {}).items()}, _unused(own),
                             _never_run(own), _of_training(own))
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
                  given.get("compiler-flags", ""), tuple(given.get("build-system", usual.build_system)))


def _of_training(own: dict[str, Any]) -> tuple[str, ...]:
    """Raises ValueError for what is no option."""
    found = tuple(own.get("of-training", ()))
    if not set(found) <= set(own["options"]):
        raise ValueError(f"of-training names options, not {', '.join(found)}")
    return found


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


def _unused(own: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Raises ValueError."""
    given = own.get("unused", {})
    if not {each.partition("=")[0] for each in given} <= set(own["options"]):
        raise ValueError(f"unused says of a setting what its kernels are called and what to know, not {given}")
    return {setting: (part, known) for setting, (part, known) in given.items()}


def _never_run(own: dict[str, Any]) -> tuple[str, ...]:
    """Raises ValueError."""
    given = own.get("never-run", [])
    known = [*own["modes"], *own["devices"]]
    if not set(given) <= set(known):
        raise ValueError(f"never-run says which of {', '.join(known)} nobody has run, not {given}")
    return tuple(given)


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
