"""The documented JSON of `--json`: stable keys, seconds and bytes, null for what is not known, never NaN.

Its schemas are published in `schema/`; docs/reference/json.md explains every key.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from importlib.resources import files
from typing import Any

from photofinish.environments import TASKS
from photofinish.explain.profile import Whereabouts, whereabouts
from photofinish.render.quantities import plain
from photofinish.reports import code_cost, verdict
from photofinish.reports.reading import formats, memory_bytes, names, of_task, phase_seconds, ranked
from photofinish.stats.energy import consumption
from photofinish.stats.jobs import break_evens
from photofinish.stats.learning import agreements
from photofinish.stats.scaling import forecasts, process_peaks, scalings, serial_share
from photofinish.stats.serving import served
from photofinish.stats.time_split import time_splits
from photofinish.values import (
    SERVE,
    Accuracy,
    Certificate,
    Consumption,
    Estimate,
    Failure,
    LargestBatch,
    Result,
    Scaling,
    Standing,
    to_json,
)

SCHEMAS = ("race", "verify", "accuracy", "largest_batch", "models", "show", "script", "study", "claims", "sweep",
           "history", "bisect", "gate", "advise", "factors", "why", "flip", "links", "stored")
FILES = ("study_file",)  # what is read, not printed


def text(objects: Sequence[dict[str, Any]]) -> str:
    """What `--json` prints: the object of one race, or a list of them where there are several."""
    return json.dumps(objects[0] if len(objects) == 1 else objects, indent=2, allow_nan=False)


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) called `name`, one of SCHEMAS or FILES. Raises KeyError."""
    if name not in SCHEMAS + FILES:
        raise KeyError(name)
    found = files("photofinish").joinpath("schema", f"{name}.json").read_text(encoding="utf-8")
    return dict(json.loads(found))


def race(result: Result) -> dict[str, Any]:
    """The object of one race."""
    raw = result.race
    scaling, peaks = scalings(raw), process_peaks(raw)
    placed = {each.contender for each in ranked(result)}
    return _object({
        "id": raw.id,
        "created": raw.created,
        "command": raw.command,
        "case": to_json(raw.case),
        "margin": raw.margin,
        "comparable": result.comparable,
        "outcome": verdict.outcome(result),
        "sentence": plain(verdict.sentence(result)),
        "contenders": _contenders(result),
        "verdicts": [to_json(each) for each in result.verdicts],
        "break_even": [to_json(each) for cold in (True, False) for each in break_evens(raw, cold)
                       if {each.contender, each.against} <= placed],
        "agreements": [to_json(each) for each in agreements(raw)] if raw.case.task == "fit" else [],
        "scaling": [{**scaled(each, scaling), "memory": peaks.get(each.contender),
                     "memory_alone": peaks.get(each.against)} for each in scaling],
        "time_split": [to_json(each) for each in time_splits(raw)],
        "code_cost": [asdict(each) for each in code_cost.costs(result)],
        "profiles": [profiled(each) for each in whereabouts(raw, names(result))],
        "certificate": {"passed": bool(raw.certificates) and all(each.passed for each in raw.certificates),
                        "contenders": [certified(each) for each in raw.certificates]},
        "audit": to_json(raw.audit),
        "warnings": list(result.warnings),
        "skipped": to_json(raw.skipped),
        "interrupted": next((each.message for each in raw.failures if not each.contender), ""),
        "stragglers": to_json(raw.stragglers),
        "resizes": to_json(raw.resizes),
        "largest_batch": to_json(raw.largest),
        "launches": to_json(raw.launches),
        "metering": to_json(raw.metering),
        "machine": raw.machine,
    })


def verification(model: str, digest: str, certificates: Sequence[Certificate],
                 failures: Sequence[Failure] = ()) -> dict[str, Any]:
    """The object of `verify`: certified only if every contender that was asked for is."""
    return _object({
        "model": model,
        "digest": digest,
        "certified": bool(certificates) and not failures and all(each.passed for each in certificates),
        "contenders": [certified(each) for each in certificates],
        "failures": to_json(tuple(failures)),
    })


def accuracies(model: str, digest: str, images: int, found: Sequence[Accuracy],
               failures: Sequence[Failure] = (), warnings: Sequence[str] = (),
               preparation: str = "") -> dict[str, Any]:
    """The object of `accuracy`."""
    return _object({
        "model": model,
        "digest": digest,
        "images": images,
        "contenders": [{"name": each.contender, "right": each.right, "top1": estimated(each.top1),
                        "unlike": dict(each.unlike)} for each in found],
        "failures": to_json(tuple(failures)),
        "warnings": list(warnings),
        "preparation": preparation,
    })


def largest_batches(model: str, digest: str, task: str, found: Sequence[LargestBatch],
                    failures: Sequence[Failure] = ()) -> dict[str, Any]:
    """The object of `largest-batch`."""
    return _object({
        "model": model,
        "digest": digest,
        "task": task,
        "batch": min((each.batch for each in found), default=None),
        "contenders": to_json(tuple(found)),
        "failures": to_json(tuple(failures)),
    })


def certified(certificate: Certificate) -> dict[str, Any]:
    """One contender's proof, tensor group by tensor group."""
    return {
        "name": certificate.contender,
        "passed": certificate.passed,
        "forward_only": certificate.forward_only,
        "precision": certificate.precision,
        "exact": certificate.exact,
        "slices": certificate.slices,
        "of_slices": list(certificate.of_slices),
        "gradients": certificate.gradients,
        "created": certificate.created,
        "reused": certificate.reused,
        "reference": certificate.reference,
        "batch": certificate.batch,
        "groups": to_json(certificate.checks),
        "not_compared": [{"tensor": tensor, "reason": reason} for tensor, reason in certificate.listed],
        "differences": [{"what": what, "graph": graph, "contender": contender}
                        for what, graph, contender in certificate.differences],
        "losses": {optimizer: {"contender": list(losses),
                               "reference": list(certificate.reference_curves.get(optimizer, ()))}
                   for optimizer, losses in certificate.curves.items()},
        "versions": dict(certificate.versions),
        "seconds": certificate.seconds,
    }


def scaled(each: Scaling, others: Sequence[Scaling] = ()) -> dict[str, Any]:
    """How several processes scale; where they share the batch, what more of them are predicted to come to, beside what
    `others` did."""
    strong = each.batch == each.against_batch
    return {**to_json(each), "speedup": estimated(each.speedup), "efficiency": estimated(each.efficiency),
            "serial_share": estimated(serial_share(each.speedup, each.processes)) if strong else None,
            "predictions": [{"processes": more.processes, "speedup": estimated(more.speedup),
                             "measured": estimated(more.measured)}
                            for more in (forecasts(each, others) if strong else ())]}


def profiled(each: Whereabouts) -> dict[str, Any]:
    """Where a step goes."""
    return {**to_json(each), "plain": estimated(each.plain), "profiled": estimated(each.profiled),
            "placed": each.placed, "shares": {place: estimated(share) for place, share in each.shares.items()}}


def _contenders(result: Result) -> list[dict[str, Any]]:
    phases, memory, serving = phase_seconds(result), memory_bytes(result), _serving(result)
    energy = {each.contender: each for each in consumption(result.race)}
    coarse = formats(result)
    return [{
        "name": each.contender,
        "precision": coarse.get(each.contender, result.race.case.precision),
        "place": each.place,
        "tie_group": each.tie_group,
        "seconds_per_step": estimated(each.time) if result.race.case.task in TASKS else None,
        "seconds_per_epoch": estimated(each.time) if result.race.case.task == "epoch" else None,
        "seconds_of_training": estimated(each.time) if result.race.case.task == "fit" else None,
        "median_latency": estimated(each.time) if result.race.case.task == SERVE else None,
        "serving": serving.get(each.contender),
        "throughput": estimated(each.throughput),
        "phases": _keys(phases.get(each.contender, {})),
        "memory": each.memory,
        "device_memory": each.device_memory,
        "memory_by_phase": _keys(memory.get(each.contender, {})),
        "held_by_phase": _keys({phase: to_json(look) for look in result.race.memory if look.contender == each.contender
                                and (phase := of_task(look.phase, result.race.case.task))}),
        "cpu_per_wall": each.cpu_per_wall,
        "energy": consumed(energy.get(each.contender)),
        "faults_per_step": each.faults_per_step,
        "spread": each.spread,
        "epochs": [to_json(epoch) for epoch in result.race.epochs if epoch.contender == each.contender],
        "failure": to_json(each.failure),
        "versions": result.race.versions.get(each.contender, {}),
        "environment": to_json(result.race.environments.get(each.contender)),
    } for each in _in_order(result)]


def _serving(result: Result) -> dict[str, dict[str, Any]]:
    if result.race.case.load is None:
        return {}
    return {each.contender: {
        "queries": each.queries, "answered": each.answered, "busy": each.busy, "seconds_of_service": each.service,
        "offered": each.offered, "waiting": each.waiting, "expected_waiting": each.expected,
        "latency": {f"p{100 * share:g}": estimated(estimate) for share, estimate in each.latencies.items()},
        "claim": to_json(each.claim), "launches": each.launches, "lasting": each.lasting}
        for each in served(result.race)}


def consumed(found: Consumption | None) -> dict[str, Any] | None:
    """Joules per unit of throughput; None where they were not measured."""
    if found is None:
        return None
    return {"joules": estimated(found.joules), "idle": found.idle, "net": estimated(found.net), "watts": found.watts,
            "seconds": found.seconds, "launches": found.launches, "foreign": found.foreign, "device_busy": found.busy}


def _in_order(result: Result) -> list[Standing]:
    """The standings; a contender of which nothing at all was recorded is there too."""
    known = {each.contender for each in result.standings}
    return [*result.standings, *(Standing(name, None, None, None, None) for name in result.race.contenders
                                 if name not in known)]


def estimated(estimate: Estimate | None) -> dict[str, float | None] | None:
    """One launch gives a value without an interval."""
    if estimate is None:
        return None
    low, high = (estimate.low, estimate.high) if estimate.level else (None, None)
    return {"value": estimate.value, "low": low, "high": high}


def _keys(phases: dict[str, Any]) -> dict[str, Any]:
    return {name.replace(" (cold)", "_cold"): value for name, value in phases.items()}


def _object(values: dict[str, Any]) -> dict[str, Any]:
    return dict(finite(values))


def finite(value: Any) -> Any:
    """The same data with null for every number that JSON cannot say."""
    if isinstance(value, dict):
        return {str(key): finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
