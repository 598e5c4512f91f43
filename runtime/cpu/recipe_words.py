"""The words of a recipe, from which machine code repeats a call. See `repeated_calls.py`.

For a call on outlines (`ir/outline.py`) some words are expressions of sizes. A word that is the
address of numbers for a kernel is a `Table` or `NumbersOfSizes` until the recipe is laid out."""
import functools
from typing import NamedTuple

from .. import devices
from ..autograd.unsaved_input import Shape
from ..dtypes import FROM_NUMPY
from ..ir.memory_spans import address
from ..ir.symbolic_size import at_least
from ..passes.lower_llvm.calls import op_layouts as L  # layouts only: no LLVM is loaded by it
from . import recorded_call
from .taped_launches import (
    NumberOperand,
    NumbersOfSizes,
    Operand,
    Reader,
    Result,
    Scratch,
    Table,
    Verdict,
    Word,
    bits,
)


class Recipe(NamedTuple):
    """The words of a recipe; `owned` are the objects whose addresses are among them."""
    words: list
    owned: list


def recipe(op, kinds, arrays, made, tape, reader=Reader):
    """The words of a recipe, except those of the table to which it is added, and the objects whose
    addresses they contain. None if the call was not launches alone, with known arguments. `reader`
    interprets the arguments of launches on such arrays."""
    tensors = [(i, a) for i, (a, k) in enumerate(zip(arrays, kinds)) if k == L.TENSOR]
    if (not tape.complete or not tensors or len(made) > L.MAX_OUT
            or any(type(m) not in reader.array_types or m.ndim > L.MAX_DIMS for m in made)):
        return None
    flags, owned = _flags(op, kinds, [m.dtype for m in made], op.dynamic_numbers), [op]
    if op.is_view:
        offsets = [reader.view_offset(arrays[0], m) for m in made]
        if tape.launches or None in offsets:
            return None
        flags |= L.VIEW | (0 if op.view_is_safe else L.UNSAFE) | (L.NO_BASE if op.detaches else 0)
        work = _Launches([], 0, 0)
    else:
        work = _launches(reader(tape, [a for _, a in tensors], made, in_order=op.dynamic_numbers),
                         tensors, made)
        if work is None:
            return None
        offsets = [int(row_major(m)) for m in made]
    # Without a meta machine code asks for one at each call.
    metas = _metas(tensors, owned, flags & L.DIFF and reader is Reader)
    owned += [*[a.dtype for a in made], *[a.dtype for _, a in tensors]]
    head = _head(op, kinds, flags, nouts=len(made), launches=work.launches,
                 nslots=len(work.words) * 8 // L.SLOT, scratch=work.scratch,
                 itemsize=max([a.itemsize for a in (*made, *[t for _, t in tensors])]))
    return Recipe([*head, *metas, *_operands(kinds, arrays), *_results(made, offsets),
                   *work.words], owned)


def planned(op, kinds, arrays, types, plan, in_place):
    """The words of the recipe of a call on a device. `plan(*operands)` returns results with these
    element types, or overwrites the first operand."""
    tensors = [(i, a) for i, (a, k) in enumerate(zip(arrays, kinds)) if k == L.TENSOR]
    flags, owned = _flags(op, kinds, types, op.kernels_take_numbers), [op, plan]
    if op.is_view:
        flags |= L.VIEW | (0 if op.view_is_safe else L.UNSAFE) | (L.NO_BASE if op.detaches else 0)
    flags |= L.WRITES if in_place else 0
    metas = _metas(tensors, owned, flags & L.DIFF)
    head = _head(op, kinds, flags, nouts=len(types), plan=id(plan))
    return Recipe([*head, *metas, *_operands(kinds, arrays), *_results((), ())], owned)


def _head(op, kinds, flags, **fields):
    """The words before the layouts of operands and results."""
    readers = (_readers(op, len(kinds)) if flags & L.DIFF and len(kinds) <= L.NODE_IN else 0)
    fields.update(op=id(op), nin=len(kinds), flags=flags, readers=readers)
    return [*[fields.get(name, 0) for name in L.R_HEAD], *_zeros(L.MAX_SIZES)]


def _metas(tensors, owned, known):
    """What nodes keep of inputs that no backward reads, if known; `owned` holds it."""
    metas = [0] * L.MAX_IN
    for i, a in tensors if known else ():
        meta = Shape(a.shape, FROM_NUMPY[a.dtype])
        metas[i] = id(meta)
        owned.append(meta)
    return metas


def _flags(op, kinds, types, numbers_vary):
    """Flags for the call's gradients and numbers."""
    differentiable = op.differentiable and (len(types) > 1 or types and types[0].kind in "fcV")
    by_value = not numbers_vary and any(k in (L.FLOAT, L.INT) for k in kinds)
    return ((L.DIFF if differentiable else 0) | (L.BY_VALUE if by_value else 0)
            | (L.SAVES_OUT if differentiable and op.saves_output else 0)
            | (L.CAST_PRODUCT if op.cast_product else 0)
            | (L.WRITES if type(op) is recorded_call.Writes else 0))


class _Launches(NamedTuple):
    """A call's launches as words of a recipe: their number, and the bytes of temporary memory."""
    words: list
    launches: int
    scratch: int


def _launches(reader, tensors, made):
    """The launches of a call; None if it did anything else. The arguments of a pointwise kernel are
    the operands in order, so that operands may share memory. Elsewhere an argument is identified by
    its address, which `recorded_call.apart` makes unique."""
    if (any([m.size == 0 for m in made])
            or not all([isinstance(total, int) for _, total, *_ in reader.tape.launches])):
        return None
    found = reader.launches()
    if not found:
        return None
    arguments = [x for launch in found for x in launch.arguments]
    rooms, size = recorded_call.rooms(arguments)
    words, written = [], set()
    for launch in found:
        words += [launch.kernel, launch.total, at_least(launch.grain, 1), len(launch.arguments)]
        for x in launch.arguments:
            slot = _slot(x, tensors, rooms)
            if slot is None:
                return None
            words += slot
            if type(x) is Result:
                written.add(x.which)
    if written != set(range(len(made))) or len(words) * 8 // L.SLOT > L.MAX_SLOTS:
        return None
    return _Launches(words, len(found), size)


def _operands(kinds, arrays):
    """The required layouts of a call's operands, and its numbers."""
    words: list[int] = []
    for a, k in zip(arrays, kinds):
        if k == L.TENSOR:
            words += ((k, id(a.kind), L.ELSEWHERE, *_zeros(2 * L.MAX_DIMS))
                      if devices.is_elsewhere(a) else (k, id(a.dtype), a.ndim, *_lying(a)))
        else:
            words += (k, bits(float(a)) if k in (L.FLOAT, L.INT) else 0)
            words += _zeros(L.OPERAND // 8 - 2)
    return words + _zeros((L.MAX_IN - len(kinds)) * L.OPERAND // 8)


def _results(made, offsets):
    """The layouts of a call's results."""
    words: list[int] = []
    for m, offset in zip(made, offsets):
        words += (id(m.dtype), m.ndim, offset, *_lying(m))
    return words + _zeros((L.MAX_OUT - len(made)) * L.OUT // 8)


def _lying(a):
    """An array's sizes and strides, padded to the maximal number of dimensions."""
    rest = _zeros(L.MAX_DIMS - a.ndim)
    return *a.shape, *rest, *a.strides, *rest


@functools.cache
def _zeros(count):
    return [0] * count


@functools.cache
def _readers(op, n):
    """For each of `n` operands: a byte with a bit for each operand whose gradient reads it."""
    def reads(i, k):
        return op.reads(i, tuple([op if j == k else None for j in range(n)]))
    saves = range(n) if op.saves is None else [i for i in op.saves if i < n]
    return sum(1 << (L.READERS * i + k) for i in saves for k in range(n) if reads(i, k))


def row_major(a):
    """Does the array have the strides of a new one, even along dimensions of size 1?"""
    step = a.dtype.itemsize
    for n, stride in zip(reversed(a.shape), reversed(a.strides)):
        if stride != step:
            return False
        step *= n
    return True


def _slot(x, tensors, rooms):
    """One argument as (kind, value)."""
    if type(x) is Word:
        return L.CONST, x.value
    if type(x) is Operand:
        return L.DATA, tensors[x.which][0] + x.offset * OFFSET
    if type(x) is Result:
        return L.RESULT, x.which + x.offset * OFFSET
    if type(x) is NumberOperand:
        kind = _NUMBERS.get(x.array.dtype.str[1:])
        return None if kind is None else (getattr(L, kind), x.operand)
    if type(x) is Verdict:
        return None if x.flag[0] else (L.VERDICT, 0)
    if type(x) is Scratch:
        return L.SCRATCH, rooms[id(x.memory)] + x.offset
    return (L.CONST, x) if type(x) in (Table, NumbersOfSizes) else None


OFFSET = 1 << 8                  # what an offset is multiplied by beside the number of an array


def with_table_addresses(words):
    """The words with tables replaced by their addresses, and the arrays of the tables, which must
    be kept alive."""
    tables = [w.array for w in words if type(w) in (Table, NumbersOfSizes)]
    return [address(w.array) if type(w) in (Table, NumbersOfSizes) else w for w in words], tables


# The kinds of slots by the types of numbers that kernels read. A narrow integer is the first bytes
# of a wide one: it wraps around, as it does in `PointwiseOp.forward`.
_NUMBERS = {"f4": "F32", "c8": "F32", "f8": "F64", "c16": "F64",
            **{f"{sign}{size}": "I64" for sign in "iu" for size in (1, 2, 4, 8)}}
