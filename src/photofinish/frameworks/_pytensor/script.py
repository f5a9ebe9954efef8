"""What makes a program of the printed module (../../scripts.py)."""

READ = "float(loss)"
