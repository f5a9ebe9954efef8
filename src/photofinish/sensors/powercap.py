"""RAPL, the counters of Intel and AMD processors, as Linux shows them in /sys/class/powercap (the kernel's
Documentation/power/powercap/powercap.rst).

Of the zones those count that hold no other: the packages, and the memory beside them. What is within a package (core,
uncore) or holds all of it (psys) would be counted twice.
"""

from collections.abc import Mapping
from pathlib import Path

from photofinish.sensors import Absent, Sensor

DEVICES = ("cpu",)
FOLDER = Path("/sys/class/powercap")
MICRO = 1e-6
PROCESSORS = Path("/proc/cpuinfo")
CURE = "sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj (until the next boot)"
UNHIDDEN = "start it with --privileged (or docker run --security-opt systempaths=unconfined)"


class Rapl:
    """The counters of these zones, by domain."""

    title = "RAPL"

    def __init__(self, zones: Mapping[str, Path]) -> None:
        self.zones = zones
        self.ranges = {domain: MICRO * int(_read(zone, "max_energy_range_uj")) for domain, zone in zones.items()}

    def joules(self) -> dict[str, float]:
        return {domain: MICRO * int(_read(zone, "energy_uj")) for domain, zone in self.zones.items()}

    def busy(self, since: float) -> None:
        """A processor's work is told by the CPU seconds of its processes."""


def find(device: str, folder: Path = FOLDER) -> Sensor | Absent:
    """The same for every device."""
    zones: dict[str, Path] = {}
    listed = sorted(folder.glob("intel-rapl:*"))
    for zone in listed:
        try:
            name = _read(zone, "name")
        except OSError:
            continue
        if name.startswith("package"):
            zones[name] = zone
        elif name == "dram":
            zones[f"dram {zone.name.split(':')[1]}"] = zone
    if listed and not any(zone.exists() for zone in listed):  # a volume at that place would be hidden as well
        return Absent("this container hides RAPL's counters", UNHIDDEN)
    if not zones:
        return Absent("no RAPL counter in /sys/class/powercap: a virtual machine hides it, or the kernel lacks it",
                      "sudo modprobe intel_rapl_msr" if folder.is_dir() and _on_metal() else "")
    try:
        sensor = Rapl(zones)
        sensor.joules()
    except PermissionError:
        return Absent("RAPL's counters may be read by root only", CURE)
    except (OSError, ValueError) as error:
        return Absent(f"RAPL's counters cannot be read ({error})")
    return sensor


def _read(zone: Path, name: str) -> str:
    return (zone / name).read_text().strip()


def _on_metal() -> bool:
    """Whether Intel's or AMD's processor is below the kernel itself: then a module may be what is missing."""
    try:
        lines = PROCESSORS.read_text().splitlines()
    except OSError:
        return False
    flags = next((line.split() for line in lines if line.startswith("flags")), [])  # "Features" on ARM
    return bool(flags) and "hypervisor" not in flags
