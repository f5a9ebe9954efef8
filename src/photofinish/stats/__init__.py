"""Pure functions from raw figures to results: paired analysis, verdicts, steady state, planning, jobs."""

from photofinish.stats.standings import judge

__all__ = ["judge"]
