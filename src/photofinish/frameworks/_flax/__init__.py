"""A graph as JAX source, without JAX: a file per family of layers; `source` joins them in flax.nnx modules, `plain` in
functions of dictionaries."""
