"""A graph as PyTensor source, without PyTensor: a file per family of layers, and `source`, which joins them."""
