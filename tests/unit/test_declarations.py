"""What `@model`, `Preparation` and the words refuse: one message each, where the mistake stands, with what is right."""

import re
from pathlib import Path

import pytest

from photofinish.arguments import ArgumentError
from photofinish.cli import run
from photofinish.files import names
from photofinish.graph import Graph, ModelError, Tensor, record
from photofinish.layers import Spec
from photofinish.models import Model, Preparation, checks, find, image, timm_inception, words
from photofinish.optimizers import SGD
from photofinish.vocabulary import (
    average_pool,
    batch_norm,
    conv,
    dropout,
    gelu,
    global_average_pool,
    linear,
    max_pool,
    pad,
    relu,
    scan,
    select,
)

HEAD = """from photofinish import layers
from photofinish.models import Preparation, image, model, words
from photofinish.optimizers import SGD, Adam
from photofinish.vocabulary import conv, global_average_pool, linear

"""
NET = """
def net(x, classes, width=4):
    return linear(global_average_pool(conv(x, width, 3)), classes)
"""


def user_file(folder: Path, declaration: str, function: str = NET) -> str:
    path = folder / "net.py"
    path.write_text(HEAD + declaration + function)
    return f"{path}:net"


LOSSES = r"it takes SoftmaxCrossEntropy\(\) or BinaryCrossEntropy\(\) of photofinish.layers, or None for a function .*"
OPTIMIZERS = r"it takes SGD\(\) or Adam\(\) of photofinish.optimizers.*"
POSITIVE = "it takes a whole number above 0.*"
PAIRS = r"it takes pairs: \(\(\"linear1\", \"fc\"\),\)"
KNOWN = "choose from: torchvision, timm, transformers, keras.applications"


@pytest.mark.parametrize("written, message", [
    ("inputs=(3, 32, 32)", r"inputs=\(3, 32, 32\): it takes image\(3, 32, 32\)"),
    ("inputs=()", r"inputs=\(\): it takes a name and a Spec for each input: image\(3, 32, 32\), words.*"),
    ("inputs=3", r"inputs=3: it takes a name and a Spec .*"),
    ("inputs=layers.Spec('CHW', (3, 8, 8))", r"inputs=Spec\(.*\): it takes a name and a Spec .*"),
    ("inputs=('image', layers.Spec('CHW', (3, 8, 8)))", r"inputs=\('image', .*: it takes a name and a Spec .*"),
    ("inputs=(('image', 3),)", r"inputs=\(\('image', 3\),\): it takes a name and a Spec .*"),
    ("inputs=(('my image', layers.Spec('CHW', (3, 8, 8))),)", r"inputs are called 'my image': each takes a name .*"),
    ("inputs=image(3, 8, 8) * 2", r"inputs are called 'image', 'image': each takes a name of its own.*"),
    ("inputs=(('image', layers.Spec('CHW', (3, 8.5, 8))),)", r"inputs: image has the sizes \(3, 8.5, 8\), .* whole .*"),
    ("inputs=(('image', layers.Spec('CHW', (3, 8, 8), 'float')),)",
     "inputs: image is of type 'float': did you mean float32\\? choose from: float32, int32, int64, bool"),
    ("inputs=image('3', 32, 32)", "image takes a whole number above 0 as channels, not '3'"),
    ("inputs=image(3, 0, 32)", "image takes a whole number above 0 as height, not 0"),
    ("inputs=image(3, 32)", r"image: missing a required argument: 'width'; write image\(channels, height, width\)"),
    ("inputs=image(3, 32, widht=32)", r"image has no argument 'widht': did you mean width\? choose from: channels, .*"),
    ("inputs=words('128', 'text')", "words takes a whole number above 0 as length, not '128'"),
    ("classes='ten'", f"classes='ten': {POSITIVE}"),
    ("classes=0", f"classes=0: {POSITIVE}, or None for a function that has no argument `classes`"),
    ("classes=10.0", f"classes=10.0: {POSITIVE}"),
    ("classes=None", r"net\(x, classes, width=4\) is called with image: missing a required argument: 'classes'"),
    ("objective='mse'", f"objective='mse': {LOSSES}"),
    ("objective=layers.BinaryCrossEntropy", f"objective=<class .*BinaryCrossEntropy'>: {LOSSES}"),
    ("objective=layers.Relu()", rf"objective=Relu\(\): {LOSSES}"),
    ("task=3", r"task=3: it takes a text, such as \"classification\""),
    ("unit=None", r"unit=None: it takes a text, such as \"images\""),
    ("unit=''", r"unit='': it takes a text, such as \"images\""),
    ("unit_axis='Z'", "unit_axis='Z': the first input has the axes C, H, W"),
    ("unit_axis='HW'", "unit_axis='HW': the first input has the axes C, H, W"),
    ("unit_axis=1", "unit_axis=1: it takes a letter"),
    ("unit_size=0", "unit_size=0: it takes a number above 0"),
    ("batch=0", f"batch=0: {POSITIVE}"),
    ("batch='8'", f"batch='8': {POSITIVE}"),
    ("batch=True", f"batch=True: {POSITIVE}"),
    ("optimizer='sgd'", f"optimizer='sgd': {OPTIMIZERS}"),
    ("optimizer=Adam", f"optimizer=<class .*Adam'>: {OPTIMIZERS}"),
    ("optimizer=SGD(learning_rate='0.1')", rf"optimizer=SGD\(.*\): {OPTIMIZERS} with numbers from 0 on"),
    ("optimizer=SGD(-0.1)", rf"optimizer=SGD\(.*\): {OPTIMIZERS} with numbers from 0 on"),
    ("source=1512", "source=1512: it takes a text"),
    ("arguments=8", "arguments=8: it takes a dictionary of the function's arguments, .*"),
    ("arguments={'widht': 8}", r"arguments: net has no argument 'widht': did you mean width\? choose from: width"),
    ("arguments={'classes': 8}", "arguments: \"classes\" is none of them: @model takes classes=10, .*"),
    ("reduced=8", r"reduced=8: it takes a dictionary of the function's arguments, such as {\"width\": 8}"),
    ("reduced={'widht': 8}", r"reduced: net has no argument 'widht': did you mean width\? choose from: width"),
    ("reduced={'classes': 8}", "reduced: \"classes\" is none of them: .* a reduced model has 10"),
    ("reduced={'shape': 8}", r"reduced\[\"shape\"\]=8: it takes sizes CHW such as \(3, 224, 224\)"),
    ("reduced={'shape': (8, 8)}", r"reduced\[\"shape\"\]=\(8, 8\): it takes sizes CHW such as .*"),
    ("reduced={'inputs': (3, 8, 8)}", r"reduced\[\"inputs\"\]=\(3, 8, 8\): it takes image\(3, 8, 8\)"),
    ("tsk='x'", r"@model has no argument 'tsk': did you mean task\? choose from: name, inputs, classes, .*"),
    ("function=print", "@model has no argument 'function': choose from: name, .*"),
    ("image(3, 32, 32)", r"name=\(\('image', .*\),\): it takes a text"),
    ("preparation='tf'",
     r"preparation='tf': it takes Preparation\(...\), CAFFE or MINUS_ONE_TO_ONE of photofinish.models"),
    ("preparation=Preparation(resample='cubic')",
     r"resample='cubic': did you mean bicubic\? choose from: bilinear, bicubic"),
    ("preparation=Preparation(channels='rgb')", "channels='rgb': choose from: RGB, BGR, L"),
    ("preparation=Preparation(crop=0)", "crop=0: it takes a share of the picture's side, above 0 and up to 1"),
    ("preparation=Preparation(crop='all')", "crop='all': it takes a share .*"),
    ("preparation=Preparation(crop=224)", "crop=224: it takes a share .*"),
    ("preparation=Preparation(border=-1)", "border=-1: it takes a number of pixels from 0 on"),
    ("preparation=Preparation(mean=(.5,), deviation=(0, 0, 0))",
     r"mean=\(0.5,\): it takes a number for each of channels 'RGB', such as \(0.5, 0.5, 0.5\)"),
    ("preparation=Preparation(mean=0.5)", "mean=0.5: it takes a number for each of channels 'RGB', .*"),
    ("preparation=Preparation(mean=(0, 0, '0'))", r"mean=\(0, 0, '0'\): it takes a number for each .*"),
    ("preparation=Preparation(channels='L')", r"mean=\(.*\): it takes the number of channels 'L', such as \(0.5,\)"),
    ("preparation=Preparation(deviation=(1, 0, 1))",
     r"deviation=\(1, 0, 1\): pictures are divided by it, so it takes numbers above 0"),
    ("names=(('linear1', 'fc'),)",
     r"names=\(\('linear1', 'fc'\),\): it takes pairs for each source: "
     r"{\"torchvision\": \(\(\"linear1\", \"fc\"\),\)}"),
    ("names={'torchvison': (('linear1', 'fc'),)}",
     rf"names: no source is called 'torchvison': did you mean torchvision\? {KNOWN}"),
    ("names={'mine': ()}", f"names: no source is called 'mine': {KNOWN}"),
    ("names={3: ()}", f"names: no source is called 3: {KNOWN}"),
    ("names={'torchvision': 'x'}", rf"names\[\"torchvision\"\]='x': {PAIRS}"),
    ("names={'torchvision': {'linear1': 'fc'}}", rf"names\[\"torchvision\"\]={{.*}}: {PAIRS}"),
    ("names={'torchvision': (('linear1',),)}",
     r"names\[\"torchvision\"\]: \('linear1',\) is no pair of a pattern and a name, such as \(\"linear1\", \"fc\"\)"),
    ("names={'torchvision': ('linear1', 'fc')}", r"names\[\"torchvision\"\]: 'linear1' is no pair of .*"),
    ("names={'torchvision': (('linear1', 3),)}", r"names\[\"torchvision\"\]: \('linear1', 3\) is no pair of .*"),
    ("names={'timm': (('linear{n}', 'fc{m}'),)}",
     r"names\[\"timm\"\]: \('linear{n}', 'fc{m}'\): {m} of 'fc{m}' is not in 'linear{n}', which has {n}"),
    ("names={'timm': (('(conv{n}|linear1)', '(conv|fc){n}'),)}", r"names.*: {n} of 'fc{n}' is not in 'linear1'"),
    ("names={'timm': (('(a|b)1', '(c|d|e)1'),)}",
     r"names\[\"timm\"\]: .*: its brackets have 2 and 3 alternatives, which correspond one by one"),
    ("names={'timm': (('(conv)1', 'c'),)}", r"names.*: brackets hold alternatives: \"\(conv\|batch_norm\)1\""),
    ("names={'timm': (('conv|linear', 'c'),)}", r"names.*: brackets hold alternatives: .*"),
    ("names={'timm': (('conv{n-1}', 'c{n}'),)}", "names.*: in a pattern a number is written as a word, {n}"),
    ("names={'timm': (('conv{1}', 'c'),)}", "names.*: in a pattern a number is written as a word, {n}"),
    ("names={'timm': (('stage{n}.conv{n}', 'c{n}'),)}", "names.*: in a pattern each number has a word of its own, .*"),
    ("names={'timm': (('conv{n}', 'c{2*n}'),)}", "names.*: in a name a number is written as {n}, {n\\+1}, .*"),
])
def test_a_wrong_argument_is_refused_where_it_stands(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                                     written: str, message: str) -> None:
    declared = f"@model({written}" + (")" if "classes=" in written else ", classes=10)")
    path = user_file(tmp_path, declared)
    assert run(["show", path]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"photofinish: {path[:-4]} line 6, {declared}: ") and told.count("\n") == 1
    assert re.fullmatch(message, told[told.index(declared) + len(declared) + 2:-1])


@pytest.mark.parametrize("declaration, function, message", [
    ("@model", NET, r"@model takes brackets: @model\(inputs=image\(3, 32, 32\), classes=10\)"),
    ("@model()", "\ndef net(x):\n    return x\n",
     "classes=1000: net has no argument `classes`: give it one, or write classes=None"),
    ("@model(classes=None)", "\ndef net(x):\n    return x\n", None),
    ("@model(classes=None, arguments={'classes': 5}, reduced={'width': 2})", NET, None),
    ("@model()", "\ndef net(*tensors, **options):\n    return tensors[0]\n", None),
    ("@model(inputs=words(8, 'text', mask='mask'), classes=None, unit_axis='T')", "\ndef net(text):\n    return text\n",
     r"net\(text\) is called with text, mask: too many positional arguments"),
    ("@model(inputs=words(8, 'text'), reduced={'shape': [4]})", NET, None),
    ("@model(names={'timm': [['', 'cls.*'], ['*{b}.(conv|linear){n}', '(c|fc){b-1}.{n+1}.{#}']]})", NET, None),
])
def test_a_declaration_fits_its_function(tmp_path: Path, declaration: str, function: str, message: str | None) -> None:
    path = user_file(tmp_path, declaration, function)
    if message is None:
        find(path)
        return
    with pytest.raises(ModelError) as caught:
        find(path)
    assert re.fullmatch(rf"{re.escape(path[:-4])} line 6, {re.escape(declaration)}: {message}", str(caught.value))


def test_a_declaration_of_many_lines_shows_where_it_begins(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"net.py line 6, @model\(: batch=0: it takes a whole number above 0$"):
        find(user_file(tmp_path, "@model(\n    classes=10,\n    batch=0)"))


def test_a_plain_function_that_takes_more_than_an_image_is_told_with_its_file(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"net.py: net\(image, mask, classes\) is called with image, classes=1000: "
                                         "missing a required argument: 'mask'"):
        find(user_file(tmp_path, "", "def net(image, mask, classes):\n    return image\n"))


def test_the_sources_and_the_language_are_those_that_are_read() -> None:
    assert checks.SOURCES == names.PYTORCH + names.KERAS
    assert checks._CHOICE.pattern == names._CHOICE.pattern
    assert checks._NUMBER.pattern == names._NUMBER.pattern


def test_what_fits_is_taken() -> None:
    assert Preparation(1, (0,), (1,), "L", "bicubic").crop == 1
    assert timm_inception(0.9).crop == 0.9
    entry = Model("net", linear_model, image(3, 8, 8), optimizer=SGD(0.1, 0))
    assert entry.graph().spec("image").shape == (3, 8, 8)
    assert [name for name, _ in words(8, "text", mask="mask")] == ["text", "mask"]


@pytest.mark.parametrize("called, function, message", [
    ("model", lambda x, classes: linear(x, classes), "an input is called model, as the network is in printed code: .*"),
    ("label", lambda x, classes: linear(x, classes), "an input is called label, as what the loss compares with: .*"),
    ("x", lambda x, classes: (linear(x, classes),) * 2, "linear1 is returned 2 times: once is enough"),
])
def test_what_a_function_makes_has_names_that_code_can_have(called: str, function, message: str) -> None:
    with pytest.raises(ModelError, match=rf"^net with input 8: {message}$"):
        Model("net", function, ((called, Spec("C", (8,))),)).graph()


def linear_model(x, classes):
    return linear(global_average_pool(x), classes)


def body(carry: int, step: int = 3, last=lambda carry, x: (carry, x)) -> Graph:
    return record(last, {"carry": Spec("C", (carry,)), "x": Spec("C", (step,))})


def steps() -> tuple[Tensor, Tensor]:
    return Tensor("carry", Spec("C", (4,))), Tensor("sequence", Spec("TC", (5, 3)))


@pytest.mark.parametrize("use, message", [
    (lambda x: conv(x, "a", 3), "conv takes a whole number above 0 as channels, not 'a'"),
    (lambda x: conv(x, 8.0, 3), "conv takes a whole number above 0 as channels, not 8.0"),
    (lambda x: conv(x, 8, "3"), r"conv takes a whole number above 0, or two \(down, across\) as kernel, not '3'"),
    (lambda x: conv(x, 8, (3, 3, 3)), r"conv takes .* two \(down, across\) as kernel, not \(3, 3, 3\)"),
    (lambda x: conv(x, 8, 3, stride=0), r"conv takes .* as stride, not 0"),
    (lambda x: conv(x, 8, 3, padding="same"),
     r"conv takes a whole number from 0 on, two \(down, .*\) or four \(top, .*\) as padding, not 'same'"),
    (lambda x: conv(x, 8, 3, padding=-1), "conv takes a whole number from 0 on, .* as padding, not -1"),
    (lambda x: pad(x, "1"), r"pad takes a whole number, two \(down, across\) or four \(top, .*\) as padding, not '1'"),
    (lambda x: max_pool(x, 2, padding=2), "padding 2 has room for a whole window of 2: each side takes less .*"),
    (lambda x: average_pool(x, (3, 2), 1, padding=(1, 2)), r"padding \(1, 2\) has room for .* of \(3, 2\): .*"),
    (lambda x: scan(body(2), *steps()),
     r"scan: the body takes a carry C\(2,\) of float32, and the one it gets is C\(4,\) of float32"),
    (lambda x: scan(body(4, 2), *steps()), r"scan: the body takes a step C\(2,\) of float32, and .* C\(3,\) .*"),
    (lambda x: scan(body(4, last=lambda carry, x: (x, carry)), *steps()),
     r"scan: the body hands on a carry C\(3,\) of float32, and the one it gets is C\(4,\) of float32"),
    (lambda x: scan(body(4, last=lambda carry, x: carry), *steps()), "scan takes a body .* 2 inputs and 1 outputs"),
    (lambda x: scan(body(4), *reversed(steps())), r"scan runs along T, .*: Tensor\(carry, C\(4,\)\) has none"),
    (lambda x: scan(body(4, last=lambda carry, x: (dropout(carry, 0.5), x)), *steps()),
     r"scan: a body has no Dropout \(dropout1\): use it before or after"),
    (lambda x: scan(body(4, last=lambda carry, x: (batch_norm(carry), x)), *steps()),
     r"scan: a body has no BatchNorm \(batch_norm1\): use it before or after"),
    (lambda x: conv(x, 8, 3, groups=0), "conv takes a whole number above 0 as groups, not 0"),
    (lambda x: conv(x, 8, 3, bias="yes"), "conv takes True or False as bias, not 'yes'"),
    (lambda x: conv(x, 8, 3, name=1), "conv takes a text as name, not 1"),
    (lambda x: conv(x, 8, None), "conv takes .* as kernel, not None"),
    (lambda x: conv(8, 3, 3), "conv takes a tensor as x, not 8"),
    (lambda x: conv(x, 8),
     r"conv: missing a required argument: 'kernel'; write conv\(x, channels, kernel, stride=1, .*"),
    (lambda x: conv(x, 8, kernal=3),
     r"conv has no argument 'kernal': did you mean kernel\? choose from: x, channels, .*"),
    (lambda x: relu(x, "a", "b"), r"relu: too many positional arguments; write relu\(x, name=''\)"),
    (lambda x: dropout(x, 1), "dropout takes a number from 0 to less than 1 as rate, not 1"),
    (lambda x: gelu(x, "erf"), 'gelu takes "none" or "tanh" as approximate, not \'erf\''),
    (lambda x: select(x, "0"), "select takes a whole number as index, not '0'"),
])
def test_a_word_says_what_it_takes(use, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        record(use, {"image": Spec("CHW", (3, 8, 8))})
    assert re.fullmatch(message, str(caught.value))


def test_a_mistake_in_a_word_shows_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = user_file(tmp_path, "@model(classes=10)", '\ndef net(x, classes):\n    x = conv(x, "a", 3)\n    return x\n')
    assert run(["show", path]) == 2
    assert capsys.readouterr().err == (
        f'photofinish: {path} with input 3x224x224: {path[:-4]} line 8, x = conv(x, "a", 3): '
        "conv takes a whole number above 0 as channels, not 'a'\n")
