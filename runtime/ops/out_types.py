"""Which types the `out=` of a function may have."""
import enum

from .. import dtypes
from ..dtypes import COMPLEX
from . import registry


class OutType(enum.Enum):
    """Which types the `out=` of a function may have."""
    RESULT = enum.auto()        # that of the result
    CASTS = enum.auto()         # any into which results of that type go
    CASTS_ONE = enum.auto()     # of a function with one result or several: that, where it is one
    KIND = enum.auto()          # as CASTS, but not complex for real results
    TRUTH = enum.auto()         # bool or uint8
    REAL = enum.auto()          # any real one: the results are whole numbers
    DECIDES = enum.auto()       # any: it is what the function computes in

    def fit(self, name, r, out):
        """The result, or several, of the function of this name as `out=` takes it. Raise where that
        has a type that it may not have."""
        several = isinstance(r, tuple)
        if self in (OutType.RESULT, OutType.DECIDES) or several and self is OutType.CASTS_ONE:
            for a, b in zip(r, out) if several else [(r, out)]:
                if registry.is_tensor(b) and a.dtype is not b.dtype:
                    raise RuntimeError(f"Expected out tensor to have dtype {a.dtype.letter}, but "
                                       f"got {b.dtype.letter} instead")
        if several or not registry.is_tensor(out):
            return r
        made, wanted = r.dtype.category, out.dtype.category
        if self is OutType.KIND and made != wanted == COMPLEX:
            raise RuntimeError(f"{name}: result type {r.dtype.letter} can't be cast to the desired "
                               f"output type {out.dtype.letter}")
        if self is OutType.TRUTH and out.dtype not in (dtypes.bool_, dtypes.uint8):
            raise RuntimeError(f"{name} only supports bool tensor for result, got: "
                               f"{out.dtype.letter}")
        if self is OutType.REAL and wanted == COMPLEX:
            raise NotImplementedError(f"\"{name}\" not implemented for '{out.dtype.letter}'")
        return r.to(out.dtype) if self in (OutType.TRUTH, OutType.REAL) else r


def is_cast(op, args, made, wanted, out_type=None):
    """May the `out=` of an elementwise op of these operands have the type `wanted`, which is not
    that of what it `made`? As the op says, or the function that chose it (`out_type`)."""
    if op.one_type:             # a number beside tensors has no type
        return not all(map(registry.is_tensor, args))
    if (out_type or op.out_type) is OutType.CASTS:
        return True
    # Moduli of complex numbers are cast: to any floats, and to the type of these.
    return op.gives_real and made is not (given := args[0].dtype) and (
        wanted.category != COMPLEX or wanted is given)
