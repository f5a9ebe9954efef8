"""A process that runs PyTorch: its threads, strict float32, and memory on a GPU. Imports nothing: the framework's file
hands PyTorch over."""

from typing import Any, Dict, Optional

SWITCHES = ("cuda.matmul", "cudnn.conv", "cudnn.rnn", "mkldnn.matmul", "mkldnn.conv", "mkldnn.rnn")


def find(torch: Any, path: str) -> Any:
    """A dotted name under torch, or None where this version lacks it."""
    found = torch
    for name in path.split("."):
        found = getattr(found, name, None)
    return found


def match(torch: Any, threads: int) -> None:
    """Sets what the matched regime asks for: so many threads, and strict float32."""
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)  # before a thread is made, which inherits it: XLA and TensorFlow always do
    _be_strict(torch)


def _be_strict(torch: Any) -> None:
    """Float32 operations compute in float32: neither TF32 nor bfloat16, whichever way the version spells it."""
    for path in ("backends.cuda.matmul", "backends.cudnn"):  # first, or the older switches contradict the newer
        if hasattr(find(torch, path), "allow_tf32"):
            find(torch, path).allow_tf32 = False
    for path in SWITCHES:
        if hasattr(find(torch, "backends." + path), "fp32_precision"):
            find(torch, "backends." + path).fp32_precision = "ieee"


def float32(torch: Any) -> Dict[str, Any]:
    """What each switch says."""
    return {path: find(torch, "backends.{}.fp32_precision".format(path)) for path in SWITCHES}


def device_memory(torch: Any, device: Any) -> Optional[Dict[str, int]]:
    if device.type == "cpu":
        return None
    return {"now": torch.cuda.memory_allocated(device), "peak": torch.cuda.max_memory_allocated(device)}
