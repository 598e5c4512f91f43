"""Classes that stand for elements of one dtype, mostly on one kind of devices, as
`whet.FloatTensor` and `whet.cuda.LongStorage` do. Names from PyTorch's first years, which programs
still use."""
from __future__ import annotations

from typing import Any

from . import dtypes


class ClassOfDtype(type):
    """Their metaclass. A subclass says what a call makes, and which objects are instances."""
    dtype: dtypes.dtype
    device_type: str | None      # None: any

    @classmethod
    def named(cls, name: str, dtype: dtypes.dtype, module: str, doc: str,
              device_type: str | None = None) -> Any:
        """The class for a dtype, which a module has under a name."""
        return cls(name, (), {"dtype": dtype, "device_type": device_type, "__module__": module,
                              "__doc__": doc})

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__name__}'>"
