"""A queue at its full length, and what may be claimed of a load that lasts."""

from dataclasses import replace

import numpy as np
import pytest

from photofinish.render.quantities import plain
from photofinish.reports import serving as report
from photofinish.runner.serving import arrivals, make_load
from photofinish.stats import judge, queue, serving
from photofinish.values import Block, Failure, Load, Race
from stats_races import World

SERVICE = 0.01  # seconds


@pytest.mark.parametrize("busy", [0.3, 0.6, 0.8])
def test_the_mean_wait_is_that_of_pollaczek_and_khinchine(busy: float) -> None:
    """Service of one time and exponential: λ E[S²] / (2 (1 - busy))."""
    for service, factor in (([SERVICE], 1.0), (np.random.default_rng(1).exponential(SERVICE, 10_000), 2.0)):
        found = np.mean([queue.lasting(service, busy / SERVICE, seed).mean() for seed in range(8)]) - np.mean(service)
        assert found == pytest.approx(factor * busy * SERVICE / (2 * (1 - busy)), rel=0.08)


def test_who_is_given_more_than_it_can_do_falls_ever_further_behind() -> None:
    found = queue.lasting([SERVICE], 1.2 / SERVICE)
    assert found[-1] > 10 * found[0] / 3 and found.min() > 1.0


def race(rate: float, bound: float, drawn: int) -> Race:
    """Five launches of a server that takes SERVICE for a query, half a per cent more or less from launch to launch."""
    load = make_load(rate, None, bound, 0.99, 0.99, None, None)
    world = World().race(np.random.default_rng(0), (1.0,), 0)
    noise, blocks = np.random.default_rng(drawn), []
    for launch in range(1, load.looks + 1):
        service = SERVICE * float(np.exp(noise.normal(0, 0.005)))
        for turn in range(2):
            latencies, free = [], 0.0
            for moment in arrivals(rate, load.queries, (drawn, launch, turn)):
                free = max(free, float(moment)) + service
                latencies.append(free - float(moment))
            blocks.append(Block(launch, turn, 0, "a", "serve", tuple(latencies), 1.0, 0, 0.0, 0.01, wall=free,
                                service=(service,) * load.queries))
    return replace(world, blocks=tuple(blocks), case=replace(world.case, task="serve", load=load))


def word(found: Race) -> str:
    (each,) = serving.served(found)
    assert each.claim is not None
    return each.claim.word


@pytest.mark.parametrize(("rate", "bound", "wrong", "right"), [
    (98, 0.3, "MET", "UNDECIDED"),  # a quarter come late once the queue has its length
    (98, 1.0, "MET", "UNDECIDED"),
    (105, 1.0, "MET", "MISSED"),
    (120, 1.0, "MET", "MISSED"),
])
def test_a_bound_kept_while_the_queue_still_grows_is_not_met(rate: float, bound: float, wrong: str, right: str) -> None:
    words = [word(race(rate, bound, drawn)) for drawn in range(12)]
    assert wrong not in words and words.count(right) >= 11


def test_a_load_that_is_carried_is_met() -> None:
    words = [word(race(50, 0.15, drawn)) for drawn in range(12)]
    assert words.count("MET") >= 10 and "MISSED" not in words


def test_clients_who_wait_let_no_queue_grow() -> None:
    found = race(98, 0.3, 0)
    load = Load(clients=1, queries=500, latency=0.3, share=0.99, confidence=0.99, looks=1)
    blocks = tuple(replace(each, seconds=(SERVICE,) * 500, service=(SERVICE,) * 500) for each in found.blocks[:3:2])
    (each,) = serving.served(replace(found, blocks=blocks, case=replace(found.case, load=load)))
    assert each.claim is not None and each.claim.word == "MET" and each.lasting is None


def test_why_it_is_open_is_told() -> None:
    def said(found: Race) -> str:
        return plain(report.sentences(judge(found))[0])

    assert "were the load to last, " in said(race(98, 0.3, 0))
    assert "cannot keep up: sooner or later no query is answered within 1.00 s" in said(race(120, 1.0, 0))
    close = race(101, 0.05, 0)
    spread = {launch: 0.92 + 0.04 * launch for launch in {each.launch for each in close.blocks}}
    middle = sum(spread.values()) / len(spread)
    unsure = replace(close, blocks=tuple(replace(each, service=tuple(
        step * spread[each.launch] / middle for step in each.service)) for each in close.blocks))
    (each,) = serving.served(unsure)
    assert each.offered is not None and each.offered > 1 and not each.behind and word(unsure) == "MISSED"
    assert "cannot keep up" not in said(unsure) and "answers fewer than" in said(unsure)
    told = str(report.section(judge(unsure)))
    assert "may not be able to keep up" in told
    one = race(50, 0.15, 0)
    alone = replace(one, blocks=tuple(replace(each, launch=1) for each in one.blocks))
    assert "one launch says nothing of others" in said(alone)


def test_who_failed_meets_no_bound_by_what_it_had_answered() -> None:
    carried = race(50, 0.15, 0)
    (each,) = serving.served(carried)
    assert each.claim is not None and each.claim.word == "MET" and serving.decided(carried)
    (name,) = carried.contenders
    hung = replace(carried, failures=(Failure(name, "hang", "gave no answer", 3, "block:serve"),))
    (each,) = serving.served(hung)
    assert each.claim is None and each.latencies and not serving.decided(hung)
    assert report.sentences(judge(hung)) == () and "Bound is" not in str(report.section(judge(hung)))
