"""Synthetic batches: the same from the same seed, and of the promised kind."""

from collections import Counter

import numpy as np
import pytest

from photofinish import models
from photofinish.data import draw_batch
from photofinish.data.synthetic import draw_input, zipf
from photofinish.graph import loss, record
from photofinish.layers import CTC, BinaryCrossEntropy, SoftmaxCrossEntropy, Spec
from photofinish.vocabulary import embedding, linear, masked_mean
from photofinish.weights import stream

COUNT = 500


def test_a_batch_has_every_input_and_target_in_its_own_range():
    def model(ids, mask):
        return linear(masked_mean(embedding(ids, 11, 3), mask), 5)

    entry = models.Model("words", lambda ids, mask, classes: model(ids, mask), (
        ("ids", Spec("T", (6,), "int32")), ("mask", Spec("T", (6,), "bool"))))
    batch = draw_batch(entry.graph(), 500, seed=3)
    assert {name: values.shape for name, values in batch.items()} == {
        "ids": (500, 6), "mask": (500, 6), "label": (500,)}
    assert set(batch["ids"].ravel()) == set(range(11)) and batch["ids"].dtype == np.int32
    assert set(batch["label"]) == set(range(5))
    assert batch["mask"].dtype == bool and batch["mask"][:, 0].all() and not batch["mask"].all()


def test_batches_of_two_seeds_differ_and_images_are_standard_normal():
    spec = Spec("CHW", (3, 16, 16))
    first, second = (draw_input("image", spec, 64, seed) for seed in (0, 1))
    assert first.dtype == np.float32 and not np.array_equal(first, second)
    assert abs(first.mean()) < 5 / np.sqrt(first.size)
    assert abs(first.var() - 1) < 5 * np.sqrt(2 / first.size)


def sequence_batch(objective, target):
    def model(x):
        loss(objective, linear(x, 12), "label", target)
        return linear(x, 2)
    return draw_batch(record(model, {"x": Spec("TC", (9, 3))}), COUNT, seed=1)["label"]


def test_ids_follow_zipf():
    counts = Counter(zipf(1000, (200_000,), stream(0, "words")).tolist())
    for rank in (1, 2, 9):
        assert counts[0] / counts[rank] == pytest.approx(rank + 1, rel=0.1)


def test_a_mask_is_true_up_to_a_length_of_at_least_half():
    mask = draw_input("mask", Spec("T", (9,), "bool"), COUNT, 0)
    lengths = mask.sum(-1)
    assert set(lengths) == {5, 6, 7, 8, 9}
    assert (mask == (np.arange(9) < lengths[:, None])).all()


@pytest.mark.parametrize("nodes", [3, 400])
def test_a_matrix_over_positions_is_the_normalised_adjacency_of_a_sparse_graph(nodes):
    drawn = draw_input("adjacency", Spec("TU", (nodes, nodes)), 3, 0)
    assert drawn.dtype == np.float32
    for matrix in drawn:
        degrees = (matrix > 0).sum(1)  # each node's own link counted
        np.testing.assert_allclose(matrix * np.sqrt(np.outer(degrees, degrees)), matrix > 0, rtol=1e-6)
        assert (matrix == matrix.T).all() and (np.diag(matrix) > 0).all()
    if nodes == 400:
        assert (drawn > 0).sum(-1).mean() == pytest.approx(5, rel=0.1) and not np.array_equal(drawn[0], drawn[1])


def test_padding_fills_a_label_behind_its_length_and_stands_nowhere_else():
    label = sequence_batch(SoftmaxCrossEntropy(ignore=0), Spec("T", (9,), "int32"))
    lengths = (label != 0).sum(-1)
    assert set(lengths) == {5, 6, 7, 8, 9}
    assert (label[np.arange(9) >= lengths[:, None]] == 0).all() and label.max() < 12


def test_masked_words_are_asked_for_at_few_positions():
    label = sequence_batch(SoftmaxCrossEntropy(ignore=-100), Spec("T", (9,), "int32"))
    asked = label >= 0
    assert asked.any(-1).all() and set(label[~asked]) == {-100}
    assert asked[:, 1:].mean() == pytest.approx(0.15, abs=0.03)


def test_transcripts_have_blanks_behind_only():
    label = sequence_batch(CTC(), Spec("L", (4,), "int32"))
    spoken = label > 0
    assert set(spoken.sum(-1)) == {2, 3, 4} and (np.diff(spoken.astype(int), axis=-1) <= 0).all()


def test_yes_or_no_is_a_float_target():
    label = sequence_batch(BinaryCrossEntropy(), Spec("TC", (9, 12)))
    assert label.dtype == np.float32 and set(label.ravel()) == {0.0, 1.0}
