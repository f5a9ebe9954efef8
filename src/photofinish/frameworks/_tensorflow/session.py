"""TensorFlow 1, driven as its users did: a tf.keras model in a session, with a step of their own (mode graph) or by
Keras' trainer (mode keras). What is written and how it runs stands in _keras/."""

import os

from photofinish.frameworks._keras.session import SessionContestant
from photofinish.frameworks._keras.session_source import session_source

__all__ = ["Contestant", "native_source"]

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf

native_source = session_source
tf.logging.set_verbosity(tf.logging.ERROR)


class Contestant(SessionContestant):
    """Runs what is written in a session."""

    tf = tf
    library = tf.keras
    title = "TensorFlow"
