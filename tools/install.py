"""Makes the project's virtual environment: `python3 tools/install.py .venv torch,tensorflow,dev`.

Runs on the standard library alone. uv does the work where it can be had, told of the same indexes as
pip (uv reads none of pip's configuration); plain pip does it otherwise.
"""

import os
import runpy
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INDEXES = ROOT / "src" / "photofinish" / "environments" / "indexes.py"  # run by its path: the package is not there yet


def uv_environment(python: Path) -> dict[str, str]:
    """The variables that let uv see what pip sees, and build with the pinned build tools."""
    settings: dict[str, str] = runpy.run_path(str(INDEXES))["uv_settings"](python)
    return {**os.environ, **settings, "UV_BUILD_CONSTRAINT": "constraints.txt"}


def uv_command(python: Path) -> list[str]:
    """An installation by uv into the environment of `python`, kept to the places that pip is kept to.

    Compiled now, not by the first process that imports it: a race times imports."""
    flags: list[str] = runpy.run_path(str(INDEXES))["uv_flags"](python)
    return [str(python), "-m", "uv", "pip", "install", "--compile-bytecode", "--python", str(python), *flags]


def install(folder: Path, extras: str) -> None:
    """Fills `folder` with the project (editable), its extras and nothing newer than constraints.txt."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    target = ["--constraint", "constraints.txt", "--editable", f".[{extras}]"]
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pinned = dict(os.environ, PIP_CONSTRAINT="constraints.txt")
    if subprocess.run([*pip, "uv"], cwd=ROOT, env=pinned).returncode == 0:
        if subprocess.run([*uv_command(python), *target], cwd=ROOT, env=uv_environment(python)).returncode == 0:
            return
        print("uv could not install everything; trying pip", file=sys.stderr)
    subprocess.run([*pip, *target], cwd=ROOT, env=pinned, check=True)


if __name__ == "__main__":
    if not (3, 10) <= sys.version_info[:2] <= (3, 13):
        sys.exit(f"Photofinish needs Python 3.10 to 3.13, this is {sys.version.split()[0]}")
    try:
        install(Path(sys.argv[1]).absolute(), sys.argv[2])
    except (subprocess.CalledProcessError, OSError) as error:
        sys.exit(f"the environment could not be made: {error}")
