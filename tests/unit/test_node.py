"""Workers in JavaScript: their arrays, their rule of warming up, how they are started and what npm is asked for."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from photofinish.environments import (
    GIVEN,
    Choice,
    Environment,
    FrameworkInfo,
    Missing,
    Recipe,
    headers,
    npm,
    own,
    resolve,
    start,
)
from photofinish.environments.choice import _lacking
from photofinish.layers import KINDS
from photofinish.measure.warm import settled
from photofinish.runner.parcel import PACKAGE, pack
from photofinish.values import Contender

HEADER = """// /// script
// requires-python = ">=3.11"
// dependencies = []
// [tool.photofinish]
// title = "Delta"
// npm = ["@delta/core@1.2.3"]
// modes = ["fast"]
// devices = ["cpu"]
// options = {}
// ///
"""
DELTA = FrameworkInfo("delta", "Delta", Recipe(">=3.11", (), npm=("@delta/core@1.2.3", "more@4.0.0")), ("fast",),
                      ("cpu",), {}, {"CACHE": "{cache}/x"}, language="node")
CONTENDER = Contender("delta", "fast")


@pytest.fixture
def delta(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headers, "frameworks", lambda: {"delta": DELTA})


def node(script: str, *arguments: str) -> Any:
    """What a script prints, as JSON; `room` in it is where the worker's modules are. Skips without Node.js."""
    if not shutil.which("node"):
        pytest.skip("Node.js is not installed (make system)")
    code = script.replace("room", (PACKAGE / "node").as_uri())
    run = subprocess.run(["node", "--input-type=module", "--eval", code, *arguments], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


ARRAYS: dict[str, np.ndarray] = {
    "parameter/conv.weight": np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 7,
    "turned": np.asfortranarray(np.arange(24, dtype=np.float64).reshape(2, 3, 4)),
    "matrix.T": np.arange(6, dtype=np.int32).reshape(2, 3).T,
    "step": np.array(2**40, np.int64), "mask": np.array([[True, False, True]]), "bytes": np.arange(5, dtype=np.uint8),
    "one": np.array([-0.0], np.float32), "none": np.zeros((0, 3), np.float32),
}


def test_arrays_come_back_from_javascript_as_they_went(tmp_path: Path) -> None:
    np.savez(tmp_path / "given.npz", **ARRAYS)  # type: ignore[arg-type]
    told = node("import { readNpz, writeNpz } from 'room/npz.mjs';"
                "const arrays = readNpz(process.argv[1]); writeNpz(process.argv[2], arrays);"
                "console.log(JSON.stringify(Object.entries(arrays).map(([k, v]) => [k, v.dtype, v.shape])))",
                str(tmp_path / "given.npz"), str(tmp_path / "back.npz"))
    assert told == [[name, str(values.dtype), list(values.shape)] for name, values in ARRAYS.items()]
    with np.load(tmp_path / "back.npz") as back:  # which compares the check sums, too
        assert list(back) == list(ARRAYS)
        for name, values in ARRAYS.items():
            np.testing.assert_array_equal(back[name], values)
            assert back[name].dtype == values.dtype


@pytest.mark.parametrize("spoil", [
    lambda path: np.savez_compressed(path, a=np.zeros(9)), lambda path: path.write_bytes(b"no archive at all"),
    lambda path: np.savez(path, a=np.zeros(3, np.complex64))], ids=["compressed", "no-archive", "complex"])
def test_a_file_that_cannot_be_read_is_refused(spoil: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "given.npz"
    spoil(path)
    said = node("import { readNpz } from 'room/npz.mjs';"
                "try { readNpz(process.argv[1]); console.log('null') } catch (e) "
                "{ console.log(JSON.stringify(e.message)) }", str(path))
    assert said is not None


def test_the_rule_of_warming_up_is_the_same() -> None:
    generator = np.random.RandomState(0)
    series = [list(np.exp(generator.normal(0, spread, steps) + slope * np.arange(steps)) * scale)
              for spread in (0.0, 0.005, 0.05) for slope in (0.0, -0.02) for scale in (0.002, 0.2)
              for steps in (1, 2, 3, 5, 6, 7, 9, 14, 31, 60)]
    said = node("import { settled } from 'room/warm.mjs';"
                "console.log(JSON.stringify(JSON.parse(process.argv[1]).map(settled)))", json.dumps(series))
    expected = [settled(each) for each in series]
    assert said == expected and len(set(expected)) == 2


def test_a_header_in_javascript_is_read_without_node(tmp_path: Path) -> None:
    path = tmp_path / "delta_core.mjs"
    path.write_text(HEADER + 'import "nothing";\n')
    found = headers.read_header(path)
    assert (found.name, found.language, found.recipe.npm) == ("delta-core", "node", ("@delta/core@1.2.3",))
    assert found.main == "npm:@delta/core" and not found.in_house


def test_npm_is_asked_for_exact_versions_and_runs_no_scripts() -> None:
    asked = npm.command(Path("/e"), DELTA.recipe.npm, ())
    assert asked[:2] == ["npm", "install"] and "--ignore-scripts" in asked
    assert asked[-4:] == ["--prefix", "/e", "@delta/core@1.2.3", "more@4.0.0"]
    pinned = npm.command(Path("/e"), DELTA.recipe.npm, ("numpy==1.0", "npm:@delta/core==1.2.3", "npm:long==5.0.1"))
    assert pinned[-2:] == ["@delta/core@1.2.3", "long@5.0.1"]


def test_what_npm_has_installed_is_read_from_its_own_list(tmp_path: Path) -> None:
    assert npm.packages(tmp_path) == {}
    if not shutil.which("node"):
        pytest.skip("Node.js is not installed (make system)")
    (tmp_path / "node_modules").mkdir()
    listed = {"node_modules/@delta/core": {"version": "1.2.3"}, "node_modules/a/node_modules/b": {"version": "2.0.0"}}
    (tmp_path / "node_modules" / ".package-lock.json").write_text(json.dumps({"packages": listed}))
    found = npm.packages(tmp_path)
    assert found.pop("node")[0].isdigit() and found == {"npm:@delta/core": "1.2.3", "npm:b": "2.0.0"}


def test_a_worker_is_started_by_the_program_of_its_language(tmp_path: Path) -> None:
    home = Environment(Path("/e/bin/python"), DELTA, "1.2.3", GIVEN)
    assert start.command(home, tmp_path) == ["node", str(tmp_path / "photofinish/node/worker.mjs")]
    inherited = {"PATH": "/usr/bin", "PYTHONPATH": "/mine", "NODE_PATH": "/mine", "NODE_OPTIONS": "--x", "HOME": "/h"}
    assert start.variables(home, inherited, "/c") == {
        "PATH": "/e/bin:/usr/bin", "HOME": "/h", "PYTHONNOUSERSITE": "1", "NODE_PATH": "/e/node_modules",
        "CACHE": "/c/x"}
    here = Environment(Path(sys.executable), FrameworkInfo("beta", "Beta", Recipe("", ()), ("a",), ("cpu",), {}), "1")
    assert start.command(here, tmp_path) == [sys.executable, str(tmp_path / "run.py")]
    assert start.variables(here, inherited, "/c") == inherited


def test_the_worker_travels_with_the_others(tmp_path: Path) -> None:
    rooms = pack(tmp_path / "worker")
    assert all((rooms / script).exists() for script in start.SCRIPTS.values())


def test_what_runs_in_node_has_an_environment_of_its_own(delta: None, monkeypatch: pytest.MonkeyPatch,
                                                         tmp_path: Path) -> None:
    monkeypatch.setenv("PHOTOFINISH_CACHE", str(tmp_path))
    found = own(CONTENDER)
    assert isinstance(found, Missing) and found.cure == "photofinish env create delta"
    assert isinstance(resolve(CONTENDER, Choice({"delta": Path(sys.executable)})), Missing)


def test_without_node_the_reason_and_the_cure_are_told(delta: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headers, "frameworks", lambda: {"delta": FrameworkInfo(
        "delta", "Delta", Recipe(">=3.11", (), system=("no-such-node", "npm")), ("fast",), ("cpu",), {})})
    monkeypatch.setattr("photofinish.environments.here.DEBIAN", {"no-such-node": "nodejs"})
    found = _lacking(CONTENDER)
    assert found is not None and "no-such-node" in found.reason and "apt-get install nodejs" in found.cure


def test_what_a_part_in_javascript_says_it_makes_are_its_rules() -> None:
    """Read without Node.js, as the support matrix is."""
    part = headers.FOLDER / "_tfjs"
    rules = [kind for path in part.glob("*.mjs")
             for table in re.findall(r"^export const (?:RULES|LOSSES) = \{(.*?)\};$", path.read_text(), re.M | re.S)
             for kind in re.findall(r"\b([A-Z]\w+):", table)]
    told = json.loads((part / "support.json").read_text())
    assert sorted(rules) == sorted([*told["native"], *told["lowered"]])
    assert sorted([*rules, *told["absent"]]) == sorted(KINDS)
    assert all(told["lowered"].values()) and all(told["absent"].values())
