"""How several processes of the fake framework train one model: a file per strategy."""
