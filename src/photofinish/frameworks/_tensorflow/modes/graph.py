"""Steps as tf.functions, which TensorFlow's own passes rewrite and its executor runs."""

import importlib
from typing import Any, Callable, Dict

from photofinish.frameworks._tensorflow.mode import Mode as Traced


class Mode(Traced):
    """Traced, and nothing more."""

    def seen(self, contestant: Any, name: str, bound: Any) -> Dict[str, Any]:
        kernels = self._kernels(contestant, contestant.native[name].python_function,
                                self.specs(bound.structured_input_signature[0]))
        return dict(super().seen(contestant, name, bound), kernels=kernels)

    def _kernels(self, contestant: Any, function: Callable[..., Any], arguments: Any) -> Dict[str, int]:
        """The fused and oneDNN operations of a graph after TensorFlow's rewrites, with how many there are: seen
        by running a fresh trace on zeros, whose effects are undone."""
        context: Any = importlib.import_module("tensorflow.python.eager.context")  # it has no public door
        model, updater = contestant.model, contestant.updater
        variables = model.variables + (updater.variables if updater is not None else [])
        before = [variable.numpy() for variable in variables]
        context.enable_graph_collection()
        try:
            self.tf.function(function)(*(self.tf.zeros(each.shape, each.dtype) for each in arguments))
            metadata = context.export_run_metadata()
        finally:
            context.disable_graph_collection()
            for variable, value in zip(variables, before):
                variable.assign(value)
        operations = [node.op for function in metadata.function_graphs for part in function.partition_graphs
                      for node in part.node]
        return {name: operations.count(name) for name in sorted(set(operations)) if "Mkl" in name or "Fused" in name}
