"""The rules of the house: light to import, one version, help everywhere, workers that run on Python 3.6."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

import check_frameworks
import check_python36
import install
import lock
import photofinish
import reference
from photofinish.cli import photofinish as root_command
from photofinish.runner import parcel

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {"torch", "tensorflow", "keras", "onnx", "numpy", "scipy", "pandas", "altair", "vl_convert", "ruptures", "rich"}


@pytest.mark.parametrize("program", ["import photofinish", "from photofinish.cli import run; run(['--help'])",
                                     "from photofinish.cli import run; run(['race', '--help'])"])
def test_importing_and_helping_load_nothing_heavy(program: str) -> None:
    tell = "\nimport sys; print('LOADED', *{name.partition('.')[0] for name in sys.modules})"
    run = subprocess.run([sys.executable, "-c", program + tell], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.rpartition("LOADED ")[2].split())
    assert "photofinish" in loaded
    assert not loaded & HEAVY


def test_the_version_is_that_of_the_package_and_of_the_changelog_s_top_entry() -> None:
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    project = ProjectMetadata(str(ROOT), PluginManager()).core
    assert newest is not None
    assert newest.group(1) == photofinish.__version__ == project.version


def test_the_wheel_says_what_the_readme_says() -> None:
    project = ProjectMetadata(str(ROOT), PluginManager()).core
    assert project.readme == (ROOT / "README.md").read_text()
    assert "console" in project.readme and "photofinish race" in project.readme


def test_every_command_and_every_option_has_help_and_examples() -> None:
    assert list(root_command.commands) == ["race", "why", "advise", "sweep", "serve", "verify", "accuracy",
                                           "largest-batch", "study", "history", "bisect", "gate", "factors", "flip",
                                           "claims", "report", "list", "show", "submit", "env", "doctor", "selftest"]
    inner = {f"{name} {each}": command for name, group in root_command.commands.items()
             if isinstance(group, click.Group) for each, command in group.commands.items()}
    assert list(inner) == ["study list", "study run", "study report", "study schema", "env list", "env create",
                           "env lock", "env path", "env remove"]
    for name, command in {**root_command.commands, **inner}.items():
        assert command.help, name
        assert command.epilog and f"photofinish {name}" in command.epilog, name
        for option in command.params:
            assert not isinstance(option, click.Option) or option.help, f"{name} {option.name}"


@pytest.mark.parametrize("page", reference.PAGES)
def test_a_generated_page_is_current(page: str) -> None:
    code = f"import reference, sys; sys.stdout.write(reference.PAGES[{page!r}]())"  # fresh: click keeps what it made
    made = subprocess.run([sys.executable, "-c", code], cwd=ROOT / "tools", capture_output=True, text=True, check=True)
    assert (reference.FOLDER / page).read_text(encoding="utf-8") == made.stdout, "run: make docs"


def test_every_link_between_pages_leads_somewhere() -> None:
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]
    links = [(page, link) for page in pages for link in re.findall(r"\]\(([^)#\s]+)", page.read_text())]
    assert links
    assert [f"{page.name}: {link}" for page, link in links
            if "://" not in link and not (page.parent / link).exists()] == []


def test_the_rooms_that_are_checked_are_the_rooms_that_travel() -> None:
    assert sorted(check_python36.ROOMS) == sorted(name.removesuffix(".py") for name in parcel.TRAVELLERS)


def test_the_rooms_that_travel_keep_to_python_3_6() -> None:
    assert [fault for path in check_python36.travelling() for fault in check_python36.check(path)] == []


@pytest.mark.parametrize("snippet", [
    "if (n := 1): pass",
    "def f(a, /): pass",
    "print(f'{n=}')",
    "match n:\n    case 1: pass",
    "with (open('a') as a, open('b') as b): pass",
    "from __future__ import annotations",
    "def f(a: list[int]): pass",
    "def f() -> dict[str, int]: pass",
    "def f(a: int | None): pass",
    "def f(*, a: int | None = None): pass",
    "class A:\n    field: tuple[int, ...] = ()",
    "from collections import OrderedDict\nregistry: OrderedDict[str, int] = OrderedDict()",
    "from typing import Protocol",
    "import subprocess\nsubprocess.run(['a'], capture_output=True)",
    "import time\ntime.perf_counter_ns()",
    "from contextlib import nullcontext",
    "'abc'.removeprefix('a')",
    "import numpy as np\nnp.random.default_rng(0)",
    "import tomllib",
    "from importlib import metadata",
    "import torch",
    "import rich",
    "from photofinish.errors import UsageError",
    "from photofinish import machine",
    "from . import sibling",
])
def test_a_violation_is_found(tmp_path: Path, snippet: str) -> None:
    ast.parse(snippet)  # today's Python has nothing against it
    path = tmp_path / "layers.py"
    path.write_text(snippet + "\n")
    assert check_python36.check(path, tmp_path)


@pytest.mark.parametrize(("name", "snippet"), [
    ("layers.py", "from typing import Dict, Optional\ndef f(a: Optional[int] = None) -> Dict[str, int]: ..."),
    ("layers.py", "from collections import OrderedDict\ndef f():\n    local: OrderedDict[str, int] = OrderedDict()"),
    ("layers.py", "mask = 1 | 2\nnames = {'a': [1]}['a'][0]"),
    ("layers.py", "import numpy as np\nfrom photofinish import values\nfrom photofinish.graph import Graph"),
    ("frameworks/torch.py", "import torch\nfrom torch import nn"),
    ("frameworks/tensorflow.py", "import keras\nimport tensorflow as tf"),
])
def test_what_runs_on_python_3_6_is_let_through(tmp_path: Path, name: str, snippet: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(snippet + "\n")
    assert check_python36.check(path, tmp_path) == []


def test_a_framework_file_may_not_import_another_s_framework(tmp_path: Path) -> None:
    path = tmp_path / "frameworks" / "torch.py"
    path.parent.mkdir()
    path.write_text("import tensorflow\n")
    assert check_python36.check(path, tmp_path)


def test_frameworks_are_imported_by_their_own_files_alone() -> None:
    assert [fault for path in check_frameworks.PACKAGE.rglob("*.py") for fault in check_frameworks.check(path)] == []


@pytest.mark.parametrize(("name", "snippet"), [
    ("stats/paired.py", "import torch"), ("cli/show.py", "def f():\n    from tensorflow import keras"),
    ("frameworks/torch.py", "import jax"), ("frameworks/_torch/source.py", "import torch"),
    ("frameworks/_common/text.py", "import numpy, keras"),
    ("frameworks/torch.py", "from photofinish.frameworks.numpy import Contestant"),
    ("frameworks/jax.py", "from photofinish.frameworks import torch"),
    ("frameworks/_flax/source.py", "from photofinish.frameworks._torch import source"),
])
def test_a_framework_imported_elsewhere_is_found(tmp_path: Path, name: str, snippet: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text(snippet + "\n")
    assert check_frameworks.check(path, tmp_path)


def test_constraints_are_exact_without_hashes_addresses_or_build_tags() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert len(lines) > 50
    for line in lines:
        assert re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*( ; [a-z_0-9<>=!.'* ]+)?", line), line


def test_every_requirement_is_pinned() -> None:
    core = ProjectMetadata(str(ROOT), PluginManager()).core
    wanted = [*core.dependencies, *(each for extra in core.optional_dependencies.values() for each in extra)]
    pinned = {line.partition("==")[0] for line in (ROOT / "constraints.txt").read_text().splitlines()}
    assert {re.split(r"[^A-Za-z0-9-]", each)[0].lower() for each in wanted} <= pinned


def test_locking_drops_build_tags_and_needless_markers() -> None:
    resolved = ("torch==2.13.0 ; sys_platform == 'darwin'\ntorch==2.13.0+cpu ; sys_platform == 'linux'\n"
                "zipp==1.0 ; python_full_version < '3.11'\n"
                "numpy==2.2.6 ; python_full_version < '3.11'\nnumpy==2.4.6 ; python_full_version >= '3.11'\n")
    assert lock.tidy(resolved).splitlines()[1:] == [
        "numpy==2.2.6 ; python_full_version < '3.11'", "numpy==2.4.6 ; python_full_version >= '3.11'",
        "torch==2.13.0", "zipp==1.0"]


def test_uv_is_told_of_the_indexes_pip_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("UV_FIND_LINKS", "UV_INDEX", "UV_DEFAULT_INDEX", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_FIND_LINKS", "wheels more-wheels")
    told = install.uv_environment(Path(sys.executable))
    assert told["UV_FIND_LINKS"] == "wheels,more-wheels"
    monkeypatch.setenv("UV_FIND_LINKS", "chosen")
    assert install.uv_environment(Path(sys.executable))["UV_FIND_LINKS"] == "chosen"


def test_uv_is_told_what_any_of_pips_files_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`pip config get` reads one of them, the user's."""
    for name in ("UV_INDEX", "UV_DEFAULT_INDEX", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "pip.conf").write_text("[global]\nindex-url = https://mirror.test/simple\nproxy = http://way.test\n"
                                       "[install]\nextra-index-url =\n  https://a.test\n  https://b.test\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    told = install.uv_environment(Path(sys.executable))
    assert (told["UV_DEFAULT_INDEX"], told["ALL_PROXY"]) == ("https://mirror.test/simple", "http://way.test")
    assert told["UV_INDEX"] == "https://a.test https://b.test"


@pytest.mark.parametrize("said, flags", [("1", ["--no-index"]), ("True", ["--no-index"]), ("0", []), ("", [])])
def test_uv_stays_away_from_indexes_where_pip_does(said: str, flags: list[str],
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", said)
    python = sys.executable
    assert install.uv_command(Path(python))[-1 - len(flags):] == [python, *flags]


def test_what_uv_itself_was_told_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also by the older names of its variables, and of how far indexes are trusted."""
    told = {"UV_INDEX_URL": "https://ours.test", "UV_EXTRA_INDEX_URL": "https://more.test",
            "UV_INDEX_STRATEGY": "first-index"}
    for name in ("UV_INDEX", "UV_DEFAULT_INDEX"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {**told, "PIP_INDEX_URL": "https://pips.test", "PIP_EXTRA_INDEX_URL": "https://pips.test"}.items():
        monkeypatch.setenv(name, value)
    found = install.uv_environment(Path(sys.executable))
    assert {name: found[name] for name in told} == told and not {"UV_INDEX", "UV_DEFAULT_INDEX"} & found.keys()
