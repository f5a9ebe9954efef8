"""ResNet-50 (v1.5) as PyTorch's own exporter writes it in ONNX."""

import io
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.idioms.sides import Sample, Side, sides
from benchmarks.idioms.torch import hand_written_resnet50
from benchmarks.paired import build, graph_of


def exported(state: dict[str, Any], size: int, batch: int) -> bytes:
    """The file of the hand-written network with those arrays, which both declare in running order."""
    import torch

    model = hand_written_resnet50().eval()
    arrays = [values for name, values in state.items()]
    own = [name for name in model.state_dict() if not name.endswith("num_batches_tracked")]
    model.load_state_dict({name: torch.from_numpy(values) for name, values in zip(own, arrays, strict=True)},
                          strict=False)
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that this exporter is the older one; the newer one needs onnxscript
        torch.onnx.export(model, (torch.zeros(batch, 3, size, size),), file, dynamo=False)
    return file.getvalue()


def running_order(built: Any) -> dict[str, Any]:
    """Canonical arrays as PyTorch's state_dict has them: layer by layer, statistics behind parameters."""
    found = {}
    for node in built.graph.nodes:
        found.update({"parameter/" + name: built.state["parameter/" + name] for _, name in node.parameters})
        found.update({"state/" + name: built.state["state/" + name] for _, name in node.state})
    return found


class Session(Side):
    def __init__(self, session: Any) -> None:
        self.session = session

    def step(self, task: str) -> Callable[..., Any]:
        session, (image,) = self.session, self.session.get_inputs()
        return lambda values, label: session.run(None, {image.name: values})[0]


def run(options: Any) -> Iterator[Sample]:
    built = build("onnxruntime:default", graph_of("resnet50", options.size), options.batch)
    contestant = built.contestant
    theirs = contestant.load(exported(running_order(built), options.size, options.batch))
    batches = [(each["image"], each["label"]) for each in built.batches]
    return sides("onnxruntime resnet50", "torch.onnx", Session(contestant.session), Session(theirs), batches, options,
                 tasks=("infer",))
