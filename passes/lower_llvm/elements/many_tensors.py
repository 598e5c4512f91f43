"""Pointwise kernels over the elements of many tensors: `ir.kernel.Pointwise` to a function whose
work unit is a block of one of them.

`args`: [table, count, then for each operand (inputs, then results) the addresses in all `count`
tensors]. Row i of the table is (first block of tensor i, its number of elements). All operands of a
tensor are contiguous, or one number. An element's value is computed by the code of `pointwise.py`.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from whet.ir.kernel import Pointwise

from .pointwise import _Code
from .pointwise import emit as _emit

if TYPE_CHECKING:
    from whet.passes.lower_llvm.builder import Fn, Module, Val

BLOCK = 4096


def find(f: Fn, table: Val, count: Val, unit: Val, tensor: Val) -> tuple[Val, Val, Val]:
    """(the tensor that a block belongs to, the block's first element, how many it has); `tensor`
    is an earlier one, or the same."""
    def field(tensor: Val, j: int) -> Val:
        return f.load("i64", f.at(table, tensor * 2 + j, "i64"))

    def last_begun(t: Val) -> Val:
        later = f.imin(t + 1, count - 1)
        return f.binary("and", f.cmp("slt", t + 1, count), f.cmp("sle", field(later, 0), unit))
    tensor, = f.while_(last_begun, lambda t: [t + 1], [tensor])
    start = (unit - field(tensor, 0)) * BLOCK
    return tensor, start, f.imin(field(tensor, 1) - start, BLOCK)


def emit(kernel: Pointwise, module: Module, symbol: str) -> None:
    """Write the kernel into a module as the function `symbol`."""
    _emit(kernel, module, symbol, _Many)


class _Many(_Code):
    """One kernel under construction."""

    def flat(self) -> None:
        f, access = self.f, self.kernel.access
        args = f.args[0]

        def slot(i: int | Val, ty: str = "i64") -> Val:
            return f.load(ty, f.at(args, i, "i64"))
        table, count = slot(0, "ptr"), slot(1)

        def block(unit: Val, tensor: Val) -> list[Val]:
            """Do one block; `tensor` is the one the block before belonged to, or an earlier one."""
            tensor, start, n = find(f, table, count, unit, tensor)
            bases = [slot(tensor + count * k + 2, "ptr") for k in range(self.count)]
            self.run([
                p if a == "s" else f.at(p, start, m)
                for p, a, m in zip(bases, access, self.units)], [None] * self.count, n, access)
            return [tensor]
        f.loop(self.begin, self.end, 1, block, [f.const("i64", 0)])
