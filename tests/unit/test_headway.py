"""How far a proof is told to be, against what a proof writes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from photofinish import api, models
from photofinish.frameworks import Setup
from photofinish.frameworks.numpy import Contestant
from photofinish.measure import proof
from photofinish.runner import process
from photofinish.runner.headway import Headway
from photofinish.values import Progress

TINY = f"{Path(__file__).parents[1] / 'null' / 'tiny.py'}:tiny"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("proof")
    proof.prepare(path, models.find(TINY).graph(), draws=1, exact_draws=2)
    return path


@pytest.mark.parametrize("do, label, forward_only, steps", [
    (proof.confirm, proof.REFERENCE, False, 3), (proof.run, proof.REFERENCE, False, 3 * 8 + 2 * 2 * proof.STEPS),
    (proof.free_runs, proof.REFERENCE, False, 2 * proof.STEPS), (proof.run, "own", False, 2 * (8 + 2 * proof.STEPS)),
    (proof.run, "engine", True, 2), (proof.confirm, "engine", True, 1)])
def test_a_proof_is_done_when_all_its_files_are_written_again(
        folder: Path, do: Callable[..., list[str]], label: str, forward_only: bool, steps: int) -> None:
    """In this order: of a reference that was confirmed first, what lies there counts for nothing."""
    headway = Headway(folder, label, {proof.run: "prove"}.get(do, do.__name__), forward_only)
    assert headway.told() == Progress("waiting", done=0, total=steps)
    files = do(lambda: Contestant(Setup("reference", precision="float64")), folder, label,
               **({"forward_only": True} if forward_only else {}))
    assert {str(each) for each in headway.steps} == {each for each in files if "/draw" in each}
    assert (headway.told().done, headway.told().seconds_left) == (steps, 0.0)


def test_who_waits_for_a_proof_is_told_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "LOOK", 0.001)
    told: list[Progress] = []
    found = api.verify(TINY, ["fake"], store=tmp_path, listener=told.append)
    assert found.certified
    shares = [each.done / each.total for each in told if each.stage == "waiting" and each.total]
    assert shares and max(shares) > 0.2 and all(0 <= each <= 1 for each in shares)
    assert any(each.total is None for each in told if each.stage == "waiting")  # of what is no proof nobody knows it
