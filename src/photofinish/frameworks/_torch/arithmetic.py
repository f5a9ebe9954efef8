"""Sums, products, and layers that only move values."""

from photofinish import layers
from photofinish.frameworks._torch.native import Native, Rules, plain

RULES: Rules = {
    layers.Flatten: plain("torch.flatten({0}, 1)"),
    layers.Add: plain("{0} + {1}"),
    layers.Multiply: plain("{0} * {1}"),
    layers.Concat: lambda layer, *specs: Native("torch.cat((%s), %d)" % (
        ", ".join("{%d}" % i for i in range(len(specs))), 1 + specs[0].axes.index(layer.axis))),
    layers.Stack: lambda layer, *specs: Native("torch.stack((%s), 1)" % ", ".join(
        "{%d}" % i for i in range(len(specs)))),
}
