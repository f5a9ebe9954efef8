"""How figures are written: one entry per hint, three significant digits, one unit for a whole column."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from itertools import chain

from photofinish.render.document import Cell, Interval, Quantity, Span, Text

TIMES = "\N{MULTIPLICATION SIGN}"
DASH = "\N{EN DASH}"
UNTOLD = "no telling yet"

_DURATIONS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_BYTES = ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B"))
_SPEEDS = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s"))
_ENERGIES = ((1e6, "MJ"), (1e3, "kJ"), (1.0, "J"), (1e-3, "mJ"), (1e-6, "µJ"))
_MINUTE = 60.0
_MOST = 6  # decimals
NO_TELLING = 100.0  # times that the ends of an interval are apart where it says nothing of the figure
_POSITIVE = ("duration", "ratio", "rate")  # figures of which that can be said


def digits(value: float, significant: int = 3) -> str:
    """Plain decimal notation with at least this many significant digits: 0.0482, 4.82, 4,820."""
    return f"{value:,.{_decimals(value, significant)}f}"


def _fixed(value: float, decimals: int, sign: str = "") -> str:
    """With so many decimals; what rounds to zero has no sign."""
    rounded = round(value, decimals) + 0.0
    return f"{rounded:{sign if rounded else ''},.{decimals}f}"


def _decimals(value: float, significant: int = 3) -> int:
    if value == 0 or not math.isfinite(value):
        return 0
    rounded = float(f"{abs(value):.{significant - 1}e}")  # 9.999 is written 10.0
    return max(0, significant - 1 - math.floor(math.log10(rounded)))


def _unit(value: float, units: Sequence[tuple[float, str]]) -> tuple[float, str]:
    return next(((size, name) for size, name in units if abs(value) >= size * 0.9995), units[-1])


def duration(seconds: float) -> str:
    """48.2 ms, 3.10 s, 4 min 12 s, 2 h 5 min, 3 d 4 h."""
    if abs(seconds) >= _MINUTE - 0.05:
        return f"-{_long(-seconds)}" if seconds < 0 else _long(seconds)
    if seconds == 0:
        return "0 s"
    size, name = _unit(seconds, _DURATIONS[3:])
    return f"{digits(seconds / size)} {name}"


def counted(number: int, thing: str) -> str:
    """1 epoch; 3 epochs."""
    return f"{number:,} {thing}{'s' if number != 1 else ''}"


def about(seconds: float) -> str:
    """An estimate of a duration, no finer than it deserves: 8 s, 12 min, 2 h 5 min."""
    minutes = round(seconds / _MINUTE)
    return f"{seconds:.0f} s" if seconds < _MINUTE - 0.5 else _long(minutes * _MINUTE)


def _long(seconds: float) -> str:
    parts = ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s"))
    for size, name, fine, fine_name in parts:
        count = round(seconds / fine)
        if count * fine >= size:
            whole, rest = divmod(count, size // fine)
            return f"{whole:,} {name}" + (f" {rest} {fine_name}" if rest and whole < 100 else "")
    return f"{seconds:.0f} s"


def _bytes(value: float) -> str:
    size, name = _unit(value, _BYTES)
    return f"{digits(value / size)} {name}"


def _energy(value: float) -> str:
    size, name = _unit(value, _ENERGIES)
    return f"{digits(value / size)} {name}" if value else "0 J"


def _speed(value: float) -> str:
    size, name = _unit(value, _SPEEDS)
    return f"{digits(value / size)} {name}"


def _percent(value: float) -> str:
    decimals = max(min(2, _decimals(100 * value, 2)), _short_of_all(value))
    return _fixed(100 * value, decimals).removesuffix(".0") + " %"


def _accuracy(value: float) -> str:
    return f"{_fixed(100 * value, max(1, _short_of_all(value)))} %"


def _short_of_all(share: float) -> int:
    """The decimals of a share just below all, which is never written as all: 97.5 %, 99.98 %."""
    rest = round(100 - 100 * share, _MOST)  # 1 - 1e-16 is all
    return max(1, _decimals(rest, 1)) if 0 < rest <= 10 else 0


def _ratio(value: float) -> str:
    return f"{value:.2f}{TIMES}" if value < 100 else f"{value:,.0f}{TIMES}"


def _scientific(value: float) -> str:
    return "0" if value == 0 else f"{value:.1e}"


def _check(value: float) -> str:
    return "passed" if value else "FAILED"


def _difference(seconds: float) -> str:
    return f"{'+' if seconds > 0 else ''}{duration(seconds)}"


_WRITTEN: dict[str, Callable[[float], str]] = {
    "duration": duration,
    "difference": _difference,
    "bytes": _bytes,
    "energy": _energy,
    "speed": _speed,
    "percent": _percent,
    "accuracy": _accuracy,
    "ratio": _ratio,
    "count": lambda value: f"{round(value):,}",
    "number": digits,
    "rate": lambda value: f"{digits(value)} /s",
    "scientific": _scientific,
    "check": _check,
    "date": lambda value: date.fromordinal(round(value)).isoformat(),
}


def write(value: Cell, hint: str = "text") -> str:
    """One figure, or one word, as text. None and figures that are not finite are a dash."""
    if value is None:
        return DASH
    if isinstance(value, Span):
        return value.text
    if isinstance(value, str):
        return value
    if isinstance(value, Interval):
        return _interval(value, hint)
    return _WRITTEN.get(hint, str)(value) if math.isfinite(value) else DASH


def _interval(value: Interval, hint: str) -> str:
    return write_column([value], hint)[0]


def write_column(values: Sequence[Cell], hint: str) -> list[str]:
    """The cells of a column. Durations, bytes, ratios and intervals share a unit and decimals, so that
    they can be compared by eye; where they span too much for that, each has its own."""
    numbers = [each for value in values for each in _numbers(value)]
    scale = _shared_scale(numbers, values, hint)
    if scale is None:
        return [_own_units(value, hint) if isinstance(value, Interval) else write(value, hint) for value in values]
    size, suffix, decimals = scale

    sign, to = ("+", " to ") if hint == "difference" else ("", DASH)

    def number(value: float) -> str:
        return _fixed(value / size, decimals, sign)

    def cell(value: Cell) -> str:
        if isinstance(value, Interval):
            if not _shown(value, hint):
                return f"{number(value.value)}{suffix} ({UNTOLD})"
            return f"{number(value.value)}{suffix} ({number(value.low)}{to}{number(value.high)})"
        return number(value) + suffix if _numbers(value) else write(value, hint)  # type: ignore[arg-type]
    return [cell(value) for value in values]


def _own_units(value: Interval, hint: str) -> str:
    if not _shown(value, hint):
        return f"{write(value.value, hint)} ({UNTOLD})"
    return f"{write(value.value, hint)} ({write(value.low, hint)}{DASH}{write(value.high, hint)})"


def tells(low: float, high: float) -> bool:
    """Whether the interval of a positive figure says anything: two launches may give one of many powers of ten."""
    return high <= NO_TELLING * low


def _shown(value: Interval, hint: str) -> bool:
    return hint not in _POSITIVE or tells(value.low, value.high)


def _numbers(value: Cell) -> list[float]:
    if isinstance(value, Interval):
        return [value.value]
    if isinstance(value, (str, Span, bool)) or value is None or not math.isfinite(value):
        return []
    return [float(value)]


def _shared_scale(numbers: Sequence[float], values: Sequence[Cell], hint: str) -> tuple[float, str, int] | None:
    units = {"duration": _DURATIONS[3:], "difference": _DURATIONS[3:], "bytes": _BYTES, "ratio": ((1.0, TIMES),),
             "rate": ((1.0, " /s"),), "number": ((1.0, ""),), "energy": _ENERGIES}.get(hint)
    positive = [abs(each) for each in numbers if each]
    signed = hint == "difference"  # which may be near zero
    if units is None or not positive or (max(positive) > 1000 * min(positive) and not signed):
        return None
    ends = [(value.low, value.high) for value in values if isinstance(value, Interval) and _shown(value, hint)]
    leading = max(map(abs, (*positive, *chain(*ends)))) if signed else max(positive) if hint == "bytes" else \
        min(positive)
    size, name = _unit(leading, units)
    if hint == "duration" and max(positive) >= min(_MINUTE, 1000 * size):
        return None
    widths = [high - low for low, high in ends if high > low]
    decimals = 2 if hint == "ratio" else _decimals(leading / size)
    if widths and not signed:  # show the interval itself with two digits or so, never more than it deserves
        decimals = min(_MOST, max(decimals, _decimals(min(widths) / size, 1)))
    if hint == "ratio":
        decimals = _apart_from(1, chain(*ends), decimals)
    if signed:  # an interval that excludes zero does so as it is written
        decimals = _apart_from(0, (bound / size for low, high in ends if low > 0 or high < 0 for bound in (low, high)),
                               decimals)
    if hint == "bytes" and round(min(positive) / size, decimals) == 0:
        return None
    suffix = name if hint == "ratio" or not name or name.startswith(" ") else " " + name
    return size, suffix, decimals


def ratio_with_interval(value: float, low: float, high: float) -> tuple[str, str, str]:
    """A ratio and its bounds with as many decimals as the interval deserves: 1.31, 1.28, 1.34."""
    decimals = _apart_from(1, (low, high), 3 if high - low < 0.02 else 2)
    return f"{value:.{decimals}f}", f"{low:.{decimals}f}", f"{high:.{decimals}f}"


def _apart_from(whole: int, bounds: Iterable[float], decimals: int) -> int:
    """So many that no bound is rounded to `whole` which is not: an interval that excludes it does so as it is written.
    As many as given where no reasonable number of them does."""
    near = [bound for bound in bounds if bound != whole]
    return next((more for more in range(decimals, _MOST) if all(round(bound, more) != whole for bound in near)),
                decimals)


def shortened(name: str, longest: int) -> str:
    """A long name without its middle: contenders differ at their ends."""
    half = longest // 2
    return name if len(name) <= longest else f"{name[:longest - half - 1]}…{name[-half:]}"


def labels(names: Iterable[str], longest: int) -> dict[str, str]:
    """Each name as a chart has it: shortened, but whole where two would look alike."""
    short = {name: shortened(name, longest) for name in names}
    seen = Counter(short.values())
    return {name: label if seen[label] == 1 else name for name, label in short.items()}


def plain(text: Text) -> str:
    """A sentence as one string."""
    return "".join(_inline(each) for each in text)


def _inline(part: str | Span | Quantity) -> str:
    if isinstance(part, Quantity):
        return write(part.value, part.hint)
    return part.text if isinstance(part, Span) else part


def shares(values: Iterable[float], width: int) -> list[int]:
    """Lengths of the parts of a bar that sum to at most `width`; a part above zero is never invisible."""
    parts = list(values)
    total = sum(parts)
    lengths = [max(1, round(width * each / total)) if each > 0 and total > 0 else 0 for each in parts]
    while sum(lengths) > width and max(lengths) > 1:
        lengths[lengths.index(max(lengths))] -= 1
    return lengths
