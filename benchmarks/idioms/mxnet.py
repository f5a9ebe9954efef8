"""ResNet-50 (v1) as Gluon's model zoo has it: its 1x1 convolutions have biases, but for the projections."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from benchmarks.idioms.sides import Sample, Side, sides
from benchmarks.paired import OPTIMIZER, build

from photofinish.graph import Tensor
from photofinish.models import find
from photofinish.models.resnet import Convolution, shortcut
from photofinish.vocabulary import batch_norm, block, conv, relu


@block
def bottleneck(x: Tensor, width: int, stride: int, convolution: Convolution) -> Tensor:
    y = relu(batch_norm(conv(x, width, 1, stride, bias=True)))
    y = relu(convolution(y, width, 3))
    y = batch_norm(conv(y, 4 * width, 1, bias=True))
    return relu(y + shortcut(x, 4 * width, stride, convolution))


class Gluon(Side):
    def __init__(self, model: Any) -> None:
        self.model = model
        model.hybridize(static_alloc=True, static_shape=True)

    def step(self, task: str) -> Callable[..., Any]:
        from mxnet import autograd, gluon, nd

        model, criterion = self.model, gluon.loss.SoftmaxCrossEntropyLoss()
        trainer = gluon.Trainer(model.collect_params(), "sgd", {
            "learning_rate": OPTIMIZER.learning_rate, "momentum": OPTIMIZER.momentum})

        def train(image: Any, label: Any) -> Any:
            with autograd.record():
                loss = criterion(model(image), label)
            loss.backward()
            trainer.step(len(image))
            nd.waitall()
            return loss.asnumpy()

        def infer(image: Any, label: Any) -> Any:
            return model(image).asnumpy()

        return {"train": train, "infer": infer}[task]

    def gradients(self) -> Sequence[Any]:
        return [each.grad().asnumpy() for each in self.model.collect_params().values() if each.grad_req != "null"]


def run(options: Any) -> Iterator[Sample]:
    import mxnet as mx
    from mxnet.gluon.model_zoo import vision

    graph = find("resnet50_v1").graph((3, options.size, options.size), residual=bottleneck)
    built = build("mxnet:hybrid", graph, options.batch)
    ours, theirs = built.contestant.model, vision.resnet50_v1()
    batches = [(mx.nd.array(each["image"]), mx.nd.array(each["label"])) for each in built.batches]
    theirs.initialize()
    theirs(batches[0][0])  # Gluon's zoo learns its shapes from the first batch
    for mine, other in zip(ours.collect_params().values(), theirs.collect_params().values(), strict=True):
        other.set_data(mine.data())  # both declare their layers in running order
    return sides("mxnet:hybrid resnet50_v1 of Gluon", "gluon.model_zoo", Gluon(ours), Gluon(theirs), batches, options)
