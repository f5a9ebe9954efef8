"""ResNet-50 (v1.5) as flax.nnx's documentation writes models, in the step that our own runs in."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from benchmarks.idioms.sides import Sample, Side, sides
from benchmarks.paired import OPTIMIZER, build, graph_of


def hand_written_resnet50() -> Any:
    """Its layers' names stand in the alphabetical order of ours, in which nnx keeps weights."""
    from flax import nnx

    rngs = nnx.Rngs(0)
    # By default nnx takes variances for E[x^2] - E[x]^2, whose rounding moves small batches' gradients by per cents.
    norm = partial(nnx.BatchNorm, momentum=0.9, use_fast_variance=False, rngs=rngs)

    class Bottleneck(nnx.Module):
        def __init__(self, inputs, width, stride):
            self.conv1 = nnx.Conv(inputs, width, (1, 1), use_bias=False, rngs=rngs)
            self.bn1 = norm(width)
            self.conv2 = nnx.Conv(width, width, (3, 3), strides=stride, padding=1, use_bias=False, rngs=rngs)
            self.bn2 = norm(width)
            self.conv3 = nnx.Conv(width, 4 * width, (1, 1), use_bias=False, rngs=rngs)
            self.bn3 = norm(4 * width)
            self.projects = stride != 1 or inputs != 4 * width
            if self.projects:
                self.down_conv = nnx.Conv(inputs, 4 * width, (1, 1), strides=stride, use_bias=False, rngs=rngs)
                self.down_bn = norm(4 * width)

        def __call__(self, x):
            y = nnx.relu(self.bn1(self.conv1(x)))
            y = nnx.relu(self.bn2(self.conv2(y)))
            y = self.bn3(self.conv3(y))
            return nnx.relu(y + (self.down_bn(self.down_conv(x)) if self.projects else x))

    class ResNet50(nnx.Module):
        def __init__(self):
            self.conv1 = nnx.Conv(3, 64, (7, 7), strides=2, padding=3, use_bias=False, rngs=rngs)
            self.bn1 = norm(64)
            blocks, inputs = [], 64
            for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
                for number in range(count):
                    blocks.append(Bottleneck(inputs, width, stride if number == 0 else 1))
                    inputs = 4 * width
            self.layers = nnx.List(blocks)
            self.fc = nnx.Linear(2048, 1000, rngs=rngs)

        def __call__(self, x):
            x = nnx.relu(self.bn1(self.conv1(x)))
            x = nnx.max_pool(x, (3, 3), strides=(2, 2), padding=((1, 1), (1, 1)))
            for block in self.layers:
                x = block(x)
            return self.fc(x.mean((1, 2)))

    return ResNet50()


class Flax(Side):
    """In the jitted functions of our own source, which take any flax.nnx module."""

    def __init__(self, module: Any, model: Any) -> None:
        import jax
        from flax import nnx

        self.module, self.model = module, model
        self.weights = jax.tree.map(jax.numpy.copy, nnx.state(model))  # they are donated
        self.memory: Any = None  # the optimizer's

    def step(self, task: str) -> Callable[..., Any]:
        import optax
        from flax import nnx

        optimizer = nnx.Optimizer(self.model, optax.sgd(OPTIMIZER.learning_rate, OPTIMIZER.momentum), wrt=nnx.Param)
        train_step, inference = self.module.compiled(self.model, optimizer)
        self.memory = nnx.state(optimizer)

        def train(image: Any, label: Any) -> Any:
            loss, self.weights, self.memory = train_step(self.weights, self.memory, image, label)
            return loss.block_until_ready()

        def infer(image: Any, label: Any) -> Any:
            return np.asarray(inference(self.weights, image))

        return {"train": train, "infer": infer}[task]

    def gradients(self) -> Sequence[Any]:
        """The velocities that a first step leaves."""
        import jax
        return jax.tree.leaves(self.memory)


def run(options: Any) -> Iterator[Sample]:
    import jax
    from flax import nnx

    built = build("jax:jit", graph_of("resnet50", options.size), options.batch)
    module = built.contestant.style.module
    ours, theirs = module.build()[0], hand_written_resnet50()
    nnx.update(ours, built.contestant.weights)
    weights, structure = jax.tree.leaves(nnx.state(ours)), jax.tree.structure(nnx.state(theirs))
    nnx.update(theirs, jax.tree.unflatten(structure, weights))
    batches = [(jax.numpy.asarray(each["image"].transpose(0, 2, 3, 1)), jax.numpy.asarray(each["label"]))
               for each in built.batches]
    return sides("jax:jit resnet50", "hand-written flax.nnx", Flax(module, ours), Flax(module, theirs), batches,
                 options)
