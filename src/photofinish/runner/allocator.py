"""What a worker's glibc does with memory that is freed: kept, given back, or as it likes."""

from collections.abc import Mapping

from photofinish.values import Case, Contender

# Kept instead of being returned to the system at every step: the effect that `matched` makes equal.
KEEP: Mapping[str, str] = {"MALLOC_MMAP_THRESHOLD_": str(4 << 30), "MALLOC_TRIM_THRESHOLD_": str(4 << 30),
                           "MALLOC_TOP_PAD_": str(256 << 20)}
# glibc begins so, and raises these as it goes: what it then keeps differs from run to run by a tenth of a process.
GIVE_BACK: Mapping[str, str] = {"MALLOC_MMAP_THRESHOLD_": str(128 << 10), "MALLOC_TRIM_THRESHOLD_": str(128 << 10)}
AS_IT_LIKES: Mapping[str, str] = {}


def variables(contender: Contender, case: Case, wanted: Mapping[str, str]) -> Mapping[str, str]:
    """What a worker is started with for one of these: its own option goes before, and out of the box nothing is kept
    that it does not ask for."""
    own = dict(contender.options).get("allocator")
    if wanted is KEEP:
        return KEEP if (own or ("keep" if case.regime == "matched" else "default")) == "keep" else AS_IT_LIKES
    return wanted if own is None else AS_IT_LIKES
