"""Who won, in one sentence, and how surely."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from photofinish.render.document import Banner, Block, Note, Quantity, Section, Span, Text
from photofinish.render.quantities import TIMES, counted, ratio_with_interval, tells, write
from photofinish.reports import learning, scaling, serving
from photofinish.reports.reading import (
    attributed,
    between,
    certified,
    compressed,
    contender,
    divided,
    formats,
    listed,
    nobody_left,
    ranked,
    timed,
)
from photofinish.stats.curves import missed
from photofinish.stats.stragglers import SLOW
from photofinish.stats.student import confidence
from photofinish.values import Result, Skip, Standing, Straggler, Verdict

# task -> what one contender does to the model, and what two do
_VERBS = {"train": ("trains", "train"), "infer": ("runs inference on", "run inference on"),
          "epoch": ("trains epochs of", "train epochs of"), "fit": ("trains", "train"),
          "serve": ("answers queries to", "answer queries to")}

_RIVALS = 3  # named beside the sentence; the standings have them all
_TONES = {"FASTER": "good", "EQUIVALENT": "good", "UNDECIDED": "open"}


def section(result: Result) -> Section:
    label = outcome(result)
    blocks: list[Block] = [Banner(_TONES.get(label, "bad"), label, sentence(result), _details(result))]
    return Section("verdict", "", (*blocks, *remarks([result])))


def remarks(results: Sequence[Result]) -> tuple[Note, ...]:
    """What to read beside the verdicts, each thing once: warnings, and who was left behind or out."""
    warnings = [Note(each, "warning") for result in results for each in attributed(result, result.warnings)]
    left = [Note(each) for result in results
            for each in (*_left_behind(result.race.stragglers), *left_out(result.race.skipped))]
    return tuple(dict.fromkeys([*warnings, *left]))


def _left_behind(stragglers: tuple[Straggler, ...]) -> Iterator[Text]:
    """Those of one pilot together."""
    for leader, launches in dict.fromkeys((each.leader, each.launches) for each in stragglers):
        times = [part for each in stragglers if (each.leader, each.launches) == (leader, launches)
                 for part in (", ", contender(each.contender), " ", Quantity(each.ratio, "ratio"))]
        yield (f"Timed no further after the pilot of {launches} launches, where they took more than {SLOW:g} times as "
               "long as ", contender(leader), ": ", *times[1:], "; --time-all times all to the end.")


def left_out(skipped: tuple[Skip, ...]) -> Iterator[Text]:
    """Those with one reason together."""
    for reason, cure in dict.fromkeys((each.reason, each.cure) for each in skipped):
        names = [contender(each.contender) for each in skipped if (each.reason, each.cure) == (reason, cure)]
        yield (*listed(names), f" {'was' if len(names) == 1 else 'were'} left out: {reason}",
               *((f" ({cure})",) if cure else ()))


def outcome(result: Result) -> str:
    """FASTER, EQUIVALENT or UNDECIDED for the first two; NOT COMPARABLE or NO RACE."""
    if _nothing_to_compare(result):
        return "NO RACE"
    verdict = _first_two(result)
    return verdict.verdict if verdict and result.comparable else "NOT COMPARABLE"


def _nothing_to_compare(result: Result) -> bool:
    return nobody_left(result) or (result.comparable and len(ranked(result)) == 1)


def _first_two(result: Result) -> Verdict | None:
    """The verdict on the first two, the faster of them as a."""
    ranking = ranked(result)
    if len(ranking) < 2:
        return None
    first, second = ranking[0].contender, ranking[1].contender
    verdict = between(result, first, second)
    return between(result, second, first) if verdict and verdict.verdict == "SLOWER" else verdict


def sentence(result: Result) -> Text:
    """The whole outcome in one sentence."""
    if not timed(result):
        late = "; ".join(missed(result.race).values())
        if not late and not any(each.contender for each in result.race.failures):  # whoever could not be timed has one
            return ("It was interrupted before anything was timed.",)
        return (f"No contender has a time to compare: {late}." if late
                else "No contender could be timed, so there is nothing to compare.",)
    if nobody_left(result):
        failed = "; ".join(f"{each.contender} failed: {each.failure.kind}" for each in timed(result) if each.failure)
        return (f"No contender is left to compare: {failed}.",)
    if _nothing_to_compare(result):
        return _alone(result, ranked(result)[0])
    verdict = _first_two(result)
    say = _SAID.get(outcome(result))
    return say(result, verdict) + _proof(result) if say and verdict else _not_comparable(result)


def _faster(result: Result, verdict: Verdict) -> Text:
    runner_up = "the runner-up, " if len(ranked(result)) > 2 else ""
    comma = "," if runner_up else ""
    return (contender(verdict.a), f" {_deed(result)} ",
            Span(f"{ratio_of(verdict)[0]}{TIMES} faster", "strong"), f" than {runner_up}", contender(verdict.b),
            f"{comma} here ({interval_of(verdict)})")


def _equivalent(result: Result, verdict: Verdict) -> Text:
    return (contender(verdict.a), " and ", contender(verdict.b), f" {_deed(result, 2)} ",
            Span("equally fast", "strong"), " here: within ", Quantity(result.race.margin, "percent"),
            f" of each other (ratio {ratio_of(verdict)[0]}, {interval_of(verdict)})")


def _undecided(result: Result, verdict: Verdict) -> Text:
    more: Text = ()
    if verdict.low is None:
        why = f": {verdict.reason}" if verdict.reason else ""
        return ("It is ", Span("undecided", "strong"), " whether ", contender(verdict.a), " or ",
                contender(verdict.b), f" {_deed(result)} faster here{why}")
    if verdict.seconds_to_decide:
        more = ("; about ", Quantity(verdict.seconds_to_decide, "duration"), " more would decide it")
    return ("It is ", Span("undecided", "strong"), " whether ", contender(verdict.a), " or ", contender(verdict.b),
            f" {_deed(result)} faster here (ratio {ratio_of(verdict)[0]}, {interval_of(verdict)})", *more)


_SAID = {"FASTER": _faster, "EQUIVALENT": _equivalent, "UNDECIDED": _undecided}


def _not_comparable(result: Result) -> Text:
    unknown = [each.contender for each in result.race.certificates if each.unknown]
    others = [each.contender for each in result.race.certificates if each.differences and not each.unknown]
    if unknown and not others:
        return (Span("No winner is named", "strong"), ": whether ", *listed([contender(each) for each in unknown]),
                f" compute{'s' if len(unknown) == 1 else ''} the same is not proven, as no map of names says which of "
                f"{'its' if len(unknown) == 1 else 'their'} arrays are the graph's.")
    if others:
        return (Span("No winner is named", "strong"), ": ", *listed([contender(each) for each in others]),
                f" compute{'s' if len(others) == 1 else ''} something else: the certificate says how.")
    wrong = [each.contender for each in result.race.certificates if not each.passed]
    if wrong:
        return (Span("No winner is named", "strong"), ": ", *listed([contender(each) for each in wrong]),
                " did not compute what the reference computes.")
    reasons = sorted({reason for each in result.verdicts if each.reason and each.verdict == "NOT COMPARABLE"
                      for reason in each.reason.split("; ")})
    why = " (" + "; ".join(reasons) + ")" if reasons else ""
    return (Span("No winner is named", "strong"),
            f": that the contenders compute the same thing is not proven{why}.")


def _alone(result: Result, standing: Standing) -> Text:
    value = standing.time.value if standing.time else None
    unit = {"epoch": "an epoch", "fit": "a training", "serve": "a query"}.get(result.race.case.task, "a step")
    failed = {each.contender for each in result.race.failures}
    seen = {each.contender for each in timed(result)} | failed | missed(result.race).keys()
    if len(result.race.contenders) == 1:
        lead: Text = (contender(standing.contender), " runs alone, at ")
    elif certified(result) - seen:  # whose turn had not come
        lead = ("Only ", contender(standing.contender), " had been timed when it was interrupted, at ")
    else:
        lead = ("Only ", contender(standing.contender), " is left in the race, at ")
    return (*lead, Quantity(value, "duration"), f" {unit}, so there is nothing to compare it with.")


def _proof(result: Result) -> Text:
    ranking = [each.contender for each in ranked(result)]
    if set(ranking) <= certified(result):
        everyone = "both" if len(ranking) == 2 else f"all {len(ranking)}"
        return (f"; {everyone} were proven to compute the same thing", *_labels(result, ranking), ".")
    return ("; that they compute the same thing was not proven.",)


def _labels(result: Result, ranking: Sequence[str]) -> Text:
    """Who is certified at a coarser format than the race's, with statistics of parts of the batch, or with gradients
    changed on their way: in that alone it computes the same."""
    coarse = formats(result)
    parts, changed = divided(result), compressed(result)
    told = [Span(f"{name} certified at {coarse[name]}", "strong") for name in ranking if name in coarse]
    told += [Span(f"{name} with {' and '.join(found)}", "strong") for name in ranking
             if (found := [each[name] for each in (parts, changed) if name in each])]
    return (", ", *listed(told)) if told else ()


def _details(result: Result) -> tuple[Text, ...]:
    """What the sentence leaves out: the best of each framework, and how far behind the others are."""
    ranking = [each.contender for each in ranked(result)]
    learned = learning.sentences(result) + serving.sentences(result) + scaling.sentences(result)
    if len(ranking) < 3:
        return learned
    leader = ranking[0]
    best = {name.split(":")[0].split("@")[0]: name for name in reversed(ranking)}
    rivals = [name for framework, name in best.items() if leader != name]
    rivals = sorted((name for name in rivals if name != ranking[1]), key=ranking.index)[:_RIVALS]
    told = (("The fastest of ", rival.split(":")[0], ", ", contender(rival), ", ", *_behind(result, leader, rival))
            for rival in rivals if _known(between(result, leader, rival)))
    return (*learned, *told)


def _known(verdict: Verdict | None) -> bool:
    return verdict is not None and verdict.low is not None


def _behind(result: Result, leader: str, rival: str) -> Text:
    verdict = between(result, leader, rival)
    assert verdict is not None
    if verdict.verdict == "FASTER":
        return ("takes ", Span(f"{ratio_of(verdict)[0]}{TIMES}", "strong"), " as long as ", contender(leader),
                f" ({interval_of(verdict)}).")
    same = "is equivalent to " if verdict.verdict == "EQUIVALENT" else "is not shown to differ from "
    return (same, contender(leader), f" (ratio {ratio_of(verdict)[0]}, {interval_of(verdict)}).")


def _deed(result: Result, count: int = 1) -> str:
    """What one contender does, or two: trains resnet18; train digits_cnn to 97 %."""
    case = result.race.case
    verb = _VERBS.get(case.task, ("runs", "run"))[count - 1]
    if case.training is None or case.task == "epoch":
        return f"{verb} {case.model}"
    end = f"for {counted(case.training.epochs, 'epoch')}" if case.training.target is None \
        else f"to {write(case.training.target, 'percent')}"
    return f"{verb} {case.model} {end}"


def ratio_of(verdict: Verdict) -> tuple[str, str, str]:
    """The ratio and the ends of its interval, as they are written; of a verdict that has them."""
    assert verdict.ratio is not None and verdict.low is not None and verdict.high is not None
    return ratio_with_interval(verdict.ratio, verdict.low, verdict.high)


def interval_of(verdict: Verdict) -> str:
    """How sure it is: 95 % interval 1.21 to 1.25, 8 launches."""
    _, low, high = ratio_of(verdict)
    assert verdict.low is not None and verdict.high is not None
    span = f"{low} to {high}" if tells(verdict.low, verdict.high) else "too wide to tell anything yet"
    return f"{confidence(verdict.level)} interval {span}, {verdict.launches} launches"
