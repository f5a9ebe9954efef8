"""What doctor says of machines that are made up."""

from typing import Any

import pytest

from photofinish.cli import doctor
from photofinish.render.document import Facts


def found(**facts: object) -> dict[str, Any]:
    """Of a machine where all is well but for those facts."""
    seen: dict[str, Any] = {
        "cpu": "Example CPU", "cores": 8, "usable_cores": 8, "physical_cores": 8, "flags": ["avx2"],
        "frequency": {"governor": None}, "memory": 64 * 2**30, "limits": {"cpus": None, "memory": None}, "gpus": [],
        "system": "Example", "kernel": "Linux", "python": "CPython", "libc": "glibc", "virtual": "", **facts}
    told = {"frameworks": [], "compiler": "g++", "machine": seen, "measures": {}, "energy": {},
            "noise": {"foreign": 0.0, "steal": 0.0, "load_average": 0.0, "median": 1e-3, "slowest": 0.0}}
    return {**told, "advice": list(doctor.advice(told))}


@pytest.mark.parametrize(("facts", "advice"), [
    ({}, ""), ({"physical_cores": None}, ""), ({"physical_cores": 1, "usable_cores": 1}, ""),  # what taskset left
    ({"physical_cores": 4}, "try --threads 4"),
    ({"physical_cores": 6}, "try --threads 6"),  # two kinds of cores
    ({"physical_cores": 4, "limits": {"cpus": 2.5, "memory": None}}, "2.5 cores' time but sees 8"),
    ({"physical_cores": 4, "limits": {"cpus": 6.0, "memory": None}}, "try --threads 4"),
])
def test_advice_on_threads_is_of_the_cores_that_a_race_may_use(facts: dict[str, Any], advice: str) -> None:
    told = " ".join(found(**facts)["advice"])
    assert advice in told and ("--threads" in told) is bool(advice)
    assert ("hyper-threading" in told) is ("try" in advice)


@pytest.mark.parametrize(("allowed", "memory"), [
    (None, "64.0 GiB"), (2 * 2**30, "64.0 GiB, of which this container may use 2.0"), (2**40, "64.0 GiB")])
def test_memory_is_what_a_container_allows(allowed: int | None, memory: str) -> None:
    sheet = doctor.sheet(found(limits={"cpus": None, "memory": allowed}))
    facts = dict(pair for block in sheet.sections[0].blocks if isinstance(block, Facts) for pair in block.items)
    assert facts["memory"] == memory
