"""What `autocast` has computed in float32: losses, and what loses most in a smaller type."""
import functools

from ..autograd import modes
from ..dtypes import FLOAT, float32
from .public_functions import PUBLIC
from .registry import is_tensor


def precise(fn):
    """A function that `autocast` has computed in float32."""
    @functools.wraps(fn)
    def call(*args, **kwargs):
        if modes.state.autocast is not None:
            args = [widened(x) for x in args]
            kwargs = {k: widened(x) for k, x in kwargs.items()}
        return fn(*args, **kwargs)
    PUBLIC[fn] = call
    return call


def widened(x):
    """An operand of such a function: a tensor of a small type in float32, all else as it is."""
    if modes.state.autocast is None or not is_tensor(x):
        return x
    return x.to(float32) if x.dtype.category == FLOAT and x.dtype.itemsize == 2 else x
