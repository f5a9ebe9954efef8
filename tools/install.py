"""Makes the project's virtual environment: `python3 tools/install.py .venv torch,tensorflow,dev`.

Runs on the standard library alone. uv does the work where it can be had, told of the same indexes as
pip (uv reads none of pip's configuration); plain pip does it otherwise.
"""

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FORWARDED = {  # a setting of pip -> the variable that tells uv the same
    "find-links": "UV_FIND_LINKS",
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
}


def pip_setting(python: Path, name: str) -> str:
    """A setting from pip's environment variables or configuration files, "" where it has none."""
    value = os.environ.get("PIP_" + name.upper().replace("-", "_"))
    if value is None:
        command = [str(python), "-m", "pip", "config", "get", f"global.{name}"]
        value = subprocess.run(command, capture_output=True, text=True).stdout
    return " ".join(value.split())


def uv_environment(python: Path) -> dict[str, str]:
    """The variables that let uv see what pip sees, and build with the pinned build tools."""
    settings = {variable: pip_setting(python, name) for name, variable in FORWARDED.items()}
    settings["UV_FIND_LINKS"] = settings["UV_FIND_LINKS"].replace(" ", ",")  # uv separates these by commas
    found = {variable: value for variable, value in settings.items() if value and variable not in os.environ}
    return dict(os.environ, UV_INDEX_STRATEGY="unsafe-best-match", UV_BUILD_CONSTRAINT="constraints.txt", **found)


def install(folder: Path, extras: str) -> None:
    """Fills `folder` with the project (editable), its extras and nothing newer than constraints.txt."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    target = ["--constraint", "constraints.txt", "--editable", f".[{extras}]"]
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pinned = dict(os.environ, PIP_CONSTRAINT="constraints.txt")
    if subprocess.run([*pip, "uv"], cwd=ROOT, env=pinned).returncode == 0:
        # compiled now, not by the first process that imports it: a race times imports
        command = [str(python), "-m", "uv", "pip", "install", "--compile-bytecode", "--python", str(python), *target]
        if subprocess.run(command, cwd=ROOT, env=uv_environment(python)).returncode == 0:
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
