"""What a mode of TensorFlow decides: how a function of tensors runs, and which text the steps are written in.

Each mode is a class `Mode` in a file of modes/. None imports TensorFlow: ../tensorflow.py hands it over.
"""

from typing import Any, Callable, Dict, List

from photofinish.frameworks import Setup


class Mode:
    """Functions traced to graphs: what a mode does not say otherwise."""

    written = "graph"  # which of _keras/source.py's MODES the steps are written in
    trains = True  # else the header says `tasks = { <mode> = ["infer"] }`
    compiled = False

    def __init__(self, tf: Any, setup: Setup) -> None:
        """Raises Unsupported where this TensorFlow, or the device, lacks the mode."""
        self.tf = tf
        self.setup = setup

    def function(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of tensors as this mode runs it."""
        return self.tf.function(function)  # type: ignore[no-any-return]

    def bind(self, contestant: Any, name: str, specs: List[Any]) -> Callable[..., Any]:
        """The printed step of that name for such arguments: its trace, looked up once, so that no step pays for a
        search of traces."""
        return contestant.native[name].get_concrete_function(*specs)  # type: ignore[no-any-return]

    def renew(self, contestant: Any) -> None:
        """Called when arrays have been put into the model, in place: what was made of the old values is stale."""

    def specs(self, arguments: Any) -> List[Any]:
        """What tf.function tells traces apart by, without names."""
        return [self.tf.TensorSpec(each.shape, each.dtype) for each in arguments]

    def seen(self, contestant: Any, name: str, bound: Any) -> Dict[str, Any]:
        """Of a step that has run: how often it was traced, and what became of it."""
        return {"traces": contestant.native[name].experimental_get_tracing_count(),
                "graph_nodes": len(bound.graph.as_graph_def().node)}
