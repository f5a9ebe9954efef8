"""The zoo: exact counts against the original implementations, reduced models, and a user's own file."""

import json
import re
from pathlib import Path

import pytest

from photofinish import models
from photofinish.graph import ModelError
from photofinish.layers import layer_fields
from photofinish.models import UnknownModel, find

ZOO = models.all_models()
ORACLES = json.loads(Path(__file__).with_name("oracles.json").read_text())["rows"]
EXAMPLE = Path(__file__).parents[2] / "examples" / "my_net.py"


@pytest.mark.parametrize("row", ORACLES, ids=lambda row: row["row"])
def test_parameters_and_statistics_equal_the_original(row):
    graph = find(row["model"]).graph((3, 224, 224))
    assert (graph.parameter_count, graph.state_count) == (row["parameters"], row["statistics"])


@pytest.mark.parametrize("row, size", [(row, size) for row in ORACLES for size in row["macs"]],
                         ids=lambda value: value["row"] if isinstance(value, dict) else value)
def test_macs_equal_the_original(row, size):
    assert find(row["model"]).graph((3, int(size), int(size))).macs == row["macs"][size]


def test_every_model_of_the_original_studies_has_an_oracle():
    # resnet50_v1 and digits_cnn have no counted original: the next tests bound them
    assert {row["model"] for row in ORACLES} == set(ZOO) - {"resnet50_v1", "digits_cnn"}


@pytest.mark.parametrize("size", [128, 224, 299, 320])
def test_resnet50_v1_has_the_parameters_of_v1_5_and_the_work_of_the_keras_one(size):
    shape = (3, size, size)
    v1, v1_5, keras = (find(name).graph(shape) for name in ("resnet50_v1", "resnet50", "resnet50_v1_keras"))
    assert v1.parameter_count == v1_5.parameter_count
    assert v1.state_count == v1_5.state_count
    assert v1.macs == keras.macs < v1_5.macs


def test_digits_cnn_is_what_its_formula_says():
    graph = find("digits_cnn").graph()
    kernels = 9 * (1 * 32 + 32 * 32 + 32 * 64)
    norms = 32 + 32 + 64
    assert graph.parameter_count == kernels + 2 * norms + (2 * 2 * 64 + 1) * 10
    assert graph.state_count == 2 * norms
    assert graph.macs == 9 * (64 * (1 * 32 + 32 * 32) + 16 * 32 * 64) + 2 * 2 * 64 * 10
    assert graph.spec("image").shape == (1, 8, 8)


def kinds(graph):
    """The layers of a graph up to sizes: each kind with its fields, without channels, groups and rates."""
    def general(name, value):
        if name == "groups":
            return value > 1
        return None if name in ("channels", "features", "rate") else value
    return {(type(node.layer).__name__,
             tuple((name, general(name, value)) for name, value in layer_fields(node.layer).items()))
            for node in graph.nodes}


@pytest.mark.parametrize("name", ZOO)
def test_the_reduced_model_is_small_and_has_every_layer_of_the_full_one(name):
    full, small = ZOO[name].graph(), ZOO[name].small()
    assert kinds(small) == kinds(full)
    assert small.parameter_count < 50_000
    assert bool(small.random_nodes) == bool(full.random_nodes)


@pytest.mark.parametrize("name", ZOO)
def test_a_model_says_what_a_race_needs_to_know(name):
    entry = ZOO[name]
    assert entry.unit == "images" and entry.batch >= 8 and entry.source
    assert entry.graph(classes=7).spec(entry.graph().outputs[0]).shape == (7,)


@pytest.mark.parametrize("name", ZOO)
def test_names_read_as_paths(name):
    for node in ZOO[name].graph().nodes:
        assert re.fullmatch(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*", node.name)
        assert all(parameter == node.name + "." + local for local, parameter in node.parameters)


@pytest.mark.parametrize("name, shape, message", [
    ("vgg16", (3, 31, 31), r"vgg16 with input 3x31x31: stage5.max_pool1 \(MaxPool\): no room left"),
    ("vgg16_keras", (3, 40, 16), r"vgg16_keras with input 3x40x16: stage5.max_pool1 \(MaxPool\)"),
    ("digits_cnn", (1, 3, 3), r"digits_cnn with input 1x3x3: max_pool2 \(MaxPool\): no room left"),
    ("resnet18", (3, 0, 32), "resnet18 takes an input CHW such as 3x224x224, not 3x0x32"),
    ("resnet18", (224, 224), "resnet18 takes an input CHW such as 3x224x224, not 224x224"),
])
def test_an_input_that_does_not_fit_is_refused_in_one_message(name, shape, message):
    with pytest.raises(ModelError, match=message):
        find(name).graph(shape)


@pytest.mark.parametrize("size", [(32, 32), (33, 47), (224, 160)])
@pytest.mark.parametrize("name", sorted(set(ZOO) - {"digits_cnn"}))
def test_every_size_the_architecture_allows_is_taken(name, size):
    assert find(name).graph((3,) + size).outputs


def test_an_unknown_model_names_the_nearest():
    with pytest.raises(UnknownModel, match="did you mean resnet50"):
        find("resnet5o")
    with pytest.raises(UnknownModel, match="photofinish list models"):
        find("qqqq")


def test_the_example_is_a_model_like_any_other():
    entry = find("{}:model".format(EXAMPLE))
    assert entry.batch == 16
    assert entry.graph().spec("image").shape == (3, 32, 32)
    assert kinds(entry.small()) == kinds(entry.graph())


def user_file(folder, text):
    path = folder / "net.py"
    path.write_text(text)
    return str(path)


HEAD = "from photofinish.vocabulary import *\n"
PLAIN = HEAD + "def model(image):\n    return linear(global_average_pool(conv(image, 4, 3)), 6)\n"


def test_a_plain_function_is_enough_and_its_own_head_decides_the_classes(tmp_path):
    path = user_file(tmp_path, PLAIN)
    for name in (path, path + ":model"):
        graph = find(name).graph((3, 16, 16))
        assert graph.spec(graph.outputs[0]).shape == (6,)
        assert find(name).name == name


def test_a_file_may_name_its_models_and_leaves_the_zoo_alone(tmp_path):
    path = user_file(tmp_path, HEAD + """
from photofinish import models
from photofinish.models.resnet import basic, resnet

@models.model("narrow", arguments={"width": 2})
@models.model("resnet18", arguments={"width": 3})
def mine(image, classes, width):
    return linear(global_average_pool(conv(image, width, 3)), classes)
""")
    assert find(path + ":narrow").graph().parameters["conv1.weight"].shape[0] == 2
    assert find(path + ":resnet18").graph().parameters["conv1.weight"].shape[0] == 3
    assert find("resnet18").graph().parameters["conv1.weight"].shape[0] == 64
    assert models.all_models() == ZOO


@pytest.mark.parametrize("text, function, message", [
    ("def model(image:\n", "model", r"net.py line 1 cannot be read: .*never closed"),
    ("import no_such_package\n", "model", "net.py cannot be imported: ModuleNotFoundError: .*no_such_package"),
    (PLAIN, "modle", "net.py has no function modle; it has: model$"),
    ("model = 3\n", "model", "net.py has no function model; it has: none"),
    (HEAD + "def model(image):\n    return linear(image, 6)\n", "model",
     r"net.py:model with input 3x224x224: linear1 \(Linear\): .*flatten first"),
    (HEAD + "def model(image):\n    x = relu(image)\n    return x.chanels\n", "model",
     "net.py line 4: AttributeError: .*chanels"),
    (HEAD + "def model(image, other):\n    return image\n", "model", "net.py: TypeError: .*'other'"),
    (HEAD + "def model(image):\n    relu(image)\n", "model", "must return a tensor"),
    (HEAD + "def model(image):\n    return relu(image)\n", "model", "SoftmaxCrossEntropy of relu1: needs logits"),
])
def test_a_mistake_in_a_file_gives_one_message(tmp_path, text, function, message):
    with pytest.raises(ModelError, match=message) as caught:
        find(user_file(tmp_path, text) + ":" + function).graph()
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ModelError, match=r"there is no file .*nowhere\.py"):
        find(str(tmp_path / "nowhere.py:model"))
