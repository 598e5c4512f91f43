"""Graphs: what a recorded run did, as a list of nodes over numbered values.

A value is the memory that a tensor lay in; a node reads some and makes others, in the order of the run. `ir/text.py` prints a graph, a
line a node, and `ir/parse.py` reads it back:

    %2 = mul(%0, 2.0) : f32[4]                                   # model.py:12
    write add(%1, %2)                                            in place: operand 0 is changed
    %3 = draw random_uniform32(shape=(4,)) : f32[4]              new numbers at each replay
    guard %3 == f32[1](0.25)                                     Python saw the value and went on from there
    ask "whet.ops.embedding:_check_rows.<locals>.check"(%1) == None      or asked something of it, or wants an error raised
    %5 = fused(%0, f32[](2.0)) : f32[4] { ... }                  one kernel for the nodes in it
    %6 = rows(%5, axes=(1,)) : f32[4] { ... }                    reductions, what feeds them and what comes of them: one row kernel
    %6 = parts(%4, %5) : f32[8] { ... }                          tensors moved together and computed on, a kernel for each part of the result
    %6 = picks(%4, %5) : f32[8] { ... }                          gathers along one dimension, and the kernel that reads what they gather
    %7 = contract(%0, %1, %2) : f32[4,4] { ... }                 a product or a convolution, and what is done to each element as it is stored
    %8 = chain(%0, %1, %2) : f32[4,4] { ... }                    products one after the other, and what is done to rows between them, row by row
    %9 = roll 9 times(%0, %1) : f32[4] { ... }                   a body that is run round after round, see `Loop`

A `cond` or `while_loop` is an op whose `bodies` are programs, shown under it.
"""
import numpy as np

SHOWN = 40                       # operands or results of a node, where it is told in a line
GROUPS = frozenset(("fused", "rows", "parts", "picks", "contract", "chain", "many"))


class Ref(int):
    """A value's number, as an operand."""
    __slots__ = ()

    def __repr__(self):
        return f"%{int(self)}"


class Node:
    """One thing that happened. kind: "op", "write" (in place, into operand 0; `value`: does it count as a change of its version?), "draw"
    (random numbers), "guard" (a value that Python saw), "ask" (a question about values, with its answer; `roots`, where there are some:
    expressions, and whether each was true of any element), "fused", "rows", "parts", "picks", "contract", "chain" and "many" (see passes/;
    `value` are the nodes that one stands for, `roots` the expressions, the program or the kernels), "roll" (passes/roll_loops.py; `value` is the
    loop). Operands are `Ref`s or Python values; `outs` are value numbers. `source` is the recorded node that a pass has put it in the place of,
    if it has."""
    __slots__ = ("kind", "op", "ins", "attrs", "outs", "line", "value", "roots", "source")

    def __init__(self, kind, op, ins, attrs, outs, line, value=None):
        self.kind, self.op, self.ins, self.attrs, self.outs, self.line, self.value = kind, op, ins, attrs, outs, line, value
        self.roots = self.source = None

    def of(self, ins, outs=None):
        """The same with other operands, or other results."""
        made = Node(self.kind, self.op, ins, self.attrs, self.outs if outs is None else outs, self.line, self.value)
        made.roots, made.source = self.roots, self.source or self
        return made

    def as_value(self, out):
        """A write as an operation that makes a value."""
        made = Node("op", self.op, self.ins, {}, [out], self.line)
        made.source = self.source or self
        return made

    def refs(self):
        """The values among the operands."""
        return [x for x in self.ins if type(x) is Ref]

    @property
    def members(self):
        """The nodes that a group stands for."""
        return self.value.nodes if self.kind == "roll" else self.value if self.kind in GROUPS else ()

    def flat(self):
        """The primitives that it stands for, itself where it is one."""
        return [x for m in self.members for x in m.flat()] if self.members else [self]

    def __str__(self):
        from .text import head
        if self.kind not in GROUPS:
            return head(self, most=SHOWN)
        names = [n.op.name for n in self.flat()][self.kind == "contract":]
        return head(self, most=SHOWN) + "{" + "; ".join(names) + "}"


class Loop:
    """What a "roll" node does. `body` are the nodes of the first round with names of their own for what comes from outside;
    `inputs`: name -> what it is: ("same", value), ("carried", value, result) or ("along", value, bytes from there, bytes a round);
    `results`: what the body makes for outside or the next round: first round's value -> ("last", its last value) or ("kept", its values,
    the value that the memory of all begins with, how many lie before the first). `several`: steps that are alike in a body; what they keep
    lies in one piece of memory, in turn. `nodes`: those that it was made of (where they are not known, the body's in each round)."""

    def __init__(self, rounds, several, body, inputs, results, nodes=None):
        self.rounds, self.several, self.body, self.inputs, self.results = rounds, several, body, inputs, results
        self.nodes = body * rounds if nodes is None else nodes
        self.blocks: set = set()             # values at the start of what an earlier loop keeps

    @property
    def values(self):
        """The values that it names: some have a meaning in the body only."""
        return [*self.inputs, *(int(value) for _, value, *_ in self.inputs.values()), *(v for m in self.body for x in walk(m) for v in touched(x))]


class Type:
    """What is known of a value before it exists: the NumPy data type, the sizes, and the strides in bytes."""
    __slots__ = ("dtype", "shape", "strides", "size", "nbytes", "contiguous")

    def __init__(self, dtype, shape, strides=None):
        self.dtype, self.shape, dense = dtype, tuple(shape), _dense(shape, dtype.itemsize)
        self.strides = dense if strides is None else tuple(strides)
        self.size = 1
        for n in self.shape:
            self.size *= n
        self.nbytes = self.size * dtype.itemsize
        self.contiguous = self.strides == dense or not self.size or all(n == 1 or s == d for n, s, d in zip(self.shape, self.strides, dense))

    @classmethod
    def of(cls, a):
        """The type of an array."""
        return cls(a.dtype, a.shape, a.strides)

    @property
    def ndim(self):
        """The number of dimensions."""
        return len(self.shape)

    @property
    def extent(self):
        """How many bytes the elements take, those that lie in one place counted once."""
        n = self.dtype.itemsize if self.size else 0
        for size, stride in zip(self.shape, self.strides):
            n *= size if stride else 1
        return n

    @property
    def span(self):
        """Where its memory begins and ends, in bytes from the first element."""
        if not self.size:
            return 0, 0
        ends = [(n - 1) * s for n, s in zip(self.shape, self.strides)]
        return sum(e for e in ends if e < 0), sum(e for e in ends if e > 0) + self.dtype.itemsize

    def __eq__(self, other):
        return type(other) is Type and (self.dtype, self.shape, self.strides) == (other.dtype, other.shape, other.strides)

    def __hash__(self):
        return hash((self.dtype, self.shape, self.strides))

    def __str__(self):
        from .text import type_text
        return type_text(self)

    __repr__ = __str__


def _dense(shape, itemsize):
    """The strides of sizes that lie in C order."""
    out = []
    for n in reversed(shape):
        out.append(itemsize)
        itemsize *= max(n, 1)
    return tuple(out[::-1])


class Input:
    """A value that is there before the first node: where it comes from, and what the user calls it.

    place: "argument 0" (the first tensor among the arguments), "outside" (the function reached for it), "gradient of ..." one of these, or
    what a program of a backward is given: "saved", "gradient"."""
    __slots__ = ("value", "place", "name")

    def __init__(self, value, place, name=""):
        self.value, self.place, self.name = value, place, name

    @property
    def outside(self):
        """Is it something else than an argument?"""
        return not self.place.startswith("argument")

    def __eq__(self, other):
        return type(other) is Input and (self.value, self.place, self.name) == (other.value, other.place, other.name)

    def __hash__(self):
        return hash((self.value, self.place, self.name))

    def __repr__(self):
        return f"Input({self.value}, {self.place!r}, {self.name!r})"


class Graph:
    """A recorded run: nodes in order, the types of all values, what is given (`inputs`) and what is wanted (`results`: (value, name)).

    Nothing of the run is held but its constants: arrays among attributes, and the values that guards compare with. `streams` are the
    positions (seed, offset) of the random number generators at the start; a draw's `generator` is the number of one.

    >>> import whet
    >>> @whet.jit.trace
    ... def double(x):
    ...     return x * 2
    >>> _ = double(whet.ones(3))
    >>> [str(node) for node in double.recorded.nodes]
    ['%1 = mul(%0, 2)']
    """

    def __init__(self, nodes, types, inputs, results, name="", streams=()):
        self.nodes, self.types, self.inputs, self.name = list(nodes), dict(types), list(inputs), name
        self.results, self.streams = [tuple(r) for r in results], [tuple(s) for s in streams]

    @classmethod
    def of(cls, nodes, arrays, inputs, results, name=""):
        """The graph of recorded nodes; `arrays` tell the type of each value."""
        generators, streams = {}, []

        def copy(n):
            attrs, value = dict(n.attrs), n.value
            if n.kind == "draw":
                i = generators.setdefault(id(attrs["generator"]), len(streams))
                if i == len(streams):
                    streams.append(value)
                attrs["generator"], value = i, None
            if n.kind == "write":            # (of a recording: the counter of the versions)
                value = value is not False
            if "into" in attrs:
                attrs["into"] = {Ref(x): Ref(place) for x, place in attrs["into"].items()}
            out = Node(n.kind, n.op, n.ins, attrs, n.outs, n.line, [copy(m) for m in value] if n.kind in GROUPS else value)
            out.roots = n.roots
            return out
        made = [copy(n) for n in nodes]
        used = {x.value for x in inputs} | {v for v, _ in results} | {v for n in made for v in touched(n)}
        used.update(v for n in made for v in (n.value.values if n.kind == "roll" else [v for m in walk(n) for v in touched(m)]))
        return cls(made, {v: Type.of(arrays[v]) for v in sorted(used)}, inputs, results, name, streams)

    def roots(self):
        """value -> the value in whose memory it lies: a view lies in its operand's."""
        root = {x.value: x.value for x in self.inputs}
        for n in self.nodes:
            for m in n.flat():
                for o in m.outs:
                    root[o] = root.get(m.ins[0], m.ins[0]) if m.kind == "op" and m.op.is_view else o
            root.update((o, o) for o in n.outs if n.kind == "roll")
        return root

    @property
    def constants(self):
        """The arrays among the attributes and guards, in order."""
        out = []

        def look(x):
            if isinstance(x, np.ndarray):
                out.append(x)
            elif isinstance(x, tuple | list):
                for y in x:
                    look(y)
        for n in self.nodes:
            for m in (x for one in (n.value.body if n.kind == "roll" else [n]) for x in walk(one)):
                look([m.ins, list(m.attrs.values()), m.value if m.kind == "guard" else None])
        return out

    def __eq__(self, other):
        return type(other) is Graph and _facts(self) == _facts(other)

    __hash__ = object.__hash__

    def __str__(self):
        from .text import write
        return write(self)

    def __repr__(self):
        return f"<graph {self.name}: {len(self.nodes)} nodes, {len(self.inputs)} inputs, {len(self.results)} results>"


def walk(node):
    """A node and the nodes in it."""
    yield node
    for m in node.members:
        yield from walk(m)


def touched(node):
    """The values that a node reads, writes or makes."""
    return [*map(int, node.refs()), *node.outs, *map(int, node.attrs.get("into", {}).values())]


def _facts(g):
    """All that makes a graph what it is, in a form that can be compared: numbers by type and bits."""
    def node(n):
        if n.kind == "roll":
            loop = n.value
            given = [(name, kind, *map(int, more)) for name, (kind, *more) in loop.inputs.items()]
            made = [(first, kind, *([list(map(int, more[0])), *more[1:]] if kind == "kept" else map(int, more)))
                    for first, (kind, *more) in loop.results.items()]
            return n.kind, loop.rounds, loop.several, exact(n.ins), tuple(n.outs), n.line, tuple(map(node, loop.body)), given, made
        value = tuple(map(node, n.members)) if n.members else exact(n.value)
        return n.kind, n.op, exact(n.ins), tuple(sorted((k, exact(v)) for k, v in n.attrs.items())), tuple(n.outs), n.line, value
    return [node(n) for n in g.nodes], g.types, g.inputs, g.results, g.name, g.streams


def exact(x):
    """A value as something that equals only what is the same, to the bit."""
    if isinstance(x, np.ndarray | np.generic):
        return type(x), x.dtype, x.shape, x.strides, x.tobytes()
    if isinstance(x, tuple | list):
        return type(x), tuple(map(exact, x))
    if isinstance(x, dict):
        return dict, tuple(sorted((exact(k), exact(v)) for k, v in x.items()))
    if isinstance(x, slice):
        return slice, exact((x.start, x.stop, x.step))
    if isinstance(x, complex | float):
        return type(x), repr(x)
    if hasattr(x, "__code__"):
        return x.__code__, exact(tuple(c.cell_contents for c in x.__closure__ or ())), exact(x.__defaults__)
    return type(x), x


def text(nodes, arrays=None):
    """The nodes as text, with shapes and lines where they are known."""
    from .text import lines
    return "\n".join(lines(nodes, arrays))
