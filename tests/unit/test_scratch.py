"""The folder in which a race works goes with it; that of one which was killed, when the next begins."""

import subprocess
import sys
from pathlib import Path

from photofinish.runner.scratch import PREFIX, scratch


def test_a_race_clears_what_the_killed_left_and_nothing_that_is_in_use(tmp_path: Path) -> None:
    code = """if True:
        import os, pathlib, signal, sys
        from photofinish.runner.scratch import scratch
        with scratch(pathlib.Path(sys.argv[1])):
            os.kill(os.getpid(), signal.SIGKILL)
    """
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    (left,) = tmp_path.glob(f"{PREFIX}*")
    with scratch(tmp_path) as first:
        assert not left.exists()
        (first / "weights.npz").touch()
        with scratch(tmp_path) as second:
            assert first != second and (first / "weights.npz").exists()
        assert not second.exists()
    assert not list(tmp_path.iterdir())


def test_a_folder_that_another_is_just_making_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / f"{PREFIX}new").mkdir()
    with scratch(tmp_path):
        pass
    assert (tmp_path / f"{PREFIX}new").is_dir()
