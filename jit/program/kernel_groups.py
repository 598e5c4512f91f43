"""The launches of the groups that passes make: one kernel for each group, or one for each of its
parts.

A function here takes the builder, a node and its operands' stand-ins. It returns entries for the
list of launches, or None where no kernel computes the whole group."""
from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from whet.cpu import native, taped_launches, tiered_compilation
from whet.cpu.pointwise import GRAIN_NS, Pointwise
from whet.cpu.rows import rows
from whet.dtypes import FROM_NUMPY
from whet.ir import kernel as kernels
from whet.ir import scalar as S
from whet.ir.graph import Ref
from whet.ir.groups import Part
from whet.ir.memory_spans import in_turns
from whet.ir.outline import table
from whet.ir.symbolic_size import chosen
from whet.passes.batch_kernels import MOST as MOST_OPERANDS
from whet.passes.fuse_moves import MOST
from whet.passes.lower_llvm.elements import many_tensors
from whet.passes.lower_llvm.elements.pointwise import nanoseconds
from whet.passes.lower_llvm.scalar import Unsupported

from .launch_entries import Fixed, Launch, Number, placed

if TYPE_CHECKING:
    from whet.ir.expressions import Expr
    from whet.ir.graph import Fused, Many, Node, Parts, Picks, Rows, Write
    from whet.ir.groups import View
    from whet.ir.values import Array
    from whet.ops.write_to_each import WriteToEach

    from .builder import ProgramBuilder
    from .launch_entries import Argument, Entries


def into(b: ProgramBuilder, node: Node) -> list[Array]:
    """Memory for a node's results, some of which overwrite other values."""
    places = node.attrs.get("into", {})
    return [b.held[places[o]] if o in places else b.places.memory(o) for o in node.outs]


def fused(b: ProgramBuilder, node: Fused, ins: Sequence[Array]) -> Entries | None:
    """One pointwise kernel."""
    outs, kernel = into(b, node), Pointwise("fused", node.exprs, len(ins))
    b.places.inherit(node)
    return b.take(lambda: kernel(ins, outs), [*ins, *outs])


def row_program(b: ProgramBuilder, node: Rows, ins: Sequence[Array]) -> Entries | None:
    """Reductions with their prologue and epilogue."""
    work = node.placed
    made: list[Array] = []

    def run() -> None:
        outs = rows(work.program, work.operands(ins), work.axes)
        shapes = [b.arrays[o].shape for o in node.outs]
        made.extend(y.reshape(shape) for y, shape in zip(outs, shapes, strict=True))
    return b.take(run, ins, made, node.outs)


def parts(b: ProgramBuilder, node: Parts, ins: Sequence[Array]) -> Entries | None:
    """One kernel for each part of the results, or for several parts that are interleaved in
    them."""
    outs = into(b, node)
    entries: Entries = []
    for some in _in_turns(node.parts, outs):
        operands, roots = _joined(some)
        xs = Part(some[0].box, roots, operands).inputs(ins)
        ys = [part.of(y) for part in some for y in outs]
        kernel = Pointwise("parts", roots, len(operands), some[0].shared)
        got = b.take(functools.partial(kernel, xs, ys), [*ins, *outs])
        if got is None:
            return None
        entries += got
    return entries


def _in_turns(parts: Sequence[Part], outs: Sequence[Array]) -> list[list[Part]]:
    """Group the parts: those interleaved in the same results come together."""
    groups: list[list[Part]] = []
    for part in parts:
        last = groups[-1] if groups else []
        if (last and not part.shared and not last[0].shared and _few([*last, part], outs)
                and all(in_turns([p.of(y) for p in (*last, part)]) for y in outs)):
            last.append(part)
        else:
            groups.append([part])
    return groups


def _few(parts: Sequence[Part], outs: Sequence[Array]) -> bool:
    """May one kernel have the operands and results of all these? Their sizes must be known."""
    known: set[object] = {type(y) for y in outs}
    return known == {np.ndarray} and len(_joined(parts)[0]) + len(parts) * len(outs) <= MOST


def _joined(parts: Sequence[Part]) -> tuple[tuple[tuple[int, View | None], ...], tuple[Expr, ...]]:
    """The operands and the expressions of several parts, as those of one kernel."""
    if len(parts) == 1:
        return parts[0].operands, parts[0].roots
    at: dict[tuple[int, View | None], int] = {}
    for part in parts:
        for x in part.operands:
            at.setdefault(x, len(at))
    roots = [S.substitute(e, {i: S.arg(at[x]) for i, x in enumerate(part.operands)})
             for part in parts for e in part.roots]
    return tuple(at), tuple(roots)


def gathers(b: ProgramBuilder, node: Picks, ins: Sequence[Array]) -> Entries | None:
    """A kernel that gathers, with a check for indices outside of a table."""
    (part,), bad = node.parts, np.zeros(1, np.int64)
    outs = [b.places.memory(o) for o in node.outs]
    xs, kernel = [*part.inputs(ins), bad], Pointwise("picks", part.roots, len(part.operands) + 1)

    def run() -> None:
        taped_launches.verdict(bad)
        kernel(xs, outs)
    checked = next(m for m in node.flat() if m.op is not None and m.op.may_fail)
    entries = b.take(run, [*ins, *outs], node=checked)
    bad[0] = 0  # stand-ins hold any numbers
    return entries


def many(b: ProgramBuilder, node: Many) -> Entries | None:
    """One kernel over many tensors: a table of their blocks and sizes, then each operand's
    addresses."""
    places, members, work = node.attrs.get("into", {}), node.value, node.kernel
    if work is None:
        return None
    count = len(node.ins) // len(members)            # operands of each
    values = [x for k in range(count) for x in node.ins[k::count]]
    values += [places.get(o, o) for out in zip(*[m.outs for m in members]) for o in out]
    sizes = [b.arrays[m.outs[0]].size for m in members]
    return over_many(b, work, sizes, [where(b, x) for x in values])


def written_to_each(b: ProgramBuilder, op: WriteToEach, node: Write) -> Entries | None:
    """One kernel that writes to several tensors."""
    count = node.attrs["tensors"]
    targets, others = node.ins[:count], node.ins[count:]
    kernel, operands = op.launch([b.held[x] if type(x) is Ref else x
                                  for x in (targets[0], *others)])
    read = tuple([FROM_NUMPY[x.dtype].short for x in operands])
    work = kernels.Pointwise(kernel.roots, read, read[:1], "flat", "v" + "s" * len(others) + "v")
    places = [where(b, x) for x in targets]
    numbers = [where(b, x) if type(x) is Ref else Fixed(array)
               for x, array in zip(others, operands[1:], strict=True) for _ in range(count)]
    return over_many(b, work, [b.held[x].size for x in targets], [*places, *numbers, *places])


def over_many(b: ProgramBuilder, work: kernels.Pointwise, sizes: Sequence[Any],
              operands: Sequence[Argument | None]) -> Entries | None:
    """One kernel over tensors of these sizes. `operands`: those of the kernel, inputs and results,
    each for all tensors. A launch has room for so many: there are several for more tensors."""
    count = len(sizes)
    rows = [operands[i:i + count] for i in range(0, len(operands), count)]
    some = max(1, MOST_OPERANDS // len(rows))
    entries: Entries = []
    for i in range(0, count, some):
        got = _one_launch(b, work, sizes[i:i + some], [x for row in rows for x in row[i:i + some]])
        if got is None:
            return None
        entries += got
    return entries


def _one_launch(b: ProgramBuilder, work: kernels.Pointwise, sizes: Sequence[Any],
                operands: Sequence[Argument | None]) -> Entries | None:
    """The launch of a kernel over a few tensors."""
    blocks = [-(-n // many_tensors.BLOCK) for n in sizes]
    starts = itertools.accumulate(blocks[:-1], initial=0)
    numbers = table([n for pair in zip(starts, sizes, strict=True) for n in pair])
    try:
        with tiered_compilation.work(sum(sizes)):
            kernel = native.kernel(
                f"many/{work.key}",
                lambda module, symbol: many_tensors.emit(work, module, symbol),
            )
    except Unsupported:
        return None
    each = GRAIN_NS / nanoseconds(work)
    grain = chosen(lambda n, m: max(1, int(each * n / m)), sum(blocks), sum(sizes))
    arguments = placed([
        # The address of a Table is a word that is known later.
        Fixed(numbers) if type(numbers) is np.ndarray else Number(cast(int, numbers)),
        Number(len(sizes)), *operands])
    if arguments is None:
        return None
    b.tapes.launches(kernel)
    return [Launch(kernel, sum(blocks), grain, arguments)]


def where(b: ProgramBuilder, x: Any) -> Argument | None:
    """The address of a value, or a number."""
    if type(x) is np.ndarray:
        return Fixed(x)
    return b.places.argument(b.places.memory(x) if isinstance(x, int) else x)
