"""A step of generation with a cache finds what the whole sequence would."""

from dataclasses import replace

import numpy as np

from photofinish import models
from photofinish.frameworks import Arrays, Setup
from photofinish.frameworks.numpy import Contestant
from photofinish.graph import Graph
from photofinish.weights import initial_state


def infer(graph: Graph, state: Arrays, inputs: Arrays) -> Arrays:
    contestant = Contestant(Setup("reference", precision="float64"))
    contestant.build(graph, len(next(iter(inputs.values()))))
    contestant.put(state)
    return {name.partition("/")[2]: values
            for name, values in contestant.read(contestant.infer(contestant.feed(inputs))).items()}


def test_gpt2_decodes_with_a_cache_what_it_predicts_from_the_whole_sequence() -> None:
    whole, step = models.find("gpt2_small").small(), models.find("gpt2_small_decode").small()
    past = step.inputs[0][1].size("T")
    words = np.random.default_rng(0).integers(0, 64, (3, past + 1)).astype(np.int32)
    state = initial_state(whole, 1)
    expected = infer(whole, state, {"words": words})[whole.outputs[0]][:, past]

    kept = {f"{kind}s{layer}": f"layer{layer}.attention.{kind}" for layer in (1, 2) for kind in ("key", "value")}
    before = models.find("gpt2_small").graph((past,), **{key: value for key, value in
                                                         models.find("gpt2_small").reduced.items() if key != "shape"})
    seen = infer(replace(before, outputs=tuple(kept.values())), state, {"words": words[:, :past]})
    inputs = {name: seen[tensor] for name, tensor in kept.items()}
    inputs.update(word=words[:, past:], position=np.full((3, 1), past, np.int32))
    found = infer(step, state, inputs)

    np.testing.assert_allclose(found[step.outputs[0]][:, 0], expected, rtol=1e-12, atol=1e-12)
    for name, tensor in zip(step.outputs[1:], kept.values(), strict=True):  # the cache goes on
        assert found[name].shape[1] == past + 1
        np.testing.assert_array_equal(found[name][:, :past], seen[tensor])


def test_weights_of_gpt2_fit_the_step() -> None:
    whole, step = models.find("gpt2_small").graph(), models.find("gpt2_small_decode").graph()
    assert {name: each.shape for name, each in step.parameters.items()} == {
        name: each.shape for name, each in whole.parameters.items()}
