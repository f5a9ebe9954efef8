"""What went wrong: each failure with its last lines and the command that shows it again."""

from __future__ import annotations

from photofinish.render.document import Block, Code, Paragraph, Section, Span, Text
from photofinish.reports.reading import contender
from photofinish.values import Failure, Result

_LINES = 20


def section(result: Result) -> Section:
    blocks = [block for each in result.race.failures for block in told(each)]
    return Section("failures", "What failed", tuple(blocks))


def told(failure: Failure) -> list[Block]:
    where = [f"in {failure.phase.replace('_', ' ')}"] if failure.phase else []
    where += [f"of launch {failure.launch}"] if failure.launch else []
    who = contender(failure.contender) if failure.contender else "The race"
    text: Text = (who, ": ", Span(failure.kind, "bad"),
                  (" " + " ".join(where) if where else "") + (f": {failure.message}" if failure.message else "."))
    blocks: list[Block] = [Paragraph(text)]
    if failure.log:
        lines = failure.log.rstrip().splitlines()
        title = f"The last {_LINES} of {len(lines)} lines" if len(lines) > _LINES else "The end of its log"
        blocks.append(Code("\n".join(lines[-_LINES:]), title))
    if failure.command:
        blocks.append(Code(failure.command, "The command that shows it again"))
    return blocks
