"""The row family: an op is a program over rows (ir/rows.py, ir/rowops.py); the kernels for any layout come from it.

The rows' axes are the attribute `dim`, a tuple of axes. Results are full tensors, or one number a row with those axes kept as 1.
"""

from ..cpu.rows import rows
from ..dtypes import FROM_NUMPY
from .batching import example_ndim, repeated
from .registry import Op, apply, is_tensor


class RowsOp(Op):
    """An op given by `program(dtype) -> Program`; its operands are the program's, in order."""
    family = "rows"
    memo = True

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

    def batch(self, n, inputs, batched, attrs):
        """The same axes, one further. An operand along the rows must be the same for all examples; one number a row may differ."""
        full = inputs[0]
        ndim = example_ndim(full, batched[0])
        xs = []
        for x, b in zip(inputs, batched):
            if not is_tensor(x):
                xs.append(x)
            elif example_ndim(x, b) == ndim:
                xs.append(x if b else repeated(x, n))
            elif b:
                return NotImplemented
            else:
                xs.append(x)
        if ndim == 0:
            return NotImplemented
        return apply(self, tuple(xs), {"dim": tuple([d + 1 for d in attrs["dim"]])})

    def as_rows(self, *operands, dim):
        """(the row program that a call is, its operands, its axes)"""
        return self.program(FROM_NUMPY[operands[0].dtype].short), operands, dim
