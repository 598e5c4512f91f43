"""The older names of `whet.amp`, for the CPU."""
from .. import amp as _amp
from ..autograd import modes as _modes


class GradScaler(_amp.GradScaler):
    """`whet.amp.GradScaler` for the CPU."""

    def __init__(self, *args, **kwargs):
        _modes.warn("`whet.cpu.amp.GradScaler(args...)` is deprecated. Please use "
                    "`whet.amp.GradScaler('cpu', args...)` instead.", FutureWarning)
        super().__init__("cpu", *args, **kwargs)


class autocast(_amp.autocast):
    """`whet.amp.autocast` for the CPU.

    >>> import warnings, whet
    >>> warnings.simplefilter("ignore", FutureWarning)
    >>> with whet.cpu.amp.autocast():
    ...     (whet.ones(2, 2) @ whet.ones(2, 2)).dtype
    whet.bfloat16
    """
    __slots__ = ()

    def __init__(self, enabled=True, dtype=None, cache_enabled=True):
        _modes.warn("`whet.cpu.amp.autocast(args...)` is deprecated. Please use "
                    "`whet.amp.autocast('cpu', args...)` instead.", FutureWarning)
        super().__init__("cpu", dtype, enabled)

    def _clone(self):
        return type(self)(self.enabled, self.dtype)
