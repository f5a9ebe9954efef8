"""What Keras calls layers without a name: conv2d, conv2d_1. It numbers them through all that a process makes."""

import re
from typing import Dict, Iterable

WORDS = ("conv2d", "batch_normalization")


def as_first(called: Iterable[str]) -> Dict[str, str]:
    """What numbered layers of one model, by the names they have, are called where it is the first of its process."""
    numbers: Dict[str, Dict[int, str]] = {word: {} for word in WORDS}
    for name in called:
        match = re.fullmatch("({})(?:_(\\d+))?".format("|".join(WORDS)), name)
        if match:
            numbers[match.group(1)][int(match.group(2) or 0)] = name
    return {of[number]: "{}_{}".format(word, place) if place else word
            for word, of in numbers.items() for place, number in enumerate(sorted(of))}
