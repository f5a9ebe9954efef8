"""How several processes, or several devices of one, train one model in TensorFlow: a file per strategy."""
