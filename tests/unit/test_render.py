"""Renderers: every format draws every kind of result, figures are written alike, and a page loads nothing."""

import csv as standard_csv
import io
import itertools
import math
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import factories
from photofinish.render import charts, csv, html, markdown, sketches, terminal
from photofinish.render.document import (
    Axis,
    Block,
    Chart,
    Code,
    Column,
    Document,
    Facts,
    Fold,
    Heading,
    Interval,
    Note,
    Paragraph,
    Section,
    Series,
    Span,
    Table,
    blocks_of,
)
from photofinish.render.quantities import about, duration, plain, ratio_with_interval, shares, write, write_column
from photofinish.reports import accuracy
from photofinish.reports.race import BRIEF, document
from photofinish.values import Accuracy, Estimate

DOCUMENTS: dict[str, Document] = {name: document(make()) for name, make in factories.SCENARIOS.items()}
# Drawn in ink only once per kind of outcome: charts take a second each.
DRAWN = ("decided", "not_comparable", "failures", "nobody", "one_launch")


@pytest.fixture(params=sorted(DOCUMENTS))
def report(request: pytest.FixtureRequest) -> Document:
    return DOCUMENTS[request.param]


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return {name: html.render([DOCUMENTS[name]]) for name in DRAWN}


def printed(document: Document, width: int, full: bool = False, colour: bool = False) -> str:
    screen = io.StringIO()
    terminal.show(document, Console(file=screen, width=width, force_terminal=colour, highlight=False), full)
    return screen.getvalue()


def sheet(*blocks: Block, series: tuple[str, ...] = ("a", "b")) -> Document:
    return Document("title", "subtitle", "short", ("summary",), series, (Section("only", "Only", blocks),))


# Figures

@pytest.mark.parametrize(("value", "hint", "written"), [
    (0.0482, "duration", "48.2 ms"), (3.1, "duration", "3.10 s"), (59.999, "duration", "1 min"),
    (252.0, "duration", "4 min 12 s"), (7500.0, "duration", "2 h 5 min"), (270_000.0, "duration", "3 d 3 h"),
    (4.2e-6, "duration", "4.20 µs"), (0.0, "duration", "0 s"), (3599.9, "duration", "1 h"),
    (-4000.0, "difference", "-1 h 7 min"), (-75.0, "difference", "-1 min 15 s"),
    (0.009999999, "duration", "10.0 ms"), (9.9999, "number", "10.0"),
    (1536.0 * 2**20, "bytes", "1.50 GiB"), (0.02, "percent", "2 %"), (0.0055, "percent", "0.55 %"),
    (-0.00001, "percent", "0.00 %"), (-0.0004, "accuracy", "0.0 %"), (0.352, "percent", "35 %"),
    (0.999, "percent", "99.9 %"), (0.995, "percent", "99.5 %"), (0.975, "percent", "97.5 %"), (0.95, "percent", "95 %"),
    (0.99996, "percent", "99.996 %"), (1 - 1e-16, "percent", "100 %"), (1.0, "percent", "100 %"),
    (0.997, "accuracy", "99.7 %"), (0.9998, "accuracy", "99.98 %"), (1.0, "accuracy", "100.0 %"),
    (1.3, "ratio", "1.30\u00d7"), (1234567, "count", "1,234,567"), (1.25e-7, "scientific", "1.2e-07"),
    (True, "check", "passed"), (False, "check", "FAILED"), (None, "duration", "\u2013"),
    (float("nan"), "duration", "\u2013"), (float("inf"), "ratio", "\u2013"), ("words", "duration", "words"),
])
def test_a_figure_is_written_by_its_hint(value: float, hint: str, written: str) -> None:
    assert write(value, hint) == written


def test_accuracies_that_differ_read_unlike() -> None:
    table = accuracy.table([Accuracy(name, 10_000, round(1e4 * share), Estimate(share, share - 0.01, share + 0.01),
                                     {other: 40}) for name, other, share in (("a", "b", 0.7613), ("b", "a", 0.7573))])
    written = write_column([row[2] for row in table.rows], table.columns[2].hint)
    assert [each.split(" (")[0] for each in written] == ["76.1 %", "75.7 %"]


def test_a_column_shares_its_unit_and_decimals() -> None:
    assert write_column([0.0371, 0.0482, 0.1104], "duration") == ["37.1 ms", "48.2 ms", "110.4 ms"]
    assert write_column([1.3, Interval(2.0, 1.9, 2.1), None], "ratio") == [
        "1.30\u00d7", "2.00\u00d7 (1.90\u20132.10)", "\u2013"]


def test_a_column_that_spans_too_much_keeps_own_units() -> None:
    assert write_column([0.02, 21.4], "duration") == ["20.0 ms", "21.4 s"]
    assert write_column([Interval(100.0, 90.0, 110.0)], "duration") == ["1 min 40 s (1 min 30 s\u20131 min 50 s)"]


def test_a_bound_that_excludes_one_is_never_rounded_to_it() -> None:
    assert ratio_with_interval(1.05, 1.003, 1.1) == ("1.050", "1.003", "1.100")
    assert ratio_with_interval(1.05, 1.0003, 1.1) == ("1.0500", "1.0003", "1.1000")
    assert ratio_with_interval(1.0, 1.0, 1.0) == ("1.000", "1.000", "1.000")
    assert write_column([Interval(1.05, 1.003, 1.1), Interval(1.3, 1.2, 1.4)], "ratio") == [
        "1.050\u00d7 (1.003\u20131.100)", "1.300\u00d7 (1.200\u20131.400)"]


def test_an_interval_of_many_powers_of_ten_is_not_written_out() -> None:
    wild = Interval(1.05, 4e-13, 2.8e12)
    assert write_column([1.0, wild], "ratio") == ["1.00\u00d7", "1.05\u00d7 (no telling yet)"]
    assert write_column([wild, Interval(90.0, 80.0, 99.0)], "duration")[0] == "1.05 s (no telling yet)"
    assert "(0 " in write(Interval(0.5, 0.0, 0.9), "percent")  # a share of nothing is a share


def test_a_column_never_writes_something_as_nothing() -> None:
    assert write_column([0.4 * 2**20, 390 * 2**20], "bytes") == ["410 KiB", "390 MiB"]
    gains = [Interval(-0.0001, -0.0002, -0.00004), Interval(0.270, 0.241, 0.298)]
    assert write_column(gains, "difference")[0] == "-0.10 ms (-0.20 to -0.04)"  # it excludes zero
    assert write_column([Interval(0.0001, -0.5, 0.6)], "difference") == ["0 ms (-500 to +600)"]


def test_an_interval_of_no_width_asks_for_no_decimals() -> None:
    alike = Interval(1.2 * 2**30, 1.2 * 2**30, 1.2 * 2**30)
    assert write_column([alike, Interval(1.24 * 2**30, 1.21 * 2**30, 1.27 * 2**30)], "bytes")[0] == (
        "1.20 GiB (1.20\N{EN DASH}1.20)")
    assert write_column([Interval(1.2, 1.00000001, 1.4)], "ratio") == ["1.20\u00d7 (1.00\N{EN DASH}1.40)"]


def test_a_logarithmic_axis_of_less_than_a_decade_has_marks_within_it() -> None:
    def drawn(*seconds: float) -> str:
        return charts.svg(Chart("lines", "Steps", "By batch.", (Series("one", (8.0, 16.0), seconds),),
                                Axis("batch", "count", log=True), Axis("time", "duration", log=True)), {})
    assert all(f">{each}<" in drawn(0.038, 0.05) for each in ("20 ms", "50 ms", "100 ms"))
    assert ">2 s<" not in drawn(0.01, 100.0) and ">1 s<" in drawn(0.01, 100.0)


def test_an_interval_of_many_powers_of_ten_leaves_the_others_of_a_chart_their_room() -> None:
    rows = (Series("wild", (1.05,), low=(4e-130,), high=(2e130,)), Series("tame", (1.2,), low=(1.1,), high=(1.3,)))
    chart = Chart("intervals", "Ratios", "Of two.", rows, Axis("ratio", "ratio"), marks=(1.0,))
    wild, tame = sketches.sketch(chart, 80)
    assert "\u251c" not in wild and "\u251c" in tame and "\u2524" in tame and len(tame) <= 80
    assert len(charts.svg(chart, {})) < 10_000 and "1.20" in charts.svg(chart, {})


@given(st.floats(1e-9, 1e9))
def test_durations_stay_within_their_units(seconds: float) -> None:
    text = duration(seconds)
    assert not re.search(r"(?<![\d.,])(60 s|60 min|24 h|1,000(\.0+)? (ms|µs))", text)


@pytest.mark.parametrize("seconds, told", [
    (0.2, "0 s"), (7.54, "8 s"), (59.4, "59 s"), (59.6, "1 min"), (477.0, "8 min"), (3570.0, "1 h"),
    (7500.0, "2 h 5 min")])
def test_an_estimate_is_no_finer_than_it_deserves(seconds: float, told: str) -> None:
    assert about(seconds) == told


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=8), st.integers(10, 80))
def test_the_parts_of_a_bar_fit_it(values: list[float], width: int) -> None:
    lengths = shares(values, width)
    assert sum(lengths) <= width
    assert all((length > 0) == (value > 0) for length, value in zip(lengths, values))


# Terminal

def test_every_part_of_a_table_names_its_rows() -> None:
    one, two, three = (Span(name, "contender") for name in ("one", "two", "three"))
    wide = Column("Wide" * 8)
    pairs = Table("pairs", (Column("a", "contender"), Column("b", "contender"), wide, Column("Reason")),
                  tuple((one, other, "x" * 32, "words " * 8) for other in (two, three)))
    batches = Table("batches", (Column("Contender", "contender"), Column("Batch", "count"), wide, Column("W")),
                    tuple((one, batch, "x" * 32, "y") for batch in (1, 2)))
    lines = printed(sheet(pairs, batches), 46).splitlines()
    assert [line.split()[:2] for line in lines if line.startswith("one")] == [
        *[["one", "two"], ["one", "three"]] * 2, *[["one", "1"], ["one", "2"]] * 2]
    assert max(map(len, lines)) <= 46


def test_a_contender_that_does_not_tell_rows_apart_is_not_their_name() -> None:
    rows = tuple(itertools.product(("alexnet", "vgg16"), (1, 8)))
    faster = Span("torch:eager", "contender")
    table = Table("answers", (Column("Model", "code"), Column("Batch", "count"), Column("Faster", "contender"),
                              *(Column(title) for title in ("Ratio", "Published"))),
                  tuple((model, batch, faster, "x" * 28, "y" * 28) for model, batch in rows))
    lines = printed(sheet(table), 60).splitlines()
    for model, batch in rows:
        assert sum(line.split()[:2] == [model, str(batch)] for line in lines) == 2
    ranks = Table("ranks", (Column("Place"), Column("Contender", "contender"), Column("Ratio"), Column("Published")),
                  tuple(("first", Span(name, "contender"), "x" * 30, "y" * 30) for name in ("one", "two")))
    text = printed(sheet(ranks), 60)
    assert text.count("one") == text.count("two") == 2 and text.count("first") == 2


@pytest.mark.parametrize("width", [80, 120])
def test_the_terminal_shows_all_in_any_width_without_colour(report: Document, width: int) -> None:
    for full in (False, True):
        text = printed(report, width, full)
        assert "\x1b" not in text
        assert " ".join(plain(report.summary).split())[:40] in " ".join(text.replace("│", " ").split())
    for name in report.series:
        assert name in text or len(name) > width // 3


def test_lines_of_a_report_fit_the_screen() -> None:
    for name, report in DOCUMENTS.items():
        if name == "crowd":  # a single name there is wider than what a column may take
            continue
        long = [each.text for each in blocks_of(report, Code) if isinstance(each, Code)]  # never broken: to be copied
        for line in printed(report, 80).splitlines():
            assert len(line.rstrip()) <= 80 or any(line.strip() in text for text in long), line


def test_colour_is_only_an_addition() -> None:
    plain_text, coloured = printed(DOCUMENTS["decided"], 100), printed(DOCUMENTS["decided"], 100, colour=True)
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain_text


def test_a_table_too_wide_goes_on_below_with_its_rows_named() -> None:
    columns = (Column("Contender", "contender"), *(Column(f"figure number {i}", "count") for i in range(12)))
    table = Table("wide", columns, ((Span("torch:eager", "contender"), *range(1_000_000, 1_000_012)),))
    text = printed(sheet(table), 60)
    assert text.count("torch:eager") > 1
    assert all(f"{1_000_000 + i:,}" in text for i in range(12))


@pytest.mark.parametrize("width", [40, 60, 80])
def test_names_are_folded_before_a_figure_or_a_word_is_broken(width: int) -> None:
    def name(which: str) -> Span:
        return Span(f"framework:mode[layout=channels_last,{which},threads=16]", "contender")
    figures = Column("Time of b over a, 98 % interval", "ratio"), Column("a is")
    table = Table("verdicts", (Column("a", "contender"), Column("b", "contender"), *figures),
                  tuple((name("one"), name(which), Interval(1.2, 1.17, 1.26), "FASTER") for which in ("two", "three")))
    text = printed(sheet(table), width)
    assert text.count("(1.17\u20131.26)") == text.count("FASTER") == 2 and text.count("interval") == 1
    assert max(map(len, text.splitlines())) <= width


def test_brackets_are_text_not_markup_for_the_terminal() -> None:
    name = "torch:eager[layout=channels_last]"
    table = Table("t", (Column(name), Column("x")), ((name, "1"), (Span(name, "contender"), "2")))
    text = printed(sheet(table, Facts(((name, name),)), Note((name,)), Paragraph((name,)), Heading(name)), 120)
    assert text.count(name) == 8


def test_control_characters_are_shown_and_not_obeyed_in_any_format() -> None:
    """A model's file may be called whatever; lines of a log stay lines."""
    name = "\x1b[31mred\x07\x9b.py"
    found = sheet(Heading(name), Paragraph((name, Span(name, "code"))), Note((name,)), Facts(((name, name),)),
                  Code(f"one\r\ntwo\r{name}\tthree"), Fold(name, (Heading(name),)),
                  Table("standings", (Column(name), Column("Figure")), ((name, 1.5),), name),
                  Chart("intervals", name, name, (Series(name, (1.0,), low=(0.9,), high=(1.1,)),), Axis(name),
                        marks=(1.0,)),
                  series=(name,))
    drawn = [printed(found, 100, full=True), html.render([found]), markdown.render([found]), csv.render([found])]
    for each in drawn:
        assert "\\x1b[31mred\\x07\\x9b.py" in each.replace("\\\\", "\\").replace("\\[", "[")
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", each)
    assert "one\n" in drawn[2] and "two\n" in drawn[2] and "\tthree" in drawn[2]


def test_a_command_is_not_broken_by_the_terminal() -> None:
    command = "photofinish race resnet18 " + " ".join(f"framework{i}:mode" for i in range(20))
    assert command in printed(sheet(Code(command)), 60)


# Markdown and CSV

def test_markdown_tables_are_well_formed(report: Document) -> None:
    text = markdown.render([report])
    bodies = re.sub(r"(?s)(`{3,})text\n.*?\n\1", "", text)
    tables = [list(lines) for piped, lines in itertools.groupby(bodies.splitlines(), lambda line: line[:1] == "|")
              if piped]
    assert len(tables) == len(blocks_of(report, Table))
    for head, rule, *rows in tables:
        assert re.fullmatch(r"\|(-+:?\|)+", rule)
        cells = {len(re.findall(r"(?<!\\)\|", line)) for line in (head, rule, *rows)}
        assert len(cells) == 1
    assert text.count("```") % 2 == 0


def test_markdown_escapes_what_would_be_markup() -> None:
    text = markdown.render([sheet(
        Paragraph(("a*b_c <script> [x]",)), Code("``` inside"),
        Table("t", (Column("a|b", "code"), Column("c")), ((Span("torch:eager[a=1|2]", "contender"), "x|y"),)))])
    assert "a\\*b\\_c \\<script> \\[x]" in text
    assert "````text\n``` inside\n````" in text
    assert "`torch:eager[a=1\\|2]`" in text and "x\\|y" in text


def test_csv_keeps_every_digit_and_names_units(report: Document) -> None:
    for name, text in csv.tables(report).items():
        rows = list(standard_csv.reader(io.StringIO(text)))
        assert {len(row) for row in rows} == {len(rows[0])}, name
        assert len(set(rows[0])) == len(rows[0]), name
        assert "nan" not in text and "None" not in text


def test_csv_of_standings_holds_raw_seconds() -> None:
    result = factories.decided()
    rows = list(standard_csv.DictReader(io.StringIO(csv.render([document(result)]))))
    assert [row["Contender"] for row in rows] == [each.contender for each in result.standings]
    for row, standing in zip(rows, result.standings):
        assert standing.time is not None
        assert float(row["Time per step (s)"]) == standing.time.value
        assert float(row["Time per step (s) low"]) == standing.time.low
        assert row["Race"] == "resnet18, training"


def test_csv_of_several_races_begins_anew_where_columns_differ() -> None:
    text = csv.render([DOCUMENTS["decided"], DOCUMENTS["inference"], DOCUMENTS["not_comparable"]])
    heads = [line for line in text.splitlines() if line.startswith("Race,")]
    assert len(heads) == 2


# Charts

def test_sketches_stay_within_their_width(report: Document) -> None:
    for chart in blocks_of(report, Chart):
        assert isinstance(chart, Chart)
        for width in (72, 100):
            assert all(len(line) <= width for line in sketches.sketch(chart, width)), chart.title


def test_a_line_in_characters_stands_at_its_place_along_x() -> None:
    def drawn(log: bool, *lines: tuple[float, ...]) -> list[str]:
        series = tuple(Series("a", x, tuple(float(i) for i in range(len(x)))) for x in lines)
        shown = sketches.sketch(Chart("lines", "t", "s", series, Axis("batch", "count", log), Axis("y")), 80)
        return [re.sub("  0 .*", "", line.removeprefix("a  ")) for line in shown[:-1]]
    doubling, late = drawn(True, (1.0, 10.0, 1000.0), (100.0, 1000.0))
    assert [len(doubling), doubling.count("\u2581"), late.count(" ")] == [48, 8, 31]
    [bunched] = drawn(False, (1.0, 10.0, 1000.0))
    assert bunched == "\u2581" * 24 + "\u2588" * 24


def test_charts_take_their_colours_from_the_page() -> None:
    series = (Series("a", (1.0,)), Series("b", (1.3,), low=(1.2,), high=(1.4,)))
    drawn = charts.svg(Chart("intervals", "T & <t>", "S", series, Axis("x", "ratio"), marks=(1.0,), band=0.02),
                       {"a": "var(--c1)", "b": "var(--c2)"})
    assert 'aria-label="T &amp; &lt;t>. S"' in drawn
    used = set(re.findall(r'(?:fill|stroke)="([^"]+)"', drawn))
    assert {"var(--c1)", "var(--c2)", "var(--ink)"} <= used
    assert used <= {each for each in used if each.startswith("var(--")} | {"none", "transparent"}
    assert "1.30 (1.20" in re.sub(r"\s+", " ", drawn)


def ticks(drawn: str) -> list[str]:
    """The labels along the first axis of a drawing, which its title follows."""
    words = re.findall(r"<text[^>]*>([^<]*)<", drawn)
    return words[:next(i for i, word in enumerate(words) if word.isalpha())]


@pytest.mark.parametrize(("low", "high"), [(0.99, 1.01), (0.9995, 1.0004), (0.7, 1.4), (0.5, 30.0), (10.0, 900.0)])
def test_no_two_ticks_of_an_axis_of_ratios_read_alike(low: float, high: float) -> None:
    rows = (Series("a", (low,)), Series("b", (high,)))
    drawn = charts.svg(Chart("intervals", "t", "s", rows, Axis("ratio", "ratio"), marks=(1.0,)), {})
    assert len(ticks(drawn)) == len(set(ticks(drawn))) > 4


def test_rates_and_counts_along_x_are_written_as_what_they_are() -> None:
    def chart(axis: Axis, *x: float) -> Chart:
        return Chart("lines", "t", "s", (Series("a", x, x),), axis, Axis("y"))
    links = chart(Axis("Mbit", "count", log=True), 0.1, 0.5, 1.5, 2000.0)
    assert ticks(charts.svg(links, {})) == ["0.1", "0.5", "1.5", "2k"]
    many = chart(Axis("Mbit", "count", log=True), *(0.01 * (i + 1) for i in range(30)))
    assert ticks(charts.svg(many, {})) == ["0.01", "0.1"]
    ends = re.findall(r"[\d.]+", sketches.sketch(chart(Axis("Mbit", "count", log=True), 0.5, 1.5), 80)[-1])
    assert ends == ["0.500", "1.50"]
    for last in (3, 9, 10):
        epochs = chart(Axis("epoch", "count"), *(float(i + 1) for i in range(last)))
        assert ticks(charts.svg(epochs, {})) == [str(i + 1) for i in range(last)]


def test_a_line_breaks_where_a_figure_is_not_finite() -> None:
    """As the losses do of a contender that the certificate refuses for them."""
    for log, values in ((False, (3.0, math.nan, 2.0, math.inf)), (True, (3.0, math.nan)), (True, (math.nan,))):
        line = Series("a", tuple(map(float, range(len(values)))), values)
        drawn = charts.svg(Chart("lines", "Loss", "", (line,), Axis("step"), Axis("loss", "duration", log)), {})
        assert drawn.startswith("<svg") and "NaN" not in drawn
        assert html.render([sheet(Chart("lines", "Loss", "", (line,), Axis("step"), Axis("loss")))])


def test_long_names_lose_their_middle_in_charts() -> None:
    name = "framework:mode[layout=channels_last,threads=16]"
    drawn = charts.svg(Chart("bars", "t", "s", (Series(name, (2.0,)),), Axis("seconds", "duration")), {name: "red"})
    assert name not in drawn and "threads=16]" in drawn


def test_names_that_would_lose_what_tells_them_apart_stay_whole_in_charts() -> None:
    alike = tuple(f"framework:mode[layout=channels_last,kernels={each},optimizer=fused,threads=16]" for each in "ab")
    rows = tuple(Series(name, (seconds,)) for name, seconds in zip(alike, (2.0, 3.0)))
    bars = Chart("bars", "t", "s", rows, Axis("time", "duration"))
    drawn = charts.svg(bars, dict.fromkeys(alike, "red"))
    assert all(name in drawn for name in alike) and "5.00 s" not in drawn
    ratios = Chart("intervals", "t", "s", rows, Axis("ratio", "ratio"))
    for chart in (bars, ratios):
        lines = sketches.sketch(chart, 80)
        assert [lines[0], lines[2]] == list(alike) and len(lines) == 4 and max(map(len, lines)) <= 80


# HTML

class _Page(HTMLParser):
    """Collects what a page would load, its ids, and checks that elements close."""

    VOID = ("meta", "link", "input", "br", "path", "rect", "line", "circle")

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        loading = ("src", "srcset", "data", "action", "xlink:href")
        self.loads += [value or "" for name, value in attrs if name in loading]
        if tag == "link":
            self.loads.append(values.get("href") or "")
        if tag == "a":
            self.targets.append(values.get("href") or "")
        self.ids += [values["id"] or ""] if "id" in values else []
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


def test_pages_are_whole_small_and_load_nothing(pages: dict[str, str]) -> None:
    for name, text in pages.items():
        page = _Page()
        page.feed(text)
        assert not page.open
        assert len(set(page.ids)) == len(page.ids), name
        assert page.loads == ["data:,"]
        assert "http:" not in text and "https:" not in text and "@import" not in text
        assert {target[1:] for target in page.targets} <= set(page.ids)
        assert len(text.encode()) < 1_500_000
        assert plain(DOCUMENTS[name].summary).split(";")[0][-30:] in re.sub(r"<[^>]+>", "", text)


def test_a_page_of_two_races_has_a_tab_for_each_and_ids_apart() -> None:
    two = [document(factories.decided(), BRIEF), document(factories.inference(), BRIEF)]
    text = html.render(two)
    page = _Page()
    page.feed(text)
    assert len(set(page.ids)) == len(page.ids)
    assert text.count('role="tab"') == 2
    assert 'aria-controls="race1"' in text and 'id="race2"' in text


def test_nothing_from_outside_becomes_markup() -> None:
    bad = "<script>alert(1)</script>"
    report = sheet(Paragraph((bad, Span(bad, "contender"))), Note((bad,)), Code(bad, bad),
                   Table("t", (Column(bad),), ((bad,), (Span(bad, "bad"),)), bad), series=(bad,))
    text = html.render([report], made=bad)
    assert bad not in text
    assert text.count("&lt;script&gt;") >= 7


def test_a_notebook_gets_a_frame_of_its_own() -> None:
    text = html.embedded([sheet(Paragraph(('say "hello"',)))])
    page = _Page()
    page.feed(text)
    assert text.startswith("<iframe") and "&lt;!doctype html&gt;" in text and not page.open


def test_no_two_lines_of_a_large_field_look_alike() -> None:
    """Colours and patterns begin again after eight."""
    assert len({(i % html._COLOURS, charts.dashes(i)) for i in range(40)}) == 40
