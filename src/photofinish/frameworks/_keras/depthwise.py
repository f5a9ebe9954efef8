"""Which convolutions are depthwise to Keras: asked by what writes them, and by what finds their weights."""

from typing import Union

from photofinish import layers
from photofinish.layers import Spec


def is_depthwise(layer: Union[layers.Conv, layers.SequenceConv], spec: Spec) -> bool:
    return layer.groups == spec.size("C") > 1
