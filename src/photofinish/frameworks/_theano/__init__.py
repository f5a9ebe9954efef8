"""A graph as Theano source, without Theano: a file per family of layers, and `source`, which joins them."""
