"""The printed training programs run on their own, and are counted."""

import ast
import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from photofinish import models, scripts
from photofinish.cli import photofinish
from photofinish.errors import UsageError
from photofinish.reports.json import schema

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


ON_TWO = {"torch": "ddp", "keras": "mirrored", "flax": "sharded"}
TWO_LOGICAL = """import tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
"""


@pytest.mark.parametrize("form", HERE)
def test_on_two_devices_it_learns_as_on_one(form: str, tmp_path: Path) -> None:
    """Two processes, two logical CPUs of one, two host devices: none is a GPU."""
    if importlib.util.find_spec(HERE[form]) is None:
        pytest.skip(f"{HERE[form]} is not installed")
    file = tmp_path / "train.py"
    graph = models.find("digits_cnn").small()
    text = scripts.parallel_program(form, "digits_cnn", graph, 8, ON_TWO[form])
    words, variables = [sys.executable, "-I"], {}
    if form == "keras":
        text = TWO_LOGICAL + text.replace("MirroredStrategy()", "MirroredStrategy(['CPU:0', 'CPU:1'])")
    elif form == "torch":
        words = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
                 "--local-ranks-filter", "0"]  # both at once would print into each other's lines
    else:
        variables = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    file.write_text(text)
    done = subprocess.run([*words, str(file)], capture_output=True, text=True, check=False,
                          env={**os.environ, "OMP_NUM_THREADS": "1", **variables})
    assert done.returncode == 0, done.stderr
    losses = [float(word) for word in done.stdout.split()]
    assert len(losses) == scripts.STEPS
    assert losses[-1] < losses[0] / 2


@pytest.mark.parametrize("form", ON_TWO)
@pytest.mark.parametrize("name", VARIED)
def test_several_devices_are_counted_by_what_changes(name: str, form: str) -> None:
    pytest.importorskip("radon", reason="radon is not installed")
    graph = models.find(name).small()
    try:
        alone = scripts.program(form, name, graph, 4)
    except scripts.Unsupported:
        pytest.skip(f"{form} has not all layers of {name}")
    for way in scripts.parallel_ways(form):
        text = scripts.parallel_program(form, name, graph, 4, way)
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
    with pytest.raises(UsageError, match=r"photofinish\[counts\]"):
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
                        (["--as", "torch", "--parallel", "ddp"], "add --script")):
        with pytest.raises(UsageError) as refused:
            photofinish.main(["show", "digits_cnn", *wrong], standalone_mode=False)
        assert said in f"{refused.value.message} {refused.value.hint}"
    with pytest.raises(UsageError, match=r"choose from: .*torch"):
        photofinish.main(["show", "digits_cnn", "--as", "onnx", "--script"], standalone_mode=False)


def test_what_has_no_loss_has_none() -> None:
    with pytest.raises(scripts.Unsupported, match="without a loss"):
        scripts.program("torch", "lenet5", replace(models.find("lenet5").graph(), losses=()), 8)
