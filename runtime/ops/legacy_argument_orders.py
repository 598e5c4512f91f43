"""Orders of arguments that PyTorch once had, and old programs are written with: a factor stood
before the tensors that it multiplies, as in `p.add_(-lr, grad)`."""
import functools
from numbers import Number

from ..autograd.modes import warn
from .declared_signatures import declare
from .public_functions import PUBLIC
from .registry import is_tensor
from .surface import FUNCTIONS, METHODS

_OF_SUMS = "beta", "alpha"
# function -> (how many tensors it takes, the names of the factors in their old order)
ORDERS = {
    "add": (2, ("alpha",)), "sub": (2, ("alpha",)), "addcmul": (3, ("value",)),
    "addcdiv": (3, ("value",)), **dict.fromkeys(
        ("addmm", "addmv", "addr", "addbmm", "baddbmm"), (3, _OF_SUMS))}
_told: set[str] = set()
# The functions themselves, by number: one that lies in a variable of a wrapper is taken for the
# user's by a trace.
_FUNCTIONS: list = []


def _in_order(name, args, kwargs):
    """The arguments of a call as the function takes them; None where they are in no old order."""
    count, factors = ORDERS[name.rstrip("_")]
    tensors = [x for x in args if is_tensor(x)]
    numbers = [x for x in args if isinstance(x, Number)]
    if len(tensors) != count or not 1 <= len(numbers) <= len(factors) \
            or len(tensors) + len(numbers) != len(args) or not is_tensor(args[-1]):
        return None
    return tensors, {**kwargs, **dict(zip(factors, numbers))}


def in_old_order(name, fn):
    """A function that also takes its arguments in the old order."""
    number = len(_FUNCTIONS)
    _FUNCTIONS.append(fn)

    @functools.wraps(fn)
    def call(*args, **kwargs):
        try:
            return _FUNCTIONS[number](*args, **kwargs)
        except TypeError:
            ordered = _in_order(name, args, kwargs)
            if ordered is None:
                raise
        if name not in _told:
            _told.add(name)
            warn(f"{name}: numbers before the tensors that they multiply are deprecated, pass them "
                 f"as {' and '.join(ORDERS[name.rstrip('_')][1])}=.", stacklevel=3)
        tensors, named = ordered
        return _FUNCTIONS[number](*tensors, **named)
    if fn.__code__.co_filename == "<whet>":  # the family's machinery names arguments itself
        call.guarded = True                  # type: ignore[attr-defined]
    PUBLIC[fn] = call
    return declare(call, fn, list)


for _name in ORDERS:
    for _table in FUNCTIONS, METHODS:
        for _n in (_name, f"{_name}_"):
            if _n in _table:
                _table[_n] = in_old_order(_n, _table[_n])
