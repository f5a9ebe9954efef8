"""A process that runs TensorFlow: what it is told before it starts (device, threads, strict float32), and what it says
of itself. Imports nothing: the framework's file hands TensorFlow over."""

import os
from typing import Any, Callable, Dict, Optional

from photofinish.frameworks import Setup, Unsupported


def prepare(tf: Any, setup: Setup) -> None:
    """Chooses the device; in the matched regime also threads, and float32 without TF32. Raises Unsupported."""
    _choose_device(tf, setup.device)
    if setup.regime == "matched":
        threads = tf.config.threading
        _once("threads", lambda: threads.set_intra_op_parallelism_threads(setup.threads))
        _once("threads", lambda: threads.set_inter_op_parallelism_threads(setup.threads))
        tf.config.experimental.enable_tensor_float_32_execution(False)


def _once(what: str, change: Callable[[], None]) -> None:
    """TensorFlow takes settings of the process before it starts only; the same again is fine."""
    try:
        change()
    except RuntimeError:
        raise Unsupported("TensorFlow already runs here with other {}: start a new process".format(what)) from None


def _choose_device(tf: Any, device: str) -> None:
    cards = tf.config.list_physical_devices("GPU")
    kind, _, number = device.partition(":")
    if kind == "cuda":
        if int(number or 0) >= len(cards):
            raise Unsupported("TensorFlow sees {} GPUs (tensorflow-cpu never sees any)".format(len(cards)))
        card = cards[int(number or 0)]
        _once("GPU memory settings", lambda: tf.config.experimental.set_memory_growth(card, True))
        _once("visible devices", lambda: tf.config.set_visible_devices(card, "GPU"))
    elif cards:
        _once("visible devices", lambda: tf.config.set_visible_devices([], "GPU"))


def facts(tf: Any) -> Dict[str, Any]:
    threads, build = tf.config.threading, tf.sysconfig.get_build_info()
    return {
        "device": [device.name for device in tf.config.list_logical_devices()][-1],
        "intra_op_threads": threads.get_intra_op_parallelism_threads() or "one per CPU",
        "inter_op_threads": threads.get_inter_op_parallelism_threads() or "one per CPU",
        "onednn": os.environ.get("TF_ENABLE_ONEDNN_OPTS", "default"),
        "tensor_float_32": tf.config.experimental.tensor_float_32_execution_enabled(),
        "xla_flags": os.environ.get("XLA_FLAGS", ""),
        "cuda": build.get("cuda_version"), "cudnn": build.get("cudnn_version")}


def device_memory(tf: Any, device: str) -> Optional[Dict[str, int]]:
    if device == "cpu":
        return None
    found = tf.config.experimental.get_memory_info("GPU:0")
    return {"now": found["current"], "peak": found["peak"]}


def differentiated(tf: Any, model: Any, loss_of: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A function of the model's input and the labels: a pass in training mode. It gives the loss, the outputs and a
    gradient for each trainable variable, zeros where none arrives."""
    def gradients(x: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            outputs = model(x, training=True)
            loss = loss_of(outputs, labels)
        values = [variable.value for variable in model.trainable_variables]
        found = tape.gradient(loss, values, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        return loss, outputs, [tf.convert_to_tensor(each) for each in found]
    return gradients
