"""The gate on the fake framework: what is slower is stopped, what is the same is not, and each baseline is found."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from photofinish import api
from photofinish.cli.present import _FORMATS
from photofinish.environments import Choice
from photofinish.errors import Stopped, UsageError
from photofinish.gate import FAILED, NOT_JUDGED, PASSED, Gate
from photofinish.gate.baseline import Pair, pairs
from photofinish.reports import gate as report
from photofinish.reports.json import schema
from photofinish.verbs import gate

pytestmark = pytest.mark.usefixtures("few_rounds")
MODEL = str(Path(__file__).parent / "tiny.py") + ":tiny"
WAS = "fake:steady[noise=0.001,step=0.0100]"
SLOWER = "fake:steady[noise=0.001,step=0.0105]"
SAME = "fake:steady[noise=0.001,step=0.0101]"


def run(store: Path, *contenders: str, baseline: str = WAS, launches: int = 3, **asked: Any) -> Gate:
    return gate.run(MODEL, contenders, baseline=baseline, launches=launches, batch=8, store=store, **asked)


def test_it_fails_on_what_got_slower_and_on_nothing_else(store: Path) -> None:
    found = run(store, SLOWER, SAME)
    assert found.outcome == FAILED
    assert [(each.candidate, each.outcome) for each in found.checks] == [(SLOWER, "SLOWER"), (SAME, "WITHIN")]
    jsonschema.validate(report.as_json(found), schema("gate"), cls=jsonschema.Draft202012Validator)
    assert [row.count("fake:steady") for row in _FORMATS["csv"](report.documents(found)).splitlines()] == [0, 3, 3]
    suite = ElementTree.fromstring(report.junit(found).partition("\n")[2])
    assert [suite.get(each) for each in ("tests", "failures", "errors")] == ["2", "1", "0"]
    assert [len(test.findall("failure")) for test in suite] == [1, 0]


def test_a_candidate_that_cannot_be_compared_neither_passes_nor_fails(store: Path) -> None:
    found = run(store, "fake:steady[fault=crash,at=1]")
    assert found.outcome == NOT_JUDGED and found.checks[0].reason
    assert "error" in report.junit(found)
    said = replace(found, checks=(replace(found.checks[0], reason="\x1b[31mkilled\x00\ud800"),))
    (test,) = ElementTree.fromstring(report.junit(said).partition("\n")[2])
    assert "[31mkilled" in (test.findtext("system-out") or "")


@pytest.mark.parametrize(("last", "said"), [
    ("fake:steady[threads=99]", "99 threads"), ("fake:forward", "inference only"),
    ("fake@9.9", "9.9 is not installed"), ("fake:steady+mean[3]", "cannot share a batch of 8")])
def test_who_cannot_race_is_told_before_the_first_does(store: Path, monkeypatch: pytest.MonkeyPatch, last: str,
                                                       said: str) -> None:
    """What had been checked by then would be lost."""
    def race(*asked: object, **options: object) -> None:
        raise AssertionError("a race has begun")
    monkeypatch.setattr(api, "race", race)
    with pytest.raises(UsageError, match=said):
        run(store, SAME, last, make_environments=False)


def test_the_command_says_it_by_its_exit_code(store: Path, command: Callable[..., Any], tmp_path: Path) -> None:
    asked = ("gate", MODEL, "--baseline", WAS, "--batch", "8", "--launches", "3", "--store", str(store), "--quiet")
    stopped = command(*asked, "-c", SLOWER, "--junit", "gate.xml", "--markdown")
    assert stopped.code == 1 and "slower" in stopped.out
    assert ElementTree.parse(tmp_path / "gate.xml").getroot().get("failures") == "1"
    passed = command(*asked, "-c", SAME, "--json", *2 * ("--task", "train"))  # one task, however often it is named
    assert passed.code == 0 and json.loads(passed.out)["outcome"] == "PASSED"
    assert json.loads(passed.out)["checks"][0]["ratio"]["level"] == 0.95
    same = command(*asked, "-c", SAME, "--junit", "both", "--html", "../" + tmp_path.name + "/both")
    assert same.code == 2 and "--junit and --html both want" in same.err and not (tmp_path / "both").exists()
    if Path("/dev/full").exists():
        full = command(*asked, "-c", SAME, "--junit", "/dev/full", "--html", "gate.html", "--json")
        assert full.code == 2 and json.loads(full.out)["checks"] and (tmp_path / "gate.html").exists()
        assert "cannot write /dev/full" in full.err and f"photofinish report --list --store {store}" in full.err
    for baseline, said in (("", "names nothing"), ("nowhere", "--baseline nowhere"), ("./nowhere", "no such folder"),
                           ("9.9", "does not say whose"), (SAME, "against itself")):
        refused = command("gate", MODEL, "--baseline", baseline)
        assert refused.code == 2 and said in refused.err


def test_stopped_by_hand_it_keeps_what_was_checked(store: Path) -> None:
    def stop(progress: Any) -> None:
        if progress.stage == "plan" and progress.total == 2 and progress.done:  # before the second check
            raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt) as stopped:
        run(store, SAME, SLOWER, listener=stop)
    assert isinstance(stopped.value, Stopped)
    assert [each.candidate for each in stopped.value.found.checks] == [SAME]


def test_a_store_is_a_baseline_of_other_versions(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    api.race(MODEL, ("fake:steady", "numpy:reference"), launches=2, batch=8, store=tmp_path)
    found, skipped = pairs(str(tmp_path), (), Choice())
    assert not found and len(skipped) == 2 and all("it is what it was" in each.reason for each in skipped)
    monkeypatch.setattr("photofinish.gate.baseline._present", lambda contender, choice: "another")
    found, skipped = pairs(str(tmp_path), ["fake:steady", "fake:coarse"], Choice())
    assert [(each.baseline.partition("@")[0], each.candidate) for each in found] == [("fake", "fake:steady")]
    assert [each.contender for each in skipped] == ["fake:coarse"]


def test_every_form_of_a_baseline() -> None:
    steady = ["fake:steady"]
    assert pairs("1.2.3", steady, Choice()) == ([Pair("fake@1.2.3:steady", "fake:steady")], [])
    assert pairs("fake@1.2.3", (), Choice()) == ([Pair("fake@1.2.3:steady", "fake:steady")], [])
    ((pair,), _) = pairs(sys.prefix, steady, Choice())
    assert pair == Pair("fake:steady", "fake:steady", (f"fake:steady#1={sys.prefix}",))
    assert pair.told == f"fake:steady in {sys.prefix}"
    for copy in ("fake:steady", "fake:steady#2"):
        with pytest.raises(UsageError, match="itself"):
            pairs(copy, steady, Choice())


def test_an_environment_is_a_baseline(store: Path) -> None:
    found = run(store, "fake:steady[noise=0.001]", baseline=sys.executable)
    assert found.outcome == PASSED and sys.executable in found.checks[0].baseline
    assert found.checks[0].result.race.environments["fake:steady[noise=0.001]"]["origin"] == "given"


MADE = """from photofinish.models import image, model
from photofinish.vocabulary import conv, global_average_pool, linear, relu


@model("made", inputs=image(3, 6, 6), classes=4)
def made(x, classes):
    for _ in range({depth}):
        x = relu(conv(x, 4, 3))
    return linear(global_average_pool(x), classes)
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One with a model of one convolution in its first commit, and of three where it stands."""
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "net.py").write_text(MADE.format(depth=1))
    for words in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "-m", "first")):
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@example.org", *words], cwd=folder, check=True)
    (folder / "net.py").write_text(MADE.format(depth=3))
    monkeypatch.chdir(folder)
    return folder


def test_a_model_is_compared_with_what_it_was_in_a_commit(repository: Path, store: Path) -> None:
    found = gate.run("net.py:made", ["fake:steady[node=0.001,noise=0.001]"], baseline="git:HEAD", launches=3,
                         batch=8, store=store)
    (check,) = found.checks
    assert (found.outcome, check.outcome) == (FAILED, "SLOWER")
    assert check.result.race.case.model == "net.py:made" and "on the model of" in check.baseline
    assert check.regression is not None and check.regression.launches == 3
    jsonschema.validate(report.as_json(found), schema("gate"), cls=jsonschema.Draft202012Validator)
    assert "SLOWER" not in str(report.documents(found)[0].sections[0]) and "failure" in report.junit(found)


def test_of_contenders_on_a_model_of_two_commits_each_is_judged_by_itself(repository: Path, store: Path) -> None:
    slower, wrong = "fake:steady[node=0.001,noise=0.001]", "fake:steady[fault=wrong]"
    found = gate.run("net.py:made", [slower, wrong, "fake:forward"], baseline="git:HEAD", launches=3, batch=8,
                         store=store)
    assert [each.outcome for each in found.checks] == ["SLOWER", "NOT COMPARABLE", "NOT COMPARABLE"]
    assert found.outcome == FAILED
    (first, second, third) = (each.reason for each in found.checks)
    assert (first, third) == ("", "inference only")
    assert second.startswith(f"{wrong} on the model of ") and ": wrong answer: inference outputs: error" in second
    old, new = (each for each in report.document(found).sections if each.name == "failures")
    assert str(old).count(wrong) and str(new).count(wrong)
    (once,) = gate.run("net.py:made", [slower], baseline="git:HEAD", launches=1, batch=8, store=store).checks
    assert once.reason == "fewer than two launches compare them"


@pytest.mark.parametrize(("model", "revision", "said"), [
    ("net.py:made", "git:nowhere", "git knows no such revision"), ("tiny", "git:HEAD", "is no model in a file"),
    ("new.py:made", "git:HEAD", "is not in that commit"),
    ("net.py:other", "git:HEAD", r"git:HEAD: net.py of commit [0-9a-f]{12} has no function other\nname a")])
def test_a_commit_without_the_model_is_wrong_use(
        repository: Path, store: Path, model: str, revision: str, said: str) -> None:
    (repository / "new.py").write_text(MADE.format(depth=1))
    with pytest.raises(UsageError, match=said):
        gate.run(model, ["fake:steady"], baseline=revision, store=store)


def test_a_task_that_nobody_has_is_told_before_the_first_of_a_commit_is_raced(
        repository: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "side_by_side", lambda *asked, **options: [])
    with pytest.raises(UsageError, match="task train needs a contender that has it"):
        gate.run("net.py:made", ["fake:forward"], ["infer", "train"], baseline="git:HEAD", store=store)
