"""A framework in a mode with settings, and how it is spelled."""

import re
from dataclasses import dataclass
from typing import Tuple


class SpellingError(ValueError):
    """A contender that cannot be read; the message shows the form."""


_CONTENDER = re.compile(r"^(?P<framework>[a-z][a-z0-9_-]*)(@(?P<version>[0-9][^:\[]*))?"
                        r"(:(?P<mode>[a-z0-9_-]+))?(\[(?P<options>[^\]]*)\])?$")


@dataclass(frozen=True)
class Contender:
    """A framework in a mode with settings: torch@2.13.0:eager[layout=channels_last,threads=1].

    `copy` tells two entries of the same contender apart (a placebo race): torch:eager#2.
    """

    framework: str
    mode: str = ""
    options: Tuple[Tuple[str, str], ...] = ()
    version: str = ""
    copy: int = 1

    @classmethod
    def parse(cls, text: str) -> "Contender":
        """Raises SpellingError with an example."""
        base, _, copy = text.partition("#")
        match = _CONTENDER.match(base.strip())
        if not match or (copy and not copy.isdigit()):
            raise SpellingError("{!r} is not a contender: write framework:mode[option=value,...], "
                                "such as torch:eager or torch:eager[layout=channels_last]".format(text))
        options = tuple(sorted(_option(each, text) for each in (match.group("options") or "").split(",") if each))
        return cls(match.group("framework"), match.group("mode") or "", options,
                   match.group("version") or "", int(copy or 1))

    @property
    def name(self) -> str:
        text = self.framework
        text += "@" + self.version if self.version else ""
        text += ":" + self.mode if self.mode else ""
        text += "[{}]".format(",".join("=".join(pair) for pair in self.options)) if self.options else ""
        return text + ("#{}".format(self.copy) if self.copy > 1 else "")

    def __str__(self) -> str:
        return self.name


def _option(text: str, whole: str) -> Tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip() or not value.strip():
        raise SpellingError("{!r} in {!r} is not an option: write option=value".format(text, whole))
    return key.strip(), value.strip()
