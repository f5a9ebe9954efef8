"""The printed flax code, and the plain functions, run on their own and are what the contender runs."""

import importlib.util
import inspect
import linecache
import textwrap
from functools import partial
from typing import Any

import numpy as np
import pytest

if importlib.util.find_spec("jax") is None or importlib.util.find_spec("flax") is None:
    pytest.skip("JAX and flax are not installed", allow_module_level=True)

import jax

from photofinish import data, models
from photofinish.frameworks import Setup, load, native_source
from photofinish.frameworks._flax import plain
from photofinish.graph import Graph
from photofinish.optimizers import SGD

BATCH = 4
WRITERS = {"flax": partial(native_source, "flax"), "plain": plain.native_source}


def executed(graph: Graph, style: str = "flax") -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "printed"}
    exec(WRITERS[style](graph), namespace)
    return namespace


def loop(printed: dict[str, Any]) -> list[str]:
    """The training loop in the docstring."""
    return [line for line in inspect.cleandoc(printed["__doc__"]).splitlines() if line.startswith("    ")]


@pytest.mark.parametrize("name", models.all_models())
def test_every_model_is_written_in_both_styles(name: str) -> None:
    graph = models.find(name).small()
    for style in WRITERS.values():
        source = style(graph)
        compile(source, name, "exec")
        assert graph.digest in source
        assert max(map(len, source.splitlines())) < 200


def test_what_the_contender_runs_is_what_is_shown() -> None:
    graph = models.find("digits_cnn").small()
    load("jax")(Setup("jit")).build(graph, BATCH, SGD())
    _, _, ran, _ = linecache.cache[f"<photofinish_flax_{graph.digest[:12]}>"]
    assert "".join(ran) == native_source("flax", graph)


def test_full_size_has_the_graphs_parameters() -> None:
    from flax import nnx
    graph = models.find("resnet18").graph()
    model, _ = nnx.eval_shape(executed(graph)["build"])
    assert sum(int(np.prod(leaf.shape)) for leaf in jax.tree.leaves(nnx.state(model, nnx.Param))) \
        == graph.parameter_count
    shapes = jax.tree.leaves(executed(graph, "plain")["PARAMETERS"], is_leaf=lambda each: type(each) is tuple)
    assert sum(int(np.prod(shape)) for shape in shapes) == graph.parameter_count


@pytest.mark.parametrize("style", WRITERS)
def test_the_training_loop_in_its_docstring_trains(style: str) -> None:
    graph = models.find("digits_cnn").small()
    printed = executed(graph, style)
    batch = data.draw_batch(graph, BATCH, seed=0)
    pair = batch["image"].transpose(0, 2, 3, 1), batch["label"]
    seen: list[float] = []
    lines = loop(printed)
    last = next(number for number, line in enumerate(lines) if "train_step(weights" in line)
    code = textwrap.dedent("\n".join([*lines[:last + 1], "        seen.append(float(loss))", *lines[last + 1:]]))
    exec(code, dict(printed, jax=jax, batches=[pair] * 10, seen=seen))
    assert len(seen) == 10
    assert seen[-1] < seen[0] / 2
