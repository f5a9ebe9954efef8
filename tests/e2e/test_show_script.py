"""The printed training programs run on their own, and are counted."""

import ast
import importlib.util
import json
import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from photofinish import environments, models, scripts
from photofinish.cli import photofinish
from photofinish.errors import UsageError
from photofinish.frameworks import Unsupported
from photofinish.reports.json import schema
from photofinish.values import Contender

# Two losses of one target; ids and a mask; a transcript; an adjacency; a rating.
VARIED = ("inception_v3", "bert_base", "deepspeech2", "gcn_cora", "ncf_ml_1m")
HERE = {"torch": "torch", "keras": "tensorflow", "flax": "flax"}  # forms and the package that each takes
COUNTED = '''"""Not counted."""

import numpy as np


def double(x):
    # nor is this
    return np.add(x, x) if x else x


print(double(np.ones(3).sum()))
'''


@pytest.mark.parametrize("form", HERE)
def test_it_trains_without_photofinish(form: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(HERE[form]) is None:
        pytest.skip(f"{HERE[form]} is not installed")
    program = tmp_path / "train.py"
    program.write_text(scripts.program(form, "digits_cnn", models.find("digits_cnn").small(), 8))
    done = subprocess.run([sys.executable, "-I", str(program)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    losses = [float(word) for word in done.stdout.split()]
    assert len(losses) == scripts.STEPS
    assert losses[-1] < losses[0] / 2
    assert "photofinish" not in program.read_text()


@pytest.mark.parametrize("form", scripts.forms())
@pytest.mark.parametrize("model", [*VARIED, "digits_cnn", "lstm_lm_small", "gpt2_small"])
def test_every_name_that_it_uses_is_there(form: str, model: str, tmp_path: Path) -> None:
    """Of the frameworks, too, that are not installed here."""
    program = tmp_path / "train.py"
    try:
        program.write_text(scripts.program(form, model, models.find(model).small(), 8))
    except Unsupported as lacking:
        pytest.skip(str(lacking))
    done = subprocess.run([sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F821", str(program)],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


ON_TWO = [("torch", "ddp"), ("torch", "ddp-fp16"), ("torch", "ddp-powersgd"),
          ("torch", "ddp-localsgd"), ("torch", "ddp-accumulate"), ("torch", "zero"), ("torch", "fsdp2"),
          ("torch", "horovod"), ("torch", "horovod-fp16"),
          ("keras", "mirrored"), ("keras", "multiworker"), ("flax", "sharded"), ("flax", "distributed")]
# By `make test-environments`: they start as others do.
SELDOM = ("ddp-accumulate", "ddp-fp16", "ddp-powersgd", "ddp-localsgd", "zero", "sharded")
# Now and then PyTorch 2.13.0 ends so after DistributedDataParallel ("terminate called without an active exception").
ABORTED = "Signal 6 (SIGABRT)"
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--local-ranks-filter", "0"]
HOROVOD = Contender.parse("torch:eager+horovod[2]")
TWO_LOGICAL = """import tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
"""


def free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("localhost", 0))
        return int(asked.getsockname()[1])


def started(way: str, file: Path) -> list[tuple[list[str], dict[str, str]]]:
    """The words and variables of each process, the one that is listened to first: two processes, two logical CPUs of
    one, two host devices. None is a GPU. Of torchrun's, which print into each other's lines, one may speak."""
    python, addresses = [sys.executable, "-I", str(file)], [f"localhost:{free_port()}" for _ in range(2)]
    if way.startswith("horovod"):
        apart = environments.resolve(HOROVOD)
        if isinstance(apart, environments.Missing):
            pytest.skip(f"{apart.reason}: {apart.cure}")
        programs = apart.python.parent  # where horovodrun finds the Python to start
        return [([str(programs / "horovodrun"), "-np", "2", "--gloo", str(programs / "python"), str(file)],
                 {"PATH": f"{programs}:{os.environ['PATH']}", "HOROVOD_GLOO_IFACE": "lo"})]
    if way == "multiworker":
        return [(python, {"TF_CONFIG": json.dumps({"cluster": {"worker": addresses}, "task": {"type": "worker",
                                                                                             "index": rank}})})
                for rank in range(2)]
    if way == "distributed":
        return [([*python, addresses[0], "2", str(rank)], {}) for rank in range(2)]
    if way == "sharded":
        return [(python, {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"})]
    return [(python if way == "mirrored" else [sys.executable, *TORCHRUN, str(file)], {})]


@pytest.mark.parametrize(("form", "way"), ON_TWO)
def test_on_two_devices_it_learns_as_on_one(form: str, way: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(HERE[form]) is None:
        pytest.skip(f"{HERE[form]} is not installed")
    if way in SELDOM and "PHOTOFINISH_STRATEGIES" not in os.environ:
        pytest.skip("make test-environments runs it")
    file = tmp_path / "train.py"
    text = scripts.parallel_program(form, "digits_cnn", models.find("digits_cnn").small(), 8, way)
    if way == "mirrored":
        text = TWO_LOGICAL + text.replace("MirroredStrategy()", "MirroredStrategy(['CPU:0', 'CPU:1'])")
    file.write_text(text)
    with (tmp_path / "log").open("w") as log:
        running = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True,
                                    env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", **variables})
                   for words, variables in started(way, file)]
        told = [each.communicate()[0] for each in running]
    said = (tmp_path / "log").read_text()
    assert ABORTED in said or not any(each.returncode for each in running), said  # all losses are there nevertheless
    losses = [float(line.removeprefix("[0]<stdout>:")) for line in told[0].splitlines()  # as horovodrun has it
              if not line.startswith(("[Gloo]", "[1]<stdout>:"))]  # which have their say there
    assert len(losses) == scripts.STEPS
    assert losses[-1] < losses[0] / 2


@pytest.mark.parametrize(("way", "model"), [("tensor", "bert_base"), ("gpipe", "lenet5")])
def test_a_divided_model_learns_what_the_whole_one_learns(way: str, model: str, tmp_path: Path) -> None:
    if "PHOTOFINISH_STRATEGIES" not in os.environ:
        pytest.skip("make test-environments runs it")
    pytest.importorskip("torch", reason="torch is not installed")
    graph, losses = models.find(model).small(), {}
    seeded = ("batches = [", "torch.manual_seed(0)\nbatches = [")
    every = [*TORCHRUN[:-2], "--local-ranks-filter", "1"]  # whose is the last stage; of `tensor` all print the same
    for text, words in ((scripts.program("torch", model, graph, 4).replace(*seeded), ["-I"]),
                        (scripts.parallel_program("torch", model, graph, 4, way), every)):
        file = tmp_path / "train.py"
        file.write_text(text)
        done = subprocess.run([sys.executable, *words, str(file)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        losses[words[0]] = [float(line) for line in done.stdout.splitlines()]
    assert len(losses["-I"]) == scripts.STEPS and losses["-I"][-1] < losses["-I"][0]
    assert losses["-m"] == pytest.approx(losses["-I"], rel=1e-4)


def test_every_way_that_is_written_is_started_here_and_told() -> None:
    """But for two GPUs."""
    every = {(form, way) for form in HERE for way in scripts.parallel_ways(form)}
    assert every == {*ON_TWO, ("torch", "tensor"), ("torch", "gpipe"), ("torch", "dp")}
    (told,) = [each.help for each in photofinish.commands["show"].params if each.name == "parallel"]
    assert {way for _, way in every} == {word for part in told.split("(")[1].rstrip(").").split("; ")
                                         for word in part.partition(": ")[2].split(", ")}


@pytest.mark.parametrize("form", HERE)
@pytest.mark.parametrize("name", VARIED)
def test_several_devices_are_counted_by_what_changes(name: str, form: str) -> None:
    pytest.importorskip("radon", reason="radon is not installed")
    graph = models.find(name).small()
    try:
        alone = scripts.program(form, name, graph, 4)
    except scripts.Unsupported:
        pytest.skip(f"{form} has not all layers of {name}")
    for way in scripts.parallel_ways(form):
        try:
            text = scripts.parallel_program(form, name, graph, 4, way)
        except scripts.Unsupported:
            assert way == "gpipe" or (way == "tensor" and name != "bert_base")
            continue
        compile(text, name, "exec")
        assert "Start it with: " in text
        assert 0 < scripts.changes(alone, text).lines < 20
    assert scripts.changes(alone, alone) == scripts.Changes(0, 0, 0, 0)


@pytest.mark.parametrize("form", scripts.forms())
@pytest.mark.parametrize("name", VARIED)
def test_whatever_a_model_takes_is_drawn(name: str, form: str) -> None:
    graph = models.find(name).small()
    try:
        text = scripts.program(form, name, graph, 4)
    except scripts.Unsupported:
        pytest.skip(f"{form} has not all layers of {name}")
    defined = [each.name for each in ast.parse(text).body if isinstance(each, (ast.FunctionDef, ast.ClassDef))]
    assert len(defined) == len(set(defined)) and "drawn_batch" in defined
    compile(text, name, "exec")


def test_what_is_counted() -> None:
    pytest.importorskip("radon", reason="radon is not installed")
    assert scripts.counts(COUNTED) == scripts.Counts(lines=4, tokens=40, calls=3, complexity=2)


def test_without_radon_the_cure_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "radon.raw", None)
    with pytest.raises(UsageError, match="pip install radon"):
        scripts.counts(COUNTED)


def test_the_command_prints_it_and_counts_it(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("radon", reason="radon is not installed")
    words = ["show", "digits_cnn", "--as", "torch", "--script"]
    assert photofinish.main(words, standalone_mode=False) is None
    text = capsys.readouterr().out
    photofinish.main([*words, "--json"], standalone_mode=False)
    found = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, schema("script"))
    assert found["source"] == text
    photofinish.main([*words, "--parallel", "ddp"], standalone_mode=False)
    assert "DistributedDataParallel" in capsys.readouterr().out
    for wrong, said in ((["--as", "torch", "--script", "--parallel", "ddpp"], "did you mean ddp"),
                        (["--as", "mlx", "--script", "--parallel", "ddp"], "choose from: flax, keras, torch"),
                        (["--as", "torch", "--parallel", "ddp"], "add --script"),
                        (["--as", "onnx", "--script", "--output", "net.onnx"], "no training program of --as onnx")):
        with pytest.raises(UsageError) as refused:
            photofinish.main(["show", "digits_cnn", *wrong], standalone_mode=False)
        assert said in f"{refused.value.message} {refused.value.hint}"
    with pytest.raises(UsageError, match=r"choose from: .*torch"):
        photofinish.main(["show", "digits_cnn", "--as", "onnx", "--script"], standalone_mode=False)


def test_what_has_no_loss_has_none() -> None:
    with pytest.raises(scripts.Unsupported, match="without a loss"):
        scripts.program("torch", "lenet5", replace(models.find("lenet5").graph(), losses=()), 8)
