"""How far an inference is from what the machine allows: in words, layer by layer, and for --json."""

from __future__ import annotations

from typing import Any

from photofinish.explain.roofline import Roofline
from photofinish.render.document import Column, Fold, Paragraph, Quantity, Section, Table, Text
from photofinish.render.quantities import write
from photofinish.reports.causes import layer
from photofinish.reports.reading import listed
from photofinish.values import to_json


def section(roofline: Roofline) -> Section:
    """What an inference is short of the machine's own limits."""
    ceilings = roofline.ceilings
    low = any(reached > 1 for reached in roofline.reached.values())
    past = low or any(reached > 1 for each in roofline.roofs for reached in each.reached.values())
    whole: Text = ("At that its layers take " if past else "Its layers cannot take less than ",
                   Quantity(roofline.floor, "duration"), ": ",
                   *listed([f"{write(reached, 'percent')} of the inference of {name}"
                            for name, reached in roofline.reached.items()]), ".",
                   *([f" Somebody was faster{'' if low else ' in a layer'}: the data was in the caches, "
                      f"{'layers ran as one, ' if low else ''}products were saved (Winograd's convolutions, causal "
                      "attention), or other programs held back the work by which the ceilings were measured."]
                     if past else []))
    said: Text = (f"The best matrix product seen here made {ceilings.macs / 1e9:.3g} GMAC/s ({ceilings.macs_by}), the "
                  f"best pass over memory {ceilings.bytes / 1e9:.3g} GB/s ({ceilings.bytes_by}). ", *whole)
    names = tuple(roofline.reached)
    columns = (Column("Layer"), Column("What"), Column("Times", "count"), Column("Not less than", "duration"),
               Column("By"), *(Column(f"{name} reaches", "percent") for name in names))
    rows = tuple((each.part.name, layer(each.part), each.part.count, each.floor, each.bound,
                  *(each.reached.get(name) for name in names)) for each in roofline.roofs)
    table = Table("roofline", columns, rows, "Of one inference of a layer: its multiply-accumulates or its bytes, each "
                  "value once, at these ceilings; of a table what comes out of it. What hands its values on as they "
                  "lie has no line. Above 100 % its data was in the caches, or it saved products.")
    return Section("machine", "Distance to the machine", (Paragraph(said), Fold("Layer by layer", (table,))))


def as_json(found: Roofline | None) -> dict[str, Any] | None:
    """As documented for `photofinish why --json`; None where no ceilings were measured."""
    return None if found is None else {
        "ceilings": to_json(found.ceilings), "floor": found.floor, "reached": dict(found.reached),
        "layers": [{"name": each.part.name, "count": each.part.count, "floor": each.floor, "bound": each.bound,
                    "reached": dict(each.reached)} for each in found.roofs]}
