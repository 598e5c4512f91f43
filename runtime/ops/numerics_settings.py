"""What a program asks of results: the same bits at each run, and how products may be rounded."""
from .. import declared_for_tracing, tf32
from ..autograd.modes import beyond, read
from .surface import function

_deterministic = [False, False]
_DEBUG_MODES = ("default", "warn", "error")
_medium = [False]                   # was "medium" the word that was asked for?


@function(method=False)
def use_deterministic_algorithms(mode, *, warn_only=False):
    """Ask for results that do not change from run to run. They never do here: the answer is only
    remembered.

    >>> import whet
    >>> whet.use_deterministic_algorithms(True)
    >>> whet.are_deterministic_algorithms_enabled()
    True
    >>> whet.use_deterministic_algorithms(False)
    """
    beyond("it sets whether results may change from run to run")
    _deterministic[:] = bool(mode), bool(warn_only)


@function(method=False)
@declared_for_tracing.goes_by_no_size
def are_deterministic_algorithms_enabled():
    """Was `use_deterministic_algorithms(True)` called?

    >>> import whet
    >>> whet.are_deterministic_algorithms_enabled()
    False
    """
    return read(lambda: _deterministic[0])


@function(method=False)
@declared_for_tracing.goes_by_no_size
def is_deterministic_algorithms_warn_only_enabled():
    """Was `use_deterministic_algorithms(True, warn_only=True)` called?

    >>> import whet
    >>> whet.is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return read(lambda: _deterministic[1])


@function(method=False)
def set_deterministic_debug_mode(debug_mode):
    """`use_deterministic_algorithms` by one word, or its number: "default" (0: no), "warn" (1:
    warnings only) or "error" (2).

        >>> import whet
        >>> whet.set_deterministic_debug_mode("warn")
        >>> whet.get_deterministic_debug_mode()
        1
        >>> whet.set_deterministic_debug_mode(0)
    """
    if not isinstance(debug_mode, int | str):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode).__name__}")
    known = [*_DEBUG_MODES] if isinstance(debug_mode, str) else [*range(len(_DEBUG_MODES))]
    if debug_mode not in known:
        raise RuntimeError(f"invalid value of debug_mode, expected one of "
                           f"{', '.join(map(repr, known))}, but got {debug_mode!r}")
    level = known.index(debug_mode)
    use_deterministic_algorithms(level > 0, warn_only=level == 1)


@function(method=False)
@declared_for_tracing.goes_by_no_size
def get_deterministic_debug_mode():
    """The number of the mode that `set_deterministic_debug_mode` set, in other words or not.

    >>> import whet
    >>> whet.get_deterministic_debug_mode()
    0
    """
    return read(lambda: 0 if not _deterministic[0] else 1 if _deterministic[1] else 2)


@function(method=False)
def set_float32_matmul_precision(precision):
    """Allow products of float32 matrices to be rounded more, on devices: "highest" (not at all),
    "high" or "medium" (both: to TF32).

        >>> import whet
        >>> whet.set_float32_matmul_precision("high")
        >>> whet.backends.cuda.matmul.allow_tf32
        True
        >>> whet.set_float32_matmul_precision("highest")
    """
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(f"{precision} is not one of 'highest', 'high' or 'medium'")
    tf32.allow(tf32.PRODUCTS, precision != "highest")
    _medium[0] = precision == "medium"


@function(method=False)
@declared_for_tracing.goes_by_no_size
def get_float32_matmul_precision():
    """What `set_float32_matmul_precision` was given, or what `allow_tf32` comes to.

    >>> import whet
    >>> whet.get_float32_matmul_precision()
    'highest'
    """
    return read(lambda: "highest" if not tf32.allowed & tf32.PRODUCTS else
                "medium" if _medium[0] else "high")
