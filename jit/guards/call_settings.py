"""The settings that every call depends on, whatever the function: they are a part of the key of a
call, and compared before each replay."""
from __future__ import annotations

from typing import Any, NamedTuple, Self

from whet import devices, dtypes, tf32
from whet.autograd import modes
from whet.cpu import thread_pool


class CallSettings(NamedTuple):
    """The modes of autograd, the type that products are made in (`flags`), what new tensors are and
    where, how many threads compute, and what devices may round to TF32."""
    flags: int
    dtype: Any
    device: Any
    threads: int
    rounded: int

    @classmethod
    def now(cls) -> Self:
        """The settings that hold now.

        >>> from whet.jit.guards.call_settings import CallSettings
        >>> CallSettings.now().device
        device(type='cpu')
        """
        return cls(modes.state.flags, dtypes._default, devices._default, thread_pool._threads,
                   tf32.allowed)

    def put(self) -> None:
        """Let these hold."""
        modes.cast_products(*modes.casting(self.flags))
        modes.set_flags(self.flags)
        dtypes.set_default_dtype(self.dtype)
        devices.set_default_device(self.device)
        thread_pool.set_num_threads(self.threads)
        tf32.allowed = self.rounded
