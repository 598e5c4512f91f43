"""The tuples with names that functions return: `whet.max(x, dim=0)` is a `return_types.max`.

Those of `whet.linalg` are called `linalg_...`. Each is made of one sequence, or of its items.

    >>> import whet
    >>> values, indices = whet.max(whet.tensor([1, 3, 2]), dim=0)
    >>> whet.return_types.max((values, indices)).indices
    tensor(1)
"""
import collections
from typing import Any

from . import declared_for_tracing

declared_for_tracing.only_computes(globals())
all_return_types: list[type] = []


def _type(name, fields):
    """A type of tuples with these names."""
    make_type: Any = collections.namedtuple
    base = make_type(name, fields, module="whet.return_types")
    names = base._fields

    def make(cls, *items):
        try:
            made = tuple.__new__(cls, items[0] if len(items) == 1 else items)
        except TypeError:
            raise TypeError(f"whet.return_types.{name}() is made of a sequence, not of "
                            f"{type(items[0]).__name__}") from None
        if len(made) != len(names):
            raise TypeError(f"whet.return_types.{name}() takes a {len(names)}-sequence "
                            f"({len(made)}-sequence given)")
        return made

    def shown(self):
        held = ",\n".join(f"{n}={x!r}" for n, x in zip(names, self))
        return f"whet.return_types.{name}(\n{held})"

    make.__name__, base.__new__, base.__repr__ = "__new__", make, shown
    base.__reduce__ = lambda self: (type(self), (tuple(self),))
    base.__doc__ = f"What `{name.replace('linalg_', 'linalg.')}` returns: ({', '.join(names)})."
    base.n_fields = base.n_sequence_fields = len(names)
    base.n_unnamed_fields = 0
    all_return_types.append(base)
    return base


aminmax = _type("aminmax", "min max")
cummax = _type("cummax", "values indices")
cummin = _type("cummin", "values indices")
frexp = _type("frexp", "mantissa exponent")
geqrf = _type("geqrf", "a tau")
histogram = _type("histogram", "hist bin_edges")
histogramdd = _type("histogramdd", "hist bin_edges")
kthvalue = _type("kthvalue", "values indices")
linalg_cholesky_ex = _type("linalg_cholesky_ex", "L info")
linalg_eig = _type("linalg_eig", "eigenvalues eigenvectors")
linalg_eigh = _type("linalg_eigh", "eigenvalues eigenvectors")
linalg_inv_ex = _type("linalg_inv_ex", "inverse info")
linalg_ldl_factor = _type("linalg_ldl_factor", "LD pivots")
linalg_ldl_factor_ex = _type("linalg_ldl_factor_ex", "LD pivots info")
linalg_lstsq = _type("linalg_lstsq", "solution residuals rank singular_values")
linalg_lu = _type("linalg_lu", "P L U")
linalg_lu_factor = _type("linalg_lu_factor", "LU pivots")
linalg_lu_factor_ex = _type("linalg_lu_factor_ex", "LU pivots info")
linalg_qr = _type("linalg_qr", "Q R")
linalg_slogdet = _type("linalg_slogdet", "sign logabsdet")
linalg_solve_ex = _type("linalg_solve_ex", "result info")
linalg_svd = _type("linalg_svd", "U S Vh")
lu_unpack = _type("lu_unpack", "P L U")
max = _type("max", "values indices")
median = _type("median", "values indices")
min = _type("min", "values indices")
mode = _type("mode", "values indices")
nanmedian = _type("nanmedian", "values indices")
qr = _type("qr", "Q R")
slogdet = _type("slogdet", "sign logabsdet")
sort = _type("sort", "values indices")
svd = _type("svd", "U S V")
topk = _type("topk", "values indices")
triangular_solve = _type("triangular_solve", "solution cloned_coefficient")
# those of the standard of array libraries
unique_all = _type("unique_all", "values indices inverse_indices counts")
unique_counts = _type("unique_counts", "values counts")
unique_inverse = _type("unique_inverse", "values inverse_indices")
