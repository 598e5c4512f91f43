"""Makes a call so that its launches can be recorded: on operands with distinct addresses, and with
kernels even where only elements move."""
import functools

import numpy as np

from ..ir.memory_spans import address, span
from . import indexed, interleaved_moves, memory, pointwise, taped_launches
from .mapped_code import ALIGN


def apart(operands):
    """Replace operands that share memory by copies, so that addresses in a launch identify
    operands."""
    seen: list = []
    for i, a in enumerate(operands):
        if not isinstance(a, np.ndarray):
            continue
        if any(np.may_share_memory(a, b) for b in seen):
            operands[i] = a = _alike(a)
        seen.append(a)


def reuses(made, operands):
    """Did a call put a result into the memory of an operand? Machine code allocates new ones."""
    return any([np.may_share_memory(m, a) for m in made for a in operands
                if isinstance(a, np.ndarray)])


def _alike(a):
    """A copy with the same strides."""
    low, high = span(a)
    made = np.ndarray(a.shape, a.dtype, np.zeros(high - low, np.uint8), address(a) - low, a.strides)
    made[...] = a
    return made


class Writes:
    """Under this, recipes of an op's in-place writes are found, as recipes of other calls are found
    under the op. `forms`: ways to write by launches alone. Each is a function of the array that is
    written to, the other operands and the attributes. It returns False if it is not applicable, and
    has then done nothing."""
    is_view = differentiable = cast_product = dynamic_numbers = saves_output = False
    is_repeatable, moves, writes = True, None, None

    def __init__(self, *forms):
        self.forms, self.met, self.refused = forms, set(), set()

    def listen(self, arrays, attrs):
        """Make a write and record its launches; None if nothing was done."""
        for form in self.forms:
            tape = taped_launches.Tape()
            if tape.listen(form, *arrays, **attrs):
                return tape
        return None

    def of_copies(self):
        """The recorded write, made to a copy, which is returned; None if that is impossible."""
        return [functools.partial(_on_a_copy, form) for form in self.forms]


def _on_a_copy(form, a, *arrays, **attrs):
    if not a.size or a.itemsize > 8:
        return None
    out = memory.empty(a.shape, a.dtype)
    pointwise.move(out, a)
    return out if form(out, *arrays, **attrs) else None


FEW = 1 << 13                    # elements that one thread puts into their places as quickly


def are_few(arrays):
    """Are there so few places and values that one thread may handle all of them?"""
    return all([x.size <= FEW for x in arrays])


def for_few(put):
    """A form of a write that one thread makes. It checks everything before it writes, and leaves
    errors to other forms."""
    def form(a, *arrays, **attrs):
        try:
            return are_few(arrays) and put(a, *arrays, **attrs)
        except (IndexError, ValueError, RuntimeError):
            return False
    return form


def with_few_between(form):
    """A form of a call that raises RuntimeError if its launches pass many elements to each other:
    one thread would be slower than NumPy."""
    def run(*arrays, **attrs):
        made = form(*arrays, **attrs)
        if not are_few(taped_launches.left_between()):
            raise RuntimeError("many elements are in between")
        return made
    return run


def run_without_numpy(op, *arrays, **attrs):
    """The result of `op.forward`, by launches alone."""
    try:
        return op.forward_without_numpy(*arrays, **attrs)
    except (IndexError, ValueError, RuntimeError):
        return None


def ways(op, operands):
    """The ways in which a call can be made. Machine code repeats the first one that consists of
    launches alone. A way that is not applicable returns None; at least one is."""
    if moves_onto_new(op) and may_move(operands):
        return [mover(op), op.forward]
    if type(op.writes) is Writes:
        return [*op.writes.of_copies(), op.forward]
    if (op.forward_without_numpy is not None and op.is_repeatable and indexed.suit(*operands)
            and are_few(operands[1:])):
        return [op.forward, functools.partial(run_without_numpy, op)]
    return [op.forward]


def moves_onto_new(op):
    """Does an op move elements, possibly combining them, into a result of known sizes?"""
    return op.moves is not None and (
        op.shape is not None or op.allocate is not None
        or op.makes is not None and op.write is None and op.write_without_numpy is None)


def may_move(operands):
    """Can a kernel move elements between these operands?"""
    first = operands[0]
    return (isinstance(first, np.ndarray) and first.itemsize <= 8
            and all(isinstance(a, np.ndarray) and a.dtype is first.dtype for a in operands))


def mover(op):
    """The forward of such an op by kernels alone; None if there is none."""
    return functools.partial(_moved, op)


def _moved(op, *arrays, **attrs):
    if op.allocate is not None:
        out = op.allocate(*arrays, **attrs)
    elif op.shape is not None:
        out = memory.empty(op.shape(*arrays, **attrs), arrays[0].dtype)
    else:
        outline, = op.makes(*arrays, **attrs)
        out = memory.empty(outline.shape, outline.dtype)
    pairs = []
    for part, x in op.moves(out, *arrays, **attrs):
        if not isinstance(x, np.ndarray):
            number = np.empty(1, out.dtype)
            number[...] = x          # refuses what `np.full` casts: 1j as a float
            x = taped_launches.table(number).reshape(())
        if part.size:
            pairs.append((part, np.broadcast_to(x, part.shape)))
    for group in interleaved_moves.together(pairs):
        interleaved_moves.move_all(group)
    if op.write_by_kernels is not None and not op.write_by_kernels(out, *arrays, **attrs):
        return None
    return out


def rooms(arguments):
    """The offset of each temporary piece in one block of memory, by the piece's id, and the bytes
    of the block."""
    pieces = {id(x.memory): x.size for x in arguments if type(x) is taped_launches.Scratch}
    begins, size = {}, 0
    for piece, n in pieces.items():
        begins[piece], size = size, size + -(-n // ALIGN) * ALIGN
    return begins, size
