"""What trains nothing is left out of a race in training, with its reason, and proven forward only."""

from pathlib import Path

import numpy as np
import pytest

from photofinish import api, environments
from photofinish.environments import read_header
from photofinish.errors import UsageError
from photofinish.frameworks import Arrays, Setup
from photofinish.frameworks.fake import Contestant as Fake
from photofinish.frameworks.numpy import Contestant as Reference
from photofinish.measure import proof
from photofinish.models import find
from photofinish.referee import certificate
from photofinish.referee.witness import disagreement
from photofinish.runner.arrange import find_entries, left_out, tasks_of
from photofinish.runner.entry import Entry
from photofinish.values import Contender

HEADER = """# /// script
# requires-python = ">=3.6"
# dependencies = ["numpy"]
# [tool.photofinish]
# title = "Gamma"
# modes = ["eager", "trace"]
# devices = ["cpu"]
# options = {}
# %s
# ///
"""


@pytest.mark.parametrize(("line", "eager", "trace"), [
    ("", ("train", "infer"), ("train", "infer")),
    ('tasks = ["infer"]', ("infer",), ("infer",)),
    ('tasks = { trace = ["infer"] }', ("train", "infer"), ("infer",)),
])
def test_a_header_says_what_a_mode_can_do(tmp_path: Path, line: str, eager: tuple[str, ...],
                                          trace: tuple[str, ...]) -> None:
    path = tmp_path / "gamma.py"
    path.write_text(HEADER % line)
    found = read_header(path)
    assert (found.tasks_of("eager"), found.tasks_of("trace")) == (eager, trace)


@pytest.mark.parametrize("line", ['tasks = ["inference"]', 'tasks = { jit = ["infer"] }'])
def test_a_header_with_another_task_or_mode_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "gamma.py"
    path.write_text(HEADER % line)
    with pytest.raises(ValueError, match=r"gamma\.py: tasks are train and infer"):
        read_header(path)


def test_a_header_says_which_modes_compile_for_long(tmp_path: Path) -> None:
    path = tmp_path / "gamma.py"
    path.write_text(HEADER % 'compiles = { trace = "seconds" }')
    assert read_header(path).compiles == {"trace": "seconds"}
    for line in ('compiles = { trace = "hours" }', 'compiles = { jit = "seconds" }'):
        path.write_text(HEADER % line)
        with pytest.raises(ValueError, match=r"gamma\.py: compiles says seconds or minutes"):
            read_header(path)


def test_the_variables_of_an_option_are_those_of_the_worker_that_has_it(tmp_path: Path) -> None:
    path = tmp_path / "gamma.py"
    path.write_text(HEADER % ('environment = { A = "1" }\n'
                              '# variables = { fast = { off = { B = "0" }, on = { A = "2" } } }'))
    found = read_header(path)
    assert found.environment_with((("fast", "off"), ("layout", "nhwc"))) == {"A": "1", "B": "0"}
    assert found.environment_with((("fast", "on"),)) == {"A": "2"}
    assert found.options_told((("fast", "off"), ("layout", "nhwc"))) == {"layout": "nhwc"}


def test_a_variable_that_frameworks_obey_is_an_option_of_any_contender() -> None:
    (found,) = environments.expand("fake[XLA_FLAGS=--a=1 --b,step=2]")
    info = environments.frameworks()["fake"]
    assert info.options_told(found.options) == {"step": "2"}
    assert info.environment_with(found.options) == {**info.environment, "XLA_FLAGS": "--a=1 --b"}
    with pytest.raises(UsageError, match="TORCHINDUCTOR_CACHE_DIR is set by Photofinish"):
        environments.expand("torch[TORCHINDUCTOR_CACHE_DIR=/mine]")


def test_a_mode_that_runs_on_some_devices_only_is_refused_on_others() -> None:
    with pytest.raises(UsageError, match="torch:cudagraphs does not run on cpu"):
        environments.expand("torch:cudagraphs")
    assert environments.expand("torch:cudagraphs", device="cuda:0")[0].mode == "cudagraphs"


def test_who_lacks_a_task_is_left_out_of_it_alone() -> None:
    found = left_out(("train", "infer"), environments.expand("fake,fake[step=1],fake:forward"))
    (skip,) = found["train"]
    assert (skip.contender, skip.reason, skip.cure) == ("fake:forward", "inference only", "--task infer")
    assert found["infer"] == ()


def test_a_race_that_is_left_with_one_is_wrong_use_with_the_way_out() -> None:
    with pytest.raises(UsageError, match="two contenders") as caught:
        left_out(("train",), environments.expand("fake,fake:forward"))
    assert "fake:forward: inference only" in str(caught.value) and "--task infer" in str(caught.value)


def test_nothing_is_looked_for_that_lacks_every_task() -> None:
    entries, skipped = find_entries(["fake,fake:forward"], "cpu", tasks=("train",))
    assert [each.name for each in entries] == ["fake:steady"]
    assert [(each.contender, each.reason) for each in skipped] == [("fake:forward", "inference only")]


LOOPING = """# /// script
# requires-python = ">=3.10"
# dependencies = ["numpy"]
# [tool.photofinish]
# title = "Looping"
# modes = ["jit", "nojit"]
# devices = ["cpu"]
# options = { layout = [] }
# loops = { fit = "nojit" }
# pipeline = { workers = ["N"] }
# ///
"""


def test_a_loop_takes_the_steps_of_a_mode_and_is_for_epochs_alone(tmp_path: Path) -> None:
    path = tmp_path / "looping.py"
    path.write_text(LOOPING)
    info = read_header(path)
    fit, fed = Contender.parse("looping:fit"), Contender.parse("looping:jit[layout=a,workers=2]")
    assert info.tasks_of("fit") == ("epoch",) and info.tasks_of("jit") == ("train", "infer")
    assert [info.stepping(each).name for each in (fit, fed)] == ["looping:nojit", "looping:jit[layout=a]"]
    assert info.feeding(fit) == {"loop": "fit", "options": {}}
    assert info.feeding(fed) == {"loop": "", "options": {"workers": "2"}}
    path.write_text(LOOPING.replace('fit = "nojit"', 'jit = "nojit"'))
    with pytest.raises(ValueError, match="loops says which of jit, nojit"):
        read_header(path)


@pytest.mark.parametrize(("contender", "task", "reason", "cure"), [
    ("keras-jax:fit", "fit", "part of epochs only", "keras-jax:jit"),
    ("keras-torch:fit", "train", "part of epochs only", "keras-torch:nojit"),
    ("torch:eager[layout=channels_last,workers=2]", "infer", "epochs only", "torch:eager[layout=channels_last]"),
    ("tfjs:wasm", "epoch", "no input pipeline", "--task train"),
])
def test_who_cannot_be_fed_a_data_set_is_told_why_and_what_to_write(contender: str, task: str, reason: str,
                                                                    cure: str) -> None:
    (skip,) = left_out((task,), environments.expand(f"fake,fake[step=1],{contender}"))[task]
    assert skip.contender == contender and reason in skip.reason and skip.cure == cure


@pytest.mark.parametrize(("contender", "forward_only"), [
    ("keras-jax:fit", False), ("torch:eager[workers=2]", False), ("torch:eager", False), ("torch:trace", True)])
def test_who_is_fed_a_data_set_is_proven_as_the_steps_it_takes(contender: str, forward_only: bool) -> None:
    (found,) = environments.expand(contender)
    entry = Entry(found, environments.Environment(Path(), environments.frameworks()[found.framework], ""),
                  tasks_of(found))
    assert entry.forward_only is forward_only


@pytest.mark.parametrize(("contender", "said"), [
    ("torch:eager[workers=two]", "'two' is no whole number"),
    ("torch:eager[threads=-1]", "'-1' is no whole number"),
    ("keras-jax:fit[fault=nan]", "plant it in keras-jax:jit"),
    ("keras-jax:fti", "did you mean fit"),
])
def test_an_option_that_makes_no_sense_is_told(contender: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        environments.expand(contender)


class Off(Fake):
    """One output is off by some units in the last place of float32."""

    units = 0.0

    def read(self, handle: Arrays) -> Arrays:
        return {name: np.float32(values * (1 + self.units * 2.0**-23)) for name, values in super().read(handle).items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("proof")
    proof.prepare(made, find("digits_cnn").small(), draws=2, exact_draws=3)
    proof.run(lambda: Reference(Setup("reference", precision="float64")), made, proof.REFERENCE, forward_only=True)
    return made


@pytest.mark.parametrize(("units", "passed"), [(0.0, True), (1.0, True), (10_000.0, False)])
def test_a_proof_without_training_holds_outputs_to_the_same_rule(folder: Path, units: float, passed: bool) -> None:
    class Contestant(Off):
        pass

    Contestant.units = units
    label = f"off-{units:g}"
    proof.run(lambda: Contestant(Setup("forward")), folder, label, forward_only=True)
    earned = certificate.judge(folder, label, label)
    assert earned.forward_only and earned.passed is passed and earned.curves == {}
    assert [check.group for check in earned.checks] == ["inference outputs"]
    assert earned.checks[0].tensors == 1 and 0 < earned.checks[0].allowed < 1e-3


def test_a_reference_without_training_is_confirmed_by_its_outputs(folder: Path) -> None:
    proof.confirm(lambda: Reference(Setup("reference", precision="float64")), folder, "again", forward_only=True)
    assert disagreement(folder, "again")[0] == 0
    proof.confirm(lambda: Reference(Setup("reference")), folder, "float32", forward_only=True)
    assert disagreement(folder, "float32")[0] > 1e-9


def test_an_engine_alone_is_verified_forward_only(tmp_path: Path) -> None:
    found = api.verify("digits_cnn", ["fake:forward"], reduced=True, store=tmp_path)
    (earned,) = found.certificates
    assert found.certified and earned.forward_only
    assert Contender.parse(earned.contender).mode == "forward"
