"""A graph as CNTK source, without CNTK: a file per family of layers, and `source`, which joins them."""
