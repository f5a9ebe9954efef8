"""Products with a weight, and tables that are looked up or added."""

from photofinish import layers
from photofinish.frameworks._torch.native import Native, Rules, write

RULES: Rules = {
    layers.Linear: lambda layer, spec: Native(
        "{self}({0})", write("nn.Linear", spec.size("C"), layer.features, bias=layer.bias)),
    layers.Embedding: lambda layer, spec: Native(
        "{self}({0})", write("nn.Embedding", layer.vocabulary, layer.features)),
}
