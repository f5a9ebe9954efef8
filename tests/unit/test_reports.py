"""Reports: what they say of every kind of result, and the documented JSON and data frames."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import factories
from photofinish.cli import listing, present, show
from photofinish.models import find
from photofinish.outcome import Outcome
from photofinish.referee.tolerance import INFINITE
from photofinish.render.document import (
    Banner,
    Block,
    Calculator,
    Chart,
    Document,
    Job,
    Note,
    Paragraph,
    Table,
    blocks_of,
)
from photofinish.render.quantities import plain
from photofinish.reports import certificate, frame, reading, sweep, total_time, verdict
from photofinish.reports import json as reports_json
from photofinish.reports.race import BRIEF, QUESTIONS, describe, document
from photofinish.reports.reading import between, measure
from photofinish.stats import jobs, judge
from photofinish.stats.jobs import BreakEven
from photofinish.values import Check, Failure, Finding, Phase, Result, Skip, Straggler, Training
from stats_races import most_by_chance

RESULTS: dict[str, Result] = {name: make() for name, make in factories.SCENARIOS.items()}
DOCS = Path(__file__).parents[2] / "docs" / "reference" / "json.md"


@pytest.fixture(params=sorted(RESULTS))
def result(request: pytest.FixtureRequest) -> Result:
    return RESULTS[request.param]


def sentence(name: str) -> str:
    return plain(verdict.sentence(RESULTS[name]))


def plain_of(blocks: tuple[Block, ...]) -> str:
    return " ".join(plain(each.text) for each in blocks if isinstance(each, Paragraph))


def tables(of: Document, name: str) -> list[Table]:
    return [each for each in blocks_of(of, Table) if isinstance(each, Table) and each.name == name]


@pytest.mark.parametrize(("name", "outcome", "words"), [
    ("decided", "FASTER", ("torch:compile trains resnet18 1.3", "faster than the runner-up, torch:eager",
                           "% interval", "5 launches", "all 5 were proven")),
    ("inference", "FASTER", ("torch:compile runs inference on resnet18", "faster")),
    ("equivalent", "EQUIVALENT", ("train resnet18 equally fast here: within 2 %", "both were proven")),
    ("undecided", "UNDECIDED", ("undecided whether", "more would decide it")),
    ("one_launch", "UNDECIDED", ("one launch does not show",)),
    ("not_comparable", "NOT COMPARABLE", ("No winner is named", "tensorflow:graph did not compute")),
    ("uncertified", "NOT COMPARABLE", ("No winner is named", "no certificate for torch:eager")),
    ("alone", "NO RACE", ("Only torch:compile is left",)),
    ("nobody", "NO RACE", ("No contender could be timed",)),
    ("fallen", "NO RACE", ("No contender is left", "torch:eager failed: out of memory")),
    ("crashed", "FASTER", ("torch:compile", "than torch:eager here", "both were proven")),
])
def test_the_sentence_says_the_outcome(name: str, outcome: str, words: tuple[str, ...]) -> None:
    assert verdict.outcome(RESULTS[name]) == outcome
    for word in words:
        assert word in sentence(name)


def test_no_winner_is_named_where_nothing_may_be_compared() -> None:
    for name in ("not_comparable", "uncertified"):
        shown = document(RESULTS[name])
        assert "faster" not in sentence(name)
        assert not blocks_of(shown, Calculator)
        assert not [each for each in blocks_of(shown, Chart) if isinstance(each, Chart) and each.kind == "intervals"]
        (standings,) = tables(shown, "standings")
        assert "Place" not in [column.title for column in standings.columns]
        assert [section.name for section in shown.sections][:2] == ["verdict", "certificate"]


@pytest.mark.parametrize("name", ["decided", "equivalent"])
def test_the_chart_of_ratios_says_the_levels_of_its_intervals(name: str) -> None:
    result = RESULTS[name]
    drawn = next(each for each in blocks_of(document(result), Chart) if isinstance(each, Chart)
                 and each.kind == "intervals")
    leader = result.standings[0].contender
    levels = [each.level for each in result.verdicts if leader in (each.a, each.b)]
    assert all(f"{100 * level:.3g}" in drawn.summary for level in (min(levels), max(levels)))
    assert ("95 %" in drawn.summary) is (levels == [0.95])


@pytest.mark.parametrize("question", ["warm-up", "distribution"])
@pytest.mark.parametrize("slowest", [0.06, 6.0])
def test_times_far_apart_are_drawn_on_a_logarithmic_axis(question: str, slowest: float) -> None:
    field = (factories.Runner("torch:eager", 0.05), factories.Runner("mlx:eager", slowest))
    (chart,) = (each for each in QUESTIONS[question](judge(factories.race(field, seed=1))).blocks
                if isinstance(each, Chart))
    axis = chart.x if chart.kind == "strip" else chart.y
    assert axis.log is ("logarithmic" in chart.summary) is (slowest > 1)


def test_the_chart_of_phases_has_the_opening_of_the_data() -> None:
    race = RESULTS["decided"].race
    opened = tuple(Phase(launch.number, name, "data", 0.7, 1) for launch in race.launches for name in race.contenders)
    section = QUESTIONS["phases"](judge(replace(race, phases=race.phases + opened)))
    chart = next(each for each in section.blocks if isinstance(each, Chart))
    assert [each.x for each in chart.series if each.group == "open data"] == [(0.7,)] * len(race.contenders)


def test_who_failed_in_the_rehearsal_has_no_bar_of_phases_but_a_row() -> None:
    race = RESULTS["decided"].race
    lost = race.contenders[0]
    section = QUESTIONS["phases"](judge(replace(race, phases=tuple(
        each for each in race.phases if each.contender != lost or each.launch == 0))))
    chart, table = section.blocks[:2]
    assert isinstance(chart, Chart) and isinstance(table, Table)
    assert lost not in {each.name for each in chart.series} and len(table.rows) == len(race.contenders)


def test_where_nobody_was_timed_no_times_are_spoken_of() -> None:
    section = QUESTIONS["standings"](RESULTS["nobody"])
    (table,) = (each for each in section.blocks if isinstance(each, Table))
    assert section.title == "Standings" and not table.caption
    (once,) = (each for each in QUESTIONS["standings"](RESULTS["one_launch"]).blocks[:1] if isinstance(each, Table))
    assert "Scatter" not in once.caption


def test_what_was_stopped_before_anybody_or_somebody_was_timed_is_no_failure_of_theirs() -> None:
    race = RESULTS["decided"].race
    killed = replace(race, blocks=(), failures=(Failure("", "interrupted", "the process that ran it was killed"),))
    assert plain(verdict.sentence(judge(killed))) == "It was interrupted before anything was timed."
    said = plain(verdict.sentence(judge(replace(race, blocks=race.blocks[:1]))))
    assert said.startswith(f"Only {race.blocks[0].contender} had been timed when it was interrupted, at ")
    fell = tuple(Failure(name, "crash", "", 1, "compile:infer") for name in race.contenders)  # and took no further part
    assert "is left" in plain(verdict.sentence(judge(replace(race, blocks=race.blocks[:1], failures=fell))))


@pytest.mark.parametrize(("epochs", "said"), [(1, "1 epoch"), (3, "3 epochs")])
def test_one_of_a_thing_is_told_in_the_singular(epochs: int, said: str) -> None:
    fit = factories.case(task="fit", training=Training("digits", "digest", 1438, 359, epochs))
    assert measure(fit) == f"time of {said}" and describe(fit).startswith(f"digits, {said}, batch 8")


def test_the_last_step_of_a_warm_up_is_that_of_each_launch() -> None:
    race = RESULTS["alone"].race
    longer = tuple(replace(each, seconds=(0.2, *(0.1,) * (3 + 4 * each.launch), 0.03)) for each in race.warm_ups)
    section = QUESTIONS["warm-up"](judge(replace(race, warm_ups=longer)))
    (table,) = (each for each in section.blocks if isinstance(each, Table))
    assert table.rows[0][-2:] == (0.2, 0.03)


def swept(*batches: int, **changes: object) -> list[Result]:
    return [judge(replace(factories.race(factories.FIELD[:2], of=factories.case(batch=each)), **changes))
            for each in batches]


def test_a_batch_at_which_nobody_fits_leaves_a_sweep_comparable() -> None:
    full = tuple(Failure(each.name, "out of memory", "", 1, "compile:train") for each in factories.FIELD[:2])
    results = [*swept(8, 16), *swept(32, failures=full, blocks=())]
    (told,) = blocks_of(sweep.document(results), Banner)
    assert isinstance(told, Banner) and told.label == "BEST BATCH" and "gets furthest" in plain(told.text)
    assert sweep.as_json(results)["comparable"]


def test_a_batch_at_which_all_failed_after_a_while_does_so_too() -> None:
    late = tuple(Failure(each.name, "out of memory", "", 5, "block:train") for each in factories.FIELD[:2])
    results = [*swept(8, 16), *swept(32, failures=late)]
    (told,) = blocks_of(sweep.document(results), Banner)
    assert isinstance(told, Banner) and told.label == "BEST BATCH" and sweep.as_json(results)["comparable"]
    assert not sweep.as_json(results[2:])["comparable"]


def test_a_race_in_which_one_failed_says_nothing_of_how_the_ratio_depends_on_the_batch() -> None:
    late = (Failure("torch:eager", "out of memory", "", 5, "block:train"),)
    said = str(sweep.document([*swept(8, 16), *swept(32, failures=late)]))
    assert re.search(r"depends on the batch\b.*?: of 2 ", said)
    assert re.search(r"depends on the batch\b.*?: of 3 ", str(sweep.document(swept(8, 16, 32))))


def test_a_sweep_says_what_its_races_would() -> None:
    busy = "Other programs used more than 5% of this machine"
    skipped = (Skip("jax:jit", "it has no such task"),)
    results = [replace(each, warnings=(busy,)) for each in swept(8, 16, skipped=skipped)]
    shown = [plain(each.text) for each in blocks_of(sweep.document(results), Note)]
    for said in (busy, "jax:jit was left out: it has no such task"):
        assert sum(said in each for each in shown) == 1
    told = sweep.as_json(results)["races"]
    assert [each["warnings"] for each in told] == [[busy]] * 2
    assert {each["skipped"][0]["contender"] for each in told} == {"jax:jit"}


def test_a_batch_is_best_of_those_that_are_shown_to_be_slower() -> None:
    equal = tuple(replace(each, step=factories.FIELD[0].step) for each in factories.FIELD[:2])
    apart, alike = (plain(sweep.document([judge(factories.race(field, of=factories.case(batch=8)))]).summary)
                    for field in (factories.FIELD[:2], equal))
    assert "not shown to be faster than" in alike and "not shown" not in apart


def test_who_gets_furthest_is_compared_with_others_at_the_best_batch_of_their_own() -> None:
    def said(ahead: float) -> str:
        at = {8: (0.08, 0.1), 16: (0.2, 0.16 / ahead)}  # both reach 100 images a second, one at each batch
        return plain(sweep.document([judge(factories.race(
            tuple(replace(each, step=step) for each, step in zip(factories.FIELD[:2], steps)),
            of=factories.case(batch=batch))) for batch, steps in at.items()]).summary)
    assert re.search(r"at batch (8|16), but is not shown to get further than torch:\w+ at batch (?!\1)", said(1.0))
    assert "not shown" not in said(1.2)


def test_a_sweep_that_was_stopped_says_so_once() -> None:
    stopped = (Failure("", "interrupted", "stopped by hand"),)
    document = sweep.document(swept(8, 16, failures=stopped))
    told = [plain(each.text) for each in blocks_of(document, Paragraph)]
    assert told.count("The race: interrupted: stopped by hand") == 1
    assert not tables(document, "failures")


def test_no_batch_is_best_where_nothing_may_be_compared() -> None:
    results = [*swept(8), *swept(16, certificates=())]
    (told,) = blocks_of(sweep.document(results), Banner)
    assert isinstance(told, Banner) and told.label == "NOT COMPARABLE" and "No winner is named" in plain(told.text)
    assert not sweep.as_json(results)["comparable"]


def test_who_runs_alone_overtakes_nobody() -> None:
    shown = plain_of(QUESTIONS["total-time"](RESULTS["alone"]).blocks)
    assert "ready first" not in shown and "ready first" in plain_of(QUESTIONS["total-time"](RESULTS["placebo"]).blocks)


def test_several_that_differ_are_told_of_in_the_plural() -> None:
    race = RESULTS["decided"].race
    odd = tuple(replace(each, passed=False, differences=(("layers", "53", "54"),)) if number < 2 else each
                for number, each in enumerate(race.certificates))
    assert "torch:compile and torch:eager compute something else" in plain(verdict.sentence(judge(
        replace(race, certificates=odd))))


def test_a_verdict_reads_the_same_from_both_sides() -> None:
    result = RESULTS["decided"]
    forward, backward = (between(result, *pair) for pair in
                         (("torch:compile", "torch:eager"), ("torch:eager", "torch:compile")))
    assert forward is not None and backward is not None
    assert (forward.verdict, backward.verdict) == ("FASTER", "SLOWER")
    assert forward.ratio is not None and backward.ratio is not None
    assert math.isclose(forward.ratio * backward.ratio, 1)
    assert backward.low is not None and backward.high is not None
    assert backward.low < backward.ratio < backward.high < 1


def test_failures_show_kind_log_and_command() -> None:
    shown = document(RESULTS["failures"], ("failures",))
    text = repr(shown)
    for word in ("out of memory", "exceeds 10% of free memory", "photofinish race resnet18 tensorflow:xla", "missing"):
        assert word in text


def test_a_long_log_is_cut_to_its_end() -> None:
    result = RESULTS["alone"]
    log = "\n".join(f"line {i}" for i in range(100))
    failure = Failure("torch:eager", "crash", "signal 11", log=log)
    shown = repr(document(replace(result, race=replace(result.race, failures=(failure,))), ("failures",)))
    assert "line 99" in shown and "line 80" in shown and "line 79" not in shown


def test_a_mismatch_of_numerics_is_told_beside_the_verdict_and_in_the_audit() -> None:
    shown = document(RESULTS["mismatch"])
    (first, *_) = shown.sections
    warnings = [plain(each.text) for each in first.blocks if isinstance(each, Note)]
    assert any("TF32" in warning for warning in warnings)
    (audit,) = tables(shown, "audit")
    assert "TF32 (asked: float32)" in repr(audit) and "not known (asked: float32)" in repr(audit)
    assert any("torch:eager: could not be probed" in warning for warning in warnings)


def test_who_was_proven_on_other_data_has_curves_of_its_own() -> None:
    result = RESULTS["decided"]
    again, *others = result.race.certificates
    elsewhere = {name: tuple(2 * each for each in losses) for name, losses in again.curves.items()}
    again = replace(again, curves=elsewhere, reference_curves=elsewhere)
    shown = document(replace(result, race=replace(result.race, certificates=(again, *others))), ("losses",))
    drawn = {each.title: [series.name for series in each.series] for each in blocks_of(shown, Chart)
             if isinstance(each, Chart)}
    assert drawn["Training loss with SGD, on other data"] == [again.reference, again.contender]
    assert drawn["Training loss with SGD"] == [again.reference, *(each.contender for each in others)]
    assert "on other data" not in repr(document(result, ("losses",)))


def test_what_one_framework_of_many_tells_is_no_column() -> None:
    result = RESULTS["decided"]
    told = {name: {"version": "1.0", **({"renderer": "clang"} if name == result.race.contenders[0] else {})}
            for name in result.race.contenders}
    shown = document(replace(result, race=replace(result.race, versions=told)), ("machine",))
    (table,) = tables(shown, "versions")
    assert [each.title for each in table.columns] == ["Contender", "version"] and "clang" in repr(shown)


def test_what_is_probed_stands_apart_from_what_is_told() -> None:
    result = RESULTS["decided"]
    name = result.race.contenders[0]
    facts = Finding(name, "version (facts)", "2.13.0", how="as the framework reports it, not probed")
    shown = document(replace(result, race=replace(result.race, audit=(*result.race.audit, facts))), ("audit",))
    (probed,), (told,) = tables(shown, "audit"), tables(shown, "audit_recorded")
    assert "version (facts)" not in [each.title for each in probed.columns]
    assert [plain((row[0],)) for row in probed.rows] == list(result.race.contenders)
    assert told.rows[0][1:] == ("version (facts)", "2.13.0")


def test_every_question_is_answered_and_the_brief_one_is_a_part(result: Result) -> None:
    full = [section.name for section in document(result).sections]
    assert set(full) <= set(QUESTIONS)
    assert [each.name for each in document(result, BRIEF).sections] == [each for each in full if each in BRIEF]
    assert isinstance(document(result).sections[0].blocks[0], Banner)


def test_tables_are_rectangular(result: Result) -> None:
    for table in blocks_of(document(result), Table):
        assert isinstance(table, Table)
        assert {len(row) for row in table.rows} <= {len(table.columns)}


def test_shared_places_are_marked() -> None:
    (standings,) = tables(document(RESULTS["equivalent"]), "standings")
    assert [row[0] for row in standings.rows] == ["1=", "1="]


def test_standings_on_a_gpu_tell_its_memory_rather_than_page_faults() -> None:
    race = RESULTS["decided"].race
    titles = [column.title for column in tables(document(RESULTS["decided"]), "standings")[0].columns]
    assert "Page faults per step" in titles and "On the device" not in titles
    held = tuple(replace(each, device_memory=2**30 if each.name == "build" else 2**31) for each in race.phases)
    (standings,) = tables(document(judge(replace(race, phases=held))), "standings")
    told = [column.title for column in standings.columns]
    there = replace(race, case=replace(race.case, device="cuda"), machine={**race.machine, "gpus": [{"name": "H200"}]})
    assert ", cuda (H200), " in document(judge(there)).subtitle
    assert {row[told.index("On the device")] for row in standings.rows} == {2**31}
    assert "Page faults per step" not in told and "allocator gave out" in standings.caption


def test_the_lead_changes_where_the_lines_cross() -> None:
    jobs = total_time.lines(RESULTS["decided"])
    (turn,) = total_time.overtakings(jobs, {("torch:compile", "torch:eager")})
    assert (turn.before.name, turn.after.name) == ("torch:eager", "torch:compile")
    for steps, winner in ((turn.steps * 0.99, "torch:eager"), (turn.steps * 1.01, "torch:compile")):
        assert min(jobs, key=lambda job: job.fixed + steps * job.step).name == winner


def test_the_calculator_the_table_and_json_take_the_same_step() -> None:
    result = RESULTS["decided"]
    drawn = document(result, ("total-time",))
    (calculator,) = (each for each in blocks_of(drawn, Calculator) if isinstance(each, Calculator))
    means = {name: np.mean([np.mean([step for block in result.race.blocks if (block.contender, block.launch) == (
        name, launch.number) for step in block.seconds]) for launch in result.race.launches])
        for name in result.race.contenders}
    assert {job.name: job.step for job in calculator.jobs} == pytest.approx(means)
    for job in calculator.jobs:
        assert np.mean([step for _, step in job.launches.values()]) == pytest.approx(job.step)
        assert len(calculator.quantiles) == len(job.launches) - 1
    (table,) = tables(drawn, "total_time")
    told = [column.title for column in table.columns].index("Mean step")
    assert {row[0].text: row[told] for row in table.rows} == pytest.approx(means)  # type: ignore[union-attr]
    (turn,) = total_time.overtakings(calculator.jobs, {("torch:compile", "torch:eager")})
    (found,) = (each for each in reports_json.race(result)["break_even"] if each["cold"] and (
        each["contender"], each["against"]) == ("torch:compile", "torch:eager"))
    assert found["steps"] == pytest.approx(turn.steps)


def test_a_job_within_the_warm_up_is_told_by_its_own_steps() -> None:
    """Whose first steps are slow has the lower total of one step, whatever its line says of longer jobs."""
    result = RESULTS["decided"]
    race = replace(result.race, warm_ups=tuple(
        replace(each, seconds=(2.0,) * 40 + each.seconds, steps=40 + each.steps)
        if each.contender == "torch:eager" else each for each in result.race.warm_ups))
    drawn = document(judge(race), ("total-time",))
    (chart,) = (each for each in blocks_of(drawn, Chart) if isinstance(each, Chart))
    (calculator,) = (each for each in blocks_of(drawn, Calculator) if isinstance(each, Calculator))
    known = {each.contender: each for each in jobs.jobs(race)}
    assert chart.series[0].x[0] == 1 and calculator.least == max(each.settled_after for each in known.values()) > 40
    told = {each.name: dict(zip(each.x, each.y)) for each in chart.series}
    assert min(told, key=lambda name: told[name][1]) == "torch:eager"
    for steps in (1, chart.series[0].x[-1]):
        for name, runs in jobs.first_run(race, int(steps)).items():
            assert told[name][steps] == pytest.approx(np.mean(list(runs.values())))
    (table,) = tables(drawn, "total_time")
    at = [column.title for column in table.columns].index("100 steps, first run")
    assert {row[0].text: row[at] for row in table.rows} == pytest.approx(  # type: ignore[union-attr]
        {name: np.mean(list(runs.values())) for name, runs in jobs.first_run(race, 100).items()})


def test_nothing_is_said_of_who_overtakes_whom_where_nobody_may_be_compared() -> None:
    race = RESULTS["decided"].race
    assert reports_json.race(RESULTS["decided"])["break_even"]
    assert reports_json.race(judge(replace(race, certificates=())))["break_even"] == []
    lost = race.contenders[0]
    failed = judge(replace(race, failures=(Failure(lost, "nan", "a loss is not finite", 2, "block:train"),)))
    named = {name for each in reports_json.race(failed)["break_even"] for name in (each["contender"], each["against"])}
    assert named == set(race.contenders) - {lost}


def test_peaks_are_those_of_the_rehearsal_or_of_launches_and_never_of_both() -> None:
    result = RESULTS["decided"]
    name = result.race.contenders[0]
    rehearsed = max(reading.memory_bytes(result)[name].values())
    later = Phase(1, name, "first_step:train", 1.0, 2 * rehearsed)
    of = replace(result.race, phases=(*result.race.phases, later))
    assert max(reading.memory_bytes(judge(of))[name].values()) == rehearsed
    passed = replace(of, case=replace(of.case, training=Training("patterns", "digest", 512, 0, 2)))
    assert max(reading.memory_bytes(replace(result, race=passed))[name].values()) == 2 * rehearsed
    less = tuple(replace(each, memory=each.memory // 4) if each.launch else each for each in passed.phases)
    told = reading.memory_bytes(replace(result, race=replace(passed, phases=less)))[name]
    assert max(told.values()) <= rehearsed // 2


def test_the_share_beyond_a_quantile_has_a_step_in_it() -> None:
    for count, shown in ((10, []), (20, ["5 %", "95 %"]), (100, ["5 %", "95 %", "99 %"])):
        race = factories.race((factories.Runner("torch:eager", 0.05),), seed=1)
        steps = tuple(0.05 + i / 1e4 for i in range(count))
        block = replace(race.blocks[0], seconds=steps)
        (table,) = tables(document(judge(replace(race, blocks=(block,))), ("distribution",)), "distribution")
        (row,) = table.rows
        given = {column.title: cell for column, cell in zip(table.columns, row)}
        assert [title for title in ("5 %", "95 %", "99 %") if given[title] is not None] == shown
        assert given["Median"] == pytest.approx(np.median(steps))


@pytest.mark.parametrize(("ahead", "low", "high", "told"), [
    ("always", None, None, "from the start"), ("never", None, None, "never"),
    ("always", 0.0, 1021.6, "from the start, or from 1,022 at the latest"),
    ("never", 0.0, 1021.6, "never, or until 1,022 at the latest"),
    ("always", 300.2, None, "from the start, as far as shown (until 300 at the earliest)"),
    ("never", 300.2, None, "not shown (from 300 at the earliest)"),
    ("always", 0.0, None, "not shown"), ("never", 0.0, None, "not shown"),
])
def test_a_lead_is_told_as_far_as_it_is_shown(ahead: str, low: float | None, high: float | None, told: str) -> None:
    assert total_time._told(BreakEven("a", "b", False, ahead, None, low, high)) == told


def total_time_of(*field: factories.Runner, seed: int, launches: int = 5) -> str:
    race = factories.race(field, launches=launches, rounds=3, steps=3, seed=seed)
    return plain_of(total_time.section(judge(race)).blocks)


def test_who_is_ready_first_is_told_where_it_is_shown() -> None:
    alike = factories.Runner("torch:eager", 0.05)
    pair, trials = (alike, replace(alike, name="mlx:eager")), 60
    told = [total_time_of(*pair, seed=seed) for seed in range(trials)]
    assert sum("is ready first" in each for each in told) <= most_by_chance(trials, 0.05)
    assert sum("torch:eager is shown to be ready first. By these figures it is" in each for each in told) > 0
    late = replace(alike, name="jax:jit", start=9.0)
    assert total_time_of(pair[0], late, seed=1).startswith("torch:eager is ready first, and no other is shown to over")
    assert total_time_of(*pair, late, seed=1).startswith("Neither ")
    crowd = total_time_of(*pair, replace(alike, name="tvm:graph"), late, seed=2)
    assert "and 2 others is shown to be ready first" in crowd
    assert total_time_of(pair[0], late, seed=1, launches=1).startswith("Neither torch:eager nor jax:jit is shown")


def test_who_finishes_a_short_job_first_is_told_where_it_is_shown() -> None:
    slow, fast = factories.Runner("torch:eager", 0.05), factories.Runner("jax:jit", 0.04)
    sure = total_time_of(slow, replace(fast, start=9.0), seed=1)
    assert sure.startswith("In a short job torch:eager finishes first.")
    told = total_time_of(slow, replace(fast, start=0.2), seed=1)
    assert told.startswith("Neither torch:eager nor jax:jit is shown to finish a short job first. From ")
    assert "on it is jax:jit." in told


def test_who_is_ready_first_and_warms_up_long_is_told_apart_from_who_leads_then() -> None:
    field = (factories.Runner("torch:eager", 0.03, within=0.001), factories.Runner("jax:jit", 0.04, start=3.0))
    race = factories.race(field, launches=5, rounds=3, steps=3, seed=1)
    long = tuple(replace(each, seconds=(*(0.2,) * 40, *each.seconds[-2:]), steps=40)
                 if each.contender == "torch:eager" else each for each in race.warm_ups)
    told = plain_of(total_time.section(judge(replace(race, warm_ups=long))).blocks)
    assert told.startswith("In a short job torch:eager finishes first. Past the warm-up it is jax:jit. From ")
    assert "on it is torch:eager." in told
    slower = tuple(replace(each, seconds=tuple(3 * step for step in each.seconds))
                   if each.contender == "torch:eager" else each for each in race.blocks)
    told = plain_of(total_time.section(judge(replace(race, warm_ups=long, blocks=slower))).blocks)
    assert told.startswith("torch:eager is ready first; past the warm-up jax:jit is ahead, and no other is shown to ov")


def test_losses_that_are_no_numbers_are_a_dash() -> None:
    race = RESULTS["decided"].race
    curves = {kind: (*losses[:8], math.inf, math.nan) for kind, losses in race.certificates[0].curves.items()}
    wild = replace(race.certificates[0], curves=curves)
    drawn = document(judge(replace(race, certificates=(wild, *race.certificates[1:]))), ("losses",))
    rows = [row for each in blocks_of(drawn, Table) for row in each.rows]
    assert rows and not any(str(getattr(cell, "text", cell)) in ("nan", "inf") for row in rows for cell in row)
    assert sum(cell is None for row in rows for cell in row) == 4


def crossing(result: Result, a: str, b: str, cold: bool) -> float:
    """After how many steps the two have taken as long, by the raw figures."""
    race, mean, fixed = result.race, {}, {}
    for name in (a, b):
        mean[name] = np.mean([each.seconds for each in race.blocks if each.contender == name])
        own = [each for each in race.phases if each.contender == name]
        phases = {phase: np.mean([each.seconds for each in own if each.name == phase and each.launch])
                  for phase in ("start", "import", "build", "weights", "first_step:train")}
        firsts = [[each.seconds for each in own if each.name == "first_step:train" and (each.launch == 0) == empty]
                  for empty in (True, False)]
        warm = np.mean([sum(each.seconds[:each.steps]) - (1 + each.steps) * mean[name]
                        for each in race.warm_ups if each.contender == name])
        empty = max(0.0, float(np.median(firsts[0]) - np.median(firsts[1]))) if cold else 0.0
        fixed[name] = sum(phases.values()) + warm + empty
    return float((fixed[a] - fixed[b]) / (mean[b] - mean[a]))


def test_who_compiles_is_told_from_when_on_it_pays() -> None:
    (found,) = tables(document(RESULTS["decided"], ("total-time",)), "break_even")
    told = {(row[0].text, row[1].text): row[2:] for row in found.rows}  # type: ignore[union-attr]
    assert {compiled for compiled, _ in told} == {"torch:compile", "tensorflow:xla"}
    first, cached = told["torch:compile", "torch:eager"]
    for cell, cold in ((first, True), (cached, False)):
        assert str(cell).startswith(f"from {crossing(RESULTS['decided'], 'torch:compile', 'torch:eager', cold):,.0f} (")
    assert told["tensorflow:xla", "torch:eager"] == ("never", "never")
    (unclear,) = tables(document(RESULTS["undecided"], ("total-time",)), "break_even")
    assert "not shown (from" in str(unclear.rows[0][2])


def test_no_lead_is_taken_before_the_last_one_was() -> None:
    """c is ready before b and faster than it, but not shown to be faster than a: it passes a with b, not before."""
    a, b, c = Job("a", 1.0, 3.0), Job("b", 9.0, 2.0), Job("c", 5.0, 1.5)
    shown = {("b", "a"), ("c", "b")}
    (turn,) = total_time.overtakings((a, b, c), shown)
    assert (turn.steps, turn.before, turn.after) == (8.0, a, c)


def test_no_job_is_shorter_than_a_step() -> None:
    """b's first step ends before that of a, which is ready sooner: a never finishes first."""
    a, b = Job("a", 1.0, 3.0), Job("b", 1.5, 2.0)
    assert total_time.overtakings((a, b), {("b", "a")}) == []


def test_a_difference_that_is_not_shown_never_overtakes() -> None:
    assert total_time.overtakings(total_time.lines(RESULTS["decided"]), set()) == []
    assert "no other is shown to overtake it" in repr(document(RESULTS["undecided"], ("total-time",)))


def test_the_race_conforms_to_its_schema(result: Result) -> None:
    text = reports_json.text([reports_json.race(result)])
    jsonschema.validate(json.loads(text, parse_constant=pytest.fail), reports_json.schema("race"),
                        cls=jsonschema.Draft202012Validator)


def test_several_races_are_a_list() -> None:
    both = json.loads(reports_json.text([reports_json.race(RESULTS[each]) for each in ("decided", "inference")]))
    assert [each["case"]["task"] for each in both] == ["train", "infer"]


def test_json_names_phases_without_the_task_and_cold_ones_apart() -> None:
    found = reports_json.race(RESULTS["decided"])["contenders"][0]
    assert found["name"] == "torch:compile"
    assert found["phases"]["compile_cold"] > found["phases"]["compile"] > 1
    assert found["seconds_per_step"]["low"] < found["seconds_per_step"]["value"] < found["seconds_per_step"]["high"]


@pytest.mark.parametrize(("refused", "blames"), [("torch:compile", True), ("torch:eager[layout=channels_last]", False)])
def test_who_is_certified_in_another_mode_of_the_same_framework_clears_the_model(refused: str, blames: bool) -> None:
    certificates = [factories.certificate(name, "digest", passed=name != refused) for name in ("torch:eager", refused)]
    of = RESULTS["decided"]
    shown = certificate.section(replace(of, race=replace(of.race, certificates=tuple(certificates))))
    notes = [plain(each.text) for each in shown.blocks if isinstance(each, Note)]
    assert any(f"{refused} failed" in each for each in notes)
    assert any("torch:eager is certified: not the model is wrong" in each for each in notes) is blames


def test_values_that_are_not_finite_are_off_by_no_figure() -> None:
    broken = Check("inference outputs", 1, INFINITE / 5, 0.0, False, "output/linear1 (not finite)")
    (told,) = certificate.refused((replace(factories.certificate("a:b", "digest", passed=False), checks=(broken,)),))
    assert plain(told.text) == "a:b failed: inference outputs of output/linear1 (not finite)."


@pytest.mark.parametrize(("allowed", "size"), [(0.27, "27 %"), (51.0, "51.00\N{MULTIPLICATION SIGN}"), (0.1, None)])
def test_groups_that_allow_much_are_told(allowed: float, size: str | None) -> None:
    narrow, wide = Check("loss", 1, 1e-7, 1e-6, True), Check("gradients", 2, 1e-3, allowed, True, "linear1.weight")
    masks = Check("dropout", 4, 0.1, 0.2, True, "Dropout(0.5) repeats a mask")
    of = replace(factories.certificate("a:b", "digest"), checks=(narrow, wide, masks))
    told = [plain(each.text) for each in certificate.loose((of,))]
    assert told == ([] if size is None else [
        "Rounding alone is loud in gradients: more than 10 % of a tensor's size is allowed there (most in the "
        f"gradients of linear1.weight: {size}), and a mistake that small would pass. The other groups are judged more "
        "closely."])


def test_what_is_no_number_is_null() -> None:
    of = RESULTS["not_comparable"].race
    broken = replace(of.certificates[0], passed=False, checks=(Check("forward", 1, math.nan, 0.0, False),),
                     curves={"SGD": (1.0, math.inf)})
    found = reports_json.verification("resnet18", of.case.digest, [broken])
    jsonschema.validate(found, reports_json.schema("verify"), cls=jsonschema.Draft202012Validator)
    assert found["certified"] is False
    assert found["contenders"][0]["groups"][0]["error"] is None
    assert found["contenders"][0]["losses"]["SGD"]["contender"] == [1.0, None]
    json.dumps(found, allow_nan=False)


def test_one_that_could_not_be_tried_is_not_certified() -> None:
    certificates = RESULTS["decided"].race.certificates
    assert reports_json.verification("m", "d", certificates)["certified"]
    assert not reports_json.verification("m", "d", certificates, factories.FAILURES)["certified"]
    assert not reports_json.verification("m", "d", [])["certified"]


@pytest.mark.parametrize("name", reports_json.SCHEMAS)
def test_schemas_are_valid_closed_and_documented(name: str) -> None:
    schema = reports_json.schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    text = DOCS.read_text()
    for part in _objects(schema):
        assert part["additionalProperties"] is False
        assert set(part["required"]) == set(part["properties"])
        for key in part["properties"]:
            assert f"`{key}`" in text, f"docs/reference/json.md does not explain {key}"


def _objects(part: object) -> list[dict]:  # type: ignore[type-arg]
    if isinstance(part, dict):
        inner = [each for value in part.values() for each in _objects(value)]
        return inner + ([part] if "properties" in part and "required" in part else [])
    return [each for value in part for each in _objects(value)] if isinstance(part, list) else []


def test_definitions_that_two_schemas_share_are_the_same() -> None:
    race, verify = (reports_json.schema(name)["$defs"] for name in ("race", "verify"))
    assert {name: race[name] for name in verify} == verify


def test_lists_of_models_and_layers_conform_to_their_schemas() -> None:
    models, layers = listing.models(), show.describe("digits_cnn", find("digits_cnn").graph())
    for name, printed in (("models", models), ("show", layers)):
        jsonschema.validate(json.loads(json.dumps(printed)), reports_json.schema(name),
                            cls=jsonschema.Draft202012Validator)


def test_an_unknown_schema_is_refused() -> None:
    with pytest.raises(KeyError):
        reports_json.schema("../pyproject")


def test_samples_are_every_step(result: Result) -> None:
    samples = frame.samples([result])
    assert tuple(samples.columns) == frame.SAMPLE_COLUMNS
    assert len(samples) == sum(len(block.seconds) for block in result.race.blocks)
    assert math.isclose(samples["seconds"].sum(), sum(sum(block.seconds) for block in result.race.blocks))


def test_standings_as_a_frame() -> None:
    both = frame.standings([RESULTS["decided"], RESULTS["failures"]])
    assert len(both) == len(RESULTS["decided"].standings) + len(RESULTS["failures"].standings)
    assert both.iloc[0]["contender"] == "torch:compile"
    assert both.iloc[0]["phase_compile_cold"] > both.iloc[0]["phase_compile"]
    assert set(both["failure"].dropna()) == {"missing", "out of memory"}


def test_two_launches_that_tell_nothing_print_no_absurd_bounds() -> None:
    of = factories.race(factories.FIELD[:3], launches=2)
    wild = {("torch:compile", 1): 9.0, ("torch:eager", 2): 5.0}
    blocks = tuple(replace(each, seconds=tuple(wild.get((each.contender, each.launch), 1.0) * step
                                               for step in each.seconds)) for each in of.blocks)
    result = judge(replace(of, blocks=blocks))
    assert max(each.high for each in result.verdicts) > 1e6
    said = str(Outcome([result]))
    assert "no telling yet" in said and "too wide to tell anything yet" in said
    assert not re.search(r"\d(,\d{3}){3}", said)


def test_a_straggler_and_groups_are_told() -> None:
    of = factories.race(factories.FIELD[:3])
    groups = (("torch:eager", "torch:compile"), ("torch:eager", "tensorflow:graph"))
    left = tuple(Straggler(name, "torch:compile", ratio, 4)
                 for name, ratio in (("tensorflow:graph", 23.4), ("b", 11.5)))
    of = replace(of, stragglers=left, launches=tuple(replace(each, groups=groups) for each in of.launches))
    said = " ".join(str(Outcome([judge(of)])).split())
    assert "as long as torch:compile: tensorflow:graph 23.40\u00d7, b 11.50\u00d7; --time-all" in said
    assert "5 of 5 launches ran them in 2 groups" in said and "with torch:eager in each" in said


def test_who_is_left_out_for_one_reason_is_told_together() -> None:
    skipped = (Skip("a", "inference only", "--task infer"), Skip("b", "no such package"),
               Skip("c", "inference only", "--task infer"))
    said = " ".join(str(Outcome([judge(replace(factories.race(factories.FIELD[:2]), skipped=skipped))])).split())
    assert "a and c were left out: inference only (--task infer)" in said
    assert "b was left out: no such package" in said


@pytest.mark.parametrize(("raced", "every", "code"), [
    (("decided", "decided"), True, 0), (("decided", "nobody"), True, 1), (("decided", "nobody"), False, 0),
    (("decided", "fallen"), True, 1), (("decided", "fallen"), False, 0),
    (("nobody", "nobody"), False, 1), (("decided", "not_comparable"), False, 1)])
def test_a_sweep_succeeds_though_its_largest_batch_fits_nobody(raced: tuple[str, ...], every: bool, code: int) -> None:
    def verb(listener: object) -> Outcome:
        return Outcome(RESULTS[each] for each in raced)

    assert present.raced(verb, chosen=present.Choice("csv", None), quiet=True, every=every) == code
