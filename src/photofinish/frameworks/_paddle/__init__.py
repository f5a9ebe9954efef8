"""A graph as Paddle source, without Paddle: a file per family of layers, and `source`, which joins them."""
