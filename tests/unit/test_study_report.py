"""The report of a study says who is faster where, whether that depends on the race, and what was published."""

import io

import pytest
from rich.console import Console

from factories import Runner, case, race
from photofinish.render import csv, html, markdown, terminal
from photofinish.render.document import Paragraph, Shade, Table, blocks_of
from photofinish.render.quantities import plain
from photofinish.reports.study import as_json, document
from photofinish.stats import judge
from photofinish.study import OUT_OF_MEMORY, PlannedRace, Published, Settled, Study

PAIR = ("torch:eager", "tensorflow:graph")
FASTER = {("resnet18", 1): 1.3, ("resnet18", 8): 1.25, ("vgg16", 1): 0.7, ("vgg16", 8): 1.0}  # seconds of b over a's
PUBLISHED = {("resnet18", 1): 1.4, ("resnet18", 8): 0.8, ("vgg16", 1): 0.9, ("vgg16", 8): OUT_OF_MEMORY}


def settled(model: str, batch: int, ratio: float) -> Settled:
    field = (Runner(PAIR[0], 0.05), Runner(PAIR[1], 0.05 * ratio))
    result = judge(race(field, of=case(model, batch=batch), launches=6, seed=batch + len(model)))
    return Settled(PlannedRace("training", model, ("train",), PAIR, batch=batch, published=PUBLISHED[model, batch]),
                   (result,))


@pytest.fixture(scope="module")
def races() -> list[Settled]:
    return [settled(*where, ratio) for where, ratio in FASTER.items()]


def study(races: list[Settled]) -> Study:
    return Study("mine", "Mine", "Is it so?", "somebody", "", tuple(each.planned for each in races),
                 {"training": Published("table 1", *PAIR)})


def test_the_map_shows_who_is_faster_and_how_much(races: list[Settled]) -> None:
    found = document(study(races), races)
    (grid,) = [each for each in blocks_of(found, Table) if isinstance(each, Table) and each.name == "map"]
    assert [column.title for column in grid.columns] == ["Model", "by 1", "by 8"]
    (first, second) = grid.rows
    assert isinstance(first[1], Shade) and first[1].series == PAIR[0] and first[1].text.startswith("1.")
    assert isinstance(second[1], Shade) and second[1].series == PAIR[1]
    assert 0 < first[1].strength < second[1].strength < 1
    assert second[2] in ("=", "?")


def test_it_is_told_that_no_one_number_answers(races: list[Settled]) -> None:
    told = " ".join(plain(each.text) for each in blocks_of(document(study(races), races), Paragraph)
                    if isinstance(each, Paragraph))
    assert "torch:eager is faster in 2, tensorflow:graph in 1" in told
    assert "The ratio depends on the race" in told
    assert "2 of 3 races that are decided and have a published figure" in told


def test_races_alike_are_not_said_to_differ() -> None:
    alike = [settled(*where, 1.2) for where in FASTER]
    told = " ".join(plain(each.text) for each in blocks_of(document(study(alike), alike), Paragraph)
                    if isinstance(each, Paragraph))
    assert "is not shown" in told


def test_every_format_draws_it(races: list[Settled]) -> None:
    found = document(study(races), races)
    console = Console(file=io.StringIO(), width=100)
    terminal.show(found, console)
    assert "1.3" in console.file.getvalue()  # type: ignore[attr-defined]
    assert 'class="shade"' in html.render([found]) and "| resnet18 |" in markdown.render([found]).replace("`", "")
    assert csv.render([found], "races").count("\n") == 5


def test_what_is_pending_or_left_out_is_said(races: list[Settled]) -> None:
    planned = races[0].planned
    mixed = [races[1], Settled(planned), Settled(races[2].planned, reason="no NVIDIA GPU here")]
    assert [each["state"] for each in as_json(study(mixed), mixed)["races"]] == [
        "done", "not yet run", "left out: no NVIDIA GPU here"]
    assert document(study(mixed), mixed).subtitle == "1 of 3 races run, 1 left out"
