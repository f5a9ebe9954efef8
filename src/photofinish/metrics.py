"""Every measure: its name, unit, which way is better, and how it is obtained. Reports know these and
no framework."""

from dataclasses import dataclass
from typing import Dict


@dataclass(frozen=True)
class Metric:
    name: str
    title: str
    unit: str
    better: str  # "lower", "higher" or "" where neither is
    how: str


METRICS: Dict[str, Metric] = {each.name: each for each in (
    Metric("step", "time per step", "s", "lower", "wall clock around each step in steady state, synchronised"),
    Metric("throughput", "throughput", "/s", "higher",
           "what a batch has of the model's unit, padding included, over time per step"),
    Metric("efficiency", "scaling efficiency", "share", "higher",
           "speed of N processes that share a batch over N times that of one of them alone"),
    Metric("latency", "latency under load", "s", "lower",
           "from a query's arrival, at a moment drawn beforehand, to its answer"),
    Metric("start", "process start", "s", "lower",
           "from fork to the worker's first line; of several processes to that of the last"),
    Metric("import", "import", "s", "lower",
           "importing the framework in a fresh process, and getting its device ready where it does so before a model"),
    Metric("build", "build", "s", "lower", "making the native model, and the optimizer where it trains"),
    Metric("weights", "load weights", "s", "lower", "copying canonical weights into the native model"),
    Metric("transfer", "transfer", "s", "lower", "putting the input batches on the device"),
    Metric("data", "open data", "s", "lower", "opening the data set that the parent has read"),
    Metric("compile", "compile or trace", "s", "lower",
           "the first call less one steady step: tracing, compiling and autotuning"),
    Metric("first_step", "first step", "s", "lower", "the first call, compilation included"),
    Metric("warm_up", "warm-up", "s", "lower", "from the second step to steady state"),
    Metric("first_batch", "first batch", "s", "lower", "in an epoch: until its first batch is there"),
    Metric("last_epoch", "last epoch", "s", "lower", "the last of several, beside which memory is looked at"),
    Metric("steady", "steady steps", "s", "lower", "a few steps in steady state, beside which memory is looked at"),
    Metric("memory", "peak memory", "B", "lower",
           "peak resident set of the process, or of all processes of a contender together"),
    Metric("device_memory", "peak device memory", "B", "lower", "the framework's own device allocator"),
    Metric("cpu_per_wall", "CPU used", "cores", "", "own CPU seconds over wall seconds in timed blocks"),
    Metric("device_busy", "device busy", "share", "", "the driver's own samples over a run of several seconds"),
    Metric("energy", "energy", "J", "lower", "the sensors' counters over a run of several seconds, per item"),
    Metric("idle_energy", "idle energy", "J", "", "of that, idle power before the race times the time an item takes"),
    Metric("net_energy", "energy less idle", "J", "lower", "energy less idle energy"),
    Metric("power", "power", "W", "", "energy of such a run over its seconds"),
    Metric("faults_per_step", "page faults", "/step", "lower", "minor faults of the process over timed steps"),
)}
