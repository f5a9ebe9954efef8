"""What makes a program of the printed module (../../scripts.py)."""

IMPORTS = "import mindspore as ms"
FEED = "ms.Tensor({})"
READ = "float(loss)"
