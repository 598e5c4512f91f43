"""Pointwise kernels: `ir.kernel.Pointwise` to Triton source: load, one line for each operation,
store.

Operands are x0, x1 ... and the results y0, y1 ... For a flat kernel they are followed by n. For the
other spaces a program computes a tile of rows and of the inner dimension, and there follow n, the
number of rows, the sizes of all outer dimensions but the outermost, and strides in elements: of
each operand those that its access does not tell.

An operand whose access is n(umber) is no memory: it is a parameter.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from whet.ir import scalar as S

from . import scalar
from .builder import TYPE, Code, Module
from .source import source

if TYPE_CHECKING:
    from whet.ir.kernel import Pointwise, Walk
    from whet.passes.lower_llvm.builder import Val

    from .source import Source

TILE = 1024
# What is longer has twice the threads: with eight elements each, numbers would not fit into
# registers. The gradient of zeta spilled 600 bytes.
LONG = 290
NUMBER = "n"


def lower(kernel: Pointwise, dims: int = 0, wide: bool = False) -> Source:
    """The Source of a kernel over `dims` dimensions (of the Walk's shape; no matter if flat).
    `wide`: places need 64 bits."""
    for t in S.types(kernel.roots, kernel.dtypes).values():
        if t and t not in scalar.COMPUTE:
            raise scalar.Unsupported(t)
    return _flat(kernel, wide) if kernel.space == "flat" else _tiled(kernel, dims, wide)


def operands(kernel: Pointwise) -> list[tuple[str, str, str]]:
    """(name, type, access) of each operand."""
    names = ([f"x{i}"
              for i in range(len(kernel.dtypes))] + [f"y{i}" for i in range(len(kernel.results))])
    return list(zip(names, (*kernel.dtypes, *kernel.results), kernel.access, strict=True))


def parameter(t: str, access: str) -> str:
    """The type of an operand as a parameter: a pointer, or a number that holds all of its type."""
    if access != NUMBER:
        return scalar.POINTER[t]
    if t[0] in "fb" and t != "bool":
        return "fp64" if t == "f64" else "fp32"
    return "i64" if t in ("u32", "i64", "u64") else "i32"


def _number(name: str, t: str) -> str:
    """A parameter as the value that a load of its type would give."""
    computed = scalar.COMPUTE[t]
    if t == "bool":
        return f"{name} != 0"
    return f"{name}.to({TYPE[computed]})"


def _finish(kernel: Pointwise, f: Code, parameters: Sequence[tuple[str, str]],
            places: Sequence[str], mask: Sequence[str], grid: str) -> Source:
    """Load from the places, compute, store to them; `places` has text and mask for each operand."""
    ops, nin = operands(kernel), len(kernel.dtypes)

    def value(i: int) -> Val:
        name, t, access = ops[i]
        if access == NUMBER:
            return f.v(scalar.COMPUTE[t], _number(name, t), f"a{i}")
        return scalar.load(f, t, f"tl.load({places[i]}{', ' + mask[i] if mask[i] else ''})",
                           f"a{i}")
    used = S.uses(*kernel.roots)
    values = [value(i) if i in used else None for i in range(nin)]
    for i, y in enumerate(scalar.results(f, kernel.roots, values, kernel.dtypes)):
        f.line(f"tl.store({places[nin + i]}, {y}, {mask[nin + i]})")
    lines = len(f.lines) + f.mod.text().count("\n")
    return source(scalar.title(*kernel.roots), f.mod, parameters, f.lines, grid,
                  warps=8 if lines > LONG else 4)


def _flat(kernel: Pointwise, wide: bool) -> Source:
    f = Code(Module())
    f.line(
        f"at = tl.program_id(0){'.to(tl.int64)' if wide else ''} * {TILE} + tl.arange(0, {TILE})")
    f.line("here = at < n")
    ops = operands(kernel)
    places = [name if a == "s" else f"{name} + at" for name, _, a in ops]
    mask = ["" if a == "s" else "here" for _, _, a in ops]
    parameters = ([(name, parameter(t, a)) for name, t, a in ops] + [
        ("n", "i64" if wide else "i32")])
    return _finish(kernel, f, parameters, places, mask, f"cdiv(n, {TILE})")


def _tiled(kernel: Pointwise, dims: int, wide: bool) -> Source:
    f, ops = Code(Module()), operands(kernel)
    outer = dims - 1
    rows, cols = (32, 32) if kernel.space == "tiles" else (4, 256) if outer else (1, 1024)
    number = "i64" if wide else "i32"
    parameters = [(name, parameter(t, a)) for name, t, a in ops]
    parameters += [(n, number) for n in ("n", "rows", *(f"n{d}" for d in range(1, outer)))]
    f.line(f"program = tl.program_id(0){'.to(tl.int64)' if wide else ''}")
    f.line(f"across = tl.cdiv(n, {cols})")
    f.line(f"row = (program // across * {rows} + tl.arange(0, {rows}))[:, None]")
    f.line(f"col = (program % across * {cols} + tl.arange(0, {cols}))[None, :]")
    f.line("here = (row < rows) & (col < n)")
    left = "row"
    for d in reversed(range(1, outer)):
        f.line(f"i{d} = {left} % n{d}")
        f.line(f"r{d} = {left} // n{d}")
        left = f"r{d}"
    at = [left if d == 0 else f"i{d}" for d in range(outer)]
    places = []
    for name, _, access in ops:
        strided = _strided(outer, access)
        parameters += [(f"{name}_{d}", number) for d in strided]
        steps = [f"{i} * {name}_{d}" if d in strided else i for d, i in enumerate(at)]
        steps += ["col" if access == "v" else f"col * {name}_n"] if access not in "sn" else []
        places.append(" + ".join([name, *steps]))
    mask = ["row < rows" if a == "s" and outer else "here" if a != "s" else "" for _, _, a in ops]
    return _finish(kernel, f, parameters, places, mask, f"cdiv(rows, {rows}) * cdiv(n, {cols})")


def _strided(outer: int, access: str) -> list[int | str]:
    """The dimensions along which an operand moves by a stride that is a parameter."""
    if access == NUMBER:
        return []
    turned = [] if access != "t" else [outer - 1]
    return [d for d in range(outer) if d not in turned] + (["n"] if access in "gt" else [])


def numbers(kernel: Pointwise, walk: Walk, sizes: Sequence[int]) -> dict[str, int]:
    """The integer parameters of a kernel for a Walk, `sizes` being the bytes of each operand's
    elements."""
    if walk.space == "flat":
        return {"n": walk.shape[0]}
    outer = walk.shape[:-1]
    rows = 1
    for s in outer:
        rows *= s
    out = {"n": walk.shape[-1], "rows": rows, **{f"n{d}": outer[d] for d in range(1, len(outer))}}
    for (name, _, access), strides, size in zip(operands(kernel), walk.strides, sizes, strict=True):
        out |= {
            f"{name}_{d}": strides[-1 if isinstance(d, str) else d] // size
            for d in _strided(len(outer), access)}
    return out
