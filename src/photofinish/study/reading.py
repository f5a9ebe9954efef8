"""From the tables of a study file to a study; what is wrong in them is told with its line."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache, partial
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
from photofinish.study.planned import Accuracy, Elsewhere, PlannedRace, Published, Study
from photofinish.values import REGIMES, WHOLE, misfit

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
TRAINING = ("data", "epochs", "seeds", "target")  # what [study] says of these is for the groups of whole trainings
SEVERAL = {"device": "devices", "regime": "regimes", "link": "links"}  # what is said once, or as a list of several
SWEPT: dict[str, tuple[str, Any]] = {  # a key of an exception: the list of a group's, and what is usual without one
    "input": ("inputs", None), "batch": ("batches", None), "device": ("devices", "cpu"),
    "regime": ("regimes", "matched")}
EXCEPT: dict[str, Reader] = {"model": text, "input": shape_of, "batch": batch_of, "device": names.device_of,
                             "regime": REGIME, "reason": text}
PUBLISHED = {"source": text, "a": text, "b": text}
ACCURACY = {"source": text, "top1": fractions}


class Reading:
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
        taken: set[tuple[str, str]] = set()
        for number, table in enumerate(groups):
            where = ("races", number)
            group = self._table(table, where)
            own = self._values(group, where, GROUP, ("except", "published"))
            whole = set(own.get("tasks", ())) & set(WHOLE)
            merged = {**{key: value for key, value in common.items() if whole or key not in TRAINING}, **own}
            merged["name"] = self._name(group, where, f"races {number + 1}", ("", *scales), taken)
            if "published" in group:
                printed = self._table(group["published"], (*where, "published"))
                inside = (*where, "published")
                found = self._values(printed, inside, PUBLISHED, ("ratios",), by_scale=False)
                self.source.value({"ratios": {}, **printed}, inside, "ratios", ratios)
                published[merged["name"]] = Published(*(found.get(key, "") for key in PUBLISHED))
            races += self._grid(group, where, merged)
        return Study(self.source.path.stem, **told, scale=self.scale, races=tuple(races), published=published,
                     accuracy=self._accuracy(head), scales=tuple(scales))

    def _name(self, group: dict[str, Any], where: Where, default: str, scales: Sequence[str],
              taken: set[tuple[str, str]]) -> str:
        """What the group is called at the scale asked for; adds (scale, name) to those that are `taken`. Raises
        Malformed for one that is: figures that were published are found by it."""
        own = {each: (group.get("name", default), where) for each in scales}
        own |= {place[-1]: (other["name"], place) for place, other in self._scales(group, where) if "name" in other}
        for scale, (name, place) in own.items():
            if (scale, name) in taken:
                raise Malformed(self.source, place, "name", f"another group is called {name!r}",
                                'give each a name of its own: name = "..."')
            taken.add((scale, name))
        return str(own[self.scale][0])

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
        self._once(table, where)
        found = {key: self.source.value(table, where, key, reader) for key, reader in readers.items() if key in table}
        for inside, other in self._scales(table, where) if by_scale else ():
            self.source.only(other, inside, tuple(readers))
            self._once(other, inside)
            told = {key: self.source.value(other, inside, key, readers[key]) for key in other}
            if inside[-1] == self.scale:
                replaced = {SEVERAL.get(key) for key in told}
                found = {**{key: value for key, value in found.items() if key not in replaced}, **told}
        return found

    def _once(self, table: dict[str, Any], where: Where) -> None:
        """Raises Malformed for what a table says once and as a list as well: one of the two would do nothing."""
        for key, plural in SEVERAL.items():
            if key in table and plural in table:
                raise Malformed(self.source, where, key, f"stands beside {plural}, which say it for every race",
                                f"leave one of the two out: {key} or {plural}")

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
        self._check_training(places, merged)
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

    def _check_training(self, places: list[tuple[Where, dict[str, Any]]], merged: dict[str, Any]) -> None:
        """Raises Malformed, in the table that says it, for what does not go with the group's tasks."""
        wrong = misfit(merged.get("tasks", ("train",)), **{key: merged[key] for key in TRAINING if key in merged})
        if wrong is not None:
            cure, value = wrong.cure
            hint = f'write tasks = ["{value}"]' if cure == "task" else f"write {cure} = {value}"
            key = "tasks" if wrong.key == "task" else wrong.key
            place = next((place for place, table in reversed(places) if key in table), places[0][0])
            raise Malformed(self.source, place, key, wrong.message, hint)

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
            for key in SWEPT.keys() & each.keys():
                known_of = self._swept([(where, group), *self._scales(group, where)], key)
                if each[key] not in known_of:
                    raise Malformed(self.source, where, "except", f"no race of this group has {key} "
                                    f"{_spelled(each[key])}", f"choose from: {', '.join(map(_spelled, known_of))}")
        published = group.get("published", {})
        for name in published.get("ratios", {}):
            self.source.told((*where, "published", "ratios"), name, of_group, name)
        racing = list(dict.fromkeys(title for _, given in said for title in names.titles(given)))
        for key in {"a", "b"} & published.keys():
            self.source.value(published, (*where, "published"), key, choice("contender of this group", racing))


    def _swept(self, places: list[tuple[Where, dict[str, Any]]], key: str) -> list[Any]:
        """What a group's races have there, at whatever scale."""
        axis, usual = SWEPT[key]
        head = self.tables["study"]
        tables = [(("study",), head), *self._scales(head, ("study",)), *places]
        lists = [self.source.value(table, place, axis, GROUP[axis]) for place, table in tables if axis in table]
        single = [self.source.value(table, place, key, GROUP[key]) for place, table in tables if key in table]
        return list(dict.fromkeys([*itertools.chain.from_iterable(lists), *single])) or [usual]


def _spelled(value: Any) -> str:
    """As a study file has it, of a list that is not given the model's own."""
    if value is None:
        return "the model's own, by leaving it out"
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


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
