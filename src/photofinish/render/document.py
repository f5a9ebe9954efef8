"""A report as a value: what is said, never how it is drawn. Reports make Documents, renderers draw them.

Numbers stay numbers: a cell or a `Quantity` carries the raw figure and a hint (`duration`, `bytes`,
`ratio`, ...: `quantities.py` has them all), so every format chooses its own digits and CSV keeps them all. Renderers
know hints, never measures. A `date` is a day as `datetime.date.toordinal` counts them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Union


@dataclass(frozen=True)
class Span:
    """A run of text. `style` is "strong", "code", "quiet", "good", "bad" or "contender" (in its colour)."""

    text: str
    style: str = ""


@dataclass(frozen=True)
class Shade(Span):
    """A cell of a heat map: `strength` (0 to 1) of the colour of `series`, for those who see it."""

    series: str = ""
    strength: float = 0.0


@dataclass(frozen=True)
class Quantity:
    """A figure within a sentence."""

    value: float | None
    hint: str


@dataclass(frozen=True)
class Interval:
    """A figure with its confidence interval."""

    value: float
    low: float
    high: float


Text = tuple[Union[str, Span, Quantity], ...]
Cell = Union[str, float, int, bool, Interval, Span, None]


@dataclass(frozen=True)
class Heading:
    text: str


@dataclass(frozen=True)
class Paragraph:
    text: Text


@dataclass(frozen=True)
class Banner:
    """The verdict. `tone` is "good" (decided), "open" (undecided), "bad" (no verdict is possible)."""

    tone: str
    label: str
    text: Text
    details: tuple[Text, ...] = ()


@dataclass(frozen=True)
class Note:
    """An aside. `tone` is "note" or "warning"."""

    text: Text
    tone: str = "note"


@dataclass(frozen=True)
class Column:
    """`hint` decides the alignment too: words to the left, figures to the right."""

    title: str
    hint: str = "text"


@dataclass(frozen=True)
class Table:
    """`name` is its file name as CSV. A cell that is None is shown as a dash."""

    name: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""


@dataclass(frozen=True)
class Facts:
    """Names and values, one per line."""

    items: tuple[tuple[str, Cell], ...]


@dataclass(frozen=True)
class Code:
    """Verbatim lines: a command, the end of a log."""

    text: str
    title: str = ""


@dataclass(frozen=True)
class Fold:
    """Blocks that most readers can skip: closed at first where the format allows it."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Axis:
    title: str
    hint: str = "number"
    log: bool = False


@dataclass(frozen=True)
class Series:
    """One named line, row or bar: `y` over `x`; `group` is a second label (a launch, a phase). `low` and `high` are the
    ends of the figures' intervals: of x in a row, of y along a line."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    group: str = ""


@dataclass(frozen=True)
class Chart:
    """A picture of data. `kind` is one of

    - "intervals": per series one x with low and high; `band` around the first of `marks` counts as equal
    - "lines": y over x per series, with a band where it has low and high (over days: a bar at each), `marks` along x;
      a name not in `Document.series` is drawn as a reference; `overlaid` ones that agree are drawn so that all show
    - "strip": per series every x as a dot, in the row of its name and group
    - "bars": per series (name, group) one x, stacked by group within name, in the order given

    `title` says what is seen; `summary` says it to those who cannot see it.
    """

    kind: str
    title: str
    summary: str
    series: tuple[Series, ...]
    x: Axis
    y: Axis = Axis("")
    marks: tuple[float, ...] = ()
    band: float | None = None
    overlaid: bool = False


@dataclass(frozen=True)
class Job:
    """A contender's cost of n steps: fixed + n * step seconds, in the mean and in each launch.

    `warm` is the fixed cost once its compile cache is filled, where that was measured apart.
    """

    name: str
    fixed: float
    step: float
    warm: float | None = None
    launches: Mapping[int, tuple[float, float]] = field(default_factory=dict)  # {launch: (fixed, step)}, cache filled


@dataclass(frozen=True)
class Calculator:
    """Who finishes first after how many steps. `steps` is where the reader starts; a step takes `batch` of `unit`.
    `quantiles` are those of Student's t for a 95 % interval, by degrees of freedom from 1 on. Of fewer steps than
    `least` the jobs tell nothing: their lines begin where all have warmed up."""

    jobs: tuple[Job, ...]
    steps: int
    batch: float
    unit: str
    quantiles: tuple[float, ...] = ()
    least: int = 0


@dataclass(frozen=True)
class Tiles:
    """A picture of something made of many parts, in their order: a row of shades for each group. Figures stand in a
    table beside it."""

    title: str
    summary: str
    rows: tuple[tuple[str, tuple[Shade, ...]], ...]


Block = Union[Heading, Paragraph, Banner, Note, Table, Facts, Code, Fold, Chart, Calculator, Tiles]


@dataclass(frozen=True)
class Section:
    """The answer to one question. `name` is its anchor."""

    name: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Document:
    """A whole report. `series` are the names that keep one colour throughout, in order."""

    title: str
    subtitle: str
    short: str
    summary: Text
    series: tuple[str, ...]
    sections: tuple[Section, ...]

    def __post_init__(self) -> None:
        """Names of files and lines of logs come from outside: a terminal would obey what they hold."""
        for each in fields(self):
            object.__setattr__(self, each.name, printable(getattr(self, each.name)))


_CONTROL = re.compile(r"\r\n?|[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # but tabs and the ends of lines


def printable(value: Any) -> Any:
    """With control characters in its texts written out, such as \\x1b; itself if there are none."""
    if isinstance(value, str):
        return _CONTROL.sub(lambda found: "\n" if found[0][0] == "\r" else ascii(found[0])[1:-1], value)
    if isinstance(value, tuple):
        parts = tuple(map(printable, value))
        return value if all(new is old for new, old in zip(parts, value)) else parts
    if is_dataclass(value) and not isinstance(value, type):
        told = {each.name: getattr(value, each.name) for each in fields(value)}
        changed = {name: new for name, old in told.items() if (new := printable(old)) is not old}
        return replace(value, **changed) if changed else value
    return value


def blocks_of(document: Document, kind: type) -> list[Block]:
    """Every block of one kind, folded ones included, in reading order."""
    def walk(blocks: tuple[Block, ...]) -> list[Block]:
        found: list[Block] = []
        for block in blocks:
            found += [block] if isinstance(block, kind) else []
            found += walk(block.blocks) if isinstance(block, Fold) else []
        return found
    return [each for section in document.sections for each in walk(section.blocks)]
