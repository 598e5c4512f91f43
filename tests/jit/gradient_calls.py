"""Calls with gradients, eager and traced, and what is compared of them."""

import pytest
import whet
from whet import jit


def ways(f, use, calls=4):
    """What `use(call)` gives for each of several calls, eagerly and traced; the trace must have
    been replayed."""
    traced = jit.trace(f)
    seen = [[use(call) for _ in range(calls)] for call in (f, traced)]
    assert [p["calls"] for p in traced.explain(data=True)["paths"]] == [calls - 1], traced._why
    return seen


def leaf(*shape, seed=0, dtype=whet.float32):
    return whet.randn(*shape,
                      generator=whet.Generator().manual_seed(seed)).to(dtype).requires_grad_()


def bits(*tensors):
    return [None if t is None else t.detach().numpy().tobytes() for t in tensors]


def outcome(call):
    """The error that a call raises."""
    with pytest.raises(RuntimeError) as e:
        call()
    return str(e.value)
