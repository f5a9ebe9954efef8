"""Contenders as users spell them, checked against the headers of the frameworks."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from photofinish.environments import headers
from photofinish.environments.framework import ACCUMULATE, FrameworkInfo, main_of, package_of
from photofinish.environments.switches import THREADS, is_switch
from photofinish.errors import UsageError, unknown
from photofinish.measure import sabotage
from photofinish.values import Contender, SpellingError

ALL = "all"
DOUBLE = "fake"  # of a framework, for tests: shown where it is asked for
WITHOUT = "-"
_COMMA_OUTSIDE_BRACKETS = re.compile(r",(?![^\[\]]*\])")
_NUMBER = re.compile(r"\d*\.?\d+")
_VERSION = re.compile(r"\d+(\.\d+)*((a|b|rc|\.post|\.dev)\d+)?")
WHOLE_NUMBER, NUMBER = ("N",), ("X",)  # as the allowed values of an option
# Options that every contender has; none listed means any value.
ALLOCATORS = ("keep", "default")  # whether memory that is freed stays with the process; a matched race keeps it
COMMON_OPTIONS: dict[str, tuple[str, ...]] = {"threads": WHOLE_NUMBER, "allocator": ALLOCATORS, "handicap": NUMBER,
                                              "fault": sabotage.FAULTS, "at": WHOLE_NUMBER, "task": ("train", "infer"),
                                              "copies": WHOLE_NUMBER, "float64": (), "input": NUMBER}
STRATEGY_OPTIONS: dict[str, tuple[str, ...]] = {"rank": WHOLE_NUMBER}  # which of the processes a fault is planted in
ALSO_CALLED = {"gpu": ("cuda",), "nvidia": ("cuda",),  # what others call a kind of device, or a framework
               "pytorch": ("torch",), "tf": ("tensorflow",), "flax": ("jax",), "tflite": ("litert",),
               "keras": ("keras-tensorflow", "keras-jax", "keras-torch"), "ort": ("onnxruntime",),
               "onnx": ("onnxruntime", "onnxruntime-node"), "trt": ("tensorrt",)}
LISTED = {"torchvision": "torchvision.models.list_models()", "timm": "timm.list_models()",
          "transformers": "dir(transformers)", "keras.applications": "dir(keras.applications)"}  # a package's models
NOT_YET = {"rocm": "AMD's GPUs", "mps": "Apple's GPUs", "xpu": "Intel's GPUs"}  # no adapter has them


def expand(*texts: str, device: str | None = "cpu") -> list[Contender]:
    """Contenders as spelled in comma-separated lists, with default modes filled in: those that run on the device, where
    it matters (None).

    One named twice races against itself (a placebo): the second becomes #2. Whoever stands before "-torch" or
    "-torch:eager" and is so called is taken out: "all,-torch". Raises UsageError.
    """
    if texts and not split(texts):
        raise UsageError(f"{','.join(texts)!r} names no contender", "write torch:eager,tensorflow:graph, say")
    contenders: list[Contender] = []
    for text in split(texts):
        if text.startswith(WITHOUT):
            contenders = _without(text.removeprefix(WITHOUT), contenders)
        else:
            contenders += everybody(device or "cpu") if text == ALL else [replace(checked(text, device), copy=1)]
    if texts and not contenders:
        raise UsageError(f"{','.join(texts)!r} leaves no contender", f"write {ALL},{WITHOUT}torch, say")
    return [replace(each, copy=contenders[:place].count(each) + 1) for place, each in enumerate(contenders)]


def _without(name: str, contenders: Sequence[Contender]) -> list[Contender]:
    """Those of another framework, or those that are called otherwise. Raises UsageError if that is everybody."""
    left = [each for each in contenders if name not in (each.framework, each.name)]
    if len(left) == len(contenders):
        known = dict.fromkeys(each.name if ":" in name else each.framework for each in contenders)
        raise unknown("contender to take out", name, known, f"it stands behind them: {ALL},{WITHOUT}torch")
    return left


def split(texts: Sequence[str]) -> list[str]:
    """The single contenders in comma-separated lists."""
    return [each.strip() for text in texts for each in _COMMA_OUTSIDE_BRACKETS.split(text) if each.strip()]


def everybody(device: str = "cpu") -> Iterator[Contender]:
    """Every framework that races on the device, in its default mode: what `all` stands for."""
    for each in headers.frameworks().values():
        if not each.in_house and device.partition(":")[0] in each.devices:
            yield Contender(each.name, each.default_mode)


def older() -> Iterator[Contender]:
    """The old versions that have been tried on a CPU, in each of their modes: those that a header's recipes name."""
    for info in headers.frameworks().values():
        for recipe in info.recipes:
            pinned = next((each for each in recipe.dependencies if package_of(each) == main_of(info.name, recipe)), "")
            version = pinned.partition("==")[2]
            for mode in recipe.modes or info.modes if version else ():
                yield Contender(info.name, mode, version=version)


def _check_build(framework: FrameworkInfo, value: str) -> None:
    """Raises UsageError unless `value` is a known package, a colon, and what should be a model of it."""
    source, _, name = value.partition(":")
    if source not in framework.builds:
        raise unknown(f"package with models for {framework.name}", source, framework.builds,
                      "write build=package:model")
    if not name:
        raise UsageError(f"build={value} names no model", f"write build={source}:model")


def where_listed(said: str) -> str:
    """The advice for a package that "has no model X", where nothing in it is called about so."""
    package, lacks, name = said.partition(" has no model ")
    return f"{LISTED[package]} lists them" if lacks and package in LISTED and ";" not in name else ""


def _check_no_twin(text: str) -> None:
    """Raises UsageError for a model of another package that is entered by itself: it is a framework that runs it."""
    hosts = [each.name for each in headers.frameworks().values() if text.partition(":")[0] in each.builds]
    if hosts:
        others = f" (so do {', '.join(hosts[:-1])})" if hosts[1:] else ""
        raise UsageError(f"{text} is a model of another package",
                         f"write {hosts[-1]}[build={text}], which runs it{others}")


def checked(text: str, device: str | None = "cpu") -> Contender:
    """One contender, its framework, mode, options and device (None: on any) known to exist. Raises UsageError."""
    _check_no_twin(text.strip())
    try:
        contender = Contender.parse(text.strip())
    except SpellingError as error:
        raise UsageError(str(error)) from error
    framework = known(contender.framework)
    if contender.version:
        check_version(contender.framework, contender.version)
    modes = framework.modes_of(contender.version)
    contender = replace(contender, mode=contender.mode or modes[0])
    if contender.mode not in modes:
        old = framework.recipe_for(contender.version).modes
        name = framework.name + (f" {contender.version}" if old else "")
        raise unknown(f"mode of {name}", contender.mode, modes)
    if contender.strategy:
        _check_strategy(framework, contender, device)
    options = {**framework.options, **COMMON_OPTIONS, **(
        {**framework.strategies[contender.strategy].options, **STRATEGY_OPTIONS} if contender.strategy
        else framework.pipeline)}
    for option, value in contender.options:
        if [name for name, _ in contender.options].count(option) > 1:
            raise UsageError(f"{text.strip()} says {option} twice", "say it once")
        if is_switch(option):
            _check_switch(framework, option)
            continue
        if option not in options:
            offered = [each for each in options if each not in sabotage.OPTIONS]  # faults are for tests
            raise unknown(f"option of {framework.name}", option, offered)
        allowed = options[option]
        if allowed == WHOLE_NUMBER:
            if not value.isdecimal():
                raise UsageError(f"{option}={value}: {value!r} is no whole number", f"write {option}=2, say")
        elif allowed == NUMBER:
            if not _NUMBER.fullmatch(value):
                raise UsageError(f"{option}={value}: {value!r} is no number", f"write {option}=0.03, say")
        elif allowed and value not in allowed:
            raise unknown(f"{option} of {framework.name}", value, allowed)
        if option == "build":
            _check_build(framework, value)
        if option in sabotage.OPTIONS and contender.mode in framework.loops:
            raise UsageError(f"{contender.name} runs a loop of {framework.title}, in which no fault can be planted",
                             f"plant it in {framework.name}:{framework.loops[contender.mode]}")
    devices = framework.devices_of(contender.mode)
    if device is not None and device.partition(":")[0] not in devices:
        of = framework.name if devices == framework.devices else f"{framework.name}:{contender.mode}"
        raise UsageError(f"{of} does not run on {device}", f"leave it out, or race on --device {' or '.join(devices)}")
    return contender


def _check_switch(framework: FrameworkInfo, name: str) -> None:
    """Raises UsageError for a variable that is the race's to set."""
    if name in THREADS:
        raise UsageError(f"{name} is set by the race", "write threads=1, say")
    if name in framework.environment:
        raise UsageError(f"{name} is set by Photofinish wherever {framework.title} runs", "leave it out")


def _check_strategy(framework: FrameworkInfo, contender: Contender, device: str | None) -> None:
    """Raises UsageError unless the framework has that strategy, in that mode, version and device."""
    if not framework.strategies:
        able = ", ".join(f"{each.name}+{name}" for each in headers.frameworks().values() for name in each.strategies)
        raise UsageError(f"{contender.name}: {framework.title} has no strategy for several processes here",
                         f"those there are: {able}")
    if contender.strategy not in framework.strategies:
        raise unknown(f"strategy of {framework.name}", contender.strategy, framework.strategies)
    strategy = framework.strategies[contender.strategy]
    if contender.mode not in strategy.modes:
        raise UsageError(f"{contender.name}: {contender.strategy} has never been run in mode {contender.mode}",
                         f"modes: {', '.join(strategy.modes)}")
    if device is not None and device.partition(":")[0] not in strategy.devices:
        raise UsageError(f"{contender.name}: {contender.strategy} has never been run on {device}",
                         f"devices: {', '.join(strategy.devices)}")
    if framework.recipe_for(contender.version).driver:
        raise UsageError(f"{contender.name}: {contender.strategy} has never been run in version {contender.version}",
                         "leave the version out")
    parts = dict(contender.options).get(ACCUMULATE, "1")
    if parts.isdecimal() and int(parts) < 1:
        raise UsageError(f"{ACCUMULATE}={parts}: a batch has one part at least", f"write {ACCUMULATE}=2, say")
    rank = dict(contender.options).get("rank", "0")
    processes = framework.processes_of(contender)
    if rank.isdecimal() and int(rank) >= processes:
        raise UsageError(f"{contender.name}: there is no rank {rank}",
                         f"choose 0 to {processes - 1}" if processes > 1 else "it is one process: choose 0")


def check_device(device: str) -> None:
    """Raises UsageError for a kind of device on which no framework runs, or a number that is none."""
    kind, colon, number = device.partition(":")
    kinds = sorted({each for info in headers.frameworks().values() for each in info.devices})
    if kind in NOT_YET and kind not in kinds:
        raise UsageError(f"device {device}: no framework is raced on {NOT_YET[kind]} yet",
                         f"choose from: {', '.join(kinds)}")
    if kind not in kinds:
        raise unknown("device", device, kinds, "of several, one by its number: cuda:1",
                      ALSO_CALLED.get(kind.lower(), ()))
    if colon and not number.isdecimal():
        raise UsageError(f"device {device}: {number!r} is no number of a device", f"write {kind} or {kind}:0")
    if kind == "cpu" and number not in ("", "0"):
        raise UsageError(f"device {device}: all processors of a machine are one device", "write cpu; how many of their "
                         "cores a contender may use is said by --threads")


def check_version(framework: str, version: str) -> None:
    """Raises UsageError for what is none."""
    if not _VERSION.fullmatch(version):
        raise UsageError(f"{version!r} is not a version", f"write {framework}@2.8.0, say")


def known(framework: str) -> FrameworkInfo:
    """What the framework of that name asks for. Raises UsageError."""
    if framework not in headers.frameworks():
        offered = [each for each in headers.frameworks() if each != DOUBLE]
        raise unknown("framework", framework, offered, "see: photofinish list frameworks",
                      ALSO_CALLED.get(framework.lower(), ()))
    return headers.frameworks()[framework]
