"""The claims ledger as a report: what was said, what the stored races say to it, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from photofinish.claims import JUDGEMENTS, Claim, Judgement
from photofinish.render.document import Block, Column, Document, Fold, Note, Paragraph, Section, Span, Table
from photofinish.reports import provenance
from photofinish.values import Result, to_json

_STYLES = {"CONFIRMED": "good", "REFUTED": "bad", "OUTDATED": "bad"}


def document(judgements: Sequence[Judgement], races: Sequence[Result] = ()) -> Document:
    """`races` are those that the judgements were made by."""
    counts = Counter(each.word for each in judgements)
    told = ", ".join(f"{counts[word]} {word}" for word in JUDGEMENTS if counts[word])
    blocks: list[Block] = [Paragraph((told + ".",)), _table(judgements)]
    blocks += [_sides(each) for each in judgements if each.speaking_for or each.speaking_against]
    blocks.append(Note(("A judgement follows from what is in the store: run more of a study, or the programs "
                        "(--check), and read it again.",)))
    sections = (Section("claims", "", tuple(blocks)), provenance.section(races))
    return Document("Claims", "what is said of frameworks, and what the races in the store say to it", "Claims",
                    (told,), (), tuple(each for each in sections if each.blocks))


def as_json(judgements: Sequence[Judgement]) -> list[dict[str, Any]]:
    """The documented objects of `photofinish claims --json`."""
    return [{"id": each.claim.id, "words": each.claim.words, "source": each.claim.source, "test": each.claim.test,
             "published": each.claim.published, "study": each.claim.study, "proxy": each.claim.asks.get("proxy", ""),
             "judgement": each.word, "why": each.why, "for": to_json(each.speaking_for),
             "against": to_json(each.speaking_against)} for each in judgements]


def _table(judgements: Sequence[Judgement]) -> Table:
    columns = (Column("Claim", "code"), Column("Words"), Column("Judgement"), Column("Why"))
    return Table("claims", columns, tuple(
        (each.claim.id, _said(each.claim), Span(each.word, _STYLES.get(each.word, "")),
         "; ".join(filter(None, (each.why, each.elsewhere)))) for each in judgements))


def _said(claim: Claim) -> str:
    words = claim.words if claim.asks.get("paraphrase") or '"' in claim.words else f'"{claim.words}"'
    return f"{words} ({claim.source})" + (f" Published: {claim.published}." if claim.published else "")


def _sides(judgement: Judgement) -> Fold:
    rows = [(title, side) for side, titles in (("for", judgement.speaking_for), ("against", judgement.speaking_against))
            for title in titles]
    return Fold(f"{judgement.claim.id}: what speaks for and against it",
                (Table(judgement.claim.id, (Column("What"), Column("Speaks")), tuple(rows)),))
