"""The verbs of Photofinish for Python; the command line calls the same ones."""

from photofinish.api.races import race, serve
from photofinish.api.stored import Interrupted, listed, load
from photofinish.api.trials import (
    Accuracies,
    LargestBatches,
    Verification,
    accuracy,
    largest_batch,
    verify,
)
from photofinish.api.turns import BATCHES, side_by_side, sweep
from photofinish.outcome import Outcome
from photofinish.store import DEFAULT_STORE

__all__ = ["BATCHES", "DEFAULT_STORE", "Accuracies", "Interrupted", "LargestBatches", "Outcome", "Verification",
           "accuracy", "largest_batch", "listed", "load", "race", "serve", "side_by_side", "sweep", "verify"]
