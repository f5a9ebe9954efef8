"""The report of a study says who is faster where, whether that depends on the race, and what was published."""

import csv as standard_csv
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rich.console import Console

from factories import Runner, case, race
from photofinish import models
from photofinish.errors import UsageError
from photofinish.render import csv, html, markdown, terminal
from photofinish.render.document import (
    Banner,
    Document,
    Fold,
    Interval,
    Note,
    Paragraph,
    Section,
    Shade,
    Span,
    Table,
    blocks_of,
)
from photofinish.render.quantities import TIMES, plain
from photofinish.reports import study_rows
from photofinish.reports.json import schema
from photofinish.reports.provenance import of_others
from photofinish.reports.study import as_json, document, plan
from photofinish.stats import judge
from photofinish.store import Store
from photofinish.study import OUT_OF_MEMORY, Accuracy, Elsewhere, PlannedRace, Published, Settled, Study
from photofinish.values import Energy, Epoch, Link, Metering, Training
from photofinish.verbs import study as verb

Report = Callable[[Study, Sequence[Settled]], Document]
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


def test_the_map_tells_who_is_faster_without_colours(races: list[Settled]) -> None:
    """By a letter that the caption explains; what has colours has a legend."""
    found = document(study(races), races)
    shown = io.StringIO()
    terminal.show(found, Console(file=shown, width=100))
    for text in (shown.getvalue(), markdown.render([found])):
        assert f"(A: {PAIR[0]}, B: {PAIR[1]})" in " ".join(text.split())
        assert len(re.findall(rf"1\.\d\d{TIMES} A\b", text)) == 2 and len(re.findall(rf"1\.\d\d{TIMES} B\b", text)) == 1
    assert html.render([found]).count('<ul class="legend">') == 1
    even = [replace(each, results=races[3].results) for each in races]
    assert "A: " not in captions(even)["map"]
    assert '<ul class="legend">' not in html.render([document(study(even), even)])


def test_how_busy_a_device_was_is_told_where_it_was_counted(races: list[Settled]) -> None:
    def busy(shares: dict[str, float]) -> list[Settled]:
        energies = tuple(Energy(launch, name, "train", {"gpu0": 100.0}, 2.0, 40, busy=share)
                         for name, share in shares.items() for launch in (1, 2))
        (result,) = races[0].results
        metered = replace(result.race, metering=Metering(idle={"gpu0": 5.0}), energies=energies)
        return [replace(races[0], results=(judge(metered),)), *races[1:]]

    (found,) = [each for each in blocks_of(document(study(races), busy({PAIR[0]: 0.9, PAIR[1]: 0.4})), Table)
                if isinstance(each, Table) and each.name == "busy"]
    assert found.rows == (("resnet18", "by 1", pytest.approx(0.9), pytest.approx(0.4)),)
    assert not [each for each in blocks_of(document(study(races), races), Table)
                if isinstance(each, Table) and each.name == "busy"]


def test_it_is_told_that_no_one_number_answers(races: list[Settled]) -> None:
    told = " ".join(plain(each.text) for each in blocks_of(document(study(races), races), Paragraph)
                    if isinstance(each, Paragraph))
    assert "torch:eager is faster in 2, tensorflow:graph is faster in 1" in told
    assert "The ratio depends on the race" in told
    assert "2 of 3 races that are decided and have a published figure" in told


def banner(races: list[Settled]) -> Banner:
    (found,) = [each for each in blocks_of(document(study(races), races), Banner) if isinstance(each, Banner)]
    return found


def answers(races: list[Settled]) -> list[str]:
    return [plain(each) for each in banner(races).details]


def test_the_box_answers_the_question(races: list[Settled]) -> None:
    """Many races of a group are counted, one is told by itself, and nothing is counted that did not happen."""
    assert ("4 races, judged together (Holm), torch:eager against tensorflow:graph: torch:eager is faster in 2, "
            "tensorflow:graph is faster in 1" in answers(races)[0])
    assert captions(races)["verdicts"].startswith("Each race judged by itself.")  # and may well be decided otherwise
    assert "0" not in answers(races)[0]
    (alone,) = answers([races[0]])
    assert alone.startswith("Training, resnet18: torch:eager is faster than tensorflow:graph, 1.")
    (other,) = answers([races[2]])
    assert other.startswith("Training, vgg16: tensorflow:graph is faster than torch:eager, 1.")
    assert answers([Settled(races[0].planned)]) == ["0 of 1 races run"]


def test_a_row_tells_the_verdict_on_its_own_pair() -> None:
    """Who leads beside them is undecided; the published pair is not."""
    field = (Runner(PAIR[0], 0.05), Runner(PAIR[1], 0.1), Runner("jax:jit", 0.05, between=0.1))
    result = judge(race(field, of=case("resnet18"), launches=6, seed=3))
    planned = PlannedRace("training", "resnet18", ("train",), (*PAIR, "jax:jit"), published=1.4)
    (table,) = [each for each in blocks_of(document(study([Settled(planned)]), [Settled(planned, (result,))]), Table)
                if isinstance(each, Table) and each.name == "verdicts"]
    row = dict(zip([column.title for column in table.columns], table.rows[0]))
    assert (row["Verdict"], row["Faster"].text) == ("FASTER", PAIR[0])  # type: ignore[union-attr]


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


def test_a_row_of_csv_can_be_told_from_any_other(races: list[Settled]) -> None:
    """Also where a group's own table leaves a column out; names of pairs stand in every row, and one header in all."""
    (result,) = races[0].results
    groups: dict[str, dict[str, Any]] = {"training": {}, "links": {"link": Link.parse("1gbit")}, "days": {"day": 2}}
    told = [Settled(replace(races[0].planned, group=name, **other), (result,)) for name, other in groups.items()]
    assert study_rows.size(told[1].planned) == study_rows.size(told[0].planned) + " 1 Gbit/s"
    assert [each["link"] for each in as_json(study(told), told)["races"]] == [None, "1 Gbit/s", None]
    rows = list(standard_csv.DictReader(io.StringIO(csv.render([document(study(told), told)], "races"))))
    assert [row["Group"] for row in rows] == list(groups)
    assert {(row["Model"], row["Batch"], row["Device"], row["Regime"], row["Task"]) for row in rows} == {
        ("resnet18", "1", "cpu", "matched", "train")}
    assert [(row["Link"], row["Day"]) for row in rows] == [("", ""), ("1 Gbit/s", ""), ("", "2")]
    for row in rows:
        assert (row["Contender"], row["Against"], row["Faster"]) == (*PAIR, PAIR[0]) and float(row["Ratio low"]) > 1
    assert "Group" not in race_row(told[:1]) and "Link" not in race_row(told[:1])


def test_a_group_may_have_any_name(races: list[Settled]) -> None:
    """Neither does it end an attribute of the page, nor do two sections get one id."""
    names = ('a" onmouseover="alert(1) <x>', "question", "a b", "a-b")
    named = [replace(each, planned=replace(each.planned, group=name)) for name, each in zip(names, races)]
    found = document(study(named), named)
    sections = [each.name for each in found.sections]
    assert len(set(sections)) == len(sections) > len(names)
    bad = replace(found, sections=(*found.sections, Section(names[0], names[0], ())))
    assert 'onmouseover="' not in html.render([bad])


def test_what_is_pending_or_left_out_is_said(races: list[Settled]) -> None:
    planned = races[0].planned
    mixed = [races[1], Settled(planned), Settled(races[2].planned, reason="no NVIDIA GPU here")]
    assert [each["state"] for each in as_json(study(mixed), mixed)["races"]] == [
        "done", "not yet run", "left out: no NVIDIA GPU here"]
    assert document(study(mixed), mixed).subtitle == "1 of 3 races run, 1 to be tried again"
    never = replace(mixed[2], planned=replace(mixed[2].planned, skip="no NVIDIA GPU here"))
    assert document(study(mixed), [*mixed[:2], never]).subtitle == "1 of 3 races run, 1 left out"
    assert [(box.tone, box.label) for box in map(banner, (mixed, mixed[::2], mixed[2:], [mixed[0], never]))] == [
        ("open", "NOT COMPLETE"), ("open", "NOT COMPLETE"), ("bad", "NOTHING RUN"), ("good", "COMPLETE")]


def raced(races: list[Settled], *wheres: tuple[str, str, str]) -> list[Settled]:
    """Each on that processor, that day, with that version of its first contender."""
    told = []
    for each, (cpu, day, version) in zip(races, wheres):
        (result,) = each.results
        here = replace(result.race, created=f"{day}T10:00:00+0000", versions={PAIR[0]: {"version": version}},
                       machine={"cpu": cpu, "usable_cores": 2, "memory": 25276502016 + len(told), "gpus": []})
        told.append(replace(each, results=(replace(result, race=here),)))
    return told


def test_machines_days_and_versions_are_told(races: list[Settled]) -> None:
    """One machine is one however often it was started; races of two are not told as if of one."""
    one = raced(races, ("EPYC", "2026-11-25", "2.13.0"), ("EPYC", "2026-11-23", "2.12.0"))
    found = as_json(study(one), one)
    (stay,) = found["machines"]
    assert (stay["cpu"], stay["races"], stay["first"], stay["last"]) == ("EPYC", 2, "2026-11-23", "2026-11-25")
    assert stay["memory"] == 24 * 2**30
    assert found["versions"] == {PAIR[0]: {"versions": ["2.13.0", "2.12.0"], "pythons": []}}
    assert not warnings(one)
    assert "2 machines" in warnings(raced(races, ("EPYC", "2026-11-25", "2.13.0"), ("Xeon", "2026-11-25", "2.13.0")))[0]


def test_one_name_with_other_instruction_sets_is_another_machine(races: list[Settled]) -> None:
    """A cloud calls several processors AMD EPYC; who adds races to those of another is told before they begin."""
    two = raced(races, ("EPYC", "2026-11-25", "2.13.0"), ("EPYC", "2026-11-25", "2.13.0"))
    (result,) = two[1].results
    newer = replace(result.race, machine={**result.race.machine, "flags": ["avx2", "avx512f"]})
    two[1] = replace(two[1], results=(replace(result, race=newer),))
    assert [each["instructions"] for each in as_json(study(two), two)["machines"]] == [[], ["avx2", "avx512f"]]
    assert "2 machines" in warnings(two)[0]
    others = of_others([each for settled in two for each in settled.results])
    assert "1 on EPYC with avx512f, 2 cores" in others
    due = [*two, Settled(races[2].planned)]
    planned = partial(plan, warning=others)
    assert others in warnings(due, planned)[0]
    assert not warnings(two, planned)  # nothing is left to add


def test_a_figure_of_another_size_stands_beside_ours_with_that_size(races: list[Settled]) -> None:
    """It is never counted as going the same way or not; without any figure the two fastest are compared."""
    planned = replace(races[0].planned, published=None, elsewhere=Elsewhere(1.8, "4 by 2"))
    other = replace(races[0], planned=planned)
    row = race_row([other])
    assert row["Published"] == f"1.80{TIMES} at 4 by 2" and "Same way" not in row
    bare = [replace(races[2], planned=replace(races[2].planned, published=None))]
    assert "Published" not in race_row(bare)
    assert pair_of(bare) == PAIR[::-1]
    assert "Faster" in row and "Against" not in row
    (found,) = as_json(study(bare), bare)["races"][0]["results"]
    assert found["verdict"]["a"] == PAIR[1]  # faster on vgg16, though the published pair names it last
    assert as_json(study([other]), [other])["races"][0]["elsewhere"] == {"figure": 1.8, "size": "4 by 2"}


def test_a_ratio_names_its_pair_though_nobody_is_shown_to_be_faster(races: list[Settled]) -> None:
    """The one way round or the other, as the field came in: without a published pair it is the first two."""
    (even,) = bare = [replace(races[3], planned=replace(races[3].planned, published=None))]
    found = study_rows.pair(even.results[0], None)
    assert found and found.verdict not in ("FASTER", "SLOWER") and pair_of(bare) == (found.a, found.b)
    assert "seconds of the second over seconds of the first contender" in captions(bare)["verdicts"]
    assert f"seconds of {PAIR[1]} over seconds of {PAIR[0]}" in captions(races)["verdicts"]
    assert pair_of([Settled(even.planned)]) is None


def test_words_in_place_of_a_figure_stand_there_as_they_are(races: list[Settled]) -> None:
    told = [replace(races[0], planned=replace(races[0].planned, published="not measured")), *races[1:]]
    assert race_row(told)["Published"] == "not measured"
    assert as_json(study(told), told)["races"][0]["results"][0]["agrees"] is None


def test_what_the_first_epoch_takes_is_told() -> None:
    """The geometric mean over launches, the pair in the order of the standings."""
    field = (Runner(PAIR[0], 0.05), Runner(PAIR[1], 0.1))
    of = case("resnet18", task="epoch", training=Training("digits", "9f2c", 64, 0, 3))
    epochs = tuple(Epoch(launch, number, 0, name, seconds * (times if number == 1 else 1), 8, 0.1, 0.5)
                   for launch, times in ((1, 2.0), (2, 8.0)) for name, seconds in zip(PAIR, (1.0, 3.0))
                   for number in (1, 2, 3))
    result = judge(replace(race(field, of=of, launches=2), blocks=(), epochs=epochs))
    planned = PlannedRace("training", "resnet18", ("epoch",), PAIR)
    (table,) = [each for each in blocks_of(document(study([Settled(planned)]), [Settled(planned, (result,))]), Table)
                if isinstance(each, Table) and each.name == "firsts"]
    first, second = table.rows
    assert (first[1], second[1]) == (Span(PAIR[0], "contender"), Span(PAIR[1], "contender"))
    assert first[3:5] == (5.0, 1.0) and second[3:5] == (15.0, 3.0)
    assert isinstance(first[5], Interval) and first[5].value == pytest.approx(4.0)


def test_what_every_contender_took_is_folded_away(races: list[Settled]) -> None:
    found = document(study(races), races)
    (fold,) = [each for each in blocks_of(found, Fold) if isinstance(each, Fold) and each.title == "Every contender"]
    (table,) = fold.blocks
    assert isinstance(table, Table) and len(table.rows) == 2 * len(races)
    assert {"Model", "Contender", "Throughput /s", "Peak memory"} <= {column.title for column in table.columns}
    for full in (True, False):
        console = Console(file=io.StringIO(), width=100)
        terminal.show(found, console, full)
        assert (fold.title in console.file.getvalue()) is full  # type: ignore[attr-defined]


def race_row(races: list[Settled]) -> dict[str, object]:
    (table,) = [each for each in blocks_of(document(study(races), races), Table)
                if isinstance(each, Table) and each.name == "verdicts"]
    return dict(zip([column.title for column in table.columns], table.rows[0]))


def pair_of(races: list[Settled]) -> tuple[str, str] | None:
    cells = [race_row(races)[title] for title in ("Contender", "Against")]
    return tuple(each.text for each in cells) if all(cells) else None  # type: ignore[attr-defined, return-value]


def captions(races: list[Settled]) -> dict[str, str]:
    return {each.name: each.caption for each in blocks_of(document(study(races), races), Table)
            if isinstance(each, Table)}


def warnings(races: list[Settled], report: Report = document) -> list[str]:
    return [plain(each.text) for each in blocks_of(report(study(races), races), Note)
            if isinstance(each, Note) and each.tone == "warning"]


def test_what_accuracy_costs() -> None:
    """Made to grow with the square root of operations, but for one network that is beaten."""
    accuracies = {"resnet18": 0.70, "resnet34": 0.73, "vgg16": 0.72, "mobilenet_v2": 0.72}
    macs = {name: models.find(name).graph().macs for name in accuracies}
    races = []
    for name in accuracies:
        field = (Runner(PAIR[0], 1e-7 * macs[name]**0.5), Runner(PAIR[1], 2e-7 * macs[name]**0.5))
        result = judge(race(field, of=replace(case(name), task="infer"), launches=4, seed=len(name)))
        races.append(Settled(PlannedRace("networks", name, ("infer",), PAIR), (result,)))
    found = Study("mine", "Mine", "Is it so?", "", "", tuple(each.planned for each in races),
                  accuracy=Accuracy("somebody", accuracies))
    told = as_json(found, races)
    jsonschema.validate(told, schema("study"))
    densest = told["costs"]["networks"][0]
    assert densest["model"] == "mobilenet_v2" and densest["density"] == pytest.approx(72 / 3.504872)
    fits = {each["contender"]: each for each in told["costs"]["fits"]}
    for name in PAIR:
        assert fits[name]["exponent"]["value"] == pytest.approx(0.5, abs=0.05) and fits[name]["networks"] == 4
        assert fits[name]["factor"] < 1.05
    (costs,) = [each for each in blocks_of(document(found, races), Table) if each.name == "costs"]
    beaten = {row[0]: row[-1] for row in costs.rows if row[3].text == PAIR[0]}
    assert beaten == {"resnet18": "mobilenet_v2", "resnet34": None, "vgg16": "resnet34", "mobilenet_v2": None}


def test_a_study_without_accuracies_tells_no_costs(races: list[Settled]) -> None:
    assert as_json(study(races), races)["costs"] is None


def test_a_race_of_a_model_that_was_edited_is_another_race(tmp_path: Path) -> None:
    net = tmp_path / "net.py"
    net.write_text("def model(x):\n    return x\n")
    planned = PlannedRace("mine", "net.py:model", ("train",), PAIR, folder=str(tmp_path))
    before = planned.key
    assert planned.key == before
    net.write_text("def model(x):\n    return relu(x)\n")
    assert planned.key != before
    net.unlink()
    assert planned.key and PlannedRace("mine", "resnet18", ("train",), PAIR).key == "2b1c8e7570b1f6be"


def test_what_another_process_has_raced_meanwhile_is_not_raced_again(
        tmp_path: Path, races: list[Settled], monkeypatch: pytest.MonkeyPatch) -> None:
    raced: list[PlannedRace] = []

    def race(planned: PlannedRace, **asked: object) -> str:
        raced.append(planned)
        for each in races:
            if each.planned not in raced:
                Store(tmp_path).settle(each.planned.key, "of the other")
        return "ours"

    monkeypatch.setattr(verb, "race", race)
    verb.run(study(races), store=tmp_path)
    assert len(raced) == 1 and len(Store(tmp_path).settled()) == len(races)


def test_who_could_not_race_does_not_undo_what_another_process_raced(tmp_path: Path) -> None:
    kept = Store(tmp_path)
    kept.settle("first", reason="no room")
    kept.settle("first", session="of the other")
    kept.settle("first", reason="no room")
    kept.settle("second", reason="no room")
    kept.settle("second", reason="no package")
    assert kept.settled() == {"first": ("of the other", ""), "second": ("", "no package")}


def test_an_environment_that_is_none_is_no_reason_of_a_race(tmp_path: Path, races: list[Settled]) -> None:
    with pytest.raises(UsageError, match="there is no Python"):
        verb.run(study(races), store=tmp_path, environments=["torch=/nowhere"])
    assert not Store(tmp_path, only_read=True).settled()
