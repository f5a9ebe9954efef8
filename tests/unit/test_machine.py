"""Facts are read from the files of made-up machines; the real one must at least give plain JSON."""

import getpass
import json
import platform
from collections.abc import Iterable
from pathlib import Path

import pytest

from photofinish import machine

XEON = """processor\t: 0
model name\t: Example CPU @ 2.00GHz
flags\t\t: fpu sse2 avx2 fma hypervisor avx512f amx_int8

processor\t: 1
model name\t: Another
flags\t\t: fpu
"""


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return root


def test_the_real_machine_is_told_in_plain_json_without_naming_anyone() -> None:
    told = json.dumps(machine.facts())
    assert json.loads(told)["cores"] >= json.loads(told)["usable_cores"] >= 1
    assert platform.node() not in told or len(platform.node()) < 4
    assert str(Path.home()) not in told or str(Path.home()) == "/"
    assert f"/{getpass.getuser()}" not in told


def test_an_empty_machine_has_no_facts_and_breaks_nothing(tmp_path: Path) -> None:
    found = machine.facts(tmp_path)
    assert found["memory"] is None and found["clock"] is None and found["flags"] == []
    assert found["limits"] == {"cpus": None, "memory": None}
    assert found["frequency"] == {"governor": None, "turbo": None, "highest": None}
    assert found["physical_cores"] is None and found["virtual"] == ""


def test_the_processor_is_the_first_one_listed(tmp_path: Path) -> None:
    root = write(tmp_path, {"proc/cpuinfo": XEON})
    assert machine.cpu_model(root) == "Example CPU @ 2.00GHz"
    assert machine.cpu_flags(root) == ["avx2", "fma", "avx512f", "amx_int8"]
    assert machine.virtual(root) == "machine"


def test_an_x86_processor_is_known_by_its_name_and_instruction_sets(tmp_path: Path) -> None:
    """Certificates and references are kept by it: whatever is added to it makes them all again."""
    assert machine.processor(write(tmp_path, {"proc/cpuinfo": XEON})) == \
        "Example CPU @ 2.00GHz avx2 fma avx512f amx_int8"


def arm(part: str, features: str) -> str:
    return (f"processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: {features}\nCPU implementer\t: 0x41\n"
            f"CPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: {part}\nCPU revision\t: 1\n\nprocessor\t: 1\n")


def test_two_processors_of_arm_are_not_taken_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    monkeypatch.setattr(platform, "processor", lambda: "")
    told = {each: machine.processor(write(tmp_path / each, {"proc/cpuinfo": arm(each, features)}))
            for each, features in (("0xd08", "fp asimd crc32"), ("0xd09", "fp asimd crc32"),
                                   ("0xd40", "fp asimd asimdhp asimddp sve i8mm bf16"))}
    assert told["0xd08"] == "aarch64, implementer 0x41, part 0xd08, variant 0x3 asimd"
    assert told["0xd09"] != told["0xd08"]
    assert told["0xd40"].endswith(" asimd asimdhp asimddp sve i8mm bf16")


@pytest.mark.parametrize(("files", "seen"), [
    ({".dockerenv": ""}, "container"),
    ({"sys/class/dmi/id/sys_vendor": "QEMU", "run/.containerenv": ""}, "machine, container"),
    ({"sys/class/dmi/id/sys_vendor": "Dell Inc."}, ""),
])
def test_virtual_machines_and_containers_are_seen(tmp_path: Path, files: dict[str, str], seen: str) -> None:
    assert machine.virtual(write(tmp_path, files)) == seen


@pytest.mark.parametrize(("files", "limits"), [
    ({"proc/self/cgroup": "0::/box", "sys/fs/cgroup/box/cpu.max": "150000 100000",
      "sys/fs/cgroup/box/memory.max": "2147483648"}, {"cpus": 1.5, "memory": 2**31}),
    ({"proc/self/cgroup": "0::/job/step/task", "sys/fs/cgroup/job/step/task/cpu.max": "max 100000",
      "sys/fs/cgroup/job/step/task/memory.max": "max", "sys/fs/cgroup/job/step/memory.max": "2147483648",
      "sys/fs/cgroup/job/memory.max": "4294967296", "sys/fs/cgroup/job/cpu.max": "200000 100000"},
     {"cpus": 2.0, "memory": 2**31}),
    ({"proc/self/cgroup": "4:memory:/job/task",
      "sys/fs/cgroup/memory/job/task/memory.limit_in_bytes": str(2**63 - 4096),
      "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "1073741824"}, {"cpus": None, "memory": 2**30}),
    ({"sys/fs/cgroup/cpu.max": "max 100000", "sys/fs/cgroup/memory.max": "max"}, {"cpus": None, "memory": None}),
    ({"proc/self/cgroup": "4:memory:/box\n1:cpu,cpuacct:/box",
      "sys/fs/cgroup/cpu/box/cpu.cfs_quota_us": "200000", "sys/fs/cgroup/cpu/box/cpu.cfs_period_us": "100000",
      "sys/fs/cgroup/memory/box/memory.limit_in_bytes": "1073741824"}, {"cpus": 2.0, "memory": 2**30}),
    ({"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
      "sys/fs/cgroup/memory/memory.limit_in_bytes": str(2**63 - 4096)}, {"cpus": None, "memory": None}),
])
def test_limits_of_both_kinds_of_control_groups(tmp_path: Path, files: dict[str, str],
                                                limits: dict[str, float | None]) -> None:
    assert machine.limits(write(tmp_path, files)) == limits


@pytest.mark.parametrize(("files", "turbo"), [
    ({"sys/devices/system/cpu/intel_pstate/no_turbo": "1"}, False),
    ({"sys/devices/system/cpu/intel_pstate/no_turbo": "0"}, True),
    ({"sys/devices/system/cpu/cpufreq/boost": "1"}, True),
    ({"sys/devices/system/cpu/cpufreq/boost": "0"}, False),
])
def test_turbo_is_read_in_either_spelling(tmp_path: Path, files: dict[str, str], turbo: bool) -> None:
    policy = "sys/devices/system/cpu/cpu0/cpufreq/"
    root = write(tmp_path, {
        policy + "scaling_governor": "performance", policy + "cpuinfo_max_freq": "3500000", **files})
    assert machine.frequency_control(root) == {"governor": "performance", "turbo": turbo, "highest": 3_500_000_000}


def topology(root: Path, *cores: str) -> Path:
    """A machine of those cores, each told as Linux tells a core's threads."""
    return write(root, {f"sys/devices/system/cpu/cpu{thread}/topology/thread_siblings_list": core
                        for core in cores for thread in machine._cpu_list(core)})


@pytest.mark.parametrize(("cores", "allowed", "given", "physical"), [
    (("0-1", "2-3", "4-5", "6-7"), range(8), [0, 2, 4, 6, 1, 3, 5, 7], 4),  # as clouds number them
    (("0,4", "1,5", "2,6", "3,7"), range(8), [0, 1, 2, 3, 4, 5, 6, 7], 4),  # as most machines do
    (("0-1", "2-3", "4", "5"), range(6), [0, 2, 4, 5, 1, 3], 4),  # cores of two kinds
    (("0-3", "4-7"), range(8), [0, 4, 1, 5, 2, 6, 3, 7], 2),
    (("0-1", "2-3", "4-5"), (1, 3, 4, 5), [1, 3, 4, 5], 3),  # what taskset left
    (("0-1", "2-3"), (1,), [1], 1),
    (("0", "1"), (0, 1), [0, 1], 2),
    ((), range(4), [0, 1, 2, 3], None),  # not told
])
def test_every_core_gives_a_thread_before_one_gives_its_second(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cores: tuple[str, ...], allowed: Iterable[int],
        given: list[int], physical: int | None) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(allowed), raising=False)
    root = topology(tmp_path, *cores)
    assert machine.usable_cores(root) == given
    assert machine.physical_cores(root) == machine.facts(root)["physical_cores"] == physical


def test_threads_of_a_core_are_put_together(tmp_path: Path) -> None:
    root = topology(tmp_path, "0,4", "1,5", "2,6", "3,7")
    assert machine.by_core([0, 1, 2, 3, 4, 5], root) == [[0, 4], [1, 5], [2], [3]]
    assert machine.by_core([2, 0, 1], tmp_path / "nowhere") == [[0], [1], [2]]


@pytest.mark.parametrize(("quota", "threads"), [("max", 4), ("800000", 4), ("200000", 2), ("250000", 2), ("50000", 1)])
def test_a_container_s_cores_are_those_whose_time_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quota: str,
                                                         threads: int) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {0, 1, 2, 3}, raising=False)
    assert machine.usual_threads(write(tmp_path, {"sys/fs/cgroup/cpu.max": f"{quota} 100000"})) == threads


def test_shares_tell_foreign_work_from_what_the_host_withheld() -> None:
    quiet = dict.fromkeys(("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"), 0)
    before = {**quiet, "user": 10, "idle": 100}
    after = {**quiet, "user": 30, "system": 10, "idle": 150, "iowait": 10, "steal": 10}
    assert machine.shares(before, after) == {"foreign": pytest.approx(0.3), "steal": pytest.approx(0.1)}
    assert machine.shares(before, before) == {"foreign": None, "steal": None}


def test_the_real_machine_s_quietness_is_a_share() -> None:
    found = machine.quietness(0.05)
    assert found["foreign"] is None or 0 <= found["foreign"] <= 1
    assert found["steal"] is None or 0 <= found["steal"] <= 1


def test_gpus_are_listed_as_nvidia_smi_tells_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'NVIDIA H200, 143771, 570.86.15, Disabled'\necho 'H200, 143771, 570, Enabled'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    known = {"name": "NVIDIA H200", "memory": 143771 * 2**20, "driver": "570.86.15"}
    assert machine.gpus() == [known, {"name": "H200", "memory": None, "driver": "570"}]
    tool.write_text("#!/bin/sh\ncase $1 in *mig*) exit 2;; esac\necho 'NVIDIA H200, 143771, 570.86.15'\n")
    assert machine.gpus() == [known]
    tool.write_text("#!/bin/sh\necho 'no devices were found'\nexit 6\n")
    assert machine.gpus() == []


def test_a_gpu_is_part_of_what_computes_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {}
    for name in ("H100", "H200"):
        monkeypatch.setattr(machine, "gpus", lambda name=name: [{"name": name, "memory": 2**36, "driver": "1"}])
        machine.hardware.cache_clear()
        told[name] = machine.hardware("cuda:0")
        assert machine.hardware("cpu") == machine.processor()
    machine.hardware.cache_clear()
    assert told["H100"] != told["H200"] and all(each.startswith(machine.processor()) for each in told.values())


@pytest.mark.parametrize(("device", "there", "lacking"), [
    ("cuda:1", "", "no NVIDIA GPU here"), ("cuda", "dev/nvidia0", ""), ("cuda", "dev/nvidiactl", "no NVIDIA GPU here"),
    ("tpu", "", "no TPU here"), ("tpu", "dev/accel0", ""), ("tpu", "dev/vfio/0", ""), ("cpu", "", ""),
])
def test_a_device_that_is_not_there_is_told_before_anything_starts(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: str, there: str, lacking: str) -> None:
    monkeypatch.setattr(machine, "gpus", list)
    assert machine.device_memory() is None
    assert machine.lacks(device, write(tmp_path, {there: ""} if there else {})) == lacking


@pytest.mark.parametrize(("shown", "device", "lacking"), [
    (None, "cuda", ""), (None, "cuda:1", ""), (None, "cuda:2", "no GPU of number 2"), ("1", "cuda:0", ""),
    ("1", "cuda:1", "no GPU of number 1"), ("", "cuda", "no GPU of number 0"), ("-1", "cuda", "no GPU of number 0"),
    ("9", "cuda", "no GPU of number 0"), ("0,-1", "cuda", ""), ("0,-1", "cuda:1", "no GPU of number 1"),
    ("-1,0", "cuda", "no GPU of number 0"), ("0,,1", "cuda:1", "no GPU of number 1"), ("1, 0", "cuda:1", ""),
    ("GPU-1a2b,MIG-3c4d", "cuda:1", ""), ("none", "cuda", "no GPU of number 0"),
])
def test_a_gpu_of_a_number_that_is_not_there_is_told_before_anything_starts(
        monkeypatch: pytest.MonkeyPatch, shown: str | None, device: str, lacking: str) -> None:
    monkeypatch.setattr(machine, "gpus", lambda: [{"name": "A", "memory": 2**35}, {"name": "B", "memory": 2**33}])
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if shown is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", shown)
    assert machine.device_memory() == 2**33
    assert lacking in machine.lacks(device) and bool(machine.lacks(device)) is bool(lacking)
