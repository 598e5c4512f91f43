"""Rows in order, or the first of each in order, and their most frequent elements."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from whet.passes.lower_llvm.rows.lanes import SIZE, store
from whet.passes.lower_llvm.rows.order_keys import RowKeys, element_of, is_shared, joins
from whet.passes.lower_llvm.rows.radix_sort import Items, RadixSort
from whet.passes.lower_llvm.rows.ranks import Ranks
from whet.passes.lower_llvm.rows.select import Selection, copy_element

if TYPE_CHECKING:
    from whet.passes.lower_llvm.builder import Fn, Module, Val

SHORT = 8                        # vectors of keys that are quickly compared each with each
# So few are found by inserting those that are among them by then, if they are one in so many: most
# elements are passed over then.
FEW, RARE = 16, 20
# items that may be among the first are gathered: so many times k, which with their keys take no
# more room than the keys of RARE * k elements
BUFFER = 4


class Order:
    """The first k items of each row in order. Slots: x (rows, n), values and positions (rows, k, or
    one of each row), n, k, scratch memory, the bytes of it that a thread has: two times k + 1 items
    and n keys, each beginning at a multiple of 64 bytes. A unit of work is a row."""

    def __init__(self, f: Fn, dtype: str, packed: bool, *, descending: bool) -> None:
        self.f, self.dtype = f, dtype
        self.keys, self.items = RowKeys(f, dtype, descending), Items(f, packed)
        self.sorting, self.selection = RadixSort(f, self.items), Selection(f, self.keys.elem)
        self.ranks = Ranks(f, self.keys)
        self.line = f.alloca(self.keys.elem, self.keys.lanes)
        args, self.begin, self.end, worker = f.args
        self.x, self.values, self.positions = (
            f.load("ptr", f.at(args, i, "i64")) for i in range(3))
        self.n, self.k, self.room = (f.load("i64", f.at(args, i, "i64")) for i in (3, 4, 6))
        mine = f.bytes_at(f.load("ptr", f.at(args, 5, "i64")), worker * self.room)
        self.mine = f.within(mine, self.room)

    def rows(self, use: Callable[[Val, Val, Val], None]) -> None:
        """`use(r, row, items)` of each row, with its first items in order."""
        f = self.f

        def one(r: Val) -> None:
            row = f.bytes_at(self.x, r * self.n * SIZE[self.dtype])
            use(r, row, self.first(row))
        f.loop(self.begin, self.end, 1, one)

    def key(self, items: Val, i: Val) -> Val:
        """The key of item i."""
        word = self.items.key(self.items.load(items, i))
        return self.f.conv("trunc", word, self.keys.elem)

    def first(self, row: Val) -> Val:
        """Where the first items of a row are, in order."""
        f = self.f
        size = (self.k * self.items.size + self.items.size + 63) & -64
        a, b = self.mine, f.bytes_at(self.mine, size)
        free = f.bytes_at(self.mine, size * 2)

        def dealt() -> list[Val]:
            low, high, _ = self.keys.each(row, self.n, lambda u, i: self.items.put(u, i, a, i))
            return [self.sorting.sort(a, b, self.n, low, high)]

        def compared() -> list[Val]:
            self.ranked(row, a)
            return [a]

        def some() -> list[Val]:
            low, high = self.chosen(row, a, free)
            return [self.sorting.sort(a, b, self.k, low, high)]

        def rare() -> list[Val]:
            low, high = self.gathered(row, a, free)
            return [self.sorting.sort(a, b, self.k, low, high)]

        def few() -> list[Val]:
            self.best(row, a)
            return [a]

        def first_of_many() -> list[Val]:
            return f.if_(f.cmp("sle", self.k, FEW), few, rare)

        def others() -> list[Val]:
            return f.if_(f.cmp("eq", self.k, self.n), dealt, some)

        def most() -> list[Val]:
            return f.if_(self.ranks.fits(self.n, SHORT), compared, others)
        return f.if_(f.cmp("sle", self.k * RARE, self.n), first_of_many, most)[0]

    def ranked(self, row: Val, goal: Val) -> None:
        """Put the first items at `goal` in order, and the others behind them."""
        f, elem, ranks = self.f, self.keys.elem, self.ranks
        ranks.read(row, self.n)

        def group(i: Val, found: Val) -> None:
            f.store(found, self.line)

            def put(j: Val) -> None:
                rank = f.load(elem, f.at(self.line, j, elem))
                rank = rank if elem == "i64" else f.conv("zext", rank, "i64")
                self.items.put(ranks.key(i + j), i + j, goal, f.imin(rank, self.k))
            f.loop(0, f.imin(self.n - i, self.keys.lanes), 1, put)
        ranks.each(self.n, group)

    def chosen(self, row: Val, goal: Val, memory: Val) -> list[Val]:
        """Put the first items at `goal`, in the row's order; the least of their keys and the
        greatest."""
        f, elem = self.f, self.keys.elem
        low, high, _ = self.keys.each(row, self.n, lambda u, i: f.store(u, f.at(memory, i, elem)))
        last, equal = self.selection.find(memory, self.n, self.k - 1, low, high)

        def one(u: Val, i: Val, _: Val, taken: Val, equal: Val) -> list[Val]:
            same = f.cmp("eq", u, last) & f.cmp("sgt", equal, 0)
            takes = f.cmp("ult", u, last) | same
            self.items.put(u, i, goal, taken)
            return [last, taken + f.conv("zext", takes, "i64"),
                    equal - f.conv("zext", same, "i64")]
        start = [last, f.const("i64", 0), equal + 1]
        self.walk(row, f.const("i64", 0), "ule", one, start)
        return [low, last]

    def gathered(self, row: Val, goal: Val, memory: Val) -> list[Val]:
        """Put the first items at `goal`, if they are few of many: most items are skipped.
        Candidates are gathered; when there is no room for more, all but the first are dropped."""
        f, items = self.f, self.items
        room = self.k * BUFFER
        keys = f.bytes_at(memory, room * items.size)

        def one(u: Val, i: Val, limit: Val, count: Val) -> list[Val]:
            def full() -> list[Val]:
                _, last = self.kept(memory, room, memory, keys)
                return [last - 1, self.k]

            def better() -> list[Val]:
                items.put(u, i, memory, count)
                return f.if_(f.cmp("eq", count + 1, room), full, lambda: [limit, count + 1])
            return f.if_(f.cmp("ule", u, limit), better, lambda: [limit, count])
        start = [f.const(self.keys.elem, -1), f.const("i64", 0)]
        _, count = self.walk(row, f.const("i64", 0), "ule", one, start)
        return self.kept(memory, count, goal, keys)

    def kept(self, source: Val, count: Val, goal: Val, memory: Val) -> list[Val]:
        """Put the first of `count` items at `goal`, which they may be at, too, as they follow each
        other; the least of their keys and the greatest."""
        f, items, elem = self.f, self.items, self.keys.elem

        def copy(i: Val, low: Val, high: Val) -> list[Val]:
            u = self.key(source, i)
            f.store(u, f.at(memory, i, elem))
            return [f.intr("umin", low, u), f.intr("umax", high, u)]
        low, high = f.loop(0, count, 1, copy, [f.const(elem, -1), f.const(elem, 0)])
        last, equal = self.selection.find(memory, count, self.k - 1, low, high)

        def one(i: Val, taken: Val, equal: Val) -> list[Val]:
            item, u = items.load(source, i), self.key(source, i)
            same = f.cmp("eq", u, last) & f.cmp("sgt", equal, 0)
            items.store(item, goal, taken)
            return [taken + f.conv("zext", f.cmp("ult", u, last) | same, "i64"),
                    equal - f.conv("zext", same, "i64")]
        f.loop(0, count, 1, one, [f.const("i64", 0), equal + 1])
        return [low, last]

    def best(self, row: Val, goal: Val) -> None:
        """Put the first items at `goal` in order: each that is less than the last of those found so
        far is inserted among them."""
        f, items = self.f, self.items

        def insert(u: Val, i: Val, place: Val) -> None:
            items.put(u, i, goal, place)
            self.sorting.insert(goal, place, place + 1)

        def last() -> Val:
            return self.key(goal, self.k - 1)

        def one(u: Val, i: Val, limit: Val) -> list[Val]:
            def better() -> list[Val]:
                insert(u, i, self.k)
                return [last()]
            return f.if_(f.cmp("ult", u, limit), better, lambda: [limit])
        items.put(self.keys.at(row, f.const("i64", 0)), f.const("i64", 0), goal, f.const("i64", 0))
        f.loop(1, self.k, 1, lambda i: insert(self.keys.at(row, i), i, i))
        self.walk(row, self.k, "ult", one, [last()])

    def walk(self, row: Val, begin: Val, wanted: str, use: Callable[..., list[Val]],
             state: Sequence[Val]) -> list[Val]:
        """`use(key, i, *state)` of a row's keys from `begin` on, which gives the state after it;
        the last one. Where no key of a vector is `wanted`, compared with the state's first, it is
        passed over."""
        f, W, elem = self.f, self.keys.lanes, self.keys.elem

        def group(i: Val, *state: Val) -> list[Val]:
            u = self.keys.at(row, i, W)

            def each() -> list[Val]:
                f.store(u, self.line)
                return f.loop(0, W, 1, lambda j, *state: use(
                    f.load(elem, f.at(self.line, j, elem)), i + j, *state), state)
            return f.if_(f.any(f.cmp(wanted, u, f.splat(state[0], W))), each, lambda: list(state))
        whole = begin + ((self.n - begin) & -W)
        state = f.loop(begin, whole, W, group, state)
        return f.loop(whole, self.n, 1, lambda i, *state: use(self.keys.at(row, i), i, *state),
                      state)


def emit_first(mod: Module, symbol: str, dtype: str, packed: bool, descending: bool) -> None:
    """The first elements of rows in order, and their positions."""
    f = mod.kernel(symbol)
    order = Order(f, dtype, packed, descending=descending)

    def write(r: Val, row: Val, found: Val) -> None:
        def one(i: Val) -> None:
            item, to = order.items.load(found, i), r * order.k + i
            at = order.items.position(item)
            key = order.key(found, i)
            key = ~key if descending else key
            # The elements lie apart, while keys follow each other.
            f.if_(is_shared(f, dtype, key),
                  lambda: copy_element(f, dtype, row, at, order.values, to),
                  lambda: store(f, dtype, element_of(f, dtype, key),
                                f.bytes_at(order.values, to * SIZE[dtype])))
            f.store(at, f.at(order.positions, to, "i64"))
        f.loop(0, order.k, 1, one)
    order.rows(write)


def emit_mode(mod: Module, symbol: str, dtype: str, packed: bool) -> None:
    """The most frequent element of rows, the least of several, and its last position."""
    f = mod.kernel(symbol)
    order = Order(f, dtype, packed, descending=False)
    items, (zero, one) = order.items, (f.const("i64", x) for x in (0, 1))

    def write(r: Val, row: Val, found: Val) -> None:
        def longer(i: Val, key: Val, start: Val, length: Val, last: Val) -> list[Val]:
            new = order.key(found, i)
            start = f.sel(joins(f, dtype, new, key), start, i)
            more = f.cmp("sgt", i - start + 1, length)
            return [new, start, f.sel(more, i - start + 1, length), f.sel(more, i, last)]
        begin = [order.key(found, zero), zero, one, zero]
        *_, last = f.loop(1, order.n, 1, longer, begin)
        at = items.position(items.load(found, last))
        copy_element(f, dtype, row, at, order.values, r)
        f.store(at, f.at(order.positions, r, "i64"))
    order.rows(write)
