"""Plans for arrays whose sizes are not known.

How a convolution or a pool is cut best is searched for, and has no short expression of sizes. So
planning stays what it is: one function of sizes, called for each that comes, as eager mode calls
it. The numbers of a plan are what it gave. A library has no Python to call: its plans are formulas.
"""
import numpy as np
from whet.ir.outline import Outline
from whet.ir.symbolic_size import SymbolicSize, at_least, at_most, fixed, text, value

from .window_parts import Pack, Plan

MOST = 1 << 11                 # sizes that one function has plans for
COUNT = 1 << 40                # no plan has so many units, or wants so many bytes


class PlansBySizes:
    """A function of the sizes among what `make` is given, whose texts are `names`: the numbers of
    its plans. It keeps these, and with them the tables that kernels read."""

    def __init__(self, make, arguments, names):
        self.make, self.arguments, self.names, self.made = make, arguments, names, {}

    def __call__(self, *sizes):
        """The numbers of the plans for these sizes."""
        plans = self.made.get(sizes)
        if plans is None:
            if len(self.made) >= MOST:
                raise OverflowError("there are no plans for this many sizes")
            at = dict(zip(self.names, sizes, strict=True))
            plans = self.made[sizes] = self.make(*[filled(x, at) for x in self.arguments])
        if any(not 0 <= n < COUNT for p in plans for n in (p.units, p.scratch)):
            raise OverflowError("a plan is too large")
        return tuple([n for p in plans for n in p.numbers()])


def by_sizes(make, outs, *arguments):
    """make(*arguments), a list of plans, one for each shape in `outs` that a plan's result has.
    Arguments may have sizes that are not known."""
    known: dict = {}
    outlines = tuple([outlined(x, known) for x in arguments])
    if not known:
        return make(*outlines)
    facts = next(iter(known.values())).facts
    if facts.is_for_library:
        # no Python function is called there: planning itself runs on symbols, and chooses
        # what changes nothing but speed by the sizes of now
        return make(*outlines)
    numbers = items(facts, PlansBySizes(make, outlines, list(known)), list(known.values()))
    each = len(numbers) // len(outs)
    return [unpacked(numbers[i * each:(i + 1) * each], out) for i, out in enumerate(outs)]


def items(facts, function, sizes):
    """The numbers that a function gives for some sizes, always as many: it is called again for
    others, and each number is an item of what it gives."""
    name, asked = facts.known_as(function)
    now = asked(*map(value, sizes))
    whole = facts.part(f"{name}({', '.join(map(text, sizes))})")
    return [facts.atom(f"{whole}[{i}]", n) for i, n in enumerate(now)]


def unpacked(numbers, out):
    """The plan that has these numbers. How weights are packed must be what it is now: they are kept
    from call to call."""
    kernel, units, grain, scratch, geometry, divisors, *pack = numbers
    kind, *pack = map(fixed, pack[:1] if not fixed(pack[0]) else pack)
    units, scratch = (at_least(at_most(n, COUNT), 0) for n in (units, scratch))
    made = None
    if kind:
        kernel_of, units_of, grain_of, size, count, *rest = pack
        made = Pack(kernel_of, units_of, grain_of, tuple(rest[:count]), size)
    return Plan(kernel, units, grain, geometry, scratch, out, made, divisors)


def outlined(x, known):
    """Something without its arrays' memory; the sizes in it that are not known are put into
    `known` by their texts."""
    if type(x) is tuple:
        return tuple([outlined(y, known) for y in x])
    if type(x) is SymbolicSize:
        known[text(x)] = x
    if isinstance(x, np.ndarray):
        return Outline(outlined(tuple(x.shape), known), x.dtype, outlined(tuple(x.strides), known))
    return x


def filled(x, at):
    """Something with the sizes of a call in the place of expressions."""
    if type(x) is tuple:
        return tuple([filled(y, at) for y in x])
    if type(x) is Outline:
        return Outline(filled(x.shape, at), x.dtype, filled(x.strides, at))
    return at[text(x)] if type(x) is SymbolicSize else x
