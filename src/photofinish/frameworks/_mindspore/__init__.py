"""A graph as MindSpore source, without MindSpore: a file per family of layers, and `source`, which joins them."""
