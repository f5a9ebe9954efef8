"""Old versions of frameworks, each in an environment of its own: layer by layer, updates, and small models certified.

`make test-legacy` runs them, in the environments that are there.
"""

import os

import pytest

if "PHOTOFINISH_LEGACY" not in os.environ:
    pytest.skip("old versions of frameworks: make test-legacy", allow_module_level=True)

from parity import test_layers
from parity.cases import cases
from parity.contenders import available
from parity.test_models import prove
from photofinish import environments
from photofinish.environments import TASKS
from photofinish.optimizers import Optimizer
from photofinish.values import Contender

OLD = [each for each in environments.older() if available(each)]
TRAINED = [each for each in OLD if environments.frameworks()[each.framework].tasks_of(each.mode) == TASKS]
OFF = {("torch@1.0.0:eager", "cross-entropy-far"): "gradients of far logits are off by 8e-7, where 7e-7 is allowed"}
MODELS = ("digits_cnn", "alexnet", "mobilenet_v1")  # the others that the ledger has take minutes


@pytest.mark.parametrize("name", cases())
@pytest.mark.parametrize("contender", OLD, ids=lambda each: each.name)
def test_layer(contender: Contender, name: str, request: pytest.FixtureRequest) -> None:
    if (contender.name, name) in OFF:
        request.applymarker(pytest.mark.xfail(reason=OFF[contender.name, name], strict=True))
    (test_layers.agree if contender in TRAINED else test_layers.agree_in_inference)(contender, name)


@pytest.mark.parametrize("optimizer", test_layers.OPTIMIZERS, ids=str)
@pytest.mark.parametrize("contender", TRAINED, ids=lambda each: each.name)
def test_update(contender: Contender, optimizer: Optimizer) -> None:
    test_layers.test_update(contender, optimizer)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("contender", TRAINED, ids=lambda each: each.name)
def test_a_reduced_model_is_certified(contender: Contender, model: str) -> None:
    prove(model, contender)
