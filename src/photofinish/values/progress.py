"""What a long job tells whoever watches it."""

from dataclasses import dataclass, field
from typing import Dict, Optional


@dataclass(frozen=True)
class Progress:
    """What a long job tells whoever watches it. `stage` is "environment", "making" (how far an installer is, in bytes),
    "certify", "launch", "block", "plan", "predict", "warning", "failure", "waiting" (a long request goes on: `done` of
    `total` where that is known) or "done"; `total` None means not known yet. `estimates` are the running seconds per
    step by contender; `seconds_left` is against the budget, of "waiting" until the request ends."""

    stage: str
    text: str = ""
    contender: str = ""
    task: str = ""
    done: int = 0
    total: Optional[int] = None
    seconds_left: Optional[float] = None
    estimates: Dict[str, float] = field(default_factory=dict)
