"""Pools of maxima that always give the places of what they take."""
import functools
import inspect

from .docstrings import of_variant
from .pools import POOLS


def _with_indices(pool):
    """A pool of maxima that gives their places too, whatever `return_indices` says."""
    @functools.wraps(pool)
    def call(*args, **kwargs):
        taken = inspect.signature(pool).bind(*args, **kwargs)
        taken.arguments["return_indices"] = True
        return pool(*taken.args, **taken.kwargs)
    call.__name__ = call.__qualname__ = f"{pool.__name__}_with_indices"
    says = f"`{pool.__name__}`, and the places of the largest values."
    call.__doc__ = of_variant(says, pool.__name__, call.__name__, pool.__doc__).replace(
        ").shape", ")[1].shape")
    return call


WITH_INDICES = {
    f"{name}{n}d_with_indices": _with_indices(POOLS[f"{name}{n}d"])
    for name in ("max_pool", "adaptive_max_pool") for n in (1, 2, 3)}
