"""Factors and solutions of small matrices."""

import itertools

import whet
from whet import linalg

from . import Case, Family, op

SIDES = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 65)


def regular(a):
    """Far from singular."""
    return a + 16 * whet.eye(a.shape[-1], dtype=a.dtype)


class Factors(Family):
    """Elimination, Cholesky factors, triangles, and what is solved by them."""

    generators = (
        "elimination.eliminate",
        "elimination.unpack",
        "elimination.parts",
        "elimination.solve",
        "elimination.triangular",
        "elimination.determinant",
        "elimination.log_determinant",
        "elimination.cholesky",
        "qr.orthogonal",
    )
    kinds = tuple(
        f"factors/{x}/float"
        for x in (
            "eliminate", "unpack", "parts", "solve", "triangular", "determinant",
            "log_determinant", "cholesky", "orthogonal",
        )
    )
    exact = False

    def cases(self):
        for n, dtype in itertools.product(SIDES, ("f4", "f8")):
            if dtype == "f8" and n % 3:
                continue
            yield Case(
                f"solved {dtype} {n}",
                lambda a, b: (linalg.solve(regular(a), b), linalg.inv(regular(a))),
                [op(dtype, 2, n, n), op(dtype, 2, n, n // 2 + 1)],
            )
            yield Case(
                f"oblong factors {dtype} {n}",
                lambda a, b: (*linalg.lu_factor(a), *linalg.lu(a), *linalg.lu(b), linalg.det(b),
                              *linalg.slogdet(b)),
                [op(dtype, n, n + 3, layout="wide"), op(dtype, n, n, layout="turned")],
            )
            yield Case(
                f"positive {dtype} {n}",
                lambda a: linalg.cholesky(regular(a @ a.mT)),
                [op(dtype, 3, n, n)],
            )
        for (m, n), dtype in itertools.product(
            itertools.product((1, 2, 5, 16, 17, 33), repeat=2), ("f4", "f8")
        ):
            if dtype == "f8" and (m + n) % 3:
                continue
            yield Case(
                f"orthogonal {dtype} {m} {n}",
                lambda a, b: (
                    *linalg.qr(a), *linalg.qr(b, mode="complete"), linalg.qr(b, mode="r")[1]
                ),
                [op(dtype, 2, m, n), op(dtype, m, n, layout="turned")],
            )
        for n, upper, unit, layout in itertools.product(
            (1, 3, 16, 17, 33, 130, 257), (False, True), (False, True), ("plain", "turned")
        ):
            yield Case(
                f"triangle {n} {upper} {unit} {layout}",
                # by the size, lest solutions grow from row to row until no digit is right
                lambda a, b, n=n, upper=upper, unit=unit: linalg.solve_triangular(
                    regular(a) / n, b, upper=upper, unitriangular=unit
                ) + linalg.solve_triangular((a / n).mT, b, upper=upper, unitriangular=True),
                [op("f4", n, n, layout=layout), op("f4", n, (n * 5) % 80 + 1)],
            )
