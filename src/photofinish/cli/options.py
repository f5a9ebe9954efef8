"""What options share: kindly read durations, percentages and shapes, and the options several commands take."""

import math
import re
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from photofinish.values import Link

Command = TypeVar("Command", bound=Callable[..., Any])

_SECONDS = {"": 1.0, "ms": 1e-3, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(h|min|ms|m|sec|s|)")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([kmgt])(?:i?b)?|b)")
_BYTES = {None: 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_NUMBER = re.compile(r"\d+(\.\d+)?")
_BATCH = re.compile(r"\d{1,18}")  # Python itself reads no number of thousands of digits
_BATCHES = re.compile(rf"({_BATCH.pattern})(?:\.\.({_BATCH.pattern}))?")
_SHARE = re.compile(r"(\d*\.?\d+)\s*(%?)")


SEED = click.IntRange(0, 2**31 - 1)  # as runner.arrange has it


class Duration(click.ParamType[float]):
    """Seconds, from "90", "90s", "5m", "1h30m" or "50ms"."""

    name = "duration"
    how = "write 90s, 5m or 1h30m"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, (int, float)):
            return float(value)
        text = value.replace(" ", "").lower()
        spans = _SPAN.findall(text)
        seconds = sum(float(number) * _SECONDS[unit] for number, unit in spans)
        unclear = len(spans) > 1 and not spans[-1][1]  # 1h30 would be 30 s to one and 30 min to the other
        if not spans or unclear or "".join(number + unit for number, unit in spans) != text:
            self.fail(f"{value!r} is not a duration: {self.how}", param, ctx)
        if seconds <= 0:
            self.fail(f"{value!r} is no time at all: {self.how}", param, ctx)
        return seconds


class Latency(Duration):
    """Seconds, from "50ms" or "0.05s"; a bare number might be either, and is refused."""

    how = "write 50ms or 0.05s"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
            number = value.strip()
            self.fail(f"{value!r} has no unit: write {number}ms or {number}s", param, ctx)
        return super().convert(value, param, ctx)


class Share(click.ParamType[float]):
    """A fraction, from "2%" or "0.02"."""

    name = "percentage"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        match = _SHARE.fullmatch(value.strip())
        share = float(match.group(1)) / (100 if match.group(2) else 1) if match else 0.0
        if not 0 < share < 1:
            meant = f"{value.strip()}%" if match and not match.group(2) and 1 < share < 100 else "2% or 0.02"
            self.fail(f"{value!r} is not a percentage between 0 and 100: write {meant}", param, ctx)
        return share


class Size(click.ParamType[int]):
    """Bytes, from "8GiB", "500 MB" or "2g"; the letters mean powers of 1024, and a bare number might be any of them."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        number = value.strip()
        if _NUMBER.fullmatch(number):
            self.fail(f"{value!r} has no unit: write {number}GiB or {number}MiB", param, ctx)
        match = _SIZE.fullmatch(number.lower())
        size = float(match.group(1)) * _BYTES[match.group(2)] if match else 0.0
        if not 1 <= size < math.inf:
            self.fail(f"{value!r} is not a size: write 8GiB or 500MiB", param, ctx)
        return int(size)


class Batches(click.ParamType["tuple[int, ...]"]):
    """Batch sizes: "1,2,4,8", or "1..32" for each power of two from 1 to 32, the ends included."""

    name = "batches"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        parts = [_BATCHES.fullmatch(each.strip()) for each in value.split(",")]
        ends = [(int(each.group(1)), int(each.group(2) or each.group(1))) for each in parts if each]
        if len(ends) == len(parts) and any(low > high for low, high in ends):
            self.fail(f"{value!r} goes from the larger to the smaller: write it the other way round", param, ctx)
        if len(ends) < len(parts) or any(low < 1 for low, _ in ends):
            self.fail(f"{value!r} are no batch sizes: write 1..32 or 1,2,4,8", param, ctx)
        powers = [{low, high, *(2**i for i in range(high.bit_length()) if low < 2**i < high)} for low, high in ends]
        return tuple(sorted(set().union(*powers)))


class BatchSize(click.ParamType["int | str"]):
    """Samples of a step, or "max"."""

    name = "batch"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> "int | str":
        text = str(value).strip().lower()
        if text != "max" and not (_BATCH.fullmatch(text) and int(text)):
            self.fail(f"{value!r} is not a batch: write a number from 1, or max", param, ctx)
        return text if text == "max" else int(text)


class LinkType(click.ParamType["Link"]):
    """What joins several processes: "100mbit", "1gbit", "100mbit+5ms"."""

    name = "link"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> "Link":
        from photofinish.values import Link, SpellingError
        try:
            return value if isinstance(value, Link) else Link.parse(value)
        except SpellingError as error:
            self.fail(str(error), param, ctx)


class Links(click.ParamType["tuple[Link, ...]"]):
    """Several of them, separated by commas."""

    name = "links"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> "tuple[Link, ...]":
        return value if isinstance(value, tuple) else tuple(LinkType().convert(each, param, ctx)
                                                            for each in value.split(","))


class InputShape(click.ParamType["tuple[int, ...]"]):
    """The size of a model's first input: channels, height and width from "3x320x320", a length from "128"."""

    name = "shape"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        words = re.split("[x,\N{MULTIPLICATION SIGN}]", value.strip().lower())
        if not all(word.isdecimal() and int(word) for word in words):
            self.fail(f"{value!r} is not a shape: write channels x height x width, such as 3x224x224, or a length, "
                      "such as 128", param, ctx)
        return tuple(map(int, words))


def together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator, shown in this order."""
    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command
    return decorate


def refuse(names: Iterable[str], because: str) -> None:
    """Raises UsageError if one of these parameters of the running command was written: it would do nothing."""
    from photofinish.errors import UsageError
    context = click.get_current_context()
    for each in context.command.params:
        if each.name in names and context.get_parameter_source(each.name) is ParameterSource.COMMANDLINE:
            raise UsageError(f"{each.opts[0]} does nothing here: {because}", "leave it out")


def either(model: str | None, session: str | None, what: str, verb: str) -> None:
    """Raises UsageError unless a command is told either a model to race or a race in the store."""
    from photofinish.errors import UsageError
    if model and session:
        raise UsageError(f"{what}: not of both", f"leave {model} out, or --from {session}")
    if not model and not session:
        raise UsageError(what, f"write photofinish {verb} resnet18, or photofinish {verb} --from last")


COUNT = click.IntRange(min=1)
SEVERAL = click.IntRange(min=2)  # of one launch nothing can be told



def contenders_of(default: str) -> Callable[[Command], Command]:
    """Who takes part, and who that is where nobody is named."""
    return click.option(
        "--contenders", "-c", "contenders", multiple=True, metavar="LIST",
        help="Framework:mode[option=value,...], separated by commas; framework:mode+strategy[2] trains with two "
             "processes. An environment variable that frameworks obey may be an option: "
             "tensorflow:graph[TF_ENABLE_ONEDNN_OPTS=0]. `all`: every framework there is, in environments made for "
             f"them; `all,-theano`: all but that one. {default}")


contenders = contenders_of("Default: every installed framework in its default mode. One named twice races against "
                           "itself.")
memory_limit = click.option("--memory-limit", type=Size(), metavar="SIZE",
                            help="What one process may hold when the largest batch is looked for, such as 2GiB. "
                                 "Default: half of the machine's; on a GPU its own memory is the limit.")
batch = click.option("--batch", "-b", type=COUNT, metavar="N", help="Samples per step. Default: the model's own.")
shape = click.option("--input", "shape", type=InputShape(), metavar="SIZE",
                     help="Size of the first input: 3x320x320 for images, 128 for texts of that length. Default: the "
                          "model's own.")
classes = click.option("--classes", type=COUNT, metavar="N",
                       help="Classes of the last layer, where there are any. Default: the model's own.")


def own_weights(required: bool = False) -> Callable[[Command], Command]:
    return click.option("--weights", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", required=required,
                        help="Weights of yours: .safetensors, .npz or Keras .h5, under the graph's names or those of a "
                             "library the model is known from." + ("" if required else " Default: drawn."))


weights = own_weights()
optimizer = click.option("--optimizer", default="", metavar="NAME",
                         help="sgd (with momentum) or adam. Default: the model's own.")
regime = click.option("--regime", default="matched", show_default=True, metavar="NAME",
                      help="matched: same numerics, threads and allocation; out-of-the-box: each framework's own "
                           "defaults.")
margin = click.option("--margin", type=Share(), default="2%", show_default=True,
                      help="A difference within plus or minus this counts as EQUIVALENT.")
memory = click.option("--memory", type=Size(), metavar="SIZE",
                      help="What the contenders of a launch may hold together, such as 8GiB; a larger field races in "
                           "groups that share an anchor. Default: half of the machine's.")
seed = click.option("--seed", type=SEED, metavar="N", help="Draw orders and data from this seed. Default: a new one.")
certify = click.option("--no-certify", "certify", flag_value=False, default=True,
                       help="Skip the proof that all compute the same. The race is then NOT COMPARABLE.")
energy = click.option("--no-energy", "energy", flag_value=False, default=True,
                      help="Leave out the joules, which take a run of 5 s of each contender in each launch where there "
                           "is a sensor (see: photofinish doctor); in whole trainings they take none.")
latency = click.option("--latency", type=Latency(), metavar="TIME",
                       help="What the steps of a sweep should keep, such as 50ms: the best batch is then the one of "
                            "highest throughput that is shown to.")
share = click.option("--share", type=Share(), default="90%", show_default=True, metavar="SHARE",
                     help="How many of the steps should keep --latency.")


def _known_device(_ctx: click.Context, _param: click.Parameter, device: str) -> str:
    """Raises UsageError."""
    from photofinish import environments
    environments.check_device(device)
    return device


device = click.option("--device", default="cpu", show_default=True, metavar="NAME", callback=_known_device,
                      help="cpu or cuda. On an H200, PyTorch, JAX and Keras on both have been run; on others, and on "
                           "several GPUs, nothing.")
threads = click.option("--threads", type=COUNT, metavar="N",
                       help="CPU threads of each contender. Default: every core, or as many as a container gives the "
                            "time of.")
store = click.option("--store", type=click.Path(path_type=Path), metavar="FOLDER",
                     help="Where results are kept. Default: .photofinish in the current folder.")
recertify = click.option("--recertify", is_flag=True,
                         help="Prove again what was proven before under the same conditions and is in the store.")
quiet = click.option("--quiet", "-q", is_flag=True, help="No progress, only the result.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON (see docs/reference/json.md).")

case = together(batch, shape, classes, device, threads)
case_or_largest = together(
    click.option("--batch", "-b", type=BatchSize(), metavar="N",
                 help="Samples per step; max: the smallest of the contenders' largest batches that fit. Default: the "
                      "model's own."),
    shape, classes, device, threads, memory_limit)
link = click.option("--link", type=LinkType(), metavar="SPEED",
                    help="Put the processes of each contender that is several on hosts of their own, joined by links "
                         "of this speed each way: 100mbit, 1gbit, with a delay 100mbit+5ms (never raced over). They "
                         "are namespaces of the network of this machine, which take root.")
hosts = click.option("--hosts", metavar="LIST", callback=lambda _ctx, _param, text: tuple(
                         name for each in (text or "").split(",") if (name := each.strip())),
                     help="Run the processes of each contender that is several on these machines, one on each, reached "
                          "by ssh (or as PHOTOFINISH_REACH says). They see this folder and the same Pythons. Never run "
                          "on machines of their own, only between namespaces of the network of one.")
timeout = click.option("--timeout", type=Duration(), metavar="DURATION",
                       help="How long a contender may take to answer before it counts as hung, such as 10m. Default: "
                            "by what is asked, 10 minutes for a block of steps, 30 for a warm-up, in which compilers "
                            "work, 2 hours for a proof.")
predict = click.option("--predict", type=Links(), default=(), metavar="LIST",
                       help="Of a sweep over links: say, too, what steps would take over these, by the line through "
                            "those that were raced.")
precision = click.option("--precision", type=Share(), default="1%", show_default=True,
                         help="Stop early when every ratio is known to plus or minus this.")


def _as_many_as_asked(command: Callable[..., Any]) -> Callable[..., Any]:
    """Refuses a precision that nothing is stopped at."""
    @wraps(command)
    def decided(*given: Any, **asked: Any) -> Any:
        if asked["launches"] is not None:
            refuse(("precision",), "--launches says how many there are")
        return command(*given, **asked)
    return decided


launches = together(
    click.option("--launches", type=COUNT, metavar="N",
                 help="Fresh processes per contender. Default: as many as the budget and precision ask for."),
    _as_many_as_asked)


data_set = click.option("--data", default="", metavar="NAME[:FOLDER]",
                        help="Of --task epoch and fit: digits or patterns (patterns:512 for so many), which come "
                             "along, or on your disk mnist:FOLDER, cifar10:FOLDER, cifar100:FOLDER, folder:FOLDER "
                             "(FOLDER/train/<class>/, FOLDER/val/<class>/); for models of texts FILE.txt, or FILE.bin "
                             "of token ids. Default: one that fits a model of images.")
epochs = click.option("--epochs", type=COUNT, metavar="N",
                      help="Of --task epoch and fit: of each training. Default: 5 and 10.")


def budget(of: str) -> Callable[[Command], Command]:
    return click.option("--budget", type=Duration(), default="5m", show_default=True,
                        help=f"Time for the measurements of each {of}, such as 90s, 5m or 1h. Where the number of "
                             "launches is fixed, it says how long each may be, and not when they end.")


measuring = together(optimizer, regime, budget("race"), precision, margin, launches)
framework = click.option("--framework", required=True, metavar="NAME",
                         help="Whose versions: torch, or with a mode and options torch:compile.")
frameworks = click.option("--framework", "frameworks", multiple=True, required=True, metavar="LIST",
                          help="Whose versions: torch,tensorflow:xla, separated by commas.")


def versions(default: str) -> Callable[[Command], Command]:
    return click.option("--versions", multiple=True, metavar="LIST",
                        help="2.13.0, or torch@2.13.0 where there are several frameworks, separated by commas; one "
                             f"that is in no table has its day beside it: 2.16.0=2026-11-25. Default: {default}.")


_environments = together(
    click.option("--env", "environments", multiple=True, metavar="NAME=PATH",
                 help="Run a framework (torch, or torch@2.8.0) or one contender (torch:eager) in an environment of "
                      "yours: a virtual environment, a conda prefix or a Python. May be given several times."),
    click.option("--no-env", "make_environments", flag_value=False, default=None,
                 help="Make no environment for a framework that this Python lacks (the same as "
                      "PHOTOFINISH_ENVIRONMENTS=never)."))


def _served(*named: str, exactly: bool) -> Callable[[Command], Command]:
    """The options, and a command that refuses an environment for somebody who does not take part, as one of these
    parameters says: it would do nothing."""
    def decorate(command: Command) -> Command:
        @_environments
        @wraps(command)
        def decided(*given: Any, **asked: Any) -> Any:
            who = next((asked[each] for each in named if asked.get(each)), ())
            if asked["environments"] and who:
                from photofinish.environments import Choice, expand
                everybody = expand(*([who] if isinstance(who, str) else who), device=asked.get("device"))
                Choice.of(asked["environments"]).insist(everybody, exactly)
            return command(*given, **asked)
        return decided  # type: ignore[return-value]
    return decorate


environments = _served("contenders", exactly=True)
# where others race than are named: in other modes, of other versions
wider_environments = _served("contenders", "frameworks", "framework", exactly=False)


_formats = together(
    click.option("--html", "html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
                 help="Write a self-contained HTML report as well."),
    as_json,
    click.option("--csv", "as_csv", is_flag=True, help="Print the main table as CSV."),
    click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown."))


def formats(command: Callable[..., Any]) -> Callable[..., Any]:
    """How results are shown: the command is given what was asked for as `chosen`, a `present.Choice`."""
    @_formats
    @wraps(command)
    def decided(*given: Any, html: Path | None, as_json: bool, as_csv: bool, as_markdown: bool, **others: Any) -> Any:
        from photofinish.cli.present import Choice
        return command(*given, chosen=Choice.of(html, as_json, as_csv, as_markdown), **others)
    return decided


def _proven_again(command: Callable[..., Any]) -> Callable[..., Any]:
    """Refuses to prove again what is not to be proven."""
    @wraps(command)
    def decided(*given: Any, **asked: Any) -> Any:
        if not asked["certify"]:
            refuse(("recertify",), "--no-certify skips the proof")
        return command(*given, **asked)
    return decided


judged = together(seed, certify, recertify, store, formats, quiet, _proven_again)  # of what certifies and measures
