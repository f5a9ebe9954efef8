"""What the place in a list does to a time, told from what the model does."""

import pytest
from benchmarks.as_published import order_of

FRESH = [("small", 1.0), ("large", 4.0), ("small", 1.0), ("large", 4.0)]


@pytest.mark.parametrize(("growth", "rank"), [(0.3, 1.0), (-0.1, -1.0)])
def test_times_that_go_with_the_place(growth: float, rank: float) -> None:
    """However much longer the larger model takes."""
    placed = ["large", "large", "small", "small"]
    found = order_of([(name, dict(FRESH)[name] * (1 + growth * place)) for place, name in enumerate(placed)], FRESH)
    assert found.rank == pytest.approx(rank) and found.ratios[3] == pytest.approx(1 + 3 * growth)
    assert (found.chance < 0.05) == (rank > 0)
