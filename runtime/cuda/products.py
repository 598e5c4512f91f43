"""Products of matrices on devices, in the CPU's order of sums."""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from .. import tf32
from ..cpu.gemm import OfSum, has_one_row, plus_bias
from ..dtypes import FROM_NUMPY, SHORT
from ..ir import kernel as K
from ..ir import scalar as S
from ..ir.outline import broadcast_shapes
from . import device_state as m
from .arrays import DeviceArray, empty
from .errors import NoForm
from .launch import launch
from .pointwise import Expressions, compute, copied, is_wide

F32 = np.dtype(np.float32)
MOST_ADDED = 16                     # parts that the kernel of the epilogue adds
OFTEN = 64                          # rows, or columns, with which each number is multiplied

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
    of_sum = type(epilogue) is OfSum
    epilogue = epilogue.expression if of_sum else S.arg(0) if epilogue is None else epilogue
    contract = lower.Contract(FROM_NUMPY[a.dtype].short, epilogue=epilogue, of_sum=of_sum,
                              operands=tuple(FROM_NUMPY[o.dtype].short for o in operands))
    one = has_one_row(a.shape, b.shape)
    kernel = lower.OneRow if one else kernel_for(contract.dtype, tf32.PRODUCTS)
    out = empty(a.index, shape, SHORT[contract.result].np)
    if not out.size:
        return out
    a, b = as_kernel_reads(kernel, a, b)
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
    _Product(contract, kernel, sides, numbers, out).run(operands)
    return out


def kernel_for(dtype: str, what: int) -> Any:
    """The class of kernels that computes products, or convolutions, of a type."""
    from ..passes.lower_triton import contract as lower
    if dtype in lower.HALVES:
        return lower.Halves
    return lower.Tf32 if dtype == "f32" and tf32.allowed & what else lower.Chains


def as_kernel_reads(kernel: Any, a: DeviceArray,
                    b: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
    """Factors, copied to the layout that a kernel reads much more quickly, if it reads each number
    often enough."""
    rows, columns = a.shape[-2], b.shape[-1]
    if min(rows, columns) < OFTEN or a.dtype != F32:
        return a, b
    if kernel.reads_rows_of_a and a.strides[-1] != a.itemsize:
        a = _by_rows(a)
    if kernel.reads_rows_of_b and b.strides[-1] != b.itemsize:
        b = _by_rows(b)
    if kernel.reads_columns_of_b and b.strides[-2] != b.itemsize:
        b = _transposed(_by_rows(_transposed(b)))
    return a, b


def _by_rows(x: DeviceArray) -> DeviceArray:
    """Matrices in row-major order: only one copy where all are the same by broadcasting."""
    first = tuple([slice(0, 1) if s == 0 else slice(None) for s in x.strides[:-2]])
    made = copied(x[first])
    return made.view_as(np.broadcast_to(made.geometry, x.shape))


def _transposed(x: DeviceArray) -> DeviceArray:
    """A view of the transposed matrices."""
    return x.transpose(*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)


class _Product:
    """Batches of matrices: their addresses and strides, and the other parameters of the kernels."""

    def __init__(self, contract: Any, kernel: Any, sides: Sequence[np.ndarray],
                 numbers: dict[str, int], out: DeviceArray) -> None:
        self.contract, self.kernel, self.sides, self.numbers = contract, kernel, sides, numbers
        self.out = out

    def run(self, operands: Sequence[DeviceArray]) -> None:
        """Compute the result; where K is split into parts, by adding their sums."""
        shape = self.numbers["m"], self.numbers["n"], self.numbers["k"]
        found = self.kernel.cut(self.contract, shape, self.numbers["batches"],
                                m.machine().properties(self.out.index).multi_processor_count,
                                self.numbers["b_k"] == 1 != self.numbers["b_n"])
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
        if parts > MOST_ADDED:
            sums, parts = added(lower.Contract("f32"), sums), 1
        total = S.arg(0)
        for k in range(1, parts):
            total = total + S.arg(k)
        total = S.cast(total, contract.product)
        root = S.substitute(contract.epilogue, {
            0: total, **{1 + i: S.arg(parts + i) for i in range(len(operands))}})
        compute(Expressions("matmul", (root,)), [*(sums[k] for k in range(parts)), *operands],
                out.index, [out])

    def launch(self, contract: Any, tile: Any, sides: Sequence[np.ndarray],
               numbers: dict[str, int], in_parts: bool = False) -> None:
        """Run a kernel."""
        source = _lowered(contract, self.kernel, numbers, is_wide(sides), tile, in_parts)
        names = [name for name, kind in source.parameters if kind[0] == "*"]
        launch(self.out.index, source, dict(zip(names, sides, strict=True)), numbers)


def added(contract: Any, sums: DeviceArray, out: DeviceArray | None = None,
          operands: Sequence[DeviceArray] = (), **groups: int) -> DeviceArray:
    """The sums of parts, which lie one behind the other, seen through the contract's epilogue; in
    new memory, as one part, unless `out` is given. `groups`: what operands go by."""
    from ..passes.lower_triton import contract as lower
    made = empty(sums.index, (1, *sums.shape[1:]), F32) if out is None else out
    wide = is_wide([sums.geometry])
    key = "added", contract.product, K.text((contract.epilogue,)), contract.operands, wide
    if key not in _sources:
        _sources[key] = lower.lower_added(contract, wide)
    arrays = {"x": sums, "y": made, **{f"e{q}": e for q, e in enumerate(operands)}}
    launch(sums.index, _sources[key], {name: a.geometry for name, a in arrays.items()},
           {"n": made.size, "parts": sums.shape[0], **groups})
    return made


def _spread(x: DeviceArray, shape: tuple[int, ...]) -> np.ndarray:
    """The strides of an array after broadcasting."""
    a = x.geometry
    return a if a.shape == shape else np.lib.stride_tricks.as_strided(a, shape, K.spread(a, shape))


def _flat(a: np.ndarray) -> np.ndarray:
    """The matrices with all batch dimensions as one; ValueError if their strides do not allow
    it."""
    return a.reshape(-1, *a.shape[-2:], copy=False)


def _lowered(contract: Any, kernel: Any, numbers: dict[str, int], wide: bool, tile: Any,
             in_parts: bool) -> Any:
    """The source of a kernel, in which strides of 1 are constants."""
    from ..passes.lower_triton import contract as lower
    from ..passes.lower_triton.scalar import Unsupported
    ones = tuple(name for name in ("a_m", "a_k", "b_k", "b_n", "c_n") if numbers[name] == 1)
    key = (contract.dtype, K.text((contract.epilogue,)), contract.operands, contract.of_sum, kernel,
           ones, wide, tile, in_parts)
    found = _sources.get(key)
    if found is None:
        try:
            found = _sources[key] = lower.lower(contract, kernel, ones, wide, (), tile, in_parts)
        except Unsupported as error:
            raise NoForm("matmul: no form of it for CUDA devices yet, for this type "
                                      f"({error.args[0]})") from None
    return found


def of_matrices(arrays: Sequence[Any], epilogue: Any = None,
                operands: Sequence[DeviceArray] = ()) -> DeviceArray:
    """a @ b by matrices in any batch dimensions, which are moved where they must lie along one."""
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
    return of_matrices((x, w.T), plus_bias(x.dtype), (bias,))
