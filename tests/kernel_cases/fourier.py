"""Fourier transforms."""

import itertools

from whet import fft

from . import Case, Family, op

SIZES = (1, 2, 3, 5, 8, 12, 15, 16, 17, 22, 33, 64, 91, 128, 256)
LONG = (260, 300, 500, 512, 1024, 2310)


class Fourier(Family):
    """Transforms of complex and of real numbers, of rows, of columns, and of matrices."""

    generators = ("kernels.columns", "kernels.rows", "kernels.split")
    kinds = (
        "fourier/columns/complex/float",
        *(
            f"fourier/{way}/{kind}/{elem}"
            for way in ("rows", "split")
            for kind in ("complex", "real", "to real")
            for elem in ("float", "double")
        ),
    )
    exact = False

    def cases(self):
        for n, (real, complex_) in itertools.product(SIZES + LONG, (("f4", "c8"), ("f8", "c16"))):
            rows = n % 18 + 1
            yield Case(
                f"complex {complex_} {n}",
                lambda a, b: (fft.fft(a), fft.ifft(b, dim=1)),
                [op(complex_, rows, n), op(complex_, 2, n, n % 20 + 1, layout="turned")],
            )
            yield Case(
                f"real {real} {n}",
                lambda a, b, n=n: (fft.rfft(a), fft.irfft(b, n=2 * n, norm="ortho")),
                [op(real, rows, 2 * n), op(complex_, rows, n + 1, layout="wide")],
            )
            yield Case(
                f"several {complex_} {n}",
                lambda a: fft.fft2(a, norm="forward"),
                [op(complex_, n % 20 + 1, n, layout="gaps")],
            )
