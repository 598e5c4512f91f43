"""DLPack: arrays over the memory of other libraries, described by the capsules of its protocol."""
import ctypes as C
import enum

import numpy as np

from .. import dtypes


class DLDeviceType(enum.IntEnum):
    """Device kinds of the DLPack protocol."""
    kDLCPU = 1


class _DLTensor(C.Structure):
    _fields_ = [("data", C.c_void_p), ("device_type", C.c_int32), ("device_id", C.c_int32),
                ("ndim", C.c_int32), ("code", C.c_uint8), ("bits", C.c_uint8),
                ("lanes", C.c_uint16), ("shape", C.c_void_p), ("strides", C.c_void_p),
                ("byte_offset", C.c_uint64)]


# capsule name -> where the DLTensor starts in what it points to
_NAMES = {b"dltensor": 0, b"dltensor_versioned": 32}
_UINT, BFLOAT = 1, 4                                         # type codes
_capsule_name = C.pythonapi.PyCapsule_GetName
_capsule_name.restype, _capsule_name.argtypes = C.c_char_p, [C.py_object]
_capsule_pointer = C.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = C.c_void_p, [C.py_object, C.c_char_p]


def tensor_in_capsule(capsule):
    """The DLTensor in a capsule that was not consumed yet."""
    name = _capsule_name(capsule) if type(capsule).__name__ == "PyCapsule" else None
    if name not in _NAMES:
        raise RuntimeError(
            "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed "
            "only once, so you might have already constructed a tensor from it once.")
    return _DLTensor.from_address(_capsule_pointer(capsule, name) + _NAMES[name])


class _Exporter:
    """A capsule as the object that would have given it."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **kwargs):
        return self.capsule

    def __dlpack_device__(self):
        return DLDeviceType.kDLCPU, 0


class _Writable:
    """An array as one that may be written to. Capsules from before version 1 cannot say whether
    their memory may be: it may for everybody but NumPy."""

    def __init__(self, array):
        self.array = array                   # keeps the memory
        interface = array.__array_interface__
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}


def _capsule_of(x, copy):
    device = x.__dlpack_device__()
    # CPU memory, also where a GPU can reach it
    if device[0] not in (1, 3, 11):
        raise BufferError(f"from_dlpack: memory on device {tuple(device)} is not supported")
    try:
        return x.__dlpack__(max_version=(1, 0), **({} if copy is None else {"copy": copy}))
    except TypeError:                                         # an exporter from before version 1
        if copy is not None:
            raise
        return x.__dlpack__()


def import_dlpack(x, copy=None):
    """A NumPy array over the memory of a DLPack exporter or capsule."""
    capsule = _capsule_of(x, copy) if hasattr(x, "__dlpack__") else x
    content = tensor_in_capsule(capsule)
    half = content.code == BFLOAT and content.bits == 16
    if half:
        content.code = _UINT
    old = _capsule_name(capsule) == b"dltensor"
    a = np.from_dlpack(_Exporter(capsule))
    if old and not a.flags.writeable:
        a = np.asarray(_Writable(a))
    return a.view(dtypes.bfloat16.np) if half else a
