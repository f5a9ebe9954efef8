"""What Caffe2 makes of each layer, of what PyTorch 1.0.0 exports to it: exporter.py writes the export."""

from typing import Optional, Tuple

from photofinish import layers

PYTORCH = "PyTorch's own kernel, called by Caffe2"
LOWERED = {
    layers.Swish: "a product with a sigmoid",
    layers.Gelu: "made of products and tanh, or of erf, " + PYTORCH,
    layers.Attention: "products and a softmax, not one kernel",
}
LIMITS = {
    layers.AdaptiveAveragePool: "two products with constant matrices where bins overlap",
    layers.LayerNorm: PYTORCH,
    layers.LocalResponseNorm: "an odd number of channels only",
    layers.LSTM: "not every stack of several is taken: gnmt_v2's is refused",
    layers.GRU: "where the reset gate comes before the product, made of products, step by step",
}


def level(kind: type, version: str) -> Optional[Tuple[str, str]]:
    """As since.level: how Caffe2 has the layer, where that is not how today's PyTorch has it; None elsewhere."""
    if kind in LOWERED:
        return "lowered", LOWERED[kind]
    return ("native", LIMITS[kind]) if kind in LIMITS else None
