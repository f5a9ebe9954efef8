"""What makes a program of the printed module (../../scripts.py)."""

IMPORTS = "import mlx.core as mx\nimport mlx.optimizers as optim"
CHANNELS_LAST = True
FEED = "mx.array({})"
READ = "loss.item()"
