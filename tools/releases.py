"""Writes src/photofinish/environments/releases.toml: when each final release of a framework came out.

    python tools/releases.py [FRAMEWORK...]

Asked again are the frameworks named, or all that the table has. A release's day is that on which the index got its
first file (PEP 700); a release whose every file was withdrawn is none.
"""

import datetime
import json
import sys
import urllib.request
from typing import Any

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_sdist_filename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from photofinish.environments import releases

INDEX = "https://pypi.org/simple"
ANSWER = "application/vnd.pypi.simple.v1+json"
HEAD = """# Final releases and the day each came out: when {index} got its first file.
# Made by tools/releases.py on {today}.
"""


def ask(package: str) -> dict[str, Any]:
    """What the index says of a package. Raises OSError."""
    request = urllib.request.Request(f"{INDEX}/{canonicalize_name(package)}/", headers={"Accept": ANSWER})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return dict(json.load(answer))


def dated(told: dict[str, Any]) -> dict[str, datetime.date]:
    """Version -> day, in the order of versions."""
    days: dict[Version, datetime.date] = {}
    for file in told["files"]:
        version = version_of(file["filename"])
        if version is not None and not version.is_prerelease and not file["yanked"]:
            day = datetime.datetime.fromisoformat(file["upload-time"].replace("Z", "+00:00")).date()
            days[version] = min(day, days.get(version, day))
    return {str(version): days[version] for version in sorted(days)}


def version_of(filename: str) -> Version | None:
    """None for what is neither a wheel nor a source package."""
    try:
        return parse_wheel_filename(filename)[1] if filename.endswith(".whl") else parse_sdist_filename(filename)[1]
    except (ValueError, InvalidWheelFilename, InvalidVersion):
        return None


def write(tables: dict[str, dict[str, datetime.date]]) -> None:
    text = HEAD.format(index=INDEX.rpartition("/")[0], today=datetime.date.today())
    for framework, days in sorted(tables.items()):
        text += f"\n[{framework}]\n" + "".join(f'"{version}" = {day}\n' for version, day in days.items())
    releases.TABLE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    known = releases.tables()
    write({**known, **{name: dated(ask(name)) for name in sys.argv[1:] or known}})
