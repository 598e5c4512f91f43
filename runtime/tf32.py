"""TF32: whether devices may read factors of float32 with 10 bits of their fraction, as tensor cores
do. Products are several times as quick then, and off by up to a thousandth. They may not, unless
a program says so under one of PyTorch's names:

    whet.set_float32_matmul_precision("high")
    whet.backends.cuda.matmul.allow_tf32 = True
    whet.backends.cudnn.allow_tf32 = True           # convolutions

On the CPU nothing changes.
"""
from .autograd import modes

PRODUCTS, CONVOLUTIONS = 1, 2

allowed = 0                         # the bits of those that may
on_change: list = []                # what forgets plans that were made for others


def allow(what, may):
    """Let products, or convolutions, be rounded so, or not."""
    global allowed
    modes.beyond("it sets the precision of products")
    allowed = allowed | what if may else allowed & ~what
    for forget in on_change:
        forget()


def is_allowed(what):
    """May they?"""
    return modes.read(lambda: bool(allowed & what))
