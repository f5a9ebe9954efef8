"""Attention: what one sequence takes from another."""

from dataclasses import dataclass
from typing import Tuple

from photofinish.layers.base import Layer, Parameter, Spec


def _check(query: Spec, key: Spec, value: Spec, masks: Tuple[Spec, ...]) -> None:
    if any(spec.axes != "TC" for spec in (query, key, value)):
        raise ValueError("needs sequences TC, got axes " + ", ".join(spec.axes for spec in (query, key, value)))
    if query.size("C") != key.size("C") or key.size("T") != value.size("T"):
        raise ValueError("query {}, key {} and value {} do not fit".format(query.shape, key.shape, value.shape))
    if any(mask.dtype != "bool" or mask.shape != (key.size("T"),) for mask in masks):
        raise ValueError("needs a boolean mask over the {} key positions".format(key.size("T")))


@dataclass(frozen=True)
class Attention(Layer):
    """ONNX Attention of projected sequences: softmax(q k / sqrt(C / heads)) v in each head, heads side by side.

    Inputs: query, key, value "TC", and optionally a boolean mask over the key positions, true where one may be looked
    at (at least one must). `causal`: position t looks at positions up to t. Probabilities are not dropped out.
    Source: Vaswani et al. 2017, arXiv 1706.03762.
    """

    heads: int
    causal: bool = False

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        query, key, value = inputs[:3]
        _check(query, key, value, inputs[3:])
        if query.size("C") % self.heads or value.size("C") % self.heads:
            raise ValueError("{} heads divide neither {} nor {} channels evenly".format(
                self.heads, query.size("C"), value.size("C")))
        if self.causal and query.size("T") != key.size("T"):
            raise ValueError("causal attention needs as many queries as keys")
        return (query.resized(C=value.size("C")),)

    def macs(self, *inputs: Spec) -> int:
        query, key, value = inputs[:3]
        return query.size("T") * key.size("T") * (query.size("C") + value.size("C"))


@dataclass(frozen=True)
class AdditiveAttention(Layer):
    """Normed Bahdanau attention: softmax over keys of sum_c u_c tanh(query_c + key_c + bias_c), then the mean of the
    values by it; u = scale * weight / |weight|.

    Inputs: projected query "TC", projected key "TC", value "TC", and optionally a boolean mask over the key positions.
    Parameters: weight (C,), scale (1,), bias (C,). Sources: Bahdanau et al. 2014, arXiv 1409.0473; normed as in
    TensorFlow's BahdanauAttention(normalize=True) and NVIDIA's GNMT v2.
    """

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        query, key, value = inputs[:3]
        _check(query, key, value, inputs[3:])
        return (query.resized(C=value.size("C")),)

    def parameters(self, *inputs: Spec) -> Tuple[Parameter, ...]:
        channels = inputs[0].size("C")
        return (Parameter("weight", (channels,), "normal", channels), Parameter("scale", (1,), "ones"),
                Parameter("bias", (channels,), "zeros"))

    def macs(self, *inputs: Spec) -> int:
        query, key, value = inputs[:3]
        return query.size("T") * key.size("T") * (query.size("C") + value.size("C"))
