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
from . import machine as m
from .arrays import DeviceArray, empty
from .errors import NoForm
from .launch import launch
from .pointwise import Expressions, compute, copied, is_wide

F32 = np.dtype(np.float32)

_sources: dict[Any, Any] = {}       # by what describes a kernel completely


def matmul(a: DeviceArray, b: DeviceArray, epilogue: Any = None,
           operands: Sequence[DeviceArray] = ()) -> DeviceArray:
    """a (..., M, K) @ b (..., K, N) of one type and any strides. `epilogue` is an expression of the
    rounded product and of operands that broadcast to the result."""
    from ..passes.lower_triton import contract as lower
    batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    rows, k = a.shape[-2:]
    columns = b.shape[-1]
    shape = (*batch, rows, columns)
    contract = lower.Contract(FROM_NUMPY[a.dtype].short,
                              epilogue=S.arg(0) if epilogue is None else epilogue,
                              operands=tuple(FROM_NUMPY[o.dtype].short for o in operands))
    one = has_one_row(a.shape, b.shape)
    out = empty(a.index, shape, SHORT[contract.result].np)
    if not out.size:
        return out
    sides = [_spread(a, (*batch, rows, k)), _spread(b, (*batch, k, columns)), out.geometry,
             *(_spread(o, shape) for o in operands)]
    if len(batch) > 2:
        sides = [_flat(x) for x in sides]
        batch = (prod(batch),)
    if one and rows != 1:               # a product of one column is the transpose of one of a row
        sides = [x.swapaxes(-1, -2) for x in (sides[1], sides[0], *sides[2:])]
        rows, columns = columns, rows
    sides = [x[(None,) * (4 - x.ndim) + (...,)] for x in sides]
    strides = [[s // x.itemsize for s in x.strides] for x in sides]
    numbers = lower.numbers((rows, columns, k), [s[2:] + s[:2] for s in strides],
                            (1,) * (2 - len(batch)) + tuple(batch))
    _Product(contract, "one" if one else "tensor" if contract.dtype in lower.HALVES else "chains",
             sides, numbers, out).run(operands)
    return out


class _Product:
    """Matrices in batches of two dimensions: where they lie, and the kernels' other parameters."""

    def __init__(self, contract: Any, kind: str, sides: Sequence[np.ndarray],
                 numbers: dict[str, int], out: DeviceArray) -> None:
        self.contract, self.kind, self.sides, self.numbers = contract, kind, sides, numbers
        self.out = out

    def run(self, operands: Sequence[DeviceArray]) -> None:
        """Compute the result, by way of parts where there are some."""
        from ..passes.lower_triton import contract as lower
        shape = self.numbers["m"], self.numbers["n"], self.numbers["k"]
        found = lower.cut(self.contract, self.kind, shape, self.numbers["batches"],
                          m.machine().properties(self.out.index).multi_processor_count)
        parts = found.parts(shape[2])
        if parts == 1:
            self.launch(self.contract, found.tile, self.sides, self.numbers)
        else:
            self.in_parts(found, parts, operands)

    def in_parts(self, found: Any, parts: int, operands: Sequence[DeviceArray]) -> None:
        """The sums of parts of K, then the sum of those, first to last, and what is made of it."""
        from ..passes.lower_triton import contract as lower
        out, contract = self.out, self.contract
        sums = empty(out.index, (parts, *out.shape), F32)
        c = lower.Contract(contract.dtype, contract.a, contract.b)
        numbers = self.numbers | {"part": found.part, "parts": parts, "c_p": out.size}
        sides = [*self.sides[:2], sums.geometry]
        self.launch(c, found.tile, sides, numbers, in_parts=True)
        total = S.arg(0)
        for k in range(1, parts):
            total = total + S.arg(k)
        total = S.cast(total, contract.dtype)
        root = S.substitute(contract.epilogue, {
            0: total, **{1 + i: S.arg(parts + i) for i in range(len(operands))}})
        compute(Expressions("matmul", (root,)), [*(sums[k] for k in range(parts)), *operands],
                out.index, [out])

    def launch(self, contract: Any, tile: Any, sides: Sequence[np.ndarray],
               numbers: dict[str, int], in_parts: bool = False) -> None:
        """Run a kernel."""
        source = _lowered(contract, self.kind, numbers, is_wide(sides), tile, in_parts)
        names = [name for name, kind in source.parameters if kind[0] == "*"]
        launch(self.out.index, source, dict(zip(names, sides, strict=True)), numbers)


def _spread(x: DeviceArray, shape: tuple[int, ...]) -> np.ndarray:
    """Where the elements lie of an array that is broadcast."""
    a = x.geometry
    return a if a.shape == shape else np.lib.stride_tricks.as_strided(a, shape, K.spread(a, shape))


def _flat(a: np.ndarray) -> np.ndarray:
    """The matrices of several batch dimensions along one; ValueError where they lie otherwise."""
    return a.reshape(-1, *a.shape[-2:], copy=False)


def _lowered(contract: Any, kind: str, numbers: dict[str, int], wide: bool, tile: Any,
             in_parts: bool) -> Any:
    """The source; rows that are known to be rows are read as such."""
    from ..passes.lower_triton import contract as lower
    from ..passes.lower_triton.scalar import Unsupported
    ones = tuple(name for name in ("a_m", "a_k", "b_k", "b_n", "c_n") if numbers[name] == 1)
    key = (contract.dtype, K.text((contract.epilogue,)), contract.operands, kind, ones, wide, tile,
           in_parts)
    found = _sources.get(key)
    if found is None:
        try:
            found = _sources[key] = lower.lower(contract, kind, ones, wide, (), tile, in_parts)
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
