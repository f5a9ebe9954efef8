"""The as-shipped twins: ours takes their weights and gives their outputs; what does not fit is told, not forced."""

import importlib.util
import json
import sys
import types
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parity.contenders import make
from photofinish import environments, models
from photofinish.cli import run
from photofinish.data import draw_batch
from photofinish.environments import where_listed
from photofinish.errors import UsageError
from photofinish.files import images, weights
from photofinish.files.names import translated
from photofinish.frameworks import Contestant, Setup, Unsupported, WrongUse, load
from photofinish.frameworks._keras import numbered
from photofinish.frameworks.numpy import Contestant as Reference
from photofinish.graph import Graph
from photofinish.layers import Shape
from photofinish.measure import proof
from photofinish.optimizers import SGD
from photofinish.referee import certificate
from photofinish.render.quantities import plain
from photofinish.reports.certificate import refused, section
from photofinish.reports.verdict import outcome, sentence
from photofinish.runner.arrange import find_entries
from photofinish.runner.predict import _cannot_take
from photofinish.stats import judge
from photofinish.values import Certificate, Contender, Result
from photofinish.values.proof import UNNAMED
from photofinish.weights import Arrays, perturbed_state
from photofinish.worker import Worker, answer

LIMIT = 1e-5  # relative to the largest output
SMALL: Shape = (3, 64, 64)
PAIRS = [  # our model, the framework, the twin, an input
    ("resnet50", "torch", "torchvision:resnet50", SMALL),
    ("resnet50", "torch", "timm:resnet50", SMALL),
    ("mobilenet_v2", "torch", "torchvision:mobilenet_v2", SMALL),
    ("densenet121", "torch", "torchvision:densenet121", SMALL),
    ("densenet121", "torch", "timm:densenet121", SMALL),
    ("efficientnet_b0", "torch", "torchvision:efficientnet_b0", SMALL),
    ("vgg16_bn", "torch", "torchvision:vgg16_bn", (3, 32, 32)),
    ("alexnet", "torch", "torchvision:alexnet", (3, 63, 63)),
    ("squeezenet", "torch", "torchvision:squeezenet1_0", (3, 40, 40)),
    ("squeezenet1_1", "torch", "torchvision:squeezenet1_1", (3, 40, 40)),
    ("inception_v3", "torch", "torchvision:inception_v3", (3, 299, 299)),
    ("inception_v3_no_aux", "torch", "torchvision:inception_v3", (3, 75, 75)),
    ("googlenet", "torch", "torchvision:googlenet", SMALL),
    ("vit_b16", "torch", "torchvision:vit_b_16", (3, 224, 224)),
    ("vit_b16", "torch", "timm:vit_base_patch16_224", (3, 224, 224)),
    ("convnext_tiny", "torch", "torchvision:convnext_tiny", SMALL),
    ("gpt2_small", "torch", "transformers:gpt2", (8,)),
    ("mobilenet_v1", "torch", "timm:mobilenetv1_100", SMALL),
    ("dpn68", "torch", "timm:dpn68", SMALL),
    ("se_resnet50", "torch", "timm:seresnet50", SMALL),
    ("se_resnext50", "torch", "timm:seresnext50_32x4d", SMALL),
    ("senet154", "torch", "timm:legacy_senet154", SMALL),
    ("regnet_x_400mf", "torch", "torchvision:regnet_x_400mf", SMALL),
    ("regnet_y_400mf", "torch", "torchvision:regnet_y_400mf", SMALL),
    ("regnet_x_400mf", "torch", "timm:regnetx_004_tv", SMALL),
    ("regnet_y_400mf", "torch", "timm:regnety_004", SMALL),
    ("inception_v4", "torch", "timm:inception_v4", (3, 75, 75)),
    ("inception_resnet_v2", "torch", "timm:inception_resnet_v2", (3, 75, 75)),
    ("xception", "torch", "timm:legacy_xception", SMALL),
    ("nasnet_a_large", "torch", "timm:nasnetalarge", (3, 43, 43)),
    ("pnasnet5_large", "torch", "timm:pnasnet5large", (3, 43, 43)),
    ("bert_base", "torch", "transformers:bert-base", (8,)),
    ("bert_base_mlm", "torch", "transformers:BertForPreTraining", (8,)),
    ("resnet50_v1_keras", "tensorflow", "keras.applications:ResNet50", SMALL),
    ("resnet50_v2_keras", "tensorflow", "keras.applications:ResNet50V2", SMALL),
    ("mobilenet_v2_keras", "tensorflow", "keras.applications:MobileNetV2", SMALL),
    ("densenet121_keras", "tensorflow", "keras.applications:DenseNet121", SMALL),
    ("vgg16_keras", "tensorflow", "keras.applications:VGG16", (3, 32, 32)),
    ("inception_v3_keras", "tensorflow", "keras.applications:InceptionV3", (3, 75, 75)),
    ("inception_resnet_v2_keras", "tensorflow", "keras.applications:InceptionResNetV2", (3, 75, 75)),
    ("nasnet_a_mobile", "tensorflow", "keras.applications:NASNetMobile", (3, 32, 32)),
]
MODES = {"torch": "eager", "tensorflow": "eager"}
OPTIMIZER = SGD(1e-3, 0.9)


def twin(framework: str, build: str, model: str, graph: Graph, mode: str = "") -> Contestant:
    """Skips where the framework or the package is not installed."""
    package = build.partition(":")[0].partition(".")[0]
    if package not in sys.modules and importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    names = translated(graph, models.find(model).names.get(build.partition(":")[0], ()))
    setup = Setup(mode or MODES[framework], {"build": build}, names=names)
    make(Contender(framework, MODES[framework]))
    with warnings.catch_warnings():  # what a package says while it is imported is its own affair
        warnings.simplefilter("ignore")
        load(framework)(setup)
    return load(framework)(setup)


@pytest.mark.parametrize("model", [each for each in models.all_models() if not each.endswith("_keras")
                                   and "torchvision" in models.find(each).names])
def test_pictures_are_prepared_as_torchvision_prepares_them(model: str) -> None:
    graph = models.find("resnet18").graph((3, 32, 32))
    twin("torch", "torchvision:resnet18", "resnet18", graph)  # skips where it is not installed, declares its operators
    torchvision = importlib.import_module("torchvision")
    called = {"squeezenet": "squeezenet1_0", "vit_b16": "vit_b_16", "inception_v3_no_aux": "inception_v3"}
    theirs = torchvision.models.get_model_weights(called.get(model, model)).IMAGENET1K_V1.transforms()
    ours, spec = models.find(model).preparation, models.find(model).inputs[0][1]
    mean, deviation = (np.array(each, np.float32)[:, None, None] for each in (theirs.mean, theirs.std))
    undone = model in ("googlenet", "inception_v3", "inception_v3_no_aux")  # in the model itself (transform_input)
    assert (ours.mean, ours.deviation, ours.resample) == (
        (0.5,) * 3 if undone else tuple(theirs.mean), (0.5,) * 3 if undone else tuple(theirs.std),
        theirs.interpolation.value)
    assert theirs.crop_size == [spec.size("H")] and round(spec.size("H") / ours.crop) == theirs.resize_size[0]
    pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    for size in ((401, 300), (300, 401), (231, 613)):
        drawn = np.random.RandomState(0).randint(0, 256, (size[1], size[0], 3)).astype(np.uint8)
        picture = pillow.fromarray(drawn)
        wanted = theirs(picture).numpy()
        if undone:
            wanted = (wanted * deviation + mean - np.float32(0.5)) / np.float32(0.5)
        np.testing.assert_allclose(images.prepared(picture, spec, ours), wanted, rtol=0, atol=1e-6 * undone)


def outputs(contestant: Contestant, batch: Arrays) -> Arrays:
    return contestant.read(contestant.infer(contestant.feed(batch)))


@pytest.mark.parametrize(("model", "framework", "build", "shape"), PAIRS, ids=[build for _, _, build, _ in PAIRS])
def test_ours_takes_the_twin_s_weights_and_gives_its_outputs(model: str, framework: str, build: str,
                                                             shape: Shape) -> None:
    graph = models.find(model).graph(shape)
    theirs = twin(framework, build, model, graph)
    with warnings.catch_warnings():  # what a package says while it builds is its own affair
        warnings.simplefilter("ignore")
        theirs.build(graph, 2)
    assert theirs.differences() == []
    theirs.put(perturbed_state(graph))  # off their neutral values: a swapped mean or scale would show
    ours = make(Contender(framework, MODES[framework]))
    ours.build(graph, 2)
    ours.put(theirs.get())
    batch = draw_batch(graph, 2, 0)
    expected = outputs(theirs, batch)
    for name, values in outputs(ours, batch).items():
        assert np.abs(values - expected[name]).max() <= LIMIT * np.abs(expected[name]).max()


THEIRS = [  # our model, and that of another package of which no twin is proven, an input
    ("googlenet", "torchvision:googlenet", SMALL),  # with heads that help it train
    ("inception_v3_no_aux", "torchvision:inception_v3", (3, 75, 75)),
    ("mobilenet_v2", "timm:mobilenetv2_100", SMALL),  # without dropout
    ("convnext_tiny", "timm:convnext_tiny", SMALL),  # without stochastic depth
    ("inception_v3_no_aux", "timm:inception_v3", (3, 75, 75)),  # without dropout
    ("se_resnet50_v1", "timm:legacy_seresnet50", SMALL),  # with dropout
    ("efficientnet_b0", "timm:efficientnet_b0", SMALL),  # without dropout and stochastic depth
]


@pytest.mark.parametrize(("model", "build", "shape"), THEIRS, ids=[build for _, build, _ in THEIRS])
def test_ours_takes_a_file_of_theirs_and_gives_its_outputs(model: str, build: str, shape: Shape,
                                                           tmp_path: Path) -> None:
    graph = models.find(model).graph(shape)
    twin("torch", build, model, graph)  # skips where it is not installed, declares its operators
    import torch
    package, name = build.split(":")
    library = importlib.import_module(package)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = library.create_model(name) if package == "timm" else library.models.get_model(name, weights=None)
    draw = torch.Generator().manual_seed(0)
    for each in theirs.state_dict().values():
        if each.dim() == 1:  # off their neutral values: a swapped mean or scale would show
            each.uniform_(0.5, 1.5, generator=draw)
    np.savez(tmp_path / "w.npz", **{key: each.numpy() for key, each in theirs.state_dict().items()})
    batch = draw_batch(graph, 2, 0)
    with torch.no_grad():
        expected = theirs.eval()(torch.from_numpy(batch["image"])).numpy()
    close(ours_given(tmp_path / "w.npz", model, "torch", graph, batch), expected)


@pytest.mark.parametrize(("model", "name", "size"), [
    ("inception_v3_keras", "InceptionV3", 75), ("inception_resnet_v2_keras", "InceptionResNetV2", 75),
    ("nasnet_a_mobile", "NASNetMobile", 32)])
def test_ours_takes_a_file_of_keras_and_gives_its_outputs(model: str, name: str, size: int, tmp_path: Path) -> None:
    """Whatever its process made before: Keras numbers the layers of some of these on and on."""
    graph = models.find(model).graph((3, size, size))
    make(Contender("tensorflow", "eager"))  # skips where it is not installed
    import keras
    keras.layers.Conv2D(1, 1), keras.layers.BatchNormalization()
    theirs = getattr(keras.applications, name)(weights=None, input_shape=(size, size, 3), classifier_activation=None)
    generator = np.random.RandomState(0)
    for each in theirs.variables:
        if len(each.shape) == 1:
            each.assign(generator.uniform(0.5, 1.5, each.shape))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Keras says of itself while it saves is its own affair
        theirs.save_weights(tmp_path / "w.weights.h5")
    batch = draw_batch(graph, 2, 0)
    expected = np.asarray(theirs(batch["image"].transpose(0, 2, 3, 1), training=False))
    close(ours_given(tmp_path / "w.weights.h5", model, "tensorflow", graph, batch), expected)


def ours_given(path: Path, model: str, framework: str, graph: Graph, batch: Arrays) -> np.ndarray:
    """What our model computes with the weights of a file."""
    ours = make(Contender(framework, MODES[framework]))
    ours.build(graph, 2)
    ours.put(weights.read(path, models.find(model), graph))
    return next(iter(outputs(ours, batch).values()))


def close(found: np.ndarray, expected: np.ndarray) -> None:
    assert np.abs(found - expected).max() <= LIMIT * np.abs(expected).max()


def test_a_twin_of_another_model_is_timed_with_weights_of_its_own() -> None:
    graph = models.find("resnet50").graph((3, 32, 32))
    theirs = twin("tensorflow", "keras.applications:ResNet50", "resnet50", graph)
    theirs.build(graph, 2, OPTIMIZER)
    told = {what: (ours, other) for what, ours, other in theirs.differences()}
    assert told["parameters"] == ("25,557,032", "25,583,592")  # Keras' convolutions have biases
    assert told["layers with parameters"] == ("53 Conv, 53 BatchNorm, 1 Linear",
                                              "53 Conv2D, 53 BatchNormalization, 1 Dense")
    batch = theirs.feed(draw_batch(graph, 2, 0))
    losses = []
    for _ in range(2):
        theirs.put(perturbed_state(graph))  # puts its own again, as before each block
        losses.append(theirs.read(theirs.train_step(batch))["loss"])
    assert losses[0] == losses[1] and np.isfinite(losses[0])


# A small package with models, so that all of this is proven for PyTorch without torchvision


def stub(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    """A timm whose model "net" is that of NET, apart from `changes` to its parts."""
    from torch import nn

    class Loose(nn.Module):
        """Drops out by the function, at a rate kept in the attribute of that name."""

        def __init__(self, attribute: str, rate: float) -> None:
            super().__init__()
            self.attribute = attribute
            setattr(self, attribute, rate)

        def forward(self, x: Any) -> Any:
            rate = getattr(self, self.attribute)
            return nn.functional.dropout(x, p=rate, training=self.training) if rate else x

    def create_model(name: str, pretrained: bool, num_classes: int) -> Any:
        parts = {"width": 4, "momentum": 0.1, "rate": 0.3, "loose": "", "extra": False, **changes}
        body = nn.Sequential()
        body.add_module("conv", nn.Conv2d(3, parts["width"], 3, padding=1, bias=False))
        body.add_module("norm", nn.BatchNorm2d(parts["width"], momentum=parts["momentum"]))
        body.add_module("act", nn.ReLU())
        body.add_module("pool", nn.AdaptiveAvgPool2d(1))
        body.add_module("flat", nn.Flatten())
        body.add_module("drop", Loose(parts["loose"], parts["rate"]) if parts["loose"] else nn.Dropout(parts["rate"]))
        body.add_module("fc", nn.Linear(parts["width"], num_classes))
        if parts["extra"]:
            body.add_module("more", nn.Linear(num_classes, num_classes))
        return body

    timm = types.SimpleNamespace(create_model=create_model, list_models=lambda: ["net", "other"], __version__="9.9")
    monkeypatch.setitem(sys.modules, "timm", timm)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "torchvision", types.SimpleNamespace(__version__="9.9"))  # type: ignore[arg-type]


NET = '''
from photofinish.models import image, model
from photofinish.vocabulary import batch_norm, conv, dropout, global_average_pool, linear, relu

NAMES = (("(conv1|batch_norm1)", "(conv|norm)"), ("linear1", "fc"))

@model(inputs=image(3, 6, 6), classes=4, names={"timm": NAMES})
def net(x, classes):
    x = global_average_pool(relu(batch_norm(conv(x, 4, 3))))
    return linear(dropout(x, 0.3), classes)
'''


@pytest.fixture
def net(tmp_path: Path) -> tuple[str, Graph]:
    (tmp_path / "net.py").write_text(NET)
    name = f"{tmp_path}/net.py:net"
    return name, models.find(name).graph()


def small_twin(net: tuple[str, Graph], mode: str = "eager") -> Contestant:
    name, graph = net
    return twin("torch", "timm:net", name, graph, mode)


def prove(net: tuple[str, Graph], contestant: Contestant, folder: Path) -> Certificate:
    """As a notary does: built as it races, then proven."""
    _, graph = net
    contestant.build(graph, proof.LEAST_BATCH, OPTIMIZER)
    assert contestant.differences() == []
    proof.prepare(folder, graph, draws=1, exact_draws=6)
    proof.run(lambda: Reference(Setup("reference", precision="float64")), folder, proof.REFERENCE)
    proof.run(lambda: contestant, folder, "twin")
    return certificate.judge(folder, "twin", "twin")


@pytest.mark.parametrize(("mode", "loose"), [
    ("eager", ""), ("eager", "drop_rate"), pytest.param("compile", "", marks=pytest.mark.compiled)])
def test_a_twin_is_certified_dropout_included(net: tuple[str, Graph], monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                                              mode: str, loose: str) -> None:
    stub(monkeypatch, loose=loose)
    earned = prove(net, small_twin(net, mode), tmp_path / "proof")
    assert [check.group for check in earned.checks if not check.passed] == []
    assert any("dropout" in check.group for check in earned.checks)


def test_dropout_that_cannot_be_silenced_is_not_proven(net: tuple[str, Graph], monkeypatch: pytest.MonkeyPatch,
                                                       tmp_path: Path) -> None:
    stub(monkeypatch, loose="hidden")
    with pytest.raises(Unsupported, match=r"timm:net drops out at a rate of 0\.3 in a Loose"):
        prove(net, small_twin(net), tmp_path / "proof")


@pytest.mark.parametrize(("kind", "name"), [("turned", "fc^T"), ("pointwise", "fc")])
def test_a_twin_that_keeps_a_matrix_otherwise_is_certified(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str,
                                                           name: str) -> None:
    """As transformers' Conv1D does, here of a square, whose shape does not tell; or as a convolution of one pixel."""
    import torch
    stub(monkeypatch)
    ordinary = sys.modules["timm"].create_model

    class Turned(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(4, 4))
            self.bias = torch.nn.Parameter(torch.zeros(4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x @ self.weight + self.bias

    def create_model(name: str, pretrained: bool, num_classes: int) -> torch.nn.Module:
        body: torch.nn.Sequential = ordinary(name, pretrained, num_classes)
        if kind == "turned":
            body.fc = Turned()
        else:
            body.fc, body.flat = torch.nn.Conv2d(4, 4, 1), torch.nn.Identity()
            body.add_module("last", torch.nn.Flatten())
        return body

    sys.modules["timm"].create_model = create_model
    (tmp_path / "net.py").write_text(NET.replace('("linear1", "fc")', f'("linear1", "{name}")'))
    model = f"{tmp_path}/net.py:net"
    net = model, models.find(model).graph()
    earned = prove(net, small_twin(net), tmp_path / "proof")
    assert [check.group for check in earned.checks if not check.passed] == []
    assert any(check.group.startswith("optimizer state") for check in earned.checks)


def test_a_twin_without_a_map_is_not_proven_and_not_said_to_be_another(net: tuple[str, Graph],
                                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    stub(monkeypatch)
    theirs = twin("torch", "timm:net", "resnet50_v1", net[1])  # which has no map
    theirs.build(net[1], 2, OPTIMIZER)
    told = theirs.differences()
    assert told[0][2] == UNNAMED and told[1][1] == told[1][2]
    _, result = judged(told)
    assert not result.comparable and outcome(result) == "NOT COMPARABLE"
    said = " ".join([*(verdict.reason for verdict in result.verdicts), plain(sentence(result))])
    assert "something else" not in said and said.count("not proven") > 1 and "no map of names" in said
    (note,) = refused(result.race.certificates)
    assert "failed" not in plain(note.text) and "is not proven: no map of names" in plain(note.text)
    _, result = judged([told[0], ("parameters", "1", "2")])  # nor are they as many
    assert "something else" in plain(sentence(result))


def test_a_twin_that_computes_something_else_is_refused(net: tuple[str, Graph], monkeypatch: pytest.MonkeyPatch,
                                                        tmp_path: Path) -> None:
    stub(monkeypatch, momentum=0.2)
    assert not prove(net, small_twin(net), tmp_path / "proof").passed


@pytest.mark.parametrize(("name", "kept"), [("googlenet", "{'aux_logits': False}"), ("resnet50", None)])
def test_heads_that_the_graph_lacks_are_left_out_and_the_audit_says_so(
        net: tuple[str, Graph], monkeypatch: pytest.MonkeyPatch, name: str, kept: str | None) -> None:
    """GoogLeNet gives three outputs in training; of a graph of one loss it could not be trained."""
    stub(monkeypatch)
    timm, torchvision = sys.modules["timm"], sys.modules["torchvision"]

    def get_model(name: str, weights: None, num_classes: int, aux_logits: bool = True) -> Any:
        body = timm.create_model("net", False, num_classes)
        if name == "googlenet" and aux_logits:
            body.register_forward_hook(lambda module, inputs, output: (output,) * 3 if module.training else output)
        return body

    torchvision.models = types.SimpleNamespace(get_model=get_model, list_models=lambda: ["googlenet", "resnet50"])
    theirs = twin("torch", f"torchvision:{name}", net[0], net[1])
    theirs.build(net[1], 2, OPTIMIZER)
    assert theirs.facts().get("changed") == kept
    assert np.isfinite(theirs.read(theirs.train_step(theirs.feed(draw_batch(net[1], 2, 0))))["loss"])


@pytest.mark.parametrize(("changes", "first"), [
    ({"width": 5}, ("conv1.weight 4x3x3x3", "conv.weight 5x3x3x3")),
    ({"extra": True}, ("none", "more.weight 4x4")),
    ({"rate": 0.4}, ("1 Dropout 0.3", "1 Dropout 0.4")),
    ({"rate": 0.4, "loose": "drop_rate"}, ("1 Dropout 0.3", "1 Dropout 0.4")),
    ({"rate": 0.0}, ("1 Dropout 0.3", "none")),
])
def test_what_does_not_fit_is_told_first(net: tuple[str, Graph], monkeypatch: pytest.MonkeyPatch,
                                         changes: dict[str, Any], first: tuple[str, str]) -> None:
    stub(monkeypatch, **changes)
    theirs = small_twin(net)
    theirs.build(net[1], 2, OPTIMIZER)
    told = theirs.differences()
    assert told[0][1:] == first
    assert [what for what, _, _ in told[1:]] == ["parameters", "multiply-accumulates of a sample",
                                                 "layers with parameters"]
    theirs.put(perturbed_state(net[1]))
    assert np.isfinite(theirs.read(theirs.train_step(theirs.feed(draw_batch(net[1], 2, 0))))["loss"])


def test_counts_of_a_twin_are_its_own(net: tuple[str, Graph], monkeypatch: pytest.MonkeyPatch) -> None:
    stub(monkeypatch, width=5)
    theirs = small_twin(net)
    theirs.build(net[1], 2)
    told = {what: values for what, *values in theirs.differences()}
    assert told["parameters"] == [f"{4 * 27 + 8 + 4 * 4 + 4}", f"{5 * 27 + 10 + 5 * 4 + 4}"]
    assert told["multiply-accumulates of a sample"] == ["3,904", "4,880"]  # 36 places times the kernel, and the head


def test_a_twin_that_does_not_exist_names_the_nearest(net: tuple[str, Graph], monkeypatch: pytest.MonkeyPatch) -> None:
    stub(monkeypatch)
    theirs = twin("torch", "timm:nett", net[0], net[1])
    with pytest.raises(WrongUse, match="timm has no model nett; did you mean net"):
        theirs.build(net[1], 2)
    with pytest.raises(WrongUse, match="no model ResNet5; did you mean ResNet50"):
        twin("tensorflow", "keras.applications:ResNet5", net[0], net[1])


def test_a_twin_of_a_model_of_other_inputs_is_no_crash(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nor is what else goes wrong while it is built taken for that."""
    stub(monkeypatch)
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    (tmp_path / "graph.json").write_text(json.dumps(models.find("digits_cnn").graph().to_json()))
    build = {"do": "build", "graph": str(tmp_path / "graph.json"), "batch": 2, "optimizer": None}
    worker = Worker()
    load_it = {"do": "load", "framework": "torch", "sabotage": {}}
    assert answer(worker, {**load_it, "setup": {"mode": "eager", "options": {"build": "timm:net"}}})["ok"]
    told = answer(worker, dict(build))
    assert told["kind"] == "wrong use"
    assert "timm:net does not take the image 1x8x8 of this model" in told["message"]
    monkeypatch.setattr(sys.modules["timm"], "create_model", failing)
    assert answer(worker, dict(build))["kind"] == "out of memory"


def failing(*_: Any, **__: Any) -> Any:
    raise MemoryError("no more")


# How it is asked for, and what becomes of it


@pytest.mark.parametrize(("contender", "said"), [
    ("torch:eager[build=torchvison:resnet18]", ["'torchvison'", "did you mean torchvision?"]),
    ("torch:eager[build=timm]", ["names no model", "build=timm:model"]),
    ("tensorflow:graph[build=torchvision:resnet18]", ["'torchvision'", "keras.applications"]),
    ("fake[build=timm:net]", ["no option of fake is called 'build'"]),
])
def test_a_wrong_spelling_is_one_clear_message(capsys: pytest.CaptureFixture[str], contender: str,
                                               said: list[str]) -> None:
    assert run(["race", "resnet18", "-c", f"fake,{contender}"]) == 2
    told = capsys.readouterr().err
    assert [part for part in said if part not in told] == []


def test_a_package_that_is_not_installed_is_named_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    if environments.installed_version(environments.frameworks()["torch"]) is None:
        pytest.skip("PyTorch is not installed")
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "timm" else found(name))
    with pytest.raises(UsageError) as told:
        find_entries(["torch:eager[build=timm:resnet50]"], "cpu")
    assert "timm is not installed" in told.value.message and told.value.hint == "pip install 'timm'"


def judged(differences: Sequence[tuple[str, str, str]]) -> tuple[str, Result]:
    """A race in which a contender so differs, and its name."""
    from factories import certificate as passed
    from factories import race

    raced = race()
    name = raced.contenders[0]
    other = Certificate(name, raced.case.digest, False, (), "", 8, differences=tuple(differences))
    proofs = [other if each == name else passed(each, raced.case.digest) for each in raced.contenders]
    return name, judge(replace(raced, certificates=tuple(proofs)))


def test_a_race_with_another_model_names_no_winner() -> None:
    name, result = judged([("parameters", "1", "2")])
    assert not result.comparable and outcome(result) == "NOT COMPARABLE"
    assert any("computes something else" in verdict.reason for verdict in result.verdicts)
    assert shown(result, name) == (("parameters", "1", "2"),)


@pytest.mark.parametrize(("first", "said"), [
    (("the first array", "conv1.weight 4x3x3x3", UNNAMED), "no map of names says which of its arrays are the graph's"),
    (("the first array", "conv1.weight 4x3", "conv.weight 5x3"),
     "the first array is conv1.weight 4x3 in the graph, conv.weight 5x3 in it"),
])
def test_why_a_twin_has_no_accuracy_with_given_weights(first: tuple[str, str, str], said: str) -> None:
    assert _cannot_take([list(first)]) == f"cannot be given your weights: {said}"


def test_a_twin_is_not_proven_at_reduced_size(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "resnet50", "--reduced", "-c", "torch:eager[build=torchvision:resnet50]"]) == 2
    told = capsys.readouterr().err
    assert "a twin has no reduced form" in told and "leave out --reduced, or give a smaller --input" in told


def test_a_package_with_no_model_called_about_so_says_where_they_are_listed() -> None:
    assert where_listed("keras.applications has no model Nope") == "dir(keras.applications) lists them"
    assert where_listed("timm has no model nett; did you mean net?") == ""


def test_layers_that_keras_numbers_are_found_by_their_places() -> None:
    """A twin is built several times in one process, and its layers are called otherwise each time."""
    called = ["conv2d_12", "stem", "conv2d_3", "batch_normalization", "conv2d_transpose_1", "my_conv2d_2"]
    assert numbered.as_first(called) == {"conv2d_3": "conv2d", "conv2d_12": "conv2d_1",
                                         "batch_normalization": "batch_normalization"}


def shown(result: Result, name: str) -> Any:
    """The rows that the report gives a contender's differences."""
    return next(block.rows for block in section(result).blocks if getattr(block, "name", "") == f"differences_{name}")
