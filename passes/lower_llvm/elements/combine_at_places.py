"""Elements combined into places: x[places[k]] becomes that and values[k], in the order of k."""
from __future__ import annotations

from .. import scalar
from ..builder import Module, Val


def emit(module: Module, symbol: str, dtype: str, op: str | None) -> None:
    """The kernel for elements of a type. `op`: the primitive that combines the old element with a
    value; None: the value replaces it. Arguments: x, places (i64; a negative one is none), values,
    the number of places, the step from one value to the next (0: one value for all). Places may be
    equal, so everything is one unit of work."""
    f = module.kernel(symbol)
    args = f.args[0]
    x, places, values = (f.load("ptr", f.at(args, k, "i64"), 8) for k in range(3))
    count, step = (f.load("i64", f.at(args, k, "i64"), 8) for k in (3, 4))
    elem = scalar.MEMORY[dtype]

    def put(k: Val, place: Val) -> None:
        v, p = f.load(elem, f.at(values, k * step, elem)), f.at(x, place, elem)
        if op is not None:
            both = [scalar.widen(f, y, dtype) for y in (f.load(elem, p), v)]
            v = scalar.narrow(f, scalar.primitive(f, op, dtype, *both), dtype)
        f.store(v, p)

    def one(k: Val) -> None:
        place = f.load("i64", f.at(places, k, "i64"))
        f.if_(f.cmp("sge", place, 0), lambda: put(k, place))
    f.loop(0, count, 1, one)
