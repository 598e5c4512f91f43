"""Tensors some elements of which count, and others not: `whet.masked`.

Reductions and normalisations take a mask (`masked_reductions.py`), and a `MaskedTensor` carries
one along (`masked_tensor.py`).
"""
from .masked_reductions import (
    amax,
    amin,
    argmax,
    argmin,
    cumprod,
    cumsum,
    log_softmax,
    logaddexp,
    logsumexp,
    mean,
    median,
    norm,
    normalize,
    prod,
    softmax,
    softmin,
    std,
    sum,
    var,
)
from .masked_tensor import MaskedTensor, as_masked_tensor, is_masked_tensor, masked_tensor

__all__ = [
    "MaskedTensor", "amax", "amin", "argmax", "argmin", "as_masked_tensor", "cumprod", "cumsum",
    "is_masked_tensor", "log_softmax", "logaddexp", "logsumexp", "masked_tensor", "mean", "median",
    "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var"]
