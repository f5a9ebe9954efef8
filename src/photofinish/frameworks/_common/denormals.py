"""Denormals of a process whose framework has no switch for them: the C library's own."""

import ctypes
import ctypes.util
import platform
import sys

SIZE, MXCSR = 32, 28  # bytes of glibc's fenv_t on x86-64, and where it has the register
FLUSH = 0x8040  # its bits "flush to zero" and "denormals are zero"


def flush() -> bool:
    """Takes denormals for zero in this thread, and so in those that it starts from here on: XLA and TensorFlow always
    do. False where it is not known how (anything but Linux on x86-64)."""
    library = ctypes.util.find_library("m")
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64" or library is None:
        return False
    mathematics, state = ctypes.CDLL(library), ctypes.create_string_buffer(SIZE)
    if mathematics.fegetenv(state):
        return False
    register = ctypes.c_uint32.from_buffer(state, MXCSR)
    register.value |= FLUSH
    return bool(mathematics.fesetenv(state) == 0)
