"""What a user of each framework writes by hand: the training and the inference step around a native model."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from benchmarks.paired import OPTIMIZER

Batches = list[dict[str, np.ndarray]]


def torch_step(model: Any, task: str) -> Callable[..., Any]:
    """A step of (image, label) that ends when its work is done: on a CPU, when it returns."""
    import torch
    from torch.nn import functional

    optimizer = torch.optim.SGD(model.parameters(), lr=OPTIMIZER.learning_rate, momentum=OPTIMIZER.momentum)

    def train(image: Any, label: Any) -> Any:
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(image), label)
        loss.backward()
        optimizer.step()
        return loss

    def infer(image: Any, label: Any) -> Any:
        with torch.inference_mode():
            return model(image)

    return {"train": train, "infer": infer}[task]


def torch_batches(batches: Batches) -> Sequence[Sequence[Any]]:
    import torch

    return [(torch.from_numpy(batch["image"]), torch.from_numpy(batch["label"].astype(np.int64))) for batch in batches]


def tensorflow_step(model: Any, task: str) -> Callable[..., Any]:
    """A step of (image, label) that ends when its result can be read."""
    import keras
    import tensorflow as tf

    optimizer = keras.optimizers.SGD(OPTIMIZER.learning_rate, OPTIMIZER.momentum)
    optimizer.build(model.trainable_variables)

    @tf.function
    def train(image: Any, label: Any) -> Any:
        with tf.GradientTape() as tape:
            (logits,) = tf.nest.flatten(model(image, training=True))  # our models return {name: output}
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=label, logits=logits))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    @tf.function
    def infer(image: Any, label: Any) -> Any:
        (logits,) = tf.nest.flatten(model(image, training=False))
        return logits

    step = {"train": train, "infer": infer}[task]
    return lambda image, label: step(image, label).numpy()


def tensorflow_batches(batches: Batches) -> Sequence[Sequence[Any]]:
    import tensorflow as tf

    return [(tf.constant(np.ascontiguousarray(batch["image"].transpose(0, 2, 3, 1))), tf.constant(batch["label"]))
            for batch in batches]
