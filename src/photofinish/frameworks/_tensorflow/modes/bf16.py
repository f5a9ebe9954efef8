"""Keras' policy mixed_bfloat16: layers compute in bfloat16; weights, updates, outputs and loss are in float32.

Its certificate is by the rounding of that format, beside that of mode graph, whose steps it runs.
"""

from typing import Any, Callable, Dict

from photofinish.frameworks._tensorflow.modes.graph import Mode as Graph

POLICY = "mixed_bfloat16"


class Mode(Graph):
    """The steps of mode graph, whose model has been given the policy."""

    native: Any = None  # the module whose model has it

    def renew(self, contestant: Any) -> None:
        """Arrays are put before the first step: a model that was made since the last time is given the policy."""
        if contestant.native is self.native:
            return
        self.native = contestant.native
        for name in {"model", "inference"}.intersection(self.native):
            self.native[name] = _mixed(contestant.library, self.native[name])
        contestant.model = self.native["model"]

    def function(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """An operation by itself, which has nothing but tensors, is given what a layer under the policy gives it, and
        ends as a model does."""
        tf = self.tf

        def cast(*arguments: Any) -> Any:
            if not all(map(tf.is_tensor, arguments)):
                return function(*arguments)
            return tf.cast(function(*(tf.cast(each, tf.bfloat16) for each in arguments)), tf.float32)

        return super().function(cast)

    def seen(self, contestant: Any, name: str, bound: Any) -> Dict[str, Any]:
        policies = {layer.dtype_policy.name for layer in contestant.model.layers}
        return dict(super().seen(contestant, name, bound), policies=sorted(policies))


def _mixed(keras: Any, model: Any) -> Any:
    """The model with its own layers under the policy, and in float32 at its end, as Keras advises."""
    for layer in model._flatten_layers(include_self=False):  # those within layers, too, have no public door
        layer.dtype_policy = POLICY
    return keras.Model(model.inputs if len(model.inputs) > 1 else model.input, {
        name: keras.layers.Activation("linear", dtype="float32")(output) for name, output in model.output.items()})
