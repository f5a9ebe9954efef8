"""How long a phase takes, with its interval: launches are processes of their own, so each gives one figure."""

import numpy as np

from photofinish.stats.paired import interval
from photofinish.stats.standings import REHEARSAL
from photofinish.values import Estimate, Race


def estimate_phase(race: Race, contender: str, phase: str, level: float = 0.95) -> Estimate | None:
    """Seconds of a phase ("import", "first_step:train") in the launches of a race, whose caches are warm (geometric
    mean); None where none was recorded."""
    seconds = {each.launch: each.seconds for each in race.phases
               if (each.contender, each.name) == (contender, phase) and each.launch != REHEARSAL and each.seconds > 0}
    return interval(np.log(list(seconds.values())), level) if seconds else None
