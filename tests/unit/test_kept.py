"""References of earlier proofs: found again where nothing they depend on has changed, and nowhere else."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from photofinish import api
from photofinish.measure.proof import REFERENCE
from photofinish.runner import kept

TINY = f"{Path(__file__).parents[1] / 'null' / 'tiny.py'}"
BY = kept.Found("torch:eager", False)


def proven(folder: Path, seconds: float = 2 * kept.WORTH, text: str = "a") -> Path:
    """A folder as a proof leaves it."""
    draw = folder / REFERENCE / "draw0"
    draw.mkdir(parents=True)
    (draw / "training.npz").write_text(text)
    (folder / REFERENCE / "about.json").write_text(json.dumps({"seconds": seconds}))
    return folder


def drawn(folder: Path) -> Path:
    return folder / REFERENCE / "draw0/training.npz"


def test_what_is_kept_is_found_and_shares_its_files(tmp_path: Path) -> None:
    where, other = tmp_path / "kept", tmp_path / "other"
    assert kept.adopt("key", other, where) is None and not other.exists()
    kept.keep("key", proven(tmp_path / "first"), BY, where)
    assert kept.adopt("key", other, where) == BY
    assert drawn(other).read_text() == "a" and drawn(other).samefile(drawn(where / "key"))
    kept.keep("key", proven(tmp_path / "wider", text="more"), kept.Found(BY.by, True), where)
    assert kept.adopt("key", tmp_path / "third", where) == kept.Found(BY.by, True)
    assert [each.name for each in where.iterdir()] == ["key"]


def test_what_was_quick_is_computed_again(tmp_path: Path) -> None:
    kept.keep("key", proven(tmp_path / "first", seconds=kept.WORTH / 2), BY, tmp_path / "kept")
    assert kept.adopt("key", tmp_path / "other", tmp_path / "kept") is None


@pytest.mark.parametrize("told", [None, "", "[]", '{"of": 1}'])
def test_one_that_is_half_there_is_none(tmp_path: Path, told: str | None) -> None:
    where = tmp_path / "kept"
    kept.keep("key", proven(tmp_path / "first"), BY, where)
    path = where / "key" / kept.TOLD
    path.unlink() if told is None else path.write_text(told)
    assert kept.adopt("key", tmp_path / "other", where) is None and not (tmp_path / "other" / REFERENCE).exists()


def test_those_not_used_for_longest_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = tmp_path / "kept"
    for name, used in (("old", 200), ("older", 100), ("new", 300)):
        kept.keep(name, proven(tmp_path / name, text=1000 * name[0]), BY, where)
        os.utime(where / name / kept.TOLD, (used, used))
    size = sum(path.stat().st_size for path in (where / "old").rglob("*") if path.is_file())
    monkeypatch.setattr(kept, "SHARE", 1.0)
    monkeypatch.setattr(kept.shutil, "disk_usage", lambda path: type("Usage", (), {"free": -1.5 * size}))
    kept.keep("newest", proven(tmp_path / "newest", text=1000 * "n"), BY, where)
    assert sorted(each.name for each in where.iterdir()) == ["new", "newest"]


def test_one_that_was_being_removed_when_somebody_was_killed_is_none(tmp_path: Path,
                                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    where, whole = tmp_path / "kept", shutil.rmtree
    kept.keep("key", proven(tmp_path / "first"), BY, where)
    with monkeypatch.context() as killed:
        killed.setattr(kept.shutil, "rmtree", lambda path, **how: whole(path / REFERENCE / "draw0", **how))
        killed.setattr(kept, "SHARE", 0.0)
        kept._make_room(where)
    assert kept.adopt("key", tmp_path / "other", where) is None
    half = next(where.iterdir()).rename(where / ".key.1.gone")
    kept.keep("key", proven(tmp_path / "second"), BY, where)
    assert half.exists()  # it may be another process that is still at it
    os.utime(half, (0, 0))
    kept.keep("key", proven(tmp_path / "third"), BY, where)
    assert [each.name for each in where.iterdir()] == ["key"]


def test_another_contender_and_another_regime_find_it_and_another_proof_does_not(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "WORTH", 0.0)
    monkeypatch.setenv("PHOTOFINISH_CACHE", str(tmp_path / "cache"))

    def said(model: str = "tiny", contender: str = "fake:steady", **asked: Any) -> int:
        told: list[str] = []
        found = api.verify(f"{TINY}:{model}", [contender], store=tmp_path / "store",
                           listener=lambda progress: told.append(progress.text), **asked)
        assert found.certificates[0].passed
        return sum("that of an earlier proof, computed by numpy:reference" in text for text in told)
    assert said() == 0
    assert said(contender="fake:steady[step=0.02]") == 1 and said(regime="out-of-the-box") == 1
    assert said(recertify=True) == 0
    assert said("tiny_steep") == 0
    assert said("tiny_steep", contender="fake:steady[step=0.02]") == 2  # at the usual pace, and at the slower one
