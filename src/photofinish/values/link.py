"""What joins the hosts of several processes, and how it is spelled."""

import re
from dataclasses import dataclass

from photofinish.values.contender import SpellingError

_RATES = (("g", 1e9), ("m", 1e6), ("k", 1e3))
_DELAYS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
_LINK = re.compile(r"(?P<rate>\d+(\.\d+)?)(?P<unit>[kmg])bit(/s)?(\+(?P<delay>\d+(\.\d+)?)(?P<of>s|ms|us))?")


@dataclass(frozen=True)
class Link:
    """`rate` in bits a second each way, `delay` in seconds one way: 100mbit, 1gbit+5ms."""

    rate: float
    delay: float = 0.0

    @classmethod
    def parse(cls, text: str) -> "Link":
        """Raises SpellingError with an example."""
        match = _LINK.fullmatch(text.replace(" ", "").lower())
        rate = float(match.group("rate")) * dict(_RATES)[match.group("unit")] if match else 0.0
        if not match or not rate:
            raise SpellingError("{!r} is not a link: write 100mbit or 1gbit, with a delay 100mbit+5ms".format(text))
        return cls(rate, float(match.group("delay") or 0) * _DELAYS[match.group("of") or "s"])

    @property
    def name(self) -> str:
        unit, size = next((each for each in _RATES if self.rate >= each[1]), _RATES[-1])
        delay = "+{:g}ms".format(1e3 * self.delay) if self.delay else ""
        return "{:g}{}bit{}".format(self.rate / size, unit, delay)

    def __str__(self) -> str:
        """100 Mbit/s, delayed by 5 ms."""
        unit, size = next((each for each in _RATES if self.rate >= each[1]), _RATES[-1])
        delay = ", delayed by {:g} ms".format(1e3 * self.delay) if self.delay else ""
        return "{:g} {}bit/s{}".format(self.rate / size, {"k": "k"}.get(unit, unit.upper()), delay)
