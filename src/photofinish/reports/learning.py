"""What whole trainings learned: the curves of every contender, the epochs they took, and whether they end alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import fmean, median

from photofinish.render.document import (
    Axis,
    Block,
    Cell,
    Chart,
    Column,
    Fold,
    Interval,
    Paragraph,
    Section,
    Series,
    Table,
    Text,
)
from photofinish.render.quantities import write
from photofinish.reports.reading import contender, names, without_empty
from photofinish.stats.curves import Curves, curves, epochs_needed
from photofinish.stats.learning import agreements, divergence, final_accuracies
from photofinish.values import Agreement, Epoch, Result

_NOTED = (1, 2, 5, 10, 15, 20)  # steps at which the table says how far losses have parted
_CURVES: tuple[tuple[str, str, Callable[[Epoch], float]], ...] = (
    ("Validation accuracy", "accuracy", lambda epoch: epoch.validation_accuracy or 0.0),
    ("Training accuracy", "accuracy", lambda epoch: epoch.accuracy or 0.0),
    ("Training loss", "number", lambda epoch: epoch.loss),
    ("Validation loss", "number", lambda epoch: epoch.validation_loss or 0.0),
)


def section(result: Result) -> Section:
    training = result.race.case.training
    found = {name: launches for name, launches in curves(result.race).items() if launches}
    if training is None or result.race.case.task != "fit" or not found:
        return Section("learning", "", ())
    order = list(dict.fromkeys([*(name for name in names(result) if name in found), *found]))
    found = {name: found[name] for name in order}
    blocks: list[Block] = [Paragraph((
        f"{training.samples:,} samples of {training.data} to train on and {training.validation:,} to be judged by "
        f"({training.source}); nothing augmented. In each launch all start from the same weights and take the same "
        "batches in the same order; another launch draws others.",))]
    blocks += [_chart(*_CURVES[0], found), _table(result, found)]
    ends = agreements(result.race)
    blocks += [_agreements(ends)] if ends else []
    blocks += [_guesses(ends)] if any(each.same is not None for each in ends) else []
    blocks.append(Fold("Training accuracy and losses", tuple(_chart(*each, found) for each in _CURVES[1:])))
    blocks += [Fold("How far the first steps part", (_divergence(result),))] if divergence(result.race) else []
    blocks.append(Fold("Every training", (_every(found),)))
    return Section("learning", "What they learned", tuple(blocks))


def sentences(result: Result) -> tuple[Text, ...]:
    """How the two fastest end, if they were trained whole."""
    if result.race.case.task != "fit":
        return ()
    first = names(result)[:2]
    return tuple(_sentence(each, result) for each in agreements(result.race) if {each.a, each.b} == set(first))


def _sentence(each: Agreement, result: Result) -> Text:
    final = final_accuracies(result.race)
    means = {name: write(fmean(final[name].values()), "accuracy") for name in (each.a, each.b)}
    alike = f", {write(each.same, 'accuracy')} given the same class by both" if each.same is not None else ""
    both = (f" at the end ({means[each.a]} and {means[each.b]} of validation samples right{alike}; {each.reason}).",)
    said = {"EQUIVALENT": "are equally accurate", "UNDECIDED": "are not shown to be equally accurate"}
    if each.verdict in said:
        return (contender(each.a), " and ", contender(each.b), f" {said[each.verdict]}", *both)
    return (contender(each.a), f" is {'more' if each.verdict == 'HIGHER' else 'less'} accurate than ",
            contender(each.b), *both)


def _chart(title: str, hint: str, of: Callable[[Epoch], float], found: Curves) -> Chart:
    """The mean over launches, as far as all of them went."""
    series = []
    for name, launches in found.items():
        length = min(map(len, launches.values()))
        series.append(Series(name, tuple(float(i + 1) for i in range(length)),
                             tuple(fmean(of(epochs[i]) for epochs in launches.values()) for i in range(length))))
    return Chart("lines", f"{title} by epoch", "Means over launches; lines that agree lie on top of each other.",
                 tuple(series), Axis("epoch", "count"), Axis(title.lower(), hint), overlaid=True)


def _table(result: Result, found: Curves) -> Table:
    columns = (Column("Contender", "contender"), Column("Trainings", "count"), Column("Reached the target", "count"),
               Column("Epochs to it", "number"), Column("First epoch", "duration"), Column("Later epochs", "duration"),
               Column("Validation pass", "duration"), Column("Final accuracy", "accuracy"), Column("Range"))
    rows = tuple(_row(result, name, list(launches.values())) for name, launches in found.items())
    return without_empty(Table("learning", columns, rows, "Times are medians, accuracies means over launches, of "
                                                          "validation samples after the last epoch."))


def _row(result: Result, name: str, trainings: list[tuple[Epoch, ...]]) -> tuple[Cell, ...]:
    needed = [count for epochs in trainings if (count := epochs_needed(epochs, result.race)) is not None]
    later = [each.seconds for epochs in trainings for each in epochs[1:]]
    final = list(final_accuracies(result.race)[name].values())
    looks = [each.validation_seconds or 0.0 for epochs in trainings for each in epochs]
    with_target = result.race.case.training is not None and result.race.case.training.target is not None
    return (contender(name), len(trainings), len(needed) if with_target else None,
            fmean(needed) if needed and with_target else None, median(epochs[0].seconds for epochs in trainings),
            median(later) if later else None, median(looks),
            fmean(final) if final else None, _range(final))


def _range(values: list[float]) -> str:
    """Kept on one line, however narrow the column."""
    text = " to ".join(write(end(values), "accuracy") for end in (min, max) if values)
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def _agreements(found: tuple[Agreement, ...]) -> Table:
    columns = (Column("a", "contender"), Column("b", "contender"), Column("Accuracy of a less that of b", "accuracy"),
               Column("a is"), Column("Trainings", "count"), Column("Reason"))
    rows = tuple((contender(each.a), contender(each.b), _difference(each), each.verdict, each.launches, each.reason)
                 for each in found)
    return Table("agreement", columns, rows, "Of validation samples after the last epoch, paired by launch.")


def ends(trained: Sequence[tuple[str, Result]]) -> Iterator[Table]:
    """How accurate each pair ends, of several races of whole trainings by their names."""
    columns = (Column("Training"), Column("a", "contender"), Column("Right", "accuracy"), Column("b", "contender"),
               Column("Right", "accuracy"), Column("a less b", "accuracy"), Column("a is"))
    rows = []
    for title, result in trained:
        right = {name: fmean(each.values()) for name, each in final_accuracies(result.race).items() if each}
        rows += [(title, contender(each.a), right[each.a], contender(each.b), right[each.b], _difference(each),
                  each.verdict) for each in agreements(result.race)]
    if rows:
        yield Table("ends", columns, tuple(rows), "Validation samples given the right class after the last epoch: "
                                                  "means over trainings, and their difference, paired by launch.")


def _guesses(found: tuple[Agreement, ...]) -> Table:
    columns = (Column("a", "contender"), Column("b", "contender"), Column("Both give the same class", "accuracy"),
               Column("Range"))
    rows = tuple((contender(each.a), contender(each.b), each.same, _range([each.same_least, each.same_most]))
                 for each in found if each.same is not None and each.same_least is not None
                 and each.same_most is not None)
    return Table("guesses", columns, rows, "Of the same samples, right or wrong: top-1 agreement, the mean over "
                                           "launches and its range.")


def _difference(each: Agreement) -> Cell:
    return each.difference if each.low is None or each.high is None \
        else Interval(each.difference, each.low, each.high)


def _divergence(result: Result) -> Table:
    first = result.race.contenders[0]
    columns = (Column("Contender", "contender"), *(Column(f"Step {step}", "scientific") for step in _NOTED))
    rows = tuple((contender(name), *(apart[step - 1] if step <= len(apart) else None for step in _NOTED))
                 for name, apart in divergence(result.race).items())
    return Table("divergence", columns, rows, f"Relative difference of the loss from that of {first}, the largest over "
                                              "launches: rounding at first, which training then amplifies.")


def _every(found: Curves) -> Table:
    columns = (Column("Contender", "contender"), Column("Launch", "count"), Column("Epoch", "count"),
               Column("Training", "duration"), Column("Validation", "duration"), Column("Training loss", "number"),
               Column("Training accuracy", "accuracy"), Column("Validation loss", "number"),
               Column("Validation accuracy", "accuracy"))
    rows = tuple((contender(name), each.launch, each.number, each.seconds, each.validation_seconds, each.loss,
                  each.accuracy, each.validation_loss, each.validation_accuracy)
                 for name, launches in found.items() for epochs in launches.values() for each in epochs)
    return Table("epochs", columns, rows)
