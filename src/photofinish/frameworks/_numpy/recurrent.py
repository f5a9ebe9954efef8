"""Gated recurrent layers; Scan is in ../numpy.py, for its body is a graph."""

from photofinish.frameworks._numpy.base import Rules

RULES: Rules = {}
