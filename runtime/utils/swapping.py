"""Two tensors that become each other."""
import copyreg
import weakref

from ..autograd import modes

# what a tensor is: its memory with the cell that counts writes to that, and what is known of it
FIELDS = ("_array", "_cell", "_node", "_hist", "_grad", "_rg", "_extra", "__class__", "__dict__")


def swap_tensors(t1, t2):
    """Exchange what two tensors are: memory, class, history, gradient and attributes. Whoever has
    one of them sees the other from then on.

    >>> import whet
    >>> a, b = whet.zeros(2), whet.nn.Parameter(whet.ones(1))
    >>> whet.utils.swap_tensors(a, b)
    >>> a
    Parameter containing:
    tensor([1.], requires_grad=True)
    """
    modes.beyond("it swaps two tensors")
    slots_of = getattr(copyreg, "_slotnames")
    slots = [set(slots_of(type(t))) for t in (t1, t2)]
    for name, t in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefs(t):
            raise RuntimeError(f"swap_tensors: there are weak references to {name}")
        if t._base is not None:
            raise RuntimeError(f"swap_tensors: {name} is a view of another tensor")
    if slots[0] != slots[1]:
        raise RuntimeError("swap_tensors: t1 and t2 have different slots")
    if t1 is t2:
        return
    for name in (*FIELDS, *slots[0]):
        if hasattr(t1, name) or hasattr(t2, name):
            mine, theirs = getattr(t1, name), getattr(t2, name)
            setattr(t1, name, theirs)
            setattr(t2, name, mine)
    # What was saved of either for a backward is no longer there: its version is none from before.
    t1._bump("swap_tensors")
    t2._bump("swap_tensors")
    t1._cell.v = t2._cell.v = max(t1._cell.v, t2._cell.v)
