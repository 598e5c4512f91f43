"""Pointwise kernels, and those made of them: gathers, updates of many tensors, random numbers."""

import itertools

import whet
import whet.nn.functional as F
from whet import optim
from whet.ops import grid_sampling

from . import FAR, FLOATS, INTS, LAYOUTS, NEAR, Case, Family, graded, op


class Pointwise(Family):
    generators = ("pointwise.emit",)
    kinds = tuple(
        f"pointwise/{way}" for way in ("flat/", "rows/", "rows/r", "tiles/", "packed/"))

    def cases(self):
        yield from self.lines_and_rows()
        yield from self.backwards()
        yield from self.tiles()
        yield from self.packed()
        yield from self.complex_numbers()
        yield from self.forms()

    def lines_and_rows(self):
        for n in (*NEAR, *FAR, 4097):
            for dtype in (*FLOATS, "i4") if n in (1, 7, 17, 33, 65) else ("f4", "i1"):
                f = light if dtype[0] == "i" else heavy if n % 2 else light
                yield Case(f"line {dtype} {n}", f, [op(dtype, n), op(dtype, n)])
        for (m, n), (a, b) in itertools.product(
            (
                (1, 1),
                (3, 5),
                (5, 3),
                (16, 17),
                (17, 16),
                (33, 31),
                (2, 65),
                (65, 2),
                (40, 40),
                (0, 3),
            ),
            itertools.product(LAYOUTS, ("plain", "turned", "gaps")),
        ):
            yield Case(
                f"rows {a} {b} {m} {n}",
                heavy if a == b else light,
                [op("f4", m, n, layout=a), op("f4", m, n, layout=b)],
            )

    def backwards(self):
        """Operands of all types that are read from their end."""
        for dtype in (*FLOATS, *INTS, "?", "c8", "c16"):
            for n in (2, 7, 16, 33, 65, 129) if dtype in ("f4", "u1") else (17, 64):
                yield Case(
                    f"backwards {dtype} {n}",
                    lambda a, b: (a.flip(-1), a.flip(0, 1), whet.where(a.flip(1) == b, a, b)),
                    [op(dtype, 3, n, layout="wide"), op(dtype, 3, n)],
                )

    def tiles(self):
        """Operands of which one lies across the other, and of all types."""
        for m, n in ((64, 64), (65, 130), (130, 65), (64, 200), (70, 63), (129, 64), (64, 65)):
            for dtype, layout in itertools.product(("f4", "f8", "i1"), ("plain", "wide")):
                yield Case(
                    f"tiles {dtype} {layout} {m} {n}",
                    light,
                    [op(dtype, m, n, layout=layout), op(dtype, m, n, layout="turned")],
                )
        for dtype, (few, many) in itertools.product(
            ("f4", "f8", "i1"), ((2, 16), (2, 63), (3, 17), (5, 40), (7, 33))
        ):
            yield Case(
                f"short rows {dtype} {few} {many}",
                lambda x: (x.permute(0, 2, 1).contiguous(), x.permute(2, 0, 1) * 1),
                [op(dtype, 3, few, many)],
            )
        for dtype in (*FLOATS, *INTS, "?", "c8", "c16"):
            yield Case(
                f"turned {dtype}",
                lambda a, b: (whet.where(a == b, a, b), a != b),
                [op(dtype, 9, 37, layout="turned"), op(dtype, 9, 37)],
            )

    def packed(self):
        """Rows of few elements beside a number for each of them, one row for all, parts of wider
        rows, and a number for each of several tables."""
        for dtype, rows, n in itertools.product(
            ("f4", "f8", "i1"), (8, 63, 64, 65, 130), (2, 3, 5, 8, 9, 16, 17, 31, 32, 33)
        ):
            yield Case(
                f"packed {dtype} {rows} {n}",
                lambda a, b, c, d: (light(a, b), light(b, a) + c, light(a, c) * d),
                [op(dtype, 2, rows, n), op(dtype, 2, rows, 1), op(dtype, n), op(dtype, 2, 1, 1)],
            )
            yield Case(
                f"packed parts {dtype} {rows} {n}",
                lambda a, b: (light(a, b[:, :-1]), light(b[:, 1:], b[:, :1])),
                [op(dtype, rows, n), op(dtype, rows, n + 1)],
            )
        for dtype in (*FLOATS, *INTS, "?", "c8", "c16"):
            yield Case(
                f"packed {dtype}",
                lambda a, b, c: (whet.where(a == b, a, c), a != c),
                [op(dtype, 70, 9), op(dtype, 70, 1), op(dtype, 9)],
            )

    def complex_numbers(self):
        """Pairs in memory, in lines, rows and tiles of all layouts."""
        for dtype, n in itertools.product(("c8", "c16"), NEAR):
            yield Case(f"line {dtype} {n}", of_parts, [op(dtype, n), op(dtype, n)])
        sizes = (1, 1), (3, 5), (17, 16), (2, 65), (65, 2), (65, 70)
        layouts = itertools.product(LAYOUTS, ("plain", "turned", "gaps"))
        for dtype, (m, n), (a, b) in itertools.product(("c8", "c16"), sizes, layouts):
            yield Case(f"pairs {dtype} {a} {b} {m} {n}", of_parts,
                       [op(dtype, m, n, layout=a), op(dtype, m, n, layout=b)])

    def forms(self):
        """What else an expression may have: broadcasts, numbers, casts, places to write to."""
        for n in (1, 3, 17, 40):
            yield Case(f"broadcast {n}", light, [op("f4", 5, 1, n), op("f4", 3, 1)])
            yield Case(f"number {n}", lambda a: (2 - a) / 3 + 1.5, [op("f8", 3, n, layout="wide")])
            yield Case(
                f"permuted {n}",
                lambda a, b: (a.permute(2, 0, 1) * b).relu(),
                [op("f4", 4, n, 3), op("f4", 3, 4, n)],
            )
            yield Case(
                f"casts {n}",
                lambda a: (a.double() + 1, a.to(whet.int8), a.half(), a.bfloat16(), a > 0),
                [op("f4", n, 5, layout="turned")],
            )
            yield Case(
                f"far angles {n}", lambda a: (a * 1e30).sin() + (a * 1e9).cos(), [op("f4", n)]
            )
            yield Case(
                f"written {n}",
                written,
                [op("f4", 4, n, layout="gaps"), op("f4", 4, n, layout="turned")],
            )


def of_parts(a, b):
    """Complex results and real ones, of numbers and of one for all."""
    return a * b + b.conj() / 2, a / b, a[..., :1] - b, a.abs() + b.real


def light(a, b):
    return a * b - a


def heavy(a, b):
    return (a.exp() * 0.5).tanh() + b


def written(a, b):
    """Places with gaps between them are written to."""
    a.mul_(2).add_(b)
    b[1:, ::2] = a[1:, ::2].exp()
    return a[:, 1:] * 1


class Picks(Family):
    """Pointwise kernels that gather."""

    generators = ("pointwise.emit",)

    def cases(self):
        for n, m in itertools.product((1, 5, 16, 33, 70), (1, 3, 17)):
            yield Case(
                f"rows {n} {m}",
                lambda a, i, b: (a.index_select(0, i) * b).exp(),
                [op("f4", 6, m), op("i8", n, below=6), op("f4", n, m)],
            )
            yield Case(
                f"along {n} {m}",
                lambda a, i: (a.gather(1, i) + 1).tanh() * 2,
                [op("f4", n, m), op("i8", n, m, below=m)],
            )
        for n, m in itertools.product((1, 5, 12), (16, 32, 45, 600)):
            yield Case(
                f"slices {n} {m}",
                lambda a, i, j: (a[i] - a[j]).relu(),
                [op("f4", 6, m), op("i8", n, below=6), op("i8", n, below=6)],
            )
            yield Case(
                f"slices and elements {n} {m}",
                lambda a, b, i, j: a[i] * b.gather(1, j),
                [op("f4", 6, m), op("f4", n, 7), op("i8", n, below=6), op("i8", n, m, below=7)],
            )


class Taps(Family):
    """Weighted sums of elements at given places, and their transposes."""

    generators = ("grid_sampling.sums", "grid_sampling.products", "grid_sampling.spread")
    kinds = "sample/sums/float", "sample/products/float", "sample/spread/float"
    exact = False

    def cases(self):
        for n, (mode, padding), dtype in itertools.product(
            (1, 3, 8, 17, 33, 515),
            (("bilinear", "zeros"), ("nearest", "zeros"), ("bicubic", "border")),
            ("f4", "f8"),
        ):
            if dtype == "f8" and n in (8, 515):
                continue
            yield Case(
                f"image {mode} {dtype} {n}",
                graded(
                    lambda x, g, mode=mode, padding=padding: F.grid_sample(
                        x, g, mode, padding, False
                    ),
                    *((0,) if mode == "nearest" else (0, 1)),
                ),
                [op(dtype, 2, 3, 5, 7, layout="turned"), op(dtype, 2, 1, n, 2)],
            )
            if mode == "nearest":
                yield Case(
                    f"planes {dtype} {n}",
                    graded(lambda x, k, w: grid_sampling.sums_op(
                        x, k.expand(2, -1), w.expand(2, -1), taps=1), 0, 2),
                    [op(dtype, 2, 3, 19, layout="spread" if n % 2 else "wide"),
                     op("i4", n, below=19), op(dtype, n)],
                )
            yield Case(
                f"line {mode} {dtype} {n}",
                lambda x, k, w: (
                    grid_sampling.sums_op(x, k, w, taps=1),
                    grid_sampling.spread_op(w.unsqueeze(-2), k, taps=1, size=w.shape[0]),
                    *grid_sampling.products_op(x, w.unsqueeze(-2).expand(3, -1), k, k),
                ),
                [op(dtype, 3, n + 1), op("i4", n, below=n + 2), op(dtype, n)],
            )


class AxisTaps(Family):
    """Weighted sums of slices along one dimension: resized images, and their gradients."""

    generators = ("axis_taps.across", "axis_taps.along")
    kinds = tuple(
        f"axis taps/{form}/{elem}/.*/True/{back}"
        for form in ("across", "along")
        for elem in ("float", "double")
        for back in ("False", "True")
    )

    def cases(self):
        for dtype, n, out in itertools.product(("f4", "f8"), (1, 3, 16, 17, 70), (1, 5, 33, 64)):
            if dtype == "f8" and n != 17:
                continue
            for mode in ("nearest", "bilinear", "bicubic"):
                yield Case(
                    f"{mode} {dtype} {n} {out}",
                    graded(
                        lambda x, out=out, mode=mode: F.interpolate(x, (out, out + 1), mode=mode), 0
                    ),
                    [op(dtype, 2, 1, n + 1, n, layout="turned")],
                )
        for width in (1, 7, 16, 19):
            yield Case(
                f"lines of {width}",
                graded(lambda x: F.interpolate(x, (9, 4, x.shape[-1]), mode="trilinear"), 0),
                [op("f4", 1, 2, 4, 6, width)],
            )


class Many(Family):
    """One kernel over many tensors: what optimizers do to the parameters of a traced step."""

    generators = ("many_tensors.emit", "optimizer_steps.emit")

    def cases(self):
        for n, make in itertools.product(
            (1, 16, 33, 4097),
            (
                lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
                lambda p: optim.Adam(p, lr=0.1),
                lambda p: optim.AdamW(p, lr=0.1, amsgrad=True),
                lambda p: optim.RMSprop(p, lr=0.1),
            ),
        ):
            yield Case(
                f"{n} {type(make([whet.ones(1, requires_grad=True)])).__name__}",
                steps(make),
                [op("f4", n), op("f4", 3, 5), op("f8", 7), op("f4", 2, n)],
            )


def steps(make):
    def call(*xs):
        p = [x.clone().requires_grad_() for x in xs]
        o = make(p)
        for k in range(2):
            for x in p:
                x.grad = x.detach() * (k + 1) - 0.5
            o.step()
        return [x.detach() for x in p]

    return call


class Random(Family):
    generators = ("pointwise.emit",)

    def cases(self):
        for n in (1, 3, 16, 65, 1000):

            def draw(x):
                g = whet.Generator().manual_seed(3)
                return whet.randn(x.shape, generator=g) + x, whet.rand(
                    x.shape, generator=g, dtype=whet.float64
                )

            yield Case(f"{n}", draw, [op("f4", n)])


class NeighbourSteps(Family):
    """Steps of rows that read their neighbours, forward and back: alignments of labels."""

    generators = ("neighbour_steps.steps",)
    kinds = ("neighbour_steps/float", "neighbour_steps/double")
    exact = False

    def cases(self):
        for steps, labels in ((1, 0), (2, 1), (7, 3), (9, 7), (20, 8), (40, 16), (40, 33)):
            dtype = "f8" if labels % 2 else "f4"
            yield Case(
                f"alignments {dtype} {steps} {labels}",
                graded(lambda x, y, n, m: F.ctc_loss(x, y, n, m, zero_infinity=True), 0),
                [op(dtype, steps, 3, 5), op("i8", 3, labels, below=5),
                 op("i8", 3, below=steps + 1), op("i8", 3, below=labels + 1)],
            )
