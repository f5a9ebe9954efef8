"""Sensors of energy, a file each: counters of joules, read by the parent before and after a run, and during one that
takes minutes (a whole epoch) once in each.

A file has `DEVICES`, the kinds of device whose work its counters hold ("cpu", "cuda"), and `find(device)`, which
returns a Sensor or says in an Absent why there is none. What no sensor measures is not measured: nothing is estimated.
"""

import importlib
import os
import pkgutil
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

FOLLOWED = 60.0  # seconds between two looks at counters while something long runs: they take longer to start again
SCRIPT = "PHOTOFINISH_SENSOR"  # a folder of `scripted`, which then takes the place of all others


@dataclass(frozen=True)
class Absent:
    """Why there is no such sensor here, and what would put it right ("" where nothing does)."""

    reason: str
    cure: str = ""


class Sensor(Protocol):
    """Counters of joules. `ranges` maps each domain ("package-0", say) to the joules after which its counter starts
    again from 0."""

    title: str

    @property
    def ranges(self) -> Mapping[str, float]: ...

    def joules(self) -> dict[str, float]:
        """Every counter now. Raises OSError if it can no longer be read."""

    def busy(self, since: float) -> float | None:
        """The share of the time since `since` (seconds of the epoch) in which the device worked; None where it does not
        count that."""


@dataclass(frozen=True)
class Reading:
    """Every counter of a meter at once: when (seconds of a clock that only runs on, seconds of the epoch), and the
    joules since the meter's first reading."""

    clock: float
    epoch: float
    joules: Mapping[str, float]


class Meter:
    """All sensors that see the work of one device."""

    def __init__(self, sensors: Sequence[Sensor]) -> None:
        self.sensors = sensors
        self.ranges = {domain: limit for sensor in sensors for domain, limit in sensor.ranges.items()}
        self._last: dict[str, float] = {}  # what the counters said
        self._risen: dict[str, float] = {}  # since they were first read
        self._clock = 0.0

    @property
    def title(self) -> str:
        return ", ".join(sensor.title for sensor in self.sensors)

    def read(self) -> Reading:
        """Raises OSError."""
        joules = {domain: value for sensor in self.sensors for domain, value in sensor.joules().items()}
        self._clock = time.monotonic()
        for domain, limit in self.ranges.items():
            rise = _difference(self._last.get(domain, joules[domain]), joules[domain], limit)
            self._risen[domain] = self._risen.get(domain, 0.0) + rise
        self._last = joules
        return Reading(self._clock, time.time(), dict(self._risen))

    def follow(self) -> None:
        """Reads the counters where nobody has for a while: one that starts again twice between two readings loses a
        whole range, a quarter of an hour of a busy package. Raises OSError."""
        if time.monotonic() - self._clock > FOLLOWED:
            self.read()

    def used(self, before: Reading, after: Reading) -> dict[str, float]:
        """Joules by domain between two readings."""
        return {domain: after.joules[domain] - before.joules[domain] for domain in self.ranges}

    def busy(self, since: Reading) -> float | None:
        """The share of the time since then in which the device worked, None if no sensor counts it."""
        known = [share for sensor in self.sensors if (share := sensor.busy(since.epoch)) is not None]
        return max(known, default=None)

    def idle(self, seconds: float) -> dict[str, float]:
        """Watts by domain while nothing of ours runs: we sleep for so long. Raises OSError."""
        before = self.read()
        time.sleep(seconds)
        after = self.read()
        return {domain: joules / (after.clock - before.clock) for domain, joules in self.used(before, after).items()}


def meter(device: str) -> Meter | Absent:
    """What measures work on a device ("cpu", "cuda:0"): the sensors of its own kind, and for another than the
    processor the processor's, too, where there are any."""
    script = os.environ.get(SCRIPT)
    if script:
        from photofinish.sensors.scripted import Scripted

        return Meter([Scripted(Path(script))])
    kind, found = device.partition(":")[0], survey(device)
    own = [each for name, each in found.items() if kind in _module(name).DEVICES]
    if not own:
        return Absent(f"no sensor sees the work of a {kind}")
    if all(isinstance(each, Absent) for each in own):
        return _all(each for each in own if isinstance(each, Absent))
    return Meter([each for name, each in found.items()
                  if not isinstance(each, Absent) and {kind, "cpu"} & set(_module(name).DEVICES)])


def survey(device: str = "cuda") -> dict[str, Sensor | Absent]:
    """Every file's sensor, or why it has none here."""
    return {name: _module(name).find(device) for name in names()}


def names() -> list[str]:
    """The files here but the script's, which is found by its variable alone."""
    return sorted(each.name for each in pkgutil.iter_modules(__path__) if each.name != "scripted")


def _module(name: str) -> "SensorFile":
    module: SensorFile = importlib.import_module(f"{__name__}.{name}")  # type: ignore[assignment]
    return module


class SensorFile(Protocol):
    """What a file here holds."""

    DEVICES: tuple[str, ...]

    def find(self, device: str) -> Sensor | Absent: ...


def _all(absent: Iterable[Absent]) -> Absent:
    known = list(absent)
    return Absent("; ".join(each.reason for each in known), "; ".join(each.cure for each in known if each.cure))


def _difference(before: float, after: float, limit: float) -> float:
    """What a counter rose by that may have started again from 0 once."""
    return after - before if after >= before else after - before + limit
