"""PyTorch's modes, a file each. What a mode has to say is in ../mode.py."""
