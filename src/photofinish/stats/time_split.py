"""Where the time of several processes goes that train one model: computing, communicating, waiting for each other."""

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from photofinish.frameworks._ranks.intervals import length, outside, union
from photofinish.values import Race, TimeSplit, Trace, TracedStep


def time_splits(race: Race) -> tuple[TimeSplit, ...]:
    """One for each process of each contender that was traced, over the steps of all launches."""
    ordered = sorted(race.traces, key=lambda each: (race.contenders.index(each.contender), each.rank, each.launch))
    return tuple(_mean(race, name, rank, list(own))
                 for (name, rank), own in groupby(ordered, key=lambda each: (each.contender, each.rank)))


def _mean(race: Race, name: str, rank: int, own: Sequence[Trace]) -> TimeSplit:
    rows = []
    for trace in own:
        others = [each for each in race.traces if (each.launch, each.contender) == (trace.launch, name)]
        rows += [_split(step, [each.steps[number] for each in others if len(each.steps) > number])
                 for number, step in enumerate(trace.steps)]
    return TimeSplit(name, rank, len(rows), *map(float, np.mean(rows, axis=0)))


def _split(step: TracedStep, all_of_them: Sequence[TracedStep]) -> tuple[float, ...]:
    """Seconds, computing, waiting, communicating, overlap, bytes, how far behind and how often last, of one step of one
    process. Every process goes through the same collectives in the same order, so the first and the last of them to be
    ready are known."""
    seconds = step.end - step.begin
    sent, exposed = union([(begin, end) for begin, end, _ in step.sent]), list(step.exposed)
    ready = [[begin for begin, _, _ in together] for together in zip(*(each.sent for each in all_of_them))]
    held = union([(begin, min(end, max(all_ready))) for (begin, end, _), all_ready in zip(step.sent, ready)
                  if max(all_ready) > begin])
    idle = length(exposed)
    behind = [begin - min(all_ready) for (begin, _, _), all_ready in zip(step.sent, ready)] or [0.0]
    last = [begin == max(all_ready) for (begin, _, _), all_ready in zip(step.sent, ready)] or [False]
    return (seconds, seconds - idle, idle - length(outside(exposed, held)), length(sent), length(sent) - idle,
            sum(size for _, _, size in step.sent), np.mean(behind), np.mean(last))
