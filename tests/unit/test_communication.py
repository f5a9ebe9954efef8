"""The line through steps over links, against lines that are known."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import jsonschema
import numpy as np
import pytest

import factories
from photofinish.cli.present import _FORMATS
from photofinish.outcome import LinkSweep
from photofinish.render import html
from photofinish.render.document import Banner, Table, blocks_of
from photofinish.reports import json as reports_json
from photofinish.reports import links
from photofinish.runner.session import judged
from photofinish.stats.communication import Line, Model, linked
from photofinish.values import Failure, Link, Race, Trace, TracedStep
from stats_races import most_by_chance

RATES = (1e8, 2e8, 5e8, 1e9)
PLAIN, HALF = "torch:eager+ddp[2]", "torch:eager+ddp[2,hook=fp16]"
ALONE = "torch:eager[threads=1]"
Law = Callable[[float], float]
LAWS: Mapping[str, Law] = {PLAIN: lambda rate: 0.1 + 8e7 / rate, HALF: lambda rate: 0.2 + 4e7 / rate,
                           ALONE: lambda rate: 0.5}


def races(laws: Mapping[str, Law] = LAWS, rates: tuple[float, ...] = RATES, noise: float = 0.002) -> list[Race]:
    found = []
    for number, rate in enumerate(rates):
        field = tuple(factories.Runner(name, law(rate), between=noise) for name, law in laws.items())
        race = factories.race(field, of=factories.case(link=Link(rate)), launches=4, rounds=4, steps=2, seed=number + 1)
        found.append(replace(race, id=f"session-{rate:.0f}"))
    return found


def test_the_known_line_is_found() -> None:
    plain, half, alone = Model(races()).laws()
    for law, fixed, bits in ((plain, 0.1, 8e7), (half, 0.2, 4e7), (alone, 0.5, 0.0)):
        assert law.fixed.low < fixed < law.fixed.high and law.fixed.value == pytest.approx(fixed, rel=0.1)
        assert law.bits.low <= bits < law.bits.high and law.bits.value == pytest.approx(bits, rel=0.1, abs=2e6)


def test_every_link_is_predicted_from_the_others_and_so_is_another() -> None:
    model = Model(races())
    assert [each.rate for each in model.measured()] == [*RATES] * 3
    assert sum(each.inside is True for each in model.measured()) >= 11  # of twelve, at 95 %
    for each in model.predictions([3e8]):
        assert each.step.low < LAWS[each.contender](3e8) < each.step.high


def test_a_prediction_that_does_not_come_true_is_seen() -> None:
    """Over the fastest link something else takes three times as long, which the others cannot foretell."""
    stuck: dict[str, Law] = {PLAIN: lambda rate: LAWS[PLAIN](rate) * (3 if rate == RATES[-1] else 1)}
    assert [each.inside for each in Model(races(stuck)).measured() if each.rate == RATES[-1]] == [False]


def test_the_break_even_is_where_the_lines_cross() -> None:
    found = {(each.slow, each.fast): each for each in Model(races()).crossings()}
    hook = found[HALF, PLAIN]  # 0.1 s more, and 4e7 bits less
    assert hook.rate is not None and hook.shown and hook.raced
    assert hook.rate.low < 4e8 < hook.rate.high and hook.rate.value == pytest.approx(4e8, rel=0.2)
    two = found[ALONE, PLAIN]  # from 200 Mbit/s on two processes beat one
    assert two.rate is not None and two.rate.value == pytest.approx(2e8, rel=0.1) and two.raced


@pytest.mark.parametrize(("law", "slow", "shown"), [
    (lambda rate: 0.05 + 7e7 / rate, HALF, True), (lambda rate: 0.3 + 9e7 / rate, PLAIN, True),
    (LAWS[PLAIN], None, False)])
def test_lines_that_do_not_cross_have_no_break_even(law: Law, slow: str | None, shown: bool) -> None:
    (found,) = Model(races({PLAIN: LAWS[PLAIN], HALF: law})).crossings()
    assert found.shown is shown and (slow is None or (found.rate is None and found.slow == slow))


def test_a_crossing_whose_interval_does_not_end_is_not_shown() -> None:
    noise = iter((0.002, -0.004, 0.004, -0.002))
    flat = {rate: 0.19 + 0.0102 - 2e7 / rate + next(noise) for rate in (1e8, 2e8, 4e8, 1e9)}
    (found,) = Model(races({PLAIN: lambda rate: 0.19, HALF: flat.__getitem__}, tuple(flat), 1e-5)).crossings()
    assert found.rate is not None and found.rate.low > 0 and math.isinf(found.rate.high)
    assert not found.shown


def _slipping(name: str, slips: Mapping[tuple[str, float], float], rate: float) -> float:
    return LAWS[PLAIN](rate) * slips[name, rate]


def test_contenders_that_are_alike_are_seldom_said_to_cross_however_many_they_are() -> None:
    """Of six alike, whose fifteen pairs share the 5 %."""
    alike = [f"torch:eager+ddp[2,bucket={each}]" for each in (1, 2, 5, 10, 25, 50)]
    random = np.random.default_rng(3)
    said = 0
    for _ in range(60):
        slips = {(name, rate): math.exp(0.006 * random.standard_normal()) for name in alike for rate in RATES}
        laws: dict[str, Law] = {name: partial(_slipping, name, slips) for name in alike}
        said += any(each.shown for each in Model(races(laws, noise=1e-4)).crossings())
    assert said <= most_by_chance(60, 0.05)


def test_the_table_names_both_of_two_that_do_not_cross() -> None:
    of = races({PLAIN: LAWS[PLAIN], HALF: lambda rate: 0.05 + 7e7 / rate})
    (section,) = (each for each in links.document([judged(each) for each in of]).sections if each.name == "break_even")
    (table,) = (each for each in section.blocks if isinstance(each, Table))
    ((slow, than, rate, words, _),) = table.rows
    assert (slow.text, than.text, rate, words) == (HALF, PLAIN, None, "they do not cross")


def test_an_interval_that_does_not_end_is_open() -> None:
    far = Line([1e8, 2e8, 4e8, 8e8], [0.36, 0.22, 0.08, 0.03], [1.0] * 4).zero()  # beyond the last rate, if anywhere
    assert far is not None and far.low > 0 and math.isinf(far.high)
    none = Line([1e8, 2e8, 4e8], [0.1, -0.2, 0.1], [1.0] * 3).zero()
    assert none is not None and none.low == 0 and math.isinf(none.high)


def test_intervals_cover_the_crossing_and_another_race_as_often_as_they_say() -> None:
    random = np.random.default_rng(5)
    x, crossed, foretold = RATES[0] / np.array(RATES), 0, 0
    for _ in range(400):
        seconds = -0.1 + 0.4 * x + 0.01 * random.standard_normal(4)  # zero at 400 Mbit/s
        zero = Line(RATES, seconds.tolist(), [1.0] * 4).zero()
        crossed += zero is not None and zero.low <= 4e8 <= zero.high
        exact = 0.1 + 0.4 * x
        line = Line(RATES, (exact * (1 + 0.02 * random.standard_normal(4))).tolist(), exact.tolist()).at(3e8)
        foretold += line.low <= (0.1 + 0.4 / 3) * (1 + 0.02 * random.standard_normal()) <= line.high
    assert 0.92 <= crossed / 400 <= 0.98 and 0.92 <= foretold / 400 <= 0.98


def test_few_rates_make_no_line() -> None:
    model = Model(races(rates=RATES[:2]))
    assert model.measured() and not model.laws() and not list(model.crossings())
    three = Model(races(rates=RATES[:3]))
    assert three.laws() and all(each.held_out is None for each in three.measured())


def test_only_a_sweep_over_links_is_one() -> None:
    assert linked(races()) and not linked(races(rates=RATES[:1]))
    assert not linked([factories.race(of=factories.case(batch=each)) for each in (8, 16)])


def test_the_report_says_what_is_predicted_and_its_json_conforms() -> None:
    step = TracedStep(0.0, 0.9, ((0.1, 0.9, 10_000_000),), ((0.1, 0.9),))
    traces = tuple(Trace(1, PLAIN, rank, (step,)) for rank in (0, 1))
    sweep = LinkSweep((judged(replace(each, traces=traces)) for each in reversed(races())), [Link(3e8)])
    (told,) = sweep.to_json()
    jsonschema.validate(json.loads(json.dumps(told, allow_nan=False)), reports_json.schema("links"),
                        cls=jsonschema.Draft202012Validator)
    assert [each["rate"] for each in told["links"]] == [*RATES]
    assert told["laws"][0]["sent"] == 10_000_000
    words = " ".join(str(sweep).split())
    assert "BREAK-EVEN" in words and "PREDICTION" in words and "300 Mbit/s" in words and "links of 100 Mbit/s" in words
    assert "photofinish" in html.render(sweep.documents()).lower()
    assert len(sweep.to_pandas()) == 3 * len(RATES)
    assert _FORMATS["csv"](sweep.documents()).startswith("Race,Contender,Link (bit/s),")


@pytest.mark.parametrize(("changes", "label"), [
    ({"certificates": ()}, "NOT COMPARABLE"), ({"blocks": ()}, "NOTHING TIMED"),
    ({"failures": (Failure(PLAIN, "crash", "", 3, "block:train"), Failure(HALF, "crash", "", 3, "block:train"))},
     "NO BREAK-EVEN")])
def test_what_was_timed_is_not_called_untimed(changes: Mapping[str, object], label: str) -> None:
    """Failures are of the first link alone."""
    first, *others = races({PLAIN: LAWS[PLAIN], HALF: LAWS[HALF]})
    same = {} if "failures" in changes else changes
    raced = [replace(first, **changes), *(replace(each, **same) for each in others)]
    (told,) = blocks_of(links.document([judged(each) for each in raced]), Banner)
    assert isinstance(told, Banner) and told.label == label
