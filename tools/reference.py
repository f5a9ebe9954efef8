"""Writes docs/reference/cli.md from the commands' own help; a test checks that it is current."""

from pathlib import Path

import click

from photofinish.cli import photofinish

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "cli.md"
WIDTH = 100
HEADER = """# Commands

Made by `make docs` from the commands' own `--help`.
"""


def page() -> str:
    """The help of every command, as it is printed in a terminal of WIDTH columns."""
    root = click.Context(photofinish, info_name="photofinish", max_content_width=WIDTH, terminal_width=WIDTH)
    parts = [HEADER, _entry(root)]
    for name, command in photofinish.commands.items():
        parts.append(_entry(click.Context(command, root, name, max_content_width=WIDTH, terminal_width=WIDTH)))
    return "\n".join(parts)


def _entry(context: click.Context) -> str:
    return f"## {context.command_path}\n\n```text\n{context.get_help().rstrip()}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
