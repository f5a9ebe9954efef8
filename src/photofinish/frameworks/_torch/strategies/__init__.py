"""How several processes of PyTorch train one model: a file per strategy."""
