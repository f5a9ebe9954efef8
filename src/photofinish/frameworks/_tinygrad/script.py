"""What makes a program of the printed module (../../scripts.py)."""

IMPORTS = "from tinygrad import Context, Tensor, TinyJit"
FEED = "Tensor({}).realize()"
STEP = "loss = train_step({})"
READ = "loss.item()"
