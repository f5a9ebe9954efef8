"""How far each layer's inference is from what the machine can do: the roofline of Williams, Waterman & Patterson
(Communications of the ACM 52, 2009).

Two probes are timed as layers are, in the same launches: a large matrix product, and a pass over a tensor of 32 MiB.
The best of all contenders in each is the machine's ceiling as far as anybody here reaches it. A layer's floor is what
its multiply-accumulates or its bytes take at the ceilings, whichever is longer; each value is read or written once. Of
a table only what comes out counts, for a batch reads few of its rows, and some of them often; what hands its values on
as they lie has no floor.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from photofinish.explain.anatomy import Anatomy, with_part
from photofinish.explain.layers import WHOLE, own_seconds
from photofinish.layers import Linear, Relu, Spec
from photofinish.values import Part, Race

PRODUCT, STREAM = "probe: a matrix product", "probe: a pass over memory"
ROWS, WIDTH = 1024, 1024  # of a batch's rows by a square weight
STREAMED = 2**23  # values of a batch: 32 MiB in and as many out
ON_GPU = (4096, 4096, 2**26)  # the same: what takes a launch of a kernel no time beside it, and no cache holds
BYTES = 4  # of a float32
# Of these an inference need move nothing: they hand on what they get, or a view of it, in one layout at least.
HANDED_ON = ("Dropout", "StochasticDepth", "Flatten", "ImageToSequence", "RowsToSequence", "Select", "Slice")
TABLES = ("Embedding", "EmbeddingBag", "LearnedPositions")


@dataclass(frozen=True)
class Ceilings:
    """Multiply-accumulates and bytes a second, and who reached them."""

    macs: float
    macs_by: str
    bytes: float
    bytes_by: str


@dataclass(frozen=True)
class Roof:
    """The floor of one use of a layer in seconds, what sets it ("product" or "memory"), and the share of the ceiling
    that each contender reaches, above 1 where its data is in the caches or it saves multiply-accumulates."""

    part: Part
    floor: float
    bound: str
    reached: Mapping[str, float]


@dataclass(frozen=True)
class Roofline:
    """Of every layer that has a floor, in running order; `floor` is the sum for the whole model, `reached` that over
    each contender's inference."""

    ceilings: Ceilings
    roofs: tuple[Roof, ...]
    floor: float
    reached: Mapping[str, float]


def with_probes(taken: Anatomy, batch: int, device: str = "cpu") -> Anatomy:
    """The anatomy with the two probes, which stand in no model."""
    rows, width, streamed = (ROWS, WIDTH, STREAMED) if device == "cpu" else ON_GPU
    taken = with_part(taken, PRODUCT, Linear(width, bias=False), Spec("TC", (max(1, rows // batch), width)))
    return with_part(taken, STREAM, Relu(), Spec("C", (max(1, streamed // batch),)))


def distance(race: Race, names: Sequence[str]) -> Roofline | None:
    """None where no complete launch timed the probes, or nobody took long enough for them to be told."""
    own = {name: own_seconds(race, name) for name in names}
    known, batch = {part.name: part for part in race.parts}, race.case.batch
    rates = {name: known[PRODUCT].macs * batch / seconds[PRODUCT] for name, seconds in own.items()
             if seconds.get(PRODUCT, 0.0) > 0}
    flows = {name: moved(known[STREAM], batch) / seconds[STREAM] for name, seconds in own.items()
             if seconds.get(STREAM, 0.0) > 0}
    if not rates or not flows:
        return None
    fastest, widest = max(rates, key=rates.__getitem__), max(flows, key=flows.__getitem__)
    ceilings = Ceilings(rates[fastest], fastest, flows[widest], widest)
    roofs = tuple(_roof(part, batch, ceilings, own) for part in race.parts
                  if part.count and not part.training_only and (part.macs or moved(part, batch)))
    floor = sum(each.part.count * each.floor for each in roofs)
    return Roofline(ceilings, roofs, floor, {name: floor / seconds[WHOLE] for name, seconds in own.items()
                                              if WHOLE in seconds})


def moved(part: Part, batch: int) -> int:
    """Bytes that one use of a layer reads and writes at least."""
    if part.kind in HANDED_ON:
        return 0
    return BYTES * (part.values * batch + (0 if part.kind in TABLES else part.parameters))


def _roof(part: Part, batch: int, ceilings: Ceilings, own: Mapping[str, Mapping[str, float]]) -> Roof:
    product, memory = part.macs * batch / ceilings.macs, moved(part, batch) / ceilings.bytes
    floor = max(product, memory)
    reached = {name: floor / seconds[part.name] for name, seconds in own.items() if seconds.get(part.name, 0.0) > 0}
    return Roof(part, floor, "product" if product > memory else "memory", reached)
