"""What a study is once it is read: races that can be run, and what was published of them."""

import hashlib
import json
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from photofinish.study import names
from photofinish.values import Link, Result

OUT_OF_MEMORY = "out of memory"
ABSENT = (("day", None), ("link", None), ("profile", False),  # what races were known by before there was such a thing
          ("environments", ()))


@dataclass(frozen=True)
class Elsewhere:
    """A published figure of another size than the race's: seconds(b) / seconds(a), or words such as "out of memory"."""

    figure: float | str
    size: str


@dataclass(frozen=True)
class PlannedRace:
    """One race of a study, `batch` "max" where that is to be looked for; `skip` is why it is left out ("" to run it),
    by the study itself if it is `excepted`, else for want of something here: what was run elsewhere stands.
    `day` counts the days on which one race is run anew, None where it is run once. `published` is
    seconds(b) / seconds(a) of the pair that the group's published figure compares, or "out of memory", or None;
    `elsewhere` is that of the model at another size, where there is one. Paths of models begin at `folder`, where the
    file lies. `environments` are those of the user's own ("torch=/path/to/python") where they make it another race, as
    among versions."""

    group: str
    model: str
    tasks: tuple[str, ...]
    contenders: tuple[str, ...]
    batch: int | str | None = None
    shape: tuple[int, ...] | None = None
    classes: int | None = None
    device: str = "cpu"
    regime: str = "matched"
    optimizer: str = ""
    threads: int | None = None
    launches: int | None = None
    data: str = ""
    epochs: int | None = None
    seeds: int | None = None
    target: float | None = None
    budget: float = 120.0
    precision: float = 0.01
    margin: float = 0.02
    day: int | None = None
    link: Link | None = None
    profile: bool = False
    environments: tuple[str, ...] = ()
    skip: str = field(default="", compare=False)
    excepted: bool = field(default=False, compare=False)
    published: float | str | None = field(default=None, compare=False)
    elsewhere: Elsewhere | None = field(default=None, compare=False)
    folder: str = field(default="", compare=False)

    @property
    def located(self) -> str:
        """By what the model is found from here."""
        return names.located(self.model, self.folder)

    @property
    def key(self) -> str:
        """A digest of what is run: a race that was run under it is not run again. Of a model in a file its text counts,
        too: once that is another, so is the race (what the file imports is not looked into)."""
        run = [each.name for each in fields(self) if each.compare]
        told = {name: value for name, value in asdict(self).items() if name in run and (name, value) not in ABSENT}
        if ".py" in self.model:
            with suppress(OSError):  # that it is not there is told when it is raced
                told["text"] = hashlib.sha256(Path(self.located.partition(":")[0]).read_bytes()).hexdigest()
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def title(self) -> str:
        size = " x ".join(map(str, self.shape)) if self.shape else ""
        batch = f"batch {self.batch}" if self.batch else ""
        link = f"links of {self.link}" if self.link else ""
        regime = self.regime if self.regime != "matched" else ""
        day = f"day {self.day}" if self.day else ""
        told = [self.model, self.data, size, batch, self.device, regime, link, " and ".join(self.tasks), day]
        return ", ".join(each for each in told if each)


@dataclass(frozen=True)
class Published:
    """A figure that a study printed: what it compares, and where it stands."""

    source: str
    a: str
    b: str


@dataclass(frozen=True)
class Accuracy:
    """Published accuracies of models, from 0 to 1, and whose they are."""

    source: str
    top1: dict[str, float]


@dataclass(frozen=True)
class Study:
    """A study at one scale."""

    name: str
    title: str
    question: str
    source: str
    scale: str
    races: tuple[PlannedRace, ...]
    published: dict[str, Published] = field(default_factory=dict)  # by group
    accuracy: Accuracy | None = None
    scales: tuple[str, ...] = ()  # that the file names, beside its own

    def to_run(self) -> list[PlannedRace]:
        return [each for each in self.races if not each.skip]


@dataclass(frozen=True)
class Settled:
    """What became of a planned race: a result for each task, or why there is none ("" if it is still to be run)."""

    planned: PlannedRace
    results: tuple[Result, ...] = ()
    reason: str = ""

    @property
    def pending(self) -> bool:
        return not self.results and not self.reason

    @property
    def refused(self) -> bool:
        """Whether it was tried and could not be raced: what was in the way may be gone."""
        return bool(self.reason) and not self.planned.skip

    @property
    def due(self) -> bool:
        return self.pending or self.refused
