"""Makes environments: in place, under a lock, by uv where there is one and by venv and pip elsewhere.

What the installer says goes to a log in the environment's folder; what says that it is complete is written last.
"""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name

from photofinish.environments import cache, interpreters, npm
from photofinish.environments.cache import Made
from photofinish.environments.framework import main_of
from photofinish.environments.indexes import uv_flags, uv_settings
from photofinish.environments.recipes import Order, creating
from photofinish.values import Progress

Listener = Callable[[Progress], None]
LARGE = 100e6  # bytes to download from which the sizes are told
PATIENCE = 0.5  # seconds between two tries to get at an environment that another process is making
LOOK = 2.0  # seconds between two looks at how far the installer is
TAIL = 15  # lines of its log that a failure keeps
COMPILER = "c++"
# Would send packages elsewhere, or make the installer believe that it works for the user's own environment.
NOT_FOR_INSTALLERS = ("VIRTUAL_ENV", "CONDA_PREFIX", "PIP_CONSTRAINT", "PIP_PREFIX", "PIP_REQUIRE_VIRTUALENV",
                      "PIP_ROOT", "PIP_TARGET", "PIP_USER", "UV_CONSTRAINT", "UV_OVERRIDE", "UV_PROJECT_ENVIRONMENT",
                      "UV_PYTHON", "UV_SYSTEM_PYTHON")
_NOT_AS_CONFIGURED = {"PIP_USER": "0", "PIP_CONSTRAINT": os.devnull}  # variables go before pip's files
# The pip that comes with Python 3.6 does not see on every index which packages are for it.
OLD_PYTHON_TOOLS = {"3.6": ("pip==21.3.1", "setuptools<60", "wheel<0.38")}


@dataclass(frozen=True)
class Missing:
    """Why a contender cannot run here, and the command that would put it right; the end of the log if an installer
    has one."""

    reason: str
    cure: str
    log: str = ""


def make(order: Order, listener: Listener) -> Made | Missing:
    """The environment as ordered, made now unless another process has just done it.

    However it is interrupted, nothing that looks complete is left, and the installer ends with it.
    """
    while (made := cache.read(order.folder)) is None:
        with cache.alone(order.folder) as lock:
            if lock is not None:
                made = cache.read(order.folder)
                return made if made is not None else _make(order, lock, listener)
        listener(Progress("making", f"waiting for another process that makes an environment for {order.name}"))
        time.sleep(PATIENCE)
    return made


def announcement(order: Order) -> str:
    """What is about to be made, with sizes where they are known and matter."""
    text = f"making an environment for {order.title} (Python {order.interpreter.version})"
    recipe = order.recipe
    if recipe.download > LARGE:
        text += f": about {told(recipe.download)} to download, {told(recipe.disk)} on disk"
    text += "" if recipe.disk or order.framework.in_house else ": how large it is has not been measured"
    return text + (f"; {recipe.hazards}" if recipe.hazards else "")


def told(size: float) -> str:
    """Bytes for people: "190 MB"."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def find_uv() -> str | None:
    """The program, of this environment first."""
    return shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")


def commands(order: Order, uv: str | None) -> Iterator[list[str]]:
    """What makes it, one after another."""
    environment, base = order.folder / "environment", str(order.interpreter.base)
    python = str(environment / "bin" / "python")
    if uv:
        yield [uv, "venv", "--no-project", "--python", base, str(environment)]
        install = [uv, "pip", "install", "--python", python, *uv_flags(Path(sys.executable))]
    else:
        yield [base, "-m", "venv", str(environment)]
        install = [python, "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
        if order.interpreter.minor in OLD_PYTHON_TOOLS:
            yield [*install, *OLD_PYTHON_TOOLS[order.interpreter.minor]]
    if order.recipe.build_dependencies:
        yield [*install, *order.recipe.build_dependencies]
    if uv and order.interpreter.minor not in OLD_PYTHON_TOOLS:  # for which uv cannot do it
        install.append("--compile-bytecode")  # now, and not by the first process that imports it: a race times imports
    if not order.recipe.build_isolation:
        install.append("--no-build-isolation")
    if order.pins:
        install += ["--constraint", str(order.folder / "pins.txt")]
    if order.requirements:
        yield [*install, *order.requirements]
    if order.recipe.npm:
        yield npm.command(environment, order.recipe.npm, order.pins)


def surroundings(uv: str | None) -> dict[str, str]:
    """The variables an installer runs with: it sees the indexes the user's pip sees, and no environment but its own."""
    kept = {name: value for name, value in os.environ.items()
            if name not in NOT_FOR_INSTALLERS and not name.startswith("PYTHON")}
    # A project around the cache is not meant: its constraints and overrides are for its own packages.
    apart = {"UV_PYTHON_DOWNLOADS": "never", "UV_PROJECT": "/"}
    settings = {**uv_settings(Path(sys.executable)), **apart} if uv else _NOT_AS_CONFIGURED
    return {**kept, **settings, "PYTHONNOUSERSITE": "1"}


def building(order: Order) -> dict[str, str]:
    """The variables that the recipe's packages are built with. Build systems put a standard of their own after the
    user's flags, and the last one holds: hence a compiler that adds the recipe's after these."""
    flags, found = order.recipe.compiler_flags, dict(order.recipe.build_environment)
    if flags:
        compiler = order.folder / COMPILER
        compiler.write_text(f'#!/bin/sh\nexec {os.environ.get("CXX", COMPILER)} "$@" {flags}\n')  # CXX may be words
        compiler.chmod(0o755)
        found["CXX"] = str(compiler)
    return found


def _make(order: Order, lock: int, listener: Listener) -> Made | Missing:
    """The lock is ours; its descriptor goes to the installer too, which so keeps it if it outlives us."""
    folder, environment, begin = order.folder, order.folder / "environment", time.monotonic()
    free = shutil.disk_usage(_existing(folder)).free
    if order.recipe.disk > free:
        return Missing(f"an environment for {order.title} takes {told(order.recipe.disk)} and {told(free)} are free",
                       "make room, or choose another place with PHOTOFINISH_CACHE=FOLDER")
    shutil.rmtree(folder, ignore_errors=True)  # what an interrupted installation left
    folder.mkdir(parents=True, exist_ok=True)  # of files that cannot be removed the installer will tell
    (folder / "pins.txt").write_text("".join(f"{each}\n" for each in order.pins if not each.startswith(npm.PREFIX)))
    listener(Progress("environment", announcement(order)))
    uv = find_uv()
    variables = {**surroundings(uv), **building(order)}
    try:
        for command in commands(order, uv):
            code = _run(command, variables, order, lock, listener)
            if code:
                return _failed(order, command, f"ended with exit code {code}")
        found = interpreters.examine(environment / "bin" / "python")
        packages = {**found.packages(), **npm.packages(environment)} if found else {}
        main = main_of(order.framework.name, order.recipe)
        main = main if order.recipe.npm else canonicalize_name(main)
        if found is None or main not in packages:
            return _failed(order, command, f"left no {main} behind")
        made = Made(folder, order.framework.name, packages[main], order.version, found.python, found.version, packages,
                    cache.size_of(folder), time.strftime("%Y-%m-%dT%H:%M:%S%z"), order.strategy, order.source)
        cache.complete(made)
    finally:
        if cache.read(folder) is None:
            shutil.rmtree(environment, ignore_errors=True)  # the log stays
    listener(Progress("environment", f"made an environment for {order.title} in {time.monotonic() - begin:.0f} s"))
    return made


def _run(command: list[str], variables: dict[str, str], order: Order, lock: int, listener: Listener) -> int:
    """The exit code of an installer. Ends it with everything it started if anything interrupts us."""
    log = order.folder / "install.log"
    with _leaving_in_order():
        with log.open("a") as sink:
            sink.write(f"$ {shlex.join(command)}\n")
            sink.flush()
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT,
                                       env=variables, cwd=order.folder, start_new_session=True, pass_fds=[lock])
        try:
            while True:
                with suppress(subprocess.TimeoutExpired):
                    return process.wait(timeout=LOOK)
                line = next(reversed(_lines(log, 1)), "")
                size = cache.size_of(order.folder) if order.recipe.disk else 0
                listener(Progress("making", f"{order.name}: {line}", done=min(size, order.recipe.disk),
                                  total=order.recipe.disk or None))
        finally:
            if process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@contextmanager
def _leaving_in_order() -> Iterator[None]:
    """What else ends this process, a closed terminal or `kill`, is an interruption like Ctrl-C meanwhile. Not where
    something else was to happen (nohup), nor in threads, to which Python tells no signal."""
    def leave(number: int, frame: object) -> None:
        sys.exit(128 + number)  # as a shell says of who was ended by it

    ending = [each for each in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) == signal.SIG_DFL]
    ours = ending if threading.current_thread() is threading.main_thread() else []
    for each in ours:
        signal.signal(each, leave)
    try:
        yield
    finally:
        for each in ours:
            signal.signal(each, signal.SIG_DFL)


def _failed(order: Order, command: list[str], how: str) -> Missing:
    log = order.folder / "install.log"
    lines = _lines(log, TAIL)
    said = next((i for i in reversed(range(len(lines))) if lines[i].lower().startswith(("error", "fatal"))), -1)
    because = [line for line in map(str.strip, lines[said:][1:]) if line.lower().startswith(_REASONS)]
    why = " ".join([*lines[said:][:1], *because])
    return Missing(f"no environment for {order.title} could be made with Python {order.interpreter.version}: "
                   f"{Path(command[0]).name} {how}: {why}",
                   f"try it again with: {creating(order.name)} (it ran {shlex.join(command)}; "
                   f"all it said is in {log})", "\n".join(lines))


_REASONS = ("cause:", "caused by:", "because", "hint:")  # how the installer goes on after its error


def _lines(log: Path, count: int) -> list[str]:
    """The last lines of a log that say anything."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 64 * 1024))
        text = file.read().decode(errors="replace")
    return [line.rstrip() for line in text.replace("\r", "\n").split("\n") if line.strip()][-count:]


def _existing(folder: Path) -> Path:
    """The nearest folder above that is there."""
    return next(each for each in folder.parents if each.exists())
