"""Convolutions and pools, and networks of all kinds of kernels."""

import itertools

import whet
import whet.nn.functional as F
from whet import nn

from . import WEIGHTS, Case, Family, graded, op


class Convolutions(Family):
    """The gathering kernels and padded planes, with their gradients."""

    generators = ("conv.forward", "conv_weight_grad.weight_grad", "few_channels.forward")
    kinds = (
        "conv/float/.*/rows/",
        "conv/float/.*/listed/",
        "conv/double",
        *(f"conv/float/[0-9x]+/{near}/" for near in (0, 1, 2)),
        "conv_planes/",
        "conv_weight_grad/",
    )
    exact = False

    def cases(self):
        yield from self.planes()
        yield from self.forms()

    def planes(self):
        plans = [
            (c, o, taps, size, stride, padding, dilation, groups)
            for c, o, taps, size, (stride, padding, dilation, groups) in itertools.product(
                (1, 3, 8),
                (1, 5, 12),
                ((1, 1), (3, 3), (2, 5)),
                ((5, 6), (9, 17)),
                ((1, 0, 1, 1), (1, 1, 1, 1), (2, 1, 1, 1), (1, 2, 2, 1), (3, 0, 1, 1)),
            )
        ]
        plans = plans[::3] + [
            (48, 20, (1, 1), (7, 9), 1, 0, 1, 1),
            (300, 5, (1, 1), (3, 3), 1, 0, 1, 1),
            (30, 7, (3, 3), (6, 6), 1, 1, 1, 1),
            (12, 24, (3, 3), (6, 7), 2, 1, 1, 4),
            (64, 64, (3, 3), (5, 5), 1, 1, 1, 1),
            (3, 16, (8, 8), (20, 41), 4, 0, 1, 1),
            (1, 12, (11, 11), (23, 37), 4, 2, 1, 1),
            (4, 5, (4, 4), (9, 70), 4, 1, 1, 1),
            (3, 8, (8, 8), (16, 140), 8, 3, 1, 1),
            (3, 24, (16, 16), (32, 275), 16, 0, 1, 1),
            (40, 20, (2, 5), (5, 60), 1, 1, 1, 1),
            (60, 20, (3, 3), (7, 80), 2, 1, 1, 1),
        ]
        for c, o, (i, j), (h, w), stride, padding, dilation, groups in plans:
            if h + 2 * padding > dilation * (i - 1) and w + 2 * padding > dilation * (j - 1):
                given = dict(stride=stride, padding=padding, dilation=dilation, groups=groups)
                for dtype, layout in (("f4", "plain"), ("f8" if c < 8 else "f4", "pixels")):
                    yield Case(
                        f"{c} {o} {i}x{j} {h}x{w} {stride} {padding} {dilation} {groups} "
                        f"{dtype} {layout}",
                        convolution(layout, dtype == "f4", given),
                        [
                            *image(layout, dtype, 2, c, h, w),
                            op(dtype, o, c // groups, i, j),
                            op(dtype, o),
                        ],
                    )

    def forms(self):
        """Halves, and convolutions of one and three dimensions."""
        for dtype in ("f2", "bf"):
            yield Case(
                f"half {dtype}",
                lambda x, w: F.conv2d(x, w, padding=1),
                [op(dtype, 2, 3, 9, 9), op(dtype, 5, 3, 3, 3)],
            )
        for n in (1, 16, 33):
            yield Case(
                f"line {n}",
                graded(lambda x, w: F.conv1d(x, w, padding=1), 0, 1),
                [op("f4", 2, 3, n), op("f4", 4, 3, 3)],
            )
            yield Case(
                f"turned {n}",
                graded(lambda x, w: F.conv_transpose2d(x, w, stride=2), 0, 1),
                [op("f4", 1, 3, 5, n), op("f4", 3, 4, 2, 3)],
            )
        yield Case(
            "space",
            graded(lambda x, w: F.conv3d(x, w, padding=1), 0, 1),
            [op("f4", 1, 2, 4, 5, 9), op("f4", 3, 2, 3, 3, 3)],
        )
        for c, taps, size, at in (
            (3, (3, 5, 5), (4, 9, 33), dict(stride=(1, 2, 2), padding=(1, 2, 2))),
            (2, (2, 3, 3), (5, 7, 18), dict(stride=(2, 1, 1), padding=1, dilation=(2, 1, 1))),
            (20, (3, 3, 3), (3, 5, 6), dict(padding=1, stride=2)),
            (40, (3, 1, 1), (4, 3, 20), dict(padding=(1, 0, 0))),
        ):
            yield Case(
                f"volume {c} {taps} {size}",
                graded(lambda x, w, b, at=at: F.conv3d(x, w, b, **at), 0, 1, 2),
                [op("f4", 2, c, *size), op("f4", 9, c, *taps), op("f4", 9)],
            )


class Winograd(Family):
    generators = ("winograd.forward", "winograd.weights")
    exact = False

    def cases(self):
        for c, o, n, m, padding in (
            (16, 16, 9, 9, 0),
            (16, 17, 7, 7, 1),
            (16, 20, 8, 15, 1),
            (17, 33, 10, 11, 1),
            (20, 16, 12, 33, 1),
            (33, 40, 7, 9, 1),
        ):
            for layout in ("plain", "pixels"):
                yield Case(
                    f"{c} {o} {n}x{m} {padding} {layout}",
                    convolution(layout, True, dict(padding=padding)),
                    [*image(layout, "f4", 2, c, n, m), op("f4", o, c, 3, 3), op("f4", o)],
                )
        for c, o, taps, size, at in (
            (16, 16, 1, (3, 5, 6), dict(padding=(0, 1, 1))),
            (17, 20, 3, (2, 7, 8), dict(padding=1)),
            (20, 17, 2, (5, 6, 11), dict(padding=1, stride=(2, 1, 1))),
            (90, 16, 3, (3, 4, 6), dict(padding=(2, 1, 1), dilation=(2, 1, 1))),
        ):
            yield Case(
                f"volume {c} {o} {taps} {size}",
                graded(lambda x, w, b, at=at: F.conv3d(x, w, b, **at).relu(), 0, 1, 2),
                [op("f4", 2, c, *size), op("f4", o, c, taps, 3, 3), op("f4", o)],
            )


class KeptConvolutions(Family):
    """Those of traces, whose weights may be turned once for all calls."""

    generators = ("reordered_weights.forward", "reordered_weights.weights")
    exact = False

    def cases(self):
        for n in (3, 7, 14):
            yield Case(
                f"kept {n}",
                kept_convolution,
                [op("f4", 1, 64, n, n), op("f4", 128, 64, 3, 3), op("f4", 200, 64, 1, 1)],
            )


def image(layout, dtype, n, c, h, w):
    return [op(dtype, n, h, w, c) if layout == "pixels" else op(dtype, n, c, h, w)]


def convolution(layout, backward, given):
    def f(x, w, b):
        return F.conv2d(x.permute(0, 3, 1, 2) if layout == "pixels" else x, w, b, **given).relu()

    return graded(f, 0, 1, 2) if backward else f


def kept_convolution(x, w, v):
    """Weights that outlive the call: a trace keeps them in the order that its kernels want."""
    held = WEIGHTS.setdefault((x.shape, "convolution"), [w.clone(), v.clone()])
    return F.conv2d(x, held[0], padding=1), F.conv2d(x, held[1]), F.conv2d(x, held[0], stride=2)


class Depthwise(Family):
    generators = (
        "depthwise.forward", "depthwise.forward_few", "depthwise_weight_grad.weight_grad",
        "depthwise_planes.forward",
    )
    exact = False

    def cases(self):
        for c, k, size, stride in itertools.product(
            (1, 3, 8, 17, 33), (2, 3, 5), ((5, 5), (7, 18), (3, 60)), (1, 2)
        ):
            given = dict(stride=stride, padding=k // 2, groups=c)
            layout = "pixels" if (c + k) % 2 else "plain"
            yield Case(
                f"{c} {k} {size} {stride} {layout}",
                convolution(layout, True, given),
                [*image(layout, "f4", 2, c, *size), op("f4", c, 1, k, k), op("f4", c)],
            )
        for k, stride in itertools.product((3, 5, 7), (1, 2)):
            yield Case(
                f"high {k} {stride}",
                convolution("plain", True, dict(stride=stride, padding=k // 2, groups=3)),
                [op("f4", 1, 3, 11, 60), op("f4", 3, 1, k, k), op("f4", 3)],
            )
        yield Case(
            "planes",
            graded(lambda x, w: F.conv3d(x, w, padding=(0, 1, 1), groups=3), 0, 1),
            [op("f4", 2, 3, 4, 5, 60), op("f4", 3, 1, 1, 3, 3)],
        )
        yield Case(
            "two rows",
            convolution("plain", True, dict(groups=5)),
            [op("f4", 2, 5, 9, 9), op("f4", 10, 1, 3, 3), op("f4", 10)],
        )


class Pools(Family):
    generators = ("pool.emit", "pool.max_grad", "pool_rows.emit")
    kinds = (
        *(f"pool/{kind}/" for kind in ("max", "max_index", "mean", "spread")),
        *(f"pool_rows/{kind}/" for kind in ("max", "mean", "max_index")),
    )

    def cases(self):
        for size, (k, stride, padding), layout in itertools.product(
            ((5, 5), (7, 18), (9, 33), (3, 70)),
            ((2, 2, 0), (3, 1, 1), (3, 2, 1), (5, 3, 2)),
            ("plain", "pixels"),
        ):
            if min(size) + 2 * padding >= k:

                def f(x, k=k, s=stride, p=padding, layout=layout):
                    x = x.permute(0, 3, 1, 2) if layout == "pixels" else x
                    return F.max_pool2d(x, k, s, p) + F.avg_pool2d(x, k, s, p)

                yield Case(
                    f"{size} {k} {stride} {padding} {layout}",
                    graded(f, 0),
                    image(layout, "f4", 2, 3, *size),
                )
                yield Case(
                    f"{size} {k} {stride} {padding} {layout} f8",
                    f,
                    image(layout, "f8", 1, 17, *size),
                )
        for n in (1, 7, 40):
            yield Case(
                f"indices {n}",
                lambda x: F.max_pool1d(x, 1, return_indices=True),
                [op("f4", 2, 3, n)],
            )
            yield Case(
                f"adaptive {n}",
                graded(
                    lambda x: F.adaptive_avg_pool2d(x, (3, 2)) + F.adaptive_max_pool2d(x, (3, 2)), 0
                ),
                [op("f4", 2, 5, 7, n)],
            )
            yield Case(
                f"without padding {n}",
                lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False),
                [op("f4", 1, 3, 7, n + 2)],
            )


class Networks(Family):
    """Families together: a training step of everything."""

    exact = False

    def cases(self):
        for n in (1, 5):
            yield Case(f"step {n}", network, [op("f4", n, 3, 9, 9), op("i8", n, below=7)])


def network(x, y):
    whet.manual_seed(1)
    m = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 8, 1),
        nn.GELU(),
        nn.Flatten(),
        nn.Linear(128, 7),
    )
    loss = F.cross_entropy(m(x), y)
    loss.backward()
    return loss.detach(), *[p.grad for p in m.parameters()]
