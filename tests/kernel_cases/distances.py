"""Distances between rows, and their gradients."""

import itertools

import whet
from whet.nn import functional as F

from . import Case, Family, graded, op


class Differences(Family):
    """Distances of all pairs, of each pair once, and sums of weighted differences."""

    generators = ("distances.distances", "distances.weighted")
    kinds = tuple(
        f"differences/{x}/{elem}"
        for x in ("distances", "pairs", "weighted")
        for elem in ("float", "double")
    )
    exact = False

    def cases(self):
        for m, n, k in itertools.product(
            (1, 4, 7, 8, 9, 65), (1, 8, 15, 16, 17, 33), (1, 3, 16, 33, 257)
        ):
            if (m + n + k) % 3:
                continue
            dtype = "f8" if (m + k) % 4 == 0 else "f4"
            yield Case(
                f"distances {dtype} {m} {n} {k}",
                graded(whet.cdist, 0, 1),
                [op(dtype, m, k), op(dtype, 2, n, k, layout="wide")],
            )
        for n, k in itertools.product((2, 3, 8, 9, 16, 17, 33, 65), (1, 16, 35)):
            dtype = "f8" if n % 3 == 0 else "f4"
            yield Case(f"pairs {dtype} {n} {k}", graded(F.pdist, 0), [op(dtype, n, k)])
