"""How several processes, or several devices of one, train one model in JAX: a file per strategy."""
