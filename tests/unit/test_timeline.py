"""Which versions are meant, which is looked at next, what a release's day is, and what the reports say."""

import io
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from types import SimpleNamespace

import jsonschema
import pytest
from rich.console import Console

import releases as tool
from factories import Runner, race
from photofinish.environments import Choice, releases
from photofinish.errors import UsageError
from photofinish.render import csv, html, markdown, terminal
from photofinish.render.document import Chart, Document, blocks_of
from photofinish.reports import bisection as search_report
from photofinish.reports import history as history_report
from photofinish.reports.json import schema
from photofinish.stats import bisection, judge
from photofinish.stats.bisection import FAST, OPEN, SLOW
from photofinish.timeline import BRACKET, FOUND, NOT_SLOWER, UNDECIDED, History, Look, Search
from photofinish.timeline.versions import Dated, between, choose
from photofinish.values import Failure, Result, Skip
from photofinish.verbs import timeline

OLD, NEW = "1.0.0", "2.13.0"


def told(document: Document) -> str:
    """As a terminal shows it; the other formats are drawn as well."""
    screen = io.StringIO()
    terminal.show(document, Console(file=screen, width=160, highlight=False), True)
    assert markdown.render([document]) and csv.tables(document)
    return " ".join(screen.getvalue().split())


# Which version is looked at next


@pytest.mark.parametrize("count", range(2, 40))
def test_a_search_without_doubt_ends_at_the_first_slow_version(count: int) -> None:
    for first_slow in range(1, count):
        sides: dict[int, str] = {}
        while (number := bisection.candidate(count, sides)) is not None:
            sides[number] = SLOW if number >= first_slow else FAST
        assert bisection.bracket(count, sides) == (first_slow - 1, first_slow)
        assert len(sides) <= bisection.looks(count)


def test_what_stays_open_is_passed_by_and_never_outside_the_bracket() -> None:
    chance = random.Random(3)
    for _ in range(300):
        count = chance.randint(3, 20)
        first_slow, open_ = chance.randint(1, count - 1), set(chance.sample(range(count), count // 3))
        sides: dict[int, str] = {}
        while (number := bisection.candidate(count, sides)) is not None:
            assert number not in sides
            sides[number] = OPEN if number in open_ else SLOW if number >= first_slow else FAST
        low, high = bisection.bracket(count, sides)
        assert low < first_slow <= high and set(range(low + 1, high)) <= open_


# On which side a version lies


def looked(step: float, good: float = 0.05, bad: float = 0.06, between: float = 0.003, launches: int = 6) -> Result:
    field = [Runner(f"torch@{version}:eager", seconds, between=between)
             for version, seconds in ((OLD, good), ("1.13.1", step), (NEW, bad))]
    return judge(race(tuple(field), launches=launches))


@pytest.mark.parametrize(("step", "side"), [(0.05, FAST), (0.052, FAST), (0.058, SLOW), (0.06, SLOW), (0.066, SLOW),
                                            (0.05477, OPEN)])
def test_a_version_lies_on_the_side_of_the_end_it_is_nearer_to(step: float, side: str) -> None:
    raced = looked(step).race
    found = bisection.position(raced, *raced.contenders, number=0, count=20)
    assert found is not None and found.side == side and found.launches == 6
    assert found.over.value == pytest.approx(step / (0.05 * 0.06) ** 0.5, rel=0.01)
    assert (found.seconds_to_decide == 0) is bool(side)
    assert found.over.level == pytest.approx(1 - 0.8 * 0.05 / bisection.looks(20))


@pytest.mark.parametrize("count", [3, 9, 30])
def test_all_looks_together_err_in_five_percent_at_most(count: int) -> None:
    """Also where every version between the ends is looked at, since some stayed open."""
    each = [bisection.allowed(number, count) for number in range(count - 2)]
    assert sum(each) <= 0.05 and each == sorted(each, reverse=True)
    assert sum(each[:bisection.looks(count)]) == pytest.approx(0.04)


def test_two_ends_as_fast_as_each_other_decide_nothing() -> None:
    wrong = 0
    for seed in range(200):
        field = tuple(Runner(name, 0.05, between=0.02) for name in "abc")
        raced = race(field, launches=4, rounds=3, steps=1, seed=seed)
        found = bisection.position(raced, *"abc", number=0, count=9)
        wrong += found is not None and bool(found.side)
    assert wrong <= 10  # 5 % over three looks: 3.3 expected; 11 or more come about once in a thousand


def test_one_launch_says_nothing() -> None:
    raced = looked(0.06, launches=1).race
    assert bisection.position(raced, *raced.contenders, number=0, count=9) is None


# Which versions are meant


def test_versions_are_those_named_with_the_day_they_came_out() -> None:
    found = choose(["torch,tensorflow:xla"], ["torch@2.13.0,torch@1.0.0", "tensorflow@2.21.0"])
    assert [each.contender for each in found] == ["tensorflow@2.21.0:xla", "torch@1.0.0:eager", "torch@2.13.0:eager"]
    assert found[1] == Dated("torch@1.0.0:eager", "torch:eager", OLD, date(2018, 12, 7))
    assert choose(["torch"], ["99.0.0=2031-02-03"])[0].day == date(2031, 2, 3)
    both = choose(["torch:eager,torch:compile"], ["2.13.0"])
    assert {each.line for each in both} == {"torch:eager", "torch:compile"}


def test_versions_that_are_here_are_taken_where_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("photofinish.environments.at_hand", lambda framework, choice: [NEW, "1.0.1", "0.0.0"])
    assert [each.version for each in choose(["torch"], choice=Choice())] == ["1.0.1", NEW]


def test_a_search_goes_over_the_final_releases_between() -> None:
    found = between("torch", "1.13.0", "2.0.1")
    assert [each.version for each in found] == ["1.13.0", "1.13.1", "2.0.0", "2.0.1"]
    assert [each.version for each in between("torch", "1.13.0", "2.1.0", ["2.0.0"])] == ["1.13.0", "2.0.0", "2.1.0"]
    with pytest.raises(UsageError, match=r"1\.0\.0 is not between 1\.13\.0 and 2\.1\.0"):
        between("torch", "1.13.0", "2.1.0", ["2.0.0", OLD])


@pytest.mark.parametrize(("lines", "versions", "said"), [
    (["torhc"], ["1.0.0"], "did you mean torch"),
    (["torch@1.0.0"], [], "a history has several"),
    (["torch,torch"], [], "named twice"),
    (["torch"], ["1.0.9"], "no release of torch is called '1.0.9'"),
    (["torch"], ["tensorflow@2.21.0"], "choose from: torch"),
    (["torch,tensorflow"], ["2.12.0"], "may be of torch:eager or tensorflow:eager"),
    (["torch"], ["new"], "'new' is not a version"),
    (["torch"], ["2.99.0=yesterday"], "'yesterday' is not a day"),
    (["fake"], ["1.0"], "no table says when it came out"),
])
def test_versions_that_cannot_be_are_told(lines: list[str], versions: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        choose(lines, versions)
    assert refused.value.hint


@pytest.mark.parametrize(("line", "good", "bad", "said"), [
    ("torch", NEW, OLD, "does not come before"), ("torch", OLD, OLD, "does not come before"),
    ("torch,tensorflow", OLD, NEW, "follows one framework"), ("torch", "1.0.9", NEW, "no release of torch"),
])
def test_ends_that_cannot_be_are_told(line: str, good: str, bad: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        between(line, good, bad)


# When a release came out


def test_the_table_of_releases_has_days_in_order_and_no_release_to_come() -> None:
    assert {"torch", "tensorflow"} <= set(releases.tables())
    for framework in releases.tables():
        found = releases.of(framework)
        assert found and all(isinstance(each, date) for each in found.values())
        majors = [day for version, day in found.items() if version.count(".") == 2 and version.endswith(".0.0")]
        assert majors == sorted(majors)


def test_a_release_s_day_is_that_of_its_first_file_and_withdrawn_ones_are_none() -> None:
    files = [("a-1.0-py3-none-any.whl", "2020-01-03T00:00:00.5Z", False),
             ("a-1.0.tar.gz", "2020-01-02T23:59:59Z", False),
             ("a-1.1rc1-py3-none-any.whl", "2020-02-01T00:00:00Z", False),
             ("a-1.2.tar.gz", "2020-03-01T00:00:00Z", "bad"),
             ("a-1.10.tar.gz", "2020-05-01T00:00:00Z", False), ("a-1.9.zip", "2020-04-01T00:00:00Z", False),
             ("a-1.9.win32.exe", "2019-04-01T00:00:00Z", False)]
    answer = {"files": [{"filename": name, "upload-time": time, "yanked": yanked} for name, time, yanked in files]}
    assert list(tool.dated(answer).items()) == [
        ("1.0", date(2020, 1, 2)), ("1.9", date(2020, 4, 1)), ("1.10", date(2020, 5, 1))]


# What the reports say


def dated(*versions: str, line: str = "torch") -> tuple[Dated, ...]:
    return tuple(choose([line], versions))


def test_a_history_draws_figures_over_days_and_says_what_changed() -> None:
    versions = dated(OLD, "1.13.1", NEW) + dated("2.9.0", "2.21.0", line="tensorflow:graph")
    speeds = (0.06, 0.05, 0.04, 0.05, 0.06)
    result = judge(race(tuple(Runner(each.contender, step) for each, step in zip(versions, speeds)), launches=6))
    lost = Dated("torch@1.4.0:eager", "torch:eager", "1.4.0", date(2020, 1, 15))
    found = History((versions[0], lost, *versions[1:]), (result,), (Skip(lost.contender, "no Python 3.8", "get one"),))
    document, = history_report.documents(found)
    text = told(document)
    assert "torch@2.13.0:eager (2026) is 1.5" in text and "faster than torch@1.0.0:eager (2018)" in text
    assert "tensorflow@2.21.0:graph (2026) takes 1.2" in text and "no Python 3.8" in text
    charts = [each for each in blocks_of(document, Chart) if isinstance(each, Chart)]
    assert [each.y.title for each in charts] == ["time per step", "first step", "import", "peak memory"]
    for chart in charts:
        assert [each.name for each in chart.series] == ["torch:eager", "tensorflow:graph"]
        assert chart.series[0].x == tuple(float(each.day.toordinal()) for each in versions[:3])
        measured = chart.y.hint == "duration"
        assert all(bool(each.low) is measured for each in chart.series)
        assert all(low < value < high for each in chart.series for low, value, high in zip(each.low, each.y, each.high))
    page = html.render([document])
    assert "2018" in page and "2026" in page
    said = history_report.as_json(found)
    jsonschema.validate(said, schema("history"))
    assert [each["released"] for each in said[0]["versions"]][:2] == ["2018-12-07", "2020-01-15"]
    assert said[0]["versions"][1]["reason"] == "no Python 3.8" and said[0]["versions"][1]["import"] is None


def test_a_history_goes_as_far_as_versions_may_be_compared() -> None:
    versions = dated(OLD, "1.13.1", NEW)
    raced = race(tuple(Runner(each.contender, step) for each, step in zip(versions, (0.06, 0.05, 0.04))), launches=6)
    crash = Failure(versions[2].contender, "crash", "signal 11", 5, "block:train")
    document, = history_report.documents(History(versions, (judge(replace(raced, failures=(crash,))),)))
    assert "torch@1.13.1:eager (2022) is 1.2" in told(document)
    unproven = judge(replace(raced, certificates=raced.certificates[1:]))
    document, = history_report.documents(History(versions, (unproven,)))
    assert "torch@2.13.0:eager (2026) is 1.2" in told(document)


def test_a_version_has_its_own_reason_and_not_that_of_one_whose_name_begins_like_it() -> None:
    versions = (*dated(OLD, NEW), *dated(NEW, line="torch:eager[layout=channels_last]"))
    raced = race(tuple(Runner(each.contender, 0.05) for each in versions))
    failure = Failure(versions[2].contender, "crash", "signal 11", 5, "block:train")

    def reasons(**changes: object) -> list[str]:
        (told,) = history_report.as_json(History(versions, (judge(replace(raced, **changes)),)))
        return [each["reason"] for each in told["versions"]]

    assert reasons(failures=(failure,)) == ["", "", "crash"]
    assert reasons(certificates=raced.certificates[1:]) == [f"no certificate for {versions[0].contender}", "", ""]


def test_versions_that_came_out_on_one_day_are_drawn_at_it() -> None:
    versions = dated("2.8.4", "2.9.3", line="tensorflow:graph")
    assert versions[0].day == versions[1].day
    result = judge(race(tuple(Runner(each.contender, 0.05) for each in versions)))
    document, = history_report.documents(History(versions, (result,)))
    chart = next(each for each in blocks_of(document, Chart) if isinstance(each, Chart))
    assert len(chart.series[0].x) == 2 and len(set(chart.series[0].x)) == 1
    assert told(document) and html.render([document])


def ends(good: float, bad: float, between: float = 0.003) -> Result:
    field = (Runner(f"torch@{OLD}:eager", good, between=between), Runner(f"torch@{NEW}:eager", bad, between=between))
    return judge(race(field, launches=6))


def look(step: float, between: float = 0.003) -> Look:
    result = looked(step, between=between)
    return Look(1, result, bisection.position(result.race, *result.race.contenders, number=0, count=3))


VERSIONS = dated(OLD, "1.13.1", NEW)
SLOWER = Search(VERSIONS, ends(0.05, 0.06), (look(0.06),), ends(0.05, 0.06))
SEARCHES = {
    FOUND: (SLOWER, "torch@1.13.1:eager (2022-12-15) is where it got slower: it takes 1.2"),
    NOT_SLOWER: (Search(VERSIONS, ends(0.05, 0.05, 0.0005)), "is not slower than torch@1.0.0:eager"),
    UNDECIDED: (Search(VERSIONS, ends(0.05, 0.0505, 0.05)), "more for a race would decide it: give a larger --budget"),
    "NOT COMPARABLE": (Search(VERSIONS, judge(replace(ends(0.05, 0.06).race, certificates=()))),
                       "Nothing can be searched for"),
    "NOT COMPLETE": (Search(VERSIONS, ends(0.05, 0.06)), "It got slower between torch@1.0.0:eager"),
    BRACKET: (Search(VERSIONS, ends(0.05, 0.06), (Look(1, reason="no Python 3.8"),), ends(0.05, 0.06)),
              "It got slower between torch@1.0.0:eager (2018-12-07) and torch@2.13.0:eager (2026-07-08)"),
}


def test_what_got_faster_is_not_slower() -> None:
    assert Search(VERSIONS, ends(0.06, 0.05)).outcome == NOT_SLOWER


@pytest.mark.parametrize("outcome", SEARCHES)
def test_a_search_says_what_it_found(outcome: str) -> None:
    found, said = SEARCHES[outcome]
    assert found.outcome == outcome
    document = search_report.document(found)
    assert said in told(document)
    answer = search_report.as_json(found)
    jsonschema.validate(answer, schema("bisect"))
    assert answer["outcome"] == outcome and len(answer["races"]) >= 1


def test_between_neighbours_the_race_of_the_ends_is_the_last() -> None:
    """Raced again it would only be shown again, from the store."""
    asked: list[tuple[str, ...]] = []

    def results(contenders: Sequence[str], enough: object) -> tuple[Result, ...]:
        asked.append(tuple(contenders))
        return (ends(0.04, 0.05),)
    racing = SimpleNamespace(check=lambda: None, available=lambda names: (tuple(names), ()), results=results)
    last = list(timeline.search((VERSIONS[0], VERSIONS[-1]), racing))[-1]  # type: ignore[arg-type]
    assert len(asked) == 1 and last.closing is last.ends and last.outcome == FOUND


def test_neighbours_that_do_not_differ_are_no_release_that_got_slower() -> None:
    found = replace(SLOWER, closing=ends(0.05, 0.05, 0.0005))
    assert found.outcome == BRACKET and "spread over several releases" in told(search_report.document(found))


def test_a_version_that_stays_open_is_named_with_what_would_decide_it() -> None:
    doubtful = look(0.05477)
    assert doubtful.side == OPEN and doubtful.position is not None
    found = Search(VERSIONS, ends(0.05, 0.06), (doubtful,), ends(0.05, 0.06))
    assert found.outcome == BRACKET and [each.version for each in found.between] == ["1.13.1"]
    text = told(search_report.document(found))
    assert "Of those between, not known: torch@1.13.1:eager" in text and "more for a race would decide it" in text
