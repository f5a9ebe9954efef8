"""`photofinish show`: a model as a table of layers, or as the native code a framework runs."""

import importlib.util
import json
import math
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from photofinish.cli import options
from photofinish.errors import UsageError, unknown

if TYPE_CHECKING:
    from photofinish.graph import Graph
    from photofinish.render.document import Document

ONNX = "onnx"
WRITTEN_AS = {"tensorflow": "keras", "keras-tensorflow": "keras", "keras-torch": "keras", "keras-jax": "keras",
              "keras-theano": "keras", "keras-cntk": "keras", "litert": "keras", "jax": "flax", "mxnet": "gluon",
              "caffe2": "torch", "executorch": "torch", "onnxruntime": ONNX, "onnxruntime-node": ONNX,
              "openvino": ONNX, "tensorrt": ONNX}  # framework -> its models' form


@click.command("show", epilog="""\b
Examples:
  photofinish show resnet50
  photofinish show resnet50 --as torch
  photofinish show bert_base --as keras --input 128
  photofinish show resnet18 --as torch --script > train.py
  photofinish show resnet18 --as torch --script --parallel ddp
  photofinish show resnet50 --as onnx --output resnet50.onnx
  photofinish show vgg16 --as table --input 3x320x320 --json""")
@click.argument("model")
@click.option("--as", "form", default="table", show_default=True, metavar="FORM",
              help="table, onnx, or code: torch, keras, flax, gluon, chainer, cntk, mindspore, mlx, paddle, pytensor, "
                   "theano or tinygrad.")
@click.option("--script", is_flag=True, help="The whole training program of the code, which runs on its own.")
@click.option("--parallel", default="", metavar="WAY",
              help="With --script: the program on several devices (torch: ddp, ddp-accumulate, ddp-fp16, ddp-powersgd, "
                   "ddp-localsgd, zero, fsdp2, tensor, gpipe, horovod, horovod-fp16, dp; keras: mirrored, multiworker; "
                   "flax: sharded, distributed).")
@click.option("--output", "-o", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write the ONNX model there, with weights drawn as for a race from seed 0.")
@options.shape
@options.classes
@options.as_json
def command(model: str, form: str, script: bool, parallel: str, output: Path | None, shape: tuple[int, ...] | None,
            classes: int | None, as_json: bool) -> None:
    """Show MODEL layer by layer, or as native code.

    The table counts trainable parameters and multiply-accumulates of one sample, and says which frameworks have
    every layer of their own. The code is what the framework runs, ready to paste; of ONNX it is the text of the model,
    whose weights are in the file that --output writes. Its batch is the model's own. A script trains on numbers that it
    draws, by SGD with a rate of 0.01 whatever the model's own optimizer is, and --json counts what there is of it to
    read; that of several devices tells how it is started.
    """
    from photofinish import frameworks, models
    from photofinish.cli.output import show
    forms = ("table", *frameworks.forms())
    if form not in forms:
        raise unknown("form", form, forms, meant=[WRITTEN_AS.get(form, "")])
    if output is not None and form != ONNX:
        raise UsageError(f"--output writes an ONNX model, not {form}", "add --as onnx, or leave it out")
    if parallel and not script:
        raise UsageError("--parallel changes a training program", "add --script")
    entry = models.find(model)
    graph = entry.graph(shape, classes)
    if script:
        source = program(form, entry.name, graph, entry.batch, parallel)
        click.echo(json.dumps(described_script(entry.name, form, source)) if as_json else source, nl=as_json)
    elif output is not None:
        size = write_onnx(graph, entry.batch, output)
        told = {"model": entry.name, "form": form, "file": str(output), "bytes": size}
        click.echo(json.dumps(told) if as_json else f"{output}: {size:,} bytes")
    elif form != "table":
        source = native_code(form, graph, entry.batch)
        click.echo(json.dumps({"model": entry.name, "form": form, "source": source}) if as_json else source)
    elif as_json:
        click.echo(json.dumps(describe(entry.name, graph), indent=2))
    else:
        show(table(describe(entry.name, graph), tuple(entry.names)))


def native_code(form: str, graph: "Graph", batch: int = 1) -> str:
    """Writing takes no framework, but for the package onnx. Raises UsageError if the form cannot express the graph."""
    from photofinish import frameworks
    try:
        if form != ONNX:
            return frameworks.native_source(form, graph)
        _require_onnx()
        from photofinish.frameworks._onnx import source
        return source.native_source(graph, batch)
    except frameworks.Unsupported as error:
        raise UsageError(f"--as {form}: {error}", "see the layers with --as table") from error


def program(form: str, name: str, graph: "Graph", batch: int, parallel: str = "") -> str:
    """The training program. Raises UsageError if the form has none (in that way), or cannot express the graph."""
    from photofinish import scripts
    from photofinish.frameworks import Unsupported
    if form not in scripts.forms():
        raise UsageError(f"--script: there is no training program of --as {form}",
                         f"choose from: {', '.join(scripts.forms())}")
    ways = scripts.parallel_ways(form)
    if parallel and not ways:
        able = [each for each in scripts.forms() if scripts.parallel_ways(each)]
        raise UsageError(f"--parallel: no program of --as {form} on several devices is written",
                         f"choose from: {', '.join(able)}")
    if parallel and parallel not in ways:
        raise unknown("way to train on several devices", parallel, ways)
    try:
        if parallel:
            return scripts.parallel_program(form, name, graph, batch, parallel)
        return scripts.program(form, name, graph, batch)
    except Unsupported as error:
        raise UsageError(f"--as {form}: {error}", "see the layers with --as table") from error


def described_script(name: str, form: str, source: str) -> dict[str, Any]:
    """The documented object of `show --script --json`. Raises UsageError without radon."""
    from photofinish import scripts
    return {"model": name, "form": form, "source": source, "counts": asdict(scripts.counts(source))}


def write_onnx(graph: "Graph", batch: int, path: Path) -> int:
    """Writes the ONNX model with drawn weights and returns its bytes. Raises UsageError if that cannot be."""
    _require_onnx()
    from photofinish.frameworks import Unsupported
    from photofinish.frameworks._onnx import model, source
    from photofinish.weights import initial_state
    try:
        return path.write_bytes(model.serialised(graph, source.write(graph, batch), initial_state(graph)))
    except Unsupported as error:
        raise UsageError(f"--as onnx: {error}", "see the layers with --as table") from error
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}", "choose another file") from error


def _require_onnx() -> None:
    if importlib.util.find_spec("onnx") is None:
        python = sys.version.split()[0]
        raise UsageError(f"--as onnx: onnx is not installed for this Python {python}", "pip install onnx")


def describe(name: str, graph: "Graph") -> dict[str, Any]:
    """The model as `--json` gives it. Shapes are channels first without the batch; a parameter that several
    layers share counts for the first."""
    from photofinish import support
    counted: set[str] = set()
    layers = []
    for node in graph.nodes:
        own = [each for _, each in node.parameters if each not in counted]
        counted.update(own)
        layers.append({
            "name": node.name, "kind": type(node.layer).__name__, "inputs": list(node.inputs),
            "output": list(graph.spec(node.outputs[0]).shape),
            "parameters": sum(math.prod(graph.parameters[each].shape) for each in own),
            "macs": node.layer.macs(*graph.input_specs(node)), "training_only": node.training_only})
    return {"model": name, "digest": graph.digest, "parameters": graph.parameter_count, "macs": graph.macs,
            "inputs": {each: list(spec.shape) for each, spec in graph.inputs}, "layers": layers,
            "losses": [{"kind": type(each.layer).__name__, "prediction": each.prediction, "target": each.target,
                        "weight": each.weight} for each in graph.losses],
            "support": {each: support.told(support.of_model(each, graph)) for each in support.frameworks()}}


def table(model: dict[str, Any], sources: tuple[str, ...] = ()) -> "Document":
    """`sources` are the libraries under whose names it takes weights."""
    from photofinish.cli.output import sheet
    from photofinish.render.document import Column, Facts, Table
    columns = (Column("Layer", "code"), Column("Kind"), Column("Output"), Column("Parameters", "count"),
               Column("MACs", "count"))
    rows = tuple((each["name"] + (" (training only)" if each["training_only"] else ""), each["kind"],
                  "x".join(map(str, each["output"])), each["parameters"], each["macs"]) for each in model["layers"])
    inputs = ", ".join(f"{name} {'x'.join(map(str, shape))}".rstrip() for name, shape in model["inputs"].items())
    totals = f"{model['parameters']:,} parameters, {model['macs']:,} multiply-accumulates"
    losses = tuple(("loss", f"{each['kind']} of {each['prediction']} and {each['target']}"
                    + (f", times {each['weight']:g}" if each["weight"] != 1 else "")) for each in model["losses"])
    support = tuple((f"in {name}", each["level"] + (f" ({each['reason']})" if each["reason"] else "")
                     + (", inference only" if each["tasks"] == ["infer"] else ""))
                    for name, each in model["support"].items())
    weights = (("weights", f"under these names, or as {' or '.join(sources)} names them"
                if sources else "under these names: no other library's are known"),)
    facts = Facts(losses + weights + support)
    return sheet(model["model"], f"{inputs}: {totals}", Table("layers", columns, rows), facts)
