"""Choices of models for tests that need not try all."""

from photofinish import models

ONE_OF_EACH_FILE = sorted({entry.function.__module__: name for name, entry in models.all_models().items()}.values())
