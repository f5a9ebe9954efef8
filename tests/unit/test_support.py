"""What the frameworks are said to make of each layer is what their tables print."""

import subprocess
import sys
from functools import lru_cache, partial
from importlib import import_module

import pytest

from families.common import Case
from parity.cases import cases
from photofinish import environments, layers, support
from photofinish.frameworks import Unsupported, forms
from photofinish.frameworks._keras.compiled import compiled_source
from photofinish.graph import Graph, record
from photofinish.layers import KINDS, Spec
from photofinish.models import find
from photofinish.vocabulary import embedding_bag, pairwise_dots, scan, stack, tanh


def in_python(framework: str) -> bool:
    """Whether its part has the tables of its families in Python; of others support.json tells (test_node)."""
    return (environments.FOLDER / support.part(framework) / "activation.py").exists()


PRINTERS = {name: support.part(name) for name in support.frameworks() if support.part(name)[1:] in forms()}


def needed(framework: str, kind: str) -> bool:
    """What trains nothing needs no loss."""
    return "train" in support.tasks(framework) or not KINDS[kind].__module__.endswith(".losses")


EVERY = [(framework, kind) for framework in PRINTERS for kind in KINDS if needed(framework, kind)]


@lru_cache(maxsize=None)
def prints(framework: str, name: str) -> bool:
    """Whether the framework's part can write an example of the parity suite."""
    tables = environments.frameworks()[framework].recipe.layers
    module = import_module(f"photofinish.frameworks.{PRINTERS[framework]}.source")
    own = import_module(f"photofinish.frameworks.{tables}") if tables else module
    source = getattr(own, "native_source", module.native_source)
    if framework.startswith("keras-") and own is module:
        source = partial(compiled_source, framework.partition("-")[2])
    try:
        return bool(source(cases()[name].graph))
    except Unsupported:
        return False
    except ModuleNotFoundError as missing:
        pytest.skip(f"{missing.name} is not installed")


def with_kind(framework: str, kind: str) -> list[str]:
    """The examples that have a layer kind and, of others, only those that the framework surely has."""
    def alone(case: Case) -> bool:
        return all(support.of_layer(framework, KINDS[other]).level != "absent"
                   for other in case.kinds - {kind} if needed(framework, other))
    return [name for name, case in cases().items() if kind in case.kinds and alone(case)]


@pytest.mark.parametrize(("framework", "kind"), EVERY)
def test_what_is_absent_cannot_be_printed_and_what_is_there_can(framework: str, kind: str) -> None:
    found = support.of_layer(framework, KINDS[kind])
    assert found.level in support.LEVELS
    assert found.reason or found.level == "native"
    printed = [prints(framework, name) for name in with_kind(framework, kind)]
    assert printed
    assert not any(printed) if found.level == "absent" else any(printed)


@pytest.mark.parametrize("framework", [name for name in support.frameworks() if in_python(name)])
def test_reasons_are_told_of_layers_that_exist_and_in_their_own_family(framework: str) -> None:
    for family in {kind.__module__.rpartition(".")[2] for kind in KINDS.values()}:
        module = import_module(f"photofinish.frameworks.{support.part(framework)}.{family}")
        for table in ("LOWERED", "LIMITS", "ABSENT"):
            for kind, reason in getattr(module, table, {}).items():
                assert kind.__module__ == f"photofinish.layers.{family}" and reason, (table, kind)


def test_a_layer_in_no_table_is_absent() -> None:
    class Unheard(layers.Elementwise):
        pass

    Unheard.__module__ = layers.Linear.__module__
    assert support.of_layer("torch", Unheard) == support.Support("absent", support.NO_RULE)


def bags() -> Graph:
    def model(ids):  # type: ignore[no-untyped-def]
        x = embedding_bag(ids, 7, 3)
        return pairwise_dots(stack(x, tanh(x)))
    return record(model, {"ids": Spec("T", (4,), "int32")})


def test_a_model_is_supported_as_well_as_the_worst_of_its_layers() -> None:
    found = support.of_model("tensorflow", bags())
    assert found.level == "lowered"
    assert [part.split(":")[0] for part in found.reason.split("; ")] == ["EmbeddingBag", "PairwiseDots"]
    both = ("train", "infer")
    assert support.of_model("tensorflow", find("resnet18").graph()) == support.Support("native", tasks=both)


def test_what_only_training_has_does_not_count_where_nothing_is_trained() -> None:
    graph = find("inception_v3").graph()
    assert {layers.SoftmaxCrossEntropy} <= set(support.kinds(graph)) - set(support.kinds(graph, training=False))
    assert support.of_layer("openvino", layers.SoftmaxCrossEntropy).level == "absent"
    assert support.of_model("openvino", graph) == support.Support("native", tasks=("infer",))


def test_the_layers_inside_a_scan_and_the_losses_count() -> None:
    carried = {"carry": Spec("C", (3,)), "x": Spec("C", (3,))}
    body = record(lambda carry, x: (pairwise_dots(stack(carry, x, tanh(x))),) * 2, carried)
    graph = record(lambda carry, x: scan(body, carry, x), {"carry": Spec("C", (3,)), "x": Spec("TC", (4, 3))})
    assert {layers.Scan, layers.PairwiseDots, layers.Tanh} <= set(support.kinds(graph))
    assert layers.SoftmaxCrossEntropy in set(support.kinds(find("digits_cnn").graph()))


def test_no_framework_is_imported() -> None:
    code = ("from photofinish import support; support.matrix(); import sys; "
            "print(sorted({'torch', 'tensorflow', 'keras', 'onnx'} & set(sys.modules)))")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
