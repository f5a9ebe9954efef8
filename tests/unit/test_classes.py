"""Models written in classes: the printed code is complete, and shares and adds as its framework needs it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from parity.cases import cases
from photofinish.frameworks import native_source
from photofinish.models import find

FORMS = ["mindspore", "mlx", "pytensor", "theano", "tinygrad"]
EXAMPLES = [name for name in cases() if re.match("compact-|everything|auxiliary|.*tied", name)]  # every kind of layer


@pytest.mark.parametrize("form", FORMS)
def test_every_name_in_printed_code_is_there_and_every_import_is_used(form: str, tmp_path: Path) -> None:
    for name in EXAMPLES:
        (tmp_path / f"{name.replace('-', '_')}.py").write_text(native_source(form, cases()[name].graph))
    run = subprocess.run([sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F", "--output-format",
                          "concise", str(tmp_path)], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout


def test_mlx_hides_a_shared_weight_from_the_module_that_uses_it() -> None:
    source = native_source("mlx", cases()["embedding-tied"].graph)
    assert "self.prediction._source = self.table" in source
    assert "TiedLinear(11)" in source


def test_mlx_pads_a_pool_itself_where_it_can() -> None:
    assert "nn.MaxPool2d(3, stride=2, padding=1)" in native_source("mlx", find("resnet18").graph())


def test_tinygrad_adds_to_no_memory_that_the_backward_reads() -> None:
    source = native_source("tinygrad", find("resnet18").graph())
    assert not re.search(r"\w \+= ", source)
    assert "y = y + x" in source
