"""A graph as Chainer source, without Chainer: a file per family of layers, and `source`, which joins them."""
