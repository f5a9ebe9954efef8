"""Which library Theano's products are linked with."""

from pathlib import Path

import numpy as np


def flags() -> str:
    """For THEANO_FLAGS: NumPy's own OpenBLAS, "" where it brought none, and Theano looks for another. Theano would not
    find it, and multiply through NumPy, array by array."""
    found = sorted((Path(np.__file__).parent / ".libs").glob("libopenblas*.so"))
    return ",blas.ldflags=-L{} -l{}".format(found[0].parent, found[0].stem[len("lib"):]) if found else ""
