"""One server's queue at its full length: a block begins with an empty one, which near the server's capacity takes
thousands of queries to grow."""

from collections.abc import Sequence

import numpy as np

QUERIES = 40_000  # of a load that lasts
GROWING = 0.25  # share of them before the queue has its length


def lasting(service: Sequence[float], rate: float, seed: int = 0) -> np.ndarray:
    """Seconds from arrival to answer, were a load of `rate` random queries a second to last: service times drawn from
    those seen, and the wait by Lindley's recursion W' = max(0, W + S - A) (Lindley 1952, Proc. Camb. Phil. Soc. 48)."""
    generator = np.random.default_rng(seed)
    taken = generator.choice(np.asarray(service, float), QUERIES)
    gaps = generator.exponential(1 / rate, QUERIES - 1)
    walk = np.concatenate([[0.0], np.cumsum(taken[:-1] - gaps)])  # the recursion is this walk over its lowest point yet
    latencies: np.ndarray = walk - np.minimum.accumulate(walk) + taken
    return latencies[int(GROWING * QUERIES):]
