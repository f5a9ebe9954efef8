"""Searching for what would flip a verdict: every setting once in one race, batches and sizes by halving, and each
answer raced again on fresh launches."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from photofinish import api, environments, models
from photofinish.environments import TASKS
from photofinish.errors import Stopped, UsageError
from photofinish.factors.flip import (
    BATCH,
    SETTING,
    SIZE,
    Answer,
    Change,
    Flips,
    Look,
    brackets,
    candidate,
    check_settings,
    look,
    looks,
    variations,
)
from photofinish.runner.arrange import check_counts, left_out, one_of
from photofinish.values import Contender, Progress, Race

LAUNCHES = 6  # of every race: fixed beforehand, so that each is looked at once
MOST = 2 ** 20  # samples of a batch that a search goes up to


def run(model: str, contenders: Sequence[str], task: str = "train", *, settings: Sequence[str] = (),
        batches: Sequence[int] = (), shapes: Sequence[tuple[int, ...]] = (), batch: int | None = None,
        shape: tuple[int, ...] | None = None, launches: int = LAUNCHES, budget: float = 1800.0, device: str = "cpu",
        listener: Callable[[Progress], None] | None = None, **asked: Any) -> Flips:
    """Looks for the smallest change that puts the slower of two `contenders` ahead: each of `settings` once (those that
    frameworks list, if none are named), and of the batches from the smallest to the largest of `batches`, and of the
    sizes `shapes`, the nearest. No further batch or size is tried once `budget` seconds are spent. The rest is
    as in `api.race`.

    Raises UsageError (wrong use), ModelError (a size that the model does not take) and Stopped (Ctrl-C).
    """
    one_of("task of this search", task, TASKS)
    check_counts(batch=batch, batches=min(batches, default=None), launches=launches)
    pair = environments.expand(*contenders, device=device)
    if len(pair) != 2 or replace(pair[1], copy=1) == pair[0]:
        raise UsageError("a verdict is of two contenders that differ", "write -c torch:eager,tensorflow:graph")
    left_out((task,), pair)
    check_settings(pair, settings, device)
    for text in settings:
        if not _settings(pair, [text], task, device):
            raise UsageError(f"{text} only makes one of the two the other", "name another level, or another setting")
    if max(batches, default=0) > MOST:
        raise UsageError(f"batches up to {max(batches)} are more than can be looked through",
                         f"write an end up to {MOST}")
    entry = models.find(model)
    for each in shapes:  # what the model does not take is told before anything races
        entry.graph(each, asked.get("classes"))
    own_batch, own_shape = batch or entry.batch, tuple(shape or entry.graph(None, None).inputs[0][1].shape)
    common = {**asked, "device": device, "launches": launches, "energy": False, "listener": listener}

    def race(names: Sequence[str], size: int = own_batch, form: tuple[int, ...] | None = shape) -> Race:
        (result,) = api.race(model, list(dict.fromkeys(names)), task, batch=size, shape=form, **common)
        return result.race

    lines = [_Line(BATCH, {f"batch={each}": (float(each), (each, shape)) for each in
                           range(min(batches, default=0), max(batches, default=-1) + 1)}, f"batch={own_batch}",
                   (float(own_batch), (own_batch, shape))),
             _Line(SIZE, {_spelled(each): (float(prod(each)), (own_batch, each)) for each in shapes},
                   _spelled(own_shape), (float(prod(own_shape)), (own_batch, shape)))]
    changes = _settings(pair, settings, task, device)
    _say(listener, f"{pair[0].name} against {pair[1].name}, and {len(changes)} changes of one setting")
    try:
        flips = _start(pair, changes, race([name for each in _field(pair, changes) for name in each]))
    except api.Interrupted as stopped:
        raise Stopped(_start(pair, changes, stopped.results[0].race) if stopped.results else None) from None
    search = _Search(flips, race, time.monotonic() + budget, listener)
    try:
        for line in lines if flips.ranked else ():
            search.along(line)
        search.confirm()
    except KeyboardInterrupt:
        raise Stopped(search.flips) from None
    return search.flips


def _spelled(shape: Sequence[int]) -> str:
    return "input=" + "x".join(map(str, shape))


Place = tuple[int, "tuple[int, ...] | None"]  # the batch and the input's shape of a race


@dataclass(frozen=True)
class _Line:
    """Batches or sizes to search along: told -> (amount, place), and where the start is."""

    kind: str
    others: Mapping[str, tuple[float, Place]]
    told: str
    start: tuple[float, Place]

    @property
    def values(self) -> list[tuple[str, float, Place]]:
        """By amount, with the start among them."""
        found = {**self.others, self.told: self.start}
        return sorted(((told, amount, place) for told, (amount, place) in found.items()), key=lambda each: each[1])


def _settings(pair: Sequence[Contender], named: Sequence[str], task: str, device: str) -> list[tuple[str, str, str]]:
    """(told, the first contender then, the second then) of each change of one setting."""
    first, second = pair
    found = [(f"{told} for {first.name}", each.name, second.name)
             for told, each in variations(first, named, task, device)]
    found += [(f"{told} for {second.name}", first.name, each.name)
              for told, each in variations(second, named, task, device)]
    return [each for each in found if each[1] != each[2]]


def _field(pair: Sequence[Contender], changes: Sequence[tuple[str, str, str]]) -> list[tuple[str, ...]]:
    return [tuple(each.name for each in pair), *(each[1:] for each in changes)]


def _start(pair: Sequence[Contender], changes: Sequence[tuple[str, str, str]], race: Race) -> Flips:
    """Who is slower as they stand, and which changes of one setting reverse that."""
    first, second = (each.name for each in pair)
    start = look(Change("", "", first, second), race, 1)
    turn = start.ratio is not None and start.ratio.value < 1
    slower, faster = (second, first) if turn else (first, second)
    found = Flips(race, slower, faster, look(Change("", "", slower, faster), race, 1).ratio, start.reason)
    if not found.ranked:
        return found
    seen = tuple(look(Change(SETTING, told, *((b, a) if turn else (a, b))), race, len(changes))
                 for told, a, b in changes)
    return replace(found, looks=seen, answers=tuple(Answer(each) for each in seen if each.reversed))


def _say(listener: Callable[[Progress], None] | None, text: str) -> None:
    if listener is not None:
        listener(Progress("plan", text))


@dataclass
class _Search:
    """What was found so far; `places` are where changes of batch or size are raced."""

    flips: Flips
    race: Callable[..., Race]
    end: float
    listener: Callable[[Progress], None] | None
    places: dict[str, Place] = field(default_factory=dict)

    def along(self, line: _Line) -> None:
        """The nearest value on either side of the start at which the ranking is reversed."""
        values = line.values
        start = next(i for i, (told, _, _) in enumerate(values) if told == line.told)
        found: dict[int, Look] = {}
        while (at := candidate(len(values), start, {i: each.reversed for i, each in found.items()})) is not None:
            told, amount, place = values[at]
            if time.monotonic() > self.end:
                self.flips = replace(self.flips, left=self.flips.left or f"the budget ended before {told} was tried")
                break
            _say(self.listener, f"trying {told}")
            self.places[told] = place
            change = Change(line.kind, told, self.flips.slower, self.flips.faster, amount / values[start][1])
            try:
                race = self.race([change.slower, change.faster], *place)
                found[at] = look(change, race, looks(len(values), start))
            except UsageError as error:  # processes that cannot share such a batch, an image too small
                found[at] = Look(change, "", None, error.message)
            self.flips = replace(self.flips, looks=(*self.flips.looks, found[at]))
        for short, beyond in brackets(start, {i: each.reversed for i, each in found.items()}):
            answer = Answer(found[beyond], None if short == start else values[short][0])
            answers = sorted((*self.flips.answers, answer), key=lambda each: each.look.change.distance)
            self.flips = replace(self.flips, answers=tuple(answers))

    def confirm(self) -> None:
        """Each answer again, on fresh launches."""
        for i, answer in enumerate(self.flips.answers):
            change = answer.look.change
            _say(self.listener, f"{change.told} again, on fresh launches")
            race = self.race([change.slower, change.faster], *self.places.get(change.told, ()))
            again = replace(answer, again=look(change, race, 1))
            answers = (*self.flips.answers[:i], again, *self.flips.answers[i + 1:])
            self.flips = replace(self.flips, answers=answers)
