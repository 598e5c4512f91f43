"""Writes to tensors that a backward reads: it reads copies."""
import contextlib

from . import modes
from .modes import saved_tensors_hooks


class SavedCopies:
    """Copies of what nodes save, by the memory and the version that they are of."""

    def __init__(self):
        self.copies = {}

    def pack(self, t):
        """The key of a copy of `t` as it is now; what is saved several times is copied once."""
        cell = t._shared()
        # The cell is kept with the copy: no other one gets its id.
        key = id(cell), t._version, t.data_ptr(), t.shape, t.stride(), t.dtype
        if key not in self.copies:
            with modes.no_grad():
                self.copies[key] = cell, t.clone()
        return key

    def unpack(self, key):
        """The copy."""
        if key not in self.copies:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in "
                "which the graph was originally recorded.")
        return self.copies[key][1]

    def clear(self):
        """Drop all copies. A backward through earlier operations is no longer possible."""
        self.copies.clear()


@contextlib.contextmanager
def allow_mutation_on_saved_tensors():
    """Inside, tensors may be written to that a backward reads later on, which must take place
    inside, too: it finds what they held. Whatever is saved for it is copied.

    >>> import whet
    >>> x = whet.ones(2, requires_grad=True)
    >>> with whet.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x * 2
    ...     z = y * y
    ...     _ = y.zero_()
    ...     z.sum().backward()
    >>> x.grad
    tensor([8., 8.])
    """
    if any(isinstance(getattr(pack, "__self__", None), SavedCopies)
           for pack, _ in modes.state.saved_hooks):
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    copies = SavedCopies()
    with saved_tensors_hooks(copies.pack, copies.unpack):
        try:
            yield copies
        finally:
            copies.clear()
