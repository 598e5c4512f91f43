"""What a run returned, as a recipe."""
import collections
import dataclasses
import enum
import types

import numpy as np
from whet.autograd.node import OutputOf
from whet.tensor import Size, Tensor
from whet.tensor_base import Base

from ..capture.containers import elements, kind_of, values
from ..capture.numpy_arrays import Array, real_of, tensor_of
from ..capture.refused import Refused
from ..capture.stand_ins import StandIn, real
from ..capture.varying_numbers import NUMBERS, tensor_behind, value_of
from ..gradient.eager_graph import History, inside, leaving, used_up
from ..guards.immutable_types import CONSTANT, PLAIN
from ..guards.instances import attributes
from ..guards.origin import HEAP, standard
from ..guards.signature import counted
from ..guards.tensor_facts import named
from ..report.reasons import Foreign, Returns, full_thing, thing
from .python_state import GROWING


class Dead:
    """The end of a graph that has been differentiated and freed: its op, and the places of what the graph leads to (None for a leaf that the run
    made). It is root `root` of the `Spent` graph, which it leaves over the edges `keys`; or, where it shares nodes with what is not used up,
    result `exit` of those that are alive."""
    graph = root = keys = exit = None

    def __init__(self, node, start, place_of_edge):
        self.index, of = (node.index, node.parent) if type(node) is OutputOf else (None, node)
        self.name, self.nout = of.op.name, of.nout
        self.places = [place_of_edge(e) for _, _, e in leaving(inside([node], start))]

    def same(self, other):
        """Is it the same end, of a recording that does the same?"""
        return (self.name, self.index, self.exit, self.root) == (other.name, other.index, other.exit, other.root)


class Spent:
    """Graphs that were used up and share nodes. `history`: these (None where hooks or a Function belong to them), `size`: how many edges lead out."""

    def __init__(self, rec, ends, start):
        roots = list(dict.fromkeys(t._node for _, t in ends))
        order = inside(roots, start)
        edges = leaving(order)
        self.size = len(edges)
        for d, t in ends:
            within = set(inside([t._node], start))
            d.graph, d.root, d.keys = self, roots.index(t._node), [k for k, (i, _, _) in enumerate(edges) if order[i] in within]
        try:
            self.history = History(rec, roots, start)
            self.history.forget()
        except Refused:
            self.history = None


def below(x):
    """What a dict holds, whatever it is a kind of; of another object nothing."""
    return dict(zip(elements(x), values(x))) if isinstance(x, dict) else {}


def in_order(x):
    """The elements of a set, so that one made of them has them in this order."""
    held = elements(x)
    if elements(type(x)(held)) != held:      # (what was taken from it left holes)
        raise Refused(Returns("a set, of which the order could be another"))
    return held


class Results:
    """What a run returned, as a recipe: the tensors in it by value number or by where they came from."""

    def __init__(self, rec, place_of, place_of_edge, before, guarded, boxes, start):
        self.start, self.place_of_edge = start, place_of_edge        # (the number of the run's first node)
        self.boxes, self.boxed = {id(x): i for i, x in enumerate(boxes)}, False      # containers among the arguments; is one of them given back?
        self.rec, self.place_of, self.before = rec, place_of, before
        self.values, self.index, self.tensors = [], {}, []
        self.known = guarded                 # what is guarded by identity: may be given back as it is
        self.tuples, self.leaves = {}, []    # which container a tuple stands for, by id; the arguments' tensors and where they are found
        self.containers, self.holders = {}, []       # lists and dicts that the run made, by id
        self.once = {}                       # what tuples are made of, by their id
        self.items = []                      # values that become numbers
        self.alive, self.dead = [], []       # results whose history is not used up; (end, result) of those whose history is

    def describe(self, x):
        """Something as a recipe: (kind, what it is made of)."""
        if not isinstance(x, tuple | slice) or isinstance(x, Base):
            return self.recipe(x)
        there = self.once.get(id(x))
        if there is not None:                # (it is one, wherever it is given back)
            return "same", there
        spec = self.recipe(x)
        if spec[0] in (tuple, "fields", "named", "slice"):
            self.once[id(x)] = spec[1]
            self.holders.append(x)
        return spec

    def recipe(self, x):
        t = type(x)
        if isinstance(x, Base):
            return self.tensor(x)
        if issubclass(t, StandIn):
            return "const", real(x)
        if t in NUMBERS:
            n = self.rec.value(tensor_behind(x))
            self.items.append(n)
            return "item", n
        if t is Array or t is np.ndarray and (id(x) in self.rec.numpys.known or id(x) in self.rec.numpys.around):
            return self.array(x)
        if t in GROWING.values():                     # (the list that it stands for)
            return "const", x.real
        if id(x) in self.boxes or id(x) in self.tuples:
            self.boxed = True
            return "box", self.boxes.get(id(x), self.tuples.get(id(x)))
        if id(x) in self.known:
            return "const", x
        if t is slice:
            return "slice", [self.describe(y) for y in (x.start, x.stop, x.step)]
        if t is Size and any(type(n) in NUMBERS for n in x):
            return "fields", (t, [self.describe(n) for n in x])
        if t in PLAIN or t is tuple and not x or isinstance(x, CONSTANT) or isinstance(x, enum.Enum):
            return "const", x
        if isinstance(x, types.FunctionType | type) and (id(x) in self.before or standard(x.__module__ or "")):
            return "const", x
        if id(x) in self.before:
            raise Refused(Returns(f"{thing(t)} that was there before"))
        if t is tuple:
            return t, [self.describe(y) for y in x]
        if id(x) in self.containers:
            return "again", self.containers[id(x)]
        if t is list:
            return t, (self.container(x), [self.describe(y) for y in x])
        if isinstance(x, tuple):
            if hasattr(t, "_fields"):
                held = [(k, self.describe(v)) for k, v in getattr(x, "__dict__", {}).items()]
                return ("named" if held else "fields"), (t, [self.describe(y) for y in x], *([held] if held else []))
        if t in (dict, collections.OrderedDict) and all(type(k) in PLAIN for k in x):
            return t, (self.container(x), [(k, self.describe(v)) for k, v in x.items()])
        if t in (set, frozenset) and all(type(k) in PLAIN for k in x):
            return "set", (self.container(x), t, in_order(x))
        if dataclasses.is_dataclass(x) and not isinstance(x, type):
            own = kind_of(x) if isinstance(x, dict) else object
            if all(b is object or b.__flags__ & HEAP or b in (own, dict) for b in t.__mro__) and all(type(k) in PLAIN for k in below(x)):
                name = self.container(x)
                return "object", (name, t, own, *([(k, self.describe(v)) for k, v in held] for held in (attributes(x), below(x).items())))
        if t.__module__.startswith("whet") and isinstance(x, tuple):
            return "fields", (t, [self.describe(y) for y in x])
        if t is types.FunctionType:
            return "function", self.function(x)
        if t is types.CellType:
            return "cell", (self.container(x), [] if x == types.CellType() else [self.describe(x.cell_contents)])
        raise Refused(Returns(f"{full_thing(t)}"))

    def array(self, x):
        """An array of NumPy's, or one of its numbers: one that was there before, or one that NumPy made in the run."""
        x = self.rec.numpys.known.get(id(x), x) if type(x) is np.ndarray else x
        known, a = real_of(x), tensor_of(x)._array
        if id(known) in self.rec.numpys.around:
            return "const", known
        place = next((p for t, p in self.leaves if t._array is known), None)
        if place is not None:
            return "array", (place, True)
        self.rec.numpys.described.add(id(x))
        n = self.rec.value(tensor_of(x))
        self.items.append(n)
        return "array", (n, known is a)

    def function(self, x):
        """A function that the run made: each call makes its own, with its own variables."""
        name = self.container(x)
        held = {"__dict__": x.__dict__, "__annotations__": x.__annotations__, "__kwdefaults__": x.__kwdefaults__, "__defaults__": x.__defaults__,
                **{k: getattr(x, k) for k in ("__name__", "__qualname__", "__module__", "__doc__")}}
        return name, x.__code__, x.__globals__, [self.describe(c) for c in x.__closure__ or ()], [(k, self.describe(v)) for k, v in held.items()]

    def contents(self, x):
        """What a container that was there before holds now."""
        if isinstance(x, list | collections.deque):
            return tuple, [self.describe(y) for y in elements(x)]
        keys = [value_of(k) if type(k) in NUMBERS else k for k in elements(x)]       # (whoever took its hash went on from its value)
        if not all(type(k) in PLAIN or id(k) in self.known or isinstance(k, Base) for k in keys):
            raise Refused(Returns(f"{thing(type(x))} of objects"))
        if any(isinstance(k, Base) for k in keys):           # (which tensor it is, is another at each call)
            keys = [self.describe(k) for k in (sorted(keys, key=self.order) if isinstance(x, set) else keys)]
            return (tuple, keys) if isinstance(x, set) else ("entries", list(zip(keys, map(self.describe, values(x)))))
        if isinstance(x, set):
            return "const", tuple(keys)
        return dict, (f"b{self.boxes.get(id(x), id(x))}", [(k, self.describe(v)) for k, v in zip(keys, values(x))])

    def order(self, k):
        """Where an element of a set comes, whatever the addresses of tensors are."""
        if not isinstance(k, Base):
            return 0, 0, repr(k)
        place = self.place_of(k)
        if place is None:
            return 1, self.rec.values.number(k._array) or 0, ""
        return 2, place[1] if place[0] == "argument" else id(place[1]), place[0]

    def container(self, x):
        """A name for something that can be changed, which is one however often it is given back."""
        k = self.containers[id(x)] = f"c{len(self.containers)}"
        self.holders.append(x)
        return k

    def tensor(self, x):
        if id(x) in self.index:
            return "again", self.index[id(x)]
        place = self.place_of(x)
        if id(x) in self.rec.borrowed:
            raise Refused(Foreign.returned())
        if place is not None:
            return "place", place
        if type(x) is not Tensor:
            raise Refused(Returns(f"{full_thing(type(x))}, a kind of tensor"))
        n = self.rec.value(x)
        if x._extra or named(x):
            raise Refused(Returns(f"a tensor with {'hooks' if x._extra else 'attributes'}"))
        dead = None
        if x.requires_grad:
            if x._node is None:
                dead = "leaf"
            elif used_up(x, self.start):
                dead = Dead(x._node, self.start, self.place_of_edge)
                self.dead.append((dead, x))
            else:
                dead = len(self.alive)       # which of the node's outputs it is
                self.alive.append(x)
        base = None
        if x._base is not None:
            owner = self.rec.outside.get(self.rec.memory.get(n, n))
            of = owner is not None and owner._base is x._base and self.place_of(x._base) is None and self.place_of(owner)
            base = ("place", ("base", of)) if of else self.tensor(x._base)
        self.index[id(x)] = len(self.tensors)
        self.tensors.append(x)
        self.values.append(n)
        return "value", (len(self.tensors) - 1, n, dead, base, x._rg)

    def join(self):
        """Make one of graphs that share nodes, once everything has been described: a hook in one sees what comes through another."""
        apart: list = []
        for end in self.dead:
            nodes, ends = set(inside([end[1]._node], self.start)), [end]
            for other in [g for g in apart if not nodes.isdisjoint(g[0])]:
                apart.remove(other)
                nodes, ends = nodes | other[0], other[1] + ends
            apart.append((nodes, ends))
        living = set(inside([t._node for t in self.alive], self.start))
        for nodes, ends in apart:
            if nodes.isdisjoint(living):
                Spent(self.rec, ends, self.start)
                continue
            for d, t in ends:
                d.exit = len(self.alive)
                self.alive.append(t)

    def cells(self, outside, place_of, saved):
        """The cells that count versions, by number: {result: cell}, {saved value: cell} (where `saved` are the latter themselves), and of each
        its version at the end, or the place of the tensor from outside that it belongs to. A result that is alone with its cell has none."""
        known = counted(outside.values(), place_of)
        held = {k: t._cell for k, t in enumerate(self.tensors) if t._base is None and t._cell is not None}
        users = collections.Counter(map(id, (*held.values(), *saved.values())))
        held = {k: c for k, c in held.items() if c.v or id(c) in known or users[id(c)] > 1}
        every = {id(c): known.get(id(c), c.v) for c in (*held.values(), *saved.values())}
        return {k: id(c) for k, c in held.items()}, {n: id(c) for n, c in saved.items()}, every
