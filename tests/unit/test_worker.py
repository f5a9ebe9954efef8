"""What a worker answers where something goes wrong in it."""

from types import SimpleNamespace
from typing import Any

import pytest

from photofinish import frameworks, worker

TRACED = '''in user code:

    File "a.py", line 6, in f  *
        return g(x)
    File "a.py", line 3, in g  *
        return tf.nn.ctc_loss(labels, tf.cast(x, tf.float64), [1], [3])

    TypeError: Input 'y' of 'Mul' Op has type float32 that does not match type float64 of argument 'x'.
'''  # TensorFlow 2.21.0


@pytest.mark.parametrize(("error", "kind", "said"), [
    (TypeError(TRACED), "crash",
     "TypeError: Input 'y' of 'Mul' Op has type float32 that does not match type float64 of argument 'x'."),
    (ValueError("one\ntwo"), "crash", "ValueError: one\ntwo"),
    (KeyError(), "crash", "KeyError: "),
    (RuntimeError("bad_alloc"), "out of memory", "RuntimeError: bad_alloc"),
])
def test_an_exception_is_told_by_what_it_says(monkeypatch: pytest.MonkeyPatch, error: Exception, kind: str,
                                              said: str) -> None:
    def fail(_: Any) -> Any:
        raise error
    monkeypatch.setitem(worker.COMMANDS, "build", fail)
    assert worker.answer(worker.Worker(), {"do": "build"}) == {"ok": False, "kind": kind, "message": said}


def test_a_device_that_is_got_ready_before_any_model_is_part_of_the_import(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]

    class Contestant(frameworks.Contestant):
        def __init__(self, setup: frameworks.Setup) -> None:
            now[0] += 2

        def facts(self) -> dict[str, Any]:
            now[0] += 3
            return {"version": "1"}

    def load(name: str, driver: str) -> type[Contestant]:
        now[0] += 1
        return Contestant

    monkeypatch.setattr(frameworks, "load", load)
    monkeypatch.setattr(worker, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    told = worker.Worker().load("fake", {"mode": "steady"}, {})
    assert told == {"seconds": 6.0, "facts": {"version": "1"}}
