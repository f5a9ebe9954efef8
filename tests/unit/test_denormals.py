"""Flushing denormals where the framework has no switch: seen in NumPy, in a process of its own."""

import platform
import subprocess
import sys

import pytest

CODE = """
import numpy as np
from photofinish.frameworks._common import denormals
a, b, c = np.full((3, 64), [[1e-30], [1e-10], [1e-40]], np.float32)
before = bool((a * b).all())
print(before, denormals.flush(), bool((a * b).any()), bool((c * 1e10).any()))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux") or platform.machine() != "x86_64",
                    reason="only known on Linux on x86-64")
def test_denormals_are_zero_as_results_and_as_operands() -> None:
    run = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["True", "True", "False", "False"]
