"""What makes a program of the printed module (../../scripts.py)."""

CHANNELS_LAST = True
READ = "float(loss)"
