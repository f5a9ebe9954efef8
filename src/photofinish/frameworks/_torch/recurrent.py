"""Gated recurrent layers; Scan is a class of its own, written by `source`."""

from photofinish.frameworks._torch.native import Rules

RULES: Rules = {}
