"""ONNX Runtime in int8: it runs in integers, is certified by their rounding, and is refused when what it quantised is
broken."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parity.test_engines import built, set_up
from photofinish import api
from photofinish.frameworks import Contestant
from photofinish.frameworks._onnxruntime.modes import int8
from photofinish.measure import probes, proof
from photofinish.models import find
from photofinish.referee import audit, certificate
from photofinish.referee.tolerance import FORMATS
from photofinish.runner.reference import moved
from photofinish.values import Certificate
from roundings import prepared

onnx = pytest.importorskip("onnx")
INT8 = FORMATS["int8"]
MODELS = ("digits_cnn", "bert_base")  # which masks scores with minus infinity


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {name: prepared(tmp_path_factory.mktemp(name), find(name).small().without_randomness(), INT8)
            for name in MODELS}


def judged(folder: Path, contestant: Contestant) -> Certificate:
    proof.run(lambda: contestant, folder, "contender", forward_only=True)
    return certificate.judge(folder, "contender", "onnxruntime:int8", form=INT8, moved=moved(INT8))


@pytest.mark.parametrize("model", MODELS)
def test_it_is_certified(folders: dict[str, Path], model: str) -> None:
    assert judged(folders[model], set_up("onnxruntime", "int8")).passed


@pytest.mark.parametrize(("flags", "weights"), [("fma avx2", "uint8"), ("avx2 avx512_vnni", "int8"),
                                                ("avx2 avx_vnni", "int8"), ("avx2 amx_int8", "int8")])
def test_weights_have_a_sign_where_their_products_do_not_overflow(
        monkeypatch: pytest.MonkeyPatch, tmp_path: Path, flags: str, weights: str) -> None:
    (tmp_path / "cpuinfo").write_text(f"flags\t\t: {flags}\n")
    monkeypatch.setattr(int8, "CPUINFO", tmp_path / "cpuinfo")
    monkeypatch.setattr(int8.platform, "machine", lambda: "x86_64")
    contestant = set_up("onnxruntime", "int8")
    assert f"weights {weights} " in contestant.facts()["quantization"]


def test_weights_have_a_sign_on_other_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(int8.platform, "machine", lambda: "aarch64")
    assert not int8.overflows()


def test_its_kernels_are_those_of_integers_but_for_the_one_that_gives_the_result() -> None:
    kernels = built(set_up("onnxruntime", "int8")).evidence()["kernels"]
    assert kernels["QLinearConv"] == 3 and "Conv" not in kernels and kernels["Gemm"] == 1


@pytest.mark.parametrize("primitive", ["matmul", "conv"])
def test_the_probe_sees_integers(primitive: str) -> None:
    found = [audit._precision(probes.precision(set_up("onnxruntime", mode), primitive)) for mode in ("default", "int8")]
    assert found == ["float32", "int8"]


def quantised(graph: Any) -> list[Any]:
    """The initializers that hold integer weights, of layers in order, and the scales and zero points of each."""
    held = {each.name: each for each in graph.initializer}
    return [tuple(held[name] for name in node.input) for node in graph.node if node.op_type == "DequantizeLinear"
            and node.input[0] in held and held[node.input[0]].data_type in (onnx.TensorProto.INT8,
                                                                            onnx.TensorProto.UINT8)]


def edited(tensor: Any, change: Callable[[np.ndarray], np.ndarray]) -> None:
    values = onnx.numpy_helper.to_array(tensor)
    tensor.CopyFrom(onnx.numpy_helper.from_array(np.ascontiguousarray(change(values), values.dtype), tensor.name))


def swap_scales(graph: Any) -> None:
    """Each channel of a layer has the scale of its neighbour."""
    for _, scale, _ in quantised(graph):
        edited(scale, lambda values: np.roll(values, 1))


def exchange_scales(graph: Any) -> None:
    """Two layers have the mean scale of one another."""
    (_, one, _), (_, other, _) = quantised(graph)[:2]
    means = [onnx.numpy_helper.to_array(each).mean() for each in (one, other)]
    edited(one, lambda values: values * means[1] / means[0])
    edited(other, lambda values: values * means[0] / means[1])


def zero_a_layer(graph: Any) -> None:
    weights, _, zero = quantised(graph)[-1]
    edited(weights, lambda values: np.full_like(values, onnx.numpy_helper.to_array(zero).flat[0]))


@pytest.mark.parametrize("spoil", [swap_scales, exchange_scales, zero_a_layer])
def test_a_broken_quantisation_is_refused(folders: dict[str, Path], spoil: Callable[[Any], None]) -> None:
    contestant: Any = set_up("onnxruntime", "int8")
    load, reached = contestant.load, []

    def broken(file: bytes) -> Any:
        model = onnx.load_from_string(file)
        spoil(model.graph)
        reached.append(model)
        return load(model.SerializeToString())

    contestant.load = broken
    assert not judged(folders["digits_cnn"], contestant).passed and reached


def test_it_rests_on_the_certificate_of_the_model_that_it_quantises(tmp_path: Path) -> None:
    set_up("onnxruntime", "int8")  # or it is skipped
    (found,) = api.verify("digits_cnn", ("onnxruntime:int8",), reduced=True, store=tmp_path).certificates
    assert (found.passed, found.precision, found.exact) == (True, "int8", "onnxruntime:default")
    assert [check.group for check in found.checks] == ["everything in float32, as onnxruntime:default",
                                                       "inference outputs"]
