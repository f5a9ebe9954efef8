"""`photofinish doctor`: what is installed, what this machine can measure, and how noisy it is."""

import json
import shutil
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from photofinish.cli import options

if TYPE_CHECKING:
    from photofinish.render.document import Document
    from photofinish.sensors import Absent, Sensor

BUSY = 0.05  # foreign CPU share from which races take noticeably longer to decide
UNSTEADY = 0.10  # the slowest twentieth of a fixed job this much above its median
COMPILERS = ("g++", "c++", "clang++")


@click.command("doctor", epilog="""\b
Examples:
  photofinish doctor
  photofinish doctor --json""")
@click.option("--seconds", type=options.Duration(), default="2s", show_default=True,
              help="How long to watch and to listen for noise.")
@options.as_json
def command(seconds: float, as_json: bool) -> None:
    """Say what is installed, what this machine can measure, and how noisy it is."""
    from photofinish.cli import output
    found = diagnose(seconds)
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        output.show(sheet(found))


def diagnose(seconds: float = 2.0) -> dict[str, Any]:
    """Everything doctor says, as plain data; takes `seconds`."""
    from photofinish import machine, sensors
    from photofinish.cli import listing
    facts, counters = machine.facts(), sensors.survey()
    found = {
        "frameworks": [each for each in listing.frameworks() if each["name"] not in ("fake", "numpy")],
        "compiler": next((name for name in COMPILERS if shutil.which(name)), None),
        "machine": facts,
        "measures": measures(facts),
        "energy": {name: energy(each) for name, each in counters.items()},
        "noise": {**machine.quietness(seconds / 2), **machine.jitter(seconds / 2)},
    }
    return {**found, "advice": list(advice(found))}


def measures(facts: dict[str, Any]) -> dict[str, str]:
    """What can be measured here: "yes", or what is lost and why."""
    linux = sys.platform == "linux"
    elsewhere = "no: needs Linux"
    return {
        "time, interleaved": "yes",
        "pinned cores": "yes" if linux else elsewhere,
        "what others do meanwhile": "yes" if linux else elsewhere,
        "peak memory by phase": "yes" if linux else "by process only: needs Linux",
        "page faults": "yes",
        "device memory": "yes" if facts["gpus"] else "no: no GPU that nvidia-smi lists",
    }


def energy(found: "Sensor | Absent") -> dict[str, Any]:
    """What one file of sensors has here: the domains it counts joules of, or the reason why none, and its cure."""
    from photofinish.sensors import Absent
    if isinstance(found, Absent):
        return {"domains": [], "reason": found.reason, "cure": found.cure}
    return {"domains": list(found.ranges), "reason": "", "cure": ""}


def advice(found: dict[str, Any]) -> Iterator[str]:
    """What was seen, what it means and what to try; nothing when all is well."""
    facts, noise = found["machine"], found["noise"]
    cores, physical, quota = facts["usable_cores"], facts["physical_cores"], facts["limits"]["cpus"]
    threads = cores if quota is None else max(1, min(cores, int(quota)))
    for each in found["frameworks"]:
        if each["reason"]:
            yield f"{each['reason']}: {each['install']}"
    if any(each["where"] == "made on demand" for each in found["frameworks"]):
        yield ("What is made on demand runs in an environment of its own, made when a race names it or by: "
               "photofinish env create NAME")
    if found["compiler"] is None:
        yield "No C++ compiler: torch:compile cannot run on the CPU. Install g++."
    for each in found["energy"].values():
        if each["cure"]:
            yield f"Energy: {each['reason']}: {each['cure']}"
    if noise["foreign"] is not None and noise["foreign"] > BUSY:
        yield (f"Other programs use {noise['foreign']:.0%} of this machine: races take longer to decide. "
               "Stop them, or give a larger --budget.")
    if noise["steal"]:
        yield f"The host withholds {noise['steal']:.1%} of the CPU time: blocks it disturbs are repeated once."
    if noise["slowest"] > UNSTEADY:
        yield (f"A fixed job takes {noise['slowest']:.0%} longer one time in twenty: expect wide intervals, "
               "and trust a verdict only with them.")
    if physical and physical < threads:
        yield (f"{cores} threads share the units of {physical} cores (hyper-threading): try --threads {physical} as "
               "well, one for each core.")
    if facts["frequency"]["governor"] not in (None, "performance"):
        yield f"The frequency governor is {facts['frequency']['governor']}: `performance` makes times steadier."
    if threads < cores:
        yield (f"This container may use {quota:g} cores' time but sees {cores}: contenders have {threads} "
               f"thread{'' if threads == 1 else 's'}, and are throttled if you give them more (--threads).")


def _memory(there: int | None, allowed: int | None) -> str | None:
    if there is None:
        return None
    less = "" if allowed is None or allowed >= there else f", of which this container may use {allowed / 2**30:.1f}"
    return f"{there / 2**30:.1f} GiB{less}"


def sheet(found: dict[str, Any]) -> "Document":
    from photofinish.cli import output
    from photofinish.render.document import Block, Column, Facts, Heading, Note, Table
    from photofinish.render.quantities import duration
    facts, noise = found["machine"], found["noise"]
    frameworks = Table("frameworks", (Column("Framework", "code"), Column("Version here"), Column("Modes")), tuple(
        (each["name"], each["version"] or each["where"], ", ".join(each["modes"])) for each in found["frameworks"]))
    share = {name: "not known" if noise[name] is None else f"{noise[name]:.1%} of the CPU"
             for name in ("foreign", "steal")}
    blocks: list[Block] = [
        Heading("Frameworks"), frameworks, Facts((("C++ compiler (torch:compile)", found["compiler"] or "none"),)),
        Heading("This machine"), Facts((
            ("processor", facts["cpu"]), ("cores", f"{facts['usable_cores']} of {facts['cores']} usable"),
            ("physical cores", str(facts["physical_cores"]) if facts["physical_cores"] else None),
            ("instructions", ", ".join(facts["flags"]) or None),
            ("memory", _memory(facts["memory"], facts["limits"]["memory"])),
            ("GPU", ", ".join(each["name"] for each in facts["gpus"]) or "none"),
            ("system", f"{facts['system']}, {facts['kernel']}, {facts['python']}, {facts['libc']}"),
            ("virtual", facts["virtual"] or "no"),
            ("frequency control", facts["frequency"]["governor"] or "not visible"))),
        Heading("What can be measured"), Facts((*found["measures"].items(), *(
            (f"energy ({name})", f"yes: {', '.join(each['domains'])}" if each["domains"] else f"no: {each['reason']}")
            for name, each in found["energy"].items()))),
        Heading("Noise now"), Facts((
            ("used by others", share["foreign"]), ("withheld by the host", share["steal"]),
            ("load average", None if noise["load_average"] is None else f"{noise['load_average']:.2f}"),
            ("a fixed job", f"{duration(noise['median'])}, one time in twenty {noise['slowest']:.0%} slower"))),
        *(Note((text,)) for text in found["advice"])]
    return output.sheet("Photofinish on this machine", "", *blocks)
