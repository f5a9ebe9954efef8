"""The profilers of real frameworks: of a step they watch, hardly anything has no place."""

from datetime import timedelta
from importlib import import_module
from types import SimpleNamespace

import pytest

from photofinish import data, weights
from photofinish.frameworks import Setup
from photofinish.measure.engine import Engine
from photofinish.measure.profile import profile
from photofinish.models import find
from photofinish.optimizers import SGD
from photofinish.values.profile import KERNELS, UNPLACED

STEPS = 3


@pytest.mark.parametrize(("contender", "task"), [
    ("torch:eager", "train"), ("tensorflow:graph", "train"), ("tensorflow:xla", "train"), ("jax:jit", "train"),
    ("jax:plain", "infer"), ("onnxruntime:default", "infer"), ("openvino:default", "infer")])
def test_nearly_all_of_a_step_has_its_place(contender: str, task: str) -> None:
    framework, _, mode = contender.partition(":")
    pytest.importorskip(framework, reason=f"{framework} is not installed")
    graph = find("digits_cnn").graph()
    contestant = import_module(f"photofinish.frameworks.{framework}").Contestant(Setup(mode, {}, threads=1))
    contestant.build(graph, 32, SGD() if task == "train" else None)
    state = weights.initial_state(graph, 1)
    contestant.put(state)
    engine = Engine(contestant, state, [contestant.feed(data.draw_batch(graph, 32, 1))])
    engine.step(task)  # which compiles
    profiled = profile(engine, framework, task, STEPS)["profiled"]
    assert len(profiled) == STEPS
    for step in profiled:
        assert step["where"][UNPLACED] < 0.1 * step["seconds"], step["unplaced"]
        assert step["where"][KERNELS] > 0 and step["kernels"] >= 4  # three convolutions and a product of matrices


def test_a_step_shorter_than_the_mean_keeps_every_node() -> None:
    pytest.importorskip("openvino", reason="openvino is not installed")
    own = import_module("photofinish.frameworks._openvino.profile")
    node = SimpleNamespace(status=SimpleNamespace(name="EXECUTED"), real_time=timedelta(seconds=60), node_name="x",
                           node_type="Convolution", exec_type="brgconv_f32")
    contestant = SimpleNamespace(made=SimpleNamespace(profiling_info=[node, node]))
    step, *nodes = own._events(contestant, lambda batch: None, None, set())
    assert len(nodes) == 2 and sum(each.seconds for each in nodes) == pytest.approx(step.seconds)
