"""What the printed source calls that PyTorch has not always had, and what older versions run in its place.

So one source serves every version. None of this imports PyTorch: older.py hands it over.
"""

import math
from types import SimpleNamespace
from typing import Any, Callable, NamedTuple, Optional, Tuple

import numpy as np

from photofinish import layers

Release = Tuple[int, ...]


class Newer(NamedTuple):
    """A name below torch: the release since which it is what the source needs, what `make` makes in its place of an
    older torch, and the layers that are lowered by that, with how."""

    path: str
    since: Release
    make: Callable[[Any], Any]
    kinds: Tuple[type, ...] = ()
    how: str = ""


def release(version: str) -> Release:
    """(1, 12) of "1.12.1+cpu"."""
    return tuple(int(each) for each in version.split("+")[0].split(".")[:2])


def _silu(torch: Any) -> Any:
    return lambda x: x * torch.sigmoid(x)


def _gelu(torch: Any) -> Any:
    own = getattr(torch.nn.functional, "gelu", None)

    def gelu(x: Any, approximate: str = "none") -> Any:
        if own and approximate == "none":
            return own(x)
        inner = (torch.erf(x / math.sqrt(2)) if approximate == "none" else
                 torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))
        return 0.5 * x * (1 + inner)
    return gelu


def _cross_entropy(torch: Any) -> Any:
    own, functional = torch.nn.functional.cross_entropy, torch.nn.functional

    def cross_entropy(logits: Any, labels: Any, ignore_index: int = -100, label_smoothing: float = 0.0) -> Any:
        if not label_smoothing:
            return own(logits, labels, ignore_index=ignore_index)
        logs = functional.log_softmax(logits, 1)
        counted = (labels != ignore_index).to(logits.dtype)
        spread = -(logs.mean(1) * counted).sum() / counted.sum()
        own_class = functional.nll_loss(logs, labels, ignore_index=ignore_index)
        return (1 - label_smoothing) * own_class + label_smoothing * spread
    return cross_entropy


def _attention(torch: Any) -> Any:
    def attention(query: Any, key: Any, value: Any, attn_mask: Any = None, is_causal: bool = False) -> Any:
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.shape[-1])
        if is_causal:
            attn_mask = torch.ones(scores.shape[-2:], device=scores.device).tril() > 0
        if attn_mask is not None:
            scores = scores.masked_fill(attn_mask == 0, float("-inf"))
        return torch.matmul(torch.softmax(scores, -1), value)
    return attention


def _layer_norm(torch: Any) -> Any:
    class LayerNorm(torch.nn.LayerNorm):  # type: ignore[name-defined, misc]
        """Takes bias=False."""

        def __init__(self, features: int, eps: float = 1e-5, elementwise_affine: bool = True,
                     bias: bool = True) -> None:
            super().__init__(features, eps, elementwise_affine)
            if not bias:
                self.register_parameter("bias", None)
    return LayerNorm


def _reset_parameters(torch: Any) -> Any:
    own = torch.nn.modules.batchnorm._BatchNorm.reset_parameters

    def reset_parameters(self: Any) -> None:
        """Scales are one at first, not random: those that a layer lacks stay so."""
        own(self)
        if self.affine:
            torch.nn.init.ones_(self.weight)
    return reset_parameters


def _register_buffer(torch: Any) -> Any:
    own = torch.nn.Module.register_buffer
    return lambda self, name, tensor, persistent=True: own(self, name, tensor)


def _unflatten(torch: Any) -> Any:
    return lambda x, axis, sizes: x.reshape(x.shape[:axis] + tuple(sizes) + x.shape[axis + 1:])


def _lerp(torch: Any) -> Any:
    return lambda start, end, weight: start + weight * (end - start)


NEWER = (
    Newer("nn.functional.silu", (1, 7), _silu, (layers.Swish,), "x * torch.sigmoid(x)"),
    Newer("nn.functional.gelu", (1, 12), _gelu, (layers.Gelu,), "by tanh, before 1.2 by erf, too, products and sums"),
    Newer("nn.functional.cross_entropy", (1, 10), _cross_entropy, (layers.SoftmaxCrossEntropy,),
          "smoothed labels by log_softmax and a mean; without smoothing F.cross_entropy"),
    Newer("nn.functional.scaled_dot_product_attention", (2, 0), _attention, (layers.Attention,),
          "products and a softmax, not one kernel"),
    Newer("nn.LayerNorm", (2, 1), _layer_norm),
    Newer("nn.modules.batchnorm._BatchNorm.reset_parameters", (1, 2), _reset_parameters),
    Newer("nn.Module.register_buffer", (1, 6), _register_buffer),
    Newer("Tensor.unflatten", (1, 13), _unflatten),
    Newer("permute", (1, 9), lambda torch: lambda x, axes: x.permute(*axes)),
    Newer("lerp", (1, 2), _lerp),
    Newer("tril_indices", (1, 1), lambda torch: lambda rows, columns, offset: torch.tensor(
        np.stack(np.tril_indices(rows, offset, columns)))),
    Newer("linalg", (1, 8), lambda torch: SimpleNamespace(vector_norm=lambda x: x.norm())),
    Newer("compiler", (2, 1), lambda torch: SimpleNamespace(disable=lambda function: function)),
)
ADAM_ADDS_EPSILON_LAST = (1, 3)  # after the bias correction, that is


def _soften(switches: Any) -> None:
    """Lets hasattr ask for a switch that there is not, where PyTorch (1.7 to 1.13) fails an assertion."""
    own = type(switches).__getattr__

    def get(self: Any, name: str) -> Any:
        try:
            return own(self, name)
        except AssertionError as error:
            raise AttributeError(name) from error

    type(switches).__getattr__ = get


def fill(torch: Any) -> None:
    """Puts what this PyTorch lacks where the printed source looks for it."""
    if (1, 7) <= release(torch.__version__) < (2, 0):
        _soften(torch.backends.cuda.matmul)
    for each in NEWER:
        if release(torch.__version__) < each.since:
            where, _, name = ("." + each.path).rpartition(".")
            place = torch
            for part in filter(None, where.split(".")):
                place = getattr(place, part)
            setattr(place, name, each.make(torch))


def level(kind: type, version: str) -> Optional[Tuple[str, str]]:
    """Whether this version makes the layer of several operations though PyTorch has it today, and how; None if not."""
    for each in NEWER:
        if kind in each.kinds and release(version) < each.since:
            return "lowered", "{}: the one call came with PyTorch {}".format(each.how, ".".join(map(str, each.since)))
    return None
