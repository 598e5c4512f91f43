"""`Variable`, as older programs call tensors that carry gradients: all tensors do."""
from .. import declared_for_tracing
from ..tensor_base import Base


class VariableMeta(type):
    """What counts as a `Variable`: a tensor."""

    @declared_for_tracing.goes_by_no_size
    def __instancecheck__(cls, x):
        return isinstance(x, Base)


class Variable(metaclass=VariableMeta):
    """A tensor, as older programs ask for one.

    >>> import whet
    >>> x = whet.autograd.Variable(whet.ones(2), requires_grad=True)
    >>> isinstance(x, whet.autograd.Variable), x.requires_grad
    (True, True)
    """

    def __new__(cls, data, requires_grad=False, volatile=None):
        if not isinstance(data, Base):
            raise TypeError("Variable(): argument 'data' (position 1) must be Tensor, not "
                            f"{type(data).__name__}")
        return data.detach().requires_grad_(requires_grad)
