"""Whether ours costs what the as-shipped model costs: eight models over those of torchvision, transformers and
keras.applications, in the loop of a race, with the same weights.

    python -m benchmarks.shipped --part torchvision --size 64 --batch 8 --blocks 8

A package that is not installed is left out, and said to be.
"""

import argparse
import sys
from collections.abc import Iterator

from benchmarks.paired import Part, Sample, main
from benchmarks.twins import against

TWINS = {  # package -> contender, and our models with what the package calls them
    "torchvision": ("torch:eager", {"resnet50": "resnet50", "mobilenet_v2": "mobilenet_v2",
                                    "densenet121": "densenet121", "efficientnet_b0": "efficientnet_b0"}),
    "transformers": ("torch:eager", {"bert_base": "bert-base"}),
    "keras.applications": ("tensorflow:graph", {"resnet50_v1_keras": "ResNet50", "mobilenet_v2_keras": "MobileNetV2",
                                                "densenet121_keras": "DenseNet121"}),
}


def part(package: str) -> Part:
    """The comparisons of one package's models."""
    contender, names = TWINS[package]

    def run(options: argparse.Namespace) -> Iterator[Sample]:
        for model, name in names.items():
            yield from against(contender, model, package, name, options)
    return Part(contender, run, needs=(package.partition(".")[0],))


if __name__ == "__main__":
    sys.exit(main("benchmarks.shipped", __doc__, {package: part(package) for package in TWINS}, size=64, batch=8,
                  blocks=8))
