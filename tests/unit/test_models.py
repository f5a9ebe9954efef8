"""The zoo: exact counts against the original implementations, reduced models, and a user's own file."""

import json
import re
from functools import lru_cache
from pathlib import Path

import pytest

from photofinish import models
from photofinish.graph import Graph, ModelError
from photofinish.layers import layer_fields
from photofinish.models import UnknownModel, find

ZOO = models.all_models()
TABLE = json.loads(Path(__file__).with_name("oracles.json").read_text())
ORACLES = TABLE["rows"]
EXAMPLE = Path(__file__).parents[2] / "examples" / "my_net.py"


def number(value):
    """A count of the table: a number, or the arithmetic that gives it."""
    if isinstance(value, int):
        return value
    assert re.fullmatch(r"[0-9+*() -]+", value)
    return eval(value)


def counted(row, size=""):
    """The graph a row speaks of, with its first input resized but for the channels."""
    spec = find(row["model"]).inputs[0][1]
    shape = tuple(length if axis == "C" else int(size) for axis, length in zip(spec.axes, spec.shape)) if size else None
    return find(row["model"]).graph(shape, row.get("classes"), **row.get("arguments", {}))


@pytest.mark.parametrize("row", ORACLES, ids=lambda row: row["row"])
def test_parameters_and_statistics_equal_the_original(row):
    graph = counted(row, next(iter({**row["macs"], **row.get("gmacs", {})}), ""))
    assert graph.parameter_count == number(row["parameters"])
    assert "statistics" not in row or graph.state_count == number(row["statistics"])


@pytest.mark.parametrize("row, size", [(row, size) for row in ORACLES for size in row["macs"]],
                         ids=lambda value: value["row"] if isinstance(value, dict) else value)
def test_macs_equal_the_original(row, size):
    assert counted(row, size).macs == number(row["macs"][size])


@pytest.mark.parametrize("row, size", [(row, size) for row in ORACLES for size in row.get("gmacs", {})],
                         ids=lambda value: value["row"] if isinstance(value, dict) else value)
def test_macs_equal_those_published_to_three_decimals(row, size):
    assert round(counted(row, size).macs / 1e9, 3) == row["gmacs"][size]


def test_every_model_has_an_oracle_or_a_reason_for_none():
    known, without = {row["model"] for row in ORACLES}, set(TABLE["without"])
    assert not known & without
    assert known | without == set(ZOO)


@pytest.mark.parametrize(("depth", "size"), [(50, 128), (50, 224), (50, 299), (50, 320), (101, 224), (152, 224)])
def test_resnet_v1_has_the_parameters_of_v1_5_and_the_work_of_the_keras_one(depth, size):
    name, shape = "resnet{}".format(depth), (3, size, size)
    v1, v1_5, keras = (find(name + variant).graph(shape) for variant in ("_v1", "", "_v1_keras"))
    assert v1.parameter_count == v1_5.parameter_count
    assert v1.state_count == v1_5.state_count
    assert v1.macs == keras.macs < v1_5.macs


SIZES = ("channels", "features", "vocabulary", "length", "rate", "start", "stop", "gain")  # a reduced model's own
SHARES = ("groups", "heads")  # of which it has one or several, as the full one


def kinds(graph):
    """The layers of a graph up to sizes: each kind with its fields."""
    def general(name, value):
        if isinstance(value, Graph):
            return frozenset(kinds(value))
        if name == "factor" and value > 1:  # the root of a width
            return "more than 1"
        return value > 1 if name in SHARES else None if name in SIZES else value
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
    assert re.fullmatch("[a-z]+s( of [a-z]+)?", entry.unit) and entry.task and entry.source
    assert entry.batch >= (8 if entry.graph().state else 1)  # fewer make poor statistics
    if entry.classes is not None:
        assert entry.graph(classes=7).spec(entry.graph().outputs[0]).size("C") == 7


@pytest.mark.parametrize("name", ZOO)
def test_names_read_as_paths(name):
    graph = ZOO[name].graph()
    own = {f"{node.name}.{local}" for node in graph.nodes for local, _ in node.parameters}
    assert set(graph.parameters) <= own  # a shared one is named after the layer that made it
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*", node.name) for node in graph.nodes)


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


IMAGE_MODELS = [name for name, entry in ZOO.items() if entry.inputs[0][0] == "image"]


def takes(name, height, width):
    """Records the model for that image; its error where it is refused."""
    try:
        return find(name).graph((find(name).inputs[0][1].size("C"), height, width))
    except ModelError as error:
        return error


@lru_cache(maxsize=None)
def smallest(name):
    """The least square image the model takes."""
    own = find(name).inputs[0][1].size("H")
    return next(size for size in range(1, own + 1) if isinstance(takes(name, size, size), Graph))


def larger(name):
    """Some sizes above the least, square and not, even and odd."""
    least = smallest(name)
    return [(least + down, least + across) for down, across in ((0, 0), (1, 14), (15, 0), (3, 6), (32, 17))]


@pytest.mark.parametrize("name", [name for name in IMAGE_MODELS if name not in TABLE["gaps"]])
def test_every_size_from_the_smallest_on_is_taken(name):
    assert [size for size in larger(name) if not isinstance(takes(name, *size), Graph)] == []


@pytest.mark.parametrize("name", [name for name in IMAGE_MODELS if name in TABLE["gaps"]])
def test_a_size_in_a_gap_is_refused_by_the_layer_that_does_not_fit(name):
    refusals = [str(error) for error in (takes(name, *size) for size in larger(name)) if isinstance(error, ModelError)]
    assert refusals and all(re.fullmatch(rf"{name} with input [0-9x]+: \S+ \(\w+\): .+", each) for each in refusals)


@pytest.mark.parametrize("name", IMAGE_MODELS)
def test_a_smaller_image_is_refused_by_the_layer_it_does_not_fit(name):
    size = smallest(name) - 1
    by_layer, by_model = rf"with input \d+x{size}x{size}: \S+ \(\w+\): .+", r"takes an input CHW such as .+"
    assert re.fullmatch(f"{name} {by_layer if size else by_model}", str(takes(name, size, size)))


@pytest.mark.parametrize("row", [row for row in ORACLES if "smallest" in row], ids=lambda row: row["row"])
def test_the_smallest_image_is_the_one_the_original_names(row):
    assert smallest(row["model"]) == row["smallest"]


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
        assert find(name).name == name and find(name).classes is None
        with pytest.raises(ModelError, match="has no classes to set"):
            find(name).graph((3, 16, 16), 12)


def test_what_a_file_prints_is_no_answer_of_a_command(tmp_path, capsys):
    path = user_file(tmp_path, PLAIN.replace("    return", "    print('called')\n    return") + "print('imported')\n")
    find(path).graph((3, 16, 16))
    told = capsys.readouterr()
    assert (told.out, told.err.split()) == ("", ["imported", "called"])


def test_a_name_that_is_too_long_for_a_file_is_unknown():
    with pytest.raises(models.UnknownModel):
        find("a" * 300)


def test_a_file_may_name_its_models_and_leaves_the_zoo_alone(tmp_path):
    path = user_file(tmp_path, HEAD + """
from photofinish import models
from photofinish.models.resnet import basic, resnet

@models.model("narrow", arguments={"width": 2})
@models.model("resnet18", arguments={"width": 3})
def mine(image, classes, width):
    return linear(global_average_pool(conv(image, width, 3)), classes)

thin = models.model("thin", arguments={"width": 4})(mine)
thick = models.model("thick", arguments={"width": 5})(mine)
""")
    for name, width in (("narrow", 2), ("thin", 4), ("thick", 5)):
        assert find(path + ":" + name).graph().parameters["conv1.weight"].shape[0] == width
    assert find(path + ":resnet18").graph().parameters["conv1.weight"].shape[0] == 3
    assert find("resnet18").graph().parameters["conv1.weight"].shape[0] == 64
    assert models.all_models() == ZOO


GUIDE = """
from photofinish.models import image, model
from photofinish.vocabulary import block, global_average_pool, linear, relu

@block
def twice(x):
    return relu(relu(x))

@model(inputs=image(3, 32, 32), classes=10)
def net(x, classes):
    return linear(global_average_pool(twice(x)), classes)
"""


def test_the_only_model_of_a_file_need_not_be_named_and_what_it_imports_is_none(tmp_path):
    path = user_file(tmp_path, GUIDE)
    assert dict(find(path).graph().inputs)["image"].shape == (3, 32, 32)
    assert find(path).graph().parameters == find(path + ":net").graph().parameters
    with pytest.raises(ModelError, match=r"has no function model; write [^ ]*net.py:net$"):
        find(path + ":model")
    two = user_file(tmp_path, GUIDE + "\nmodel(inputs=image(3, 8, 8), classes=3)(twice)\n")
    with pytest.raises(ModelError, match=r"has no function model; write [^ ]*net.py:net or [^ ]*net.py:twice$"):
        find(two)


@pytest.mark.parametrize("text, function, message", [
    ("def model(image:\n", "model", r"net.py line 1 cannot be read: .*never closed"),
    ("import no_such_package\n", "model", "net.py cannot be imported: ModuleNotFoundError: .*no_such_package"),
    (PLAIN, "modle", r"net.py has no function modle; write .*net.py:model$"),
    ("model = 3\n", "model", "net.py has no function model; it has none at all"),
    ("raise SystemExit(3)\n", "model", "net.py cannot be imported: SystemExit: 3"),
    ("\0", "model", "net.py(?! line None).* cannot be read: .*null bytes"),
    (HEAD + "def model(image):\n    return linear(image, 6)\n", "model",
     r"net.py:model with input 3x224x224: linear1 \(Linear\): .*flatten first"),
    (HEAD + "def model(image):\n    x = relu(image)\n    return x.chanels\n", "model",
     "net.py line 4, return x.chanels: AttributeError: .*chanels"),
    (HEAD + "def model(image, other):\n    return image\n", "model",
     r"net.py: model\(image, other\) is called with image: missing .*'other'"),
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
