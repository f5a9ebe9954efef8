"""TensorRT on a CUDA device: the model that _onnx/ writes, held to NumPy's double precision."""

import importlib.util

import numpy as np
import pytest

if importlib.util.find_spec("tensorrt") is None:
    pytest.skip("TensorRT is not installed", allow_module_level=True)

from photofinish import data, models, weights
from photofinish.frameworks import Setup, Unsupported, load
from photofinish.measure import probes
from photofinish.referee import audit

BATCH = 8
GRAPH = models.find("digits_cnn").small()


def test_inference_is_that_of_numpy_in_strict_float32() -> None:
    batch, state = data.draw_batch(GRAPH, BATCH, seed=0), weights.perturbed_state(GRAPH)
    seen = []
    for framework, setup in (("tensorrt", Setup("default", device="cuda")),
                             ("numpy", Setup("reference", precision="float64"))):
        try:
            contestant = load(framework)(setup)
        except Unsupported as reason:
            pytest.skip(str(reason))
        contestant.build(GRAPH, BATCH)
        contestant.put(state)
        seen.append(contestant.read(contestant.infer(contestant.feed(batch))))
        if framework == "tensorrt":
            assert audit._precision(probes.run(contestant)["matmul"]) == "float32"
    assert seen[0].keys() == seen[1].keys()
    for name, exact in seen[1].items():
        np.testing.assert_allclose(seen[0][name], exact, rtol=0, atol=1e-4 * max(1.0, float(np.abs(exact).max())))
