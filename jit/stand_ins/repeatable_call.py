"""A call that acts outside of Python's state, noted so that a replay can repeat it, and the forms
of its arguments."""
from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from whet.autograd import modes
from whet.devices import device
from whet.dtypes import dtype
from whet.tensor import Tensor, wants_gradient
from whet.tensor_base import Base, is_strided

from ..values.varying_numbers import NUMBERS
from ..values.varying_texts import Text

if TYPE_CHECKING:
    from ..effects.recipes import Recipe

# what an argument may be as it is, at each call
FIXED = (int, float, complex, bool, str, bytes, type(None), dtype, device)
SMALL = 1000                     # elements of a tensor that is copied for its text
# of a text: how each thing becomes text
CONVERSIONS = re.compile(r"%[#0\- +]*\d*(?:\.\d+)?[hlL]?([a-zA-Z%])").findall
NUMERALS = frozenset("diouxXeEfFgG")         # those of numbers


class Call:
    """A call that a replay repeats: the function, its arguments, and the number of nodes recorded
    before it."""
    __slots__ = ("does", "args", "kwargs", "after", "recipes", "ready", "calm")

    def __init__(self, does: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any],
                 after: int, ready: Callable[[], bool] | None = None,
                 calm: Callable[[], bool] | None = None) -> None:
        self.does, self.args, self.kwargs, self.after = does, args, kwargs, after
        self.recipes: Sequence[Recipe] = ()
        # would it do its part, without raising, as things are now?
        self.ready = ready or _yes
        self.calm = calm or _yes             # would it run no user code?


def nothing() -> None:
    """The action of a call that only checks."""


def _yes() -> bool:
    return True


# ---- arguments -----------------------------------------------------------------------------------
def repeatable_argument(x: Any) -> Any:
    """An argument, or its text, in a form that a replay can make again."""
    if type(x) in FIXED or type(x) in NUMBERS or type(x) is Text:
        return x
    # Of a tensor that is refused.
    return x if is_strided(x) and shows_only_numbers(x) else str(x)


def shows_only_numbers(t: Base) -> bool:
    """Does the text of a tensor show nothing but its numbers?"""
    return not wants_gradient(t) and not t._extra


def argument_as_text(x: Any) -> Any:
    """An argument of which only the current text matters. A small tensor is copied, so that nothing
    writes to it."""
    x = repeatable_argument(x)
    if type(x) is Tensor and x._array.size <= SMALL:
        with modes.no_grad():
            return x.clone()
    return x


def formats_alike(x: object, way: str) -> bool:
    """Does an object become the text, by conversion `way`, that its counterpart in a replay
    becomes?"""
    return (type(x) in FIXED or type(x) in NUMBERS or way == "s"
            or is_strided(x) and (way in NUMERALS or shows_only_numbers(x)))
