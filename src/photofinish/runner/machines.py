"""Machines that the user names, one for each process of a contender, and reached by ssh.

They see the store and the Pythons of the contenders at the same paths as this machine does, as those of a cluster do.
A worker is started there by a script beside its log, so that no shell on the way reads its variables; requests and
answers pass through ssh as through any pipe, and the worker ends when that is gone. PHOTOFINISH_REACH says what else
starts a command there: `srun --overlap --ntasks=1 --nodelist={host}` within an allocation of Slurm.
"""

import json
import os
import shlex
import socket
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from photofinish.environments.switches import is_switch
from photofinish.errors import UsageError
from photofinish.frameworks._ranks.meeting import HOST
from photofinish.runner.allocator import KEEP
from photofinish.worker import GUARD

REACH = "PHOTOFINISH_REACH"
SSH = "ssh -o BatchMode=yes -o ConnectTimeout=10 {host}"
PATIENCE = 60.0  # seconds to look at a machine


@dataclass(frozen=True)
class Machine:
    """`device` is the one that leads to the others, `address` its address."""

    name: str
    address: str
    device: str

    def started(self, command: Sequence[str], variables: Mapping[str, str], script: Path
                ) -> tuple[list[str], dict[str, str]]:
        """What starts that command there, with those of the variables that this process has not itself, and those that
        frameworks and glibc obey: they hold on every machine as on this one."""
        own = {name: value for name, value in variables.items()
               if os.environ.get(name) != value or is_switch(name) or name in KEEP}
        own.update({HOST: self.address, "GLOO_SOCKET_IFNAME": self.device, GUARD: "1"})
        given = " ".join(f"{name}={shlex.quote(value)}" for name, value in sorted(own.items()))
        script.write_text(f"cd {shlex.quote(str(script.parent))} && exec env {given} {shlex.join(command)}\n")
        return _reached(self.name, script), dict(os.environ)


def find(names: Sequence[str], folder: Path, pythons: Iterable[Path]) -> tuple[Machine, ...]:
    """The machines of those names, all reached and seen to have the folder and the Pythons. Raises UsageError."""
    addresses = [_address(name) for name in names]
    found = []
    for number, (name, own) in enumerate(zip(names, addresses)):
        script = folder / f"look-{number}.sh"
        other = next((each for each in addresses if each != own), own)
        tests = " && ".join(f"test -x {shlex.quote(str(python))} || {{ echo {shlex.quote(str(python))} >&2; exit 3; }}"
                            for python in pythons)
        script.write_text(f"{tests}\nexec ip -4 -j route get {other}\n")
        device, address = _looked(name, script)
        found.append(Machine(name, address, device))
    return tuple(found)


def _looked(name: str, script: Path) -> tuple[str, str]:
    """The device that leads from there to another, and its address. Raises UsageError."""
    words = _reached(name, script)
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE,
                              stdin=subprocess.DEVNULL)
    except OSError as error:
        raise UsageError(f"{words[0]} cannot be started: {error.strerror}", f"say how a command is started on a "
                         f"machine: {REACH}='ssh {{host}}'") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"{name} did not answer within {PATIENCE:.0f} s", f"try it: {shlex.join(words)}") from None
    said = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]
    if done.returncode == 3:
        raise UsageError(f"{name} has no {said}", "race on machines that have the same environments at the same paths, "
                         "or name one with --env")
    if done.returncode:
        raise UsageError(f"{name} cannot be raced on: {said}", f"it takes ssh without a password, this folder there "
                         f"({script.parent.parent}), and ip; try it: {shlex.join(words)}")
    try:
        (route,) = json.loads(done.stdout)
        return route["dev"], route["prefsrc"]
    except (ValueError, KeyError):
        raise UsageError(f"{name} did not say by which device it reaches the others: {done.stdout.strip()[:80]!r}",
                         f"it is to print nothing of its own; try it: {shlex.join(words)}") from None


def _reached(name: str, script: Path) -> list[str]:
    """Raises UsageError."""
    told = os.environ.get(REACH) or SSH
    try:
        words = [word.format(host=name) for word in shlex.split(told)]
    except (LookupError, ValueError):
        raise UsageError(f"{REACH}={told} cannot be read", "write {host} for the machine, nothing else in braces, and "
                         f"close what is quoted: {REACH}='ssh {{host}}'") from None
    return [*words, "sh", shlex.quote(str(script))]


def _address(name: str) -> str:
    """Raises UsageError."""
    try:
        return socket.gethostbyname(name.rpartition("@")[2])
    except OSError as error:
        raise UsageError(f"there is no machine called {name}: {error}", "write --hosts with names that "
                         "`getent hosts NAME` knows, or addresses") from None
