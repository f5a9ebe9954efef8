"""A whole race whose workers run on Python 3.6, with the oldest NumPy they may have."""

from pathlib import Path

import pytest

from photofinish import api, environments
from photofinish.environments import Missing, Recipe, choice, interpreters
from photofinish.environments.recipes import Order

MODEL = str(Path(__file__).parent / "tiny.py") + ":tiny"


def test_a_race_runs_on_python_3_6(tmp_path: Path) -> None:
    """Its environment is made once, of two small wheels, where the interpreter is found."""
    interpreters.discovered.cache_clear()  # other tests hide what is there
    python = next((each for each in interpreters.discovered() if each.minor == "3.6"), None)
    if python is None:
        pytest.skip("no Python 3.6 here: pyenv install 3.6")
    packages = ("numpy==1.16.6", "dataclasses")
    order = Order(environments.frameworks()["fake"], "", Recipe(">=3.6,<3.7", packages), packages, (), python)
    made = choice.have(order, lambda progress: None)
    if isinstance(made, Missing):
        pytest.skip(made.reason)
    (result,) = api.race(MODEL, ["fake:steady[step=0.010]", "fake:steady[step=0.013]"], launches=3, budget=120.0,
                         seed=1, store=tmp_path, batch=8, environments={"fake": made.python})
    assert result.comparable and result.verdicts[0].verdict == "FASTER"
    assert {each["python"] for each in result.race.environments.values()} == {python.version}
