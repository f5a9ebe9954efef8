"""Planned experiments on simulated races: effects are covered, placebos name nothing, gaps are divided whole."""

from collections.abc import Sequence
from dataclasses import replace

import jsonschema
import numpy as np
import pytest

from photofinish.environments import expand
from photofinish.errors import UsageError
from photofinish.factors import CONFIRMED, NOT_CONFIRMED, Check, Findings, Recommended, find, flip
from photofinish.factors.flip import variations
from photofinish.factors.plan import Experiment, Factor, experiments
from photofinish.render.document import Banner, Table, blocks_of
from photofinish.render.quantities import plain
from photofinish.reports import factors as report
from photofinish.reports import flip as told_flip
from photofinish.reports.json import schema
from photofinish.stats import effects, judge
from photofinish.values import Contender, Estimate, Failure, Result
from photofinish.verbs.factors import checked, taken
from stats_races import World, least_by_chance, most_by_chance

PLAIN, CHANGED = "fake:steady[noise=0,step=1]", "fake:steady[noise=1,step=2]"


def raced(planned: Sequence[Experiment], level: dict[str, float], seed: int, launches: int = 6) -> list[Result]:
    """A result for each batch in which every setting of `level` ("step=2") takes so many times as long."""
    found = []
    for batch in sorted({size for each in planned for _, size in each.cells}):
        names = list(dict.fromkeys(name for each in planned for name, _ in each.cells))
        seconds = [0.01 * batch * np.prod([times for text, times in level.items() if text in f"{name},batch={batch},"])
                   for name in names]
        race = World().race(np.random.default_rng((seed, batch)), seconds, launches)
        told = dict(zip(race.contenders, names))
        race = replace(race, case=replace(race.case, batch=batch), contenders=tuple(names),
                       blocks=tuple(replace(each, contender=told[each.contender]) for each in race.blocks),
                       certificates=tuple(replace(each, contender=told[each.contender]) for each in race.certificates))
        found.append(Result(race, True, (), ()))
    return found


def found(names: Sequence[str], factors: Sequence[str], level: dict[str, float], seed: int = 0) -> Findings:
    standing, planned = experiments(names, factors, 8)
    return find(standing, planned, raced(planned, level, seed))


def test_together_the_intervals_cover_every_effect_as_often_as_they_say() -> None:
    """Cells that scatter unequally, hang together by launch, and interact."""
    design = effects.signs(3)
    terms = [each for each in effects.terms(design) if each.order in (1, 2)]
    truth = design @ [0.0, 0.1, -0.3] + 0.05 * design[:, 0] * design[:, 1]
    spread = np.full(8, 0.01)
    spread[5] = 0.1
    worlds, held = 400, 0
    for seed in range(worlds):
        noise = np.random.default_rng(seed)
        logs = truth + noise.normal(0, 0.05, (6, 1)) + noise.normal(0, spread, (6, 8))
        ratios = effects.estimates(logs, [each.weights for each in terms])
        held += all(ratio.low <= np.exp(truth @ each.weights) <= ratio.high for ratio, each in zip(ratios, terms))
    assert held >= least_by_chance(worlds, 0.95)


def test_a_placebo_names_a_cause_no_more_often_than_is_said() -> None:
    worlds = 80
    alone = [found([PLAIN], ["step=1,2", "noise=0,1"], {}, seed) for seed in range(worlds)]
    assert sum(each.cause is not None for each in alone) <= most_by_chance(worlds, 0.05)
    assert sum(bool(each.recommended) for each in alone) <= most_by_chance(worlds, 0.05)
    two = [found([PLAIN, CHANGED], [], {}, seed) for seed in range(worlds)]
    assert sum(each.cause is not None for each in two) <= most_by_chance(worlds, 0.05)
    assert any("no cause is named" in plain(report.paragraph(each)) for each in two)


def test_a_setting_is_no_cause_of_a_gap_that_it_does_not_touch() -> None:
    """A gap between frameworks is shown, and the setting that is tried makes nothing of it."""
    worlds = 40
    what = [found(["fake:steady", "numpy:reference"], ["step=2,1"], {"numpy": 0.5}, seed) for seed in range(worlds)]
    assert all(each.gap is not None and each.gap.ratio.low > 1 for each in what)
    assert sum(each.cause is not None for each in what) <= most_by_chance(worlds, 0.05)


def test_a_gain_is_confirmed_where_it_is_shown_again() -> None:
    foretold = Estimate(0.95, 0.8, 1.1)
    for observed, outcome in ((Estimate(1.05, 0.9, 1.2), NOT_CONFIRMED), (Estimate(1.05, 1.01, 1.1), CONFIRMED),
                              (Estimate(1.05, 1.05, 1.05, 0.0), NOT_CONFIRMED)):
        assert Check(observed, foretold).outcome == outcome


def test_a_cell_that_is_not_proven_says_nothing() -> None:
    standing, planned = experiments([PLAIN], ["step=1,2"], 8)
    (result,) = raced(planned, {"step=2": 1.5}, 0)
    name = planned[0].cells[1][0]
    half = replace(result, race=replace(result.race, certificates=result.race.certificates[:1]))
    what = find(standing, planned, [half])
    assert what.missing == {name: f"no certificate for {name}"} and not what.effects and what.cause is None


def test_a_flip_is_proven_and_shown() -> None:
    change = flip.Change(flip.SETTING, "x", "b", "a")
    of = World(launch=0.0, round=0.0, step=0.0).race(np.random.default_rng(0), (1.2, 1.0), 6)
    assert flip.look(change, of, 1).reversed
    for barred in (replace(of, certificates=of.certificates[:1]),
                   replace(of, failures=(Failure("b", "crash", "", 6, "block:train"),))):
        found = flip.look(change, barred, 1)
        assert found.ratio is None and not found.reversed and found.reason.startswith("b: ")
    noisy = flip.look(change, World(launch=0.1).race(np.random.default_rng(0), (1.08, 1.0), 4), 1)
    assert noisy.ratio is not None and noisy.ratio.value < 1 < noisy.ratio.high and not noisy.reversed
    shared = flip.look(change, World().race(np.random.default_rng(0), (1.0, 1.0), 6), 5)
    assert shared.ratio is not None and shared.ratio.level == pytest.approx(0.99)


def test_the_gap_is_divided_whole_over_what_two_differ_in() -> None:
    what = found([PLAIN, CHANGED], [], {"step=2": 1.5, "noise=1": 1.1})
    assert what.gap is not None and what.gap.slower.name == CHANGED
    assert [each.factor and each.factor.name for each in what.gap.shares] == ["step", "noise"]
    assert np.prod([each.ratio.value for each in what.gap.shares]) == pytest.approx(what.gap.ratio.value)
    assert sum(each.part or 0 for each in what.gap.shares) == pytest.approx(1)
    for share, truth in zip(what.gap.shares, (1.5, 1.1)):
        assert share.ratio.low < truth < share.ratio.high
    assert what.cause is not None and what.cause.factor == Factor("step", "2", "1")
    assert what.cause.predicted.low < 1.5 < what.cause.predicted.high


def test_an_interval_that_tells_nothing_is_not_written_out() -> None:
    assert plain(report.ratio_text(Estimate(1.05, 4e-130, 2e130))) == "1.050\u00d7 (too wide to tell anything yet)"
    assert plain(report.ratio_text(Estimate(1.05, 1.01, 1.1))) == "1.050\u00d7 (1.010 to 1.100)"


def test_what_no_setting_explains_is_left_as_the_rest() -> None:
    what = found(["fake:steady", "numpy:reference"], ["step=2,1"], {"numpy": 0.5, "step=2": 1.2})
    assert what.gap is not None and what.gap.slower.name == "fake:steady[step=2]"
    step, rest = what.gap.shares
    assert step.factor == Factor("step", "2", "1") and rest.factor is None
    assert step.ratio.value == pytest.approx(1.2, rel=0.03) and rest.ratio.value == pytest.approx(2, rel=0.03)


def test_two_that_scale_unlike_share_what_they_do_together() -> None:
    """Of a full design the parts of two factors are those of Shapley: half of the interaction each."""
    design = np.array([[-1, -1], [1, -1], [-1, 1], [1, 1]])
    times = np.array([0.0, 1.0, 2.0, 5.0])

    def value(moved: frozenset[int]) -> np.ndarray:
        return effects.at(design, [1 if i in moved else -1 for i in range(2)])
    assert [float(times @ each) for each in effects.shapley(2, value)] == pytest.approx([2, 3])


def test_the_batch_is_a_factor_of_the_time_per_sample() -> None:
    what = found([PLAIN], ["step=1,2", "batch=8,32"], {"step=2": 1.5, "batch=32,": 0.8})
    by_name = {each.alike[0]: each.ratio for each in what.effects}
    assert by_name[("batch",)].low < 0.8 < by_name[("batch",)].high
    assert by_name[("step",)].low < 1.5 < by_name[("step",)].high
    assert what.cause is not None and what.cause.factor.name == "step"


@pytest.mark.parametrize("count", [3, 4, 5, 6, 8])
def test_designs_keep_effects_clear_of_interactions(count: int) -> None:
    design = effects.signs(count)
    assert len(design) == min(16, 2**count) and (design[0] == -1).all()
    assert (design.T @ design == len(design) * np.eye(count)).all()
    terms = effects.terms(design)
    assert sum(each.order == 1 and len(each.alike) == 1 for each in terms) == count
    groups = [group for each in terms for group in each.alike if len(group) == 2]
    assert len(groups) == len(set(groups)) == count * (count - 1) // 2
    assert all(len(each.alike) == 1 for each in terms) is (count <= 5)


def test_a_fraction_predicts_cells_that_were_not_raced() -> None:
    design = effects.signs(5)
    every = np.array(np.meshgrid(*[[-1, 1]] * 5)).reshape(5, -1).T
    truth = lambda rows: rows @ [0.1, 0.2, 0.0, -0.1, 0.3] + 0.05 * rows[:, 0] * rows[:, 4]  # noqa: E731
    assert [float(truth(design) @ effects.at(design, row)) for row in every] == pytest.approx(list(truth(every)))


@pytest.mark.parametrize(("again", "outcome"), [(1.5, CONFIRMED), (1.3, NOT_CONFIRMED), (1.0, NOT_CONFIRMED)])
def test_a_cause_is_confirmed_only_by_the_gain_that_was_predicted(again: float, outcome: str) -> None:
    what = found([PLAIN, CHANGED], [], {"step=2": 1.5})
    cause = what.cause
    assert cause is not None
    _, planned = experiments([cause.changed.name, cause.slower.name], [], 8)
    (result,) = raced(planned, {"step=2": again}, seed=77)
    check = checked(result, cause, None)
    assert check.observed is not None and check.outcome == outcome
    said = plain(report.paragraph(replace(what, check=check, again=result)))
    assert outcome.lower() in said and f"{check.observed.value:.3f}" in said and f"{cause.predicted.value:.3f}" in said


def test_all_that_is_shown_to_be_faster_is_recommended_together() -> None:
    levels = {"step=2": 0.8, "noise=1": 0.7, "memory=2": 1.5}
    what = found([PLAIN], ["step=1,2", "noise=0,1", "memory=1,2", "item=1,2"], levels)
    (told,) = what.recommended
    assert (told.own, told.taken.name) == (what.contenders[0], "fake:steady[item=1,memory=1,noise=1,step=2]")
    assert {each.name for each in told.moved} == {"step", "noise"} and told.observed is None
    assert told.predicted.low < 1 / 0.8 / 0.7 < told.predicted.high
    _, planned = experiments([told.own.name, told.taken.name], [], 8)
    (result,) = raced(planned, levels, seed=77)
    again = taken(result, told)
    assert again.observed is not None and again.observed.low < 1 / 0.8 / 0.7 < again.observed.high
    said = plain(report.paragraph(replace(what, recommended=(again,))))
    assert told.taken.name in said and f"{again.observed.value:.3f}" in said


@pytest.mark.parametrize("names", [[PLAIN, CHANGED], [CHANGED, PLAIN]])
def test_the_order_of_contenders_changes_no_recommendation(names: list[str]) -> None:
    """Both stand in one experiment, of which the first named is the base."""
    what = found(names, ["step=1,2", "noise=0,1"], {"step=2": 0.7})
    (told,) = what.recommended
    assert told.own.name == PLAIN and told.taken.setting("step") == "2" and told.predicted.low > 1


def test_what_is_faster_on_the_whole_but_not_from_here_is_not_recommended() -> None:
    """noise=1 gains beside step=2 alone, and so on the mean; from where the contender stands it loses."""
    log = {"noise=1": 0.05, "step=2": 0.30, "noise=1,step=2": -0.35}
    what = found([PLAIN], ["step=1,2", "noise=0,1"], {text: np.exp(each) for text, each in log.items()})
    (noise,) = (each for each in what.effects if each.alike == (("noise",),))
    assert noise.ratio.high < 1
    assert what.recommended == () and "take" not in plain(report.paragraph(what))


@pytest.mark.parametrize(("observed", "holds"), [
    (None, True), (Estimate(1.22, 1.15, 1.30), True), (Estimate(1.02, 0.98, 1.06), False),
    (Estimate(0.96, 0.94, 0.98), False)])
def test_what_gained_nothing_when_raced_again_is_not_recommended(observed: Estimate | None, holds: bool) -> None:
    what = found([PLAIN], ["step=1,2", "noise=0,1", "memory=1,2"], {"step=2": 0.8, "noise=1": 0.7})
    again = replace(what, recommended=tuple(replace(each, observed=observed) for each in what.recommended))
    (told,) = again.recommended
    said = plain(report.paragraph(again))
    assert ("Rather than" in said) is holds and ("not recommended" in said) is not holds
    assert told.holds is holds and told.taken.name in said
    assert ("What to set" in [each.title for each in report.document(again).sections]) is holds
    (kept,) = report.as_json(again)["recommended"]  # with what was observed, for who counts how often it holds
    assert kept["observed"] == (observed and report.leveled(observed))


def test_a_cause_gains_when_it_alone_is_removed() -> None:
    """step=2 and memory=2 gain together and lose alone: they have the larger parts, but noise is the cause."""
    log = {"step=2": 0.07, "memory=2": 0.07, "noise=1": -0.1, "memory=2,noise=0,step=2": -0.54,
           "memory=2,noise=1,step=2": -0.54}
    what = found(["fake:steady[memory=1,noise=0,step=1]", "fake:steady[memory=2,noise=1,step=2]"], [],
                 {text: np.exp(each) for text, each in log.items()})
    assert what.gap is not None and what.cause is not None
    assert {each.factor and each.factor.name for each in what.gap.shares[:2]} == {"step", "memory"}
    assert what.cause.factor == Factor("noise", "0", "1")
    assert what.cause.predicted.low > 1 and what.cause.predicted.value == pytest.approx(np.exp(0.1), rel=0.05)


def test_no_cause_is_named_of_what_settings_do_only_together() -> None:
    log = {"step=2": 0.07, "noise=1": 0.07, "noise=1,step=2": -0.44}
    what = found([PLAIN, CHANGED], [], {text: np.exp(each) for text, each in log.items()})
    assert what.gap is not None and all(each.ratio.low > 1 for each in what.gap.shares)
    said = plain(report.paragraph(what))
    assert what.cause is None and report.outcome(what) == report.NONE
    assert "first cause" not in said and "several together" in said and "no cause is named" in said


def test_no_cause_is_named_of_one_contender_that_only_several_settings_together_change() -> None:
    what = found([PLAIN], ["step=1,2", "noise=0,1"], {"noise=1,step=2": np.exp(-0.4)})
    assert all(each.shown for each in what.effects)
    said = plain(report.paragraph(what))
    assert what.cause is None and "none is shown to when it alone is changed" in said


def test_the_faster_one_is_not_said_to_have_a_setting_that_it_does_not_know() -> None:
    what = found(["fake:steady", "numpy:reference"], ["step=2,1"], {"numpy": 0.5, "step=2": 1.2})
    assert what.gap is not None and what.gap.faster.setting("step") is None
    (told,) = (block for each in report.document(what).sections for block in each.blocks
               if isinstance(block, Table) and block.name == "gap")
    assert [each.title for each in told.columns][:3] == ["Setting", "Slower has", "Moved to"]
    assert told.rows[0][:3] == ("step", "2", "1")


def test_who_fails_when_raced_again_has_shown_nothing_and_takes_nothing_from_others() -> None:
    what = found([PLAIN, CHANGED], [], {"step=2": 1.5})
    cause = what.cause
    assert cause is not None
    _, planned = experiments([PLAIN], ["step=1,2", "noise=0,1"], 8)
    (result,) = raced(planned, {"step=2": 1.5}, seed=77)

    def without(who: Contender) -> Result:
        return judge(replace(result.race, failures=(Failure(who.name, "crash", "", 3, "measure"),)))
    advised = Recommended(cause.slower, cause.changed, (cause.factor,), cause.predicted)
    assert taken(result, advised).observed is not None
    failed = without(cause.changed)
    unseen, unchecked = taken(failed, advised), checked(failed, cause, None)
    assert unseen.observed is unchecked.observed is None and not unseen.holds and "crash" in unseen.reason
    told = replace(what, check=unchecked, recommended=(unseen,), again=failed)
    assert report.outcome(told) == NOT_CONFIRMED
    said = plain(report.paragraph(told))
    assert f"fresh launches, the cause is not confirmed: {unchecked.reason}." in said and "again." not in said
    assert "What failed" in [each.title for each in report.document(told).sections]
    jsonschema.validate(report.as_json(told), schema("factors"), cls=jsonschema.Draft202012Validator)
    alone = plain(report.paragraph(replace(told, cause=None, check=None)))
    assert "when raced again (" in alone and "not recommended" in alone and "Rather than" not in alone
    other = next(each for each in result.race.contenders if each not in (cause.changed.name, cause.slower.name))
    check = checked(without(Contender.parse(other)), cause, Contender.parse(other))
    assert check.outcome == CONFIRMED and check.gap is None


def test_a_contender_at_its_best_is_left_as_it_is() -> None:
    assert found([PLAIN], ["step=1,2", "noise=0,1"], {"step=2": 1.5}).recommended == ()
    assert found([PLAIN], ["batch=8,32", "noise=0,1"], {"batch=32,": 0.5}).recommended == ()


@pytest.mark.parametrize(("names", "factors", "said"), [
    ([PLAIN], [], "no factor"), ([PLAIN, PLAIN], ["step=1,2"], "that differ"),
    ([PLAIN, CHANGED, "fake"], ["step=1,2"], "one contender"),
    ([PLAIN], ["step=1"], "two levels"), ([PLAIN], ["step=1,1"], "the same"), ([PLAIN], ["stpe=1,2"], "step"),
    (["torch:eager"], ["layout=contiguous,chanels_last"], "channels_last"), ([PLAIN], ["batch=8,big"], "whole number"),
    ([PLAIN], ["batch=8,08"], "both levels are the same"),
    (["fake:steady", "fake:steady[step=1]"], ["step=1,2"], "both contenders stand as fake:steady[step=1]"),
    ([PLAIN], ["step=1,2", "step=2,3"], "twice"), ([PLAIN], ["step=2,3"], "neither 2 nor 3"),
    (["fake"], [f"{name}=1,2" for name in ("step", "sample", "noise", "launch", "compile", "memory", "item", "fits",
                                           "device")], "too many")])
def test_wrong_use_is_told(names: list[str], factors: list[str], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        experiments(names, factors, 8)
    assert said in str(refused.value)


@pytest.mark.parametrize(("names", "setting", "said"), [
    (("torch:eager[layout=channels_last]", "tensorflow:graph"), "layout=channels_last", "so it is in torch"),
    (("tensorflow:graph", "torch:eager[layout=channels_last]"), "layout=channels_last", "so it is in torch"),
    (("torch:eager[threads=1]", "tensorflow:graph[threads=1]"), "threads=1", "and tensorflow:graph[threads=1]"),
    (("torch:eager", "tensorflow:graph"), "layuot=channels_last", "layuot"),
    (("torch:eager",), "layout", "is not a setting")])
def test_a_setting_that_is_no_change_is_told(names: tuple[str, ...], setting: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        flip.check_settings(expand(*names), [setting], "cpu")
    assert said in str(refused.value)


SLOWER, OPEN = Estimate(1.2, 1.1, 1.3), Estimate(0.96, 0.90, 1.03)


@pytest.mark.parametrize(("tried", "said"), [
    ({"threads=1": SLOWER}, ": not threads=1."),
    ({"threads=1": SLOWER, "batch=4": SLOWER}, ": neither threads=1 nor batch=4."),
    ({"threads=1": SLOWER, "batch=4": OPEN}, "nor batch=4; of 1 it stays open, more --launches would tell."),
    ({"threads=1": SLOWER, "batch=4": None}, ": not threads=1; no comparison came of batch=4."),
    ({"batch=4": None}, "reverse that; no comparison came of batch=4.")])
def test_what_does_not_flip_it_is_told(tried: dict[str, Estimate | None], said: str) -> None:
    start = found([PLAIN], ["step=1,2"], {}).results[0].race
    looks = tuple(flip.Look(flip.Change(flip.SETTING, each, "b", "a"), "id", ratio, "" if ratio else "it failed")
                  for each, ratio in tried.items())
    assert plain(told_flip.sentence(flip.Flips(start, "b", "a", SLOWER, looks=looks))).endswith(said)


def test_what_is_open_on_the_way_is_not_said_to_reverse_nothing() -> None:
    start = found([PLAIN], ["step=1,2"], {}).results[0].race
    ahead = flip.Look(flip.Change(flip.BATCH, "batch=16", "b", "a", 2.0), "id", Estimate(0.8, 0.7, 0.9))
    flips = flip.Flips(start, "b", "a", SLOWER, looks=(ahead,), answers=(flip.Answer(ahead, "batch=12", ahead),))
    assert told_flip.outcome(flips) == told_flip.FLIPPED
    assert told_flip.outcome(replace(flips, answers=(flip.Answer(ahead),))) == told_flip.SEEMS
    (banner,) = blocks_of(told_flip.document(flips), Banner)
    assert isinstance(banner, Banner)
    assert "the time of a; at batch=12 it is not shown to be ahead; on fresh" in plain(banner.details[0])


@pytest.mark.parametrize(("seen", "said"), [
    ({"x": 0.8, "y": 0.8}, "It is reversed by x or y."),
    ({"x": 1.1}, "What seemed to reverse it is not confirmed on fresh launches: x."),
    ({"x": 1.1, "y": 0.8}, "It is reversed by y. What seemed to reverse it is not confirmed on fresh launches: x."),
    ({"x": None}, "It seemed reversed by x, not raced again."),
    ({"x": 0.8, "y": None, "z": 1.1}, "It is reversed by x. It seemed reversed by y, not raced again. What seemed to "
                                      "reverse it is not confirmed on fresh launches: z.")])
def test_only_what_held_on_fresh_launches_is_said_to_reverse_it(seen: dict[str, float | None], said: str) -> None:
    """`seen` is the ratio there; None was not raced again."""
    start = found([PLAIN], ["step=1,2"], {}).results[0].race

    def look(told: str, ratio: float) -> flip.Look:
        return flip.Look(flip.Change(flip.SETTING, told, "b", "a"), "id", Estimate(ratio, ratio - 0.02, ratio + 0.02))
    answers = tuple(flip.Answer(look(told, 0.9), None, None if ratio is None else look(told, ratio))
                    for told, ratio in seen.items())
    whole = plain(told_flip.sentence(flip.Flips(start, "b", "a", Estimate(1.2, 1.1, 1.3), answers=answers)))
    assert whole == f"b takes 1.200\u00d7 (1.100 to 1.300) the time of a. {said}"


def test_what_a_framework_lists_is_tried_of_it() -> None:
    (torch,) = expand("torch:eager[threads=1]")
    tried = [told for told, _ in variations(torch, [], "train", "cpu")]
    assert tried == ["layout=channels_last", "fused=on", "mode=compile", "allocator=default"]
    assert "fused=on" not in [told for told, _ in variations(torch, [], "infer", "cpu")]  # which has no optimizer
    assert [told for told, _ in variations(torch, ["threads=2", "onednn=off"], "train", "cpu")] == ["threads=2"]
    alone, shared = expand("torch:eager,torch:eager+ddp[2]")
    assert "threads=1" in [told for told, _ in variations(alone, [], "train", "cpu")]
    assert "threads=1" not in [told for told, _ in variations(shared, [], "train", "cpu")]
    on_gpu = [told for told, _ in variations(torch, [], "train", "cuda")]  # where the host's threads and malloc idle
    assert "mode=cudagraphs" in on_gpu and not {"threads=1", "allocator=default"} & set(on_gpu)


def test_every_contender_has_the_factors_that_it_knows() -> None:
    standing, planned = experiments(["torch:eager", "tensorflow:graph"],
                                    ["mode=eager,compile", "threads=1,2", "onednn=on,off"], 8)
    assert [each.name for each in standing] == ["torch:eager[threads=1]", "tensorflow:graph[onednn=on,threads=1]"]
    assert [[each.name for each in every.factors] for every in planned] == [["mode", "threads"], ["threads", "onednn"]]
    assert Contender.parse(planned[0].cells[-1][0]).mode == "compile"


def test_a_variable_that_frameworks_obey_is_a_factor() -> None:
    _, (planned,) = experiments(["tensorflow:graph"], ["TF_ENABLE_ONEDNN_OPTS=1,0"], 8)
    assert [name for name, _ in planned.cells] == ["tensorflow:graph[TF_ENABLE_ONEDNN_OPTS=1]",
                                                   "tensorflow:graph[TF_ENABLE_ONEDNN_OPTS=0]"]
