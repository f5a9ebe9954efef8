"""What models are fed: synthetic batches, drawn once by the parent in NumPy and shaped like real data."""

from photofinish.data.synthetic import draw_batch

__all__ = ["draw_batch"]
