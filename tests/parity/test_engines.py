"""What inference engines are asked for and what they make of it, those that this Python has. That they compute what
NumPy computes: test_layers."""

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parity.contenders import engines
from photofinish import data, environments, frameworks, machine, weights
from photofinish.frameworks import Setup, Unsupported
from photofinish.measure import probes
from photofinish.models import find
from photofinish.optimizers import SGD
from photofinish.referee import audit
from photofinish.values import Contender

BATCH = 2
GRAPH = find("digits_cnn").small()
STATE = weights.perturbed_state(GRAPH)
DRAWN = data.draw_batch(GRAPH, BATCH, seed=0)
FORMATS = ("avx512_bf16", "amx_bf16")  # as Linux spells a CPU's bfloat16
ENGINES = [each for each in engines() if each.mode == "default"]  # others are a mode of a framework that trains
engine = pytest.mark.parametrize("contender", ENGINES, ids=lambda each: each.name)


def set_up(name: str, mode: str = "default", **settings: Any) -> frameworks.Contestant:
    """In settings of its own."""
    info = environments.frameworks()[name]
    if environments.installed_version(info) is None:
        pytest.skip(f"{info.title} is not installed")
    return frameworks.load(name)(Setup(mode, **settings))


def built(contestant: frameworks.Contestant) -> frameworks.Contestant:
    contestant.build(GRAPH, BATCH, SGD())
    contestant.put(STATE)
    return contestant


def outputs(contestant: frameworks.Contestant) -> np.ndarray:
    (values,) = contestant.read(contestant.infer(contestant.feed(DRAWN))).values()
    return values


@engine
def test_the_first_step_makes_the_session_so_that_compiling_is_no_part_of_loading_weights(contender: Contender) -> None:
    contestant = built(set_up(contender.framework))
    assert contestant.made is None  # type: ignore[attr-defined]
    outputs(contestant)
    assert contestant.made is not None and contestant.model is None  # type: ignore[attr-defined]


@engine
def test_a_session_is_made_for_other_weights_and_kept_for_the_same(contender: Contender) -> None:
    contestant = built(set_up(contender.framework))
    first, seen = contestant.session, outputs(contestant)  # type: ignore[attr-defined]
    contestant.put({name: values.copy() for name, values in STATE.items()})
    assert contestant.session is first  # type: ignore[attr-defined]
    moved = {name: values.copy() for name, values in STATE.items()}
    moved["parameter/conv1.weight"][0, 0, 0, 0] += 1.0
    contestant.put(moved)
    assert contestant.session is not first  # type: ignore[attr-defined]
    assert np.abs(outputs(contestant) - seen).max() > 0
    np.testing.assert_array_equal(contestant.get()["parameter/conv1.weight"], moved["parameter/conv1.weight"])
    moved["parameter/conv1.weight"][:] = STATE["parameter/conv1.weight"]  # what was put changes in the caller's hands
    contestant.put(moved)
    np.testing.assert_array_equal(outputs(contestant), seen)


@engine
def test_it_trains_nothing_and_says_so(contender: Contender) -> None:
    contestant = built(set_up(contender.framework))
    batch = contestant.feed(DRAWN)
    for verb in (contestant.train_step, contestant.gradients):
        with pytest.raises(Unsupported, match="runs inference only"):
            verb(batch)


@engine
def test_what_was_read_stays_when_it_runs_again(contender: Contender) -> None:
    contestant = built(set_up(contender.framework))
    first = outputs(contestant)
    kept = first.copy()
    other = data.draw_batch(GRAPH, BATCH, seed=1)
    contestant.infer(contestant.feed(other))
    np.testing.assert_array_equal(first, kept)


@engine
@pytest.mark.parametrize("setting", [{"mode": "fast"}, {"precision": "float64"}, {"options": {"layout": "x"}},
                                     {"device": "tpu"}], ids=lambda each: next(iter(each)))
def test_what_it_does_not_have_is_refused(contender: Contender, setting: dict[str, Any]) -> None:
    with pytest.raises(Unsupported):
        set_up(contender.framework, **setting)


@engine
def test_facts_evidence_and_probes_are_plain_data(contender: Contender) -> None:
    contestant = built(set_up(contender.framework, threads=1))
    seen = probes.run(contestant)
    assert seen["facts"]["version"] == environments.installed_version(environments.frameworks()[contender.framework])
    assert seen["evidence"]["kernels"] and "unsupported" not in seen["threads"]
    assert audit._precision(seen["matmul"]) == audit._precision(seen["conv"]) == "float32"
    assert seen["matmul"]["dtype"] == "float32"


def denormals_in(framework: str) -> str:
    return audit._denormals(probes.denormals(built(set_up(framework, threads=1))))


@engine
def test_matched_engines_flush_denormals(contender: Contender) -> None:
    """In a process of its own, as in a race: ONNX Runtime sets this for a thread once in a process's life."""
    set_up(contender.framework)  # or it is skipped
    told = subprocess.run([sys.executable, "-W", "ignore", "-c", "from parity import test_engines; "
                           f"print(test_engines.denormals_in({contender.framework!r}))"],
                          cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True)
    assert told.stdout.splitlines()[-1] == "results and operands flushed to zero"


def test_matched_onnxruntime_has_the_threads_asked_for() -> None:
    contestant = built(set_up("onnxruntime", threads=2))
    options = contestant.session.get_session_options()  # type: ignore[attr-defined]
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (2, 1)
    free = built(set_up("onnxruntime", threads=2, regime="out-of-the-box"))
    assert free.session.get_session_options().intra_op_num_threads == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize(("asked", "told"), [({}, None), ({"spinning": "on"}, "1"), ({"spinning": "off"}, "0")])
def test_threads_of_onnxruntime_spin_as_it_likes_unless_they_are_told(asked: dict[str, str], told: str | None) -> None:
    contestant = built(set_up("onnxruntime", options=asked))
    options = contestant.session.get_session_options()  # type: ignore[attr-defined]
    for key in ("session.intra_op.allow_spinning", "session.inter_op.allow_spinning"):
        if told is None:
            with pytest.raises(RuntimeError, match="does not have"):
                options.get_session_config_entry(key)
        else:
            assert options.get_session_config_entry(key) == told


@pytest.mark.parametrize("options", [{"spinning": "maybe"}, {"optimization": "most"}])
def test_onnxruntime_refuses_what_an_option_does_not_take(options: dict[str, str]) -> None:
    with pytest.raises(Unsupported, match=f"onnxruntime takes {next(iter(options))}="):
        set_up("onnxruntime", options=options)


def test_onnxruntime_that_falls_back_to_the_cpu_is_refused() -> None:
    contestant = set_up("onnxruntime")
    contestant.kind = "cuda"  # type: ignore[attr-defined]  # a build for GPUs whose libraries are not all there
    built(contestant)
    with pytest.raises(Unsupported, match="could not begin with CUDAExecutionProvider"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ONNX Runtime's own, of a provider that it has not
        contestant.session  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("level", ["all", "extended", "basic", "disabled"])
def test_onnxruntime_computes_the_same_at_every_level_of_optimization(level: str) -> None:
    seen = outputs(built(set_up("onnxruntime", options={"optimization": level})))
    np.testing.assert_allclose(seen, outputs(built(set_up("onnxruntime"))), rtol=1e-4, atol=1e-5)


def test_matched_openvino_has_the_threads_asked_for_in_float32() -> None:
    seen = built(set_up("openvino", threads=1)).evidence()
    assert (seen["inference_precision_hint"], seen["inference_num_threads"], seen["num_streams"]) == ("f32", "1", "1")
    assert seen["enable_cpu_pinning"] == "False"
    assert "f32" in seen["precisions"] and "bf16" not in seen["precisions"]


@pytest.mark.parametrize("primitive", ["matmul", "conv"])
def test_the_probe_sees_the_bfloat16_that_openvino_takes_by_itself(primitive: str) -> None:
    """And so does what OpenVINO says of its own kernels."""
    if not set(FORMATS) & set(machine.facts()["flags"]):
        pytest.skip("this CPU does not multiply in bfloat16")
    both = {regime: built(set_up("openvino", regime=regime)) for regime in ("out-of-the-box", "matched")}
    found = {regime: audit._precision(probes.precision(each, primitive)) for regime, each in both.items()}
    assert found == {"out-of-the-box": "bfloat16", "matched": "float32"}
    assert ["bf16" in each.evidence()["precisions"] for each in both.values()] == [True, False]


def test_openvino_computes_in_the_format_asked_for_or_refuses() -> None:
    """What the CPU has not it would not compute in, and say nothing."""
    able = set_up("openvino").core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")  # type: ignore[attr-defined]
    for mode, needed, form in (("bf16", "BF16", "bfloat16"), ("fp16", "FP16", "float16")):
        if needed in able:
            contestant = built(set_up("openvino", mode))
            assert [audit._precision(probes.precision(contestant, each)) for each in ("matmul", "conv")] == [form] * 2
        else:
            with pytest.raises(Unsupported, match=f"no {needed} on this CPU: it has"):
                set_up("openvino", mode)


PINNED = """
import os, sys
core = min(os.sched_getaffinity(0))
os.sched_setaffinity(0, {core})
from parity import test_engines
contestant = test_engines.built(test_engines.set_up(sys.argv[1], threads=1))
test_engines.outputs(contestant)
print("ALLOWED", {core} == set().union(*(os.sched_getaffinity(int(each)) for each in os.listdir("/proc/self/task"))))
"""


@engine
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs Linux")
def test_its_threads_stay_on_the_cores_of_the_process(contender: Contender) -> None:
    set_up(contender.framework)
    tests = str(Path(__file__).parents[1])
    run = subprocess.run([sys.executable, "-c", PINNED, contender.framework], capture_output=True, text=True,
                         env={**os.environ, "PYTHONPATH": tests})
    assert run.stdout.splitlines()[-1:] == ["ALLOWED True"], run.stderr
