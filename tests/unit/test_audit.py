"""The audit reads numerics from results: each probe sees a change that no flag tells."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from photofinish.environments import Environment, frameworks
from photofinish.frameworks import Arrays, Contestant, Setup, Unsupported, load
from photofinish.measure import probes
from photofinish.referee import audit
from photofinish.runner.entry import Entry
from photofinish.values import Case, Contender, Finding
from roundings import steps

CASE = Case("net", "digest", "train", 8, (3, 8, 8), threads=2)


def mantissa(bits: int) -> Callable[[np.ndarray], np.ndarray]:
    """Rounds float32 to so many explicit mantissa bits, to nearest even."""
    def rounded(values: np.ndarray) -> np.ndarray:
        fraction, exponent = np.frexp(np.asarray(values, np.float64))
        return np.ldexp(np.rint(np.ldexp(fraction, bits + 1)), exponent - bits - 1).astype(np.float32)
    return rounded


def half(values: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return values.astype(np.float16).astype(np.float32)


def half16(values: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return values.astype(np.float16)


class Liar(Contestant):
    """Multiplies with NumPy after `operand` has had its way; its facts always say strict float32."""

    def __init__(self, operand: Callable[[np.ndarray], np.ndarray] = np.asarray,
                 result: Callable[[np.ndarray], np.ndarray] = np.asarray) -> None:
        super().__init__(Setup("eager", threads=2))
        self.operand, self.result = operand, result

    def facts(self) -> dict[str, Any]:
        return {"precision": "float32", "tf32": False, "threads": 2, "flush_denormal": False}

    def probe(self, name: str, arrays: Arrays) -> Arrays:
        a, b = map(self.operand, arrays.values())
        products = {"matmul": np.matmul, "conv": self._conv, "multiply": np.multiply}
        with np.errstate(all="ignore"):
            return {"result": self.result(products[name](a, b))}

    @staticmethod
    def _conv(image: np.ndarray, kernel: np.ndarray) -> np.ndarray:
        return probes._convolved(image, kernel).astype(image.dtype)


def flushed(values: np.ndarray) -> np.ndarray:
    return np.where(np.abs(values) < np.finfo(np.float32).tiny, np.float32(0), values)


FORMATS = [(np.asarray, "float32"), (mantissa(10), "TF32"), (half, "float16"), (mantissa(7), "bfloat16"),
           (mantissa(3), "3 bits of mantissa"), (steps(8), "int8"), (steps(4), "int4")]


@pytest.mark.parametrize("primitive", ["matmul", "conv"])
@pytest.mark.parametrize(("operand", "name"), FORMATS, ids=[name for _, name in FORMATS])
def test_the_format_of_products_is_seen(primitive: str, operand: Any, name: str) -> None:
    assert audit._precision(probes.precision(Liar(operand), primitive)) == name


@pytest.mark.parametrize("primitive", ["matmul", "conv"])
def test_only_one_rounded_operand_is_seen(primitive: str) -> None:
    class Half(Liar):
        def probe(self, name: str, arrays: Arrays) -> Arrays:
            a, b = arrays.values()
            return super().probe(name, {"a": a, "b": mantissa(10)(b)})

    seen = probes.precision(Half(), primitive)
    assert (seen["left_bits"], seen["right_bits"]) == (23, 10)
    assert audit._precision(seen) == "TF32"


def test_float64_is_seen_with_its_type() -> None:
    seen = probes.precision(Liar(lambda values: values.astype(np.float64)), "matmul")
    assert audit._precision(seen) == "float64"
    assert seen["dtype"] == "float64"


@pytest.mark.parametrize(("contestant", "found"), [
    (Liar(), "kept"), (Liar(result=flushed), "results flushed to zero"), (Liar(flushed), "operands flushed to zero"),
    (Liar(flushed, flushed), "results and operands flushed to zero")])
def test_flushed_denormals_are_seen(contestant: Liar, found: str) -> None:
    assert audit._denormals(probes.denormals(contestant)) == found


class Ticking(Liar):
    """Takes a second a product, by the clocks it brings, with CPU seconds shared as told."""

    def __init__(self, *shares: float) -> None:
        super().__init__()
        self.shares, self.products = shares, 0

    def probe(self, name: str, arrays: Arrays) -> Arrays:
        self.products += 1
        return {"result": arrays["a"]}

    def seen(self) -> dict[str, Any]:
        return probes.threads(self, lambda: sum(self.shares) * self.products, lambda: float(self.products),
                              lambda: {str(i): each * self.products for i, each in enumerate(self.shares)})


@pytest.mark.parametrize(("shares", "at_once", "taking_part"), [
    ((1.0,), 1.0, 1.0), ((1.0, 1.0), 2.0, 2.0), ((0.2, 0.2), 0.4, 2.0), ((1.0, 0.0), 1.0, 1.0)])
def test_threads_are_counted_by_their_work(shares: tuple[float, ...], at_once: float, taking_part: float) -> None:
    seen = Ticking(*shares).seen()
    assert (seen["at_once"], seen["taking_part"]) == (pytest.approx(at_once), pytest.approx(taking_part))


def test_a_thread_that_ends_while_threads_are_counted_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "glob", lambda self, pattern: [self / "0"])  # no thread has that number
    seen = probes.threads(Ticking(1.0))
    assert (seen["taking_part"], seen["alive"]) == (None, None)


def thread_warning(*shares: float, regime: str = "matched", name: str = "liar") -> str:
    seen = {name: {**SEEN, "threads": Ticking(*shares).seen()}}
    case = Case("net", "digest", "train", 8, (3, 8, 8), threads=2, regime=regime)
    return next(each.warning for each in audit.findings(seen, case) if each.topic == "threads")


SEEN = {"matmul": {"unsupported": "-"}, "conv": {"unsupported": "-"}, "denormals": {"unsupported": "-"},
        "facts": {}, "evidence": {}}


def test_other_threads_than_asked_for_are_warned_of_and_a_busy_machine_is_not() -> None:
    assert "more threads" in thread_warning(1.0, 1.0, 1.0)
    assert "fewer threads" in thread_warning(1.0)
    assert thread_warning(1.0, 1.0) == thread_warning(0.3, 0.3) == ""
    assert thread_warning(1.0, 1.0, 1.0, regime="out-of-the-box") == ""


def test_who_has_threads_of_its_own_is_held_to_those() -> None:
    assert thread_warning(1.0, name="liar[threads=1]") == ""
    assert "more threads than the 1" in thread_warning(1.0, 1.0, name="liar[threads=1]")
    assert thread_warning(1.0, 1.0, 1.0, 1.0, name="liar[threads=4]") == ""


def test_real_threads_are_found_in_the_process() -> None:
    seen = probes.threads(Liar())
    assert seen["at_once"] > 0
    assert seen["taking_part"] is None or seen["taking_part"] >= 0.99


def findings(regime: str = "matched", **contestants: Contestant) -> dict[tuple[str, str], Finding]:
    seen = json.loads(json.dumps({name: probes.run(each) for name, each in contestants.items()}))
    case = Case("net", "digest", "train", 8, (3, 8, 8), regime=regime)
    return {(each.contender, each.topic): each for each in audit.findings(seen, case)}


def test_a_matched_race_warns_of_what_is_not_as_asked_or_not_the_same() -> None:
    found = findings(honest=Liar(), tf32=Liar(mantissa(10)), flushing=Liar(flushed, flushed))
    assert found["tf32", "matrix products"].warning == "matrix products: TF32 where the race asks for float32"
    assert found["honest", "matrix products"].warning == ""
    assert "flushing: results and operands flushed" in found["honest", "denormals"].warning
    assert found["tf32", "tf32 (facts)"].found == "False"  # the flag lies


def test_most_of_many_that_are_alike_are_the_others() -> None:
    found = findings(flushing=Liar(flushed, flushed), **{name: Liar() for name in ("a", "b", "c", "d", "e")})
    said = found["a", "denormals"].warning
    assert said.endswith("(flushing: results and operands flushed to zero; the others: kept)")


def test_what_comes_out_of_a_coarser_format_is_as_the_framework_has_it() -> None:
    seen = {name: probes.run(each) for name, each in (("full", Liar()), ("half", Liar(result=half16)))}
    case = Case("net", "digest", "train", 8, (3, 8, 8))
    found = {(each.contender, each.topic): each for each in audit.findings(seen, case, {"half": "float16"})}
    assert found["half", "result type"].found != found["full", "result type"].found
    assert not found["half", "result type"].warning and not found["full", "result type"].warning


def test_out_of_the_box_differences_are_told_without_warning() -> None:
    found = findings("out-of-the-box", honest=Liar(), tf32=Liar(mantissa(10)))
    assert found["tf32", "matrix products"].found == "TF32"
    assert not any(each.warning for each in found.values())


def test_what_cannot_be_probed_is_warned_of() -> None:
    class Mute(Liar):
        def probe(self, name: str, arrays: Arrays) -> Arrays:
            raise Unsupported("no " + name)

    found = findings(mute=Mute())
    assert found["mute", "matrix products"].found == "not known: no matmul"
    assert {each.warning for each in found.values() if each.warning} == {
        "could not be probed for matrix products, convolutions, result type, denormals, threads: "
        "nothing vouches for these"}
    assert not any(each.warning for each in findings("out-of-the-box", mute=Mute()).values())
    assert found["mute", "threads"].found == "not known: no matmul"


def test_torch_shows_flushing_that_its_facts_do_not_tell() -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    contestant = load("torch")(Setup("eager"))
    before = contestant.facts()
    if not torch.set_flush_denormal(True):
        pytest.skip("this CPU cannot flush denormals")
    try:
        assert audit._denormals(probes.denormals(contestant)) == "results and operands flushed to zero"
        assert contestant.facts() == before
    finally:
        torch.set_flush_denormal(False)
    assert audit._denormals(probes.denormals(contestant)) == "kept"


@pytest.mark.parametrize("primitive", ["matmul", "conv"])
def test_torch_products_are_float32_and_rounded_operands_are_seen(primitive: str) -> None:
    pytest.importorskip("torch", reason="needs PyTorch")
    contestant = load("torch")(Setup("eager"))
    assert audit._precision(probes.precision(contestant, primitive)) == "float32"
    honest = contestant.probe
    contestant.probe = lambda name, arrays: honest(  # type: ignore[method-assign]
        name, {key: mantissa(10)(values) for key, values in arrays.items()})
    assert audit._precision(probes.precision(contestant, primitive)) == "TF32"


ONEDNN = {"onednn=on": ("Mkl", "none of oneDNN's kernels runs")}


@pytest.mark.parametrize(("evidence", "warned"), [
    ({"train_step": {"kernels": {"_FusedMatMul": 1}}}, True), ({"train_step": {"kernels": {}}}, True),
    ({"train_step": {"kernels": {"_MklNativeConv2D": 20}}}, False),
    ({"train_step": {"kernels": {}}, "infer": {"kernels": {"_MklMatMul": 1}}}, False),
    ({"layout": "channels_last", "train_step": {"traces": 1}}, False)])
def test_a_setting_whose_kernels_do_not_run_is_told_where_kernels_are(evidence: dict[str, Any], warned: bool) -> None:
    found = audit.kernels({"one": {"evidence": evidence}}, {"one": ONEDNN})
    assert [each.warning for each in found] == ["none of oneDNN's kernels runs; race it with [onednn=on], too"] * warned


def test_a_setting_that_somebody_made_is_not_recommended(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(name: str) -> bool:
        contender = Contender.parse(name)
        return "onednn=on" in Entry(contender, Environment(Path(), frameworks()["tensorflow"], "")).unused
    monkeypatch.delenv("TF_ENABLE_ONEDNN_OPTS", raising=False)
    assert asked("tensorflow:graph") and asked("tensorflow:graph[threads=1]") and not frameworks()["torch"].unused
    assert not asked("tensorflow:graph[onednn=off]") and not asked("tensorflow:graph[TF_ENABLE_ONEDNN_OPTS=0]")
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "0")
    assert not asked("tensorflow:graph")
