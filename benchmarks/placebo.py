"""How often a race of a contender against itself claims a difference, how narrow its interval gets and what
it takes, beside the usual protocol (10 warm-ups, 100 steps, one process after the other, Welch's test).

Aim: no placebo called FASTER or SLOWER, an interval of +-2 % within 90 seconds.
"""

import argparse
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from scipy.stats import ttest_ind

from photofinish import api
from photofinish.runner.allocator import AS_IT_LIKES
from photofinish.runner.arrange import find_entries, make_case, open_course
from photofinish.runner.course import Course
from photofinish.runner.entry import Entry
from photofinish.store import Store
from photofinish.values import Result

CASES = (("digits_cnn", None, 32), ("resnet18", (3, 32, 32), 8))
CONTENDERS = ("torch:eager", "tensorflow:graph")
WARM_UPS, STEPS = 10, 100


def usual_protocol(course: Course, entry: Entry) -> list[float]:
    """Seconds of STEPS steps of a fresh process, after WARM_UPS that nobody looks at."""
    worker = course.start(entry, 0, memory=AS_IT_LIKES)
    try:
        worker.ask("load", 300, **course.load_arguments(entry))
        worker.ask("build", 300, **course.build_arguments())
        worker.ask("weights", 300, **course.weights_arguments())
        worker.ask("block", 300, task="train", steps=WARM_UPS)
        seconds: list[float] = worker.ask("block", 600, task="train", steps=STEPS)["seconds"]
        return seconds
    finally:
        worker.kill()


def placebo(store: Path, model: str, shape: tuple[int, ...] | None, batch: int, contender: str,
            budget: float) -> tuple[Result, float, float]:
    """A race of `contender` against itself: the result, what it took, and Welch's p of the usual protocol."""
    begin = time.monotonic()
    (result,) = api.race(model, [contender, contender], shape=shape, batch=batch, budget=budget, store=store,
                         precision=0.02)
    seconds = time.monotonic() - begin
    entries, _ = find_entries([contender, contender], "cpu")
    graph, case, optimizer = make_case(model, batch, shape, None, "", "out-of-the-box", "cpu", None)
    with open_course(Store(store), {"train": case}, graph, optimizer, entries, lambda *_: None, 0) as course:
        first, second = (usual_protocol(course, entry) for entry in entries)
    return result, seconds, float(ttest_ind(first, second, equal_var=False).pvalue)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--races", type=int, default=20)
    parser.add_argument("--budget", type=float, default=90.0)
    parser.add_argument("--model", choices=[model for model, *_ in CASES], help="one model only")
    parser.add_argument("--contender", choices=CONTENDERS, help="one contender only")
    options = parser.parse_args()
    pairs = [(case, contender) for contender in CONTENDERS for case in CASES
             if options.model in (None, case[0]) and options.contender in (None, contender)]
    words: list[str] = []
    widths: list[float] = []
    took: list[float] = []
    fooled = 0
    with TemporaryDirectory() as folder:
        for number in range(options.races):
            (model, shape, batch), contender = pairs[number % len(pairs)]
            result, seconds, p = placebo(Path(folder), model, shape, batch, contender, options.budget)
            (verdict,) = result.verdicts
            words.append(verdict.verdict)
            took.append(seconds)
            if verdict.low is not None and verdict.high is not None:
                widths.append((verdict.high - verdict.low) / 2)
            fooled += p < 0.05
            print(f"{number + 1:2} {model:11} {contender:17} {verdict.verdict:11} ratio {verdict.ratio or 0:.4f} "
                  f"+-{100 * (widths[-1] if widths else 0):.2f} % in {seconds:.0f} s; usual protocol p = {p:.2g}",
                  flush=True)
    false = sum(word in ("FASTER", "SLOWER") for word in words)
    print(f"false verdicts: {false} of {len(words)}; usual protocol 'significant': {fooled} of {len(words)}")
    print(f"verdicts: {', '.join(f'{words.count(word)} {word}' for word in dict.fromkeys(words))}")
    print(f"half-width: median {100 * median(widths):.2f} %, largest {100 * max(widths):.2f} %; "
          f"seconds: median {median(took):.0f}, largest {max(took):.0f}")


if __name__ == "__main__":
    main()
