"""What programs ask of PyTorch's printing by its inner name, `whet._tensor_str`."""
from . import devices
from .formatting import OPTIONS as PRINT_OPTS
from .formatting import numbers_str

__all__ = ["PRINT_OPTS"]


def _tensor_str(self, indent):
    """The elements of a tensor as text, whose lines but the first are indented."""
    return numbers_str(devices.on_host(self._array), indent)
