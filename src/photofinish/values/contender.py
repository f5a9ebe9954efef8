"""A framework in a mode with settings, and how it is spelled."""

import re
from dataclasses import dataclass, replace
from typing import Optional, Tuple

MODE = "mode"  # a setting beside the options


class SpellingError(ValueError):
    """A contender, or a link, that cannot be read; the message shows the form."""


_CONTENDER = re.compile(r"^(?P<framework>[a-z][a-z0-9_-]*)(@(?P<version>[0-9][^:+\[]*))?(:(?P<mode>[a-z0-9_-]+))?"
                        r"(\+(?P<strategy>[a-z0-9_-]+))?(\[(?P<options>[^\]]*)\])?$")


@dataclass(frozen=True)
class Contender:
    """A framework in a mode with settings: torch@2.13.0:eager[layout=channels_last,threads=1].

    With a `strategy` it is trained by `world` processes, whose number comes first in the brackets: torch:eager+ddp[2],
    torch:eager+ddp[2,layout=channels_last]. `copy` tells two entries of the same contender apart (a placebo race):
    torch:eager#2.
    """

    framework: str
    mode: str = ""
    options: Tuple[Tuple[str, str], ...] = ()
    version: str = ""
    copy: int = 1
    strategy: str = ""
    world: int = 1

    @classmethod
    def parse(cls, text: str) -> "Contender":
        """Raises SpellingError with an example."""
        base, _, copy = text.partition("#")
        match = _CONTENDER.match(base.strip())
        if not match or (copy and not copy.isdecimal()):
            raise SpellingError("{!r} is not a contender: write framework:mode[option=value,...], "
                                "such as torch:eager or torch:eager[layout=channels_last]".format(text))
        given = [each.strip() for each in (match.group("options") or "").split(",") if each]
        strategy = match.group("strategy") or ""
        world = _world(given.pop(0) if given and given[0].isdecimal() else "", strategy, text)
        return cls(match.group("framework"), match.group("mode") or "", tuple(sorted(_option(each, text)
                                                                                     for each in given)),
                   match.group("version") or "", int(copy or 1), strategy, world)

    @property
    def name(self) -> str:
        text = self.framework
        text += "@" + self.version if self.version else ""
        text += ":" + self.mode if self.mode else ""
        text += "+" + self.strategy if self.strategy else ""
        within = ([str(self.world)] if self.strategy else []) + ["=".join(pair) for pair in self.options]
        text += "[{}]".format(",".join(within)) if within else ""
        return text + ("#{}".format(self.copy) if self.copy > 1 else "")

    def __str__(self) -> str:
        return self.name

    def threads(self, usual: int) -> int:
        """How many it may use where the others may use `usual`; the processes of a strategy share them."""
        return int(dict(self.options).get("threads", usual))

    def setting(self, name: str) -> Optional[str]:
        """The level at which it stands of an option or of its mode; None where it does not say."""
        return self.mode if name == MODE else dict(self.options).get(name)

    def set_to(self, name: str, level: Optional[str]) -> "Contender":
        """The same with one setting at another level; None leaves it out."""
        if name == MODE:
            return replace(self, mode=level or "")
        options = {key: value for key, value in self.options if key != name}
        if level is not None:
            options[name] = level
        return replace(self, options=tuple(sorted(options.items())))


def _world(count: str, strategy: str, whole: str) -> int:
    """How many processes a strategy runs on: two at least, for one alone is the contender without it."""
    if not strategy and count:
        raise SpellingError("{!r} names a number of processes and no strategy: write torch:eager+ddp[{}]".format(
            whole, count))
    if strategy and int(count or 0) < 2:
        raise SpellingError("{!r} does not say on how many processes, two or more: write {}[2]".format(
            whole, whole.partition("[")[0]))
    return int(count or 1)


def _option(text: str, whole: str) -> Tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip() or not value.strip():
        raise SpellingError("{!r} in {!r} is not an option: write option=value".format(text, whole))
    return key.strip(), value.strip()
