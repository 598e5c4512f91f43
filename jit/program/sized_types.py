"""The types of all values of a program with symbolic sizes, as outlines.

The inputs' sizes are the symbols. The type of an op's result is found by running the op on
outlines. If its code cannot run on these, the result's sizes are expressions of the operands'
sizes, and the caller checks them against what the op makes."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.cpu import ordered_kernels
from whet.ir.graph import Contract, Draw, Guard, OpNode, Ref
from whet.ir.outline import Outline, broadcast_shapes, dense, same_sizes, same_type
from whet.ir.symbolic_size import SymbolicSize, Unsized
from whet.ops.pointwise_family import PointwiseOp
from whet.ops.python_calls import size_of
from whet.ops.registry import MoveOp
from whet.passes.fold_constants import constants
from whet.passes.value_uses import is_view

from .dry_runs import dry
from .merged_nodes import MergedNodes
from .numbers_from_sizes import NumbersFromSizes, NumbersOfNode
from .size_dependent_arrays import OwnArrays
from .size_expressions import equal, same_number

if TYPE_CHECKING:
    from whet.ir.graph import Node, Type
    from whet.ir.outline import Array
    from whet.ir.symbolic_size import Size

    from .liveness import Roots
    from .program import Program
    from .size_expressions import SizeExpressions
    from .sized_program import NodesOfRun


class Inferred(NamedTuple):
    """A node whose type was inferred, with every set of questions asked on the way. The type holds
    where one set has the same answers."""

    node: OpNode | Draw
    other: Node
    asked: list[dict[str, bool]]


class SizedTypes:
    """Infers the type of each value when the program is planned for symbolic sizes. `arrays` maps a
    value to its outline. `like` is the program of the first run and `other` the nodes of the second
    (see `NodesOfRun`). `sizes` finds expressions for sizes that differ between both. `follows` maps
    values to sizes that Python code read. `input_outlines`: see `SizedProgram`."""

    def __init__(self, like: Program, other: NodesOfRun, sizes: SizeExpressions, roots: Roots,
                 follows: Mapping[int, NumbersOfNode] | None,
                 input_outlines: Mapping[int, Outline] | None) -> None:
        self.like, self.other, self.sizes = like, other, sizes
        visible = {*like.results, *roots.moving}
        found = constants(like.recorded, roots.root, like.arrays, visible, math.inf)
        self.own = OwnArrays(found.known, like.recorded, other.recorded, sizes)
        self.arrays: dict[int, Outline] = {}
        if input_outlines is None:
            sizes.read_numbers = NumbersFromSizes(like.recorded, self.arrays, follows, sizes.facts)
        # of each recorded node: its operands, and its attributes
        self.expected: list[tuple[Sequence[Any], Mapping[str, Any]]] = []
        self.inferred: list[Inferred] = []
        # What programs planned before asked is theirs to ask again.
        with sizes.facts.noting() as self.asked:
            self.find(input_outlines)
            MergedNodes(self, found)
        sizes.facts.hold(self.asked)

    def find(self, input_outlines: Mapping[int, Outline] | None) -> None:
        """Infer all types, and check them against those of both runs."""
        like, other = self.like, self.other
        for n in like.outside:
            self.keep(n, self.input_type(like.arrays[n], other.arrays[n])
                      if input_outlines is None else input_outlines[n])
        self.lengths()
        self.recorded()
        self.added()
        self.compare()
        self.sizes.equal_again()

    def hold(self) -> bool:
        """Are the types right for the symbols' current values too? Asks again all that decided."""
        asked = [*self.asked, *self.sizes.read_numbers.asked]
        return self.sizes.facts.hold(asked) and all(map(self.again, self.inferred))

    def again(self, node: Inferred) -> bool:
        """Is a node's type still the same? Some questions that an op asks do not affect its type,
        such as which kernel to use; where an answer differs, the op is run on outlines again."""
        facts = self.sizes.facts
        if any(map(facts.hold, node.asked)):
            return True
        try:
            with facts.noting() as asked:
                made = self.types_of(node.node, node.other)
        except ordered_kernels.NotYet:       # It will be planned once more.
            return True
        if not all(map(same_type, made, [self.arrays[o] for o in node.node.outs])):
            return False
        node.asked.append(asked)
        return facts.hold(asked)

    def keep(self, n: int, a: Outline) -> None:
        """Record the type of a value, and its sizes as known expressions."""
        self.arrays[n] = a
        self.sizes.note_shape(a.shape)

    def input_type(self, a: Type, b: Type) -> Outline:
        """The symbolic type of an input that had the types a and b in the two runs."""
        shape = [self.sizes.symbol(x, y) for x, y in zip(a.shape, b.shape, strict=True)]
        if not (a.contiguous and b.contiguous):
            return Outline(shape, a.dtype, self.steps(a, b, shape))
        dense = Outline(shape, a.dtype)
        # Along one element there is no step to take: a view (`x[None]`) may tell any.
        steps = [own if own == other and n == m == 1 else step for own, other, n, m, step in zip(
            a.strides, b.strides, a.shape, b.shape, dense.strides, strict=True)]
        return Outline(shape, a.dtype, steps, dense.room)

    def steps(self, a: Type, b: Type, shape: Sequence[Size]) -> list[Size]:
        """The strides of an input that is a part of a larger dense tensor, each of whose dimensions
        is as long as the part's, or longer. Replays compare inputs, so inputs with other strides do
        not use this plan."""
        steps: list[Size] = [*a.strides]
        step: Size = a.dtype.itemsize
        length: Size = 1
        for d in sorted(range(len(shape)), key=lambda d: (a.strides[d], -d)):
            inner, own = self.sizes.pair(step), (a.strides[d], b.strides[d])
            if own[0] == own[1]:
                step = own[0]
            elif min(*own, *inner) <= 0 or own[0] % inner[0] or own[1] % inner[1]:
                raise Unsized("an input has gaps that differ")
            else:
                x, y = own[0] // inner[0], own[1] // inner[1]
                step = step * self.length_of_whole(x, y, length, shape)
            steps[d], length = step, shape[d]
        return steps

    def length_of_whole(self, x: int, y: int, part: Size, shape: Sequence[Size]) -> Size:
        """The length of a dimension of the larger tensor, which was x and y in the two runs. It is
        a multiple of the part's length plus a constant, or another known size."""
        a, b = self.sizes.pair(part)
        times, rest = divmod(y - x, b - a) if a != b else (0, 0)
        more = x - times * a
        if times > 0 and not rest and more >= 0:
            return part * times + more
        return self.sizes.natural(x, y, [shape])

    def lengths(self) -> None:
        """Add the tensors that stand for sizes used as numbers: inputs, though no program reads
        them."""
        for node, other in zip(self.like.recorded, self.other.recorded, strict=True):
            if node.op is size_of and node.attrs["less"]:
                n, m = node.attrs["of"], other.attrs["of"]
                self.arrays[n] = self.input_type(self.like.arrays[n], self.other.arrays[m])

    def recorded(self) -> None:
        """Infer the types of the results of all recorded nodes."""
        for node, other in zip(self.like.recorded, self.other.recorded, strict=True):
            if node.outs and self.like.counted >= set(node.outs):
                self.count(node)
            elif (node.op is not None and not node.op.any_sizes
                    and not self.is_of_one_size(node, other)):
                raise Unsized(f"{node.op.name} may depend on how large sizes are")
            else:
                if isinstance(node, Guard) and node.refs()[0] in self.own:
                    self.ask_again(node)
                self.infer(node, other)
            self.expect(node, other)

    def count(self, node: Node) -> None:
        """Handle a node whose result's size depends on data. No other node reads the result."""
        for o in node.outs:
            t = self.like.arrays[o]
            self.arrays[o] = Outline(t.shape, t.dtype)

    def ask_again(self, guard: Guard) -> None:
        """Check a guard on a number made of sizes: by a condition on the symbols, or by computing
        the number whenever a program for new sizes is made."""
        try:
            holds = self.sizes.read_numbers.is_unchanged(guard)
        except Unsized:
            self.own.guard(guard, self.arrays)
            return
        if not holds:
            raise Unsized("Python goes another way at these sizes")

    def is_of_one_size(self, node: Node, other: Node) -> bool:
        """Are all operands and attributes of a node the same in both runs?"""
        if not isinstance(node, OpNode) or self.sizes.read_numbers.attributes(node):
            return False
        operands = [self.arrays[x] for x in node.refs()]
        return (not any(type(n) is SymbolicSize for a in operands for n in (*a.shape, *a.strides))
                and len(node.ins) == len(other.ins)
                and all(type(x) is Ref or same_number(x, y)
                        for x, y in zip(node.ins, other.ins, strict=True))
                and node.attrs.keys() == other.attrs.keys()
                and all(equal(x, other.attrs[k]) for k, x in node.attrs.items()))

    def expect(self, node: Node, other: Node) -> None:
        """Note the operands and attributes of a node at symbolic sizes."""
        if isinstance(node, Draw):
            read_numbers = self.sizes.read_numbers.attributes(node)
            shape = self.arrays[node.outs[0]].shape
            self.expected.append((node.ins, {"shape": shape, **read_numbers}))
            return
        operands = [self.arrays[x] for x in node.refs()]
        shapes = [a.shape for a in operands]
        ins = [x if type(x) is Ref or same_number(x, y) else self.sizes.number(x, y, shapes)
               for x, y in zip(node.ins, other.ins, strict=True)]
        attrs = {} if node.op is None else self.sizes.attributes(node, other, operands)
        self.expected.append((ins, attrs))

    def added(self) -> None:
        """Infer the types of the results of nodes that passes added."""
        for group in self.like.nodes:
            for node in group.flat():
                if any(o not in self.arrays for o in node.outs):
                    self.infer(node, node)

    def compare(self) -> None:
        """Check every inferred type against the types in both runs."""
        for n, a in self.arrays.items():
            for k, program in enumerate((self.like, self.other) if self.is_compared(n) else ()):
                t = program.arrays[n]
                if t.dtype != a.dtype or self.sizes.at(a.shape, k) != t.shape:
                    raise Unsized("an op makes other sizes than it made")

    def is_compared(self, n: int) -> bool:
        """Is a value's type independent of data?"""
        return n not in self.like.counted

    # ---- one node --------------------------------------------------------------------------------
    def infer(self, node: Node, other: Node) -> None:
        """Find the types of a node's results."""
        if not isinstance(node, OpNode | Draw) or not node.outs:
            return
        if isinstance(node, OpNode) and not node.op.any_sizes and self.is_of_one_size(node, other):
            for o in node.outs:
                t = self.like.arrays[o]
                self.keep(o, Outline(t.shape, t.dtype, t.strides))
            return
        with self.sizes.facts.noting() as asked:
            made = self.types_of(node, other)
        for o, a in zip(node.outs, made, strict=True):
            self.keep(o, a)
        if asked:
            self.inferred.append(Inferred(node, other, [asked]))

    def types_of(self, node: OpNode | Draw, other: Node) -> list[Outline]:
        """The types of a node's results."""
        if self.is_constant(node) or not node.ins:
            return [self.created(node, other, o) for o in node.outs]
        ins = self.operands(node, other, self.arrays)
        attrs = self.sizes.attributes(node, other, ins)
        if not self.whole(node, ins, attrs):
            raise Unsized("a part of a tensor is not there")
        return [a if type(a) is Outline else Outline(a.shape, a.dtype, a.strides)
                for a in self.made(node, ins, attrs)]

    def is_constant(self, node: Node) -> bool:
        """Does a node make, from sizes alone, something that no kernel fills?"""
        return (
            isinstance(node, OpNode)
            and bool(node.outs)
            and node.op.fills is None
            and not is_view(node)
            and all(o in self.own for o in node.outs)
        )

    def created(self, node: OpNode | Draw, other: Node, o: int) -> Outline:
        """The type of a value made from sizes alone."""
        if isinstance(node, OpNode) and node.op.makes is not None:
            ins = [self.arrays[x] for x in node.refs()]
            made: Sequence[Outline] = node.op.makes(
                *ins, **self.sizes.attributes(node, other, ins))
            return made[node.outs.index(o)]
        a, b = self.like.arrays[o], self.other.arrays[o]
        read_numbers = self.sizes.read_numbers.attributes(node)
        if isinstance(node, OpNode) and not (node.ins or read_numbers) and len(node.outs) == 1:
            if (outlined := node.op.outlined) is not None:
                return self.lying_like(o, outlined(**self.sizes.attributes(node, other, ())))
        name = next((k for k in read_numbers if k in ("size", "shape", "n")), None)
        if name is not None:
            x, y = node.attrs[name], other.attrs[name]
            shape = self.sizes.known(node.op, name, read_numbers[name], x, y, ())
            shape = shape if type(shape) is tuple else (shape,)
            if any(type(n) is SymbolicSize and not n >= 0 for n in shape):
                raise Unsized("a size is negative")
            return self.without_gaps(a, b, shape)
        if a.shape == b.shape:
            return Outline(a.shape, a.dtype, a.strides)
        has_numbers = isinstance(node, OpNode) and node.op.fills is None and not node.op.is_unset
        if has_numbers and not self.is_constant(node):
            raise Unsized(f"{node.op.name} makes numbers that depend on sizes")
        return self.similar(a, b, ())

    def similar(self, a: Type, b: Type, shapes: Collection[Sequence[Size]]) -> Outline:
        """The type of a value that had these types in the two lists."""
        pairs = list(zip(a.shape, b.shape, strict=True))
        # Such a size may be the operand's, which happens to be the same in both lists.
        held = {self.sizes.pair(n) for s in shapes for n in s if type(n) is SymbolicSize}
        if any(x == y for x, y in held.intersection(pairs)):
            raise Unsized("a size of an operand is another, and was the same in both lists")
        shape = [x if x == y else self.sizes.natural(x, y, shapes) for x, y in pairs]
        return self.without_gaps(a, b, shape)

    def without_gaps(self, a: Type, b: Type, shape: Sequence[Size]) -> Outline:
        """The type of a dense value with the same order of dimensions in both lists."""
        if a.contiguous and b.contiguous:
            return Outline(shape, a.dtype)
        for t in (a, b):
            last = sum((n - 1) * step for n, step in zip(t.shape, t.strides, strict=True))
            if last + t.dtype.itemsize != math.prod(t.shape) * t.dtype.itemsize:
                raise Unsized("a value has gaps that differ")
        return Outline(shape, a.dtype, self.steps(a, b, shape))

    def made(self, node: OpNode | Draw, ins: Sequence[Any],
             attrs: Mapping[str, Any]) -> Sequence[Outline | Array]:
        """Run an op on outlines: the outlines of its results."""
        if isinstance(node.op, MoveOp):
            return (Outline(node.op.shape(*ins, **attrs), ins[0].dtype),)
        if isinstance(node.op, PointwiseOp) and self.is_dense(node):
            try:
                shape = broadcast_shapes(*[x.shape for x in ins if type(x) is Outline])
            except ValueError as e:          # a part that is shorter, at an end
                raise Unsized(f"operands of {node.op.name} do not fit: {e}") from None
            return (Outline(shape, self.like.arrays[node.outs[0]].dtype),)
        makes = node.op.makes
        if makes is not None:
            outlines: Sequence[Outline] = dry(lambda: makes(*ins, **attrs))
            return outlines
        if (outlined := node.op.outlined) is not None:
            made: Any = dry(lambda: outlined(*ins, **attrs))
            several = made if type(made) is tuple else (made,)
            return tuple(map(self.lying_like, node.outs, several))
        if node.op.write is not None:  # a copy of the first operand, changed
            return (Outline(ins[0].shape, ins[0].dtype),)
        try:
            out = dry(lambda: node.op.forward(*ins, **attrs))
        except Unsized:
            if node.is_view:
                raise
            shapes = [x.shape for x in ins if type(x) is Outline]
            pairs = [(self.like.arrays[o], self.other.arrays[o]) for o in node.outs]
            if node.op.keeps_sizes and all(a.contiguous and b.contiguous for a, b in pairs):
                return tuple(Outline(ins[0].shape, a.dtype) for a, _ in pairs)
            return tuple(self.similar(a, b, shapes) for a, b in pairs)
        return out if type(out) is tuple else (out,)

    def lying_like(self, n: int, outline: Outline) -> Outline:
        """The outline of a value with known sizes and the layout that it had in the two lists."""
        a, b = self.like.arrays[n], self.other.arrays[n]
        if a.contiguous and b.contiguous:
            return Outline(outline.shape, outline.dtype)
        return self.without_gaps(a, b, outline.shape)

    def is_dense(self, node: Node) -> bool:
        """Are all operands of a node row-major at all sizes? Then the result of a pointwise op is
        too."""
        return len(node.outs) == 1 and bool(node.refs()) and all(
            same_sizes(a.strides, dense(a.shape, a.itemsize))
            for a in (self.arrays[x] for x in node.refs()))

    def operands(self, node: Node, other: Node, held: Mapping[int, Outline]) -> list[Any]:
        """The operands of a node: outlines and numbers. If numbers differ between the lists, the op
        must accept any number."""
        if len(node.ins) != len(other.ins):
            raise Unsized("a group has other operands")
        refs, out = [held[x].shape for x in node.refs()], []
        own = len(node.first.ins) if isinstance(node, Contract) else len(node.ins)
        for k, (x, y) in enumerate(zip(node.ins, other.ins, strict=True)):
            if type(x) is Ref:
                out.append(held[x])
            elif x is y or same_number(x, y):
                out.append(x)
            elif k < own and node.op is not None and not node.op.numbers_by_size:
                raise Unsized(f"a number that {node.op.name} depends on differs between sizes")
            else:
                out.append(self.sizes.number(x, y, refs))
        return out

    def whole(self, node: OpNode | Draw, ins: Sequence[Any], attrs: Mapping[str, Any]) -> bool:
        """Does a view of parts find all its parts? A missing one is an error in some functions."""
        if node.op.name in ("split", "unjoin"):
            return bool(sum(attrs["sizes"]) == ins[0].shape[attrs["dim"]])
        if node.op.name != "slice":
            return True
        dims = iter(zip(ins[0].shape, self.like.arrays[node.ins[0]].shape, strict=True))
        for x in node.attrs["index"]:
            n, before = (0, 0) if x is None else next(dims)
            for end in x[:2] if type(x) is tuple else ():
                if end is not None and end <= before and not end <= n:
                    return False
        return True
