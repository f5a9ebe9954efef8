"""What a worker answers where something goes wrong in it."""

from typing import Any

import pytest

from photofinish import worker

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
