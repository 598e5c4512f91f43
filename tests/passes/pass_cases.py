"""Functions and counts that tests of passes share."""

import pytest
import whet
from whet import jit
from whet.cpu import native

from tests.together import bits

compiled = pytest.mark.skipif(not native.enabled(),
                              reason="without machine code every step is Python's")


def graph_of(fn, *args, calls=3):
    """The traced function's graph, after calls that were compared with eager's."""
    f = jit.trace(fn, verify="off")
    for k in range(calls):
        xs = [x if k < 2 or not x.is_floating_point() or not x.numel() else x + k for x in args]
        got, want = f(*[x.clone(memory_format=whet.preserve_format) for x in xs]), fn(*xs)
        for g, w in zip(got if type(got) is tuple else (got,),
                        want if type(want) is tuple else (want,), strict=True):
            assert bits(g) == bits(w)
    path, = f.explain(data=True)["paths"]
    assert path["calls"]
    return path


def written(fn, *args):
    """The path of a traced function that writes to its arguments, after calls that did as eager
    ones do."""
    f = jit.trace(fn, verify="off")
    xs, ys = ([x.clone() for x in args] for _ in range(2))
    for _ in range(4):
        got, want = f(*xs), fn(*ys)
        assert [bits(t) for t in (*got, *xs)] == [bits(t) for t in (*want, *ys)]
    path, = f.explain(data=True)["paths"]
    assert path["calls"]
    return path
