"""`whet.FloatStorage`, `whet.LongStorage`, ...: kinds of storages, by names from PyTorch's first
years."""
from .. import declared_for_tracing, dtypes
from ..classes_of_dtypes import ClassOfDtype
from .storage import TypedStorage
from .surface import FUNCTIONS, method


class StorageType(ClassOfDtype):
    """A kind of storage: makes storages of a type on a kind of devices, and knows them."""

    def __call__(cls, *args, wrap_storage=None):
        """New memory of a number of elements, or of these, or that of a storage of bytes."""
        return TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls.dtype,
                            device=None if wrap_storage is not None else cls.device_type)

    def from_file(cls, filename, shared=False, size=0):
        """The elements of a file, as `whet.from_file` has them."""
        return TypedStorage._of(
            FUNCTIONS["from_file"](filename, shared, size, dtype=cls.dtype)._array)

    @declared_for_tracing.goes_by_no_size
    def __instancecheck__(cls, x):
        return (type(x) is TypedStorage and x.dtype is cls.dtype
                and x.device.type == cls.device_type)


def _storages(device_type, module):
    """The kinds of storages on a kind of devices, by their names."""
    return {f"{d.letter}Storage": StorageType.named(
        f"{d.letter}Storage", d, module, f"Memory of {d.name} on devices of {device_type}.",
        device_type) for d in dtypes.ALL.values() if d.letter[:4] != "UInt"}


STORAGES, CUDA_STORAGES = _storages("cpu", "whet"), _storages("cuda", "whet.cuda")


@method()
def storage_type(self):
    """The kind of the tensor's storage: `whet.FloatStorage`; `TypedStorage` where there is no name
    for it.

    >>> import whet
    >>> whet.ones(2).storage_type() is whet.FloatStorage
    True
    """
    there = CUDA_STORAGES if self.is_cuda else STORAGES
    return there.get(f"{self.dtype.letter}Storage", TypedStorage)
