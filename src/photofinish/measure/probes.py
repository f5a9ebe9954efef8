"""The probes of the audit: small computations that show what a contender really runs with.

Nothing is believed that a flag says: operands whose last bits are known show the precision of products,
numbers near the smallest ones show what becomes of denormals, CPU time over wall time shows threads.
What was seen is returned as plain JSON data; `referee.audit` judges it.
"""

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Callable, Dict, Optional, Tuple

import numpy as np

from photofinish.frameworks import Contestant, Unsupported

SIZE = 128  # of the square matrices; also the elements that hold mantissa bits
IMAGES, CHANNELS, SIDE = 4, 32, 16  # of the convolution
BITS = 23  # explicit mantissa bits of float32
FAR = 2.0 ** 40  # beyond float16, within every format with eight bits of exponent
DENORMAL = 71362  # the bits of 1e-40 in float32, whose least is 2**-149
BUSY_SIZE = 1024
BUSY_LOOPS, BUSY_SECONDS = 5, 0.1

Clock = Callable[[], float]


def run(contestant: Contestant, counted: Optional[Callable[[Contestant], Dict[str, Any]]] = None) -> Dict[str, Any]:
    """All probes on one contestant. A probe it cannot run reads {"unsupported": reason}. `counted` takes the place of
    `threads` where they are those of another process."""
    return {
        "matmul": attempt(precision, contestant, "matmul"),
        "conv": attempt(precision, contestant, "conv"),
        "denormals": attempt(denormals, contestant),
        "threads": attempt(counted or threads, contestant),
        "facts": contestant.facts(),
        "evidence": attempt(lambda each: each.evidence(), contestant),
    }


def attempt(probe: Callable[..., Dict[str, Any]], *arguments: Any) -> Dict[str, Any]:
    """What a probe finds, or why the contestant has it not."""
    try:
        return probe(*arguments)
    except Unsupported as reason:
        return {"unsupported": str(reason)}


def precision(contestant: Contestant, primitive: str) -> Dict[str, Any]:
    """How exact the products of "matmul" or "conv" are.

    `left_bits` and `right_bits`: explicit mantissa bits of each operand that survive a product with 1;
    `error`: relative r.m.s. error of random products; `wide`: whether operands beyond float16 survive;
    `steps`: into how many equal steps the range of the left operand is divided, None where they are not equal;
    `dtype`: that of the result.
    """
    product, operands, one = PRODUCTS[primitive]
    bits = 1.0 + 2.0 ** -(np.arange(SIZE) % BITS + 1.0)
    left, right = operands(np.random.RandomState(0))
    anywhere = _float32(np.random.RandomState(1).uniform(-1.0, 1.0, SIZE * SIZE))  # more than any integer has steps

    def computed(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        a, b = a.astype(np.float32), b.astype(np.float32)
        return contestant.probe(primitive, {"a": a, "b": b})["result"]

    result, exact = computed(left, right), product(left, right)
    far = computed(left * FAR, right / FAR)
    return {
        "left_bits": _surviving(computed(*one(bits, True)), one(bits, True), product),
        "right_bits": _surviving(computed(*one(bits, False)), one(bits, False), product),
        "error": _relative(result, exact),
        "wide": bool(np.isfinite(far).all()) and _relative(far, exact) < 0.5,
        "steps": _steps(computed(*one(anywhere, True))),
        "dtype": str(result.dtype),
    }


def _surviving(result: np.ndarray, operands: Tuple[np.ndarray, np.ndarray],
               product: Callable[..., np.ndarray]) -> int:
    """The largest k such that 1 + 2**-j came through unharmed for every j up to k."""
    exact = product(*operands)
    for bit in range(1, BITS + 1):
        holds = exact == 1.0 + 2.0 ** -bit
        if not (result[holds] == exact[holds]).all():
            return bit - 1
    return BITS


def _steps(result: np.ndarray) -> Optional[int]:
    """How many equal steps part the different values of a result, None where they are not equal."""
    gaps = np.diff(np.unique(result))
    return len(gaps) if len(gaps) and gaps.max() < 1.5 * gaps.min() else None


def _relative(result: np.ndarray, exact: np.ndarray) -> float:
    with np.errstate(all="ignore"):
        error = np.sqrt(np.mean(np.square(result.astype(np.float64) - exact)) / np.mean(np.square(exact)))
    return float(error) if np.isfinite(error) else 1.0


def _matrices(generator: np.random.RandomState) -> Tuple[np.ndarray, np.ndarray]:
    return _float32(generator.standard_normal((SIZE, SIZE))), _float32(generator.standard_normal((SIZE, SIZE)))


def _one_matrix(bits: np.ndarray, left: bool) -> Tuple[np.ndarray, np.ndarray]:
    """The bits times an identity, on the side asked for."""
    values, identity = np.resize(bits, (SIZE, SIZE)), np.eye(SIZE)
    return (values, identity) if left else (identity, values)


def _images(generator: np.random.RandomState) -> Tuple[np.ndarray, np.ndarray]:
    return (_float32(generator.standard_normal((IMAGES, CHANNELS, SIDE, SIDE))),
            _float32(generator.standard_normal((CHANNELS, CHANNELS, 3, 3))))


def _one_image(bits: np.ndarray, left: bool) -> Tuple[np.ndarray, np.ndarray]:
    """Images that hold the bits under a kernel that copies; or one lit pixel under kernels that hold them."""
    if left:
        kernel = np.zeros((CHANNELS, CHANNELS, 3, 3))
        kernel[np.arange(CHANNELS), np.arange(CHANNELS), 1, 1] = 1.0
        return np.resize(bits, (IMAGES, CHANNELS, SIDE, SIDE)), kernel
    image = np.zeros((IMAGES, CHANNELS, SIDE, SIDE))
    image[:, 0, SIDE // 2, SIDE // 2] = 1.0
    return image, np.resize(bits, (CHANNELS, CHANNELS, 3, 3))


def _convolved(image: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """A 3x3 convolution with padding 1, in float64."""
    padded = np.pad(np.asarray(image, np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)), mode="constant")
    height, width = image.shape[2:]
    result = np.zeros((len(image), len(kernel), height, width))
    for row in range(3):
        for column in range(3):
            window = padded[:, :, row:row + height, column:column + width]
            result += np.einsum("nchw,oc->nohw", window, kernel[:, :, row, column])
    return result


def _float32(values: np.ndarray) -> np.ndarray:
    """Values that float32 holds exactly, in float64."""
    return values.astype(np.float32).astype(np.float64)


PRODUCTS = {
    "matmul": (np.matmul, _matrices, _one_matrix),
    "conv": (_convolved, _images, _one_image),
}  # type: Dict[str, Tuple[Callable[..., np.ndarray], Callable[..., Any], Callable[..., Any]]]


def denormals(contestant: Contestant) -> Dict[str, Any]:
    """Whether float32 numbers below 1.2e-38 survive as results and as operands of a product.

    They are written and read as bits: to a process that takes them for zero, one that a GPU has kept would equal zero.
    """
    def product(a: np.ndarray, b: np.ndarray) -> bool:
        result = contestant.probe("multiply", {"a": a, "b": b})["result"]
        return bool(np.ascontiguousarray(result, np.float32).view(np.uint32).astype(bool).all())

    def filled(value: float) -> np.ndarray:
        return np.full(64, value, np.float32)
    return {"results_kept": product(filled(1e-30), filled(1e-10)),
            "operands_kept": product(np.full(64, DENORMAL, np.uint32).view(np.float32), filled(1e10))}


def threads(contestant: Contestant, cpu: Clock = time.process_time, wall: Clock = time.perf_counter,
            each: Optional[Callable[[], Dict[str, float]]] = None) -> Dict[str, Any]:
    """How many threads work while a large matrix product repeats.

    `at_once`: CPU seconds per second, the most of a few tries; other processes can only lessen it.
    `taking_part`: (sum of c)**2 / (sum of c**2) over the CPU seconds c of each thread, which does not
    depend on other processes, but counts threads that work in turn (None where not known).
    `alive`: threads of the process; `allowed`: CPUs it may use.
    """
    each = each or _seconds_of_threads
    operands = busy_operands()
    contestant.probe("matmul", operands)
    at_once, before = 0.0, each()
    for _ in range(BUSY_LOOPS):
        cpu_start, wall_start = cpu(), wall()
        while wall() - wall_start < BUSY_SECONDS:
            contestant.probe("matmul", operands)
        at_once = max(at_once, (cpu() - cpu_start) / (wall() - wall_start))
    spent = np.array([seconds - before.get(thread, 0.0) for thread, seconds in each().items()])
    taking_part = float(spent.sum() ** 2 / np.square(spent).sum()) if spent.any() else None
    return {"at_once": at_once, "taking_part": taking_part, "alive": len(spent) or None, "allowed": _cpus_allowed()}


def busy_operands() -> Dict[str, np.ndarray]:
    """A matrix product that is worth all threads."""
    a = np.random.RandomState(0).standard_normal((BUSY_SIZE, BUSY_SIZE)).astype(np.float32)
    return {"a": a, "b": a}


def _seconds_of_threads() -> Dict[str, float]:
    """CPU seconds of each living thread of this process, by its number (Linux; elsewhere nothing)."""
    found = {}
    for path in Path("/proc/self/task").glob("*"):
        with suppress(OSError):  # it may end while it is looked at
            found[path.name] = int((path / "schedstat").read_text().split()[0]) / 1e9
    return found


def _cpus_allowed() -> Optional[int]:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
