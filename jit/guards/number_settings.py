"""Settings that no object holds and that C functions depend on."""
import decimal
from collections.abc import Callable
from typing import Any

import numpy as np

from ..values.immutable_types import one

_errors = getattr(getattr(np, "_core").umath, "_extobj_contextvar", None)   # what NumPy has them by
_last: tuple[Any, Any] = (None, None)


def _decimals() -> Any:
    """How decimal numbers are computed with."""
    c = decimal.getcontext()
    traps = [yes for _, yes in c.traps.items()]
    return one((c.prec, c.rounding, c.Emin, c.Emax, c.capitals, c.clamp, *traps))


def _numpy_errors() -> Any:
    """How NumPy takes errors in numbers, and by how much it works at a time."""
    global _last
    now = _errors and _errors.get()
    if now is None or now is not _last[0]:
        _last = now, one((*np.geterr().values(), np.getbufsize()))
    return _last[1]


# what no object holds, and C functions depend on: each as one object for one way to be
SETTINGS: dict[str, Callable[[], Any]] = {"numpy": _numpy_errors, "decimal": _decimals}
