"""Normalisations."""

from photofinish import layers
from photofinish.frameworks._torch.native import Native, Rules, write
from photofinish.layers import Spec


def _batch_norm(layer: layers.BatchNorm, spec: Spec) -> Native:
    kind = {"C": "nn.BatchNorm1d", "TC": "nn.BatchNorm1d", "CHW": "nn.BatchNorm2d"}[spec.axes]
    module = write(kind, spec.size("C"), eps=layer.epsilon, momentum=float("%.15g" % (1 - layer.momentum)),
                    affine=layer.scale or layer.center)
    frozen = [name for name, kept in (("weight", layer.scale), ("bias", layer.center)) if not kept]
    call = "torch.transpose({self}(torch.transpose({0}, 1, 2)), 1, 2)" if spec.axes == "TC" else "{self}({0})"
    return Native(call, module, tuple("{self}.%s.requires_grad_(False)" % name for name in frozen)
                  if len(frozen) == 1 else ())


RULES: Rules = {layers.BatchNorm: _batch_norm}
