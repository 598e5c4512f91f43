"""Matrix multiplication on the CPU."""
import numpy as np


def matmul(a, b, out=None, bias=None, epilogue=None):
    """a (..., M, K) @ b (..., K, N), batch dimensions broadcast; `bias` (N,) is added to the rounded product."""
    wide = np.result_type(a, b)
    if wide.kind not in "fciu" or wide.itemsize == 2 and wide.kind not in "iu":
        r = np.matmul(a.astype(np.float32), b.astype(np.float32)).astype(wide)
    else:
        r = np.matmul(a, b)
    if bias is not None:
        r = r + bias
    if out is not None:
        out[...] = r
        return out
    return r


def linear(x, w, bias=None):
    """x @ w.T + bias."""
    return matmul(x, w.T, bias=bias)
