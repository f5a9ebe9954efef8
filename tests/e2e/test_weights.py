"""A user's weights and pictures: every way of naming and storing them, what is wrong with a file, and the accuracy."""

import json
import sqlite3
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from e2e.test_cli import refused
from parity.contenders import make
from photofinish import api, models
from photofinish.api import trials
from photofinish.data import draw_batch
from photofinish.errors import UsageError
from photofinish.files import images, weights
from photofinish.files.names import KERAS, translated
from photofinish.frameworks import Setup
from photofinish.frameworks._torch.weights import places
from photofinish.frameworks.numpy import Contestant as Reference
from photofinish.graph import Graph
from photofinish.layers import Spec
from photofinish.measure import proof
from photofinish.models import Preparation
from photofinish.optimizers import SGD
from photofinish.reports import accuracy
from photofinish.reports.json import schema
from photofinish.stats.proportion import judge_guesses, wilson
from photofinish.values import Contender
from photofinish.weights import Arrays, initial_state, perturbed_state

Command = Callable[..., Any]

RESNET = models.find("resnet18")
GRAPH = RESNET.small()
STATE = perturbed_state(GRAPH, seed=3)
DIGITS = models.find("digits_cnn")
MODEL = """
from photofinish.models import image, model
from photofinish.vocabulary import batch_norm, conv, global_average_pool, linear, relu

@model(inputs=image(3, 6, 6), classes=4)
def tiny(x, classes):
    return linear(global_average_pool(relu(batch_norm(conv(x, 4, 3)))), classes)
"""


def named(graph: Graph, state: Arrays, names: models.Names) -> Arrays:
    """The arrays as a PyTorch source calls them."""
    return {place.path: state[("parameter/" if name in graph.parameters else "state/") + name]
            for name, place in places(graph, translated(graph, names)).items()}


def same(found: Arrays, wanted: Arrays) -> bool:
    return found.keys() == wanted.keys() and all(np.array_equal(found[name], wanted[name]) for name in wanted)


def save(path: Path, arrays: Arrays) -> Path:
    np.savez(path, **arrays)  # type: ignore[arg-type]
    return path


TORCHVISION = named(GRAPH, STATE, RESNET.names["torchvision"])


@pytest.mark.parametrize("arrays", [
    STATE,
    {name.partition("/")[2]: values for name, values in STATE.items()},
    TORCHVISION,
    {"module." + name: values for name, values in TORCHVISION.items()},
    {name: values.astype(np.float64) for name, values in TORCHVISION.items()},
    {**TORCHVISION, "bn1.num_batches_tracked": np.array(7), "twice": TORCHVISION["fc.weight"]},
], ids=["the graph's", "without groups", "torchvision's", "wrapped", "doubles", "with counters and a tied copy"])
def test_an_npz_is_read_under_every_name_it_may_have(tmp_path: Path, arrays: Arrays) -> None:
    assert same(weights.read(save(tmp_path / "w.npz", arrays), RESNET, GRAPH), STATE)


def test_safetensors_are_read(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    safetensors.save_file(TORCHVISION, tmp_path / "w.safetensors")
    assert same(weights.read(tmp_path / "w.safetensors", RESNET, GRAPH), STATE)


def test_safetensors_of_bfloat16_are_read(tmp_path: Path) -> None:
    """As most checkpoints are published, in which counters are integers; NumPy has no such values."""
    pytest.importorskip("safetensors", reason="safetensors is not installed")
    stored = {name: ("BF16", values.shape, (values.view("<u4") >> 16).astype("<u2").tobytes())
              for name, values in TORCHVISION.items()}
    stored["step"] = ("I64", (1,), bytes(8))
    ends = np.cumsum([len(data) for _, _, data in stored.values()]).tolist()
    head = json.dumps({name: {"dtype": dtype, "shape": shape, "data_offsets": [end - len(data), end]}
                       for (name, (dtype, shape, data)), end in zip(stored.items(), ends)}).encode()
    (tmp_path / "w.safetensors").write_bytes(
        len(head).to_bytes(8, "little") + head + b"".join(data for _, _, data in stored.values()))
    found = weights.read(tmp_path / "w.safetensors", RESNET, GRAPH)
    cut = {name: (np.ascontiguousarray(values).view("<u4") & 0xFFFF0000).view("<f4") for name, values in STATE.items()}
    assert same(found, cut)


def test_what_our_own_pytorch_code_saves_is_read(tmp_path: Path) -> None:
    contestant = make(Contender("torch", "eager"))
    contestant.build(GRAPH, 2)
    contestant.put(STATE)
    saved = {name: tensor.numpy() for name, tensor in contestant.model.state_dict().items()}  # type: ignore[attr-defined]
    assert "batch_norm1.running_var" in saved
    assert same(weights.read(save(tmp_path / "w.npz", saved), RESNET, GRAPH), STATE)


@pytest.mark.parametrize("model", ["digits_cnn", "vit_b16", "convnext_tiny"])
def test_what_our_own_keras_code_saves_is_read_in_both_layouts(tmp_path: Path, model: str) -> None:
    """digits_cnn flattens an image: Keras' dense kernel has its rows in another order."""
    entry = models.find(model)
    graph = entry.small()
    state = perturbed_state(graph, seed=1)
    contestant = make(Contender("tensorflow", "eager"))
    contestant.build(graph, 2)
    contestant.put(state)
    network = contestant.model  # type: ignore[attr-defined]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Keras says of itself while it saves is its own affair
        network.save_weights(tmp_path / "new.weights.h5")
        network.save(tmp_path / "old.h5")
    for name in ("new.weights.h5", "old.h5"):
        assert same(weights.read(tmp_path / name, entry, graph), state), name


def test_keras_files_of_recurrent_layers_are_said_not_to_be_read(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    entry = models.find("deepspeech2")
    graph = entry.small()
    with h5py.File(tmp_path / "l.weights.h5", "w") as file:
        for name, parameter in graph.parameters.items():
            place = f"layers/{name.rpartition('.')[0]}/vars"
            file[f"{place}/{len(file.get(place, ()))}"] = np.zeros(parameter.shape, np.float32)
        for name, state in graph.state.items():
            place = f"layers/{name.rpartition('.')[0]}/vars"
            file[f"{place}/{len(file[place])}"] = np.zeros(state.shape, np.float32)
    with pytest.raises(UsageError, match="Keras' arrays of recurrent layers are not known here"):
        weights.read(tmp_path / "l.weights.h5", entry, graph)


def test_matrices_that_the_source_keeps_turned_round(tmp_path: Path) -> None:
    """GPT-2's, with the mask of its first files and the table again as the last layer; with "transformer." or not."""
    entry = models.find("gpt2_small")
    graph = entry.small()
    state = perturbed_state(graph)
    inside = "parameter/layer2."
    theirs = {path.replace("^T", ""): values.T if "^T" in path else values
              for path, values in named(graph, state, entry.names["transformers"]).items()}
    for ours, name in (("attention.query_key_value", "attn.c_attn"), ("attention.output", "attn.c_proj"),
                       ("feed_forward.linear1", "mlp.c_fc"), ("feed_forward.linear2", "mlp.c_proj")):
        assert np.array_equal(theirs[f"h.1.{name}.weight"], state[f"{inside}{ours}.weight"].T)
    theirs.update({"h.0.attn.bias": np.tri(7, dtype=np.float32)[None, None], "lm_head.weight": theirs["wte.weight"]})
    for prefix in ("", "transformer."):
        found = {name if name.startswith("lm") else prefix + name: values for name, values in theirs.items()}
        assert same(weights.read(save(tmp_path / "w.npz", found), entry, graph), state), prefix


@pytest.mark.parametrize(("model", "source", "further"), [
    ("vit_b16", "torchvision", {"class_token": (1, 1, 24), "encoder.pos_embedding": (1, 7, 24)}),
    ("convnext_tiny", "torchvision", {"features.3.1.layer_scale": (32, 1, 1), "features.1.0.block.3.weight": (64, 16)}),
])
def test_axes_of_one_element_make_no_other_array(tmp_path: Path, model: str, source: str,
                                                 further: dict[str, tuple[int, ...]]) -> None:
    entry = models.find(model)
    graph = entry.small()
    state = perturbed_state(graph)
    theirs = named(graph, state, entry.names[source])
    theirs.update({name: theirs[name].reshape(shape) for name, shape in further.items()})
    assert same(weights.read(save(tmp_path / "w.npz", theirs), entry, graph), state)


def test_older_names_of_a_layer_norm_and_heads_beyond_the_graph(tmp_path: Path) -> None:
    entry = models.find("bert_base")
    graph = entry.small()
    state = perturbed_state(graph)
    theirs = {"bert." + name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"):
              values for name, values in named(graph, state, entry.names["transformers"]).items()}
    theirs["cls.predictions.bias"] = np.ones(64, np.float32)
    assert same(weights.read(save(tmp_path / "w.npz", theirs), entry, graph), state)


@pytest.mark.parametrize("wrapped", ["", "_orig_mod.", "module."])
def test_a_head_beyond_the_graph_may_be_wrapped(tmp_path: Path, wrapped: str) -> None:
    entry = models.find("inception_v3_no_aux")
    graph = entry.small()
    state = perturbed_state(graph)
    theirs = {**named(graph, state, entry.names["torchvision"]), "AuxLogits.conv0.conv.weight": np.ones(3, np.float32)}
    file = save(tmp_path / "w.npz", {wrapped + name: values for name, values in theirs.items()})
    assert same(weights.read(file, entry, graph), state) and weights.source(file, entry, graph) == "torchvision"


def without(name: str, **more: np.ndarray) -> Arrays:
    return {**{key: values for key, values in TORCHVISION.items() if key != name}, **more}


@pytest.mark.parametrize(("arrays", "said"), [
    (without("layer1.0.conv1.weight", **{"layer1.0.conv7.weight": np.ones(3)}),
     ["w.npz lacks layer1.0.conv1.weight (stage1.basic1.conv1.weight of resnet18)", "nearest", "layer1.0.conv7"]),
    (without("layer1.0.conv1.weight"), ["w.npz lacks layer1.0.conv1.weight", "save the whole model, and no part"]),
    ({key: values for key, values in TORCHVISION.items() if not key.startswith("fc.")},
     ["w.npz lacks fc.weight (linear1.weight of resnet18) and 1 more", "no last layer", "include_top=True"]),
    (without("", **{"fc2.bias": np.ones(3)}), ["w.npz has fc2.bias", "no place", "the nearest name is fc.bias"]),
    (without("", **{"extra.thing": np.ones(3)}), ["w.npz has extra.thing", "leave it out", "none of a name like it"]),
    (without("", **{"fc.weight": np.ones((1000, 64))}), ["fc.weight has shape 1000 x 64", "10 x 16"]),
    (without("", **{"fc.weight": np.ones((7, 16))}), ["7 x 16", "10 x 16", "pass --classes 7"]),
    (without("", **{"fc.bias": np.full(10, np.nan)}), ["fc.bias holds values that are not finite", "from before"]),
    (without("", **{"fc.bias": np.ones(10, np.int32)}), ["fc.bias is int32", "floating-point", "float32"]),
    (without("", **{"bn1.running_var": -np.ones(8)}), ["bn1.running_var holds a negative variance"]),
    ({"conv1.weight": np.ones(3, np.int64)}, ["conv1.weight is int64", "floating-point", "float32"]),
    ({"a": np.ones(3)}, ["names no array of resnet18", "conv1.weight", "or as torchvision or timm does"]),
    ({"conv1.weight": np.ones(3), **{f"a{i}": np.ones(3) for i in range(20)}},
     ["fits no known naming of resnet18: of its 21 arrays only conv1.weight fits", "as torchvision or timm does"]),
])
def test_what_is_wrong_with_a_file_is_told_by_name(tmp_path: Path, arrays: Arrays, said: list[str]) -> None:
    with pytest.raises(UsageError) as told:
        weights.read(save(tmp_path / "w.npz", arrays), RESNET, GRAPH)
    assert [part for part in said if part not in str(told.value)] == []


@pytest.mark.parametrize(("source", "taker", "library"), [
    ("mobilenet_v2_keras", "mobilenet_v2", "keras.applications"), ("mobilenet_v2", "mobilenet_v2_keras", "torchvision"),
    ("mobilenet_v2", "resnet50", "timm"), ("resnet18", "resnet34", "torchvision"),
])
def test_a_file_of_another_model_names_the_one_that_takes_it(tmp_path: Path, source: str, taker: str,
                                                             library: str) -> None:
    """Whatever its number of classes."""
    entry, other = models.find(source), models.find(taker)
    graph = entry.graph(classes=7)
    names = translated(graph, entry.names[library])
    read = weights._keras_reading(graph, names, {}).wanted if library in KERAS else weights._pytorch(graph, names)
    theirs = {each.paths[0]: np.full(each.shape, number, np.float32) for number, each in enumerate(read.values())}
    with pytest.raises(UsageError) as told:
        weights.read(save(tmp_path / "w.npz", theirs), other, other.graph())
    assert told.value.hint == f"{source} takes this file, whose arrays are named as {library} names them"


def test_the_nearest_file_is_named(tmp_path: Path) -> None:
    save(tmp_path / "mine.npz", TORCHVISION)
    for name, hint in (("mine.np", f"did you mean {tmp_path}/mine.npz?"), ("zebra", "name a file that is there"),
                       ("no/mine.npz", f"nor is there a folder {tmp_path}/no")):
        with pytest.raises(UsageError, match="there is no file") as told:
            weights.read(tmp_path / name, RESNET, GRAPH)
        assert told.value.hint == hint
    with pytest.raises(UsageError, match="is a folder, and no file"):
        weights.read(tmp_path, RESNET, GRAPH)


def test_show_says_whose_weights_a_model_takes(command: Command) -> None:
    assert "as torchvision or timm names them" in command("show", "resnet18").out
    assert "no other library's are known" in command("show", "digits_cnn").out


@pytest.mark.parametrize(("name", "said"), [
    ("absent.npz", "there is no file"), ("w.pth", "safetensors.torch.save_file"), ("broken.npz", "cut short"),
])
def test_a_file_that_cannot_be_read_is_told_before_anything_starts(command: Command, tmp_path: Path, name: str,
                                                                    said: str) -> None:
    for each in ("w.pth", "broken.npz"):
        (tmp_path / each).write_text("no weights")
    for verb in ("race", "verify"):
        refused(command(verb, "resnet18", "-c", "fake,fake", "--weights", name), name, said)


def test_a_library_that_is_missing_is_named_with_its_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    (tmp_path / "w.safetensors").write_bytes(b"")
    with pytest.raises(UsageError, match="safetensors, which is not installed") as told:
        weights.read(tmp_path / "w.safetensors", RESNET, GRAPH)
    assert told.value.hint == "pip install safetensors"


@pytest.fixture
def tiny(tmp_path: Path) -> tuple[str, Graph]:
    (tmp_path / "net.py").write_text(MODEL)
    return "./net.py:tiny", models.find(f"{tmp_path}/net.py:tiny").graph()


def test_a_race_and_a_proof_start_from_the_user_s_weights(command: Command, tmp_path: Path,
                                                          tiny: tuple[str, Graph]) -> None:
    model, graph = tiny
    given = perturbed_state(graph, seed=5)
    save(tmp_path / "w.npz", given)
    raced = command("race", model, "-c", "fake,fake", "--launches", "1", "--weights", "w.npz", "--json", "-q",
                    "--task", "train")
    assert json.loads(raced.out)["certificate"]["passed"]
    assert command("verify", model, "-c", "fake", "--weights", "w.npz").code == 0
    assert certificates(tmp_path) == 1  # the same weights: earned once
    save(tmp_path / "w.npz", perturbed_state(graph, seed=6))
    assert command("verify", model, "-c", "fake", "--weights", "w.npz").code == 0
    assert certificates(tmp_path) == 2
    proof.prepare(tmp_path / "proof", graph, draws=1, weights=given)
    with np.load(tmp_path / "proof" / "given.npz") as file:
        assert all(np.array_equal(file[name], given[name]) for name in given)


def certificates(folder: Path) -> int:
    """How many a store has of the fake framework."""
    with sqlite3.connect(folder / ".photofinish" / "photofinish.sqlite") as store:
        (found,) = store.execute("SELECT COUNT(*) FROM certificate WHERE key LIKE '%fake:steady%'").fetchone()
    return int(found)


# Accuracy


def digits(seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """scikit-learn's digits as bytes (8, 8) and their classes, or blurred patterns where it is not installed."""
    generator = np.random.RandomState(seed)
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        patterns = np.random.RandomState(0).uniform(0, 200, (10, 8, 8))
        labels = generator.randint(0, 10, count)
        return np.clip(patterns[labels] + generator.normal(0, 100, (count, 8, 8)), 0, 255).astype(np.uint8), labels
    data = load_digits()
    chosen = generator.permutation(len(data.target))[:count]
    return (data.images[chosen] * 255 / 16).astype(np.uint8), data.target[chosen]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """digits_cnn trained a little by our own adapter, and pictures it has not seen as data/<class>/<number>."""
    folder = tmp_path_factory.mktemp("digits")
    graph, contestant = DIGITS.graph(), make(Contender("torch", "eager"))
    contestant.build(graph, 32, SGD(0.02, 0.9))
    contestant.put(initial_state(graph))
    pictures, labels = digits(1, 640)
    for begin in range(0, 2 * 640, 32):
        chosen = np.arange(begin, begin + 32) % 640
        image = pictures[chosen, None].astype(np.float32) / 255
        contestant.train_step(contestant.feed({"image": image, "label": labels[chosen].astype(np.int32)}))
    state = contestant.get()
    save(folder / "w.npz", {name: values for name, values in state.items()
                            if name.startswith(("parameter/", "state/"))})
    image_module = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    for number, (picture, label) in enumerate(zip(*digits(2, 100))):
        place = folder / "data" / str(label)
        place.mkdir(parents=True, exist_ok=True)
        if number % 2:
            image_module.fromarray(picture).save(place / f"{number}.png")
        else:
            np.save(place / f"{number}.npy", picture)
    return folder


def test_accuracy_counts_what_the_reference_counts(command: Command, trained: Path) -> None:
    contenders = "torch:eager,tensorflow:graph,numpy"
    run = command("accuracy", "digits_cnn", "--weights", str(trained / "w.npz"), "--data", str(trained / "data"),
                  "-c", contenders, "--batch", "32", "--json", "-q")
    assert run.code == 0, run.err
    found = json.loads(run.out)
    jsonschema.validate(found, schema("accuracy"))
    assert found["images"] == 100 and found["failures"] == []
    assert found["preparation"] == ("the middle 8 x 8 of a picture whose shorter side is 1 times as long (bilinear), "
                                    "L, 0 to 1 less 0 over 1")

    graph = DIGITS.graph()
    reference = Reference(Setup("reference", precision="float64"))
    reference.build(graph, 100)
    reference.put(weights.read(trained / "w.npz", DIGITS, graph))
    pictures = images.find(trained / "data", 10)
    (batch,) = images.batches(pictures, graph.inputs[0][1], DIGITS.preparation, 100)
    scores = reference.read(reference.infer(reference.feed({"image": batch})))["output/linear1"]
    right = int(np.sum(scores.argmax(1) == [each.label for each in pictures]))
    assert 50 < right < 100  # it has learned, so a wrong order of classes or pixels would show
    for each in found["contenders"]:
        assert each["right"] == right and each["top1"]["value"] == right / 100
        assert each["top1"]["low"] < right / 100 < each["top1"]["high"]
        assert set(each["unlike"].values()) == {0} and len(each["unlike"]) == 2


def test_accuracy_is_shown_and_counts_disagreement(command: Command, trained: Path) -> None:
    run = command("accuracy", "digits_cnn", "--weights", str(trained / "w.npz"), "--data", str(trained / "data"),
                  "-c", "numpy,fake")
    assert run.code == 0
    assert all(word in run.out for word in ("100 images", "Top-1", "All 2 guess alike", "numpy:reference"))
    guesses = {"a": np.array([1, 2, 3, 4]), "b": np.array([1, 2, 0, 0]), "c": np.array([1, 2, 3, 0])}
    counted = {each.contender: each for each in judge_guesses(guesses, [1, 0, 3, 4])}
    assert {name: each.right for name, each in counted.items()} == {"a": 3, "b": 1, "c": 2}
    assert counted["a"].unlike == {"b": 2, "c": 1} and counted["b"].unlike == {"a": 2, "c": 1}


def test_only_those_who_guess_unlike_each_other_are_told_apart() -> None:
    same = {"a": np.array([1, 2, 3, 4]), "b": np.array([1, 2, 3, 4])}
    alike = accuracy.table(judge_guesses(same, [1, 0, 3, 4]))
    assert len(alike.columns) == 3 and "All 2 guess alike" in alike.caption
    three = accuracy.table(judge_guesses({**same, "c": np.array([1, 2, 3, 0])}, [1, 0, 3, 4]))
    assert [each.title for each in three.columns[3:]] == ["Unlike a", "Unlike c"]
    assert [row[3:] for row in three.rows] == [(None, 1), (0, 1), (1, None)] and "alike" not in three.caption


def test_weights_named_as_another_library_names_them_are_warned_of(tmp_path: Path) -> None:
    entry = models.find("vit_b16")
    graph = entry.small()
    for name, said in (("timm", 1), ("torchvision", 0)):
        file = save(tmp_path / f"{name}.npz", named(graph, perturbed_state(graph), entry.names[name]))
        assert weights.source(file, entry, graph) == name
        assert len(list(trials.otherwise(file, entry, graph))) == said


def test_a_contender_that_fails_is_told_and_the_others_are_counted(command: Command, trained: Path) -> None:
    run = command("accuracy", "digits_cnn", "--weights", str(trained / "w.npz"), "--data", str(trained / "data"),
                  "-c", "numpy,fake[fault=crash]", "--json", "-q")
    found = json.loads(run.out)
    jsonschema.validate(found, schema("accuracy"))
    assert run.code == 1
    assert [each["name"] for each in found["contenders"]] == ["numpy:reference"]
    assert [each["kind"] for each in found["failures"]] == ["crash"]


def test_what_is_wrong_with_a_folder_is_one_clear_message(command: Command, tmp_path: Path) -> None:
    save(tmp_path / "w.npz", perturbed_state(DIGITS.graph()))

    def told(*said: str, data: str = "data", model: str = "digits_cnn") -> None:
        refused(command("accuracy", model, "--weights", "w.npz", "--data", data, "-c", "numpy", "-q"), *said)

    (tmp_path / "data").mkdir()
    told("there is no folder nowhere", "name a folder that is there", data="nowhere")
    told("there is no folder dat", "did you mean data?", data="dat")
    told("has no folders in it")
    (tmp_path / "data" / "cat").mkdir()
    told("1 classes, the model tells 10 apart", "--classes")
    (tmp_path / "data" / "cat").rename(tmp_path / "data" / "12")
    told("class 12", "10 apart", "pass --classes 13 (and weights for so many), or number the folders 0 to 9")
    (tmp_path / "data" / "12").rename(tmp_path / "data" / "3")
    told("no pictures", ".png")
    (tmp_path / "data" / "3" / "a.png").write_text("no picture")
    told("cannot read the picture", "a.png", "cut short")
    told("a.png is a file, and no folder", data="data/3/a.png")
    np.save(tmp_path / "data" / "3" / "a.npy", np.zeros((1, 9, 8), np.float32))
    (tmp_path / "data" / "3" / "a.png").unlink()
    told("a.npy", "(1, 9, 8)", "(1, 8, 8)")
    np.save(tmp_path / "data" / "3" / "a.npy", np.ones((8, 8), np.bool_))
    told("a.npy holds truth values", "uint8(255)")
    told("does not tell classes of images apart", model="bert_base")
    told("does not tell classes of images apart", model="dcgan_64_discriminator")


def test_what_is_left_out_of_the_data_is_told(command: Command, tmp_path: Path) -> None:
    save(tmp_path / "w.npz", perturbed_state(DIGITS.graph()))
    (tmp_path / "data" / "3").mkdir(parents=True)
    for name in ("data/3/a.npy", "data/b.npy"):
        np.save(tmp_path / name, np.zeros((1, 8, 8), np.float32))
    (tmp_path / "data" / "3" / "c.heic").touch()
    asked = ("accuracy", "digits_cnn", "--weights", "w.npz", "--data", "data", "-c", "numpy")
    sentences = ("left out in data itself: 1 picture (", "left out in the folders of classes: 1 file, .heic (")
    shown = command(*asked, "-q")
    assert shown.code == 0 and "on 1 images" in shown.out
    assert all(each in " ".join(shown.out.split()) for each in sentences)
    machine = command(*asked, "--json")
    found = json.loads(machine.out)
    jsonschema.validate(found, schema("accuracy"))
    assert all(each.startswith(said) for each, said in zip(found["warnings"], sentences, strict=True))
    assert all(each in machine.err for each in sentences)


def test_a_picture_is_resized_cropped_and_normalised() -> None:
    pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    pixels = np.zeros((40, 80, 3), np.uint8)
    pixels[:, 20:60] = (10, 20, 30)  # the middle square; what lies beside it is cut off
    pixels[:, :20] = pixels[:, 60:] = 255
    preparation = Preparation(1.0, (0.0, 0.5, 1.0), (1.0, 2.0, 4.0), "BGR")
    found = images.prepared(pillow.fromarray(pixels), Spec("CHW", (3, 20, 20)), preparation)
    inside = found[:, :, 2:-2]  # the edge is blurred with what is beside it
    assert found.shape == (3, 20, 20) and found.dtype == np.float32
    for channel, (value, mean, deviation) in enumerate(((30, 0.0, 1.0), (20, 0.5, 2.0), (10, 1.0, 4.0))):
        np.testing.assert_allclose(inside[channel], (value / 255 - mean) / deviation, atol=1e-6)

    framed = np.full((64, 64), 255, np.uint8)
    framed[8:56, 8:56] = 0  # with a crop of 3/4 the frame falls away
    cropped = images.prepared(pillow.fromarray(framed), Spec("CHW", (1, 48, 48)), Preparation(0.75, (0,), (1,), "L"))
    assert cropped[:, 1:-1, 1:-1].max() == 0
    with pytest.raises(UsageError, match="prepared as RGB"):
        images.prepared(pillow.fromarray(framed), Spec("CHW", (1, 48, 48)), Preparation())


def test_a_picture_is_resized_as_its_source_resizes_it() -> None:
    """A cubic overshoots beside an edge, where a line does not."""
    pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    edge = pillow.fromarray(np.repeat(np.uint8([[50] * 8 + [200] * 8]), 16, axis=0))
    spec = Spec("CHW", (1, 48, 48))
    linear, cubic = (images.prepared(edge, spec, Preparation(1.0, (0.0,), (1.0,), "L", resample))
                     for resample in ("bilinear", "bicubic"))
    assert (round(255 * linear.min()), round(255 * linear.max())) == (50, 200)
    assert cubic.min() < linear.min() and cubic.max() > linear.max()


def test_an_input_that_is_no_picture_is_taken_as_it_lies_there() -> None:
    assert images.told(Spec("C", (20,)), Preparation()) == "as they lie there, in .npy files"


def test_the_last_batch_is_filled_up(tmp_path: Path) -> None:
    spec = Spec("CHW", (1, 2, 2))
    values = draw_batch(DIGITS.graph(), 5, 0)["image"][:, :, :2, :2]
    for number, value in enumerate(values):
        (tmp_path / "0").mkdir(exist_ok=True)
        np.save(tmp_path / "0" / f"{number}.npy", value)
    first, second = images.batches(images.find(tmp_path, 1), spec, Preparation(), 3)
    np.testing.assert_array_equal(np.concatenate([first, second]), values[[0, 1, 2, 3, 4, 4]])


def test_no_further_pictures_are_read_once_nobody_is_left(trained: Path, tmp_path: Path,
                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    read, batches = [], images.batches

    def counted(*asked: Any) -> Iterator[np.ndarray]:
        for each in batches(*asked):
            read.append(each)
            yield each
    monkeypatch.setattr(images, "batches", counted)
    found = api.accuracy("digits_cnn", trained / "w.npz", trained / "data", ["fake[fault=crash,at=1]"], batch=10,
                         store=tmp_path / "store")
    assert len(found.failures) == 1 and not found.contenders and len(read) == 2


def test_classes_are_numbered_by_folder(tmp_path: Path) -> None:
    for name in ("dog", "cat", "emu"):
        (tmp_path / name).mkdir()
        np.save(tmp_path / name / "a.npy", np.zeros(1))
    found = {each.path.parent.name: each.label for each in images.find(tmp_path, 3)}
    assert found == {"cat": 0, "dog": 1, "emu": 2}


def test_two_folders_of_one_class_are_refused(tmp_path: Path) -> None:
    for name in ("0", "1", "01"):
        (tmp_path / name).mkdir()
        np.save(tmp_path / name / "a.npy", np.zeros(1))
    with pytest.raises(UsageError, match="has the class 1 twice: 01 and 1"):
        images.find(tmp_path, 3)


def test_wilson_s_interval() -> None:
    """Newcombe 1998 (Statistics in Medicine 17, 857), table I, method 3: 81 of 263 and 0 of 20."""
    found = wilson(81, 263)
    assert (found.low, found.high) == (pytest.approx(0.2553, abs=5e-5), pytest.approx(0.3662, abs=5e-5))
    assert wilson(0, 20).low == 0.0 and wilson(0, 20).high == pytest.approx(0.1611, abs=5e-5)


def test_the_api_takes_what_the_command_takes(trained: Path, tmp_path: Path) -> None:
    found = api.accuracy("digits_cnn", trained / "w.npz", trained / "data", ["fake"], store=tmp_path / "store")
    assert found.images == 100 and found.contenders[0].right > 50 and not found.failures
