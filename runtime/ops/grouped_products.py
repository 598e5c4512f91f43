"""Products of several matrices whose rows, or columns, lie one after the other in one matrix."""
from .. import dtypes
from .registry import is_tensor
from .surface import FUNCTIONS


def grouped_mm(mat_a, mat_b, *, offs=None, bias=None, out_dtype=None):
    """A product for each group: `offs` says where the groups end in the dimension that they share.

    Rows of `mat_a` (n, k) by matrices of `mat_b` (groups, k, m); matrices of `mat_a` by columns
    of `mat_b`; columns of `mat_a` by rows of `mat_b`, which gives one matrix for each group; or
    matrices by matrices, without `offs`. What lies behind the last group is zero.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> ends = whet.tensor([1, 3], dtype=whet.int32)
    >>> matrices = whet.ones(2, 2, 2) * whet.tensor([1., 2.])[:, None, None]
    >>> F.grouped_mm(whet.ones(3, 2), matrices, offs=ends)
    tensor([[2., 2.],
            [4., 4.],
            [4., 4.]])
    """
    for name, x in (("mat_a", mat_a), ("mat_b", mat_b)):
        if x.ndim not in (2, 3):
            raise RuntimeError(f"grouped_mm: {name} has to be 2 or 3d, not {x.ndim}d")
    if (offs is None) != (mat_a.ndim == mat_b.ndim == 3):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both "
                           "matrices are 3d")
    if bias is not None:
        raise RuntimeError("grouped_mm: Bias not supported yet")
    if mat_a.dtype is not mat_b.dtype:
        raise RuntimeError("grouped_mm: Expected inputs of the same type, but got "
                           f"mat_a.dtype={mat_a.dtype} and mat_b.dtype={mat_b.dtype}")
    r = FUNCTIONS["bmm"](mat_a, mat_b) if offs is None else _in_groups(mat_a, mat_b, offs)
    return r if out_dtype is None else r.to(out_dtype)


def _in_groups(a, b, offs):
    if not is_tensor(offs) or offs.ndim != 1 or offs.dtype is not dtypes.int32:
        raise RuntimeError("grouped_mm: Offsets have to be 1D int32")
    ends = offs.tolist()
    along = a.shape[0] if a.ndim == 2 and b.ndim == 3 else b.shape[1] if a.ndim == 3 else a.shape[1]
    pieces = [(s, e) for s, e in zip([0, *ends], ends)]
    if any(s > e for s, e in pieces) or ends and ends[-1] > along:
        raise RuntimeError(f"grouped_mm: offsets must rise from 0 to at most {along}: {ends}")
    for x in (a, b):
        if x.ndim == 3 and x.shape[0] != len(ends):
            raise RuntimeError(
                f"grouped_mm: matrix batch sizes have to match: {x.shape[0]} and {len(ends)} "
                f"offsets"
            )
    if a.ndim == b.ndim == 2:
        return FUNCTIONS["stack"]([a[:, s:e] @ b[s:e] for s, e in pieces])
    rest = along - (ends[-1] if ends else 0)
    if b.ndim == 3:
        made = [a[s:e] @ b[i] for i, (s, e) in enumerate(pieces)]
        return FUNCTIONS["cat"]([*made, a.new_zeros((rest, b.shape[2]))])
    made = [a[i] @ b[:, s:e] for i, (s, e) in enumerate(pieces)]
    return FUNCTIONS["cat"]([*made, b.new_zeros((a.shape[1], rest))], 1)
