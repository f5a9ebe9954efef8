"""What PyTorch 1.0.0's export to ONNX lacks, or says so that Caffe2 does not take it (test_layers saw it): in operators
that both have, or by PyTorch's own, which Caffe2 calls ("ATen"). A user would register the same.

A rule of the exporter takes its graph, the operator's inputs as values of it, and attributes as numbers.
"""

from functools import partial, reduce
from typing import Any, List

import numpy as np
import torch
from torch.onnx import symbolic, utils

INT32 = 6  # as ONNX numbers types
LEAST = float(np.finfo(np.float32).min)


def _sizes(x: Any) -> List[int]:
    return list(x.type().sizes())


def _reshape(graph: Any, x: Any, shape: List[int]) -> Any:
    return graph.op("Reshape", x, graph.op("Constant", value_t=torch.LongTensor(shape)))


def _narrow(graph: Any, x: Any, axis: int, start: int, length: int) -> Any:
    return graph.op("Slice", x, axes_i=[axis], starts_i=[start], ends_i=[start + length])


def _expand(graph: Any, x: Any, shape: List[int], implicit: int) -> Any:
    return graph.op("ATen", x, operator_s="expand", size_i=shape, implicit_i=implicit)


def _pad(graph: Any, x: Any, padding: List[int], value: float) -> Any:
    if len(padding) == 4 and min(padding) >= 0:
        left, right, top, bottom = padding
        return graph.op("Pad", x, pads_i=[0, 0, top, left, 0, 0, bottom, right], mode_s="constant", value_f=value)
    return graph.op("ATen", x, operator_s="constant_pad_nd", pad_i=padding, value_f=value)


def _equal(graph: Any, x: Any, y: Any) -> Any:
    """Of masks, whose bytes Caffe2 does not compare."""
    return graph.op("Equal", *(graph.op("Cast", each, to_i=INT32) for each in (x, y)))


def _pow(graph: Any, x: Any, exponent: float) -> Any:
    if exponent < 1 or exponent % 1:
        return graph.op("ATen", x, operator_s="pow", exponent_f=exponent)
    return reduce(lambda y, _: graph.op("Mul", y, x), range(int(exponent) - 1), x)


def _layer_norm(graph: Any, x: Any, shape: List[int], weight: Any, bias: Any, epsilon: float, cudnn: int) -> Any:
    given = [graph.op("Constant", value_t=torch.full(shape, value)) if each.node().kind() == "prim::Undefined" else each
             for each, value in ((weight, 1.0), (bias, 0.0))]
    return graph.op("ATen", x, *given, operator_s="layer_norm", normalized_shape_i=shape, eps_f=epsilon,
                    cudnn_enable_i=cudnn)


def _reach(x: Any, kernel: List[int], stride: List[int], padding: List[int], ceil: int) -> List[int]:
    """How far the last windows reach over the padding."""
    spans = [size + 2 * pad - each for size, pad, each in zip(_sizes(x)[2:], padding, kernel)]
    return [-span % step if ceil and span + -span % step < size + pad else 0
            for span, step, size, pad in zip(spans, stride, _sizes(x)[2:], padding)]


def _max_pool(graph: Any, x: Any, kernel: List[int], stride: List[int], padding: List[int], dilation: List[int],
              ceil: int) -> Any:
    reach = _reach(x, kernel, stride or kernel, padding, ceil)
    pads = padding + [pad + more for pad, more in zip(padding, reach)]
    return graph.op("MaxPool", x, kernel_shape_i=kernel, strides_i=stride or kernel, pads_i=pads), None


def _average_pool(graph: Any, x: Any, kernel: List[int], stride: List[int], padding: List[int], ceil: int,
                  counting: int) -> Any:
    reach = _reach(x, kernel, stride or kernel, padding, ceil)
    if counting:
        x, padding = _pad(graph, x, [padding[1]] * 2 + [padding[0]] * 2, 0.0), [0, 0]
    pads = padding + [pad + more for pad, more in zip(padding, reach)]
    return graph.op("AveragePool", x, kernel_shape_i=kernel, strides_i=stride or kernel, pads_i=pads)


def _bins(size: int, count: int) -> Any:
    """(count, size): each row takes the mean of its bin."""
    matrix = torch.zeros(count, size)
    for i in range(count):
        start, stop = i * size // count, -(-(i + 1) * size // count)
        matrix[i, start:stop] = 1.0 / (stop - start)
    return matrix


def _adaptive_average_pool(graph: Any, x: Any, counts: List[int]) -> Any:
    sizes = _sizes(x)[2:]
    if any(size % count for size, count in zip(sizes, counts)):
        down, across = (graph.op("Constant", value_t=each) for each in (
            _bins(sizes[0], counts[0]), _bins(sizes[1], counts[1]).t().contiguous()))
        return graph.op("MatMul", graph.op("MatMul", down, x), across)
    kernel = [size // count for size, count in zip(sizes, counts)]
    return graph.op("AveragePool", x, kernel_shape_i=kernel, strides_i=kernel)


def _recurrent(graph: Any, kind: str, x: Any, *given: Any) -> Any:
    """With time in front, as ONNX has it."""
    *others, batch_first = given
    turned = partial(graph.op, "Transpose", perm_i=[1, 0, 2])
    found = _time_first(graph, kind, turned(x) if batch_first else x, *others)
    return ((turned(found[0]) if batch_first else found[0]),) + tuple(found[1:])


class Response(torch.autograd.Function):  # type: ignore[misc]
    """Local response normalisation, which PyTorch makes of a pool over three dimensions."""

    @staticmethod
    def forward(context: Any, x: Any, size: int, alpha: float, beta: float, k: float) -> Any:
        return _response(x, size, alpha, beta, k)

    @staticmethod
    def symbolic(graph: Any, x: Any, size: int, alpha: float, beta: float, k: float) -> Any:
        if size % 2 == 0:
            raise RuntimeError("the window of a local response normalisation is even")
        return graph.op("LRN", x, size_i=size, alpha_f=alpha, beta_f=beta, bias_f=k)


RULES = {  # and what kind of value each argument is
    "view": (_reshape, "v is"),
    "reshape": (_reshape, "v is"),
    "narrow": (_narrow, "v i i i"),
    "expand": (_expand, "v is i"),
    "constant_pad_nd": (_pad, "v is f"),
    "eq": (_equal, "v v"),
    "pow": (_pow, "v f"),
    "layer_norm": (_layer_norm, "v is v v f i"),
    "max_pool2d_with_indices": (_max_pool, "v is is is is i"),
    "avg_pool2d": (_average_pool, "v is is is i i"),
    "adaptive_avg_pool2d": (_adaptive_average_pool, "v is"),
    "erf": (lambda graph, x: graph.op("ATen", x, operator_s="erf"), "v"),
    "frobenius_norm": (lambda graph, x: graph.op("ReduceL2", x, keepdims_i=0), "v"),
}
_time_first, _response = symbolic._generic_rnn, torch.nn.functional.local_response_norm
_unsqueeze, _get = torch.Tensor.unsqueeze, torch.Tensor.__getitem__


def _picked(x: Any, key: Any) -> Any:
    """Pairs of rows and columns by one index."""
    if not (isinstance(key, tuple) and isinstance(key[-1], torch.Tensor)):
        return _get(x, key)
    _, rows, columns = key
    return x.reshape(x.shape[0], -1).index_select(1, rows * x.shape[2] + columns)


def _flip(x: Any, *axes: Any) -> Any:
    axis = axes[0] if isinstance(axes[0], int) else axes[0][0]
    return x.index_select(axis, torch.arange(x.shape[axis] - 1, -1, -1))


def _split(x: Any, sizes: Any, axis: int = 0) -> Any:
    return tuple(x.narrow(axis, sum(sizes[:i]), size) for i, size in enumerate(sizes))


def mend() -> None:
    """Puts all this in its place, for the whole process."""
    for name, (rule, kinds) in RULES.items():
        setattr(symbolic, name, symbolic.parse_args(*kinds.split())(rule))
    symbolic._generic_rnn = _recurrent
    utils._unique_state_dict = partial(utils._unique_state_dict, keep_vars=True)  # or it counts what is tied twice
    torch._C._jit_pass_canonicalize_ops = lambda graph: None  # which forgets the sizes of what a number multiplies
    torch.Tensor.shape = property(lambda x: torch.Size(map(int, x.size())))  # numbers, not values of the graph
    torch.flatten = torch.Tensor.flatten = lambda x, start=0: x.reshape(x.shape[:start] + (-1,))
    torch.flip = torch.Tensor.flip = _flip
    torch.Tensor.split, torch.Tensor.__getitem__ = _split, _picked
    torch.Tensor.chunk = lambda x, count, axis=0: _split(x, [x.shape[axis] // count] * count, axis)
    torch.ones_like = lambda x: torch.ones(x.shape)
    torch.Tensor.unsqueeze = lambda x, axis: _unsqueeze(x, axis % (x.dim() + 1))
    torch.Tensor.__invert__ = lambda x: x == 0
    torch.Tensor.__and__ = lambda x, y: x.to(torch.float32) * y.to(torch.float32)
    torch.Tensor.unbind = lambda x, axis=0: tuple(x.select(axis, i) for i in range(x.shape[axis]))
    torch.Tensor.masked_fill = lambda x, mask, value: x + LEAST * mask.to(x.dtype)  # only minus infinity is asked for
    torch.nn.functional.local_response_norm = lambda x, size, alpha=1e-4, beta=0.75, k=1.0: Response.apply(
        x, size, alpha, beta, k)
