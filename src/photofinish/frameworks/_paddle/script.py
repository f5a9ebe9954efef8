"""What makes a program of the printed module (../../scripts.py)."""

FEED = "paddle.to_tensor({})"
READ = "float(loss)"
