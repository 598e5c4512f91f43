"""The row family: an op is a program over rows (see ir/rows.py), and so is its gradient.

    softmax = rows_op("softmax", lambda b, x: b.store(b.keep(exp(x - b.max(x))) / ...))

The program is written once as a function of a builder and the operands' expressions; for half types it is built in f32 with casts at
the ends. Operands are full rows, per-row values, per-column vectors or numbers.
"""
import numpy as np

from ..dtypes import FROM_NUMPY
from .registry import Op


class Build:
    """Collects the stages of a program."""

    def __init__(self, operands, wide, narrow):
        from ..ir import rows, scalar
        self.rows, self.s, self.stages, self.wide, self.narrow = rows, scalar, [], wide, narrow
        self.count = len(operands)

    def _add(self, stage, n=1):
        self.stages.append(stage)
        first = self.count
        self.count += n
        return self.s.arg(first)

    def sum(self, e): return self._add(self.rows.Reduce("sum", self.s.lift(e)))
    def max(self, e): return self._add(self.rows.Reduce("max", self.s.lift(e)))
    def min(self, e): return self._add(self.rows.Reduce("min", self.s.lift(e)))
    def prod(self, e): return self._add(self.rows.Reduce("prod", self.s.lift(e)))

    def keep(self, e):
        """A value per element that later stages read."""
        return self._add(self.rows.Keep(self.s.lift(e)))

    def store(self, e):
        """An output per element."""
        self.stages.append(self.rows.Store(self._out(e)))

    def store_row(self, e):
        """An output per row."""
        self.stages.append(self.rows.StoreRow(self._out(e)))

    def _out(self, e):
        e = self.s.lift(e)
        return self.s.cast(e, self.narrow) if self.narrow != self.wide or self.s.typeof(e, [self.wide] * 64) is None else e


class RowsOp(Op):
    """build(b, *operand expressions) fills the program; `kinds` says what each operand is: full, row, col or scalar.

    The reduced axes are the attribute `dim` (a tuple of axes, or None for all); results are full rows or rows with those axes kept as 1.
    """
    family = "reduce"

    def __init__(self, name, build, kinds, *, vjp=None, samples=None, register=True, doc=None):
        self.build, self.operand_kinds = build, kinds
        self._programs: dict = {}
        super().__init__(name, vjp=vjp, samples=samples, register=register, doc=doc)

    def program(self, short):
        """The program for operands of one type."""
        p = self._programs.get(short)
        if p is None:
            from ..ir import rows, scalar
            wide = "f32" if short in ("f16", "bf16") else short
            b = Build(self.operand_kinds, wide, short)
            xs = []
            for i, k in enumerate(self.operand_kinds):
                x = scalar.arg(i)
                xs.append(scalar.cast(x, wide) if wide != short and k != "scalar" else x)
            self.build(b, *xs)
            operands = tuple(rows.Operand(wide if k == "scalar" else short, k) for k in self.operand_kinds)
            p = self._programs[short] = rows.Program(self.name, operands, tuple(b.stages))
        return p

    def forward(self, *arrays, dim):
        x = next(a for a, k in zip(arrays, self.operand_kinds) if k == "full")
        program = self.program(FROM_NUMPY[x.dtype].short)
        outs = run(program, [a if k != "scalar" else np.asarray(a, np.float64 if x.dtype == np.float64 else np.float32)
                             for a, k in zip(arrays, self.operand_kinds)], x.shape, dim)
        return outs[0] if len(outs) == 1 else tuple(outs)


def run(program, arrays, shape, dim):
    """Run a row program over the axes `dim` of `shape`; row operands and results have those axes as 1."""
    from ..cpu import reduce
    return reduce.rows(program, arrays, shape, dim)
