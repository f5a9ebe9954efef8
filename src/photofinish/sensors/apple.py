"""Apple's chips, by zeus-apple-silicon (of the Zeus project), which needs no root. Never run: it needs a Mac."""

import importlib
import sys
from collections.abc import Mapping
from typing import Any

from photofinish.sensors import Absent, Sensor

DEVICES = ("cpu",)
DOMAINS = ("cpu_total", "dram", "gpu", "ane")  # of the library's counters those that hold no other
MILLI = 1e-3


class Soc:
    """The chip's counters, which run on from when the monitor was made."""

    title = "IOReport"

    def __init__(self, monitor: Any) -> None:
        self.monitor = monitor
        self.ranges: Mapping[str, float] = dict.fromkeys(self.joules(), float("inf"))

    def joules(self) -> dict[str, float]:
        seen = self.monitor.get_cumulative_energy()
        counted = {name: getattr(seen, f"{name}_mj") for name in DOMAINS}
        return {name: MILLI * value for name, value in counted.items() if value is not None}

    def busy(self, since: float) -> None:
        """Not asked for."""


def find(device: str) -> Sensor | Absent:
    """The same for every device."""
    if sys.platform != "darwin":
        return Absent("this is no Mac")
    try:
        library: Any = importlib.import_module("zeus_apple_silicon")
    except ImportError:
        return Absent("zeus-apple-silicon is not installed", "pip install zeus-apple-silicon")
    try:
        return Soc(library.AppleEnergyMonitor())
    except RuntimeError as error:
        return Absent(f"the chip's counters cannot be read ({error})")
