"""The statements of a forward."""

import ast
import re
from collections import Counter, OrderedDict
from itertools import chain, groupby
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from photofinish import layers


class Native(NamedTuple):
    """One layer in a framework: an expression of its inputs {0}, {1} and its module {self}, the module's
    constructor if it needs one, and statements that must follow the constructor."""

    call: str
    module: str = ""
    then: Tuple[str, ...] = ()


Rules = Dict[type, Callable[..., Native]]  # from a layer and the specs of its inputs


def plain(call: str) -> Callable[..., Native]:
    """The rule of a layer that is always written the same."""
    return lambda layer, *specs: Native(call)


class Step(NamedTuple):
    """One line of a forward: a layer, or a scope of layers that is a class (or function) of its own. `attribute` is
    its name in the scope around it."""

    kind: Optional[type]
    attribute: str
    native: Native
    inputs: Tuple[str, ...]
    outputs: Tuple[str, ...]
    training_only: bool = False


VARIABLES = ["x", "y", "z", "u", "v", "w"] + ["x{}".format(i) for i in range(1, 1000)]
# New memory that the backward does not read. A view of it (Slice, Select, Flatten ...) is not in here, and what
# something else still reads, through a view or not, is never overwritten: it is read twice.
SPARE = (layers.Conv, layers.ConvTranspose, layers.Linear, layers.BatchNorm, layers.Add)
ENDS = (layers.Relu, layers.LeakyRelu, layers.Elu, layers.Clip, layers.Swish, layers.Gelu, None)  # of a line, as scopes


class Forward:
    """The statements of a forward. A variable is used again once its tensor is read no more, which reads
    well and frees memory as hand-written code does; what is read once, by the next line, is nested in it;
    a ReLU or an addition overwrites its input where nobody else needs it. `training` is the condition that
    what exists in training only stands under."""

    def __init__(self, steps: Sequence[Step], inputs: Dict[str, str], outputs: Sequence[str],
                 training: str = "self.training") -> None:
        back = Step(None, "", Native("return " + ", ".join("{%d}" % i for i in range(len(outputs)))),
                    tuple(outputs), ())
        steps = list(steps) + ([back] if outputs else [])
        self.lines: List[str] = []
        self.variable = dict(inputs)
        self.written = dict(inputs)  # how a tensor is spelled: its variable, or an expression nested in the next line
        self.busy = set(inputs.values())
        self.reads = Counter(chain.from_iterable(step.inputs for step in steps))
        self.left = Counter(self.reads)
        self.spare = {name for step in steps if step.kind in SPARE for name in step.outputs if self.reads[name] == 1}
        for training_only, run in groupby(steps, key=lambda step: step.training_only):
            block, begin = list(run), len(self.lines)
            for step, following in zip(block, block[1:] + [None]):  # type: ignore[list-item]
                self._add(step, following)
            if training_only:
                self.lines[begin:] = ["if {}:".format(training)] + ["    " + line for line in self.lines[begin:]]
                missing = [self.variable[name] for step in block for name in step.outputs if name in outputs]
                self.lines += ["else:"] + ["    {} = None".format(name) for name in missing] if missing else []

    def _add(self, step: Step, following: Optional[Step]) -> None:
        operands = [self.written[name] for name in step.inputs]
        overwritten = [name for name in step.inputs if name in self.spare]
        self.left.subtract(step.inputs)
        done = [self.variable[name] for name in OrderedDict.fromkeys(step.inputs)
                if not self.left[name] and self.variable[name] in VARIABLES]
        if step.kind is layers.Add and overwritten:
            text = self.variable[overwritten[0]]
            other = operands[1 - step.inputs.index(overwritten[0])]
            self.lines.append("{} += {}".format(text, other))
            done.sort(key=text.__ne__)  # so that the sum keeps that variable
        else:
            text = step.native.call.format(*operands, self="self." + step.attribute,
                                           inplace=", inplace=True" if overwritten else "")
        self.busy.difference_update(done)
        for name in step.outputs:
            variable = done.pop(0) if done else next(each for each in VARIABLES if each not in self.busy)
            self.busy.add(variable)
            self.variable[name] = self.written[name] = variable
        if not step.outputs:
            self.lines.append(text)
        elif following is not None and self._nests(step, following, text):
            self.written[step.outputs[0]] = text
        elif text != self.variable[step.outputs[0]]:
            self.lines.append("{} = {}".format(", ".join(self.variable[name] for name in step.outputs), text))
        self.busy.difference_update(self.variable[name] for name in step.outputs if not self.reads[name])

    def _nests(self, step: Step, following: Step, text: str) -> bool:
        name = step.outputs[0]
        if name not in following.inputs:
            return False
        added_to = following.kind is layers.Add and name in self.spare
        summand = step.kind is layers.Scale and following.kind is layers.Add
        bare = not summand and _is_binary(text) and not _is_argument(
            following.native.call, following.inputs.index(name))
        whole = step.kind in ENDS and following.outputs and following.kind is not layers.Add
        return (len(step.outputs) == 1 and self.reads[name] == 1
                and not added_to and not bare and not whole and len(text) <= 64)


def _is_binary(text: str) -> bool:
    """Whether an expression is a sum or a product, which needs parentheses unless it stands alone."""
    return isinstance(ast.parse(text, mode="eval").body, ast.BinOp)


def _is_argument(call: str, index: int) -> bool:
    """Whether that input stands alone there (`f({0}, 1)`), so that an expression needs no parentheses."""
    return re.search(r"(\(|, |^return )\{%d\}(\)|,|\{inplace\}|$)" % index, call) is not None
