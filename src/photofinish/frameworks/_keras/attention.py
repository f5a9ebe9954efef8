"""What one sequence takes from another."""

from photofinish.frameworks._keras.use import Rules

RULES: Rules = {}
