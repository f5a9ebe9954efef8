"""ResNet-50 (v1.5) as torchvision and most PyTorch code write it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from benchmarks.idioms.sides import Sample, Side, sides
from benchmarks.native import torch_batches, torch_step
from benchmarks.paired import build, graph_of

LIMIT = 1.01


def hand_written_resnet50() -> Any:
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


class Torch(Side):
    def __init__(self, model: Any) -> None:
        self.model = model

    def step(self, task: str) -> Callable[..., Any]:
        return torch_step(self.model, task)

    def gradients(self) -> Sequence[Any]:
        return [each.grad for each in self.model.parameters()]

    def prepare(self, task: str) -> None:
        self.model.train(task == "train")

    def read(self, found: Any) -> np.ndarray:
        return found.detach().numpy()


def run(options: Any) -> Iterator[Sample]:
    built = build("torch:eager", graph_of("resnet50", options.size), options.batch)
    ours, theirs = built.contestant.model, hand_written_resnet50()
    weights = list(ours.state_dict().values())  # both declare their layers in running order
    theirs.load_state_dict(dict(zip(theirs.state_dict(), weights, strict=True)))
    return sides("torch:eager resnet50", "hand-written", Torch(ours), Torch(theirs), torch_batches(built.batches),
                 options, LIMIT)
