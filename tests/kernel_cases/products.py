"""Products, of any shape, and what a trace makes of several."""

import itertools

import whet
import whet.nn.functional as F
from whet.ops import recurrent
from whet.ops.recurrent_cells import CELLS
from whet.passes.lower_llvm import targets

from . import WEIGHTS, Case, Family, graded, op

SIDES = (
    (9, 1, 5),
    (9, 7, 16),
    (15, 33, 17),
    (16, 16, 16),
    (29, 257, 31),
    (33, 64, 49),
    (40, 256, 33),
    (57, 513, 65),
    (120, 70, 100),
    (13, 0, 4),
    (0, 3, 4),
    (31, 300, 130),
)


class Products(Family):
    """The tiled product, and what packs for it."""

    generators = ("gemm.gemm", "packed_panels.pack_b")
    kinds = (
        *(f"gemm/f32/{a}/{b}/" for a in ("place", "rows", "cols") for b in ("rows", "cols")),
        *(("gemm/f32/place/place/",) if targets._best() == "avx512" else ()),
        "gemm/f32/place/packed",
        "gemm/pack/many/f32/",
    )
    exact = False

    def cases(self):
        yield from self.layouts()
        yield from self.uses()
        yield from self.tall_and_apart()

    def layouts(self):
        for (m, k, n), (a, b) in itertools.product(
            SIDES, (("plain", "plain"), ("turned", "turned"), ("wide", "gaps"), ("gaps", "wide"))
        ):
            yield Case(
                f"{a} {b} {m} {k} {n}",
                lambda x, y: x @ y,
                [op("f4", m, k, layout=a), op("f4", k, n, layout=b)],
            )
        for dtype, (m, k, n) in itertools.product(
            ("f8", "f2", "bf", "i1", "i4", "i8"), SIDES[1:7:2]
        ):
            yield Case(
                f"{dtype} {m} {k} {n}",
                lambda x, y: (x @ y, x @ y.t().contiguous().t()),
                [op(dtype, m, k), op(dtype, k, n)],
            )

    def uses(self):
        """Products with more around them: epilogues, batches, gradients."""
        for m, k, n in SIDES[1:8]:
            yield Case(
                f"epilogue {m} {k} {n}",
                lambda x, w, c, r: F.linear(x, w, c).tanh() + r,
                [op("f4", m, k), op("f4", n, k), op("f4", n), op("f4", m, n)],
            )
            yield Case(
                f"batch {m} {k} {n}",
                lambda x, y: (x @ y, x[:, :1] @ y),
                [op("f4", 3, m, k), op("f4", 3, k, n)],
            )
            yield Case(
                f"gradients {m} {k} {n}",
                graded(F.linear, 0, 1, 2),
                [op("f4", m, k), op("f4", n, k), op("f4", n)],
            )

    def tall_and_apart(self):
        for dtype, (m, k, n) in itertools.product(
            ("f4", "f2"),
            (
                *((112, 70, 9), (113, 300, 17), (225, 33, 40), (330, 20, 33), (400, 20, 33)),
                # panels that stay in a cache, and those of a wide matrix, which do not
                *((400, 300, 70), (350, 257, 530)),
            ),
        ):  # groups of rows
            yield Case(
                f"tall {dtype} {m} {k} {n}",
                lambda x, y: (x @ y, x @ y.t().contiguous().t()),
                [op(dtype, m, k), op(dtype, k, n)],
            )
        yield Case(
            "pages apart",
            lambda x, y, z: (
                x[:, :70] @ y[:70],
                x[:, :70] @ z.t(),
                x.t()[:70] @ y[: x.shape[0]],
            ),
            [op("f4", 130, 1024), op("f4", 1024, 130), op("f4", 130, 70)],
        )
        for m in (65, 150):
            yield Case(
                f"kept {m}",
                kept_weights,
                [op("f4", m, 40), op("f4", 40, 70), op("f2", m, 40), op("f2", 40, 70)],
            )


def kept_weights(x, w, y, v):
    """Weights that outlive the call: a trace packs them once."""
    held = WEIGHTS.setdefault((x.shape, w.dtype), [t.clone() for t in (w, v)])
    return x @ held[0], y @ held[1], (x @ held[0].clone()).relu()


class Few(Family):
    """Few rows."""

    generators = ("few_rows.few_rows", "few_rows.few_cols")
    kinds = "gemv/f32/rows/2", "gemv/f32/rows/8", "gemv/f32/cols/2", "gemv/f32/cols/8"
    exact = False

    def cases(self):
        for m, k, n in itertools.product((2, 3, 5, 8), (1, 31, 130, 257, 600), (4, 17, 131)):
            if k * n < 40000:
                yield Case(
                    f"rows {m} {k} {n}", lambda x, w: x @ w, [op("f4", m, k), op("f4", k, n)]
                )
                yield Case(
                    f"cols {m} {k} {n}",
                    lambda x, w, c: F.linear(x, w, c),
                    [op("f4", m, k), op("f4", n, k), op("f4", n)],
                )
        for dtype, (m, k, n) in itertools.product(
            ("f8", "f2", "bf", "i1", "i4"), ((2, 256, 300), (3, 130, 530), (5, 255, 260))
        ):
            yield Case(
                f"{dtype} {m} {k} {n}",
                lambda x, w: (x @ w, x @ w.t().contiguous().t()),
                [op(dtype, m, k), op(dtype, k, n)],
            )


class One(Family):
    """One row, or one column."""

    generators = ("one_row.one_row", "one_row.one_col")
    kinds = (
        "gemv/f32/one_row/near",
        "gemv/f32/one_row/(?!near)",
        "gemv/f32/one_col/1/",
        "gemv/f32/one_col/4/",
        "gemv/f32/one_col/8/(?!any)",
        "gemv/f32/one_col/8/any",
    )
    exact = False

    def cases(self):
        for k, n in itertools.product(
            (0, 1, 15, 16, 17, 64, 65, 257, 4095, 4097, 8200), (1, 3, 4, 8, 15, 33, 70)
        ):
            if k * n < 70000:
                for layout in (
                    ("plain", "turned") if (k + n) % 3 else ("plain", "turned", "wide", "gaps")
                ):
                    yield Case(
                        f"one {layout} {k} {n}",
                        lambda x, w: (x @ w, (w.mT @ x.mT).tanh()),
                        [op("f4", 1, k), op("f4", k, n, layout=layout)],
                    )
        for dtype, k in itertools.product(("f8", "f2", "i8"), (5, 33, 5000)):
            yield Case(
                f"one {dtype} {k}",
                lambda x, w: (x @ w, x @ w[:, :1], w.t() @ x.t()),
                [op(dtype, 1, k), op(dtype, k, 9)],
            )
        for dtype, layout, k in itertools.product(
            ("f4", "f8", "f2", "bf", "i8"), ("plain", "turned", "gaps"), (33, 4096, 4097, 5000)
        ):
            yield Case(
                f"strided {dtype} {layout} {k}",
                lambda x, w: (x @ w, w.mT @ x.mT, x @ w[:, :3]),
                [op(dtype, 1, k, layout="gaps"), op(dtype, k, 9, layout=layout)],
            )
        yield Case(
            "one far",
            lambda x, w: (x @ w, x @ w.t().contiguous().t()),
            [op("f4", 1, 700), op("f4", 700, 1100)],
        )


class Small(Family):
    """Many products of small matrices, and many rows times one."""

    generators = ("small_matrices.small",)
    kinds = (
        "gemm/small/f32/3/3/3/3/False/False/False/False/False/",
        "gemm/small/f32/3/3/3/3/False/True",
        "gemm/small/f32/1/3/3/10/False/False/False/True/False",
        "gemm/small/f32/1/8/8/4/",
        "gemm/small/f64/",
    )
    exact = False

    def cases(self):
        sizes = ((2, 2, 2), (3, 3, 3), (4, 4, 4), (5, 3, 2), (1, 3, 3), (3, 3, 1), (1, 16, 1),
                 (2, 9, 3), (4, 1, 4), (5, 5, 5))
        for (m, k, n), count in itertools.product(sizes, (17, 33)):
            yield Case(
                f"batch {m} {k} {n} {count}",
                lambda x, y, r: (x @ y, (x @ y + r) * 2, x[0] @ y, x @ y[0]),
                [op("f4", count, m, k), op("f4", count, k, n), op("f4", count, m, n)],
            )
            yield Case(
                f"batch with operands {m} {k} {n} {count}",
                lambda x, y, each, column, matrix: ((x @ y) * each, (x @ y) * column + matrix),
                [op("f4", count, m, k), op("f4", count, k, n), op("f4", count, 1, 1),
                 op("f4", count, m, 1), op("f4", m, n)],
            )
            for a, b in (("turned", "plain"), ("wide", "gaps")):
                yield Case(
                    f"batch {a} {b} {m} {k} {n} {count}",
                    lambda x, y: (x.mT @ y.mT, x.mT.contiguous() @ y.mT),
                    [op("f4", count, k, m, layout=a), op("f4", count, n, k, layout=b)],
                )
        for dtype, (m, k, n) in itertools.product(("f8", "i4", "i8"), sizes[:5]):
            yield Case(
                f"{dtype} {m} {k} {n}",
                lambda x, y: (x @ y, x @ y.mT.contiguous().mT, x @ y[0]),
                [op(dtype, 21, m, k), op(dtype, 21, k, n)],
            )
        for dtype, (k, n), rows in itertools.product(
            ("f4", "f8"), ((2, 2), (3, 3), (3, 8), (8, 8), (8, 1), (5, 2)), (64, 131)
        ):
            yield Case(
                f"rows {dtype} {k} {n} {rows}",
                lambda x, w, c: (x @ w.t(), F.linear(x, w, c).tanh(), x @ w[0],
                                 x @ w.t().contiguous()),
                [op(dtype, rows, k), op(dtype, n, k), op(dtype, n)],
            )
        yield Case(
            "two dimensions",
            lambda x, y: (x @ y, (x[:, 0] @ y[:, 0, 0]).relu()),
            [op("f4", 3, 20, 2, 3), op("f4", 3, 1, 3, 2)],
        )


class Chains(Family):
    """Products that follow each other in blocks of rows."""

    generators = ("row_blocks.emit",)
    exact = False

    def cases(self):
        def attention(q, k, v):
            return (q @ k.swapaxes(-1, -2) * 0.125).softmax(-1) @ v

        for b, n, d in ((1, 65, 16), (3, 97, 33), (2, 300, 20)):
            yield Case(
                f"attention {b} {n} {d}",
                attention,
                [op("f4", b, n, d), op("f4", b, n + 7, d), op("f4", b, n + 7, d)],
            )
        for m in (65, 203):
            yield Case(
                f"perceptron {m}",
                lambda x, a, b, c: F.gelu(x @ a + b, approximate="tanh") @ c,
                [op("f4", m, 40), op("f4", 40, 100), op("f4", 100), op("f4", 100, 17)],
            )


def layer(kind):
    """All steps of a recurrent layer there and back, and the gradients of all weights. Sequences of
    one dimension less are packed."""
    cell, n = CELLS[kind], CELLS[kind].states

    def call(x, *given):
        rows = given[0].shape[0]
        begins = None if x.ndim == 3 else whet.tensor(
            [0, *itertools.accumulate(packed_steps(len(x), rows))])
        return recurrent.FORWARD[kind](
            x, *given, begins, is_reversed=len(x) % 2 == 0, keep=x.requires_grad)[0]

    def operands(dtype, length, rows, inside, size):
        gates = cell.gates * size
        first = (length, rows, inside) if length else (2 * rows + rows // 2 + 1, inside)
        shapes = [first, *[(rows, size)] * n, (gates, inside), (gates, size),
                  (gates,), (gates,)]
        return [op(dtype, *shape) for shape in shapes]
    return call, operands, tuple(range(5 + n))


def packed_steps(total, rows):
    """How many sequences each step has, of so many packed rows."""
    found = []
    while total:
        rows = min(rows, total)
        found.append(rows)
        total, rows = total - rows, max(rows - (len(found) > 1) * (rows // 2), 1)
    return found


class Recurrences(Family):
    """Steps of recurrent layers."""

    generators = ("recurrences.steps",)
    kinds = "steps/f32/1/", "steps/f32/3/", "steps/f32/4/", "steps/f64/", "steps/packed/"
    exact = False

    def cases(self):
        sizes = ((2, 1, 1, 1), (3, 3, 2, 7), (2, 15, 5, 16), (4, 29, 3, 33), (2, 6, 9, 270),
                 (0, 3, 2, 7), (0, 29, 3, 33))
        for kind, of in itertools.product(CELLS, sizes):
            call, operands, wanted = layer(kind)
            for dtype in ("f4", "f8") if of[0] == 3 else ("f4",):
                given = operands(dtype, *of)
                yield Case(f"{kind} {dtype} {of}", call, given)
                yield Case(f"{kind} {dtype} {of} and back", graded(call, *wanted), given)


class Loops(Family):
    """Steps of a loop that a trace rolls up, and the launches around it."""

    generators = ()
    exact = False

    def cases(self):
        def recurrence(h, w, x):
            out = []
            for k in range(24):
                h = (h @ w + x[k]).tanh()
                out.append(h)
            return h, whet.stack(out)

        for m, n in ((2, 4), (3, 17), (1, 33)):
            yield Case(f"{m} {n}", recurrence, [op("f4", m, n), op("f4", n, n), op("f4", 24, m, n)])
