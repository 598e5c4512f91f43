"""`whet.ops.aten`: ops beneath gradients, by the names that PyTorch has for them.

Programs name ops so where they count them (`utils.flop_counter`) or choose what is kept of a block
(`utils.checkpoint`). `aten.mm` is a packet, `aten.mm.default` its overload: each op has one.
"""
import contextlib
import threading

from .. import op_table
from .contract import linear_op, matmul_op, unrounded_matmul_op
from .convolutions import conv_input_grad_op, conv_op, conv_weight_grad_op
from .surface import FUNCTIONS

CONVOLUTIONS = conv_op, conv_input_grad_op, conv_weight_grad_op
# what `name_of` makes of ops that are called otherwise here
OTHERS = frozenset(
    ("mm", "bmm", "addmm", "mv", "convolution", "convolution_backward", "_to_copy",
     # parts of other calls here, which libraries put into tables of what they override
     "alias", "_pin_memory", "_sparse_addmm", "_sparse_mm_reduce_impl"))
# forms that PyTorch has of an op for other arguments: they are the one that an op has here
OVERLOADS = frozenset(
    ("Tensor", "Scalar", "Tensor_Scalar", "Scalar_Tensor", "Tensor_Tensor", "Scalar_Scalar",
     "Tensor_mode", "Scalar_mode", "int", "float", "dim", "dims", "dim_IntList", "int_list",
     "self", "other", "input", "dtype", "dim_dtype", "stable", "correction", "padding", "vec",
     "reduce", "value", "n", "values", "generator", "self_int", "using_ints", "from_Tensor"))


class OpOverloadPacket:
    """A name of ops.

    >>> import whet
    >>> whet.ops.aten.mm
    <OpOverloadPacket(op='aten.mm')>
    >>> whet.ops.aten.relu(whet.tensor([-1., 1.]))
    tensor([0., 1.])
    >>> whet.ops.aten.add.Tensor
    <OpOverload(op='aten.add', overload='default')>
    """
    __slots__ = ("__name__", "default")

    def __init__(self, name):
        self.__name__ = name
        self.default = OpOverload(self)

    def __getattr__(self, name):
        if name in OVERLOADS:
            return self.default
        raise AttributeError(f"'{type(self).__name__}' object of {self} has no overload {name!r}")

    def __call__(self, *args, **kwargs):
        if self.__name__ not in FUNCTIONS:
            raise NotImplementedError(f"{self}: there is no function of this name to call")
        return FUNCTIONS[self.__name__](*args, **kwargs)

    def __str__(self):
        return f"aten.{self.__name__}"

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self}')>"

    def __reduce__(self):
        return packet, (self.__name__,)

    @property
    def _qualified_op_name(self):
        return f"aten::{self.__name__}"

    def overloads(self):
        """The names of its overloads."""
        return ["default"]


class OpOverload:
    """The one form that an op has."""
    __slots__ = ("overloadpacket",)

    def __init__(self, named):
        self.overloadpacket = named

    def __call__(self, *args, **kwargs):
        run = _standing().get(self, self.overloadpacket)
        return run(*args, **kwargs)

    @property
    def __name__(self):
        return f"{self.overloadpacket.__name__}.default"

    def __str__(self):
        return f"{self.overloadpacket}.default"

    def __repr__(self):
        return f"<OpOverload(op='{self.overloadpacket}', overload='default')>"

    def __reduce__(self):
        return getattr, (self.overloadpacket, "default")

    def name(self):
        """The name, as schemas have it."""
        return self.overloadpacket._qualified_op_name


_local = threading.local()


def _standing():
    """What names of ops stand for on this thread, where a mode is asked about one of them."""
    return vars(_local).setdefault("standing", {})


@contextlib.contextmanager
def standing_for(named, run):
    """A name stands for a call of an op while a mode is asked about that."""
    standing = _standing()
    before = standing.get(named)
    standing[named] = run
    try:
        yield
    finally:
        standing.pop(named)
        if before is not None:
            standing[named] = before


_packets: dict[str, OpOverloadPacket] = {}


def packet(name):
    """The packet of a name: there is one of each."""
    return _packets.setdefault(name, OpOverloadPacket(name))


def name_of(op, inputs, is_backward):
    """The name of an op on these operands, in a backward or not. Products and convolutions go by
    PyTorch's ways to make them: rows of all dimensions but the last are one matrix."""
    if op is linear_op:
        return "mm" if len(inputs) < 3 or inputs[2] is None else "addmm"
    if op in (matmul_op, unrounded_matmul_op):
        a, b = [x._array.ndim for x in inputs]
        return "mm" if b == 2 else "mv" if 1 in (a, b) else "bmm"
    if op in CONVOLUTIONS:
        is_gradient = is_backward or op is conv_weight_grad_op
        return "convolution_backward" if is_gradient else "convolution"
    if op.name[:3] == "to_":
        return "_to_copy"
    return op.name


def __getattr__(name):
    if name[:2] != "__" and (name in OTHERS or name in FUNCTIONS or name in op_table.REGISTRY):
        return packet(name)
    raise AttributeError(f"'_OpNamespace' 'aten' object has no attribute '{name}'")
