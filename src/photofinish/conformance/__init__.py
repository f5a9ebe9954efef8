"""Does a worker keep the protocol? `run` asks it everything, and so does the command line (`command`); who is examined
is a `candidate`, what is asked an `examination`."""

from photofinish.conformance.candidate import Broken, Candidate, Check
from photofinish.conformance.command import found, main
from photofinish.conformance.examination import MODEL, Examination, run

__all__ = ["MODEL", "Broken", "Candidate", "Check", "Examination", "found", "main", "run"]
