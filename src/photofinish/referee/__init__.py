"""The referee: pure functions from arrays and probe results to certificates and audits."""

from photofinish.referee.certificate import certify, judge

__all__ = ["certify", "judge"]
