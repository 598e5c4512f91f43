"""What can be asked of a tensor's type, and the type that operands meet in."""
import types

from .. import declared_for_tracing, dtypes
from ..dtypes import COMPLEX
from ..tensor import Tensor
from . import argument_guards, out_arguments, public_functions, surface
from . import pointwise as p
from .argument_errors import checked_input
from .registry import apply, check_tensors, is_tensor
from .storage import UntypedStorage
from .surface import FUNCTIONS, function


@function(method=False)
@declared_for_tracing.goes_by_no_size
def is_tensor_(obj):
    """Is the object a tensor?

    >>> import whet
    >>> whet.is_tensor(whet.ones(2)), whet.is_tensor([1, 2])
    (True, False)
    """
    return isinstance(obj, Tensor)


FUNCTIONS["is_tensor"] = FUNCTIONS.pop("is_tensor_")
is_tensor_.__name__ = is_tensor_.__qualname__ = "is_tensor"
is_tensor_.guarded = True        # it takes anything, and calls no override


_ASKING: set[types.CodeType] = set()
_WRAPPING = tuple(map(vars, (argument_guards, out_arguments, public_functions, surface)))


def asks_for_its_caller(frame):
    """Does what runs in a frame ask a tensor what its caller asked?"""
    names = frame.f_globals
    return frame.f_code in _ASKING or any([names is wrapping for wrapping in _WRAPPING])


def _question(name):
    ask = getattr(Tensor, name)

    @declared_for_tracing.stands_for("ask")
    def question(input):
        checked_input(name, input)
        return ask(input)
    question.__name__ = question.__qualname__ = name
    question.__doc__ = ask.__doc__
    function(method=False)(question)
    _ASKING.add(question.__code__)


for _name in (("is_floating_point", "is_complex", "is_conj", "is_neg", "is_signed", "is_inference",
               "numel")):
    _question(_name)


@function()
@declared_for_tracing.goes_by_no_size
def is_nonzero(input):
    """Is the single element different from zero?

    >>> import whet
    >>> whet.is_nonzero(whet.tensor([0.]))
    False
    """
    if input.numel() != 1:
        raise RuntimeError("Boolean value of Tensor with no values is ambiguous"
                           if input.numel() == 0 else
                           "Boolean value of Tensor with more than one value is ambiguous")
    return bool(input)


@function(method=False)
@declared_for_tracing.goes_by_no_size
def is_storage(obj):
    """Is the object a storage?

    >>> import whet
    >>> whet.is_storage(whet.ones(2).untyped_storage())
    True
    """
    return isinstance(obj, UntypedStorage)


is_storage.guarded = True

@function(method=False)
def result_type(tensor1, tensor2):
    """The type of an arithmetic result of the two operands.

    >>> import whet
    >>> whet.result_type(whet.tensor([1, 2]), 1.0)
    whet.float32
    """
    dims: list = []
    zeros: list = []
    numbers: list = []
    for x in (tensor1, tensor2):
        if is_tensor(x):
            (dims if x._array.ndim else zeros).append(x.dtype)
        else:
            numbers.append(dtypes.of_number(x))
    return dtypes.result_of(dims, zeros, numbers)


# ---- complex numbers -----------------------------------------------------------------------------
@function()
def conj(input):
    """The complex conjugate; a real tensor itself.

    >>> import whet
    >>> whet.conj(whet.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    return apply(p.conj_op, (input,), {}) if input.dtype.category == COMPLEX else input


@function()
def resolve_conj(input):
    """The tensor itself: conjugation is never lazy.

    >>> import whet
    >>> whet.resolve_conj(whet.tensor([1 + 2j]).conj())
    tensor([1.-2.j])
    """
    check_tensors("resolve_conj", input=input)
    return input


@function()
def resolve_neg(input):
    """The tensor itself: negation is never lazy.

    >>> import whet
    >>> whet.resolve_neg(whet.tensor([1 + 2j]).conj().imag)
    tensor([-2.])
    """
    check_tensors("resolve_neg", input=input)
    return input
