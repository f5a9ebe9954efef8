"""Studies: many races declared in one file, with a question in words, and what was published of it.

A file is TOML (docs/reference/studies.md). Reading it gives races that can be run, each with a key of its own, or a
reason why one is left out; nothing here starts anything.
"""

import hashlib
import itertools
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from photofinish import machine, models
from photofinish.environments import ALL, TASKS
from photofinish.errors import UsageError, unknown
from photofinish.graph import ModelError
from photofinish.optimizers import OPTIMIZERS
from photofinish.study import names
from photofinish.study.checks import (
    MORE,
    Malformed,
    Reader,
    Source,
    Where,
    batch_of,
    choice,
    count,
    flag,
    fraction,
    fractions,
    link_of,
    many,
    ratios,
    scaled,
    seconds,
    several,
    shape_of,
    text,
)
from photofinish.values import REGIMES, WHOLE, Link, Result

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

BUILTIN = Path(__file__).parent / "builtin"
OUT_OF_MEMORY = "out of memory"
ABSENT = (("day", None), ("link", None), ("profile", False))  # what races were known by before there was such a thing


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
    file lies."""

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


# What may stand in each table of a file, and how it is read. A key of RUN may stand in [study], too, for all groups.
REGIME = choice("regime", REGIMES)
RUN = {"contenders": many(names.contender_of), "device": names.device_of, "regime": REGIME,
       "optimizer": choice("optimizer", tuple(OPTIMIZERS)), "threads": count, "launches": count, "classes": count,
       "budget": seconds, "precision": fraction, "margin": fraction, "data": names.data_of, "epochs": count,
       "seeds": count, "target": fraction, "link": link_of, "profile": flag}
AXES = {"models": several(text), "inputs": several(shape_of), "batches": several(batch_of),
        "devices": several(names.device_of), "regimes": several(REGIME), "links": several(link_of), "days": count}
GROUP = {"name": text, "tasks": several(choice("task", TASKS + WHOLE)), **AXES, **RUN}
STUDY = {"title": text, "question": text, "source": text, **RUN}
EXCEPT: dict[str, Reader] = {"model": text, "input": shape_of, "batch": batch_of, "device": names.device_of,
                             "regime": REGIME, "reason": text}
PUBLISHED = {"source": text, "a": text, "b": text}
ACCURACY = {"source": text, "top1": fractions}


def builtin() -> dict[str, Path]:
    """The studies that come with Photofinish, by name."""
    return {path.stem: path for path in sorted(BUILTIN.glob("*.toml"))}


def find(name: str, scale: str = "") -> Study:
    """A built-in study by name, or one in a file of the user's. Raises UsageError."""
    if name.endswith(".toml") or "/" in name:
        return read(Path(name), scale)
    known = builtin()
    if name not in known:
        raise unknown("study", name, known, "or give the path of a .toml file")
    return read(known[name], scale)


def read(path: Path, scale: str = "") -> Study:
    """Raises UsageError, with the line, for a file that cannot be read or says what cannot be."""
    try:
        words = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the study {path}: {getattr(error, 'strerror', None) or error}",
                         f"the built-in ones are: {', '.join(builtin())}") from error
    try:
        tables = tomllib.loads(words)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: {error}", f"a study is a TOML file: {MORE}") from error
    return _Reading(Source(path, words), tables, scale).study()


class _Reading:
    """From the tables of a file to a study."""

    def __init__(self, source: Source, tables: dict[str, Any], scale: str) -> None:
        self.source, self.tables, self.scale = source, tables, scale
        self.folder = source.path.parent

    def study(self) -> Study:
        self.source.only(self.tables, (), ("study", "races"))
        head = self._table(self.tables.get("study"), ("study",))
        groups = self.tables.get("races")
        if not isinstance(groups, list) or not groups:
            raise Malformed(self.source, (), "races", "a study has at least one [[races]], in double brackets", MORE)
        scales = sorted({name for table in (head, *groups) if isinstance(table, dict)
                         for name in _names(table.get("scale"))})
        if self.scale and self.scale not in scales:
            raise unknown("scale of this study", self.scale, scales) if scales else UsageError(
                f"{self.source.path} has one scale only", "leave --scale out")
        common = self._values(head, ("study",), STUDY, ("accuracy",))
        for wanted in ("title", "question"):
            if wanted not in common:
                raise Malformed(self.source, ("study",), wanted, "is missing", f'add {wanted} = "..."')
        told = {key: common.pop(key, "") for key in ("title", "question", "source")}
        races: list[PlannedRace] = []
        published: dict[str, Published] = {}
        for number, table in enumerate(groups):
            where = ("races", number)
            group = self._table(table, where)
            merged = {**common, **self._values(group, where, GROUP, ("except", "published"))}
            merged.setdefault("name", f"races {number + 1}")
            if "published" in group:
                printed = self._table(group["published"], (*where, "published"))
                inside = (*where, "published")
                found = self._values(printed, inside, PUBLISHED, ("ratios",), by_scale=False)
                self.source.value({"ratios": {}, **printed}, inside, "ratios", ratios)
                published[merged["name"]] = Published(*(found.get(key, "") for key in PUBLISHED))
            races += self._grid(group, where, merged)
        return Study(self.source.path.stem, **told, scale=self.scale, races=tuple(races), published=published,
                     accuracy=self._accuracy(head), scales=tuple(scales))

    def _accuracy(self, head: dict[str, Any]) -> Accuracy | None:
        if "accuracy" not in head:
            return None
        where = ("study", "accuracy")
        found = self._values(self._table(head["accuracy"], where), where, ACCURACY, by_scale=False)
        for key in ACCURACY:
            if key not in found:
                raise Malformed(self.source, where, key, "is missing", MORE)
        for name in found["top1"]:
            self.source.told((*where, "top1"), name, self._model, name)
        return Accuracy(**found)

    def _table(self, value: Any, where: Where) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise Malformed(self.source, where, "", "is missing or no table", MORE)
        return value

    def _values(self, table: dict[str, Any], where: Where, readers: Mapping[str, Any],
                more: tuple[str, ...] = (), by_scale: bool = True) -> dict[str, Any]:
        """What the table says, and over that what it says for the scale."""
        allowed = tuple(readers) + more + (("scale",) if by_scale else ())
        self.source.only(table, where, allowed)
        found = {key: self.source.value(table, where, key, reader) for key, reader in readers.items() if key in table}
        for inside, other in self._scales(table, where) if by_scale else ():
            self.source.only(other, inside, tuple(readers))
            told = {key: self.source.value(other, inside, key, readers[key]) for key in other}
            found.update(told if inside[-1] == self.scale else {})
        return found

    def _scales(self, table: dict[str, Any], where: Where) -> Iterator[tuple[Where, dict[str, Any]]]:
        """What the table says for each scale, whichever is asked for, and where."""
        for name, other in self.source.value({"scale": {}, **table}, where, "scale", scaled).items():
            yield (*where, "scale", name), other

    def _model(self, name: str) -> models.Model:
        return models.find(names.located(name, self.folder))

    def _grid(self, group: dict[str, Any], where: Where, merged: dict[str, Any]) -> Iterator[PlannedRace]:
        """Every combination, with a reason for those that are left out."""
        if not merged.get("models"):
            raise Malformed(self.source, where, "models", "is missing", 'add models = ["resnet18"]')
        if len(merged.get("contenders", ())) < 2 and merged.get("contenders") != (ALL,):
            raise Malformed(self.source, where, "contenders", "names fewer than two",
                            'add contenders = ["torch:eager", "tensorflow:graph"], or ["all"], here or in [study]')
        places = [(where, group), *self._scales(group, where)]
        for place, table in places:
            for name in table.get("models", ()):
                self.source.told(place, "models", self._model, name)
        exceptions = group.get("except", [])
        if not isinstance(exceptions, list):
            raise Malformed(self.source, where, "except", "should be a list", MORE)
        exceptions = [self.source.table(each, (*where, "except"), EXCEPT) for each in exceptions]
        self._check(group, where, merged, [name for _, table in places for name in table.get("models", ())], exceptions)
        fixed = {each.name: merged[each.name] for each in fields(PlannedRace) if each.name in merged}
        axes = (merged["models"], merged.get("inputs", (None,)), merged.get("batches", (None,)),
                merged.get("devices", (merged.get("device", "cpu"),)),
                merged.get("regimes", (merged.get("regime", "matched"),)),
                merged.get("links", (merged.get("link"),)),
                range(1, merged["days"] + 1) if "days" in merged else (None,))
        for model, shape, batch, device, regime, link, day in itertools.product(*axes):
            at = {"model": model, "input": shape, "batch": batch, "device": device, "regime": regime}
            told = next((each["reason"] for each in exceptions
                         if all(at[key] == value for key, value in each.items() if key != "reason")), "")
            tasks = merged.get("tasks", ("train",))
            settled = {**fixed, "group": merged["name"], "tasks": tasks, "model": model, "shape": shape, "batch": batch,
                       "device": device, "regime": regime, "link": link, "day": day, "folder": str(self.folder),
                       "profile": merged.get("profile", False) and not set(tasks) & set(WHOLE)}
            figure, elsewhere = _printed(group, model, shape, batch, self.scale)
            yield PlannedRace(**settled, published=figure, elsewhere=elsewhere, excepted=bool(told),
                              skip=told or _cannot(names.located(model, self.folder), shape, merged.get("classes"),
                                                   device))

    def _check(self, group: dict[str, Any], where: Where, merged: dict[str, Any], known: list[str],
               exceptions: list[dict[str, Any]]) -> None:
        """Raises Malformed where parts of the group do not fit together; `known` are its models, at whatever scale."""
        head = {} if "contenders" in group else self.tables["study"]  # a group's own replace the study's at every scale
        said = [(place, table["contenders"]) for place, table in (
            (("study",), head), *self._scales(head, ("study",)), (where, group), *self._scales(group, where))
            if "contenders" in table]
        place = next((place for place, given in reversed(said) if tuple(given) == merged["contenders"]), where)
        self.source.told(place, "contenders", partial(names.check_tasks, tasks=merged.get("tasks", ("train",))),
                         merged["contenders"])
        of_group = choice("model of this group", known)
        for each in exceptions:
            self.source.told(where, "except", of_group, each.get("model", known[0]))
        published = group.get("published", {})
        for name in published.get("ratios", {}):
            self.source.told((*where, "published", "ratios"), name, of_group, name)
        racing = list(dict.fromkeys(title for _, given in said for title in names.titles(given)))
        for key in {"a", "b"} & published.keys():
            self.source.value(published, (*where, "published"), key, choice("contender of this group", racing))


def _names(table: Any) -> list[str]:
    return list(table) if isinstance(table, dict) else []


@lru_cache(maxsize=None)
def _cannot(model: str, shape: tuple[int, ...] | None, classes: int | None, device: str) -> str:
    """Why this machine cannot run it, or ""."""
    lacking = machine.lacks(device)
    if lacking:
        return lacking
    try:
        models.find(model).graph(shape, classes)
    except (ModelError, UsageError) as error:
        return str(error).partition("\n")[0]
    return ""


def _printed(group: dict[str, Any], model: str, shape: tuple[int, ...] | None, batch: int | str | None,
             scale: str) -> tuple[float | str | None, Elsewhere | None]:
    """The published figure of a race; without one, the only one of its model. A figure whose size was not told is taken
    for that of the study's own scale."""
    found = group.get("published", {}).get("ratios", {}).get(model, {})
    if not isinstance(found, dict):
        return (None, Elsewhere(found, "a size not told")) if scale else (found, None)
    figures = {(size, samples): figure for size, batches in found.items() for samples, figure in batches.items()}
    at = ("x".join(map(str, shape)) if shape else "", str(batch))
    if at in figures or len(figures) != 1:
        return figures.get(at), None
    ((size, samples), figure), = figures.items()
    return None, Elsewhere(figure, f"{size} by {samples}")
