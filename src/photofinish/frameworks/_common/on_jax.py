"""A process that runs JAX: its device, threads and strict float32. Imports nothing: the framework's file hands JAX
over."""

import os
import re
from collections import Counter
from pathlib import Path
from typing import Any, Dict, List, Optional

from photofinish.frameworks import Setup, Unsupported

PLATFORMS = ("cpu", "cuda", "tpu")
THREADS = "PJRT_NPROC"  # what sizes the thread pools of XLA's CPU client; else the CPUs that the process may use
_started: List[Optional[str]] = []  # THREADS as it was when the client was made: it is made once in a process


def prepare(jax: Any, setup: Setup) -> Any:
    """The device; in the matched regime with so many threads, and float32 that is neither TF32 nor bfloat16. Raises
    Unsupported if JAX has no such device, or already runs with other threads."""
    if setup.regime == "matched":
        if _started and _started[0] != str(setup.threads):
            raise Unsupported("JAX already runs here with other threads: start a new process")
        os.environ[THREADS] = str(setup.threads)
        jax.config.update("jax_default_matmul_precision", "highest")
    kind, _, number = setup.device.partition(":")
    try:
        devices = jax.devices(kind)
    except RuntimeError as error:
        raise Unsupported("this JAX sees no device {}: {}".format(kind, str(error).splitlines()[0])) from error
    finally:
        if not _started:
            _started.append(os.environ.get(THREADS))
    if int(number or 0) >= len(devices):
        raise Unsupported("this JAX sees {} devices {}".format(len(devices), kind))
    return devices[int(number or 0)]


def facts(jax: Any, device: Any) -> Dict[str, Any]:
    return {"device": device.device_kind, "platform": device.client.platform_version,
            "threads": os.environ.get(THREADS, "one per CPU allowed"), "thread_pools": pools(),
            "matmul_precision": jax.config.jax_default_matmul_precision, "x64": jax.config.jax_enable_x64,
            "xla_flags": os.environ.get("XLA_FLAGS", ""),
            "preallocate": os.environ.get("XLA_PYTHON_CLIENT_PREALLOCATE", "")}


def pools() -> Dict[str, int]:
    """The threads of this process that XLA has named, by name (Linux; elsewhere nothing)."""
    names = (path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm"))
    return dict(Counter(re.sub(r"/.*", "", name) for name in names if "XLA" in name))


def device_memory(device: Any) -> Optional[Dict[str, int]]:
    found = None if device.platform == "cpu" else device.memory_stats()
    return {"now": found["bytes_in_use"], "peak": found["peak_bytes_in_use"]} if found else None
