"""The command line as a newcomer meets it: every wrong use is one clear message, exit code 2, no traceback."""

import errno
import io
import json
import math
import os
import re
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest
from rich.console import Console

import factories
from photofinish import api, environments, machine, sensors, study
from photofinish.api import stored
from photofinish.cli import doctor, options
from photofinish.cli.live import Watcher
from photofinish.errors import UsageError
from photofinish.models import all_models
from photofinish.reports.json import schema
from photofinish.runner.largest import Search
from photofinish.stats import judge
from photofinish.store import KINDS, Store
from photofinish.values import Contender, LargestBatch, Progress

Command = Callable[..., Any]  # conftest's `command` or `process`: arguments in, a Run out

FAKES = "fake:steady[step=0.002],fake:steady[step=0.003]"
MODEL = """
from photofinish.models import image, model
from photofinish.vocabulary import batch_norm, conv, global_average_pool, linear, relu

@model(inputs=image(3, 6, 6), classes=4)
def tiny(x, classes):
    return linear(global_average_pool(relu(batch_norm(conv(x, 4, 3)))), classes)
"""
WORDS = """
from photofinish.models import model, words
from photofinish.vocabulary import embedding, linear, masked_mean

@model(inputs=words(6, "text", mask="mask"), classes=3, task="classification", unit="tokens", unit_axis="T", batch=5)
def reader(text, mask, classes):
    return linear(masked_mean(embedding(text, 9, 4), mask), classes)
"""
BLOCKER = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "tensorflow":
            raise ModuleNotFoundError("No module named 'tensorflow'", name="tensorflow")

sys.meta_path.insert(0, Blocker())
"""


@pytest.fixture
def own_model(tmp_path: Path) -> str:
    (tmp_path / "net.py").write_text(MODEL)
    return "./net.py:tiny"


def refused(run: Any, *said: str) -> None:
    """One clear message: exit code 2, every one of `said` in it, at most three lines and no traceback."""
    assert run.code == 2, run
    assert "Traceback" not in run.err and run.out == ""
    assert run.err.startswith("photofinish: ") and len(run.err.splitlines()) <= 3
    for part in said:
        assert part in run.err


@pytest.mark.parametrize(("arguments", "said"), [
    (["rase", "resnet18"], ["'rase'", "did you mean race?"]),
    (["race"], ["Missing argument 'MODEL'", "photofinish race --help"]),
    (["race", "resnt18"], ["'resnt18'", "did you mean resnet18"]),
    (["race", "./nowhere.py:net"], ["there is no file ./nowhere.py", "./FILE.py:FUNCTION"]),
    (["race", "net:model"], ["'net:model'", "./FILE.py:FUNCTION"]),
    (["race", "resnet18", "-c", "torhc:eager,fake"], ["'torhc'", "did you mean torch?"]),
    (["race", "resnet18", "-c", "keras,fake"], ["'keras'", "did you mean keras-tensorflow or keras-jax"]),
    (["race", "resnet18", "-c", "tf,fake"], ["'tf'", "did you mean tensorflow?"]),
    (["race", "resnet18", "-c", "zzzz,fake"], ["'zzzz'", "executorch, jax"]),  # and not the stand-in of these tests
    (["race", "resnet18", "-c", "torch:eagre,fake"], ["'eagre'", "did you mean eager?"]),
    (["race", "resnet18", "-c", "torch:eager[layuot=channels_last],fake"], ["'layuot'", "did you mean layout"]),
    (["race", "resnet18", "-c", "torch:eager[layout=nhwc],fake"], ["'nhwc'", "contiguous", "channels_last"]),
    (["race", "resnet18", "-c", "torch:eager[layout"], ["is not a contender", "framework:mode"]),
    (["race", "resnet18", "-c", "fake[threads=0],fake"], ["fake:steady[threads=0]: 0 threads", "choose 1"]),
    (["race", "resnet18", "-c", "fake[threads=4096],fake"], ["4096 threads asked for", "choose 1"]),
    (["race", "resnet18", "-c", "fake[handicap=much],fake"], ["'much' is no number", "handicap=0.03"]),
    (["race", "resnet18", "-c", "torch@0.0.1,fake"], ["PyTorch has no release 0.0.1", "torch@1.0.0", "1.0.0 to "]),
    (["race", "resnet18", "-c", "fake"], ["two contenders"]),
    (["race", "resnet18", "-c", ","], ["',' names no contender", "torch:eager,tensorflow:graph"]),
    (["race", "resnet18", "-c"], ["requires an argument", "photofinish race --help"]),
    (["race", "resnet18", "-c", "fake,fake:forward"], ["two contenders", "inference only", "--task infer"]),
    (["race", "resnet18", "-c", FAKES, "--task", "trian"], ["'trian'", "did you mean train?"]),
    (["race", "resnet18", "-c", FAKES, "--optimizer", "adan"], ["'adan'", "did you mean adam?"]),
    (["race", "resnet18", "-c", FAKES, "--regime", "mached"], ["'mached'", "did you mean matched?"]),
    (["race", "resnet18", "--device", "rocm:0"], ["device rocm:0", "no framework is raced on AMD's GPUs yet"]),
    (["race", "resnet18", "--device", "gpu"], ["'gpu'", "did you mean cuda?", "cpu, cuda, tpu"]),
    (["race", "resnet18", "-c", FAKES, "--device", "cudda"], ["'cudda'", "did you mean cuda?"]),
    (["why", "resnet18", "--device", "cuda:first"], ["'first' is no number", "cuda:0"]),
    (["race", "digits_cnn", "-c", FAKES, "--device", "cpu:1"], ["device cpu:1", "one device", "write cpu;"]),
    (["race", "digits_cnn", "-c", FAKES, "--batch", "99999999999"], [
        "a batch of 99999999999 does not fit in this machine's memory", "smaller --batch", "largest-batch MODEL"]),
    (["flip", "resnet18", "-c", FAKES, "--shapes", "3x3"], ["3x224x224", "not 3x3"]),
    (["flip", "vgg16", "-c", FAKES, "--shapes", "3x224x224", "--shapes", "3x8x8"], ["vgg16", "3x8x8"]),
    (["advise", "resnet18", "-c", FAKES], ["--steps is missing", "--steps 50000"]),
    (["advise", "resnet18", "--goal", "memory", "--steps", "5"], ["--goal memory has no length", "leave --steps out"]),
    (["advise", "resnet18", "--goal", "memory", "--allow", "bf16"], ["'bf16'", "did you mean bfloat16?"]),
    (["advise", "--from", "last", "--goal", "memory", "--allow", "coarse"], ["'coarse'", "approximated", "int8"]),
    (["sweep", "resnet18", "-c", FAKES, "--latency", "50"], ["'50' has no unit", "50ms or 50s"]),
    (["serve", "resnet18", "--rate", "5", "--latency", "soon"], ["'soon'", "write 50ms or 0.05s"]),
    (["advise", "resnet18", "--goal", "memory", "--latency", "0.5"], ["'0.5' has no unit", "0.5ms or 0.5s"]),
    (["largest-batch", "resnet18", "-c", "fake", "--memory-limit", "2"], ["'2' has no unit", "2GiB or 2MiB"]),
    (["largest-batch", "resnet18", "-c", "fake", "--memory-limit", "900TiB"], ["921,600.0 GiB", "this machine has"]),
    (["race", "digits_cnn", "-c", FAKES, "--task", "fit", "--data", "patterns:x"], ["patterns:512"]),
    (["gate", "resnet18", "-c", "fake", "--baseline", "nope"], ["'nope'", "a version", "folder", "git:REVISION"]),
    (["history", "resnet18", "--framework", "torch", "--versions", "2.13.0,2.13.0"], ["2.13.0", "named twice"]),
    (["history", "resnet18", "--framework", "torch", "--versions", "1.0.0,1.0"], ["1.0 of torch", "named twice"]),
    (["show", "resnet18", "--as", "tensorflow"], ["'tensorflow'", "did you mean keras?"]),
    (["show", "resnet18", "--as", "jax"], ["'jax'", "did you mean flax?"]),
    (["show", "resnet18", "--as", "caffe2"], ["'caffe2'", "did you mean torch?"]),
    (["show", "resnet18", "--as", "litert"], ["'litert'", "did you mean keras?"]),
    (["race", "resnet18", "-c", FAKES, "--threads", "4096"], ["4096", "choose 1 to"]),
    (["race", "resnet18", "-c", FAKES, "--batch", "0"], ["'--batch'", "0"]),
    (["race", "resnet18", "-c", FAKES, "--input", "3x0x3"], ["'3x0x3' is not a shape", "3x224x224"]),
    (["race", "resnet18", "-c", FAKES, "--input", "3x64"], ["3x224x224", "not 3x64"]),
    (["race", "vgg16", "-c", FAKES, "--input", "3x8x8"], ["vgg16", "3x8x8"]),
    (["race", "gcn_cora", "-c", FAKES, "--input", "128"], ["TC", "2708x1433", "not 128"]),
    (["race", "ncf_ml_1m", "-c", FAKES, "--input", "128"], ["ncf_ml_1m takes single values"]),
    (["race", "ncf_ml_1m", "-c", FAKES, "--classes", "3"], ["ncf_ml_1m has no classes to set"]),
    (["verify", "ncf_ml_1m", "-c", "fake", "--classes", "3"], ["ncf_ml_1m has no classes to set"]),
    (["show", "ncf_ml_1m", "--classes", "3"], ["ncf_ml_1m has no classes to set"]),
    (["verify", "resnet18", "-c", "fake", "--reduced", "--classes", "7"], ["reduced", "--classes"]),
    (["race", "resnet18", "-c", FAKES, "--precision", "2percent"], ["'2percent'", "write 2%"]),
    (["race", "resnet18", "-c", FAKES, "--margin", "2"], ["'2'", "write 2%"]),
    (["race", "resnet18", "-c", FAKES, "--budget", "five"], ["'five'", "write 90s, 5m or 1h30m"]),
    (["race", "resnet18", "-c", FAKES, "--json", "--csv"], ["--json and --csv"]),
    (["race", "resnet18", "-c", FAKES, "--html", "no/such/folder/a.html"], ["cannot write", "a.html"]),
    (["race", "resnet18", "-c", FAKES, "--html", "."], ["'--html'", "directory"]),
    (["race", "resnet18", "--bugdet", "5m"], ["--bugdet", "--budget"]),
    (["race", "resnet18", "-c", FAKES, "--no-certify", "--recertify"], ["--recertify does nothing", "--no-certify"]),
    (["race", "resnet18", "-c", "torchvision:resnet18,fake"], ["another package", "torch[build=torchvision:resnet18]"]),
    (["verify", "resnet50", "-c", "keras.applications:ResNet50"], ["tensorflow[build=keras.applications:ResNet50]",
                                                                   "keras-jax"]),
    (["verify", "resnt18"], ["'resnt18'", "did you mean resnet18"]),
    (["verify", "resnet18", "-c", "torch:xla"], ["'xla'", "eager, compile"]),
    (["report"], ["no race has been run", "photofinish race"]),
    (["report", "--list", "--store", "nowhere"], ["no race has been run", "nowhere: there is no such folder"]),
    (["show", "resnt18"], ["did you mean resnet18"]),
    (["show", "resnet18", "--output", "resnet18.onnx"], ["--output writes an ONNX model", "--as onnx"]),
    (["show", "resnet18", "--as", "onxn"], ["did you mean onnx?"]),
    (["show", "resnet18", "--as", "torhc"], ["'torhc'", "did you mean torch?"]),
    (["list", "model"], ["'model'", "did you mean models?"]),
    (["list", "models", "--task", "recommendatoin"], ["'recommendatoin'", "did you mean recommendation"]),
    (["list", "frameworks", "--task", "classification"], ["--task is for models"]),
    (["largest-batch", "digits_cnn", "-c", "fake:forward"], ["fake:forward", "inference only", "try --task infer"]),
    (["flip", "digits_cnn", "-c", "fake,fake:forward"], ["task train needs two contenders", "--task infer"]),
    (["flip", "digits_cnn", "-c", "fake,numpy", "--launches", "1"], ["--launches", "x>=2"]),
    (["why", "digits_cnn", "--from", "last"], ["not of both", "leave digits_cnn out"]),
    (["claims", "C22", "--scale", "smal"], ["'smal'", "did you mean small?"]),
    (["serve", "digits_cnn", "--rate", "5", "--share", "99%"], ["--share does nothing", "--latency"]),
    (["serve", "digits_cnn", "--rate", "5", "--latency", "5ms", "--share", "99"], ["'99'", "write 99%"]),
    (["sweep", "digits_cnn", "--batch", "8..2"], ["'8..2'", "the other way round"]),
    (["race", "digits_cnn", "--budget", "0s"], ["'0s'", "no time at all"]),
    (["selftest", "-c", "torch:eagre"], ["did you mean eager?"]),
    (["race", "digits_cnn", "--memory", "much"], ["'much' is not a size", "8GiB"]),
    (["race", "digits_cnn", "-c", FAKES, "--tolerance", "1%"], ["--tolerance does nothing here", "--task fit"]),
    (["race", "digits_cnn", "-c", FAKES, "--task", "fit", "--seeds", "2", "--launches", "3"],
     ["--launches does nothing here", "--seeds"]),
    (["race", "digits_cnn", "-c", FAKES, "-t", "epoch", "--precision", "1%"], ["--precision does nothing", "--seeds"]),
    (["race", "digits_cnn", "-c", FAKES, "--launches", "3", "--precision", "1%"],
     ["--precision does nothing", "--launches"]),
    (["history", "resnet18", "--framework", "torch", "--launches", "3", "--precision", "1%"],
     ["--precision does nothing", "--launches"]),
    (["race", "digits_cnn", "-c", FAKES, "-t", "fit", "--time-all"], ["--time-all does nothing", "--seeds"]),
    (["advise", "digits_cnn", "--goal", "memory", "--per-hour", "3"], ["--per-hour does nothing here", "no time"]),
    (["advise", "digits_cnn", "--goal", "memory", "--share", "90%"], ["--share does nothing here", "--latency"]),
    (["sweep", "digits_cnn", "-c", FAKES, "--share", "99%"], ["--share does nothing here", "--latency"]),
    (["race", "digits_cnn", "-c", FAKES, "--task", "epoch", "--target", "90%"], ["no target", "--task fit"]),
    (["race", "digits_cnn", "-c", FAKES, "--batch", "9" * 5000], ["is not a batch"]),
    (["largest-batch", "digits_cnn", "--memory-limit", "9" * 400 + "GiB"], ["is not a size", "8GiB"]),
    (["history", "digits_cn", "--framework", "torch", "--versions", "1.0.0,2.13.0"], ["did you mean digits_cnn?"]),
    (["history", "digits_cnn", "--framework", "torch", "--versions", "1.0.0,2.13.0", "--task", "infr"],
     ["'infr'", "did you mean infer?"]),
    (["bisect", "digits_cn", "--framework", "torch", "--good", "1.0.0", "--bad", "2.13.0"],
     ["did you mean digits_cnn?"]),
    (["study", "run", "asu-2023", "--dry-run", "--env", "torch=/nowhere"], ["there is no Python"]),
    (["study", "run", "asu-2023", "--dry-run", "--env", f"jax={sys.executable}"], ["--env jax: nobody of that name"]),
    (["submit", "--to", "ray", "--time", "1h", "race", "digits_cnn"], ["--time does nothing here", "no time limit"]),
    (["report", "last", "--share", "99%"], ["--share does nothing here", "--latency"]),
    (["report", "last", "--list"], ["session does nothing here", "every race"]),
])
def test_wrong_use_is_one_clear_message(command: Command, arguments: list[str], said: list[str]) -> None:
    refused(command(*arguments), *said)


@pytest.mark.parametrize(("arguments", "said"), [
    (["race", "digits_cnn", "-c", "tensorflow:graph,fake"], "tensorflow:graph"),
    (["verify", "digits_cnn", "-c", "tensorflow"], "tensorflow:eager"),
])
def test_a_framework_that_is_not_installed_is_named_with_its_cure(process: Command, tmp_path: Path,
                                                                  arguments: list[str], said: str) -> None:
    (tmp_path / "blocker").mkdir()
    (tmp_path / "blocker" / "sitecustomize.py").write_text(BLOCKER)
    run = process(*arguments, environment={"PYTHONPATH": str(tmp_path / "blocker"),
                                           "PHOTOFINISH_CACHE": str(tmp_path)})  # where no environment lies
    refused(run, said, "TensorFlow", "is not installed", "photofinish env create tensorflow")


def test_code_is_shown_without_its_framework(process: Command, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(BLOCKER)
    run = process("show", "digits_cnn", "--as", "keras", environment={"PYTHONPATH": str(tmp_path)})
    assert run.code == 0 and "keras.Model(" in run.out, run.err


def test_a_store_that_cannot_be_made_is_told_before_anything_starts(command: Command, tmp_path: Path) -> None:
    (tmp_path / "occupied").write_text("")
    refused(command("race", "digits_cnn", "-c", FAKES, "--store", "occupied/store"), "cannot write", "--store")


def test_reading_leaves_no_trace(command: Command, tmp_path: Path) -> None:
    refused(command("report"), "no race has been run")
    listed = command("report", "--list")
    assert (listed.code, listed.out) == (0, "") and "no race has been run" in listed.err
    assert json.loads(command("report", "--list", "--json").out) == []
    assert command("claims").code == 0
    assert not any(tmp_path.iterdir())


def test_what_a_store_holds_is_listed_in_every_format(command: Command, tmp_path: Path) -> None:
    store = Store(tmp_path / ".photofinish")
    for name in ("decided", "undecided"):
        raced = factories.SCENARIOS[name]().race
        store.begin(replace(raced, id=f"{name}-train"), name)
        for kind in KINDS:
            store.append(f"{name}-train", kind, *getattr(raced, kind))
    listed = json.loads(command("report", "--list", "--json").out)
    jsonschema.validate(listed, schema("stored"))
    assert [(each["id"], each["session"], each["outcome"]) for each in listed] == [
        ("decided-train", "decided", "FASTER"), ("undecided-train", "undecided", "UNDECIDED")]
    text = command("report", "--list").out
    assert text.count("decided-train") - text.count("undecided-train") == 1 and "Came to" in text
    for form, begin in (("--csv", "Race,Id,Date,Model"), ("--markdown", "#")):
        assert command("report", "--list", form).out.startswith(begin)


def test_a_list_reads_no_more_than_the_verdicts_rest_on(tmp_path: Path) -> None:
    raced, store = factories.decided().race, Store(tmp_path)
    store.begin(raced, "session")
    for kind in KINDS:
        store.append(raced.id, kind, *getattr(raced, kind))
    read = store.read(raced.id, stored.TOLD)
    assert read.blocks == raced.blocks and raced.phases and not read.phases and not read.warm_ups
    ((_, found),) = stored.listed(tmp_path)
    assert found.verdicts == judge(raced).verdicts


def test_an_option_for_tests_is_offered_to_nobody() -> None:
    with pytest.raises(UsageError) as told:
        environments.checked("torch:eager+ddp[2,sped=3]")
    assert "threads" in told.value.hint
    assert not {"handicap", "fault", "at", "copies", "float64", "rank"} & set(re.findall(r"\w+", told.value.hint))


def test_energy_is_no_goal_where_nothing_measures_it(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sensors, "meter", lambda device: sensors.Absent("no counter here"))
    refused(command("advise", "resnet18", "--goal", "energy"), "no counter here", "photofinish doctor")


@pytest.mark.parametrize(("arguments", "kept"), [(["doctor"], False), (["race", "digits_cnn"], True)])
def test_only_what_stores_says_that_something_is_kept(command: Command, monkeypatch: pytest.MonkeyPatch,
                                                      arguments: list[str], kept: bool) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt
    for module, verb in ((doctor, "diagnose"), (api, "race")):
        monkeypatch.setattr(module, verb, interrupted)
    run = command(*arguments)
    assert run.code == 130 and ("is kept" in run.err) is kept


def test_what_was_measured_in_another_store_is_seen_by_the_command_that_is_named(
        command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise api.Interrupted(api.Outcome([factories.decided()]))

    def too_early(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt
    elsewhere = str(tmp_path / "my store")
    for stop, shown in ((interrupted, "report last"), (too_early, "report --list")):
        monkeypatch.setattr(api, "race", stop)
        for words in (["--store", elsewhere], [f"--store={elsewhere}"]):
            assert f"photofinish {shown} --store '{elsewhere}'" in command("race", "digits_cnn", *words).err
        assert f"photofinish {shown}\n" in command("race", "digits_cnn").err
    refused(command("report", "2020", "--store", elsewhere), "photofinish race")


def test_a_study_that_is_stopped_before_a_race_begins_says_how_it_goes_on(command: Command,
                                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt
    monkeypatch.setattr(api, "race", interrupted)
    run = command("study", "run", "simmons-2019", "--scale", "small", "--quiet")
    assert run.code == 130 and "The same command goes on from here" in run.err
    assert "not yet run" in run.out


def test_an_interruption_before_anything_is_imported_is_one_line() -> None:
    program = ("import sys\n"
               "class Impatient:\n"
               "    def find_spec(self, name, *rest):\n"
               "        if name == 'photofinish.cli': raise KeyboardInterrupt\n"
               "sys.meta_path.insert(0, Impatient())\n"
               "from photofinish.__main__ import main\n"
               "main()")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "photofinish: interrupted\n")


def test_a_race_interrupted_before_anything_was_timed_says_so(command: Command, monkeypatch: pytest.MonkeyPatch,
                                                              ) -> None:
    untimed = judge(replace(factories.race(), blocks=(), failures=()))

    def interrupted(*_: Any, **__: Any) -> None:
        raise api.Interrupted(api.Outcome([untimed]))
    monkeypatch.setattr(api, "race", interrupted)
    run = command("race", "digits_cnn")
    assert (run.code, run.out) == (130, "") and "interrupted before anything was timed" in run.err
    sentence = json.loads(command("race", "digits_cnn", "--json").out)["sentence"]
    assert sentence == "It was interrupted before anything was timed."


def test_who_only_infers_is_left_out_of_the_largest_batch_of_training(command: Command, own_model: str,
                                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "installed", lambda choice, device: environments.expand("fake,fake:forward"))
    monkeypatch.setattr(Search, "run", lambda self: ())
    run = command("largest-batch", own_model, "--json")
    assert run.code == 0 and json.loads(run.out)["failures"] == []
    assert "fake:forward is left out" in run.err
    named = command("largest-batch", own_model, "-c", "fake,fake:forward", "--json")
    assert named.code == 1 and [each["contender"] for each in json.loads(named.out)["failures"]] == ["fake:forward"]


@pytest.mark.parametrize(("batch", "code"), [(3, 0), (0, 1)])
def test_a_script_sees_that_nothing_fits(command: Command, own_model: str, monkeypatch: pytest.MonkeyPatch, batch: int,
                                         code: int) -> None:
    found = LargestBatch("fake:steady", batch, batch + 1, True, None, "train", ())
    monkeypatch.setattr(Search, "run", lambda self: (found,))
    assert command("largest-batch", own_model, "-c", "fake").code == code


def test_what_a_program_has_seen_of_a_claim_is_kept(command: Command) -> None:
    (before,) = json.loads(command("claims", "C7", "--json").out)
    assert before["judgement"] == "NOT YET RUN" and "--check" in before["why"]
    checked = command("claims", "c7", "--check", "--json").out
    jsonschema.validate(json.loads(checked), schema("claims"))
    assert json.loads(checked)[0]["judgement"] == "MIXED"
    assert command("claims", "C7", "--json").out == checked


def test_a_claim_that_lacks_a_package_keeps_no_other_from_being_seen(command: Command,
                                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "radon.raw", None)
    run = command("claims", "C24", "C7", "--check", "--json")
    assert {each["id"]: each["judgement"] for each in json.loads(run.out)} == {"C24": "NOT YET RUN", "C7": "MIXED"}
    assert run.code == 2 and "radon, which is not installed" in run.err


def test_claims_say_that_their_races_were_run_at_another_scale(command: Command, tmp_path: Path) -> None:
    """And that there is no such store."""
    planned = next(each for each in study.find("asu-2023", "small").races if each.group == "inference on a CPU")
    Store(tmp_path / "kept").settle(planned.key, "a session")
    shown = " ".join(command("claims", "C29", "C4", "--store", "kept", "--markdown").out.split())
    assert shown.count("run at --scale small: photofinish claims --scale small") == 1
    refused(command("claims", "--store", "missing"), "no race has been run with the store missing", "study run")
    assert not (tmp_path / "missing").exists()


def test_a_plan_is_narrowed_as_the_run_is(command: Command) -> None:
    asked = ("study", "run", "simmons-2019", "--scale", "small", "--dry-run", "--json", "--only")
    planned = json.loads(command(*asked, "digits").out)["races"]
    assert planned and all("digits" in f"{each['group']} {each['model']}" for each in planned)
    assert len(planned) < len(json.loads(command(*asked[:-1]).out)["races"])
    assert command(*asked[:-2], "--csv").out.startswith("Race,Group,Race,Contenders,State")
    for further in ("--dry-run", "--quiet"):
        refused(command("study", "run", "simmons-2019", further, "--only", "resnet81"), "no race of simmons-2019 has",
                "its groups are: ", "its models: ")


def test_an_older_store_is_read_as_it_is(command: Command, tmp_path: Path) -> None:
    path = Store(tmp_path / ".photofinish").path
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE settled")
        connection.execute("PRAGMA journal_mode=DELETE")
    before = path.read_bytes()
    assert command("claims").code == 0
    assert path.read_bytes() == before and list(path.parent.iterdir()) == [path]


def test_what_is_no_store_is_told_apart_from_a_full_disk(command: Command, tmp_path: Path) -> None:
    (tmp_path / ".photofinish").mkdir()
    (tmp_path / ".photofinish" / "photofinish.sqlite").write_text("not a database, but long enough for a header")
    for arguments in (["report"], ["race", "digits_cnn", "-c", FAKES]):
        refused(command(*arguments), "photofinish.sqlite is no store of photofinish", "--store")


@pytest.mark.parametrize(("kind", "body"), [("blocks", "{}"), ("blocks", "{"), ("laps", "{}")])
def test_a_record_that_is_not_understood_is_told(command: Command, tmp_path: Path, kind: str, body: str) -> None:
    store = Store(tmp_path / ".photofinish")
    store.begin(factories.race(), "session")
    with sqlite3.connect(store.path) as connection:
        connection.execute("INSERT INTO record (race, kind, body) VALUES (?, ?, ?)", (factories.race().id, kind, body))
    refused(command("report"), "has a record that this version of photofinish does not understand", "--store")


def test_a_gpu_that_is_not_there_is_told_before_anything_starts(command: Command) -> None:
    if machine.lacks("cuda") == "":
        pytest.skip("there is a GPU")
    refused(command("race", "digits_cnn", "-c", "torch,tensorflow", "--device", "cuda"), "no NVIDIA GPU", "doctor")


@pytest.mark.parametrize("group", ["env", "study"])
def test_a_command_of_commands_says_which_there_are(command: Command, group: str) -> None:
    run = command(group)
    assert run.code == 2 and run.err.startswith(f"photofinish: {group} needs a command")
    assert "Commands:" in run.err and "Traceback" not in run.err


def test_a_read_only_folder_is_told_before_anything_starts(process: Command, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write to read-only folders")
    tmp_path.chmod(0o555)
    try:
        refused(process("race", "digits_cnn", "-c", FAKES), "cannot write", "--store")
    finally:
        tmp_path.chmod(0o755)


def test_what_may_not_be_read_is_told_so(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may read everything: here it is the system that says it may not."""
    net = tmp_path / "net.py"
    net.touch()
    monkeypatch.setattr("photofinish.models.find", partial(_refuse, net))
    for allowed, said in ((os.F_OK, "make it readable"), (os.F_OK | os.R_OK, "may write to")):
        monkeypatch.setattr(os, "access", lambda path, mode, allowed=allowed: not mode & ~allowed)
        refused(command("show", str(net)), "Permission denied", said)


def _refuse(path: Path, name: str) -> None:
    raise PermissionError(errno.EACCES, "Permission denied", str(path))


def test_a_full_disk_is_told_before_anything_starts(process: Command) -> None:
    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    refused(process("race", "digits_cnn", "-c", FAKES, preexec_fn=no_room), "cannot write", "--store")


def test_a_disk_that_fills_while_data_is_written_is_told(process: Command) -> None:
    """Of this NumPy tells how much of an array was written, and no number of the system's."""
    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    race = process("race", "digits_cnn", "-c", FAKES, "--task", "epoch", "--data", "patterns:8000",
                   preexec_fn=little_room)
    refused(race, "could not be written to its end", " requested and ", "disk space", "--store")


def test_a_race_from_the_command_to_every_format(command: Command, process: Command, own_model: str,
                                                  tmp_path: Path) -> None:
    race = process("race", own_model, "-c", FAKES, "--launches", "2", "--json", "--html", "race.html")
    assert race.code == 0, race.err
    found = json.loads(race.out)  # and nothing else on standard output
    jsonschema.validate(found, schema("race"))
    assert found["verdicts"][0]["verdict"] in ("FASTER", "SLOWER", "EQUIVALENT", "UNDECIDED")
    assert found["verdicts"][0]["ratio"] == pytest.approx(1.5, rel=0.1)  # steps of 2 and 3 ms, by a scripted clock
    assert found["certificate"]["passed"] is True
    assert " done (" in race.err and "Report: race.html" in race.err
    page = (tmp_path / "race.html").read_text()
    assert page.lower().startswith("<!doctype html>") and "fake:steady[step=0.003]" in page

    again = command("report", "last", "--full")
    assert again.code == 0 and "fake:steady[step=0.002]" in again.out
    assert re.search(r"FASTER|SLOWER|EQUIVALENT|UNDECIDED", again.out)
    assert json.loads(command("report", "--json").out) == found
    assert "fake:steady[step=0.003]" in command("report", "--csv").out
    assert command("report", "--markdown").out.startswith("#")
    (kept,) = json.loads(command("report", "--list", "--json").out)
    session, name = kept["session"], kept["id"]
    for each in (session, name):
        assert json.loads(command("report", each, "--json").out)["id"] == name
    refused(command("report", "20200101"), "'20200101'", "photofinish report --list")

    if Path("/dev/full").exists():
        full = command("report", "last", "--html", "/dev/full")
        assert full.code == 2 and "Traceback" not in full.err
        assert "cannot write /dev/full" in full.err and "the same command again" in full.err
        raced = command("race", own_model, "-c", FAKES, "--launches", "1", "--store", "st 2", "--html", "/dev/full")
        assert "photofinish report last --html FILE --store 'st 2'" in raced.err and raced.out


def test_a_race_without_a_certificate_has_no_winner_and_quiet_says_nothing_else(process: Command,
                                                                                own_model: str) -> None:
    run = process("race", own_model, "-c", FAKES, "--launches", "1", "--no-certify", "--quiet")
    assert run.code == 1 and run.err == ""
    assert "NOT COMPARABLE" in run.out


def unread(*arguments: str, within: Path, stderr: bool = False) -> subprocess.CompletedProcess[bytes]:
    """Runs `photofinish ARGUMENTS` where nobody reads standard output any more, or standard error either."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        return subprocess.run([sys.executable, "-m", "photofinish", *arguments], cwd=within, check=False,
                              stdout=writing, stderr=writing if stderr else subprocess.PIPE)
    finally:
        os.close(writing)


def test_where_nobody_reads_standard_output_the_report_is_written(own_model: str, tmp_path: Path) -> None:
    """As in `photofinish race ... --html race.html | head -2`. It ends like a program that is stopped by SIGPIPE does
    for a shell: 1 would say NOT COMPARABLE."""
    asked = ("race", own_model, "-c", FAKES, "--launches", "1", "--html", "race.html")
    race = unread(*asked, within=tmp_path, stderr=True)
    assert race.returncode == 141 and "fake:steady[step=0.003]" in (tmp_path / "race.html").read_text()
    for format in ((), ("--json",), ("--csv",)):
        done = unread("report", *format, "--html", "again.html", within=tmp_path)
        assert (done.returncode, done.stderr) == (141, b"")
        assert (tmp_path / "again.html").read_text() == (tmp_path / "race.html").read_text()
        (tmp_path / "again.html").unlink()
    assert unread("list", "models", within=tmp_path).returncode == 141


def test_who_cannot_write_a_report_is_told_what_writes_it_again(command: Command, tmp_path: Path) -> None:
    """What else was asked for is shown."""
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    Store(tmp_path / "s1").begin(factories.race(), "session")
    (tmp_path / "mine.toml").write_text("""[study]
title = "A"
question = "B?"
contenders = ["fake:steady", "fake:coarse"]
[[races]]
models = ["digits_cnn"]
""")
    for asked in (("report", "--store", "s1"), ("study", "report", "mine.toml", "--store", "s1"),
                  ("claims", "--store", "s1")):
        run = command(*asked, "--html", "/dev/full")
        assert run.code == 2 and run.out and "cannot write /dev/full" in run.err
        assert "the same command again" in run.err and "report last" not in run.err


def test_a_link_to_a_file_that_is_not_there_yet_stays(command: Command, tmp_path: Path) -> None:
    Store(tmp_path / ".photofinish").begin(factories.race(), "session")
    (tmp_path / "page.html").symlink_to("elsewhere.html")
    refused(command("report", "no-such-race", "--html", "page.html"), "no-such-race")
    assert (tmp_path / "page.html").is_symlink() and not (tmp_path / "elsewhere.html").exists()
    assert command("report", "--html", "page.html").code == 0
    assert (tmp_path / "page.html").is_symlink() and (tmp_path / "elsewhere.html").exists()


def test_ctrl_c_keeps_and_shows_what_was_measured(own_model: str, tmp_path: Path) -> None:
    race = subprocess.Popen([sys.executable, "-m", "photofinish", "race", own_model, "-c", FAKES, "--launches", "500"],
                            cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    store = tmp_path / ".photofinish" / "photofinish.sqlite"
    try:
        assert race.stderr is not None
        for line in race.stderr:
            if " done (" in line:
                break
        race.send_signal(signal.SIGINT)
        out, err = race.communicate(timeout=120)
    finally:
        race.kill()
    assert race.returncode == 130
    assert "fake:steady[step=0.002]" in out and "photofinish report last" in err and "Traceback" not in err
    assert store.exists()


def test_verify_proves_and_refuses(command: Command, own_model: str) -> None:
    good = command("verify", own_model, "-c", "fake", "--json")
    found = json.loads(good.out)
    assert good.code == 0 and found["certified"] is True
    jsonschema.validate(found, schema("verify"))
    bad = command("verify", own_model, "-c", "fake:steady[fault=wrong]")
    assert bad.code == 1 and "NOT certified" in bad.out


def test_models_are_listed_as_documented(command: Command) -> None:
    found = json.loads(command("list", "models", "--json").out)
    assert {each["name"] for each in found} == set(all_models())
    jsonschema.validate(found, schema("models"))
    assert "resnet18" in command("list", "models").out


def test_models_are_found_by_task_and_by_words(command: Command) -> None:
    def names(*arguments: str) -> list[str]:
        return [each["name"] for each in json.loads(command("list", "models", *arguments, "--json").out)]

    assert names("--task", "recommendation") == [
        name for name, entry in all_models().items() if entry.task == "recommendation"]
    assert names("NCF", "20m") == ["ncf_ml_20m"]
    assert names("1512.03385") and "vgg16" not in names("1512.03385")
    assert names("nothing of the kind") == []
    assert "none of the models" in command("list", "models", "nothing of the kind").out


def test_what_is_listed_of_a_model_says_what_it_takes_and_who_has_it(command: Command) -> None:
    listed = {each["name"]: each for each in json.loads(command("list", "models", "--json").out)}
    single = listed["ncf_ml_1m"]
    assert single["input"] == [] and single["unit"] == "samples"
    assert single["inputs"] == [{"name": name, "axes": "", "shape": [], "dtype": "int32"} for name in ("user", "item")]
    graph = listed["gcn_cora"]
    assert [(each["axes"], each["shape"]) for each in graph["inputs"]] == [("TC", [2708, 1433]), ("TU", [2708, 2708])]
    support = listed["dlrm_small"]["support"]["tensorflow"]
    assert support["level"] == "lowered" and "EmbeddingBag" in support["reason"]
    support = listed["resnet18"]["support"]
    assert support["torch"] == support["tensorflow"] == {"level": "native", "reason": "", "tasks": ["train", "infer"]}
    assert support["openvino"] == {"level": "native", "reason": "", "tasks": ["infer"]}
    text = command("list", "models").out
    assert "Recommendation" in text and "arXiv 1708.05031" in text and "user, item" in text


def test_a_model_that_takes_no_image_is_shown_in_every_form(command: Command) -> None:
    model = json.loads(command("show", "gcn_cora", "--input", "50x20", "--classes", "4", "--json").out)
    jsonschema.validate(model, schema("show"))
    assert model["inputs"] == {"features": [50, 20], "adjacency": [50, 50]}
    assert model["layers"][-1]["output"] == [50, 4] and model["losses"][0]["kind"] == "SoftmaxCrossEntropy"
    text = command("show", "ncf_ml_1m").out
    assert "user, item: 1,978,305 parameters" in text and "BinaryCrossEntropy" in text and "in torch" in text
    for form, said in (("torch", "nn.Embedding(6040, 64)"), ("keras", 'keras.Input((), dtype="int32", name="user")')):
        assert said in command("show", "ncf_ml_1m", "--as", form).out


def test_a_race_over_texts_counts_tokens(process: Command, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(WORDS)
    run = process("race", "./net.py:reader", "-c", FAKES, "--launches", "1", "--input", "8", "--json",
                  "--html", "a.html")
    assert run.code == 0, run.err
    found = json.loads(run.out)
    jsonschema.validate(found, schema("race"))
    case = found["case"]
    assert (case["shape"], case["batch"], case["unit"], case["units"]) == ([8], 5, "tokens", 8)
    for each in found["contenders"]:
        assert each["throughput"]["value"] == pytest.approx(5 * 8 / each["seconds_per_step"]["value"])
    assert "40 per step" in (tmp_path / "a.html").read_text()


def device_of(name: str) -> str:
    """One that the contender runs on."""
    asked = Contender.parse(name)
    framework = environments.frameworks()[asked.framework]
    found = framework.strategies[asked.strategy].devices if asked.strategy else framework.devices_of(asked.mode)
    return found[0]


def test_frameworks_and_contenders_are_listed(command: Command) -> None:
    frameworks = {each["name"]: each for each in json.loads(command("list", "frameworks", "--json").out)}
    assert set(frameworks) == set(environments.frameworks()) - {environments.DOUBLE}
    for each in frameworks.values():
        assert each["version"] or each["install"].startswith(("photofinish env create ", "install "))
    names = [each["name"] for each in json.loads(command("list", "contenders", "--json").out)]
    assert [environments.checked(name, device_of(name)).name for name in names] == names
    shown = command("list", "contenders").out
    assert all(name in shown for name in names)
    for json_or_table in ((), ("--json",)):
        assert "fake:steady" in command("list", "contenders", "fake", *json_or_table).out
        assert "fake:steady" not in command("list", "contenders", *json_or_table).out
    assert "fake" not in command("list", "frameworks").out
    told = {each["name"]: each["devices"] for each in json.loads(command("list", "frameworks", "cuda", "--json").out)}
    assert told and all("cuda" in devices for devices in told.values()) and "mlx" not in told
    assert "openvino" in command("list", "contenders", "infer").out


def test_a_model_is_shown_as_a_table_at_any_size(command: Command) -> None:
    model = json.loads(command("show", "resnet50", "--as", "table", "--input", "3x320x320", "--json").out)
    assert model["parameters"] == sum(layer["parameters"] for layer in model["layers"]) == 25_557_032
    assert model["macs"] == sum(layer["macs"] for layer in model["layers"])
    jsonschema.validate(model, schema("show"))
    assert model["layers"][0]["output"] == [64, 160, 160]
    text = command("show", "resnet50").out
    assert "25,557,032" in text and "stage1" in text


def test_classes_are_settable(command: Command) -> None:
    model = json.loads(command("show", "resnet18", "--classes", "7", "--json").out)
    assert model["layers"][-1]["output"] == [7]


def test_the_doctor_says_what_is_here_and_how_noisy_it_is(command: Command) -> None:
    found = json.loads(command("doctor", "--json", "--seconds", "0.2").out)
    assert set(found) == {"frameworks", "compiler", "machine", "measures", "energy", "noise", "advice"}
    assert {each["name"] for each in found["frameworks"]} >= {"torch", "tensorflow"}
    text = command("doctor", "--seconds", "0.2")
    assert text.code == 0 and "What can be measured" in text.out and "Noise now" in text.out


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("90s", 90), ("5m", 300), ("1h30m", 5400), ("1.5 h", 5400),
                                               ("2min", 120), ("1m 30s", 90), ("0.5s", 0.5), ("50ms", 0.05)])
def test_durations_are_read_kindly(text: str, seconds: float) -> None:
    assert options.Duration().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "m", "5x", "-3", "0", "5m later", "1d", "1h30"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="write 90s, 5m or 1h30m"):
        options.Duration().convert(text, None, None)


@pytest.mark.parametrize(("text", "seconds"), [("50ms", 0.05), ("0.05s", 0.05), ("1s 50ms", 1.05)])
def test_a_latency_has_a_unit(text: str, seconds: float) -> None:
    assert options.Latency().convert(text, None, None) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["50", "0.05", "0", "fifty", "50 ns"])
def test_what_is_no_latency_is_refused_with_milliseconds(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"write .*ms or "):
        options.Latency().convert(text, None, None)


@pytest.mark.parametrize(("text", "share"), [("2%", 0.02), ("2 %", 0.02), ("0.02", 0.02), (".5%", 0.005)])
def test_percentages_are_read_kindly(text: str, share: float) -> None:
    assert options.Share().convert(text, None, None) == pytest.approx(share)


@pytest.mark.parametrize(("text", "meant"), [
    ("2", "2%"), ("99", "99%"), *((text, r"2% or 0\.02") for text in ("0", "0%", "100%", "100", "two", "-1%", "2%%"))])
def test_what_is_no_percentage_is_refused(text: str, meant: str) -> None:
    with pytest.raises(click.BadParameter, match=f"write {meant}$"):
        options.Share().convert(text, None, None)


@pytest.mark.parametrize(("text", "size"), [("8GiB", 8 * 2**30), ("500 MB", 500 * 2**20), ("1.5g", 3 * 2**29),
                                            ("4096B", 4096)])
def test_sizes_are_read_kindly(text: str, size: int) -> None:
    assert options.Size().convert(text, None, None) == size


@pytest.mark.parametrize(("text", "said"), [("2", "2GiB or 2MiB"), ("much", "8GiB"), ("0GiB", "8GiB"), ("2x", "8GiB")])
def test_what_is_no_size_is_refused_with_units(text: str, said: str) -> None:
    with pytest.raises(click.BadParameter, match=said):
        options.Size().convert(text, None, None)


@pytest.mark.parametrize("text", ["3x64x32", "3X64X32", "3,64,32"])
def test_shapes_are_read_kindly(text: str) -> None:
    assert options.InputShape().convert(text, None, None) == (3, 64, 32)


EVENTS = (Progress("certify", "rehearsal: a:b: first steps (train)", "a:b", "train", estimates={"a:b": 0.2}),
          Progress("warning", "other programs use 40% of this machine", "a:b", "train"),
          Progress("plan", "a pilot of 3 launches", done=0, total=3, seconds_left=200.0),
          Progress("block", "launch 1, round 2 of 8", done=2, total=8),
          Progress("failure", "c:d: crash: exit code 1", "c:d"),
          Progress("launch", "1 launch done (train)", task="train", done=1, total=3, seconds_left=125.0,
                   estimates={"a:b": 0.1, "e:f": 0.4}))


def told(terminal: bool) -> str:
    screen = io.StringIO()
    with Watcher(Console(file=screen, force_terminal=terminal, width=100, color_system=None)) as watcher:
        for event in EVENTS:
            watcher(event)
        if terminal:
            screen = io.StringIO()
            Console(file=screen, width=100).print(watcher.view())
    return screen.getvalue()


def test_the_live_view_shows_how_far_it_is_the_estimates_and_what_failed() -> None:
    lines = told(terminal=True).splitlines()
    assert "1 of 3 launches" in lines[0] and "round 2 of 8" in lines[0] and "2 min 5 s of the budget left" in lines[0]
    rows = [line.split() for line in lines if line.startswith(("a:b", "e:f"))]
    assert [row[:3] for row in rows] == [["a:b", "100", "ms"], ["e:f", "400", "ms"]]
    assert len(rows[0][3]) < len(rows[1][3])  # a bar each, the longer the slower
    assert lines[-2:] == ["! other programs use 40% of this machine", "! c:d: crash: exit code 1"]


def test_control_characters_of_mistakes_and_notices_are_shown_and_not_obeyed(command: Command) -> None:
    run = command("race", "\x1b[31mred\x07.py:net")
    assert run.code == 2 and "\\x1b[31mred\\x07.py" in run.err and "\x1b" not in run.err
    lines = io.StringIO()
    with Watcher(Console(file=lines)) as watcher:
        watcher(Progress("failure", "c:d: \x1b]0;mine\x07"))
    assert "c:d: \\x1b]0;mine\\x07" in lines.getvalue()


def test_rounds_are_those_of_the_launch_that_runs() -> None:
    screen = io.StringIO()
    with Watcher(Console(file=screen, force_terminal=True, width=100, color_system=None)) as watcher:
        watcher(Progress("block", "launch 1", done=8, total=8))
        assert watcher.rounds == "round 8 of 8"
        watcher(Progress("launch", "launch 2: starting a:b"))
        assert watcher.rounds == ""


def test_the_clock_goes_on_while_a_request_runs_and_nothing_else_moves() -> None:
    screen = io.StringIO()
    with Watcher(Console(file=screen, force_terminal=True, width=100, color_system=None)) as watcher:
        watcher(EVENTS[0])
        watcher.begin -= 75.0
        watcher.drawn = -math.inf
        watcher(Progress("waiting"))
        drawn = screen.getvalue()
        watcher(Progress("waiting"))  # at once: not worth a drawing
        assert screen.getvalue() == drawn
    assert "1:15" in drawn and "first steps" in drawn.rpartition("1:15")[2]
    lines = io.StringIO()
    with Watcher(Console(file=lines)) as watcher:
        watcher(Progress("waiting"))
    assert lines.getvalue() == ""


def test_a_long_request_says_how_far_it_is() -> None:
    half = Progress("waiting", done=34, total=68, seconds_left=600.0)
    screen = io.StringIO()
    with Watcher(Console(file=screen, force_terminal=True, width=100, color_system=None)) as watcher:
        watcher(Progress("certify", "computing the reference"))
        watcher.drawn = -math.inf
        watcher(half)
        assert "computing the reference: 50%, about 10 min left" in screen.getvalue()
        screen.truncate(screen.seek(0))
        watcher(Progress("certify", "proving a:b"))
        assert "proving a:b" in screen.getvalue() and "left" not in screen.getvalue()


def test_elsewhere_each_quarter_of_a_long_request_is_a_line() -> None:
    lines = io.StringIO()
    with Watcher(Console(file=lines)) as watcher:
        watcher(Progress("certify", "computing"))
        for done in range(8):
            watcher.told_at -= 61.0
            watcher(Progress("waiting", done=done, total=8, seconds_left=8.0 - done if done else None))
        watcher(Progress("certify", "proving"))
        watcher(Progress("waiting", done=4, total=8, seconds_left=4.0))  # within a minute of the last line
    said = [re.sub(r"^\[\d+:\d\d\] ", "", line) for line in lines.getvalue().splitlines()]
    assert said == ["computing", *(f"computing: {told} left" for told in (
        "25%, about 6 s", "50%, about 4 s", "75%, about 2 s")), "proving"]


def test_elsewhere_progress_is_a_line_per_event_without_the_rounds() -> None:
    lines = [re.sub(r"^\[\d+:\d\d\] ", "", line) for line in told(terminal=False).splitlines()]
    assert lines[0] == "rehearsal: a:b: first steps (train): a:b 200 ms"
    assert lines[-1] == "1 launch done (train): a:b 100 ms, e:f 400 ms"
    assert len(lines) == 5 and not any("round" in line for line in lines)


@pytest.mark.parametrize("encoding", ["utf-8:strict", "ascii:strict", "latin-1:strict"])
def test_what_the_locale_has_no_letters_for_ends_no_report(tmp_path: Path, encoding: str) -> None:
    """Lines and dashes, and a path that is in no encoding at all."""
    of = factories.race(of=factories.case(model=os.fsdecode(b"./n\xe9t.py:net")))
    Store(tmp_path).begin(of, "session")
    done = subprocess.run([sys.executable, "-m", "photofinish", "report", "last", "--store", str(tmp_path), "--html",
                           "page.html"], cwd=tmp_path, capture_output=True, check=False,
                          env={**os.environ, "PYTHONIOENCODING": encoding})
    assert done.returncode == 0, done.stderr
    assert b"n?t.py:net" in done.stdout and b"n?t.py:net" in (tmp_path / "page.html").read_bytes()
