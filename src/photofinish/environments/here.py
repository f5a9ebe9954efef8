"""What this Python and this machine have."""

import importlib.metadata
import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Sequence
from ctypes.util import find_library
from functools import lru_cache
from importlib.machinery import PathFinder
from pathlib import Path

from photofinish.environments import builds, headers
from photofinish.environments.environment import Environment, is_asked
from photofinish.environments.framework import FrameworkInfo
from photofinish.environments.make import Missing
from photofinish.environments.recipes import beside, creating, home_of, source_of
from photofinish.values import Contender

DEBIAN = {"c++": "g++", "node": "nodejs", "libmpi": "libopenmpi3"}  # what has a package of another name
DRIVER = "nvidia-smi"  # comes with it: installing that alone brings no GPU


def own(contender: Contender) -> Environment | Missing:
    """This Python, if it has the framework in the wanted version and what else the contender asks for."""
    framework = headers.frameworks()[contender.framework]
    version = installed_version(framework)
    here = sys.version.split()[0]
    if version is None:
        create = creating(home_of(contender, framework))
        if framework.language != "python":
            return Missing(f"{framework.title} runs in Node.js, in an environment of its own", create)
        return Missing(f"{framework.title} is not installed for this Python {here}", create)
    if not is_asked(version, contender.version):
        return Missing(f"{framework.title} {contender.version} is not installed: this Python has {version}",
                       creating(home_of(contender, framework)))
    for module in beside(contender, framework):
        if importlib.util.find_spec(module) is None:
            return Missing(f"{module} is not installed for this Python {here}",
                           creating(home_of(contender, framework)))
    source = source_of(contender)
    if source and importlib.util.find_spec(source.partition(".")[0]) is None:
        return Missing(f"{source} is not installed for this Python {here}", f"pip install '{framework.builds[source]}'")
    return Environment(Path(sys.executable), framework, version)


def installed_version(framework: FrameworkInfo) -> str | None:
    """The version this Python would import, found without importing; None if it, or another of its packages, is not
    there."""
    try:
        spec = importlib.util.find_spec(framework.module) if framework.language == "python" else None
    except ImportError:
        return None
    others = [each for each in framework.packages if each != framework.main]
    if spec is None or not all(map(_is_there, others)):
        return None
    # A folder that no package is recorded of may be what an uninstalled one left, or anybody's of that name.
    known = map(_version, (framework.module, *builds.names(framework.main)))
    return next(filter(None, known), "unknown" if spec.origin else None)


def absent(needed: Sequence[str], title: str) -> Missing | None:
    lacking = [each for each in needed if not _on_system(each)]
    packages = [DEBIAN.get(each, each) for each in lacking]
    if DRIVER in lacking:
        return Missing(f"{title} needs an NVIDIA GPU, and no driver of one is here ({DRIVER} is missing)",
                       "run it on a machine that has one")
    return Missing(f"{title} needs {' and '.join(lacking)}, which this machine lacks",
                   f"install it, on Debian with: apt-get install {' '.join(packages)}") if lacking else None


def _is_there(package: str) -> bool:
    """Whether it is installed, under any of its names."""
    return any(map(_is_whole, builds.names(package)))


def _is_whole(package: str) -> bool:
    """Whether it is installed, and what it says it is imported as can be found: its record may outlive it."""
    try:
        told = importlib.metadata.distribution(package).read_text("top_level.txt")  # some packages have none
    except importlib.metadata.PackageNotFoundError:
        return False
    modules = (told or "").split()
    return not modules or any(map(_can_be_found, modules))


def _can_be_found(module: str) -> bool:
    """Whether an import would find it. Who looks for pip in the usual way makes setuptools withdraw its distutils from
    this process, and whatever imports setuptools later is warned."""
    return (PathFinder if module == "pip" else importlib.util).find_spec(module) is not None


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


@lru_cache(maxsize=None)
def _on_system(name: str) -> bool:
    """Whether there is a program, a library or a Debian package of that name."""
    if shutil.which(name) or (name.startswith("lib") and find_library(name[3:])):
        return True
    if not shutil.which("dpkg-query"):
        return False
    told = subprocess.run(["dpkg-query", "--show", "--showformat=${Status}", name], capture_output=True, text=True)
    return told.stdout.endswith("ok installed")
