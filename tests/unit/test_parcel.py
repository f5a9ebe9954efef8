"""What a certificate hangs on: the digest of what decides what a worker computes of a graph."""

import shutil
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from photofinish.frameworks._flax import plain
from photofinish.frameworks._torch import source
from photofinish.graph import Graph, Tensor, record
from photofinish.layers import Spec
from photofinish.models import find
from photofinish.runner import parcel
from photofinish.vocabulary import flatten, linear, max_pool


def graph(model: Callable[[Tensor], Tensor]) -> Graph:
    return record(model, OrderedDict(image=Spec("CHW", (2, 4, 4))))


PLAIN = graph(lambda x: linear(flatten(x), 3))
POOLED = graph(lambda x: linear(flatten(max_pool(x, 2)), 3))


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the sources that digests are taken from."""
    copy = tmp_path / "photofinish"
    shutil.copytree(parcel.PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(parcel, "PACKAGE", copy)
    forget()
    yield copy
    forget()


def forget() -> None:
    parcel._driving.cache_clear()
    parcel._interpreting.cache_clear()


def touched(file: Path, framework: str, *graphs: Graph, **asked: Any) -> list[bool]:
    """Which graphs' digests are others after a comment in `file`."""
    before = [parcel.adapter_digest(framework, each, **asked) for each in graphs]
    file.write_text(file.read_text() + "# changed\n")
    return [parcel.adapter_digest(framework, each, **asked) != digest
            for each, digest in zip(graphs, before, strict=True)]


@pytest.mark.parametrize("file", ["frameworks/torch.py", "frameworks/_torch/weights.py", "weights.py", "graph.py",
                                  "measure/proof.py", "measure/moved.py", "measure/thinning.py",
                                  "frameworks/_common/on_torch.py"])
def test_what_drives_native_source_counts(package: Path, file: str) -> None:
    assert touched(package / file, "torch", PLAIN, POOLED) == [True, True]


@pytest.mark.parametrize(("file", "expected"), [
    ("frameworks/torch.py", False), ("frameworks/_torch/weights.py", False), ("frameworks/_common/on_torch.py", False),
    ("frameworks/_torch/modes/eager.py", True), ("frameworks/_torch/mode.py", True), ("measure/proof.py", True),
    ("weights.py", True)])
def test_what_drives_it_does_not_where_only_what_is_driven_is_asked_for(package: Path, file: str,
                                                                        expected: bool) -> None:
    assert touched(package / file, "torch", PLAIN, mode="eager", driven=False) == [expected]


def test_optimizers_that_are_written_and_options_count_there_too(package: Path) -> None:
    keras = package / "frameworks/_keras/optimizers.py"
    assert touched(keras, "tensorflow", PLAIN, mode="graph", driven=False) == [True]
    one, other = (parcel.adapter_digest("torch", PLAIN, "eager", options, driven=False)
                  for options in ((), (("layout", "channels_last"),)))
    assert one != other


@pytest.mark.parametrize("imported", ["from photofinish.frameworks._torch import extra",
                                      "from photofinish.frameworks._torch.extra import (\n    FORM,\n)",
                                      "from photofinish.frameworks._torch import (\n    weights,\n    extra,\n)"])
def test_what_drives_it_counts_however_it_is_imported(package: Path, imported: str) -> None:
    extra, main = package / "frameworks/_torch/extra.py", package / "frameworks/torch.py"
    extra.write_text("FORM = 1\n")
    assert touched(extra, "torch", PLAIN) == [False]
    main.write_text(main.read_text() + imported + "\n")
    forget()
    assert touched(extra, "torch", PLAIN) == [True]


@pytest.mark.parametrize("file", ["frameworks/_torch/pooling.py", "frameworks/_torch/source.py",
                                  "frameworks/_torch/shipped.py", "frameworks/tensorflow.py"])
def test_how_it_came_to_be_written_does_not(package: Path, file: str) -> None:
    assert touched(package / file, "torch", PLAIN, POOLED) == [False, False]


@pytest.mark.parametrize(("framework", "mode", "other"), [("torch", "eager", "compile"),
                                                          ("tensorflow", "graph", "xla")])
def test_a_mode_counts_by_its_own_file_and_a_header_by_its_packages_and_variables(
        package: Path, framework: str, mode: str, other: str) -> None:
    def changed(path: str, old: str, new: str) -> list[bool]:
        before = [parcel.adapter_digest(framework, PLAIN, each) for each in (mode, other)]
        file = package / "frameworks" / path
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new, 1))
        forget()
        return [parcel.adapter_digest(framework, PLAIN, each) != digest
                for each, digest in zip((mode, other), before, strict=True)]
    assert changed(f"_{framework}/modes/{mode}.py", "class Mode", "# changed\nclass Mode") == [True, False]
    assert changed(f"_{framework}/modes/{other}.py", "class Mode", "# changed\nclass Mode") == [False, True]
    assert changed(f"_{framework}/mode.py", "class Mode", "# changed\nclass Mode") == [True, True]
    assert changed(f"{framework}.py", "# modes = [", '# modes = ["later", ') == [False, False]
    assert changed(f"{framework}.py", "# download = ", '# system = ["clang"]\n# download = ') == [False, False]
    assert changed(f"{framework}.py", '"numpy"]', '"numpy<3"]') == [True, True]


def test_the_text_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    before = parcel.adapter_digest("torch", PLAIN)
    monkeypatch.setattr(source, "SOURCE", source.SOURCE + "# changed\n")
    assert parcel.adapter_digest("torch", PLAIN) != before


def test_the_text_of_a_mode_counts_in_this_mode() -> None:
    speech = find("deepspeech2").small()  # XLA cannot compile TensorFlow's CTC: another stands in
    assert parcel._text("_keras", speech, "xla") != parcel._text("_keras", speech, "graph")


@pytest.mark.parametrize(("file", "expected"), [
    ("frameworks/_numpy/pooling.py", [False, True]), ("layers/pooling.py", [False, True]),
    ("frameworks/_numpy/dense.py", [True, True]), ("frameworks/numpy.py", [True, True])])
def test_the_reference_counts_by_the_families_of_layers_a_graph_uses(package: Path, file: str,
                                                                     expected: list[bool]) -> None:
    assert touched(package / file, "numpy", PLAIN, POOLED) == expected


@pytest.mark.parametrize(("file", "expected"), [
    ("frameworks/_keras/use.py", True), ("frameworks/_keras/dense.py", True), ("frameworks/_keras/pooling.py", False),
    ("frameworks/_keras/session_source.py", False), ("frameworks/_common/on_torch.py", False)])
def test_of_a_part_that_several_share_counts_what_is_imported(package: Path, file: str, expected: bool) -> None:
    assert touched(package / file, "keras-jax", PLAIN) == [expected]


@pytest.mark.parametrize(("file", "expected"), [
    ("frameworks/_tfjs/weights.mjs", True), ("frameworks/_tfjs/pooling.mjs", False), ("node/worker.mjs", True)])
def test_of_javascript_every_file_counts(package: Path, file: str, expected: bool) -> None:
    assert touched(package / file, "tfjs", PLAIN) == [expected]


def test_a_mode_with_a_writer_of_its_own_counts_by_what_that_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {mode: parcel.adapter_digest("jax", PLAIN, mode) for mode in ("jit", "plain")}
    assert before["jit"] != before["plain"]
    monkeypatch.setattr(plain, "native_source", lambda graph: "changed")
    assert parcel.adapter_digest("jax", PLAIN, "plain") != before["plain"]
    assert parcel.adapter_digest("jax", PLAIN, "jit") == before["jit"]
