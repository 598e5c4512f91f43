"""Products and convolutions of bytes."""

import itertools

import numpy as np
import whet
from whet.cpu import quantised as kernels
from whet.ops import quantised as ops

from . import Case, Family, op

BYTES = dict(low=-100.0, high=127.0, zero=128, residual_scale=0.25)
FLOATS = dict(low=0.0, high=float("inf"), zero=None, residual_scale=1.0)


def parameters(groups, features, k, seed):
    """Packed weights, and what goes by feature."""
    rng = np.random.default_rng(seed)
    room = groups, kernels.padded(features, 32)
    found = (
        kernels.pack(rng.integers(-128, 128, (groups, features, k)).astype("i1")),
        rng.integers(-5000, 5000, room).astype("i4"),
        (rng.random(room) * 0.01).astype("f4"),
        rng.standard_normal(room).astype("f4"),
    )
    return [whet.from_numpy(a) for a in found]


class Quantised(Family):
    """Each kind of rows, results and columns, with sizes around the tiles of all machines."""

    generators = ("products.kernel",)
    kinds = (
        "quantised/product/.*/gathered",
        "quantised/product/[a-z]+/bytes_out",
        "quantised/product/.*/residual",
    )

    def cases(self):
        sizes = itertools.product(
            (1, 3, 12, 17, 49, 130), (1, 4, 63, 64, 130, 256), (1, 16, 31, 33, 64)
        )
        for i, (m, k, n) in enumerate(sizes):
            tail, added = (BYTES, FLOATS)[i % 2], i % 3 == 0

            def f(x, more=None, tail=tail, given=parameters(1, n, k, i), n=n):
                return ops.linear_op(x, *given, more, features=n, **tail)

            yield Case(f"linear {m} {k} {n}", f, [op("u1", m, k), *[op("u1", m, n)] * added])
        plans = itertools.product(
            ((3, 5, 1), (16, 40, 1), (64, 33, 1), (12, 8, 4), (8, 8, 8)),
            ((1, 1), (3, 3), (2, 5)),
            ((5, 7), (9, 17)),
            ((1, 0, 1), (2, 1, 1), (1, 2, 2)),
        )
        for i, ((c, o, groups), taps, size, (stride, padding, dilation)) in enumerate(plans):
            window = dict(
                taps=taps,
                stride=(stride,) * 2,
                padding=(padding,) * 2,
                dilation=(dilation,) * 2,
                groups=groups,
                blank=i,
            )
            out = kernels.out_size(size, kernels.Window(**window))
            tail, added = (BYTES, FLOATS)[i % 2], i % 3 == 0
            if min(out) <= 0:
                continue

            def f(
                x,
                more=None,
                at=(window | tail),
                given=parameters(groups, o // groups, c // groups * taps[0] * taps[1], i),
                o=o,
            ):
                return ops.conv_op(x.permute(0, 3, 1, 2), *given, more, features=o, **at)

            name = f"conv {c} {o} {groups} {taps} {size} {stride} {padding} {dilation}"
            yield Case(name, f, [op("u1", 2, *size, c), *[op("u1", 2, o, *out)] * added])
