"""Products of matrices on devices, in the CPU's order of sums."""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..cpu.gemm import PLUS_BIAS, has_one_row
from ..dtypes import FROM_NUMPY, SHORT
from ..ir import kernel as K
from ..ir import scalar as S
from ..ir.outline import broadcast_shapes
from .arrays import DeviceArray, empty
from .errors import NoForm
from .launch import launch
from .pointwise import copied, is_wide

_sources: dict[Any, Any] = {}       # by what describes a kernel completely


def matmul(a: DeviceArray, b: DeviceArray, epilogue: Any = None,
           operands: Sequence[DeviceArray] = ()) -> DeviceArray:
    """a (..., M, K) @ b (..., K, N) of one type and any strides. `epilogue` is an expression of the
    rounded product and of operands that broadcast to the result."""
    from ..passes.lower_triton import contract as lower
    batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    m, k = a.shape[-2:]
    n = b.shape[-1]
    shape = (*batch, m, n)
    contract = lower.Contract(FROM_NUMPY[a.dtype].short,
                              epilogue=S.arg(0) if epilogue is None else epilogue,
                              operands=tuple(FROM_NUMPY[o.dtype].short for o in operands))
    one = has_one_row(a.shape, b.shape)
    out = empty(a.index, shape, SHORT[contract.result].np)
    if not out.size:
        return out
    sides = [_spread(a, (*batch, m, k)), _spread(b, (*batch, k, n)), out.geometry,
             *(_spread(o, shape) for o in operands)]
    if len(batch) > 2:
        sides = [_flat(x) for x in sides]
        batch = (prod(batch),)
    if one and m != 1:                  # a product of one column is the transpose of one of a row
        sides = [x.swapaxes(-1, -2) for x in (sides[1], sides[0], *sides[2:])]
        m, n = n, m
    sides = [x[(None,) * (4 - x.ndim) + (...,)] for x in sides]
    strides = [[s // x.itemsize for s in x.strides] for x in sides]
    numbers = lower.numbers((m, n, k), [s[2:] + s[:2] for s in strides],
                            (1,) * (2 - len(batch)) + tuple(batch))
    source = _lowered(contract, "one" if one else "chains", numbers, is_wide(sides))
    names = [name for name, kind in source.parameters if kind[0] == "*"]
    launch(a.index, source, dict(zip(names, sides, strict=True)), numbers)
    return out


def _spread(x: DeviceArray, shape: tuple[int, ...]) -> np.ndarray:
    """Where the elements lie of an array that is broadcast."""
    a = x.geometry
    return a if a.shape == shape else np.lib.stride_tricks.as_strided(a, shape, K.spread(a, shape))


def _flat(a: np.ndarray) -> np.ndarray:
    """The matrices of several batch dimensions along one; ValueError where they lie otherwise."""
    return a.reshape(-1, *a.shape[-2:], copy=False)


def _lowered(contract: Any, kind: str, numbers: dict[str, int], wide: bool) -> Any:
    """The source; rows that are known to be rows are read as such."""
    from ..passes.lower_triton import contract as lower
    from ..passes.lower_triton.scalar import Unsupported
    ones = tuple(name for name in ("a_m", "a_k", "b_k", "b_n", "c_n") if numbers[name] == 1)
    key = contract.dtype, K.text((contract.epilogue,)), contract.operands, kind, ones, wide
    found = _sources.get(key)
    if found is None:
        try:
            found = _sources[key] = lower.lower(contract, kind, ones, wide)
        except Unsupported as error:
            raise NoForm("matmul: no form of it for CUDA devices yet, for this type "
                                      f"({error.args[0]})") from None
    return found


def of_matrices(arrays: Sequence[Any], epilogue: Any = None,
                operands: Sequence[DeviceArray] = ()) -> DeviceArray:
    """The same; matrices in many batch dimensions are moved where they must lie along one."""
    a, b = arrays
    if a.dtype.kind == "c":
        raise NoForm("matmul: no form of it for CUDA devices yet, for complex numbers")
    try:
        return matmul(a, b, epilogue, operands)
    except ValueError:
        batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
        a, b = (copied(DeviceArray(x.held, _spread(x, (*batch, *x.shape[-2:])))) for x in (a, b))
        return matmul(a, b, epilogue, operands)


def linear(x: DeviceArray, w: DeviceArray, bias: DeviceArray | None) -> DeviceArray:
    """x (..., K) @ w (N, K).T + bias."""
    if bias is None:
        return of_matrices((x, w.T))
    return of_matrices((x, w.T), PLUS_BIAS, (bias,))
