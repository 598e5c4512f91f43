"""Fourier transforms."""

import itertools

from whet import fft

from . import Case, Family, op

SIZES = (1, 2, 3, 5, 8, 12, 15, 16, 17, 22, 29, 33, 37, 64, 91, 97, 122, 128, 256)
LONG = (139, 260, 300, 500, 509, 512, 1024, 1025, 2310)
REAL = ("real", "to real", "odd real", "to odd real")


class Fourier(Family):
    """Transforms of complex and of real numbers, of rows, of columns, and of matrices."""

    generators = ("kernels.columns", "kernels.rows", "kernels.split",
                  "kernels.split_columns")
    kinds = (
        "fourier/columns/complex/float",
        "fourier/columns by convolution/complex/float",
        "fourier/split columns/complex/float",
        "fourier/split columns/complex/double",
        *(
            f"fourier/{way}{how}/{kind}/{elem}"
            for way in ("rows", "split")
            for how in ("", " by convolution")
            for kind in ("complex", *REAL)
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
            odd = n | 1
            yield Case(
                f"odd {real} {n}",
                lambda a, b, n=odd: (fft.rfft(a, norm="ortho"), fft.irfft(b, n=n)),
                [op(real, rows, odd, layout="wide"), op(complex_, rows, odd // 2 + 1)],
            )
            yield Case(
                f"several {complex_} {n}",
                lambda a: fft.fft2(a, norm="forward"),
                [op(complex_, n % 20 + 1, n, layout="gaps")],
            )
