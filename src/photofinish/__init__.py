"""Photofinish judges races between deep-learning frameworks."""

__version__ = "0.1.0"
