"""A graph in tinygrad: plain classes over its Tensor. Needs no tinygrad: see ../tinygrad.py for what runs it."""
