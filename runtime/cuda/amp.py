"""The older names of `whet.amp`, for CUDA devices."""
from .. import amp as _amp
from ..amp import custom_bwd as custom_bwd
from ..amp import custom_fwd as custom_fwd


class GradScaler(_amp.GradScaler):
    """`whet.amp.GradScaler` for CUDA devices."""

    def __init__(self, *args, **kwargs):
        super().__init__("cuda", *args, **kwargs)


class autocast(_amp.autocast):
    """`whet.amp.autocast` for CUDA devices."""
    __slots__ = ()

    def __init__(self, enabled=True, dtype=None, cache_enabled=True):
        super().__init__("cuda", dtype, enabled)

    def _clone(self):
        return type(self)(self.enabled, self.dtype)
