"""A graph as Keras source, without Keras: a file per family of layers, and `source`, which joins them."""
