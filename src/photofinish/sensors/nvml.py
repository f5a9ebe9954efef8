"""NVIDIA's counters of energy (since Volta), by nvidia-ml-py.

The driver brings the counter up to date some ten times a second, so that a run of several seconds is known to about a
per cent. How busy the GPU was is what the driver sampled by itself meanwhile: nothing is polled.
"""

import importlib
import os
from pathlib import Path
from typing import Any

from photofinish.sensors import Absent, Sensor

DEVICES = ("cuda",)
MILLI, MICRO = 1e-3, 1e-6
DRIVER = Path("/proc/driver/nvidia/version")
ORDER, VISIBLE = "CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES"


class Gpu:
    """One GPU's counter, of the whole board."""

    title = "NVML"

    def __init__(self, nvml: Any, number: int, known_as: str) -> None:
        """CUDA's device of that number, which NVML knows as that index or UUID."""
        self.nvml = nvml
        self.domain = f"gpu-{number}"
        self.handle = nvml.nvmlDeviceGetHandleByIndex(int(known_as)) if known_as.isdecimal() else \
            nvml.nvmlDeviceGetHandleByUUID(known_as)
        self.ranges = {self.domain: 2.0 ** 64 * MILLI}

    def divided(self) -> bool:
        """Whether others may use parts of the board (MIG) while we use one."""
        try:
            return bool(self.nvml.nvmlDeviceGetMigMode(self.handle)[0])
        except self.nvml.NVMLError:
            return False  # it cannot be divided

    def joules(self) -> dict[str, float]:
        try:
            return {self.domain: MILLI * self.nvml.nvmlDeviceGetTotalEnergyConsumption(self.handle)}
        except self.nvml.NVMLError as error:
            raise OSError(f"NVML: {error}") from error

    def busy(self, since: float) -> float | None:
        try:
            _, samples = self.nvml.nvmlDeviceGetSamples(self.handle, self.nvml.NVML_GPU_UTILIZATION_SAMPLES,
                                                        int(since / MICRO))
        except self.nvml.NVMLError:
            return None
        shares = [sample.sampleValue.uiVal / 100 for sample in samples]
        return sum(shares) / len(shares) if shares else None


def find(device: str) -> Sensor | Absent:
    """The GPU of that device: "cuda" is the first."""
    if not DRIVER.exists():
        return Absent("there is no NVIDIA driver")
    try:
        nvml: Any = importlib.import_module("pynvml")
    except ImportError:
        return Absent("nvidia-ml-py is not installed", "pip install nvidia-ml-py")
    try:
        nvml.nvmlInit()
        number = int(device.partition(":")[2] or 0)
        known_as = _known_as(number)
        if not known_as:
            return Absent(f"{VISIBLE} shows no whole GPU of the number {number}")
        if known_as.isdecimal() and nvml.nvmlDeviceGetCount() > 1 and os.environ.get(ORDER) != "PCI_BUS_ID":
            return Absent("there are several GPUs, which CUDA may number otherwise than NVML", f"{ORDER}=PCI_BUS_ID")
        sensor = Gpu(nvml, number, known_as)
        if sensor.divided():
            return Absent("the GPU is divided (MIG), and its counter is that of the whole board")
        sensor.joules()
    except (nvml.NVMLError, OSError) as error:
        return Absent(f"no NVIDIA GPU with a counter of energy ({error})")
    return sensor


def _known_as(number: int) -> str:
    """What NVML knows CUDA's device of that number by: CUDA counts those that a variable shows, NVML all. "" where it
    shows none, or a part of one (MIG), which has no counter."""
    shown = os.environ.get(VISIBLE)
    if shown is None:
        return str(number)
    known = [each.strip() for each in shown.split(",")]
    found = known[number] if number < len(known) else ""
    return found if found.isdecimal() or found.startswith("GPU-") else ""
