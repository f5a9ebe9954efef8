"""A graph in MLX: modules of mlx.nn with their channels last. Needs no MLX: see ../mlx.py for what runs it."""
