"""What makes a program of the printed module (../../scripts.py)."""

IMPORTS = "import mxnet as mx"
FEED = "mx.nd.array({})"
READ = "loss.asscalar()"
