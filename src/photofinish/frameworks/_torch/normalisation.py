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


def _local_response_norm(layer: layers.LocalResponseNorm, spec: Spec) -> Native:
    turned = layer.size % 2 == 0  # an even window of PyTorch's has one channel more before its middle, not after
    call = write("F.local_response_norm", "torch.flip({0}, (1,))" if turned else "{0}", layer.size, alpha=layer.alpha,
                 beta=layer.beta, k=layer.bias)
    return Native("torch.flip(%s, (1,))" % call if turned else call)


def _layer_norm(layer: layers.LayerNorm, spec: Spec) -> Native:
    options = {} if layer.scale or layer.center else {"elementwise_affine": False}
    if layer.scale and not layer.center:
        options["bias"] = False
    call = {"C": "{self}({0})", "TC": "{self}({0})",
            "CHW": "torch.permute({self}(torch.permute({0}, (0, 2, 3, 1))), (0, 3, 1, 2))"}[spec.axes]
    return Native(call, write("nn.LayerNorm", spec.size("C"), eps=layer.epsilon, **options),
                  ("{self}.weight.requires_grad_(False)",) if layer.center and not layer.scale else ())


RULES: Rules = {
    layers.BatchNorm: _batch_norm,
    layers.LayerNorm: _layer_norm,
    layers.LocalResponseNorm: _local_response_norm,
}

LIMITS = {
    layers.BatchNorm: "one of weight and bias alone: the other is there and is not trained",
    layers.LayerNorm: "an image is transposed to channels last and back",
    layers.LocalResponseNorm: "a window of an even size runs over the channels turned round: PyTorch's reaches one "
                              "further to the other side",
}
