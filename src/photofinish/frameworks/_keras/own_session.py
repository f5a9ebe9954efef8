"""Keras 2.2 itself in sessions of TensorFlow 1, by its own trainer. What is written stands in session_source."""

import os
from typing import Any, Dict

from photofinish.frameworks._keras.session import SessionContestant
from photofinish.frameworks._keras.session_source import session_source

__all__ = ["Contestant", "native_source"]

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import tensorflow as tf

native_source = session_source
tf.logging.set_verbosity(tf.logging.ERROR)


class Contestant(SessionContestant):
    """Runs what is written in a session."""

    tf = tf
    library = keras
    own_keras = True
    title = "Keras on TensorFlow"
    modes = ("keras",)  # type: ignore[assignment]

    def facts(self) -> Dict[str, Any]:
        return dict(super().facts(), mended="gradients are gated (Keras may write a weight that backpropagation still "
                    "reads); running averages begin at their first values (Keras' begin anew with the first batch)")
