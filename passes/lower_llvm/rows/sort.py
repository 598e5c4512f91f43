"""Sorting by packed keys: an element and its position as one unsigned 64-bit number whose order is
the order wanted.

The upper half is a key of the element (unsigned, at most 32 bits), the lower half its position, so
any sort of such numbers is stable. Equal elements have equal keys (zeros of both signs, all NaNs);
NaN is greater than everything. Descending keys are the complement. """
from __future__ import annotations

from typing import TYPE_CHECKING

from whet.passes.lower_llvm import targets
from whet.passes.lower_llvm.builder import BITS, vec
from whet.passes.lower_llvm.rows.lanes import SIZE, load, store
from whet.passes.lower_llvm.scalar import COMPUTE, is_float, is_signed, narrow

if TYPE_CHECKING:
    from whet.passes.lower_llvm.builder import Fn, Module, Val

NAN_KEY = 0xFFFFFFFF


def key_of(f: Fn, dtype: str, x: Val) -> Val:
    """The key of elements in computed form, as i32."""
    ty = COMPUTE[dtype]
    if is_float(dtype):
        u = f.bitcast(x + 0.0, vec("i32", x.lanes))                 # -0 + 0 is +0
        u = u ^ ((u >> 31) | f.const(u.ty, -2**31))
        return f.sel(f.cmp("uno", x, x), f.const(u.ty, -1), u)
    if ty == "i32":
        return x ^ f.const(x.ty, -2**31) if is_signed(dtype) else x
    x = f.conv("sext" if is_signed(dtype) else "zext", x, "i32")
    return x ^ f.const(x.ty, -2**31) if is_signed(dtype) else x


def element_of(f: Fn, dtype: str, u: Val) -> Val:
    """The element that has this key; of equal elements one of them."""
    if is_float(dtype):
        negative = f.cmp("sge", u, 0)
        return f.bitcast(f.sel(negative, ~u, u ^ f.const(u.ty, -2**31)), vec("float", u.lanes))
    if is_signed(dtype):
        u = u ^ f.const(u.ty, -2**31)
    if dtype == "bool":
        return f.cmp("ne", u, 0)
    return f.conv("trunc", u, COMPUTE[dtype]) if BITS[COMPUTE[dtype]] < 32 else u


def put(f: Fn, x: Val, p: Val, mask: Val | None) -> None:
    """Store a vector, or the lanes of a mask."""
    f.store(x, p) if mask is None else f.put(mask, (x, p))


def emit_pack(mod: Module, symbol: str, dtype: str, descending: bool) -> None:
    """Slots: x (rows, n), packed (rows, n), n, stride of x's rows in bytes; a unit of work is a
    row."""
    f = mod.kernel(symbol)
    args, begin, end, _ = f.args
    x, y = (f.load("ptr", f.at(args, i, "i64")) for i in range(2))
    n, stride = (f.load("i64", f.at(args, i, "i64")) for i in (2, 3))
    W = targets.current().lanes(4)

    def row(r: Val) -> None:
        src, dst = f.bytes_at(x, r * stride), f.at(y, r * n, "i64")

        def group(i: Val, tail: bool = False) -> None:
            mask = f.lanes_below(n - i, W) if tail else None
            u = key_of(f, dtype, load(f, dtype, f.bytes_at(src, i * SIZE[dtype]), W, mask))
            u = ~u if descending else u
            p = (f.conv("zext", u, "i64") << 32) | (f.splat(i, W) + f.iota("i64", W))
            put(f, p, f.at(dst, i, "i64"), mask)
        full = n & -W
        f.loop(0, full, W, group)
        f.loop(full, n, W, lambda i: group(i, True))
    f.loop(begin, end, 1, row)


def emit_unpack(mod: Module, symbol: str, dtype: str, descending: bool) -> None:
    """Slots: packed (rows, .), x (rows, .), values (rows, k), positions (rows, k), k, strides of
    packed's and x's rows in bytes.

    Elements are made from their keys; those that share theirs with other bits (zeros, NaNs) are
    fetched from x."""
    f = mod.kernel(symbol)
    args, begin, end, _ = f.args
    p, x, values, positions = (f.load("ptr", f.at(args, i, "i64")) for i in range(4))
    k, stride, x_stride = (f.load("i64", f.at(args, i, "i64")) for i in (4, 5, 6))
    W, size = targets.current().lanes(4), SIZE[dtype]

    def row(r: Val) -> None:
        src, origin = f.bytes_at(p, r * stride), f.bytes_at(x, r * x_stride)
        out, at = f.bytes_at(values, r * k * size), f.at(positions, r * k, "i64")

        def group(i: Val, tail: bool = False) -> None:
            mask = f.lanes_below(k - i, W) if tail else None
            q = f.at(src, i, "i64")
            v = f.load(vec("i64", W), q) if mask is None else f.mload(vec("i64", W), q, mask)
            u = f.conv("trunc", f.lshr(v, 32), "i32")
            u = ~u if descending else u
            where = v & 0xFFFFFFFF
            store(f, dtype, element_of(f, dtype, u), f.bytes_at(out, i * size), mask)
            put(f, where, f.at(at, i, "i64"), mask)
            if is_float(dtype):
                shared = f.cmp("eq", u, -2**31) | f.cmp("eq", u, -1)
                shared = shared if mask is None else shared & mask

                def fetch() -> None:
                    def one(j: Val) -> None:
                        to = f.load("i64", f.at(at, i + j, "i64"))
                        e = narrow(f, load(f, dtype, f.bytes_at(origin, to * size), 0), dtype)
                        f.if_(f.cmp("ne", f.extract(f.conv("zext", shared, "i8"), j), 0),
                              lambda: f.store(e, f.bytes_at(out, (i + j) * size)))
                    f.loop(0, f.imin(k - i, W), 1, one)
                f.if_(f.any(shared), fetch)
        full = k & -W
        f.loop(0, full, W, group)
        f.loop(full, k, W, lambda i: group(i, True))
    f.loop(begin, end, 1, row)


def _insert(f: Fn, numbers: Val, p: Val, count: Val) -> None:
    """p goes among `count` numbers in order; all that are greater move up."""
    def goes_up(j: Val) -> Val:
        before = f.load("i64", f.at(numbers, f.imax(j - 1, 0), "i64"))
        return f.cmp("sgt", j, 0) & f.cmp("ugt", before, p)

    def up(j: Val) -> list[Val]:
        f.store(f.load("i64", f.at(numbers, j - 1, "i64")), f.at(numbers, j, "i64"))
        return [j - 1]
    j, = f.while_(goes_up, up, [count])
    f.store(p, f.at(numbers, j, "i64"))


def emit_first(mod: Module, symbol: str, dtype: str, descending: bool) -> None:
    """The first k of each row in order, packed, for small k: what cannot be among them is passed
    over a vector at a time.

    Slots: x (rows, n), packed (rows, k), n, stride of x's rows in bytes, k (1 to n); a unit of work
    is a row."""
    f = mod.kernel(symbol)
    args, begin, end, _ = f.args
    x, y = (f.load("ptr", f.at(args, i, "i64")) for i in range(2))
    n, stride, k = (f.load("i64", f.at(args, i, "i64")) for i in (2, 3, 4))
    W = targets.current().lanes(4)
    line = f.alloca("i32", W)

    def row(r: Val) -> None:
        src, best = f.bytes_at(x, r * stride), f.at(y, r * k, "i64")

        def keys(i: Val, lanes: int, mask: Val | None = None) -> Val:
            u = key_of(f, dtype, load(f, dtype, f.bytes_at(src, i * SIZE[dtype]), lanes, mask))
            return ~u if descending else u

        def packed(u: Val, i: Val) -> Val:
            return (f.conv("zext", u, "i64") << 32) | i
        f.loop(0, k, 1, lambda i: _insert(f, best, packed(keys(i, 0), i), i))

        def last() -> Val:
            return f.load("i64", f.at(best, k - 1, "i64"))

        def group(i: Val, limit: Val) -> list[Val]:
            u = keys(i, W, f.lanes_below(n - i, W))
            better = f.cmp("ult", u, f.splat(limit, W)) & f.lanes_below(n - i, W)

            def some() -> list[Val]:
                f.store(u, line)

                def one(lane: Val) -> None:
                    p = packed(f.load("i32", f.at(line, lane, "i32")), i + lane)
                    f.if_(f.cmp("ult", p, last()), lambda: _insert(f, best, p, k - 1))
                f.loop(0, f.imin(n - i, W), 1, one)
                return [f.conv("trunc", f.lshr(last(), 32), "i32")]
            return f.if_(f.any(better), some, lambda: [limit])
        f.loop(k, n, W, group, [f.conv("trunc", f.lshr(last(), 32), "i32")])
    f.loop(begin, end, 1, row)


def emit_keys(mod: Module, symbol: str, dtype: str, descending: bool) -> None:
    """Keys of 64-bit elements, in 64 bits. Slots: x, keys; a unit of work is an element."""
    f = mod.kernel(symbol)
    args, begin, end, _ = f.args
    x, y = (f.load("ptr", f.at(args, i, "i64")) for i in range(2))
    W = targets.current().lanes(8)

    def group(i: Val) -> None:
        mask = f.lanes_below(end - i, W)
        v = load(f, dtype, f.at(x, i, "i64"), W, mask)
        if is_float(dtype):
            u = f.bitcast(v + 0.0, vec("i64", W))
            u = f.sel(f.cmp("uno", v, v), f.const(u.ty, -1),
                      u ^ ((u >> 63) | f.const(u.ty, -2 ** 63)))
        else:
            u = v ^ f.const(v.ty, -2**63) if is_signed(dtype) else v
        f.put(mask, (~u if descending else u, f.at(y, i, "i64")))
    f.loop(begin, end, W, group)


def emit_squeeze(mod: Module, symbol: str) -> None:
    """Keys and positions in 64 bits together, the keys' lowest bits making room. Slots: keys (rows,
    n), packed (rows, n), n, the least key, how far the others can be shifted up, the bits of a
    position; a unit of work is a row."""
    f = mod.kernel(symbol)
    args, begin, end, _ = f.args
    x, y = (f.load("ptr", f.at(args, i, "i64")) for i in range(2))
    n, least, up, room = (f.load("i64", f.at(args, i, "i64")) for i in (2, 3, 4, 5))
    W = targets.current().lanes(8)
    keep = f.splat(f.binary("shl", f.const("i64", -1), room), W)

    def row(r: Val) -> None:
        def group(i: Val) -> None:
            at, mask = r * n + i, f.lanes_below(n - i, W)
            u = f.mload(vec("i64", W), f.at(x, at, "i64"), mask) - f.splat(least, W)
            u = (f.binary("shl", u, f.splat(up, W)) & keep) | (f.splat(i, W) + f.iota("i64", W))
            f.put(mask, (u, f.at(y, at, "i64")))
        f.loop(0, n, W, group)
    f.loop(begin, end, 1, row)
