"""What programs ask of PyTorch's inner module: those of its names that mean something here."""
from . import declared_for_tracing as _declared_for_tracing
from .autograd import levels
from .function_protocol import DisableTorchFunction as DisableTorchFunction
from .function_protocol import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from .function_protocol import disabled
from .tensor import Tensor

_TensorMeta = type(Tensor)


def _get_tracing_state():
    """None: PyTorch's tracer, which keeps numbers of the recorded run for good, is not at work."""


def _log_api_usage_once(event):
    """Nothing is logged."""


@_declared_for_tracing.goes_by_no_size
def _are_functorch_transforms_active():
    """Whether a call of `vmap` or of forward mode is at work."""
    return levels.innermost() is not None


_disabled_torch_function_impl = disabled
