"""A graph as Gluon source, without MXNet: a file per family of layers, and `source`, which joins them."""
