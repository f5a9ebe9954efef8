"""Where races are kept, and reading them again."""

from collections.abc import Sequence
from pathlib import Path

from photofinish import stats
from photofinish.errors import UsageError
from photofinish.outcome import LinkSweep, Outcome, Sweep
from photofinish.runner.arrange import link_of
from photofinish.runner.session import judged
from photofinish.stats import batches as stats_batches
from photofinish.stats import communication
from photofinish.store import DEFAULT_STORE, Store, reading
from photofinish.values import Link, Result

TOLD = ("launches", "blocks", "epochs", "failures", "certificates")  # what the word of a verdict rests on


class Interrupted(KeyboardInterrupt):
    """The race was stopped by hand; `results` hold what had been measured."""

    def __init__(self, results: Outcome) -> None:
        super().__init__("interrupted")
        self.results = results


def load(session: str = "last", store: Path | str | None = None, latency: float | None = None,
         share: float = 0.9, predict: Sequence[Link | str] = ()) -> Outcome:
    """The results of one session ("last", its name, or one race's id), judged anew from raw records; `latency`, `share`
    and `predict` are as in `sweep`, if that is what it was.

    Raises UsageError if there is none.
    """
    kept = Store(Path(store) if store is not None else DEFAULT_STORE, only_read=True)
    sessions = kept.sessions()
    if not sessions:
        raise UsageError(f"no race has been run with the store {kept.folder}", "run one: photofinish race resnet18")
    for name, _, races in reversed(sessions):
        if session in ("last", name) or session in races:
            chosen = [session] if session in races else races
            results = [judged(kept.read(each)) for each in chosen]
            swept = stats_batches.swept([each.race for each in results])
            if latency is not None and not swept:
                raise UsageError("a bound of latency is for the sweep of a model over batches", "leave --latency out")
            linked = communication.linked([each.race for each in results])
            if predict and not linked:
                raise UsageError("what is predicted are steps over links", "leave --predict out")
            if linked:
                return LinkSweep(results, [found for each in predict if (found := link_of(each))])
            return Sweep(results, latency, share) if swept else Outcome(results)
    raise UsageError(f"no session {session!r} in {kept.path}",
                     "see them with: " + reading("report --list", kept.folder))


def listed(store: Path | str | None = None) -> list[tuple[str, Result]]:
    """(session, result) of every race in the store, the oldest first, judged from what its verdict rests on alone."""
    kept = Store(Path(store) if store is not None else DEFAULT_STORE, only_read=True)
    return [(session, stats.judge(kept.read(race, TOLD))) for session, _, races in kept.sessions() for race in races]
