"""Inference from a SavedModel: the model as Keras exports it for serving, loaded again."""

from tempfile import TemporaryDirectory
from typing import Any, Callable, Dict, List

from photofinish.frameworks._common.stale import digest
from photofinish.frameworks._tensorflow.mode import Mode as Traced


class Mode(Traced):
    """Exported when the first batch comes, and again when other weights have been put."""

    trains = False
    made_of = ""  # the digest of the weights in the SavedModel

    def bind(self, contestant: Any, name: str, specs: List[Any]) -> Callable[..., Any]:
        model = contestant.native.get("inference", contestant.model)
        signature = [specs[0]] if len(specs) == 1 else [specs]  # Keras takes several inputs as one list
        with TemporaryDirectory() as folder:
            model.export(folder, format="tf_saved_model", verbose=False, input_signature=signature)
            self.loaded = self.tf.saved_model.load(folder)
        self.made_of = self._weights(contestant)
        served = self.loaded.serve
        return served if len(specs) == 1 else lambda *inputs: served(list(inputs))

    def renew(self, contestant: Any) -> None:
        if self.made_of and self.made_of != self._weights(contestant):
            contestant.bound.clear()

    def _weights(self, contestant: Any) -> str:
        return digest(variable.numpy() for variable in contestant.model.variables)

    def seen(self, contestant: Any, name: str, bound: Any) -> Dict[str, Any]:
        """Of the function that was loaded."""
        (traced,) = self.loaded.serve.concrete_functions
        return {"graph_nodes": len(traced.graph.as_graph_def().node), "variables": len(self.loaded.variables)}
