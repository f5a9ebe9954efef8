"""A host of its own for each process of a contender, joined by links of a stated speed, on this one machine.

A host is a namespace of the network (ip-netns(8)) with one device, and processes put there have a hostname of their own
that is its address. Two hosts are joined directly, more through a switch; whatever a host sends is held back to the
rate of its link by a token bucket (tc-tbf(8)), and where a delay is asked for by netem as well. The machine's own
network sees nothing of it. Parent and workers are in touch through pipes, which no namespace cuts.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from secrets import token_hex

from photofinish.errors import UsageError
from photofinish.frameworks._ranks.meeting import HOST
from photofinish.measure import system
from photofinish.values import Link

NAMESPACES = Path("/run/netns")
PREFIX = "photofinish"
DEVICE = "eth0"
BURST = 1e-3  # seconds' worth that passes at once: short beside a step, and long enough for timers to keep the rate
LEAST_BURST = 3000  # bytes: two full packets
QUEUE = "50ms"  # the longest that a packet waits; beyond that it is dropped, as on any link
TOOLS = {"ip": "iproute2", "tc": "iproute2", "nsenter": "util-linux", "unshare": "util-linux"}


@dataclass(frozen=True)
class Host:
    """A namespace, and the address of its device."""

    namespace: str
    address: str

    def started(self, command: Sequence[str], variables: Mapping[str, str], script: Path
                ) -> tuple[list[str], dict[str, str]]:
        """What starts that command there, told which address, or device, is the way to the others. No script is
        written."""
        return self.command(command), {**variables, HOST: self.address, "GLOO_SOCKET_IFNAME": DEVICE}

    def command(self, command: Sequence[str]) -> list[str]:
        """What runs that there. Each program becomes the next, so that it is one process with one id. JAX looks the
        hostname up, and finds the address."""
        named = 'echo "$0" > /proc/sys/kernel/hostname && exec "$@"'
        return ["nsenter", f"--net={NAMESPACES / self.namespace}", "unshare", "--uts", "sh", "-c", named, self.address,
                *command]


@contextmanager
def hosts(link: Link, count: int) -> Iterator[tuple[Host, ...]]:
    """So many, joined, and gone afterwards; what killed processes of ours left behind is gone then, too. Raises
    UsageError where this machine cannot have them."""
    _insist()
    _clear()
    owner = f"{PREFIX}-{os.getpid()}-{_born(os.getpid())}-{token_hex(3)}"
    found = tuple(Host(f"{owner}-{number}", f"10.0.0.{number}") for number in range(1, count + 1))
    switch = f"{owner}-switch"
    made = [each.namespace for each in found] + ([switch] if count > 2 else [])
    try:
        for name in made:
            _run("ip", "netns", "add", name)
        _join(found, switch, link) if count > 2 else _join_two(found, link)
        for host in found:
            ip = partial(_run, "ip", "-n", host.namespace)
            ip("link", "set", "lo", "up")
            ip("address", "add", f"{host.address}/24", "dev", DEVICE)
            ip("link", "set", DEVICE, "addrgenmode", "none", "up")
        yield found
    finally:
        _remove(made)


def check(link: Link) -> None:
    """Raises UsageError where this machine cannot have such links."""
    with hosts(link, 2):
        pass


def leftovers() -> list[str]:
    """Namespaces of ours whose owner has gone without removing them."""
    found = []
    for path in sorted(NAMESPACES.glob(f"{PREFIX}-*-*-*")):
        owner, born = path.name.split("-")[1:3]
        if not owner.isdigit() or _born(int(owner)) != born:
            found.append(path.name)
    return found


def _join_two(found: Sequence[Host], link: Link) -> None:
    first, second = (each.namespace for each in found)
    _run("ip", "-n", first, "link", "add", "name", DEVICE, "type", "veth", "peer", "name", DEVICE, "netns", second)
    for namespace in (first, second):
        _shape(namespace, DEVICE, link)


def _join(found: Sequence[Host], switch: str, link: Link) -> None:
    """Each has a link of its own to the switch, of that speed both ways; half of the delay is on either end."""
    half = Link(link.rate, link.delay / 2)
    _run("ip", "-n", switch, "link", "add", "name", "bridge", "type", "bridge")
    _run("ip", "-n", switch, "link", "set", "bridge", "up")
    for number, host in enumerate(found):
        port = f"port{number}"
        _run("ip", "-n", host.namespace, "link", "add", "name", DEVICE, "type", "veth", "peer", "name", port, "netns",
             switch)
        _run("ip", "-n", switch, "link", "set", port, "master", "bridge", "up")
        _shape(host.namespace, DEVICE, half)
        _shape(switch, port, half)


def _shape(namespace: str, device: str, link: Link) -> None:
    """Holds what leaves by that device back. Raises UsageError."""
    qdisc = ("tc", "-n", namespace, "qdisc", "add", "dev", device)
    burst = max(LEAST_BURST, round(link.rate * BURST / 8))
    _run(*qdisc, "root", "handle", "1:", "tbf", "rate", f"{link.rate:.0f}bit", "burst", str(burst), "latency", QUEUE)
    if link.delay:
        try:
            _run(*qdisc, "parent", "1:1", "netem", "delay", f"{1e6 * link.delay:.0f}us")
        except UsageError as error:
            why = error.message.rpartition(": ")[2]
            raise UsageError(f"a link with a delay takes netem, which this kernel lacks ({why})",
                             "leave the delay out, or load it: modprobe sch_netem") from None


def _clear() -> None:
    _remove(leftovers())


def _remove(namespaces: Sequence[str]) -> None:
    """A namespace lives on until the last process in it has gone, whatever its name; its devices go with it."""
    for name in namespaces:
        with suppress(UsageError):
            _run("ip", "netns", "delete", name)


def _born(process: int) -> str:
    """When it began, in ticks since the machine did: another one of the same id began at another time. "" if it has
    gone."""
    fields = system.state_of(process)
    return fields[19] if len(fields) > 19 and fields[0] not in "ZX" else ""


def _insist() -> None:
    if not sys.platform.startswith("linux"):
        raise UsageError("links take namespaces of the network, which only Linux has", "leave the link out")
    lacking = [name for name in TOOLS if shutil.which(name) is None]
    if lacking:
        packages = " ".join(sorted({TOOLS[name] for name in lacking}))
        raise UsageError(f"links take {' and '.join(lacking)}, which this machine lacks",
                         f"make system, or with a package manager: apt-get install {packages}")
    if os.geteuid() != 0:
        raise UsageError("links take namespaces of the network, which only root may make",
                         "run it as root (sudo), or leave the link out")


def _run(*command: str) -> None:
    """Raises UsageError with what it complains of."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[0]
        raise UsageError(f"this machine cannot have that link: {' '.join(command)}: {said}",
                         "a container needs the right to: docker run --privileged; or leave the link out")
