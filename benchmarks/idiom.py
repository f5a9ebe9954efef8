"""Whether our models are what a good user would write: ResNet-50 built by the adapters over the one of the framework's
own zoo, or written by hand as its documentation does, with the same weights under the same steps.

    python -m benchmarks.idiom --part paddle --size 64 --batch 8 --blocks 8

Nothing is timed before the two have shown the same outputs, loss, gradients and running statistics. Each part runs in
an environment of its framework (photofinish env create paddle), and is left out, and said to be, where there is none.
"""

import argparse
import sys
from collections.abc import Iterator

from benchmarks.idioms import flax, mxnet, onnxruntime, paddle, torch
from benchmarks.paired import Part, Sample, main
from benchmarks.twins import against


def keras(contender: str) -> Part:
    """ResNet-50 (v1) as keras.applications has it."""
    def run(options: argparse.Namespace) -> Iterator[Sample]:
        return against(contender, "resnet50_v1_keras", "keras.applications", "ResNet50", options)
    return Part(contender, run)


PARTS = {"torch": Part("torch:eager", torch.run), "keras": keras("tensorflow:graph"),
         "keras-tensorflow": keras("keras-tensorflow:nojit"), "keras-torch": keras("keras-torch:nojit"),
         "keras-jax": keras("keras-jax:jit"), "flax": Part("jax:jit", flax.run),
         "paddle": Part("paddle:dynamic", paddle.run), "gluon": Part("mxnet:hybrid", mxnet.run),
         "onnxruntime": Part("onnxruntime:default", onnxruntime.run, needs=("torch",))}

if __name__ == "__main__":
    sys.exit(main("benchmarks.idiom", __doc__, PARTS, size=64, batch=8, blocks=8))
