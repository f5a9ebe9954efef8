"""What an answer of a worker must look like, so that one that lies is told from one that is slow.

Only form and sense are checked here: that times are numbers and positive, that there are as many as were asked for.
That what was computed is right is the certificate's business.
"""

from collections.abc import Callable, Mapping
from sys import float_info
from typing import Any, NamedTuple

from photofinish.values.profile import PLACES


class Form(NamedTuple):
    """What a value must be: in words, and as a test."""

    words: str
    fits: Callable[[Any], bool]


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= float_info.max


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _optional(form: Form) -> Form:
    return Form(f"{form.words} or null", lambda value: value is None or form.fits(value))


def _list(form: Form, least: int = 0) -> Form:
    words = f"a list of {form.words}" if not least else f"a list of at least {least}, each {form.words}"
    return Form(words, lambda value: isinstance(value, list) and len(value) >= least and all(map(form.fits, value)))


def _object(**forms: Form) -> Form:
    parts = ", ".join(f"{name} ({each.words})" for name, each in forms.items())
    return Form(f"an object with {parts}" if parts else "an object", lambda value: isinstance(value, dict) and all(
        name in value and each.fits(value[name]) for name, each in forms.items()))


def _value(**forms: Form) -> Form:
    """An object that becomes one of ours, which has room for nothing else."""
    whole = _object(**forms)
    return Form(f"{whole.words} and no more", lambda value: whole.fits(value) and value.keys() <= forms.keys())


def _each(form: Form) -> Form:
    return Form(f"an object whose values are {form.words}",
                lambda value: isinstance(value, dict) and all(map(form.fits, value.values())))


def _or_unsupported(form: Form) -> Form:
    reason = _object(unsupported=TEXT)
    return Form(f"{form.words}, or why not in unsupported", lambda value: form.fits(value) or reason.fits(value))


TEXT = Form("a text", lambda value: isinstance(value, str))
TRUTH = Form("true or false", lambda value: isinstance(value, bool))
WHOLE = Form("a whole number", _whole)
COUNT = Form("a whole number of at least 0", lambda value: _whole(value) and value >= 0)
NUMBER = Form("a finite number", _number)
AMOUNT = Form("a finite number of at least 0", lambda value: _number(value) and value >= 0)
STEP = Form("a finite number above 0", lambda value: _number(value) and value > 0)
SHARE = Form("a number from 0 to 1", lambda value: _number(value) and 0 <= value <= 1)
OBJECT = _object()
LEFT = ("probe", "prove", "confirm", "free_runs")  # requests that a worker may leave to its parent
PRECISION = _or_unsupported(_object(left_bits=COUNT, right_bits=COUNT, error=AMOUNT, wide=TRUTH, steps=_optional(COUNT),
                                      dtype=TEXT))
THREADS = _or_unsupported(_object(at_once=AMOUNT, taking_part=_optional(AMOUNT), alive=_optional(COUNT)))

HELLO = {"protocol": WHOLE, "python": TEXT, "memory": COUNT}
LEAVES = _list(Form(f"one of {', '.join(LEFT)}", lambda value: value in LEFT))
ALWAYS = {"memory": COUNT, "device_memory": _optional(_object(now=COUNT, peak=COUNT))}
BLOCK = {"seconds": _list(STEP), "cpu": AMOUNT, "wall": AMOUNT, "faults": COUNT, "foreign": _optional(AMOUNT),
         "resume": STEP, "loss": _optional(NUMBER)}
SOMETIMES = {"period": Form("a whole number of at least 1", lambda value: _whole(value) and value >= 1),
             "held": _value(**dict.fromkeys(("resident", "proportional", "allocated"), _optional(COUNT)))}
ANSWERS: dict[str, dict[str, Form]] = {
    "load": {"seconds": AMOUNT, "facts": OBJECT},
    "build": {"seconds": AMOUNT, "differences": _list(_list(TEXT, 3))},
    "weights": {"seconds": AMOUNT, "transfer": AMOUNT},
    "warm": {"series": _list(STEP, 1)},
    "block": BLOCK,
    "trace": {"steps": _optional(_list(_value(begin=NUMBER, end=NUMBER, sent=_list(_list(NUMBER, 3)),
                                              exposed=_list(_list(NUMBER, 2)))))},
    "profile": {"seconds": _list(STEP), "cpu": AMOUNT, "system": AMOUNT, "faults": COUNT, "waits": COUNT,
                "preempted": COUNT, "profiler": TEXT, "hidden": _list(TEXT),
                "profiled": _list(_value(seconds=STEP, where=_value(**dict.fromkeys(PLACES, AMOUNT)), kernels=COUNT,
                                         unplaced=_each(AMOUNT), fused=_optional(COUNT),
                                         events=_optional(_each(COUNT))))},
    "serve": {**BLOCK, "service": _list(STEP)},
    "resize": {"sizes": _list(_object(seconds=_list(STEP, 1), compilations=_optional(COUNT)))},
    "data": {"seconds": AMOUNT},
    "epoch": {"seconds": STEP, "steps": COUNT, "first_batch": _optional(AMOUNT), "waited": _optional(AMOUNT),
              "first_step": STEP, "last_step": _optional(STEP), "loss": NUMBER, "first_losses": _list(NUMBER),
              "cpu": AMOUNT, "wall": AMOUNT, "faults": COUNT, "foreign": _optional(AMOUNT)},
    "look": {"validation_seconds": STEP, "validation_loss": NUMBER, "validation_accuracy": SHARE, "accuracy": SHARE},
    "probe": {"probes": _object(
        matmul=PRECISION, conv=PRECISION,
        denormals=_or_unsupported(_object(results_kept=TRUTH, operands_kept=TRUTH)),
        threads=THREADS, facts=OBJECT, evidence=OBJECT)},
    "witness": {"threads": THREADS, "evidence": OBJECT},
    "prove": {"written": _list(TEXT)},
    "confirm": {"written": _list(TEXT)},
    "free_runs": {"written": _list(TEXT)},
}


def complaint(do: str, asked: Mapping[str, Any], reply: Mapping[str, Any]) -> str:
    """What is wrong with an answer that says it went well, "" if nothing is."""
    for name, form in {**ANSWERS.get(do, {}), **ALWAYS}.items():
        if name not in reply:
            return f"its answer to {do} lacks {name}"
        if not form.fits(reply[name]):
            return f"its answer to {do} has {_short(reply[name])} as {name}, where {form.words} is due"
    for name, form in SOMETIMES.items():
        if name in reply and not form.fits(reply[name]):
            return f"its answer to {do} has {_short(reply[name])} as {name}, where {form.words} is due"
    period = reply.get("period", 1)
    if do == "block" and len(reply["seconds"]) != -(-asked["steps"] // period) * period:
        whole = f", in whole periods of {period}," if period > 1 else ""
        return (f"its answer to block has {len(reply['seconds'])} times, where {asked['steps']} steps{whole} "
                "were asked for")
    if do == "serve" and {len(reply["seconds"]), len(reply["service"])} != {asked["queries"]}:
        return (f"its answer to serve has {len(reply['seconds'])} latencies and {len(reply['service'])} times of "
                f"service, where {asked['queries']} queries were asked for")
    return ""


def complaint_of_hello(hello: Mapping[str, Any], protocol: int) -> str:
    """The same of a worker's first line."""
    if hello.get("protocol") != protocol:
        return f"speaks protocol {_short(hello.get('protocol'))}, not {protocol}"
    wrong = [name for name, form in HELLO.items() if name not in hello or not form.fits(hello[name])]
    if not wrong and not LEAVES.fits(hello.get("leaves", [])):
        return f"says hello with {_short(hello['leaves'])} as leaves, where {LEAVES.words} is due"
    return f"says hello with {_short(hello.get(wrong[0]))} as {wrong[0]}, where {HELLO[wrong[0]].words} is due" \
        if wrong else ""


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
