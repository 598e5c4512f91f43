"""Fuses gathers: a pointwise kernel reads its operand's elements at the places that an index names.

    %3 = fused(%0){mul; floor; to_int64}
    %4 = index(%1, %3, dims=(0,))           ->    %5 = picks(%0, %1, %2){
    %5 = mul(%4, %2)                                  mul; floor; to_int64; index; mul}

`Op.picks` says that an op gathers along one dimension, or along several adjacent ones with an index
for each. If these are contiguous in the table, the kernel combines their indices into one. A group
has such ops, whose results have one shape, and pointwise kernels on that shape that feed or read
them. It is one kernel: the table is an operand with stride 0 along the dimension, and the index is
added to the address of each element. A place that the table does not have
is read nowhere: it is noted, and the replay is given up, as after a gather alone; eager raises the
error. So nothing may be written between the first gather of a group and where it stands, which is
where the last of its nodes was.
"""
from __future__ import annotations

from collections.abc import Sequence, Set
from math import prod
from typing import TypeAlias, TypeGuard

import numpy as np
from whet.ir import kernel as K
from whet.ir import scalar as S
from whet.ir.expressions import Expr
from whet.ir.graph import Node, OpNode, Part, Picks, Ref
from whet.ir.values import Array
from whet.passes import fuse_moves
from whet.passes.listing import Arrays, Listing
from whet.passes.value_uses import Uses, following, written

RUN = 32                         # elements side by side that a slice should have
PAIRED = 16                      # the same, where several gathers are spared their results
MOST = 8                         # gathers of a kernel: each has a few thousand bytes of the stack
WRONG_PLACE = S.arg(-1)          # where a place beyond the table is noted: the last argument
Gathered: TypeAlias = tuple[int, bool, bool]     # see `place`


def fuse_gathers(g: Listing) -> Listing:
    """The list with groups of gathers and pointwise nodes fused into "picks" nodes. A fused node's
    `value` are the nodes that it was made of, its `roots` its one `Part`."""
    nodes, root, arrays, visible = g.nodes, g.root, g.arrays, g.visible
    if not any(picking(node, arrays) for node in nodes):
        return g
    uses = Uses(nodes, root, views=True)
    changes = [i for i, node in enumerate(nodes) if written(node)]
    groups: dict[int, list[int]] = {}                              # node -> the places of its group
    for i, node in enumerate(nodes):
        pick = picking(node, arrays)
        if not pick and not fuse_moves.computing(node, arrays):
            continue
        shape, at = arrays[node.outs[0]].shape, [i]
        for x in node.refs()[1:] if pick else node.refs():
            other = groups.get(uses.maker.get(x, -1), at)
            if (
                other is not at
                and arrays[nodes[other[0]].outs[0]].shape == shape
                and _joinable({*at, *other}, i, uses, arrays, changes)
            ):
                at = sorted({*at, *other})
        groups.update(dict.fromkeys(at, at))
    made: dict[int, Node] = {}
    gone: set[int] = set()
    for at in {at[-1]: at for at in groups.values()}.values():
        members = [nodes[k] for k in at]
        gathers = [m for m in members if picking(m, arrays)]
        # A gather with one index has a kernel of its own. So have slices, and their places are
        # computed once for each of them, not for each element.
        more = len(at) > 1 or any(len(m.ins) > 2 and not _slices(m, arrays) for m in gathers)
        group = (
            joined(members, arrays, _wanted(at, gathers, uses, visible))
            if gathers and more
            else None
        )
        if isinstance(group, Picks):
            made[at[-1]] = group
            gone.update(at)
    return g.of([made.get(i, node) for i, node in enumerate(nodes) if i in made or i not in gone])


def _slices(m: Node, arrays: Arrays) -> bool:
    """Does a gather take more than one element by each place of its index?"""
    return bool(arrays[m.outs[0]].size > arrays[m.ins[1]].size)


def _wanted(at: Sequence[int], gathers: Sequence[Node], uses: Uses,
            visible: Set[int]) -> list[int]:
    """What a group is to make: what others want, and what is gathered and not read, as it is in the
    backward of a table: there may be no such places."""
    alone = [o for m in gathers for o in m.outs if not uses.users.get(o)]
    return list(dict.fromkeys([*fuse_moves.wanted(at, uses, visible), *alone]))


def picking(node: Node, arrays: Arrays) -> TypeGuard[OpNode]:
    """Does a node gather along one dimension of a table that has some, or several as along one,
    at 64-bit places?"""
    if (
        not isinstance(node, OpNode)
        or node.op.picks is None
        or not all(type(x) is Ref for x in node.ins)
    ):
        return False
    y = arrays[node.outs[0]]
    return bool(y.size and y.ndim) and y.flags.c_contiguous and place(node, arrays) is not None


def place(node: OpNode, arrays: Arrays) -> Gathered | None:
    """(The first dimension, has every element its own place, do negative ones count from the
    end?) of a gather; None where it is another one."""
    a, *index = [arrays[x] for x in node.ins]
    got = None if node.op.picks is None else node.op.picks(a, *index, **node.attrs)
    if got is None or any(i.dtype != np.int64 for i in index):
        return None
    sizes, steps = (x[got[0]:got[0] + len(index)] for x in (a.shape, a.strides))
    return (
        got
        if all(sizes) and all(s == n * t for s, n, t in zip(steps, sizes[1:], steps[1:]))
        else None
    )


def _joinable(at: set[int], i: int, uses: Uses, arrays: Arrays, changes: Sequence[int]) -> bool:
    """May the nodes at these places be done at place i, as far as others go?"""
    picked = [k for k in at if picking(uses.nodes[k], arrays)]
    made = {o for k in at for o in uses.nodes[k].outs}
    return (
        all(uses.later(k, i) and not uses.needed(k, i, at) for k in at)
        and not any(uses.nodes[k].ins[0] in made for k in picked)
        and (not picked or following(changes, min(picked)) > i)
    )


def joined(members: Sequence[Node], arrays: Arrays, outs: Sequence[int]) -> str | Picks:
    """The node of a group that computes `outs`; or, as a text, the reason why there is none."""
    if not outs:
        return "nothing reads what is gathered"
    shape = arrays[outs[0]].shape
    made = {o for m in members for o in m.outs}
    ins: list[Array | Ref] = []
    at: dict[fuse_moves.Key, int] = {}
    for m in members:
        for x in (m if picking(m, arrays) else fuse_moves.kernel(m, arrays)).ins:
            if type(x) is not Ref or x not in made:
                fuse_moves.operand(x, ins, at)
    kernel = fuse_moves.Kernel(at, ins, arrays, tuple([(0, n, 1) for n in shape]))
    found: list[Expr] = []
    known: dict[int, Expr] = {}
    for m in members:
        if picking(m, arrays):
            element = _picked(m, kernel, known, arrays, shape)
            if isinstance(element, str):
                return element
            known[m.outs[0]] = element
            found.append(element)
        elif not kernel.add(m, known):
            return "an operand has a type that no kernel reads"
    roots = tuple([known[o] for o in outs])
    refusal = _refusal(found, roots, kernel)
    if refusal is not None:
        return refusal
    part = Part(
        kernel.box,
        tuple([S.substitute(e, {-1: S.arg(len(kernel.types))}) for e in roots]),
        tuple(kernel.operands),
    )
    node = Picks(tuple(ins), list(outs), members[-1].line, members, (part,))
    return node if _walked(node, arrays, outs) else "its slices are too short"


def _picked(m: OpNode, kernel: fuse_moves.Kernel, known: dict[int, Expr], arrays: Arrays,
            shape: tuple[int, ...]) -> str | Expr:
    """The expression of an element that a node gathers; or, as a text, the reason why a kernel
    cannot compute it."""
    along = place(m, arrays)
    assert along is not None
    d, each, wrap = along
    # where the index' dimensions end
    a, end = arrays[m.ins[0]], d + len(m.ins) - 1
    inner = arrays[m.outs[0]].ndim - (0 if each else a.ndim - end)
    found_at: list[Expr] = []
    for k in m.ins[1:]:
        index = _index(k, kernel, known, arrays, shape, None if each else (inner, a.ndim - end))
        if isinstance(index, str):
            return index
        found_at.append(index)
    strides = list(a.strides)
    strides[d:end] = [0] if each else [0] * (inner - d)
    table = kernel.argument(m.ins[0], np.lib.stride_tricks.as_strided(a, shape, strides))
    if table is None:
        return "an operand has a type that no kernel reads"
    step = [] if a.strides[end - 1] == a.itemsize else [_number(kernel, a.strides[end - 1])]
    index = found_at[0]
    if len(found_at) > 1:
        index, wrap = S.one_place(found_at, [_number(kernel, n) for n in a.shape[d:end]]), False
    return S.pick(table, index, _number(kernel, prod(a.shape[d:end])), WRONG_PLACE, *step,
                  wrap=wrap)


def _index(k: Ref, kernel: fuse_moves.Kernel, known: dict[int, Expr], arrays: Arrays,
           shape: tuple[int, ...], slices: tuple[int, int] | None) -> str | Expr:
    """The places that index k names, as the kernel reads or computes them; a text where it cannot:
    why. `slices`: (where its dimensions end, how many follow), None where each element has its own
    place."""
    index = known.get(k)
    if index is None:
        a = arrays[k]
        if slices is None:
            i = a
        else:
            inner, after = slices
            i = a.reshape((1,) * (inner - a.ndim) + a.shape + (1,) * after)
        if not np.may_share_memory(i, a):
            return "its index would have to be copied"
        index = kernel.argument(k, np.broadcast_to(i, shape))
    elif arrays[k].shape != shape:
        return "places that the kernel computes are for whole slices"
    if index is None or S.typeof(index, kernel.types) != "i64":
        return "an operand has a type that no kernel reads"
    return index


def _refusal(found: Sequence[Expr], roots: Sequence[Expr], kernel: fuse_moves.Kernel) -> str | None:
    """The reason why one kernel cannot compute these roots of gathered elements; None if it can."""
    if not {id(e) for e in found} <= {id(e) for e in S.walk(*roots)}:
        return "what is gathered is not used"
    if len(found) > MOST:
        return f"a kernel would gather more than {MOST} times"
    if any(e.op == "pick" and S.typeof(e, kernel.types) in fuse_moves.HALVES for e in roots):
        return "a kernel would not keep the bits of what it gathers"
    if len(kernel.types) + len(roots) >= fuse_moves.MOST:
        return f"a kernel would have more than {fuse_moves.MOST} operands"
    return None


def _number(kernel: fuse_moves.Kernel, n: int) -> Expr:
    return kernel.number(np.asarray(n, np.int64))


def _walked(node: Picks, arrays: Arrays, outs: Sequence[int]) -> bool:
    """Does a kernel walk the operands without turning them, and slices in runs?"""
    part, = node.parts
    operands = part.inputs([arrays[x] if type(x) is Ref else x for x in node.ins])
    shape = arrays[outs[0]].shape
    made = [arrays[o] for o in outs]
    strides = [np.broadcast_to(a, shape).strides for a in operands] + [a.strides for a in made]
    sizes = [a.itemsize for a in (*operands, *made)]
    picks = [e for e in S.walk(*part.roots) if e.op == "pick"]
    if K.packed(shape, strides, sizes, len(operands), picks):
        return True
    walk = K.plan(shape, strides, sizes, len(operands))
    read = [[i for i in S.uses(e.args[1]) if i < len(operands)] for e in picks]
    slices = any(
        all(walk.access[i] == "s" for i in r) and any(prod(operands[i].shape) > 1 for i in r)
        for r in read
    )
    least = RUN if len(read) == 1 else PAIRED
    return walk.space != "tiles" and (walk.shape[-1] >= least or not slices)


def why(a: OpNode, b: OpNode, arrays: Arrays) -> str | None:
    """The reason why a node and its reader, one of which gathers, cannot be fused; None if nothing
    about the two prevents it."""
    for n in (a, b):
        if not picking(n, arrays) and not fuse_moves.computing(n, arrays):
            return (
                f"{n.op.name} is no kernel of row-major results, and no gather at 64-bit places "
                "along one dimension, or several as along one")
    if picking(b, arrays) and b.ins[0] in a.outs:
        return f"{b.op.name} reads it here and there"
    first, second = arrays[a.outs[0]].shape, arrays[b.outs[0]].shape
    if first != second:
        return f"their shapes differ: {list(first)} and {list(second)}"
    got = joined([a, b], arrays, b.outs)
    return got if type(got) is str else None
