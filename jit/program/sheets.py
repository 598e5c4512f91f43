"""A program planned for sizes that are not known, as a function of them, and the programs that it
gives."""
import dataclasses

import numpy as np
from whet.indexing import strided
from whet.ir.extent import Extent, Real
from whet.ir.graph import Type
from whet.passes.lower_llvm.calls import share_out

from .launch_lists import LONG, LaunchList
from .program import Program


@dataclasses.dataclass(frozen=True, slots=True, eq=False, weakref_slot=False)
class AtSizes(Program):
    """The program for certain sizes: what is views of Python's in others is shown as it lies.
    `sheet`: what it is a program of."""
    sheet: object = None

    @property
    def model(self):
        return self.sheet.model

    def __call__(self, given):
        env = Program.__call__(self, given)
        for o, (root, offset, t) in self.shown.items():
            size = t.dtype.itemsize
            env[o] = strided(env[root], t.shape, [s // size for s in t.strides], offset // size)
        return env


class Sheet:
    """What a `SizedProgram` came to, as one function of the sizes: `program(values)` is the program
    for them, or None."""

    def __init__(self, sized):
        like = self.model = sized.like
        self.table = None                    # one that machine code has for one of its programs
        self.count, self.values, self.arrays, self.keep = (
            sized.count,
            sized.values,
            like.arrays,
            sized.keep,
        )
        self.base = {f.name: getattr(like, f.name) for f in dataclasses.fields(Program)}
        self.base |= dict(
            called=[],
            local={},
            steady=sized.steady,
            launches=sized.number,
            checks=sized.tapes.checks,
            sheet=self,
        )
        words = sized.list
        whole = [i for i, w in enumerate(words) if type(w) is Extent]
        reals = [i for i, w in enumerate(words) if type(w) is Real]
        self.template = np.array([0 if type(w) in (Extent, Real) else w for w in words], np.int64)
        self.tables, self.whole, self.reals = (
            np.array(x, np.intp) for x in (sized.tables, whole, reals)
        )
        # the types that a replay asks for: of what it is given, of what it makes, of views
        self.types, self.offsets, dims = (
            dict.fromkeys([*sized.outside, *sized.results, *like.fresh, *like.shown]),
            {},
            [],
        )
        for n in self.types:
            a = sized.arrays[n]
            self.types[n] = a.dtype, len(a.shape), len(dims)
            dims += [*a.shape, *a.strides]
        for o, (root, _, _) in like.shown.items():
            self.offsets[o] = root, len(dims)
            dims.append(sized.held[o].offset)
        self.parts = len(whole), len(whole) + len(reals), len(whole) + len(reals) + len(dims)
        self.evaluate = sized.facts.function(
            [*[words[i] for i in (*whole, *reals)], *dims, sized.arena, *sized.work]
        )

    def program(self, values, recorded=None):
        """The program for these sizes; None where it would be another. `recorded`: the nodes of a
        run, where there was one."""
        try:
            got = self.evaluate(*values)
        except (ZeroDivisionError, OverflowError):
            return None
        if got is None:
            return None
        a, b, c = self.parts
        words = self.template.copy()
        words[self.whole] = got[:a]
        if b > a:
            words.view(np.float64)[self.reals] = got[a:b]
        at = words.ctypes.data
        if len(self.tables):
            words[self.tables] += at
        dims, arena, work, arrays = got[b:c], got[c], got[c + 1:], list(self.arrays)
        for n, (dtype, ndim, i) in self.types.items():
            arrays[n] = Type(dtype, dims[i:i + ndim], dims[i + ndim:i + 2 * ndim])
        shown = {o: (root, dims[i], arrays[o]) for o, (root, i) in self.offsets.items()}
        long = sum(t / share_out.grain(g) for t, g in zip(work[::2], work[1::2])) >= LONG
        steps = [LaunchList(long, at, self.count, self.values)] if self.count else []
        changed = dict(
            arrays=arrays,
            shown=shown,
            arena=arena,
            keep=[words, *self.keep],
            steps=steps,
            env=[None] * (len(arrays) + 1),
            needs={},
        )
        if recorded is not None:
            changed["recorded"] = recorded
        return AtSizes(**{**self.base, **changed})
