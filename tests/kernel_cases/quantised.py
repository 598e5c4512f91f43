"""Products, convolutions and pools of bytes."""

import functools
import itertools

import numpy as np
import whet
import whet.nn.functional as F
from whet.cpu import weight_only as few_bits
from whet.cpu.quantised_weights import Window, pack, pack_window
from whet.ops import quantised as ops

from . import Case, Family, op

BYTES = dict(low=-100.0, high=127.0, zero=128, residual_scale=0.25)
FLOATS = dict(low=0.0, high=float("inf"), zero=None, residual_scale=1.0)


def parameters(make, seed, *shape):
    """Weights, packed by `make`, and what goes by feature."""
    rng = np.random.default_rng(seed)
    w = make(rng.integers(-128, 128, shape).astype("i1"))
    room = w.shape[0], w.shape[1] * 16
    found = (
        w,
        rng.integers(-5000, 5000, room).astype("i4"),
        (rng.random(room) * 0.01).astype("f4"),
        rng.standard_normal(room).astype("f4"),
    )
    return [whet.from_numpy(a) for a in found]


class Quantised(Family):
    """Each kind of rows, results and columns, with sizes around the tiles of all machines."""

    generators = (
        "products.kernel",
        "depthwise.depthwise",
        "max_pools.largest",
        "weight_only.weight_only",
    )
    kinds = (
        "quantised/product/.*/gathered",
        "quantised/product/[a-z]+/bytes_out",
        "quantised/product/.*/residual",
        "quantised/depthwise/.*/bytes_out",
        "quantised/depthwise/.*/residual",
        "quantised/largest/",
        "quantised/weight_only/4",
        "quantised/weight_only/8",
    )

    def cases(self):
        yield from self.products()
        yield from self.convolutions()
        for c, size, (k, s, p) in itertools.product(
            (1, 3, 8, 17, 64, 100), ((5, 7), (12, 9)), ((2, 2, 0), (3, 2, 1))
        ):

            def f(x, k=k, s=s, p=p):
                return F.max_pool2d(x.permute(0, 3, 1, 2), k, s, p)

            yield Case(f"largest {c} {size} {k} {s} {p}", f, [op("u1", 2, *size, c)])

        for m, k, n, bits in itertools.product((1, 5, 9), (2, 30, 130), (1, 33, 64), (4, 8)):
            w = np.random.default_rng(k).standard_normal((n, k)).astype("f4")
            packed = [whet.from_numpy(a) for a in few_bits.pack(w, bits, 32)]

            def f(x, packed=packed, n=n, bits=bits):
                bias = whet.zeros(packed[1].shape[1])
                return ops.weight_only_op(x, *packed, bias, features=n, bits=bits, block=32)

            yield Case(f"weight only {m} {k} {n} {bits}", f, [op("f4", m, k)])

    def products(self):
        sizes = itertools.product(
            (1, 3, 12, 17, 49, 130), (1, 4, 63, 64, 130, 256), (1, 16, 31, 33, 64)
        )
        for i, (m, k, n) in enumerate(sizes):
            epilogue, added = (BYTES, FLOATS)[i % 2], i % 3 == 0

            def f(x, more=None, epilogue=epilogue, given=parameters(pack, i, 1, n, k), n=n):
                return ops.linear_op(x, *given, more, features=n, **epilogue)

            yield Case(f"linear {m} {k} {n}", f, [op("u1", m, k), *[op("u1", m, n)] * added])

    def convolutions(self):
        plans = itertools.product(
            ((3, 5, 1), (16, 40, 1), (64, 33, 1), (12, 8, 4), (8, 8, 8), (40, 40, 40)),
            ((1, 1), (3, 3), (2, 5)),
            ((5, 7), (9, 17)),
            ((1, 0, 1), (2, 1, 1), (1, 2, 2)),
        )
        for i, ((c, o, groups), taps, size, (stride, padding, dilation)) in enumerate(plans):
            window = Window(taps, (stride,) * 2, (padding,) * 2, (dilation,) * 2, groups, i)
            out = window.out_size(size)
            epilogue, added = (BYTES, FLOATS)[i % 2], i % 3 == 0
            if min(out) <= 0:
                continue
            make = functools.partial(pack_window, window=window)
            given, at = parameters(make, i, o, c // groups, *taps), window._asdict() | epilogue

            def f(x, more=None, given=given, at=at, o=o):
                return ops.conv_op(x.permute(0, 3, 1, 2), *given, more, features=o, **at)

            name = f"conv {c} {o} {groups} {taps} {size} {stride} {padding} {dilation}"
            yield Case(name, f, [op("u1", 2, *size, c), *[op("u1", 2, o, *out)] * added])
