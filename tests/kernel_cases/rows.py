"""Reductions, norms, scans, sorts and gathers: what goes along a dimension."""

import itertools
from functools import partial

import whet
import whet.nn.functional as F
from whet.cpu import gather, indexed
from whet.tensor import wrap

from . import FAR, FLOATS, INTS, NEAR, Case, Family, drawn, graded, op


def norms(x):
    return x.softmax(-1), F.layer_norm(x, x.shape[-1:])


REDUCE = {
    "sum": lambda x, d: x.sum(d),
    "mean": lambda x, d: x.mean(d),
    "var": lambda x, d: x.var(d),
    "amax": lambda x, d: x.amax(d),
    "argmin": lambda x, d: x.argmin(d),
    "logsumexp": lambda x, d: x.logsumexp(d),
    "softmax": lambda x, d: x.softmax(d),
    "log_softmax": lambda x, d: x.log_softmax(d),
    "prod": lambda x, d: x.prod(d),
    "norm": lambda x, d: x.norm(dim=d),
    "max": lambda x, d: x.max(d),
}
REDUCE_INTS = {
    "sum": lambda x, d: x.sum(d),
    "amin": lambda x, d: x.amin(d),
    "argmax": lambda x, d: x.argmax(d),
    "any": lambda x, d: x.any(d),
}


class Rows(Family):
    """Reductions and norms along the last dimension, however long and however it lies."""

    generators = ("contiguous.RowKernel.emit", "short.ShortKernel.emit", "narrow.NarrowKernel.emit")
    kinds = (
        "rows/1/",
        "rows/2/",
        r"rows/\d/pieces/",
        r"rows/short/\d/\d+/whole",
        r"rows/short/\d/\d+/(?!whole)",
        "rows/narrow/",
    )

    def cases(self):
        yield from self.layouts()
        yield from self.types()
        yield from self.dims()
        yield from self.uses()

    def layouts(self):
        names = itertools.cycle(REDUCE)
        for n, count in itertools.product((*NEAR[1:], *FAR, 4095, 4097), (1, 3, 40)):
            for dtype, name in zip(("f4", "f8") if n < 4000 else (), names):
                yield Case(
                    f"{name} {dtype} {count} {n}",
                    lambda x, f=REDUCE[name]: f(x, -1),
                    [op(dtype, count, n)],
                )
        for n, layout in itertools.product(
            (1, 3, 9, 16, 33, 100), ("wide", "gaps", "turned", "spread")
        ):
            yield Case(f"norms {layout} {n}", norms, [op("f4", 7, n, layout=layout)])
            yield Case(
                f"softmax {layout} {n}",
                lambda x: x.softmax(1).sum(1),
                [op("f4", 3, n, 2, layout=layout)],
            )
        for n in (33, 257, 4097):
            yield Case(
                f"parts of planes {n}",
                lambda x: (x[:, :4].softmax(-1), x[:, :4].sum(-1), x[:, 1:].argmax(-1)),
                [op("f4", 3, 5, n)],
            )

    def types(self):
        for dtype, n in itertools.product(("f2", "bf", *INTS, "?"), (3, 17, 64, 300)):
            pick = REDUCE_INTS if dtype[0] in "iu?" else REDUCE
            for name in (
                ("sum", "argmax", "any") if pick is REDUCE_INTS else ("sum", "softmax", "amax")
            ):
                yield Case(
                    f"{name} {dtype} {n}", lambda x, f=pick[name]: f(x, -1), [op(dtype, 5, n)]
                )

    def dims(self):
        """Over several dimensions, and many short rows."""
        for a, b, c in ((3, 4, 5), (2, 17, 33), (5, 1, 40), (2, 70, 3)):
            for dims in ((0, 1), (0, 2), (1, 2), (0, 1, 2)):
                yield Case(
                    f"sum {dims} {a} {b} {c}",
                    lambda x, d=dims: (x.sum(d), x.amax(d), x.var(d)),
                    [op("f4", a, b, c)],
                )
                yield Case(
                    f"turned sum {dims} {a} {b} {c}",
                    lambda x, d=dims: (x.sum(d), x.std(d)),
                    [op("f4", a, b, c, layout="turned")],
                )
        for count, n in ((700, 2), (600, 5), (520, 8), (513, 16), (530, 11)):
            for name in ("sum", "softmax", "argmin", "var"):
                yield Case(
                    f"many {name} {count} {n}",
                    lambda x, f=REDUCE[name]: f(x, -1),
                    [op("f4", count, n)],
                )

    def uses(self):
        for n in (5, 64, 300):
            yield Case(
                f"gradients {n}",
                graded(lambda x, w: F.layer_norm(x, (x.shape[-1],), w), 0, 1),
                [op("f4", 9, n), op("f4", n)],
            )
            yield Case(
                f"cross entropy {n}",
                graded(lambda x: F.cross_entropy(x, x.detach().argmin(1)), 0),
                [op("f4", 9, n)],
            )


class Long(Family):
    """Rows that threads share."""

    generators = (
        "contiguous.RowKernel.emit", "strided_rows.ColKernel.emit", "combine_spans.emit_combine")
    kinds = (
        r"rows/\d/part/",
        r"cols/\d+/\w+(/masked)?/part/",
        r"combine/(?!.*/wide)",
        "combine/.*/wide",
    )

    def cases(self):
        for n in (262144, 270001):
            for name in ("sum", "amax", "argmin", "norm"):
                yield Case(f"{name} {n}", lambda x, f=REDUCE[name]: f(x, -1), [op("f4", 1, n)])
        for name in ("sum", "amax", "argmin"):
            yield Case(f"columns {name}", lambda x, f=REDUCE[name]: f(x, 0), [op("f4", 90001, 3)])
            yield Case(
                f"more columns {name}", lambda x, f=REDUCE[name]: f(x, 0), [op("f4", 9001, 40)]
            )


class Columns(Family):
    """The same along another dimension than the last."""

    generators = ("strided_rows.ColKernel.emit",)
    kinds = r"cols/\d+/\w+/masked", r"cols/\d+/\w+/(?!masked|part)", "cols/.*/still"

    def cases(self):
        names = list(REDUCE)
        for k, (n, columns) in enumerate(
            itertools.product(
                (1, 2, 5, 12, 21, 31, 33, 70, 170), (1, 3, 8, 15, 16, 17, 33, 65, 130)
            )
        ):
            for name in (names[k % len(names)], names[(k + 4) % len(names)]):
                yield Case(
                    f"{name} {n} {columns}",
                    lambda x, f=REDUCE[name]: f(x, 0),
                    [op("f4", n, columns)],
                )
            yield Case(
                f"batch {n} {columns}",
                lambda x: (x.sum(1), x.softmax(1)),
                [op("f8" if k % 3 else "bf", 3, n, columns)],
            )
        for n in (3, 17, 70):
            yield Case(
                f"repeated columns {n}",
                lambda x: x[..., :1].expand(x.shape).softmax(0),
                [op("f4", 2, 40, n)],
            )
        for n in (1, 7, 40):
            yield Case(
                f"wide {n}",
                lambda x: (x.mean(0), x.argmax(0), x.softmax(0)),
                [op("f4", 9, n, layout="wide")],
            )
            yield Case(
                f"channels {n}",
                graded(lambda x: F.batch_norm(x, None, None, training=True), 0),
                [op("f4", 3, 5, n)],
            )


class Scans(Family):
    generators = ("scan.emit_rows", "scan.emit_columns")

    def cases(self):
        kinds = {
            "sum": lambda x, d: x.cumsum(d),
            "prod": lambda x, d: x.cumprod(d),
            "max": lambda x, d: x.cummax(d),
            "min": lambda x, d: x.cummin(d),
            "logsumexp": lambda x, d: x.logcumsumexp(d),
        }
        for n, (name, f) in itertools.product((1, 3, 16, 17, 33, 65, 257, 4099), kinds.items()):
            yield Case(f"{name} {n}", lambda x, f=f: f(x, -1), [op("f4", 3, n)])
            if n < 300:
                yield Case(f"{name} columns {n}", lambda x, f=f: f(x, 0), [op("f4", 5, n)])
                yield Case(
                    f"{name} turned {n}", lambda x, f=f: f(x, 1), [op("f8", 5, n, layout="turned")]
                )
        for dtype, n in itertools.product(("f2", "bf", "i1", "i8", "?"), (5, 40)):
            yield Case(f"sum {dtype} {n}", lambda x: (x.cumsum(1), x.cumsum(0)), [op(dtype, 9, n)])


class Sorts(Family):
    """Rows in order, a part of them, and single elements of that order."""

    generators = ("sort.emit_first", "sort.emit_mode", "select.emit_kth")
    kinds = ("sort/first/.*/True/", "sort/first/.*/False/", "sort/mode/", "select/kth/")

    def cases(self):
        for dtype, n in itertools.product((*FLOATS, "i1", "i4", "i8", "?"), (1, 3, 16, 33, 300)):
            yield Case(
                f"sort {dtype} {n}",
                lambda x: (*x.sort(-1), x.argsort(-1, descending=True), *x.mode(-1)),
                [op(dtype, 9, n)],
            )
        for n, k in (
            (5, 1), (8, 3), (33, 3), (60, 30), (130, 20), (300, 2), (300, 40), (1000, 30),
            (4000, 1), (4000, 20), (4000, 100),
        ):
            yield Case(
                f"topk {n} {k}",
                lambda x, k=k: (*x.topk(k), *x.topk(k, largest=False)),
                [op("f4", 3, n)],
            )
            yield Case(
                f"nth {n} {k}",
                lambda x, k=k: (*x.kthvalue(k), *x.median(-1), *x.nanmedian(-1)),
                [op("f8" if k > 2 else "f4", 3, n)],
            )
        for dtype, n in itertools.product(("f4", "f8"), (257, 4099)):
            yield Case(f"turned {dtype} {n}", lambda x: (*x.sort(0), *x.median(0), *x.mode(0)),
                       [op(dtype, n, 3)])


class Searches(Family):
    generators = ("search.emit_places", "search.emit_members")
    kinds = ("search/places/.*/True/False", "search/places/.*/False/False",
             "search/places/.*/True$", "search/members/")

    def cases(self):
        def finds(x, values, right):
            rows, order = x.sort(-1)
            one = rows[0].contiguous()
            return (whet.searchsorted(rows, values, right=right),
                    whet.searchsorted(one, values, right=right, out_int32=True),
                    whet.searchsorted(x, values, right=right, sorter=order),
                    whet.isin(values, one, invert=right))
        for dtype, n in itertools.product((*FLOATS, "i1", "i4", "i8"), (1, 2, 3, 16, 33, 300)):
            for flag in (False, True):
                yield Case(f"searched {dtype} {n} {flag}", partial(finds, right=flag),
                           [op(dtype, 5, n), op(dtype, 5, 7)])


class Counts(Family):
    generators = ("counting.emit_numbers", "counting.emit_intervals", "runs.emit_neighbours",
                  "runs.emit_distinct")
    kinds = ("counting/numbers/.*/True", "counting/numbers/.*/False", "counting/intervals/",
             "runs/neighbours/.*/False/True", "runs/distinct/.*/True/True/True",
             "runs/distinct/.*/False/True/True")

    def cases(self):
        both = dict(return_inverse=True, return_counts=True)
        for n in (1, 7, 8, 33, 300):
            for weight in ("f4", "f8", "i4"):
                yield Case(f"numbers {weight} {n}", lambda x, w: (x.bincount(), x.bincount(w)),
                           [op("i8", n, below=9), op(weight, n)])
            for dtype in (*FLOATS, "i4"):
                yield Case(f"intervals {dtype} {n}", lambda x: (x.histc(7), x.histc(3, -1, 2)),
                           [op(dtype, n)])
            for dtype in (*FLOATS, "i1", "i4", "i8", "?"):
                yield Case(
                    f"runs {dtype} {n}",
                    lambda x: (*x.unique(**both), *x.unique_consecutive(return_counts=True)),
                    [op(dtype, n)])


class Combined(Family):
    """What libraries put or combine into places by, one after the other."""

    generators = ("combine_at_places.emit",)
    kinds = ("combine/None/", "combine/add/", "combine/mul/", "combine/max/", "combine/min/")

    def cases(self):
        launched = gather.REFERENCE is False

        def combined(x, at, values, kind):
            if not launched:
                return _one_by_one(x, at, values, kind)
            out = x._array.copy()
            indexed.combine(out, at._array, values._array, kind)
            return wrap(out)
        kinds = ("put", "sum", "prod", "amax", "amin")
        for dtype, n in itertools.product((*FLOATS[:2], "i4", "u1"), (1, 2, 17, 300)):
            for kind, many in itertools.product(kinds, sorted({1, n})):
                yield Case(f"{kind} {dtype} {n} {many}", partial(combined, kind=kind),
                           [op(dtype, 33), op("i8", n, below=33), op(dtype, many)])


def _one_by_one(x, at, values, kind):
    """What `Combined` makes, in Python."""
    out = x.clone()
    combine = {"put": lambda a, b: b, "sum": whet.add, "prod": whet.mul, "amax": whet.maximum,
               "amin": whet.minimum}[kind]
    for k, place in enumerate(at.tolist()):
        out[place] = combine(out[place], values[k % len(values)])
    return out


class Takes(Family):
    generators = ("gather.emit", "gather.emit_rows", "gather.emit_bounds", "gather.emit_put")
    kinds = (
        r"take/\d/flat",
        r"take/\d/inner",
        r"take/\d/one index",
        "take/rows",
        "take/put",
        "take/bounds",
    )

    outer = (1, 3, 17)  # from 16 on, threads share the rows, else the indices
    along = (1, 3, 7, 15, 16, 17, 31, 33, 40, 63)  # indices; the elements of a slice, too

    def shapes(self, word, dtype, number):
        """(rows, indices of each, elements of a slice): some of all that there are."""
        return drawn(f"{word} {dtype}", number, self.outer, self.along, self.along)

    def cases(self):
        for dtype in ("f4", "f8", "f2", "i1"):
            yield from self.elements(dtype)
            yield from self.slices(dtype)
            if dtype != "i1":
                yield from self.puts(dtype)
            if dtype != "f2":
                yield from self.reductions(dtype)
        for n in (1, 16, 33):
            yield Case(
                f"embedding {n}",
                graded(lambda w, i: F.embedding(i, w), 0),
                [op("f4", 11, n), op("i8", 4, 5, below=11)],
            )

    def elements(self, dtype):
        """Each element has an index of its own."""
        for o, m, n in self.shapes("along", dtype, 8):
            yield Case(
                f"along {dtype} {o} {m} {n}",
                lambda x, i: (x.gather(1, i), x[:, 0].take(i[:, 0] % len(x))),
                [op(dtype, o, n), op("i8", o, m, below=n)],
            )
        for o, m, n in self.shapes("inner", dtype, 8):
            yield Case(
                f"inner {dtype} {o} {m} {n}",
                lambda x, i: x.gather(1, i),
                [op(dtype, o, 5, n), op("i8", o, m, n, below=5)],
            )

    def slices(self, dtype):
        """A vector of indices is for whole slices; some count from the end."""
        for o, m, n in self.shapes("rows", dtype, 8):
            yield Case(
                f"rows {dtype} {o} {m} {n}",
                lambda x, i: (
                    x.index_select(1, i),
                    x.mT.contiguous().index_select(2, i),
                    x[:, i - 2],
                    x[0, :, 0].contiguous()[i - 2],
                ),
                [op(dtype, o, 5, n), op("i8", m, below=5)],
            )

    def puts(self, dtype):
        """What takes the place of what is there, or is added to it."""
        for o, m, n in self.shapes("put", dtype, 6):
            yield Case(
                f"put {dtype} {o} {m} {n}",
                lambda x, y, i, j: (
                    x.scatter(1, i, y),
                    x.scatter_add(1, i, y),
                    x.index_add(1, j, y),
                    x.index_copy(1, j[:1], y[:, :1]),
                    x[0].index_put((j - 3,), y[0], accumulate=True),
                    x[0].index_put((j[:1] - 3,), y[0, :1]),
                ),
                self.places(dtype, o, m, n),
            )

    def reductions(self, dtype):
        """What is combined by an index, with what is there or without."""
        for kind in ("prod", "mean", "amax", "amin"):
            for o, m, n in self.shapes(kind, dtype, 5):
                yield Case(
                    f"reduce {kind} {dtype} {o} {m} {n}",
                    lambda x, y, i, j, kind=kind: (
                        x.scatter_reduce(1, i, y, kind),
                        x.scatter_reduce(1, i, y, kind, include_self=False),
                        x.scatter_reduce(
                            1, j[:, None].expand(y.shape), y, kind, include_self=False
                        ),
                        x.index_reduce(1, j, y, kind),
                    ),
                    self.places(dtype, o, m, n),
                )

    @staticmethod
    def places(dtype, o, m, n):
        """What is put to, what is put there, and at which places: for each element and for each
        slice."""
        return [
            op(dtype, o, 6, n),
            op(dtype, o, m, n),
            op("i8", o, m, n, below=6),
            op("i8", m, below=6),
        ]
