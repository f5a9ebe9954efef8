"""Whether our models are what a good user would write: ResNet-50 built by the adapters over the hand-written
torch network of the usual idiom, and over keras.applications', under the same steps.

    python -m benchmarks.idiom --size 64 --batch 8 --blocks 30
"""

import argparse
import re
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from benchmarks.native import tensorflow_batches, tensorflow_step, torch_batches, torch_step
from benchmarks.paired import Sample, bare, build, compare, main

TORCH_LIMIT = 1.01
KERAS_LIMIT = 1.02
KERAS_ORDER = ("weight", "bias", "running_mean", "running_variance")


def hand_written_resnet50() -> Any:
    """ResNet-50 (v1.5) as torchvision and most PyTorch code write it."""
    from torch import flatten, nn

    class Bottleneck(nn.Module):
        def __init__(self, inputs, width, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, width, kernel_size=1, bias=False)
            self.bn1 = nn.BatchNorm2d(width)
            self.conv2 = nn.Conv2d(width, width, kernel_size=3, stride=stride, padding=1, bias=False)
            self.bn2 = nn.BatchNorm2d(width)
            self.conv3 = nn.Conv2d(width, 4 * width, kernel_size=1, bias=False)
            self.bn3 = nn.BatchNorm2d(4 * width)
            self.relu = nn.ReLU(inplace=True)
            self.downsample = None
            if stride != 1 or inputs != 4 * width:
                self.downsample = nn.Sequential(
                    nn.Conv2d(inputs, 4 * width, kernel_size=1, stride=stride, bias=False),
                    nn.BatchNorm2d(4 * width),
                )

        def forward(self, x):
            identity = x
            out = self.relu(self.bn1(self.conv1(x)))
            out = self.relu(self.bn2(self.conv2(out)))
            out = self.bn3(self.conv3(out))
            if self.downsample is not None:
                identity = self.downsample(x)
            out += identity
            return self.relu(out)

    class ResNet50(nn.Module):
        def __init__(self):
            super().__init__()
            self.inputs = 64
            self.conv1 = nn.Conv2d(3, 64, kernel_size=7, stride=2, padding=3, bias=False)
            self.bn1 = nn.BatchNorm2d(64)
            self.relu = nn.ReLU(inplace=True)
            self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
            self.layer1 = self._make_layer(64, blocks=3, stride=1)
            self.layer2 = self._make_layer(128, blocks=4, stride=2)
            self.layer3 = self._make_layer(256, blocks=6, stride=2)
            self.layer4 = self._make_layer(512, blocks=3, stride=2)
            self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
            self.fc = nn.Linear(2048, 1000)

        def _make_layer(self, width, blocks, stride):
            layers = [Bottleneck(self.inputs, width, stride)]
            self.inputs = 4 * width
            layers += [Bottleneck(self.inputs, width, stride=1) for _ in range(1, blocks)]
            return nn.Sequential(*layers)

        def forward(self, x):
            x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
            x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
            return self.fc(flatten(self.avgpool(x), 1))

    return ResNet50()


def same(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Only equal work is compared: float32 outputs of one network agree to rounding."""
    error = np.abs(ours - theirs).max() / np.abs(theirs).max()
    if not error < 1e-4:
        raise SystemExit("the two networks differ: relative error {:.2g} of the outputs".format(error))


def torch(options: argparse.Namespace) -> Iterator[Sample]:
    built = build("torch", "eager", "resnet50", options.size, options.batch)
    ours, theirs = built.contestant.model, hand_written_resnet50()
    weights = [values for name, values in ours.state_dict().items()]  # both declare their layers in running order
    theirs.load_state_dict(dict(zip(theirs.state_dict(), weights, strict=True)))
    batches = torch_batches(built.batches)
    same(*(torch_step(model.eval(), "infer")(*batches[0]).numpy() for model in (ours, theirs)))
    for task in ("train", "infer"):
        sides = [bare(torch_step(model, task), batches, lambda model=model, task=task: model.train(task == "train"))
                 for model in (ours, theirs)]
        yield compare("torch:eager resnet50 {}: ours / hand-written".format(task), *sides, TORCH_LIMIT,
                      options.blocks, options.seed)


def keras(options: argparse.Namespace) -> Iterator[Sample]:
    from keras import applications

    built = build("tensorflow", "graph", "resnet50_v1_keras", options.size, options.batch)
    ours = built.contestant.model
    theirs = applications.ResNet50(weights=None, classifier_activation=None,
                                   input_shape=(options.size, options.size, 3))
    load_keras(theirs, built.state)
    batches = tensorflow_batches(built.batches)
    same(*(tensorflow_step(model, "infer")(*batches[0]) for model in (ours, theirs)))
    for task in ("train", "infer"):
        sides = [bare(tensorflow_step(model, task), batches, lambda: None) for model in (ours, theirs)]
        yield compare("tensorflow:graph resnet50_v1_keras {}: ours / keras.applications".format(task),
                      *sides, KERAS_LIMIT, options.blocks, options.seed)


def load_keras(model: Any, state: dict[str, np.ndarray]) -> None:
    """Puts canonical arrays into keras.applications' ResNet50."""
    layouts = {4: (2, 3, 1, 0), 2: (1, 0), 1: (0,)}
    arrays = {name.split("/")[1]: values for name, values in state.items()}
    for layer in model.layers:
        if layer.weights:
            names = ["{}.{}".format(canonical(layer.name), own) for own in KERAS_ORDER]
            own = [arrays[name] for name in names if name in arrays]
            layer.set_weights([array.transpose(layouts[array.ndim]) for array in own])


def canonical(name: str) -> str:
    """conv2_block1_3_bn -> stage1.original_bottleneck1.batch_norm3; their convolution 0 is our projection."""
    match = re.fullmatch(r"conv(\d)(?:_block(\d)_(\d))?_(conv|bn)", name)
    if match is None:
        return {"predictions": "linear1"}[name]
    stage, block, number, kind = match.groups()
    kind = {"conv": "conv", "bn": "batch_norm"}[kind]
    if block is None:
        return kind + "1"
    inside = "projection.{}1".format(kind) if number == "0" else kind + number
    return "stage{}.original_bottleneck{}.{}".format(int(stage) - 1, block, inside)


if __name__ == "__main__":
    sys.exit(main("benchmarks.idiom", __doc__, {"torch": torch, "keras": keras}, size=64, batch=8, blocks=8))
