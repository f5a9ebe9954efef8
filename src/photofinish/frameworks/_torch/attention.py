"""What one sequence takes from another."""

from photofinish.frameworks._torch.native import Rules

RULES: Rules = {}
