"""Steps as tf.functions that XLA compiles."""

from typing import Any, Callable, Dict

from photofinish.frameworks._tensorflow.mode import Mode as Traced


class Mode(Traced):
    """Traced and compiled."""

    written = "xla"
    compiled = True

    def function(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return self.tf.function(function, jit_compile=True)  # type: ignore[no-any-return]

    def seen(self, contestant: Any, name: str, bound: Any) -> Dict[str, Any]:
        arguments = self.specs(bound.structured_input_signature[0])
        compiled = contestant.native[name].experimental_get_compiler_ir(*arguments)(stage="optimized_hlo")
        return dict(super().seen(contestant, name, bound), fused_kernels=compiled.count(" fusion("),
                    library_calls=compiled.count(" custom-call("))
