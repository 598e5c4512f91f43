"""What programs take from PyTorch's inner helpers, `whet._utils`."""
from .ops.surface import FUNCTIONS

__all__ = ["_flatten_dense_tensors", "_get_device_index", "_unflatten_dense_tensors"]


def _flatten_dense_tensors(tensors):
    """The elements of some tensors in a row.

    >>> import whet
    >>> from whet._utils import _flatten_dense_tensors, _unflatten_dense_tensors
    >>> parts = [whet.ones(2), whet.zeros(1, 2)]
    >>> flat = _flatten_dense_tensors(parts)
    >>> flat, [t.shape for t in _unflatten_dense_tensors(flat, parts)]
    (tensor([1., 1., 0., 0.]), [whet.Size([2]), whet.Size([1, 2])])
    """
    return FUNCTIONS["cat"]([t.reshape(-1) for t in tensors])


def _unflatten_dense_tensors(flat, tensors):
    """The elements in a row as views of the sizes of some tensors."""
    parts = flat.split([t.numel() for t in tensors])
    return tuple([part.view(t.shape) for part, t in zip(parts, tensors)])


def _get_device_index(device, optional=False, allow_cpu=False):
    """The number of a CUDA device; of the current one where it has none. -1 is the CPU's."""
    from . import cuda
    from .devices import device as Device
    if isinstance(device, int) and not isinstance(device, bool):
        return device
    if device is None and optional:
        return cuda.current_device()
    device = Device(device)
    if device.type == "cpu" and allow_cpu:
        return -1
    if device.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {device}")
    return cuda.current_device() if device.index is None else device.index
