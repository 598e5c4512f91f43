"""The types of an op's results for operands of given types, found by running it on memory that
holds zeros."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .op import Op
from .value_keys import value_key
from .values import Array, Type

MOST = 4096                      # answers that are remembered

# the types of the results, or why there are none; neither where that depends on the data
Answer = tuple[list[Type] | None, str | None]
UNKNOWN: Answer = (None, None)

_answers: dict[Any, Answer] = {}


def ask(op: Op, ins: Sequence[Any], attrs: Mapping[str, Any],
        types: tuple[Type | None, ...]) -> Answer:
    """What an op makes of operands; `types` are those of values, None for what is no value."""
    plain = tuple(x for x, t in zip(ins, types) if t is None)
    key = op, value_key(plain), types, value_key(dict(attrs))
    try:
        got = _answers.get(key)
    except TypeError:
        return _asked(op, ins, attrs, types)
    if got is None:
        if len(_answers) > MOST:
            _answers.clear()
        got = _answers[key] = _asked(op, ins, attrs, types)
    return got


def _asked(op: Op, ins: Sequence[Any], attrs: Mapping[str, Any],
           types: tuple[Type | None, ...]) -> Answer:
    operands = [x if t is None else stand_in(t) for x, t in zip(ins, types)]
    if op.reach and types[0] is not None:
        operands[0] = stand_in(types[0], *op.reach(**attrs))
    try:
        with np.errstate(all="ignore"):
            got = op.forward(*operands, **attrs)
    except Exception as e:
        return UNKNOWN if op.may_fail else (None, f"{op.name} refuses these operands: {e}")
    made = [np.asarray(a) for a in (got if type(got) is tuple else (got,))]
    if op.is_view and any(a.size and not np.may_share_memory(a, operands[0].base) for a in made):
        return None, f"{op.name} gives no view of its operand"
    if op.may_fail and not op.is_view:       # of other data it may be another shape
        return UNKNOWN
    return [Type.of(a) for a in made], None


def stand_in(t: Type, first: int = 0, last: int = 0) -> Array:
    """A NumPy array of a type, for code that looks at layouts alone. Its memory also spans the
    elements from `first` to `last`, counted from its first one."""
    (low, high), size = t.span, max(t.dtype.itemsize, 1)
    low, high = min(low, first * size), max(high, (last + 1) * size)
    return np.ndarray(t.shape, t.dtype, np.zeros(high - low, np.uint8), -low, t.strides)
