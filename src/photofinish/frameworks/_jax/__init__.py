"""How JAX trains one model on several devices. What its graphs are written with is in ../_flax/."""
