"""Where the moments of a step go: planted events placed, whatever threads they lie on, and what it comes to."""

import re
from importlib import import_module
from types import SimpleNamespace

import pytest

from photofinish.explain.profile import whereabouts
from photofinish.frameworks import Unsupported
from photofinish.measure import profile as measured
from photofinish.measure.profile import placed
from photofinish.render.document import Paragraph
from photofinish.render.quantities import plain as words
from photofinish.reports.profile import section
from photofinish.values import Case, Event, Profile, ProfiledStep, Race
from photofinish.values.profile import (
    ALLOCATION,
    COMPILING,
    COPIES,
    DISPATCH,
    IDLE,
    INPUT,
    KERNELS,
    OPERATOR,
    OPTIMIZER,
    PLACES,
    STEP,
    UNPLACED,
)

RULES = (("^op", OPERATOR), ("^kernel", KERNELS), ("^update", OPTIMIZER), ("^copy", COPIES), ("^new", ALLOCATION),
         ("^batch", INPUT), ("^compile", COMPILING), ("^wait", IDLE), ("^call", DISPATCH))


def one(*events: tuple[str, float, float, int]) -> ProfiledStep:
    """Of events on a step of ten seconds that begins at 100 on thread 1."""
    told = [Event(STEP, 100.0, 10.0, 1), *(Event(name, 100 + begin, length, on) for name, begin, length, on in events)]
    (found,) = placed(told[::-1], RULES)
    assert sum(found.where.values()) == pytest.approx(found.seconds) == pytest.approx(10.0)
    assert tuple(found.where) == PLACES
    return found


def there(found: ProfiledStep) -> dict[str, float]:
    return {place: pytest.approx(seconds) for place, seconds in found.where.items() if seconds > 1e-9}


def test_an_empty_step_is_the_hosts() -> None:
    assert there(one()) == {DISPATCH: 10.0}


def test_a_thread_is_where_its_innermost_event_is() -> None:
    found = one(("call", 1, 8, 1), ("op a", 2, 4, 1), ("new", 3, 1, 1), ("copy", 7, 1, 1))
    assert there(found) == {DISPATCH: 10 - 4 - 1, KERNELS: 3.0, ALLOCATION: 1.0, COPIES: 1.0} and found.kernels == 2


def test_an_operator_that_calls_others_only_hands_them_their_work() -> None:
    found = one(("op outer", 0, 5, 1), ("op middle", 1, 3, 1), ("op inner", 2, 1, 1))
    assert there(found) == {DISPATCH: 9.0, KERNELS: 1.0} and found.kernels == 1
    assert there(one(("kernel", 0, 5, 1), ("op inner", 2, 1, 1))) == {DISPATCH: 5.0, KERNELS: 5.0}


@pytest.mark.parametrize(("name", "place"), [("update", OPTIMIZER), ("compile", COMPILING), ("batch", INPUT)])
def test_what_lies_within_an_update_is_part_of_it(name: str, place: str) -> None:
    assert there(one((name, 2, 6, 1), ("op", 3, 2, 1), ("unknown", 6, 1, 1))) == {DISPATCH: 4.0, place: 6.0}


def test_of_several_threads_the_one_that_computes_has_the_moment() -> None:
    found = one(("wait", 1, 8, 1), ("call", 2, 4, 2), ("kernel", 3, 2, 2), ("copy", 4, 3, 3))
    assert there(found) == {DISPATCH: 2.0 + 1.0, KERNELS: 2.0, COPIES: 2.0, IDLE: 1.0 + 2.0}
    assert there(one(("wait", 0, 10, 1), ("compile", 2, 3, 2), ("kernel", 0, 10, 3))) == {COMPILING: 3.0, KERNELS: 7.0}


def test_what_has_no_place_is_said_by_name_the_longest_first() -> None:
    found = one(("what", 1, 1, 1), ("who", 3, 4, 1), ("what", 8, 1, 1))
    assert there(found) == {DISPATCH: 4.0, UNPLACED: 6.0}
    assert list(found.unplaced.items()) == [("who", pytest.approx(4.0)), ("what", pytest.approx(2.0))]


def test_what_lies_outside_of_steps_counts_nowhere() -> None:
    events = [Event(STEP, 5.0, 1.0, 1), Event(STEP, 2.0, 1.0, 1), Event("kernel", 1.5, 1.0, 2),
              Event("kernel", 2.75, 2.5, 2), Event("kernel", 9.0, 1.0, 2)]
    first, second = placed(events, RULES)
    assert there(first) == {KERNELS: 0.75, DISPATCH: 0.25} and there(second) == {KERNELS: 0.25, DISPATCH: 0.75}
    assert (first.kernels, second.kernels) == (1, 0)  # where they began


def test_events_are_counted_where_recording_them_takes_time() -> None:
    found = one(("call", 1, 8, 1), ("op a", 2, 4, 1), ("new", 3, 1, 1), ("copy", 7, 2, 1), ("copy", 7.5, 1, 1),
                ("kernel", 4, 1, 2))
    assert found.events == {DISPATCH: 4, KERNELS: 1, COPIES: 1}  # the step and the call have two each


def test_kernels_that_do_the_work_of_several_operations_are_counted_apart() -> None:
    events = [Event(STEP, 0.0, 9.0, 1), Event("op one+two", 1.0, 2.0, 1), Event("op one", 4.0, 1.0, 1),
              Event("call one+two", 6.0, 1.0, 1), Event("op one+two", 9.5, 1.0, 1)]
    (found,) = placed(events, RULES, r"\w\+\w")
    assert (found.kernels, found.fused) == (2, 1) and placed(events, RULES)[0].fused is None


def test_steps_may_follow_each_other_without_a_gap_and_within_the_rounding_of_their_clock() -> None:
    events = [Event(STEP, 0.0, 1.0 + 1e-12, 1), Event("kernel", 0.5, 0.5 + 1e-12, 1), Event(STEP, 1.0, 1.0, 1)]
    first, second = placed(events, RULES)
    assert there(first) == {KERNELS: 0.5, DISPATCH: 0.5} and there(second) == {DISPATCH: 1.0}


def test_a_profiler_that_cannot_see_the_device_leaves_what_the_system_counts() -> None:
    def watched(*asked: object) -> None:
        raise Unsupported("of such profiles nobody has seen one")

    engine = SimpleNamespace(contestant=SimpleNamespace(put=lambda state: None), state={}, step=lambda task: 0.25,
                             watched=watched)
    found = measured.profile(engine, "tensorflow", "train", 3)
    assert found["seconds"] == [0.25] * 3 and found["faults"] >= 0
    assert (found["profiler"], found["hidden"], found["profiled"]) == ("", [], [])


def test_an_event_never_outlasts_the_one_around_it() -> None:
    assert there(one(("call", 0, 4, 1), ("op", 2, 6, 1))) == {KERNELS: 2.0, DISPATCH: 8.0}


@pytest.mark.parametrize(("framework", "name", "place"), [
    ("torch", "aten::addmm", OPERATOR), ("torch", "aten::empty_strided", ALLOCATION), ("torch", "aten::view", DISPATCH),
    ("torch", "aten::copy_", COPIES), ("torch", "Optimizer.step#SGD.step", OPTIMIZER), ("torch", "aten::to", DISPATCH),
    ("torch", "autograd::engine::evaluate_function: ReluBackward0", DISPATCH),
    ("torch", "## Call CompiledFxGraph fkz7y ##", KERNELS), ("torch", "entire_frame_compile (dynamo_timed)", COMPILING),
    ("torch", "Torch-Compiled Region: 0/0", DISPATCH), ("torch", "enumerate(DataLoader)#_Iter.__next__", INPUT),
    ("tensorflow", "functional_1/conv1_1/convolution:_MklNativeConv2D", OPERATOR),
    ("tensorflow", "sgd/Mul_8:Mul", OPTIMIZER), ("tensorflow", "AssignVariableOp_3:AssignVariableOp", OPTIMIZER),
    ("tensorflow", "functional_1/batch_norm1_1/AssignVariableOp_1:AssignVariableOp", COPIES),
    ("tensorflow", "functional_1/conv1/ReadVariableOp:ReadVariableOp", DISPATCH),
    ("tensorflow", "AddN_1:AddN", OPERATOR), ("tensorflow", "MatMul_1.2", KERNELS),
    ("tensorflow", "KernelAndDeviceFunc::Run:__inference_train_step_690", IDLE),
    ("tensorflow", "KernelAndDeviceFunc::Run:Conv2D", OPERATOR), ("tensorflow", "EagerKernelExecute", DISPATCH),
    ("tensorflow", "transpose_copy_fusion.3", COPIES), ("tensorflow", "broadcast_add_fusion.1", KERNELS),
    ("tensorflow", "wrapped_iota", KERNELS), ("tensorflow", "train_step", DISPATCH),
    ("tensorflow", "HloPass something new", UNPLACED), ("torch", "something new", UNPLACED),
    ("jax", "PjitFunction(train_step)", DISPATCH), ("jax", "convolution.12", KERNELS), ("jax", "ynn_fusion", KERNELS),
    ("jax", "transpose_copy_fusion.6", COPIES), ("jax", "AllocateOutputBuffersWithInputReuse", ALLOCATION),
    ("jax", "ThunkExecutor::Execute (wait for completion)", IDLE), ("jax", "backend_compile", COMPILING),
    ("onnxruntime", "Conv conv1_kernel_time", KERNELS), ("onnxruntime", "Transpose 1_kernel_time", COPIES),
    ("mxnet", "ImperativeBulk", OPERATOR), ("mxnet", "multi_sgd_mom_update", OPTIMIZER),
    ("mxnet", "MXInvokeCachedOpEx", DISPATCH), ("mxnet", "MXNDArrayWaitAll", IDLE),
    ("onnxruntime", "Reshape flatten1_kernel_time", DISPATCH), ("onnxruntime", "model_run", DISPATCH)])
def test_names_of_real_profilers_have_their_place(framework: str, name: str, place: str) -> None:
    rules = import_module(f"photofinish.frameworks._{framework}.profile").RULES
    assert next((given for pattern, given in rules if re.search(pattern, name)), UNPLACED) == place


def looked(launch: int, kernels: float, hidden: tuple[str, ...] = (IDLE,)) -> Profile:
    where = {**dict.fromkeys(PLACES, 0.0), KERNELS: kernels, DISPATCH: 0.9 - kernels, UNPLACED: 0.1}
    steps = (ProfiledStep(1.0, where, 30, {"a": 0.06, "b": 0.04}, 4), ProfiledStep(1.0, where, 40, {"b": 0.1}, 6))
    return Profile(launch, "a", "train", (0.8, 0.9), 1.7, 0.17, 20, 4, 2, "a profiler", hidden, steps)


def test_shares_are_means_over_launches_and_what_is_hidden_has_none() -> None:
    case = Case("m", "digest", "train", 8, (1, 8, 8))
    plain = Profile(1, "b", "train", (0.5, 0.5), 1.0, 0.0, 0, 0, 0)
    race = Race("race", case, ("a", "b"), profiles=(looked(1, 0.4), looked(2, 0.6), plain))
    b, a = whereabouts(race, ["b", "a"])
    share = a.shares[KERNELS]
    assert share is not None and share.value == pytest.approx(0.5)
    assert (share.low, share.high) == (0.0, 1.0)  # the interval of two launches so far apart reaches beyond what can be
    assert a.shares[IDLE] is None and a.placed == pytest.approx(0.9) and a.unplaced == ("b", "a")
    assert sum(each.value for each in a.shares.values() if each) == pytest.approx(1.0)
    assert (a.kernels, a.fused, a.faults, a.waits, a.preempted) == (35, 5, 10, 2, 1)
    assert a.busy == pytest.approx(1.0) and a.system == pytest.approx(0.1)
    assert (b.profiler, b.profiled, b.shares) == ("", None, {}) and b.busy == 1.0
    assert b.kernels is b.fused is b.placed is None
    assert whereabouts(race, ["c"]) == ()


def test_a_step_of_which_nothing_has_a_place_is_told_to_be_that() -> None:
    step = ProfiledStep(0.1, {**dict.fromkeys(PLACES, 0.0), UNPLACED: 0.1}, 1, {"odd": 0.1})
    profile = Profile(1, "a", "train", (0.1,), 0.1, 0.0, 0, 0, 0, "a profiler", (), (step,))
    case = Case("model", "digest", "train", 8, (3,))
    told = section(whereabouts(Race("race", case, ("a",), profiles=(profile,)), ["a"])).blocks[0]
    assert isinstance(told, Paragraph)
    assert words(told.text) == "A step of a is nothing known by a profiler; 100 % of it could not be placed (odd)."
