"""What each framework asks for, read from its file's header without importing it, and where it can run.

Headers are PEP 723 blocks: the Python range and packages any installer understands, and under
[tool.photofinish] what a race needs to know (title, modes, devices, options).
"""

import importlib.metadata
import importlib.util
import re
import sys
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from photofinish.errors import UsageError, unknown
from photofinish.measure import sabotage
from photofinish.values import Contender, SpellingError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parent / "frameworks"
_HEADER = re.compile(r"^# /// script\n(?P<body>(?:#(?: .*)?\n)+?)# ///$", re.MULTILINE)
_COMMA_OUTSIDE_BRACKETS = re.compile(r",(?![^\[\]]*\])")
# Options that every contender has; none listed means any value.
COMMON_OPTIONS: dict[str, tuple[str, ...]] = {"threads": (), "handicap": (), "fault": sabotage.FAULTS, "at": ()}


@dataclass(frozen=True)
class FrameworkInfo:
    """A framework as its header describes it. `options` maps a name to its allowed values, none listed
    meaning any; the first mode is the default; in `environment`, variables of its workers, "{cache}" stands
    for the race's own folder of compile caches; `builds` maps the packages whose models the option `build` may
    name to what installs them."""

    name: str
    title: str
    python: str
    dependencies: tuple[str, ...]
    modes: tuple[str, ...]
    devices: tuple[str, ...]
    options: dict[str, tuple[str, ...]]
    environment: dict[str, str] = field(default_factory=dict)
    builds: dict[str, str] = field(default_factory=dict)

    @property
    def default_mode(self) -> str:
        return self.modes[0]

    @property
    def packages(self) -> tuple[str, ...]:
        """The names of its dependencies, without versions."""
        return tuple(re.split(r"[^A-Za-z0-9._-]", each)[0] for each in self.dependencies)

    @property
    def module(self) -> str:
        """What Python imports: the framework's own name if a package starts with it (tensorflow-cpu)."""
        return self.name if any(each.startswith(self.name) for each in self.packages) else self.packages[0]

    @property
    def in_house(self) -> bool:
        """True for the referee's reference and the rehearsal: they need nothing but NumPy."""
        return self.packages == ("numpy",)


@dataclass(frozen=True)
class Environment:
    """Where a contender can run."""

    python: Path
    framework: FrameworkInfo
    version: str


@dataclass(frozen=True)
class Missing:
    """Why a contender cannot run here, and the command that would put it right."""

    reason: str
    cure: str


def read_header(path: Path) -> FrameworkInfo:
    """Raises ValueError, naming the file, if its header is absent or incomplete."""
    match = _HEADER.search(path.read_text(encoding="utf-8"))
    if match is None:
        raise ValueError(f"{path.name} has no `# /// script` header")
    header: dict[str, Any] = tomllib.loads("\n".join(line[2:] for line in match.group("body").splitlines()))
    try:
        own = header["tool"]["photofinish"]
        return FrameworkInfo(path.stem, own["title"], header["requires-python"], tuple(header["dependencies"]),
                             tuple(own["modes"]), tuple(own["devices"]),
                             {name: tuple(values) for name, values in own["options"].items()},
                             own.get("environment", {}), own.get("builds", {}))
    except KeyError as error:
        raise ValueError(f"the header of {path.name} lacks {error}") from error


@lru_cache(maxsize=1)
def frameworks() -> dict[str, FrameworkInfo]:
    """Every framework that has a file, by name."""
    files = sorted(path for path in FOLDER.glob("*.py") if not path.name.startswith("_"))
    return {path.stem: read_header(path) for path in files}


def installed_version(framework: FrameworkInfo) -> str | None:
    """The version this Python would import, found without importing; None if it would not."""
    try:
        if importlib.util.find_spec(framework.module) is None:
            return None
    except ImportError:
        return None
    for package in (framework.module, *framework.packages):
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return "unknown"


def cure(framework: FrameworkInfo) -> str:
    """The command that installs it."""
    return "pip install " + " ".join(map(repr, framework.dependencies))


def resolve(contender: Contender) -> Environment | Missing:
    """The environment a contender runs in, or why there is none."""
    framework = frameworks()[contender.framework]
    found = installed_version(framework)
    title = framework.title
    if found is None:
        return Missing(f"{title} is not installed for this Python {sys.version.split()[0]}", cure(framework))
    if contender.version and found.partition("+")[0] != contender.version:
        return Missing(f"{title} {contender.version} is not installed: this Python has {found}",
                       f"pip install '{framework.module}=={contender.version}'")
    source = dict(contender.options).get("build", "").partition(":")[0]
    if source and importlib.util.find_spec(source.partition(".")[0]) is None:
        return Missing(f"{source} is not installed for this Python {sys.version.split()[0]}",
                       f"pip install '{framework.builds[source]}'")
    return Environment(Path(sys.executable), framework, found)


def installed() -> list[Contender]:
    """Every framework that can race here, in its default mode."""
    found = [Contender(each.name, each.default_mode) for each in frameworks().values() if not each.in_house]
    return [contender for contender in found if isinstance(resolve(contender), Environment)]


def expand(*texts: str, device: str = "cpu") -> list[Contender]:
    """Contenders as spelled in comma-separated lists, with default modes filled in.

    One named twice races against itself (a placebo): the second becomes #2. Raises UsageError.
    """
    spelled = [each for text in texts for each in _COMMA_OUTSIDE_BRACKETS.split(text) if each.strip()]
    copies: Counter[Contender] = Counter()
    contenders = []
    for text in spelled:
        contender = replace(checked(text, device), copy=1)
        copies[contender] += 1
        contenders.append(replace(contender, copy=copies[contender]))
    return contenders


def _check_build(framework: FrameworkInfo, value: str) -> None:
    """Raises UsageError unless `value` is a known package, a colon, and what should be a model of it."""
    source, _, name = value.partition(":")
    if source not in framework.builds:
        raise unknown(f"package with models for {framework.name}", source, framework.builds,
                      "write build=package:model")
    if not name:
        raise UsageError(f"build={value} names no model", f"write build={source}:model")


def checked(text: str, device: str = "cpu") -> Contender:
    """One contender, its framework, mode, options and device known to exist. Raises UsageError."""
    try:
        contender = Contender.parse(text.strip())
    except SpellingError as error:
        raise UsageError(str(error)) from error
    if contender.framework not in frameworks():
        raise unknown("framework", contender.framework, frameworks(), "see: photofinish list frameworks")
    framework = frameworks()[contender.framework]
    contender = replace(contender, mode=contender.mode or framework.default_mode)
    if contender.mode not in framework.modes:
        raise unknown(f"mode of {framework.name}", contender.mode, framework.modes,
                      f"modes: {', '.join(framework.modes)}")
    options = {**framework.options, **COMMON_OPTIONS}
    for option, value in contender.options:
        if option not in options:
            raise unknown(f"option of {framework.name}", option, options)
        allowed = options[option]
        if allowed and value not in allowed:
            raise unknown(f"{option} of {framework.name}", value, allowed, f"values: {', '.join(allowed)}")
        if option == "build":
            _check_build(framework, value)
    if device.partition(":")[0] not in framework.devices:
        raise unknown(f"device of {framework.name}", device, framework.devices)
    return contender
