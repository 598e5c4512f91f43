"""The launches of a chain (see passes/chain_products.py): matrices are packed first, then one
launch takes the rows through all links, block by block.

The kernels are those of the single links. They are given other units; intermediate values get
addresses in the thread's own memory. So each link must be one launch whose units are rows, or tiles
of rows, of the same matrices."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from whet.cpu import gemm, memory, native, thread_pool
from whet.cpu.conv_plan import scratch
from whet.cpu.rows import Plan
from whet.cpu.taped_launches import Tape
from whet.ir.graph import Contract, OpNode, Ref, Rows
from whet.passes.lower_llvm.calls import distribute_units
from whet.passes.lower_llvm.calls import row_blocks as L
from whet.passes.lower_llvm.scalar import Unsupported

from .contractions import product

if TYPE_CHECKING:
    from whet.ir.graph import Chain, Node
    from whet.ir.values import Array

    from .builder import ProgramBuilder
    from .launch_entries import Entries

BLOCK = 1 << 18                  # bytes of the intermediate values of a block
# tiles of rows that a block has at least: it goes over all of the second operands
TILES = 4


class Link(NamedTuple):
    """A node of a chain as a launch. There are `matrices` of `rows` rows. `tile`: the rows of a
    unit's tile, 0 for a single row. `scratch`: the bytes of its scratch memory. `room`: for how
    many threads that is, 0 for any number."""
    kernel: int
    tile: int
    rows: int
    matrices: int
    args: list[Any]
    scratch: int = 0
    room: int = 0


# value -> its stand-in
Held: TypeAlias = dict[int, Any]
SCRATCH = object()               # among a link's arguments


def launches(b: ProgramBuilder, node: Chain) -> Entries | None:
    """The entries of a chain's launches; None if its links have to run one after the other."""
    tape, held = Tape(), dict(b.held)
    inside: Held = {}
    known: list[Any] = []
    for m in node.members[:-1]:
        a = b.arrays[m.outs[0]]
        held[m.outs[0]] = inside[m.outs[0]] = memory.empty(a.shape, a.dtype)
    held[node.outs[0]] = b.places.memory(node.outs[0])
    try:
        found = [
            _rows(m, held) if isinstance(m, Rows) else _product(b, m, held, tape, known)
            for m in node.members if isinstance(m, Rows | Contract | OpNode)
        ]
    except Unsupported:
        return None
    tiles = {
        (link.tile, link.rows, link.matrices) for link in found if link is not None and link.tile}
    links = [link for link in found if link is not None]
    if len(links) < len(node.members) or len(tiles) != 1:
        return None
    (tile, rows, matrices), = tiles
    if any(link.rows != rows * matrices for link in links if not link.tile):
        return None
    _together(tape, links, list(inside.values()), tile, rows, matrices)
    return b.tapes.entries(tape, [
        *(held[x] for m in node.members
          for x in m.refs() if x not in inside), held[node.outs[0]], *known])


def _together(tape: Tape, links: Sequence[Link], between: Sequence[Array], tile: int, rows: int,
              matrices: int) -> None:
    """Put the launch that goes through all links on a tape. `between`: the values between the
    links."""
    down = -(-rows // tile)
    threads = min([thread_pool.get_num_threads(), *(link.room for link in links if link.room)])
    # of a row
    sizes = [-(-y.shape[-1] * y.itemsize // 64) * 64 for y in between]
    # tiles of a block
    high = min(max(TILES, min(BLOCK // (sum(sizes) * tile), down * matrices // (4 * threads))),
               down)
    blocks, places = -(-down // high), [sum(sizes[:k]) * tile * high for k in range(len(sizes) + 1)]
    table = [*L.Blocks(rows, blocks, high * tile, places[-1], len(links))]
    args: list[Any] = []
    need = places[-1] * threads
    whole = need + sum(link.scratch for link in links)
    room = scratch(whole)
    tape.need(room, whole)
    for link in links:
        table += L.Link(link.kernel,
                        down if link.tile else rows,
                        high if link.tile else high * tile,
                        len(link.args))
        for a in link.args:
            k = next((k for k, y in enumerate(between)
                      if isinstance(a, np.ndarray) and np.may_share_memory(a, y)),
                     None)
            table += (L.Between(0, 0) if k is None else L.Between(
                between[k].shape[-1] * between[k].itemsize, places[k]))
            args.append(0 if k is not None else room[need:] if a is SCRATCH else a)
        need += link.scratch
    kernel = native.kernel("chain", L.emit)
    tape.launches.append((kernel, matrices * blocks, distribute_units.word(1, threads),
                          np.array(table, np.int64), room, *args))


def _operands(m: Node, held: Held) -> list[Any]:
    return [held[x] if type(x) is Ref else x for x in m.ins]


def _product(b: ProgramBuilder, m: Contract | OpNode, held: Held, tape: Tape,
             known: list[Any]) -> Link | None:
    """A product as a link. Packing its second operand goes on the tape."""
    got = product(m, _operands(m, held))
    found = None if got is None else gemm.by_rows(*got)
    if got is None or found is None:
        return None
    (x, w, _, operands), plan, y = got, found.plan, held[m.outs[0]]
    if plan.shape != y.shape or plan.dtype != y.dtype:
        return None
    if found.packing is not None:
        size, dtype, *packs, table = found.packing
        data = b.places.part(memory.empty(size, dtype))
        tape.launches.append((*packs, w, data, table))
        known.append(data)
        w = data
    room = SCRATCH if plan.scratch else None
    args = [x, w, y, plan.table, room, *operands]
    return Link(plan.kernel, found.tile, found.rows, found.matrices, args, plan.scratch,
                distribute_units.room(plan.grain))


def _rows(m: Rows, held: Held) -> Link | None:
    """A row program as a link."""
    work, y = m.placed, held[m.outs[0]]
    operands = work.operands(_operands(m, held))
    plan = Plan(work.program, operands, work.axes)
    if plan.by_row is None or plan.out_shapes != [y.shape] or plan.out_types != [y.dtype]:
        return None
    kernel, numbers = plan.by_row
    return Link(kernel, 0, plan.count, 1, [*(operands[i] for i in plan.passed), y, *numbers])
