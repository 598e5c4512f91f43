"""`autograd.profiler`, PyTorch's older name for the profiler: `with profile() as p:`."""
from .. import profiler as _profiler
from ..profiler import EventList, FunctionEvent, FunctionEventAvg, record_function

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "profile", "record_function"]


class profile(_profiler.profile):
    """`profiler.profile` with the arguments of PyTorch's `autograd.profiler`. With `enabled=False`
    nothing is noted.

    >>> import whet
    >>> with whet.autograd.profiler.profile() as p:
    ...     _ = whet.ones(2) + 1
    >>> "add" in p.key_averages().table()
    True
    """

    def __init__(self, enabled=True, *, use_cuda=None, use_device=None, record_shapes=False,
                 with_flops=False, profile_memory=False, with_stack=False, with_modules=False):
        super().__init__(record_shapes=record_shapes, with_flops=with_flops, use_cuda=use_cuda,
                         profile_memory=profile_memory, with_stack=with_stack,
                         with_modules=with_modules)
        self.enabled = enabled

    def __enter__(self):
        return super().__enter__() if self.enabled else self

    def __exit__(self, *error):
        if self.enabled:
            super().__exit__(*error)
