"""Sensors of energy: the counters of a folder as Linux lays it out, a counter that starts again, NVML as its library
answers, and what is said where there is none."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from photofinish import sensors
from photofinish.sensors import Absent, Meter, Reading, Sensor, apple, nvml, powercap

ZONES = {  # zone: name, counter, range; as on a server of two packages, and on a laptop
    "intel-rapl:0": ("package-0", 5_000_000, 262_143_328_850), "intel-rapl:0:0": ("dram", 1_000_000, 65_712_999_613),
    "intel-rapl:0:1": ("core", 4_000_000, 262_143_328_850), "intel-rapl:1": ("package-1", 7_000_000, 262_143_328_850),
    "intel-rapl:1:0": ("dram", 2_000_000, 65_712_999_613), "intel-rapl:2": ("psys", 99_000_000, 262_143_328_850),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for zone, (name, counter, limit) in ZONES.items():
        (tmp_path / zone).mkdir()
        for file, value in (("name", name), ("energy_uj", counter), ("max_energy_range_uj", limit)):
            (tmp_path / zone / file).write_text(f"{value}\n")
    return tmp_path


def found(folder: Path) -> Sensor:
    sensor = powercap.find("cpu", folder)
    assert not isinstance(sensor, Absent)
    return sensor


def test_packages_and_their_memory_count_and_nothing_counts_twice(folder: Path) -> None:
    assert found(folder).joules() == {"package-0": 5.0, "package-1": 7.0, "dram 0": 1.0, "dram 1": 2.0}


def test_a_counter_that_starts_again_goes_on(folder: Path) -> None:
    meter = Meter([found(folder)])
    limit = meter.ranges["package-0"]
    (folder / "intel-rapl:0/energy_uj").write_text(str(int((limit - 3) * 1e6)))
    before = meter.read()
    (folder / "intel-rapl:0/energy_uj").write_text("4000000")
    (folder / "intel-rapl:1/energy_uj").write_text("9000000")
    used = meter.used(before, meter.read())
    assert used == pytest.approx({"package-0": 7.0, "package-1": 2.0, "dram 0": 0.0, "dram 1": 0.0}, abs=1e-5)


def test_a_counter_that_starts_again_twice_is_followed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked at before the second time; and not where somebody has just looked."""
    meter = Meter([found(folder)])
    limit = meter.ranges["package-0"]
    clock = iter((0.0, 10.0, 100.0, 100.0, 1000.0))
    monkeypatch.setattr("photofinish.sensors.time.monotonic", lambda: next(clock))

    def said(joules: float) -> None:
        (folder / "intel-rapl:0/energy_uj").write_text(str(int(joules * 1e6)))
    said(limit - 3)
    before = meter.read()
    said(limit - 2)
    meter.follow()
    assert meter.used(before, before)["package-0"] == 0.0
    said(limit - 4)
    meter.follow()
    said(limit - 5)
    assert meter.used(before, meter.read())["package-0"] == pytest.approx(2 * limit - 2, rel=1e-6)


def test_why_there_is_none_is_said_with_its_cure(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(powercap.find("cpu", tmp_path / "nowhere"), Absent)

    def refused(zone: Path, name: str) -> str:
        if name == "energy_uj":
            raise PermissionError(name)
        return (zone / name).read_text().strip()

    monkeypatch.setattr(powercap, "_read", refused)
    absent = powercap.find("cpu", folder)
    assert isinstance(absent, Absent) and "root only" in absent.reason and absent.cure.startswith("sudo chmod a+r")


X86, ARM = "processor : 0\nflags : fpu msr avx2\n", "processor : 0\nFeatures : fp asimd\n"


@pytest.mark.parametrize(("processor", "kernel", "helps"), [
    (X86, True, True), (X86, False, False), (X86.replace("avx2", "hypervisor"), True, False), (ARM, True, False),
    ("", True, False),
])
def test_a_module_of_the_kernel_is_advised_where_it_may_help(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processor: str, kernel: bool, helps: bool) -> None:
    folder = tmp_path / "powercap"
    if kernel:
        folder.mkdir()
    (tmp_path / "cpuinfo").write_text(processor)
    monkeypatch.setattr(powercap, "PROCESSORS", tmp_path / "cpuinfo")
    absent = powercap.find("cpu", folder)
    assert isinstance(absent, Absent) and "no RAPL counter" in absent.reason
    assert ("modprobe" in absent.cure) is helps and bool(absent.cure) is helps


def test_a_container_that_hides_the_counters_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Docker leaves the links and hides what they lead to."""
    (tmp_path / "cpuinfo").write_text(X86)
    monkeypatch.setattr(powercap, "PROCESSORS", tmp_path / "cpuinfo")
    for zone in ZONES:
        (tmp_path / zone).symlink_to(f"../../devices/virtual/powercap/intel-rapl/{zone}")
    absent = powercap.find("cpu", tmp_path)
    assert isinstance(absent, Absent) and "this container" in absent.reason
    assert "--privileged" in absent.cure and "modprobe" not in absent.cure


class NvmlError(Exception):
    pass


def library(count: int = 1, counts: bool = True, divided: bool | None = None) -> SimpleNamespace:
    """What nvidia-ml-py answers on a machine with so many GPUs."""
    def energy(handle: int) -> int:
        if not counts:
            raise NvmlError("Not Supported")
        return 12_345 + handle

    def mig_mode(handle: int) -> list[int]:
        if divided is None:
            raise NvmlError("Not Supported")
        return [int(divided), 0]

    samples = [SimpleNamespace(sampleValue=SimpleNamespace(uiVal=share)) for share in (50, 100)]
    return SimpleNamespace(
        NVMLError=NvmlError, NVML_GPU_UTILIZATION_SAMPLES=1, nvmlInit=lambda: None, nvmlDeviceGetCount=lambda: count,
        nvmlDeviceGetHandleByIndex=lambda number: number,
        nvmlDeviceGetHandleByUUID={"GPU-seventh": 7}.__getitem__, nvmlDeviceGetTotalEnergyConsumption=energy,
        nvmlDeviceGetSamples=lambda handle, kind, since: (0, samples), nvmlDeviceGetMigMode=mig_mode)


@pytest.mark.parametrize(("shown", "device", "handle"), [
    ("3", "cuda", 3), ("3, 1", "cuda:1", 1), ("GPU-seventh", "cuda:0", 7), ("3", "cuda:1", None), ("", "cuda", None),
    ("MIG-part", "cuda", None),
])
def test_of_gpus_that_are_hidden_none_is_measured_in_place_of_another(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shown: str, device: str, handle: int | None) -> None:
    monkeypatch.setattr(nvml, "DRIVER", tmp_path)
    monkeypatch.setitem(sys.modules, "pynvml", library(count=8))
    monkeypatch.setenv(nvml.ORDER, "PCI_BUS_ID")
    monkeypatch.setenv(nvml.VISIBLE, shown)
    found = nvml.find(device)
    if handle is None:
        assert isinstance(found, Absent) and nvml.VISIBLE in found.reason
    else:
        assert not isinstance(found, Absent)
        assert list(found.joules().values()) == [pytest.approx((12_345 + handle) / 1e3)]


def test_a_device_that_no_sensor_sees_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(sensors.SCRIPT, raising=False)
    assert sensors.meter("tpu:0") == Absent("no sensor sees the work of a tpu")


def test_nvml_s_counter_and_samples_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(nvml.VISIBLE, raising=False)
    monkeypatch.setattr(nvml, "DRIVER", tmp_path)
    monkeypatch.setitem(sys.modules, "pynvml", library())
    sensor = nvml.find("cuda")
    assert not isinstance(sensor, Absent)
    assert sensor.joules() == {"gpu-0": pytest.approx(12.345)} and sensor.busy(0.0) == 0.75
    monkeypatch.setitem(sys.modules, "pynvml", library(divided=False))
    assert not isinstance(nvml.find("cuda"), Absent)
    for told, reason in ((library(divided=True), "MIG"), (library(counts=False), "Not Supported"),
                         (library(count=2), "several GPUs")):
        monkeypatch.setitem(sys.modules, "pynvml", told)
        absent = nvml.find("cuda:1")
        assert isinstance(absent, Absent) and reason in absent.reason
    monkeypatch.setenv(nvml.ORDER, "PCI_BUS_ID")
    second = nvml.find("cuda:1")
    assert not isinstance(second, Absent) and second.joules() == {"gpu-1": pytest.approx(12.346)}


def test_apple_s_counters_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = SimpleNamespace(cpu_total_mj=2500, dram_mj=400, gpu_mj=30, ane_mj=None, gpu_sram_mj=7)
    library = SimpleNamespace(AppleEnergyMonitor=lambda: SimpleNamespace(get_cumulative_energy=lambda: seen))
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setitem(sys.modules, "zeus_apple_silicon", library)
    sensor = apple.find("cpu")
    assert not isinstance(sensor, Absent)
    assert sensor.joules() == pytest.approx({"cpu_total": 2.5, "dram": 0.4, "gpu": 0.03})


def test_a_gpu_s_race_counts_the_processor_too_and_never_the_processor_alone(
        folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(sensors.SCRIPT, raising=False)
    monkeypatch.setattr(powercap, "find", lambda device: powercap.Rapl({"package-0": folder / "intel-rapl:0"}))
    monkeypatch.setattr(nvml, "DRIVER", tmp_path / "nowhere")
    absent = sensors.meter("cuda")
    assert isinstance(absent, Absent) and absent.reason == "there is no NVIDIA driver"
    processor = sensors.meter("cpu")
    assert isinstance(processor, Meter) and set(processor.ranges) == {"package-0"}
    monkeypatch.setattr(nvml, "DRIVER", tmp_path)
    monkeypatch.setitem(sys.modules, "pynvml", library())
    both = sensors.meter("cuda")
    assert isinstance(both, Meter) and set(both.ranges) == {"package-0", "gpu-0"}
    assert both.busy(Reading(0.0, 0.0, {})) == 0.75 and processor.busy(Reading(0.0, 0.0, {})) is None


def test_every_file_keeps_the_protocol() -> None:
    assert sensors.names() == ["apple", "nvml", "powercap"]
    for name, each in sensors.survey().items():
        assert isinstance(each, Absent) or each.joules().keys() == each.ranges.keys(), name
