"""The variables that the workers of the house's own frameworks are started with."""

import os
import shlex
from pathlib import Path

import pytest

from photofinish.environments import Environment, checked, headers, start


def _started(name: str, cache: str, **inherited: str) -> dict[str, str]:
    """The variables of a worker of TensorFlow or Keras, as they are spelled here."""
    contender = checked(name)
    home = Environment(Path("/e/bin/python"), headers.frameworks()[contender.framework], "1")
    return start.variables(home, {"HOME": "/mine", **inherited}, cache, contender.options)


def test_flags_of_tensorflow_hold_a_path_with_blanks() -> None:
    told = _started("tensorflow:xla[cache=on]", '/my "own" store/cache')["TF_XLA_FLAGS"]
    assert told == r'--tf_xla_persistent_cache_directory="/my \"own\" store/cache/xla"'  # TensorFlow's own grammar


@pytest.mark.parametrize("name", ["theano", "keras-theano", "pytensor"])
def test_flags_of_theano_hold_a_path_with_commas_and_quotes(name: str) -> None:
    folder = '/Anna\'s, "best" work/cache'
    told = _started(name, folder)["PYTENSOR_FLAGS" if name == "pytensor" else "THEANO_FLAGS"]
    flags = shlex.shlex(told, posix=True)  # as both of them read it
    flags.whitespace, flags.whitespace_split = ",", True
    assert f"base_compiledir={folder}/{name.removeprefix('keras-')}" in list(flags)


def test_pytensor_never_reads_the_settings_of_its_user() -> None:
    assert _started("pytensor", "/c", PYTENSORRC="/mine")["PYTENSORRC"] == os.devnull


def test_keras_never_reads_the_settings_of_its_user() -> None:
    for name in ("keras-tensorflow", "keras-tensorflow@2.2.4", "keras-jax", "keras-torch", "tensorflow", "litert"):
        assert _started(name, "/c", KERAS_HOME="/mine")["KERAS_HOME"] == "/c/keras"
    assert _started("keras-theano", "/c")["KERAS_HOME"] == "/c/keras-theano"
    assert _started("keras-jax:jit[KERAS_HOME=/other]", "/c")["KERAS_HOME"] == "/other"
    assert "KERAS_HOME" not in _started("torch", "/c")
