"""The part of the fake framework: what drives it in several processes."""
