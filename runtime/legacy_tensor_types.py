"""`whet.FloatTensor`, `whet.LongTensor`, ...: the names of types from PyTorch's first years,
which programs still use."""
from . import declared_for_tracing, dtypes
from .classes_of_dtypes import ClassOfDtype
from .ops.surface import FUNCTIONS
from .tensor import Size, Tensor


class TensorType(ClassOfDtype):
    """A type of tensor: makes tensors, knows its own, and says which dtype to convert to
    (`x.type(whet.LongTensor)`), and on which kind of devices."""

    def __call__(cls, *args):
        """Uninitialised, from sizes; or from a sequence or an array."""
        if len(args) == 1 and not isinstance(args[0], int | Size):
            data = args[0]
            if isinstance(data, Tensor) and data.dtype is not cls.dtype:
                raise TypeError(f"expected {cls.__name__} (got {data.type()})")
            return (FUNCTIONS["tensor"](data, dtype=cls.dtype, device=cls.device_type)
                    if not isinstance(data, Tensor) else data.detach())
        return FUNCTIONS["empty"](*(args or (0,)), dtype=cls.dtype, device=cls.device_type)

    @declared_for_tracing.goes_by_no_size
    def __instancecheck__(cls, x):
        return (issubclass(type(x), Tensor) and x.dtype is cls.dtype
                and x.device.type == cls.device_type)


def _types(device_type, module):
    """The types of tensors on a kind of devices, by their names."""
    return {f"{d.letter}Tensor": TensorType.named(
        f"{d.letter}Tensor", d, module, f"Tensors of {d.name} on devices of {device_type}.",
        device_type) for d in dtypes.ALL.values()}


TYPES = _types("cpu", "whet")
CUDA_TYPES = _types("cuda", "whet.cuda")


def typename(obj):
    """The name of an object's type; of a tensor that of its elements' type.

    >>> import whet
    >>> whet.typename(whet.ones(1)), whet.typename([1])
    ('whet.FloatTensor', 'list')
    """
    if isinstance(obj, Tensor):
        return obj.type()
    kind = obj if isinstance(obj, type) else type(obj)
    return kind.__qualname__ if kind.__module__ == "builtins" else (
        f"{kind.__module__}.{kind.__qualname__}")


def set_default_tensor_type(t):
    """`set_default_dtype` by the older name of a type: `whet.DoubleTensor`, or that as a text.

    >>> import whet
    >>> whet.set_default_tensor_type("whet.FloatTensor")
    """
    kind = TYPES.get(str(t).rpartition(".")[2]) if isinstance(t, str) else t
    if not isinstance(kind, TensorType):
        raise TypeError(f"invalid type object: {t!r} is no type of tensors")
    if kind.dtype.category != dtypes.FLOAT:
        raise TypeError("only floating-point types are supported as the default type")
    dtypes.set_default_dtype(kind.dtype)
