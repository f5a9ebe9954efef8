"""The vocabulary: one frozen value per layer kind, with its shape, parameter and MAC rules.

A layer means what the ONNX operator named in its docstring means. Shapes are per sample: the batch
axis is never part of a `Spec`. Axes are spelled with one letter each ("CHW" for an image, "TC" for a
sequence, "TU" for a matrix over positions); the canonical order is channels first, whatever a framework
chooses on its own device.

One file per family here, and one of the same name in each framework's part (frameworks/_torch, ...).
"""

from typing import Dict, Iterator, Type

from photofinish.layers.activation import (
    Clip,
    Dropout,
    Elu,
    Gelu,
    LeakyRelu,
    Relu,
    Sigmoid,
    StochasticDepth,
    Swish,
    Tanh,
)
from photofinish.layers.arithmetic import (
    Add,
    ChannelScale,
    Concat,
    Flatten,
    ImageToSequence,
    Multiply,
    Pad,
    RowsToSequence,
    Scale,
    Select,
    Slice,
    Stack,
)
from photofinish.layers.attention import AdditiveAttention, Attention
from photofinish.layers.base import Elementwise, Layer, Parameter, Shape, Spec, layer_fields
from photofinish.layers.convolution import Conv, ConvTranspose, SequenceConv
from photofinish.layers.dense import (
    ClassToken,
    Embedding,
    EmbeddingBag,
    LearnedPositions,
    Linear,
    MatMul,
    PairwiseDots,
    SinusoidalPositions,
)
from photofinish.layers.losses import CTC, BinaryCrossEntropy, SoftmaxCrossEntropy
from photofinish.layers.normalisation import BatchNorm, LayerNorm, LocalResponseNorm
from photofinish.layers.pooling import AdaptiveAveragePool, AveragePool, GlobalAveragePool, MaskedMean, MaxPool
from photofinish.layers.recurrent import GRU, LSTM, Recurrent, Scan

__all__ = [
    "CTC",
    "GRU",
    "KINDS",
    "LSTM",
    "AdaptiveAveragePool",
    "Add",
    "AdditiveAttention",
    "Attention",
    "AveragePool",
    "BatchNorm",
    "BinaryCrossEntropy",
    "ChannelScale",
    "ClassToken",
    "Clip",
    "Concat",
    "Conv",
    "ConvTranspose",
    "Dropout",
    "Elementwise",
    "Elu",
    "Embedding",
    "EmbeddingBag",
    "Flatten",
    "Gelu",
    "GlobalAveragePool",
    "ImageToSequence",
    "Layer",
    "LayerNorm",
    "LeakyRelu",
    "LearnedPositions",
    "Linear",
    "LocalResponseNorm",
    "MaskedMean",
    "MatMul",
    "MaxPool",
    "Multiply",
    "Pad",
    "PairwiseDots",
    "Parameter",
    "Recurrent",
    "Relu",
    "RowsToSequence",
    "Scale",
    "Scan",
    "Select",
    "SequenceConv",
    "Shape",
    "Sigmoid",
    "SinusoidalPositions",
    "Slice",
    "SoftmaxCrossEntropy",
    "Spec",
    "Stack",
    "StochasticDepth",
    "Swish",
    "Tanh",
    "layer_fields",
]


def _kinds(base: Type[Layer]) -> Iterator[Type[Layer]]:
    for cls in base.__subclasses__():
        yield from _kinds(cls)
        yield cls


KINDS: Dict[str, Type[Layer]] = {  # how JSON names them
    cls.__name__: cls for cls in _kinds(Layer) if "__dataclass_fields__" in vars(cls)}
