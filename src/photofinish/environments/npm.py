"""Packages for Node.js: how npm is asked for them and what it has put into an environment.

A requirement names an exact version: "@scope/name@1.2.3". Among the packages of an environment, and in its lock, such a
name begins with PREFIX, for Python may have one that is called the same. No package's install script is run: nothing is
fetched from elsewhere than the registry.
"""

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path

PREFIX = "npm:"
INSTALL = ("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--save-exact")


def package_of(requirement: str) -> str:
    """The package in a requirement, as an environment lists it."""
    return PREFIX + requirement.rpartition("@")[0]


def spelled(package: str, version: str) -> str:
    """The requirement for a version of a package that an environment lists."""
    return f"{package[len(PREFIX):]}@{version}"


def command(environment: Path, requirements: Iterable[str], pins: Iterable[str]) -> list[str]:
    """What puts packages into the node_modules of an environment; where a lock pins some ("npm:name==1.2.3"), exactly
    those."""
    pinned = [spelled(*each.split("==")) for each in pins if each.startswith(PREFIX)]
    return [*INSTALL, "--prefix", str(environment), *(pinned or requirements)]


def packages(environment: Path) -> dict[str, str]:
    """Every package there and its version, and that of Node.js itself; none where npm has installed nothing."""
    try:
        listed = json.loads((environment / "node_modules" / ".package-lock.json").read_text())["packages"]
    except OSError:
        return {}
    told = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    found = {PREFIX + path.rpartition("node_modules/")[2]: each["version"] for path, each in listed.items()}
    return {**found, "node": told.strip().lstrip("v")}
