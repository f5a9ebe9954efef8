"""Elementwise functions and random layers."""

from dataclasses import dataclass

from photofinish.layers.base import Elementwise


@dataclass(frozen=True)
class Relu(Elementwise):
    """ONNX Relu."""


@dataclass(frozen=True)
class Clip(Elementwise):
    """ONNX Clip: Clip(0, 6) is what MobileNet calls ReLU6. The gradient is 0 outside (low, high)."""

    low: float
    high: float


@dataclass(frozen=True)
class Sigmoid(Elementwise):
    """ONNX Sigmoid."""


@dataclass(frozen=True)
class Tanh(Elementwise):
    """ONNX Tanh."""


@dataclass(frozen=True)
class Swish(Elementwise):
    """ONNX Swish with alpha = 1: x * sigmoid(x), also called SiLU."""


@dataclass(frozen=True)
class Dropout(Elementwise):
    """ONNX Dropout: in training zeroes each element with probability `rate`, scales the rest by 1/(1-rate)."""

    rate: float

    @property
    def random(self) -> bool:
        return self.rate > 0


@dataclass(frozen=True)
class StochasticDepth(Elementwise):
    """In training zeroes whole samples with probability `rate`, scales the rest by 1/(1-rate).

    Source: Huang et al. 2016, arXiv 1603.09382 (torchvision's mode "row").
    """

    rate: float

    @property
    def random(self) -> bool:
        return self.rate > 0


@dataclass(frozen=True)
class LeakyRelu(Elementwise):
    """ONNX LeakyRelu: x where positive, alpha * x elsewhere."""

    alpha: float = 0.01


@dataclass(frozen=True)
class Elu(Elementwise):
    """ONNX Elu: x where positive, alpha * (exp(x) - 1) elsewhere (Clevert et al. 2015, arXiv 1511.07289)."""

    alpha: float = 1.0


@dataclass(frozen=True)
class Gelu(Elementwise):
    """ONNX Gelu: x * Phi(x) (Hendrycks & Gimpel 2016, arXiv 1606.08415). `approximate` is "none" (erf) or "tanh"."""

    approximate: str = "none"
