"""torch DataParallel: judged where there are two CUDA devices; elsewhere it says why not, and its path is run on a CPU,
where DataParallel hands everything to the model itself."""

from pathlib import Path

import numpy as np
import pytest

from photofinish import environments, models
from photofinish.data import draw_batch
from photofinish.errors import UsageError
from photofinish.frameworks import Arrays, Setup, Unsupported
from photofinish.optimizers import SGD
from photofinish.weights import initial_state

torch = pytest.importorskip("torch")
TINY = f"{Path(__file__).parents[1] / 'null' / 'tiny.py'}:tiny"


def after_a_step(contestant: object) -> Arrays:
    graph = models.find(TINY).graph()
    contestant.build(graph, 8, SGD())  # type: ignore[attr-defined]
    contestant.put(initial_state(graph, 1))  # type: ignore[attr-defined]
    contestant.train_step(contestant.feed(draw_batch(graph, 8, 1)))  # type: ignore[attr-defined]
    return contestant.get()  # type: ignore[attr-defined, no-any-return]


def test_without_two_devices_it_says_so() -> None:
    from photofinish.frameworks._torch.strategies.dp import Contestant
    if torch.cuda.device_count() > 1:
        pytest.skip("there are two CUDA devices")
    with pytest.raises(Unsupported, match=r"DataParallel over 2 devices: this machine has [01] CUDA device"):
        Contestant(Setup("eager", device="cuda", world=2))
    with pytest.raises(Unsupported, match="over 2 devices from number 1 on"):
        Contestant(Setup("eager", device="cuda:1", world=2))
    with pytest.raises(UsageError, match="dp has never been run on cpu"):
        environments.expand("torch:eager+dp[2]")


def test_its_steps_are_those_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    from photofinish.frameworks._torch.strategies import dp
    from photofinish.frameworks.torch import Contestant as Alone
    if torch.cuda.is_available():
        pytest.skip("there DataParallel uses the devices")
    calls = []

    class Counted(dp.DataParallel):  # type: ignore[misc]
        def forward(self, *inputs: object) -> object:
            calls.append(len(inputs))
            return super().forward(*inputs)

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(dp, "DataParallel", Counted)
    several, alone = dp.Contestant(Setup("eager", world=2)), Alone(Setup("eager"))
    found, expected = after_a_step(several), after_a_step(alone)
    assert calls == [1] and several.facts()["strategy"] == "DataParallel"
    assert all(np.array_equal(found[name], expected[name]) for name in expected) and found.keys() == expected.keys()


def test_two_devices_compute_what_the_reference_does(tmp_path: Path) -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip(f"DataParallel needs two CUDA devices, this machine has {torch.cuda.device_count()}")
    from photofinish import api
    assert api.verify(TINY, ["torch:eager+dp[2]"], device="cuda", store=tmp_path).certified
