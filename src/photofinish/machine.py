"""Facts about this machine, and how quiet it is now. Nothing that names a person or a host.

Linux's /proc and /sys are read below `root`; what another system does not show is None or empty.
"""

import os
import platform
import shutil
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

FLAGS = ("avx", "avx2", "fma", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_bf16",
         "amx_int8", "amx_tile",
         "neon", "asimd", "asimdhp", "asimddp", "sve", "sve2", "i8mm", "bf16")  # what deep-learning kernels choose by
UNLIMITED = 2**60  # cgroup v1 writes "no limit" as a number near 2**63
HYPERVISOR_FILES = {"sys/class/dmi/id/sys_vendor": ("QEMU", "VMware", "Xen", "Amazon EC2", "Google", "Microsoft"),
                    "sys/hypervisor/type": ("xen",)}
ACCELERATORS = {"cuda": ("NVIDIA GPU", ("dev/nvidia[0-9]*",)),  # by what stands in /dev where there is one
                "tpu": ("TPU", ("dev/accel[0-9]*", "dev/vfio/[0-9]*"))}
CONTAINER_FILES = (".dockerenv", "run/.containerenv")


@dataclass(frozen=True)
class Identity:
    """What a machine is known by from race to race, its kernel and packages apart; memory in bytes. Clouds give several
    processors one name: their instruction sets tell them apart."""

    cpu: str
    instructions: tuple[str, ...]
    cores: int | None
    memory: int | None
    gpus: str
    system: str


def identity(facts: dict[str, Any]) -> Identity:
    """Of the machine with these `facts`. Memory to a whole GiB: what a kernel keeps differs from start to start."""
    memory = facts.get("memory")
    return Identity(facts.get("cpu") or "unknown", tuple(facts.get("flags") or ()), facts.get("usable_cores"),
                    round(memory / 2**30) * 2**30 if memory else None,
                    ", ".join(each["name"] for each in facts.get("gpus") or ()), facts.get("system") or "")


def facts(root: Path = Path("/")) -> dict[str, Any]:
    """What a result depends on and does not change while a race runs: plain JSON data."""
    return {
        "cpu": cpu_model(root), "cores": os.cpu_count() or 1, "usable_cores": len(usable_cores(root)),
        "physical_cores": physical_cores(root), "flags": cpu_flags(root), "frequency": frequency_control(root),
        "memory": memory(root), "limits": limits(root), "gpus": gpus(),
        "system": system_name(root), "kernel": f"{platform.system()} {platform.release()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "libc": " ".join(platform.libc_ver()).strip(), "virtual": virtual(root),
        "clock": _read(root / "sys/devices/system/clocksource/clocksource0/current_clocksource"),
    }


def quietness(seconds: float = 1.0, root: Path = Path("/")) -> dict[str, Any]:
    """What others do to this machine while we sleep for `seconds`: shares of all cores, 0 to 1."""
    before = _cpu_ticks(root)
    time.sleep(seconds)
    after = _cpu_ticks(root)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {"load_average": load, **shares(before, after)}


def shares(before: dict[str, int], after: dict[str, int]) -> dict[str, float | None]:
    """Of the CPU time between two readings, what others here used ("foreign": we slept) and what the host withheld."""
    spent = {name: after[name] - before[name] for name in after}
    total = sum(spent.values())
    if not total:
        return {"foreign": None, "steal": None}
    return {"foreign": 1 - (spent["idle"] + spent["iowait"] + spent["steal"]) / total, "steal": spent["steal"] / total}


def jitter(seconds: float = 1.0) -> dict[str, float]:
    """How steadily this machine does one small fixed job: its median time in seconds, and by what share the
    slowest twentieth of the repetitions exceeds it."""
    job = range(20_000)
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 20:
        begin = time.perf_counter()
        sum(job)
        times.append(time.perf_counter() - begin)
    times.sort()
    median = times[len(times) // 2]
    return {"median": median, "slowest": times[len(times) * 19 // 20] / median - 1}


def usable_cores(root: Path = Path("/")) -> list[int]:
    """The cores this process may run on, in the order in which they are given out: one thread of every physical core
    before the second of any, which would share its units (hyper-threading)."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    threads = [(turn, thread) for core in by_core(allowed, root) for turn, thread in enumerate(core)]
    return [thread for _, thread in sorted(threads)]


def by_core(threads: Iterable[int], root: Path = Path("/")) -> list[list[int]]:
    """Those of each physical core together; each by itself where that cannot be read."""
    found: dict[int, list[int]] = {}
    for thread in sorted(threads):
        found.setdefault(min(_siblings(root, thread), default=thread), []).append(thread)
    return list(found.values())


def physical_cores(root: Path) -> int | None:
    """How many cores those are that we count: fewer where hyper-threading makes two of one. None: not known."""
    usable = usable_cores(root)
    return len(by_core(usable, root)) if _siblings(root, usable[0]) else None


def usual_threads(root: Path = Path("/")) -> int:
    """As many as we have cores, or cores' time where a container gives less of it; one at least."""
    cores, quota = len(usable_cores(root)), limits(root)["cpus"]
    return cores if quota is None else max(1, min(cores, int(quota)))


def cpu_model(root: Path) -> str:
    info = _cpuinfo(root)
    return info.get("model name") or _arm_model(info) or platform.processor() or platform.machine()


def _arm_model(info: dict[str, str]) -> str:
    """ARM's kernels print numbers for a name; "" on another processor."""
    numbers = [f"{key} {info[f'CPU {key}']}" for key in ("implementer", "part", "variant") if f"CPU {key}" in info]
    return ", ".join((platform.machine(), *numbers)) if numbers else ""


def cpu_flags(root: Path) -> list[str]:
    """The instruction sets that deep-learning kernels choose by."""
    info = _cpuinfo(root)
    found = set((info.get("flags") or info.get("Features") or "").split())
    return [flag for flag in FLAGS if flag in found]


def processor(root: Path = Path("/")) -> str:
    """The name and the instruction sets: what decides how arithmetic is rounded."""
    return " ".join((cpu_model(root), *cpu_flags(root)))


def frequency_control(root: Path) -> dict[str, Any]:
    """Governor, turbo and the highest frequency in hertz; None where the (virtual) machine hides them."""
    policy = root / "sys/devices/system/cpu/cpu0/cpufreq"
    highest = _read(policy / "cpuinfo_max_freq")
    no_turbo = _read(root / "sys/devices/system/cpu/intel_pstate/no_turbo")
    boost = _read(root / "sys/devices/system/cpu/cpufreq/boost")
    turbo = boost == "1" if boost is not None else None if no_turbo is None else no_turbo == "0"
    return {"governor": _read(policy / "scaling_governor"), "turbo": turbo,
            "highest": None if highest is None else int(highest) * 1000}


def memory(root: Path) -> int | None:
    """Bytes of main memory."""
    for line in (_read(root / "proc/meminfo") or "").splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    return None


def usable_memory(root: Path = Path("/")) -> int | None:
    """Bytes that this process and its children may use: the machine's, or what a container allows of them."""
    known = [each for each in (memory(root), limits(root)["memory"]) if each is not None]
    return int(min(known)) if known else None


def limits(root: Path) -> dict[str, float | int | None]:
    """What a container, or a job of a cluster, may use of it: cores ("cpus") and bytes ("memory"); None is no limit. A
    group that says none has that of a group around it, as a task of Slurm's has its job's."""
    unified, cpu, mem = (_control_groups(root, controller) for controller in ("", "cpu", "memory"))
    shares = [(_read(each / "cpu.max") or "").split() for each in unified]
    shares += [[_read(each / f"cpu.cfs_{name}_us") or "" for name in ("quota", "period")] for each in cpu]
    most = [_read(each / "memory.max") for each in unified] + [_read(each / "memory.limit_in_bytes") for each in mem]
    return {"cpus": min((int(each[0]) / int(each[1]) for each in shares if len(each) == 2 and
                         all(map(str.isdigit, each))), default=None),
            "memory": min((int(each) for each in most if each and each.isdigit() and int(each) < UNLIMITED),
                          default=None)}


def gpus() -> list[dict[str, Any]]:
    """NVIDIA devices as nvidia-smi lists them: name, bytes of memory, driver. The memory of one that is divided (MIG)
    is untold: what can be seen here is a part of it, and nobody says which."""
    rows = _nvidia_smi("name", "memory.total", "driver_version", "mig.mode.current")
    rows = rows or [[*row, ""] for row in _nvidia_smi("name", "memory.total", "driver_version")]  # drivers before 450
    return [{"name": name, "memory": int(memory) * 2**20 if memory.isdigit() and divided != "Enabled" else None,
             "driver": driver} for name, memory, driver, divided in rows]


def _nvidia_smi(*fields: str) -> list[list[str]]:
    """What it says of each GPU; nothing where it is not there, or does not know one of the fields."""
    if not shutil.which("nvidia-smi"):
        return []
    command = ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return []
    rows = [line.split(", ") for line in run.stdout.splitlines()] if run.returncode == 0 else []
    return [row for row in rows if len(row) == len(fields)]


@cache
def hardware(device: str) -> str:
    """What computes on that device: the processor, and the GPUs where it is not the device itself."""
    beside = [] if device == "cpu" else [f"{each['name']} {each['memory']}" for each in gpus()]
    return " + ".join((processor(), *beside))


def lacks(device: str, root: Path = Path("/")) -> str:
    """Why nothing can run on that device here, as far as can be told without a framework; "" if nothing speaks against
    it. A container may have a GPU and no nvidia-smi."""
    kind, _, number = device.partition(":")
    there = gpus() if kind == "cuda" else []
    if kind not in ACCELERATORS or there:
        return _of_fewer(int(number or 0), len(there)) if there else ""
    title, files = ACCELERATORS[kind]
    return "" if any(any(root.glob(each)) for each in files) else f"no {title} here"


def device_memory() -> int | None:
    """Bytes of the smallest GPU here; None where none says what it has."""
    return min((each["memory"] for each in gpus() if each["memory"]), default=None)


def _of_fewer(number: int, there: int) -> str:
    """Why there is no device of that number, if there is none: a variable may show fewer, or parts of one (MIG)."""
    shown = os.environ.get("CUDA_VISIBLE_DEVICES")
    count = there if shown is None else len(list(takewhile(lambda each: _is_gpu(each.strip(), there),
                                                           shown.split(","))))
    return "" if number < count else f"there is no GPU of number {number} (they count from 0, and {count} can be seen)"


def _is_gpu(word: str, there: int) -> bool:
    """Whether it may name one of so many GPUs. At the first word that does not, CUDA stops reading: -1 shows none."""
    return int(word) < there if word.isdecimal() else word.startswith(("GPU-", "MIG-"))


def system_name(root: Path) -> str:
    for line in (_read(root / "etc/os-release") or "").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip('"')
    return platform.system()


def virtual(root: Path) -> str:
    """What stands between us and the metal: "machine", "container", both, or "" as far as can be seen."""
    hypervisor = "hypervisor" in (_cpuinfo(root).get("flags") or "").split() or any(
        (_read(root / path) or "").startswith(names) for path, names in HYPERVISOR_FILES.items())
    container = any((root / path).exists() for path in CONTAINER_FILES)
    return ", ".join(word for word, seen in (("machine", hypervisor), ("container", container)) if seen)


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None


def _cpuinfo(root: Path) -> dict[str, str]:
    """The first processor's entries."""
    first = (_read(root / "proc/cpuinfo") or "").partition("\n\n")[0]
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def _cpu_ticks(root: Path) -> dict[str, int]:
    names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    words = (_read(root / "proc/stat") or "").partition("\n")[0].split()[1:]
    return {name: int(word) for name, word in zip(names, words)} or dict.fromkeys(names, 0)


def _siblings(root: Path, thread: int) -> set[int]:
    """All threads of its physical core; none where that cannot be read."""
    siblings = _read(root / f"sys/devices/system/cpu/cpu{thread}/topology/thread_siblings_list")
    return _cpu_list(siblings) if siblings else set()


def _cpu_list(text: str) -> set[int]:
    """{0, 1, 4} from "0-1,4"."""
    spans = [part.partition("-") for part in text.split(",")]
    return {number for low, _, high in spans for number in range(int(low), int(high or low) + 1)}


def control_group(root: Path, controller: str) -> Path:
    """The folder of our control group for a v1 controller, or of the unified (v2) one for ""."""
    base = root / "sys/fs/cgroup" / controller
    for line in (_read(root / "proc/self/cgroup") or "").splitlines():
        _, names, path = line.split(":", 2)
        if controller in names.split(",") and (base / path.lstrip("/")).is_dir():
            return base / path.lstrip("/")
    return base


def _control_groups(root: Path, controller: str) -> list[Path]:
    """Our control group, and those around it."""
    base, own = root / "sys/fs/cgroup" / controller, control_group(root, controller)
    return [own, *(each for each in own.parents if each.is_relative_to(base))]
