"""What makes a program of the printed module (../../scripts.py)."""

CHANNELS_LAST = True
STEP = "loss = train_step({})"
READ = "float(loss)"
