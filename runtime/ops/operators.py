"""The Python operators that belong to no family."""
from .arithmetic import as_operand
from .registry import is_tensor
from .surface import method


@method()
def __contains__(self, element):
    """Does any element equal the given one?"""
    if not (is_tensor(element) or isinstance(element, int | float | complex)):
        raise RuntimeError(
            "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
            f"{type(element)}.")
    return bool((self == element).any())


@method()
def __reversed__(self):
    """The first dimension in reverse order."""
    return self.flip(0) if self._array.ndim else self


@method()
def __divmod__(self, other):
    """(self // other, self % other)"""
    return self // other, self % other


@method()
def __rdivmod__(self, other):
    other = as_operand(other)
    return other // self, other % self


@method()
def __round__(self, ndigits=None):
    """Round half to even."""
    return self.round() if ndigits is None else self.round(decimals=ndigits)


@method()
def __trunc__(self):
    """Round towards zero."""
    return self.trunc()
