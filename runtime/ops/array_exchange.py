"""Tensors and other libraries' arrays over one memory: DLPack, and the namespace of the array API
standard."""
import numpy as np

from .. import devices, dtypes
from ..tensor import shown, wrap
from .dlpack import BFLOAT, DLDeviceType, import_dlpack, tensor_in_capsule
from .surface import function, method


@method()
def __array_namespace__(self, *, api_version=None):
    """The functions of the Python array API standard: `whet.array_api`."""
    from .. import array_api
    if api_version not in (None, "2021.12", "2022.12", "2023.12", array_api.__array_api_version__):
        raise ValueError(
            f"__array_namespace__: version {api_version!r} of the standard is not known; this is "
            f"{array_api.__array_api_version__}")
    return array_api


@method()
def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
    """A DLPack capsule over the tensor's memory."""
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if stream is not None and stream != -1:
        raise BufferError("__dlpack__: a CPU tensor takes no stream")
    if dl_device is not None and tuple(dl_device) != (DLDeviceType.kDLCPU, 0):
        raise BufferError(f"__dlpack__: cannot export to device {tuple(dl_device)}")
    a = self.numpy()
    if self.dtype is not dtypes.bfloat16:
        return a.__dlpack__(max_version=max_version, copy=copy)
    capsule = a.view(np.uint16).__dlpack__(max_version=max_version, copy=copy)
    tensor_in_capsule(capsule).code = BFLOAT      # NumPy has no name for this type
    return capsule


@method()
def __dlpack_device__(self):
    """(device type, device number)"""
    return DLDeviceType.kDLCPU, 0


@function(method=False)
def from_dlpack(ext_tensor, *, device=None, copy=None):
    """A tensor over the memory of another library's tensor (or of a DLPack capsule).

    >>> import numpy as np, whet
    >>> whet.from_dlpack(np.arange(3))
    tensor([0, 1, 2])
    """
    if device is not None:
        devices.as_device(device)
    a = import_dlpack(ext_tensor, copy)
    dtypes.from_numpy(a.dtype)
    return shown(wrap(a))


@function(method=False)
def to_dlpack(tensor):
    """A DLPack capsule over the tensor's memory.

    >>> import whet
    >>> whet.from_dlpack(whet.to_dlpack(whet.arange(3)))
    tensor([0, 1, 2])
    """
    return tensor.__dlpack__()
