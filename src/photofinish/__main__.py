"""`photofinish` and `python -m photofinish` are the command line."""

import sys


def main() -> None:
    """Runs it. Ctrl-C while it is still being imported ends it as Ctrl-C does later."""
    try:
        from photofinish import cli
    except KeyboardInterrupt:
        print("photofinish: interrupted", file=sys.stderr)
        sys.exit(130)
    cli.main()


if __name__ == "__main__":
    main()
