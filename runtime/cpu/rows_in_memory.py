"""How the arrays of a row program lie in memory: what of them is adjacent decides which way the
kernels go (`rows.py`)."""
from whet.ir import rows as R

from .row_kernels import order_free


class Dims:
    """The outer or the reduced dimensions: sizes, and strides of every array; neighbours are one
    dimension where every array allows it."""

    def __init__(self, sizes, strides):
        self.sizes: list = []
        self.strides: list = []                               # strides[dimension][array]
        for size, st in zip(sizes, strides, strict=True):
            if size == 1:
                continue
            if self.sizes and all(a == b * size for a, b in zip(self.strides[-1], st, strict=True)):
                self.sizes[-1] *= size
                self.strides[-1] = st
            else:
                self.sizes.append(size)
                self.strides.append(st)


class RowsInMemory:
    """The arrays of a plan: `arrays` has the strides of full operands and full results, and the
    bytes of their elements; `row_bytes` those of row operands, which are numbered after these.

    `reduced` are the dimensions of a row, `rest` those of which each element has one. The rows are
    gone through in the `order` of dimensions in which they lie."""

    def __init__(self, plan, operands):
        program, shape = plan.program, plan.shape
        pairs = list(zip(operands, program.operands, strict=True))
        self.arrays = [(x.strides, x.itemsize) for x, o in pairs if o.is_full]
        dense = dense_strides(shape, 1)
        self.arrays += [([s * t.itemsize for s in dense], t.itemsize)
                        for full, t in zip(plan.full_out, plan.out_types, strict=True) if full]
        row_operands = [x for x, o in pairs if o.is_row]
        self.row_bytes = [x.itemsize for x in row_operands]
        self.bytes = [*(size for _, size in self.arrays), *self.row_bytes]

        is_fixed = any(plan.full_out) or row_operands
        outer = plan.outer if is_fixed else by_memory(plan.outer, shape, self.arrays)
        inside = by_memory(plan.axes, shape, self.arrays) if order_free(program) else plan.axes
        self.order = [plan.outer.index(a) for a in outer]
        row_steps = [row_strides(plan, x) for x in row_operands]
        self.reduced = Dims([shape[a] for a in inside],
                            [[st[a] for st, _ in self.arrays] for a in inside])
        self.rest = Dims([shape[a] for a in outer],
                         [[*(st[a] for st, _ in self.arrays), *(steps[a] for steps in row_steps)]
                          for a in outer])

    def step(self, n):
        """From element to element of a row of `n`, the step of each full array."""
        return self.reduced.strides[0] if n > 1 else [size for _, size in self.arrays]

    def follow(self, steps):
        """Do elements that are so far apart follow each other in each full array?"""
        return all(s == size for s, (_, size) in zip(steps, self.arrays, strict=True))

    def is_in_pieces(self, program):
        """Is a row made of adjacent pieces, one after the other, and is no position asked for?"""
        return (len(self.reduced.sizes) == 2
                and not any(isinstance(s, R.Reduce) and s.has_position for s in program.stages)
                and self.follow(self.reduced.strides[1]))

    def row_operands_are_dense(self):
        """Does each row's number follow that of the row before? There is one outer dimension."""
        steps = self.rest.strides[0][len(self.arrays):]
        return all(s == size for s, size in zip(steps, self.row_bytes, strict=True))

    def columns_follow(self):
        """Do the rows of each full array begin one element after another? There is one outer
        dimension."""
        return self.follow(self.rest.strides[0][:len(self.arrays)])

    def same_in_all_columns(self):
        """The arrays that have the same numbers in neighbouring rows, where the rows of all others
        begin one element after another, and a full array is among these; None elsewhere."""
        steps = self.rest.strides[-1]
        # Results have steps.
        still = [i for i, s in enumerate(steps) if not s and s != self.bytes[i]]
        follow = all(s == size for i, (s, size) in enumerate(zip(steps, self.bytes, strict=True))
                     if i not in still)
        moves = any(i not in still for i in range(len(self.arrays)))
        return still if follow and moves else None


def by_memory(dims, shape, arrays):
    """Dimensions from the one with the largest steps on; those of one element, whose steps say
    nothing, stay where they are."""
    moved = iter(sorted((a for a in dims if shape[a] != 1),
                        key=lambda a: -sum(abs(st[a]) for st, _ in arrays)))
    return [a if shape[a] == 1 else next(moved) for a in dims]


def row_strides(plan, x):
    """The strides of a row operand, by dimension."""
    if x.ndim == len(plan.shape):
        return x.strides
    return dict(zip(plan.outer, dense_strides(plan.plain_rows, x.itemsize), strict=True))


def dense_strides(shape, itemsize):
    """The strides of a dense array."""
    step = itemsize
    strides: list = []
    for s in reversed(shape):
        strides.insert(0, step)
        step *= s
    return strides
