"""How to take what is advised: the lines that make a program of one's own run as the contender did in its race."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from photofinish.environments import frameworks
from photofinish.environments.framework import FrameworkInfo
from photofinish.runner import allocator
from photofinish.values import MODE, Case, Contender

VALUE, SHELL = "{value}", "export "


@dataclass(frozen=True)
class Lines:
    """For the shell that starts the program, and for the program. Both are () where a framework's users write nothing
    to have it so."""

    contender: str
    shell: tuple[str, ...]
    program: tuple[str, ...]


def lines(name: str, case: Case) -> Lines:
    """Of a contender as it was raced: its mode and options, the threads, what the regime sets, and what was kept of
    freed memory."""
    contender = Contender.parse(name)
    info = frameworks().get(contender.framework)
    if info is None:  # of a race that another installation ran
        return Lines(name, (), ())
    written = list(dict.fromkeys(_written(info, contender, case)))
    exported = {**info.environment_with(contender.options), **allocator.variables(contender, case, allocator.KEEP)}
    shell = [f"{SHELL}{key}={shlex.quote(value)}" for key, value in exported.items() if key not in info.environment]
    return Lines(name, (*(each for each in written if each.startswith(SHELL)), *shell),
                 tuple(each for each in written if not each.startswith(SHELL)))


def _written(info: FrameworkInfo, contender: Contender, case: Case) -> Iterator[str]:
    options = dict(contender.options)
    threads = options.pop("threads", str(case.threads))
    told = {"threads": threads, MODE: contender.mode or info.default_mode, **options}
    for name, value in told.items():
        if name != "threads" or case.regime == "matched" or "threads" in dict(contender.options):
            for line in info.lines.get(f"{name}={value}", info.lines.get(name, ())):
                yield line.replace(VALUE, value)
    if case.regime == "matched":
        yield from info.lines.get("matched", ())
