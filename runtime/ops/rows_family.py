"""The row family: an op is a program over rows (ir/rows.py, ir/row_programs.py), from which come
the kernels for any layout.

The rows' axes are the attribute `dim`, a tuple of axes. Results are full tensors, or one number a
row with those axes kept as 1.
"""

from ..cpu.rows import rows
from ..dtypes import FROM_NUMPY
from .batching import aligned, as_numbers, example_ndim, repeated
from .registry import Op, apply, is_tensor


class RowsOp(Op):
    """An op given by `program(dtype) -> Program`; its operands are the program's, in order."""
    family = "rows"
    is_repeatable = any_sizes = numbers_by_size = True

    def __init__(self, name, program, **kw):
        self.program = program
        super().__init__(name, **kw)

    def forward(self, *operands, dim):
        full = operands[0]
        program = self.program(FROM_NUMPY[full.dtype].short)
        outs = rows(program, operands, dim)
        if any(o.ndim != full.ndim for o in outs):
            kept = tuple([1 if i in dim else n for i, n in enumerate(full.shape)])
            outs = [o if o.ndim == full.ndim else o.reshape(kept) for o in outs]
        return outs[0] if len(outs) == 1 else tuple(outs)

    def on_device(self, arrays, attrs, index):
        """The program, lowered for the device."""
        from ..cuda import rows
        outs = rows.of_op(self, arrays, attrs, index)
        return outs[0] if len(outs) == 1 else tuple(outs)

    def batch(self, n, inputs, batched, attrs):
        """The program over the same axes, each counted one further: a batch lies in front. One
        number a row may differ between the examples, but what lies along the rows may not: where it
        does, a rule of the op's own says what to do."""
        full = inputs[0]
        ndim = example_ndim(full, batched[0])
        if (not ndim and all([
                not is_tensor(x) or not example_ndim(x, b) for x, b in zip(inputs, batched)])):
            rows = [
                aligned(x if b else repeated(x, n), 1) if is_tensor(x) else x
                for x, b in zip(inputs, batched)]
            return as_numbers(apply(self, tuple(rows), {"dim": (1,)}), n)
        xs, program = [], self.program(FROM_NUMPY[full._array.dtype].short)
        for x, b, o in zip(inputs, batched, program.operands, strict=True):
            if is_tensor(x) and o.is_column:
                if b:
                    return super().batch(n, inputs, batched, attrs)
            elif is_tensor(x) and not b:
                x = repeated(x, n) if x._array.ndim == ndim else x
            elif is_tensor(x) and example_ndim(x, b) != ndim:
                return NotImplemented
            xs.append(x)
        return apply(self, tuple(xs), {"dim": tuple([d + 1 for d in attrs["dim"]])})

    def onnx(self, b, *operands, dim):
        """A node for each stage of the program."""
        made = b.row_program(self.program(operands[0].dtype), operands, dim)
        return tuple(made) if len(made) > 1 else made[0]

    def as_rows(self, *operands, dim):
        """(the row program that a call is, its operands, its axes)"""
        return self.program(FROM_NUMPY[operands[0].dtype].short), operands, dim
