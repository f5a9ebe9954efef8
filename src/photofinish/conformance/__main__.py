"""`python -m photofinish.conformance` examines a worker."""

import os
import sys

from photofinish.conformance import main

if __name__ == "__main__":
    try:
        code = main()
    except BrokenPipeError:  # nobody reads its output any more, and Python, at its end, would complain of that
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 141  # what a shell says of a program that SIGPIPE stopped
    sys.exit(code)
