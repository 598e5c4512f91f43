"""The passes over a recorded list of nodes, in order. Each is a function (nodes, root, arrays, visible) -> nodes that changes no bit:
`root` tells which memory a value lies in, `arrays` what each value was when recorded, `visible` which values are seen from outside.
"""
import contextlib

from whet.passes.epilogue import epilogues
from whet.passes.fuse import fuse, write_through
from whet.passes.rows import rows

PASSES = [
    ("fuse", fuse),                          # pointwise nodes of one shape are one kernel
    ("rows", rows),                          # reductions, what feeds them and what comes of them are one kernel
    ("epilogues", epilogues),                # contractions apply what follows to each element as it is stored
    ("write_through", write_through),        # a kernel writes to where its result is copied
]


def optimize(nodes, root, arrays, visible, check=None):
    """The nodes after all passes. `check(nodes)` is called before and after each."""
    for _, one in PASSES:
        if check is not None:
            check(nodes)
        nodes = one(nodes, root, arrays, visible)
    if check is not None:
        check(nodes)
    return nodes


@contextlib.contextmanager
def without(*names):
    """Recordings that are made inside lack some passes: whatever is left out, the bits are the same.

    >>> from whet.passes import pipeline
    >>> with pipeline.without("fuse"):
    ...     [name for name, _ in pipeline.PASSES]
    ['rows', 'epilogues', 'write_through']
    """
    unknown = set(names) - {name for name, _ in PASSES}
    if unknown:
        raise ValueError(f"without(): no pass is called {', '.join(sorted(unknown))}; there are {', '.join(name for name, _ in PASSES)}")
    before = PASSES[:]
    PASSES[:] = [(name, one) for name, one in PASSES if name not in names]
    try:
        yield
    finally:
        PASSES[:] = before
