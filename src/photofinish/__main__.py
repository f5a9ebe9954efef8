"""`python -m photofinish` is the command line."""

from photofinish.cli import main

if __name__ == "__main__":
    main()
