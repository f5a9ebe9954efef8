"""What makes a program of the printed module (../../scripts.py)."""

READ = "float(loss)"
EDITS = (  # NumPy was still without default_rng when Theano was retired
    (r"np\.random\.default_rng\(0\)", "np.random.RandomState(0)"),
    (r"rng\.standard_normal\((.*), np\.float32\)", r"rng.standard_normal(\1).astype(np.float32)"),
    (r"rng\.integers\(([^()]*, size=\([^()]*\))\)", r"rng.randint(\1, dtype=np.int32)"),
    (r"rng\.integers\(", "rng.randint("))
