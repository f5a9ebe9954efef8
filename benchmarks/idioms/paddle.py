"""ResNet-50 (v1.5) as paddle.vision has it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from benchmarks.idioms.sides import Sample, Side, sides
from benchmarks.paired import OPTIMIZER, build, graph_of


class Paddle(Side):
    def __init__(self, model: Any) -> None:
        self.model = model

    def step(self, task: str) -> Callable[..., Any]:
        import paddle
        from paddle.nn import functional

        model = self.model
        optimizer = paddle.optimizer.Momentum(OPTIMIZER.learning_rate, OPTIMIZER.momentum,
                                              parameters=model.parameters())

        def train(image: Any, label: Any) -> Any:
            optimizer.clear_grad()
            loss = functional.cross_entropy(model(image), label)
            loss.backward()
            optimizer.step()
            return loss

        def infer(image: Any, label: Any) -> Any:
            with paddle.no_grad():
                return model(image)

        return {"train": train, "infer": infer}[task]

    def gradients(self) -> Sequence[Any]:
        return [each.grad for each in self.model.parameters() if each.trainable]

    def prepare(self, task: str) -> None:
        (self.model.train if task == "train" else self.model.eval)()


def run(options: Any) -> Iterator[Sample]:
    import paddle

    built = build("paddle:dynamic", graph_of("resnet50", options.size), options.batch)
    ours, theirs = built.contestant.model, paddle.vision.models.resnet50()
    weights = list(ours.state_dict().values())  # both declare their layers in running order
    for own, values in zip(theirs.state_dict().values(), weights, strict=True):
        own.set_value(values)
    batches = [(paddle.to_tensor(each["image"]), paddle.to_tensor(each["label"].astype(np.int64)))
               for each in built.batches]
    return sides("paddle:dynamic resnet50", "paddle.vision", Paddle(ours), Paddle(theirs), batches, options)
