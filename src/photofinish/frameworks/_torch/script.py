"""What makes a program of the printed module (../../scripts.py)."""

FEED = "torch.from_numpy({})"
READ = "loss.item()"
