"""A graph as PyTorch source, without PyTorch: a file per family of layers, and `source`, which joins them."""
