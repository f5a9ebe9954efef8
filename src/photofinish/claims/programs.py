"""What programs see of frameworks: a feature, an import, a breakpoint, how often a function is traced anew; and how
much there is to read of two frameworks' training programs.

A program prints a JSON line for each thing it sees: whether the claim `holds`, and what was seen, `told`. What they
have seen is kept in the store, and judged from there.
"""

import hashlib
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from photofinish import models, scripts
from photofinish.claims.claim import Claim, Judgement, weighed
from photofinish.environments import Environment, resolve, start
from photofinish.values import Contender, Observation

SECONDS = 180.0  # after which a program is stopped
_ONE_TIME = re.compile(r"(?<![\d.,])1 times\b")
SHOWN = 3  # of what was seen, that a judgement tells in full


def key(claim: Claim) -> str:
    """What its observations are kept under: another program has seen nothing yet."""
    asked = json.dumps(claim.asks, sort_keys=True)
    return f"{claim.id} {hashlib.sha256(asked.encode()).hexdigest()[:16]}"


def observe(claim: Claim) -> tuple[Observation, ...]:
    """Runs what decides the claim, seconds for each framework. Raises UsageError where counting lacks a package."""
    return OBSERVERS[claim.test](claim)


def judged(claim: Claim, seen: Sequence[Observation]) -> Judgement:
    if not seen:
        return Judgement(claim, "NOT YET RUN", f"photofinish claims {claim.id} --check")
    speaking, against = (tuple(_words(each) for each in seen if each.holds is wanted) for wanted in (True, False))
    failed = [_words(each) for each in seen if each.failure]
    neither = len(seen) - len(failed) - len(speaking) - len(against)
    proxy = f"{claim.asks['proxy']}, a proxy: " if "proxy" in claim.asks else ""
    if failed and not speaking and not against:
        return Judgement(claim, "NOT TESTABLE HERE", "; ".join(failed))
    told = "; ".join(_words(each) for each in seen) if len(seen) <= SHOWN else "; ".join(
        [f"{len(speaking)} for it, {len(against)} against it" + (f", {neither} neither" if neither else ""), *failed])
    word = weighed(speaking, against, claim.asks.get("otherwise", "REFUTED"), read=len(seen) - len(failed))
    missing = failed and word != "MIXED"  # what was not seen might have spoken the other way
    return Judgement(claim, "UNDECIDED" if missing else word, proxy + told, speaking, against)


def _words(seen: Observation) -> str:
    told = _ONE_TIME.sub("once", seen.told or seen.failure)  # here: a program that changes has to be run anew
    return f"{seen.where}: {told}"


def _run(claim: Claim) -> tuple[Observation, ...]:
    """Each program of the claim in the environment of its framework."""
    return tuple(each for program in claim.asks["program"] for each in _ran(program["in"], program["code"]))


def _ran(contender: str, code: str) -> list[Observation]:
    home = resolve(Contender.parse(contender))
    if not isinstance(home, Environment):
        return [Observation(contender, failure=f"{home.reason} ({home.cure})")]
    where = f"{contender} {home.version}"
    with tempfile.TemporaryDirectory() as folder:
        try:
            program = Path(folder) / "program.py"  # a file, because AutoGraph reads the source of what it traces
            program.write_text(code, encoding="utf-8")
            done = subprocess.run([str(home.python), str(program)], env=start.variables(home, os.environ, folder),
                                  cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=True)
            lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"')]
            seen = [Observation(where, each["told"], each["holds"]) for each in lines]
            return seen or [Observation(where, failure="the program told nothing")]
        except subprocess.CalledProcessError as error:
            return [Observation(where, failure=f"the program failed: {(error.stderr.strip() or '?').splitlines()[-1]}")]
        except subprocess.TimeoutExpired:
            return [Observation(where, failure=f"the program took more than {SECONDS:g} seconds")]
        except (OSError, ValueError, KeyError) as error:
            return [Observation(where, failure=f"the program told nothing: {error}")]


def _count(claim: Claim) -> tuple[Observation, ...]:
    """Every count of the training programs of both forms: the claim holds where a has less to read than b."""
    a, b = claim.asks["a"], claim.asks["b"]
    found = []
    for name in claim.asks["models"]:
        entry = models.find(name)
        one, other = (asdict(scripts.counts(scripts.program(form, name, entry.graph(), entry.batch)))
                      for form in (a, b))
        found += [Observation(name, f"{one[what]} {what} in {a}, {other[what]} in {b}",
                              None if one[what] == other[what] else one[what] < other[what]) for what in one]
    return tuple(found)


def _change(claim: Claim) -> tuple[Observation, ...]:
    """What each way of a to train on several devices asks for in the program of one, against each way of others: the
    claim holds where a asks for less."""
    a, found = claim.asks["a"], []
    for name in claim.asks["models"]:
        entry = models.find(name)
        graph = entry.graph()
        asked = {(form, way): asdict(scripts.changes(
            scripts.program(form, name, graph, entry.batch),
            scripts.parallel_program(form, name, graph, entry.batch, way)))
            for form in (a, *claim.asks["others"]) for way in scripts.parallel_ways(form) if way in claim.asks["ways"]}
        mine, others = ({key: told for key, told in asked.items() if (key[0] == a) is own} for own in (True, False))
        found += [Observation(name, f"{one[what]} {what} for {' '.join(way)}, {other[what]} for {' '.join(another)}",
                              None if one[what] == other[what] else one[what] < other[what])
                  for way, one in mine.items() for another, other in others.items() for what in one]
    return tuple(found)


def _compare(claim: Claim) -> tuple[Observation, ...]:
    """Two networks of one name, as two libraries ship them: the claim holds where parameters and operations agree."""
    found = []
    for a, b in claim.asks["pairs"]:
        one, other = models.find(a).graph(), models.find(b).graph()
        told = " against ".join(f"{each.parameter_count:,} parameters and {each.macs:,} operations"
                                for each in (one, other))
        found.append(Observation(f"{a} and {b}", told, (one.parameter_count, one.macs)
                                 == (other.parameter_count, other.macs)))
    return tuple(found)


OBSERVERS: dict[str, Callable[[Claim], tuple[Observation, ...]]] = {
    "programs": _run, "counts": _count, "changes": _change, "alike": _compare}
