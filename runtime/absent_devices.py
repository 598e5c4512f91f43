"""Kinds of devices that whet has none of, as programs ask for them: `whet.xpu`, `whet.mps`."""

from . import declared_for_tracing as _declared_for_tracing

__all__ = ["device_count", "is_available", "manual_seed", "manual_seed_all"]


@_declared_for_tracing.goes_by_no_size
def is_available():
    """No.

    >>> import whet
    >>> whet.xpu.is_available(), whet.mps.is_available()
    (False, False)
    """
    return False


@_declared_for_tracing.goes_by_no_size
def device_count():
    """None."""
    return 0


def manual_seed(seed):
    """Nothing draws numbers there."""


manual_seed_all = manual_seed
