"""What shows that contenders compute the same, and what they really ran with."""

from dataclasses import dataclass, field
from typing import Dict, Sequence, Tuple

UNNAMED = "no map names it"  # what a twin (frameworks' shipped.py) says of an array that it cannot be given


@dataclass(frozen=True)
class Check:
    """One group of tensors of a certificate. Errors are root-mean-square, relative to the reference's
    scale; `allowed` follows from the contender's own float32 self-noise. `worst` names the tensor."""

    group: str
    tensors: int
    error: float
    allowed: float
    passed: bool
    worst: str = ""


def unnamed(differences: Sequence[Sequence[str]]) -> bool:
    """True where the first of them is that no map says what the twin calls an array of the graph."""
    return bool(differences) and differences[0][2] == UNNAMED


@dataclass(frozen=True)
class Certificate:
    """The proof that one contender computes what the reference computes.

    `reference` says which (for example "numpy float64"); `listed` are tensors shown but not compared,
    each with its reason; `differences` are what tells another package's model, which cannot be proven, from the
    graph: what, the graph's, the contender's; `curves` maps an optimizer to the contender's ten losses; `forward_only`
    is the proof of outputs in inference and nothing else. `precision` is the format by whose rounding it was
    judged; one coarser than float32 rests on the certificate of `exact`, whose code it is. `slices` is into how many
    parts its processes divide each batch, where that makes a difference: what `of_slices` names is then taken of each,
    by the reference, too. `gradients` is what its processes send of them: "" all, a format to which they round them, or
    "approximated"; then it rests on the certificate of `exact`, too, which sends them as they are.
    `created` is when it was earned (ISO 8601), `reused` says that this was in an earlier race or `verify`.
    """

    contender: str
    digest: str
    passed: bool
    checks: Tuple[Check, ...]
    reference: str
    batch: int
    listed: Tuple[Tuple[str, str], ...] = ()
    curves: Dict[str, Tuple[float, ...]] = field(default_factory=dict)
    reference_curves: Dict[str, Tuple[float, ...]] = field(default_factory=dict)
    seconds: float = 0.0
    versions: Dict[str, str] = field(default_factory=dict)
    differences: Tuple[Tuple[str, str, str], ...] = ()
    forward_only: bool = False
    created: str = ""
    reused: bool = False
    precision: str = "float32"
    exact: str = ""
    slices: int = 1
    of_slices: Tuple[str, ...] = ()
    gradients: str = ""

    @property
    def unknown(self) -> bool:
        """True of another package's model that could not be given the graph's weights, as no map names its arrays, and
        that has as many parameters: whether it computes the same is not known."""
        return unnamed(self.differences) and all(ours == theirs for what, ours, theirs in self.differences
                                                 if what == "parameters")


@dataclass(frozen=True)
class Finding:
    """One line of the audit: what a contender really ran with, found by probing.

    `how` says what was done to find out; `expected` is what the regime asks for ("" if nothing).
    """

    contender: str
    topic: str
    found: str
    expected: str = ""
    how: str = ""
    warning: str = ""
