"""The audit: what the probes saw of each contender in, `values.Finding` out, with a warning wherever a
matched race is not matched."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log2
from typing import Any

from photofinish.stats.advice import NAMED
from photofinish.values import Case, Contender, Finding

Probes = Mapping[str, Mapping[str, Any]]  # what measure.probes.run returned, by contender

ROUNDING = 0.29  # relative r.m.s. error of products of random operands rounded to m bits, times 2**m
EMPTY, FULL = 0.7, 1.15  # of the threads asked for: outside, the contender uses fewer, or more

# least mantissa bits -> the format, by whether it reaches beyond float16
FORMATS = ((30, "float64", "float64"), (17, "float32", "float32"), (9, "TF32", "float16"), (6, "bfloat16", "float8"))


@dataclass(frozen=True)
class Topic:
    """One question of the audit: which probe answers it, how to say the answer, and what the case asks for."""

    name: str
    probe: str
    how: str
    say: Callable[[Mapping[str, Any]], str]
    expected: Callable[[Case], str] = lambda case: ""
    same: bool = True  # whether contenders of which nothing is expected are to agree


def findings(probes: Probes, case: Case, formats: Mapping[str, str] | None = None) -> tuple[Finding, ...]:
    """Every topic for every contender. In regime "matched" what differs from the case, or between
    contenders, carries a warning. `formats` are those of contenders in a coarser one: of them that is asked."""
    found: list[Finding] = []
    for topic in TOPICS:
        lines = [_finding(topic, contender, seen[topic.probe],
                          replace(case, precision=(formats or {}).get(contender, case.precision)))
                 for contender, seen in probes.items()]
        found += _warned(lines, topic.same) if case.regime == "matched" else lines
    found += _threads(probes, case)
    if case.regime == "matched":
        found = [_unvouched(line, found) for line in found]
    for part, how in RECORDS.items():
        found += [Finding(contender, f"{key} ({part})", _spoken(value), how=how)
                  for contender, seen in probes.items() for key, value in seen[part].items()]
    return tuple(found)


def page_faults(per_step: Mapping[str, float]) -> tuple[Finding, ...]:
    """The effect of the allocator, by contender. Whether it costs anything depends on the step (stats.advice)."""
    return tuple(Finding(contender, "page faults", f"{faults:,.0f} a step",
                         how="minor faults counted over the timed steps") for contender, faults in per_step.items())


def builds(hazards: Mapping[str, str]) -> tuple[Finding, ...]:
    """What is known of old builds, by contender: a race of them is one of what these were compiled for, too."""
    return tuple(Finding(contender, "build", known, how="told of this version in the header of the framework's file",
                         warning=known) for contender, known in hazards.items() if known)


def kernels(probes: Probes, unused: Mapping[str, Mapping[str, tuple[str, str]]]) -> tuple[Finding, ...]:
    """Of contenders that tell which kernels their steps run: settings nobody has made, none of whose kernels does.
    `unused` is, by contender and setting, a part of those names, and what is to be known."""
    found = []
    for contender, settings in unused.items():
        told = [each["kernels"] for each in probes[contender]["evidence"].values()
                if isinstance(each, Mapping) and "kernels" in each]
        names = {name for each in told for name in each}
        found += [Finding(contender, "kernels", known, how="seen in the framework's own records",
                          warning=f"{known}; race it with [{setting}], too")
                  for setting, (part, known) in settings.items() if told and not any(part in name for name in names)]
    return tuple(found)


def mantissa_bits(seen: Mapping[str, Any]) -> float:
    """Explicit mantissa bits of products: what operands keep, or what random products show if that is less."""
    by_error = -log2(max(seen["error"], 2.0 ** -60) / ROUNDING)
    kept = min(seen["left_bits"], seen["right_bits"])
    return by_error if by_error > 30 else min(float(kept), by_error)


def _precision(seen: Mapping[str, Any]) -> str:
    if seen["steps"]:
        return f"int{log2(seen['steps'] + 1):.0f}"
    bits = mantissa_bits(seen)
    for least, wide, narrow in FORMATS:
        if bits >= least:
            return wide if seen["wide"] else narrow
    return f"{max(bits, 0):.0f} bits of mantissa"


def _denormals(seen: Mapping[str, Any]) -> str:
    lost = [name for name in ("results", "operands") if not seen[name + "_kept"]]
    return f"{' and '.join(lost)} flushed to zero" if lost else "kept"


EXACT = ("float32", "float64")  # what comes out of a coarser format is as the framework has it
BITS_HOW = "products whose last mantissa bits are known, and random ones against float64"
TOPICS = (
    Topic("matrix products", "matmul", BITS_HOW, _precision, lambda case: case.precision),
    Topic("convolutions", "conv", BITS_HOW, _precision, lambda case: case.precision),
    Topic("result type", "matmul", "the type of a matrix product's result", lambda seen: str(seen["dtype"]),
          lambda case: case.precision if case.precision in EXACT else "", same=False),
    Topic("denormals", "denormals", "products near 1e-40", _denormals),
)
RECORDS = {"evidence": "seen in the framework's own records", "facts": "as the framework reports it, not probed"}


def _finding(topic: Topic, contender: str, seen: Mapping[str, Any], case: Case) -> Finding:
    found = f"not known: {seen['unsupported']}" if "unsupported" in seen else topic.say(seen)
    return Finding(contender, topic.name, found, topic.expected(case), topic.how)


def _warned(lines: Iterable[Finding], same: bool) -> Iterator[Finding]:
    """Lines of one topic, with what is not as asked, or not the same for all where it is to be."""
    lines = list(lines)
    known = [line for line in lines if _known(line)]
    kinds = {found: [line.contender for line in known if line.found == found]
             for found in dict.fromkeys(line.found for line in known)}
    told = "; ".join(f"{_all_of(names, known)}: {found}" for found, names in sorted(
        kinds.items(), key=lambda kind: len(kind[1])))
    for line in lines:
        if line not in known:
            yield line
        elif line.expected:
            other = f"{line.topic}: {line.found} where the race asks for {line.expected}"
            yield replace(line, warning="" if line.found == line.expected else other)
        elif len(kinds) > 1 and same:
            yield replace(line, warning=f"{line.topic}: it differs between contenders ({told})")
        else:
            yield line


def _known(line: Finding) -> bool:
    return not line.found.startswith("not known")


def _unvouched(line: Finding, lines: Sequence[Finding]) -> Finding:
    """What could not be probed of a contender is warned of together."""
    if _known(line):
        return line
    topics = [each.topic for each in lines if each.contender == line.contender and not _known(each)]
    return replace(line, warning=f"could not be probed for {', '.join(topics)}: nothing vouches for these")


def _all_of(names: Sequence[str], known: Sequence[Finding]) -> str:
    """These contenders, or if they are most of many, the others: of whom those before them tell."""
    return "the others" if len(names) > max(NAMED, len(known) / 2) else ", ".join(names)


def _threads(probes: Probes, case: Case) -> Iterator[Finding]:
    for contender, seen in probes.items():
        allowed = Contender.parse(contender).threads(case.threads)
        used, how = seen["threads"], "CPU seconds of the process, and of each thread, over a large matrix product"
        if "unsupported" in used:
            yield Finding(contender, "threads", f"not known: {used['unsupported']}", str(allowed), how)
            continue
        found, warning = f"{used['at_once']:.2f} at once", ""
        if used["taking_part"] is not None:
            found += f", {used['taking_part']:.2f} taking part, {used['alive']} in the process"
        if case.regime == "matched" and case.device == "cpu":
            if used["at_once"] > FULL * allowed:
                warning = f"more threads than the {allowed} allowed"
            elif used["taking_part"] is not None and used["taking_part"] < EMPTY * allowed:
                warning = f"fewer threads than the {allowed} allowed"
        yield Finding(contender, "threads", found, str(allowed), how, warning)


def _spoken(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_spoken(each)}" for key, each in value.items())
    return ", ".join(map(_spoken, value)) if isinstance(value, (list, tuple)) else str(value)
