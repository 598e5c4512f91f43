"""How calls that were noted are run: equal ones at once.

The agenda is DyNet's: of the groups that have a call which is ready, the one whose calls lie the
least deep on average is the next. The results of a group are rows of one tensor, a block. Operands
that are rows of blocks are put together again by as few copies as there can be.
"""
from heapq import heappop, heappush
from operator import attrgetter
from typing import Any

import numpy as np

from ..op_table import REGISTRY
from ..ops import batching, registry
from .cell import CellOp

# Calls that differ in a tensor from outside are run apart, or at once with a copy of that tensor
# for each. A group more costs its launches, forwards and backwards, in whose time about so many
# bytes are copied.
COPIED_PER_LAUNCH = 300_000


class Result:
    """What a tensor shows: a tensor of the layer beneath, or a row of a block, or what a call
    that was not run will give."""
    tensor: Any = None
    block: Any = None
    row: Any = None
    call: Any = None
    users: Any = None
    outline: Any

    def __init__(self, outline, tensor=None):
        self.outline, self.tensor = outline, tensor


class Call(Result):
    """An op that is noted, and its result."""
    parts: Any = None

    def __init__(self, kind, op, operands, attrs):
        self.outline, self.kind, self.op = kind.outlines, kind, op
        self.operands, self.attrs = operands, attrs


class Part(Result):
    """One of several results of a call."""

    def __init__(self, outline, call):
        self.outline, self.call = outline, call


class Block:
    """Results of a group as one tensor, whose first dimension is that of the calls."""
    __slots__ = ("tensor", "rows")

    def __init__(self, tensor, rows):
        self.tensor, self.rows = tensor, rows


class Group:
    """Calls that can be run at once: how deep they lie on average, and those that are ready."""
    __slots__ = ("depth", "ready")

    def __init__(self, calls):
        self.depth = sum([c.depth for c in calls]) / len(calls)
        self.ready = [c for c in calls if not c.waits]
        for c in calls:
            c.group = self


# ---- the agenda ----------------------------------------------------------------------------------
def run(calls, run_group):
    """Run calls, each of which comes after its operands: `run_group` runs some of them."""
    agenda: list = []
    for group in _groups(calls):
        if group.ready:
            heappush(agenda, (group.depth, len(agenda), group))
    number = len(agenda)
    while agenda:
        group = heappop(agenda)[2]
        ready, group.ready = group.ready, []
        run_group(ready)
        for call in ready:
            users, call.users, call.operands = call.users, None, ()
            for user in users:
                user.waits -= 1
                if not user.waits:
                    group = user.group
                    if not group.ready:
                        heappush(agenda, (group.depth, number, group))
                        number += 1
                    group.ready.append(user)


def _groups(calls):
    """The groups of calls that wait for each other."""
    kinds: dict = {}
    for c in calls:
        waits = depth = 0
        for r in c.operands:
            source = r.call or r
            if source.users is not None:
                source.users.append(c)
                waits += 1
                if source.depth > depth:
                    depth = source.depth
        c.users, c.waits, c.depth = [], waits, depth + 1
        same = kinds.get(c.kind)
        if same is None:
            kinds[c.kind] = [c]
        else:
            same.append(c)
    return [Group(g) for kind, same in kinds.items() for g in (
        _apart(same, kind.outside) if kind.outside else (same,))]


def _apart(calls, places):
    """Calls of a kind by the large tensors from outside that they share. `places`: where among the
    operands there are any."""
    for i in sorted(places, key=lambda i: -calls[0].operands[i].outline.size):
        shared: dict = {}
        for c in calls:
            shared.setdefault(c.operands[i], []).append(c)
        size = calls[0].operands[i].outline.size
        if 1 < len(shared) and len(calls) * size > len(shared) * COPIED_PER_LAUNCH:
            return [part for same in shared.values() for part in _apart(same, places)]
    return [calls]


# ---- one group -----------------------------------------------------------------------------------
def run_group(calls):
    """Run calls of one group, in the layer beneath."""
    first, n = calls[0], len(calls)
    columns = [[c.operands[i] for c in calls] for i in range(len(first.operands))]
    batched = [column.count(column[0]) < n for column in columns]
    if True not in batched:
        _keep_one(calls, _apply(first, [_tensor(column[0]) for column in columns]))
        return
    values = [
        _put_together(column) if many else _tensor(column[0])
        for column, many in zip(columns, batched)]
    if first.op.is_view:
        values = [_regular(x) if many and regular else x
                  for x, many, regular in zip(values, batched, first.kind.regular)]
    inputs, flags = _with_numbers(first.kind.form, values, batched)
    outs = first.op.batch(n, inputs, flags, first.attrs)
    if outs is NotImplemented:
        outs = batching.looped(first.op, n, inputs, flags, first.attrs)
    if first.parts is None:
        _keep_rows(calls, outs, n)
    else:
        for i, out in enumerate(outs):
            _keep_rows([c.parts[i] for c in calls], out, n)
        _let_go(calls)


def _apply(call, values):
    inputs, _ = _with_numbers(call.kind.form, values, values)
    if type(call.op) is CellOp:
        return call.op.alone(inputs, call.attrs)
    return registry.apply(call.op, inputs, call.attrs)


def _with_numbers(form, values, batched):
    """The operands of a call and which of them are batched, with the numbers among them."""
    if ... not in form or len(values) == len(form):
        return tuple(values), tuple(batched)
    values, batched = iter(values), iter(batched)
    return (tuple([next(values) if x is ... else x for x in form]),
            tuple([next(batched) if x is ... else False for x in form]))


def _keep_one(calls, outs):
    """The result of calls that are all the same."""
    for c in calls:
        if c.parts is None:
            c.tensor = outs
        else:
            for part, out in zip(c.parts, outs):
                part.tensor = out
    if calls[0].parts is not None:
        _let_go(calls)


def _let_go(calls):
    """Calls and their parts hold each other no longer, so that they are freed when they are no
    longer used."""
    for c in calls:
        for part in c.parts:
            part.call = None
        c.parts = None


def _keep_rows(results, out, n):
    block = Block(out, n)
    for i, r in enumerate(results):
        r.block, r.row = block, i


# ---- operands ------------------------------------------------------------------------------------
def _regular(x):
    """A batch without gaps in memory."""
    return x.contiguous()


def _tensor(result):
    if result.tensor is None:
        result.tensor = result.block.tensor.select(0, result.row)
    return result.tensor


def _index(places):
    """Places as a tensor, which a trace knows as a constant."""
    return registry.apply(REGISTRY["constant"], (), {"array": np.array(places)})


def _rows(block, rows):
    """Some rows of a block in this order."""
    first, n = rows[0], len(rows)
    if rows == list(range(first, first + n)):
        return block.tensor if n == block.rows else block.tensor.narrow(0, first, n)
    return registry.apply(REGISTRY["index_select"], (block.tensor, _index(rows)), {"dim": 0})


_row, _block = attrgetter("row"), attrgetter("block")


def _put_together(column):
    """Results as one tensor."""
    if column[0].block is None or None in (blocks := list(map(_block, column))):
        _stack([r for r in column if r.block is None])
        blocks = list(map(_block, column))
    rows, first = list(map(_row, column)), blocks[0]
    if blocks.count(first) == len(column):
        return _rows(first, rows)
    wanted: dict = {}
    for b, row in zip(blocks, rows):
        wanted.setdefault(b, {})[row] = None            # later: where it lies among the parts
    parts, n = [], 0
    for b, places in wanted.items():
        some = sorted(places)
        parts.append(_rows(b, some))
        places.update(zip(some, range(n, n + len(some))))
        n += len(some)
    joined = Block(registry.apply(REGISTRY["cat"], tuple(parts), {"dim": 0}), n)
    return _rows(joined, [wanted[b][row] for b, row in zip(blocks, rows)])


def _stack(results):
    """Make a block of results that are tensors by themselves."""
    once = list(dict.fromkeys(results))
    _keep_rows(once, registry.apply(REGISTRY["stack"], tuple([r.tensor for r in once]),
                                    {"dim": 0}), len(once))


def take(results):
    """Make tensors by themselves of rows of blocks."""
    of: dict = {}
    for r in results:
        if r.tensor is None:
            of.setdefault(r.block, {}).setdefault(r.row, []).append(r)
    for block, by_row in of.items():
        if len(by_row) == 1:
            made = [_tensor(r) for [r, *_] in by_row.values()]
        else:
            rows = sorted(by_row)
            made = _rows(block, rows).unbind(0)
            by_row = {row: by_row[row] for row in rows}
        for same, tensor in zip(by_row.values(), made):
            for r in same:
                r.tensor = tensor
