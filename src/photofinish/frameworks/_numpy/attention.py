"""What one sequence takes from another."""

from photofinish.frameworks._numpy.base import Rules

RULES: Rules = {}
