"""What the reference of a race's certificates is computed on."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from photofinish import api, environments
from photofinish.errors import UsageError
from photofinish.frameworks import Setup
from photofinish.frameworks.numpy import Contestant as Numpy
from photofinish.measure import proof
from photofinish.measure.proof import LEAST_BATCH, Plan
from photofinish.models import find
from photofinish.referee.witness import runs_away
from photofinish.runner import reference
from photofinish.runner.entry import Entry
from photofinish.runner.process import WorkerFailed
from photofinish.runner.reference import Reference
from photofinish.runner.witnesses import TENSORFLOW, TORCH, Witness, numpy, stand_ins
from photofinish.values import Contender

STEEP = f"{Path(__file__).parents[1] / 'null' / 'tiny.py'}:tiny_steep"
NAMES = {"numpy": "numpy float64", **{each: f"{each} float64, confirmed by numpy" for each in ("tensorflow", "torch")}}


def course(model: str, batch: int) -> Any:
    return SimpleNamespace(graph=find(model).small(), entries=[],
                           case=SimpleNamespace(model=model, batch=batch, device="cpu"))


@pytest.mark.parametrize(("model", "batch", "samples"), [
    ("gcn_cora", 1, 1),  # a graph of thousands of nodes is a sample, and its batch is one of them
    ("gcn_cora", 4, 1),
    ("ncf_ml_1m", 2, LEAST_BATCH),  # what a race takes makes no proof smaller
    ("digits_cnn", 2, LEAST_BATCH),
])
def test_a_proof_takes_the_usual_samples_unless_the_models_own_batch_has_fewer(model: str, batch: int,
                                                                              samples: int) -> None:
    assert Reference(course(model, batch), None, (1,))._batch() == samples


def test_what_is_normalised_over_the_batch_is_never_proven_on_less() -> None:
    stateful = course("gcn_cora", 1)
    stateful.graph = find("resnet18").small()
    assert Reference(stateful, None, (1,))._batch() == LEAST_BATCH


def test_what_several_processes_share_is_divided_evenly() -> None:
    alone = Reference(course("digits_cnn", 2), None, (1,))
    assert alone._batch(3) % 3 == 0 and alone._batch(3) >= LEAST_BATCH


def test_a_second_trial_makes_as_many_draws_as_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    twice = Reference(course("digits_cnn", 2), None, (1, 3), seed=7)
    twice.course.folder, twice.course.weights, twice.course.entries = tmp_path, None, []
    monkeypatch.setattr(twice, "_compute", lambda folder, parts: twice.by.update({folder: twice.numpy}))
    monkeypatch.setattr(reference, "runs_away", lambda folder: "")
    monkeypatch.setattr(reference, "went_too_far", lambda folder: False)
    assert [Plan.read(twice.folder(seed)).draws for seed in (7, 8)] == [1, 3]


@pytest.mark.parametrize(("losses", "model", "pace"), [
    ((2.3, 0.6), "digits_cnn", 0), ((2.3, 0.4), "digits_cnn", 1), ((0.3, 0.01), "ncf_ml_1m", 0)])
def test_a_second_trial_learns_nothing_by_heart(losses: tuple[float, ...], model: str, pace: int, tmp_path: Path,
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a cross entropy near zero little is left but rounding. Other losses may be as small as they like."""
    twice = Reference(course(model, 2), None, (1, 3))
    twice.course.folder, twice.course.weights, twice.course.entries = tmp_path, None, []

    def compute(folder: Path, parts: int) -> None:
        (folder / "reference/draw0").mkdir(parents=True)
        (folder / "reference/about.json").write_text("{}")
        for each in ("sgd", "adam"):
            np.savez(folder / f"reference/draw0/{each}-free.npz", loss=np.array(losses))
        twice.by[folder] = twice.numpy

    monkeypatch.setattr(twice, "_compute", compute)
    assert [Plan.read(twice.folder(seed)).optimizers for seed in (0, 1)] == [reference.PACES[0], reference.PACES[pace]]


@pytest.mark.parametrize(("moved", "pace"), [((2.3, 2.5), 0), ((2.3, 2.8), 1)])
def test_a_second_trial_takes_a_path_that_rounding_does_not_leave(
        moved: tuple[float, ...], pace: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ten steps of which rounding makes others nothing can be compared."""
    twice = Reference(course("digits_cnn", 2), None, (1, 3))
    twice.course.folder, twice.course.weights, twice.course.entries = tmp_path, None, []

    def compute(folder: Path, parts: int) -> None:
        for draw, losses in enumerate(((2.3, 2.4), (2.3, 2.4), moved)):
            (folder / f"reference/draw{draw}").mkdir(parents=True)
            for each in ("sgd", "adam"):
                np.savez(folder / f"reference/draw{draw}/{each}-free.npz", loss=np.array(losses))
        (folder / "reference/about.json").write_text("{}")
        twice.by[folder] = twice.numpy

    monkeypatch.setattr(twice, "_compute", compute)
    assert [Plan.read(twice.folder(seed)).optimizers for seed in (0, 1)] == [reference.PACES[0], reference.PACES[pace]]


def test_where_the_usual_steps_run_away_shorter_ones_are_compared(tmp_path: Path) -> None:
    told: list[str] = []
    found = api.verify(STEEP, ["fake:steady"], store=tmp_path, listener=lambda progress: told.append(progress.text))
    assert found.certificates[0].passed
    assert [text.endswith("again with smaller ones") for text in told].count(True) == 1


def test_a_reference_that_runs_away_goes_no_further(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "PACES", reference.PACES[:1])
    found = api.verify(STEEP, ["fake:steady"], store=tmp_path)
    (failure,) = found.failures
    assert failure.kind == "nan" and "of the referee's reference" in failure.message
    assert "nothing can be compared" in failure.message


def test_what_is_left_of_one_is_told_from_a_whole_one(tmp_path: Path) -> None:
    graph = find(STEEP).graph()
    proof.prepare(tmp_path, graph, optimizers=reference.PACES[0], draws=1, exact_draws=6)
    with np.errstate(all="ignore"):
        proof.run(lambda: Numpy(Setup("reference", precision="float64")), tmp_path, proof.REFERENCE)
    assert runs_away(tmp_path)
    assert [path.name for path in (tmp_path / proof.REFERENCE).glob("draw*")] == ["draw0"]


@pytest.mark.parametrize(("apart", "fails", "who", "said"), [
    ({"tensorflow": 1e-15, "torch": 1e-15}, "", "tensorflow", ""),
    ({"tensorflow": 1e-8, "torch": 1e-15}, "", "torch", "tensorflow and NumPy differ by 1e-08 in output/head"),
    ({"tensorflow": 1e-15, "torch": 1e-15}, "tensorflow", "torch", "tensorflow is no reference here (no room)"),
    ({"tensorflow": 1e-8, "torch": 1e-8}, "", "numpy", "torch and NumPy differ by 1e-08 in output/head"),
])
def test_the_first_framework_that_numpy_bears_out_is_the_reference(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, apart: dict[str, float], fails: str, who: str,
        said: str) -> None:
    """TensorFlow's GELU is not exact in float64; NumPy itself takes hours where a framework takes minutes."""
    told: list[str] = []
    ran: list[tuple[str, str, str]] = []
    of = course("bert_base", 2)
    of.folder, of.weights, of.entries = tmp_path, None, []
    of.listener = lambda progress: told.append(progress.text)
    found = Reference(of, None, (1, 1))
    monkeypatch.setattr(found, "stand_ins", [Witness(each, found.numpy.home) for each in (TENSORFLOW, TORCH)])

    def run(entry: Witness, folder: Path, label: str, command: str = "prove", parts: int = 1, **options: bool) -> None:
        framework = entry.contender.framework
        if (framework, command) == (fails, "prove"):
            raise WorkerFailed("crash", "no room")
        ran.append((framework, command, label))
        (folder / label).mkdir(exist_ok=True)
        (folder / label / "about.json").write_text("{}")

    monkeypatch.setattr(found, "_run", run)
    monkeypatch.setattr(found, "_certified", lambda entry: True)
    monkeypatch.setattr(reference, "disagreement", lambda folder, label: (apart[ran[-1][0]], "output/head"))
    monkeypatch.setattr(reference, "runs_away", lambda folder: "")
    monkeypatch.setattr(reference, "went_too_far", lambda folder: False)
    folder = found.folder(0)
    assert ran[-1] == (who, "prove", "reference")
    assert ran.count(("numpy", "confirm", "numpy")) == 1
    assert found.name(folder) == NAMES[who]
    assert said in told or not said
    apart.update(tensorflow=1e-8, torch=1e-8)
    assert found.name(found.folder(1)) == NAMES["numpy"] and found.name(folder) == NAMES[who]
    found.more_free_runs(0)
    assert ran[-1] == (who, "free_runs", "reference")  # whoever computed the others of that proof


def test_where_a_framework_has_too_little_memory_numpy_is_not_asked_for_hours(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = course("bert_base", 2)
    of.folder, of.weights, of.entries, of.listener = tmp_path, None, [], lambda progress: None
    found = Reference(of, None, (1, 1))
    asked = []

    def run(entry: Witness, folder: Path, label: str, command: str = "prove", parts: int = 1, **options: bool) -> None:
        asked.append((entry.contender.framework, command))
        if command == "prove":
            raise WorkerFailed("out of memory", "was killed by SIGKILL")

    monkeypatch.setattr(found, "_run", run)
    monkeypatch.setattr(found, "stand_ins", [Witness(each, found.numpy.home) for each in (TENSORFLOW, TORCH)])
    monkeypatch.setattr(found, "_certified", lambda entry: True)
    monkeypatch.setattr(reference, "disagreement", lambda folder, label: (0.0, ""))
    for _ in range(2):
        with pytest.raises(WorkerFailed, match="torch in float64 was killed") as refused:
            found.folder(0)
        assert refused.value.kind == "out of memory" and "not of this contender" in refused.value.message
    assert [each for each in asked if each[1] == "prove"] == [("tensorflow", "prove"), ("torch", "prove")]


def test_in_a_race_on_a_gpu_pytorch_is_asked_there_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it fails (too little memory, say) the processor computes as in any race."""
    home = numpy().home
    monkeypatch.setattr(environments, "held", lambda contender: home)
    assert [each.name for each in stand_ins("cpu")] == ["tensorflow:graph", "torch:eager"]
    there = stand_ins("cuda:1")
    assert [each.name for each in there] == ["torch:eager on cuda:1", "tensorflow:graph", "torch:eager"]
    assert there[0].credit == "torch float64 on cuda:1, confirmed by numpy"
    assert numpy().credit == "numpy float64"
    loaded = [Reference(course("digits_cnn", 2), None, (1,))._load_arguments(each)["setup"] for each in there]
    assert [setup["device"] for setup in loaded] == ["cuda:1", "cpu", "cpu"]
    assert {setup["precision"] for setup in loaded} == {"float64"}


def test_on_a_gpu_it_is_the_pytorch_that_races_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that Photofinish keeps may have no CUDA."""
    home = numpy().home
    given = replace(home, python=Path("/given/bin/python"))
    monkeypatch.setattr(environments, "held", lambda contender: home)
    field = [Entry(Contender("jax", "jit"), home), Entry(Contender("torch", "compile"), given)]
    assert [each.home for each in stand_ins("cuda", field)] == [given, home, home]
    assert stand_ins("cuda", field[:1])[0].home == home


def test_a_proof_that_is_sure_to_fill_the_disk_is_refused_before_it_begins(tmp_path: Path,
                                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    needed = reference.KEPT * find("lenet5").small().parameter_count
    monkeypatch.setattr(reference.shutil, "disk_usage", lambda folder: SimpleNamespace(free=needed - 1))
    with pytest.raises(UsageError, match="the proof of lenet5 writes") as refused:
        api.verify("lenet5", ["fake:steady"], reduced=True, store=tmp_path)
    assert "--store" in refused.value.hint
    monkeypatch.setattr(reference.shutil, "disk_usage", lambda folder: SimpleNamespace(free=needed))
    Reference(_placed("lenet5", tmp_path), None, (1,))._check_room()


def _placed(model: str, folder: Path) -> Any:
    placed = course(model, 8)
    placed.folder, placed.entries = folder, [SimpleNamespace(rests_on=None)]
    placed.forward_only = lambda entry: False
    return placed
