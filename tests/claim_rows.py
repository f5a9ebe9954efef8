"""Claims and rows of a store that speak for or against them."""

from photofinish.claims import Claim

PAIR = ("torch:eager", "tensorflow:graph")


def claim(test: str, **asks: object) -> Claim:
    return Claim("C0", "words", "somebody", test, {"study": "asu-2023", "a": PAIR[0], "b": PAIR[1], **asks})
