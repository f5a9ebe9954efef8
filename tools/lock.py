"""Writes constraints.txt: every package of every extra as an exact name==version line.

A version that holds for some Pythons only carries its marker; build tags (torch's +cpu), hashes and
addresses are left out, so that the same file serves any index.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADER = "# Made by tools/lock.py from pyproject.toml: run `make lock` instead of editing.\n"


def resolve() -> str:
    """What uv resolves for every supported Python."""
    command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.10",
               "--all-extras", "--no-annotate", "--no-header", str(ROOT / "pyproject.toml")]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def tidy(resolved: str) -> str:
    """One line per package, or one per Python version where they need different versions."""
    pins: dict[str, dict[str, str]] = {}
    for line in resolved.splitlines():
        requirement, _, marker = (part.strip() for part in line.partition(";"))
        name, _, version = requirement.partition("==")
        pins.setdefault(name, {}).setdefault(re.sub(r"\+.*", "", version), marker)
    lines = []
    for name, versions in sorted(pins.items()):
        for version, marker in versions.items():
            lines.append(f"{name}=={version}" + (f" ; {marker}" if len(versions) > 1 else ""))
    return HEADER + "\n".join(lines) + "\n"


if __name__ == "__main__":
    (ROOT / "constraints.txt").write_text(tidy(resolve()))
