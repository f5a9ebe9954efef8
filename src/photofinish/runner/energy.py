"""Energy of a race: idle power before anything starts, and in each launch a run of several seconds of each contender,
or in whole trainings every epoch.

The runs come after the rounds, which they leave as they are. Counters are read by the parent, before and after a run,
while everybody else is stopped, and once a minute of an epoch that takes longer: counters start again.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from photofinish import sensors
from photofinish.runner.course import Course
from photofinish.runner.machines import Machine
from photofinish.stats.plan import block_steps
from photofinish.values import Block, Energy, Metering, Progress

IDLE_SECONDS = 5.0
RUN_SECONDS = 5.0  # of a run: counters are brought up to date up to a tenth of a second late
MOST_STEPS = 100_000
BUSY = 0.05  # of the time before the race: more is somebody else's work

Told = TypeVar("Told")


def prepare(course: Course) -> Metering:
    """Finds the sensors of the course's device, gives the course its meter and watches the machine idle."""
    found = sensors.meter(course.case.device)
    if isinstance(found, sensors.Absent):
        return Metering(reason=found.reason, cure=found.cure)
    if course.case.device != "cpu" and any(entry.contender.world > 1 for entry in course.entries):
        return Metering(reason="one GPU's counter is read, and a contender here has several")
    if any(isinstance(host, Machine) for host in course.hosts):
        return Metering(reason="this machine's counters do not see the other machines of --hosts")
    course.listener(Progress("plan", f"measuring idle power by {found.title}"))
    try:
        before = found.read()
        idle = found.idle(IDLE_SECONDS)
        busy = found.busy(before) or 0.0
    except OSError as error:
        return Metering(reason=f"{found.title} cannot be read ({error})")
    if busy > BUSY:
        course.listener(Progress("warning", f"other programs keep the device busy for {busy:.0%} of the time: steps "
                                            "take longer, and not alike for all; stop them"))
    course.meter = found
    return Metering(found.title, idle)


def ask(course: Course, question: Callable[[sensors.Meter], Told]) -> Told | None:
    """What the course's meter answers, None where there is none. One that fails is asked no more."""
    if course.meter is None:
        return None
    try:
        return question(course.meter)
    except OSError as error:
        course.meter = None
        course.listener(Progress("plan", f"energy is measured no further: {error}"))
        return None


def run_steps(step_seconds: float) -> int:
    """The timed steps of a run."""
    return block_steps(step_seconds, RUN_SECONDS, MOST_STEPS)


def measure(meter: sensors.Meter, block: Callable[[int], Block], steps: int) -> Energy:
    """What `steps` steps take: a run of as many, less one of a single step, which pays as well for reloading the
    weights, for the first step after waking and for asking. Raises OSError if a sensor fails."""
    before = meter.read()
    one = len(block(1).seconds)  # or the steps of a period
    between = meter.read()
    run = block(steps + one)
    after = meter.read()
    once, whole = meter.used(before, between), meter.used(between, after)
    seconds = (after.clock - between.clock) - (between.clock - before.clock)
    return Energy(run.launch, run.contender, run.task, {each: whole[each] - once[each] for each in whole}, seconds,
                  len(run.seconds) - one, run.foreign, meter.busy(between))


def of_epoch(meter: sensors.Meter, before: sensors.Reading, launch: int, contender: str, task: str, number: int,
             reply: dict[str, Any]) -> Energy:
    """What an epoch took that has just ended as its worker says. Raises OSError as `measure` does."""
    after = meter.read()
    return Energy(launch, contender, task, meter.used(before, after), after.clock - before.clock, reply["steps"],
                  reply["foreign"], meter.busy(before), number)
