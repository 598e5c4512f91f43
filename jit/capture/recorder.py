"""Recording: a real run of a function, with every primitive that executes written down.

The recorder is an observer of `ops.registry`: it runs each primitive as eager does and notes op,
operands and results. Operands are known by the array that they stand for, so a tensor made anew
around the same memory is the same value. A tensor that neither the recording made nor the function
could reach before is something that the recorder has not seen: the function is refused. What the
run makes is freed when eager frees it: see `value_layouts.py`.
"""
import sys
import weakref

from whet import dtypes
from whet.autograd import inplace as ip
from whet.autograd import modes
from whet.ir.graph import Draw, OpNode, Ref, Write
from whet.ops import pointwise_family, registry
from whet.ops.creation import copied, empty_op
from whet.tensor import contiguous_format

from ..report.reasons import (
    Foreign,
    InPlaceShape,
    Large,
    Memory,
    OfNumPy,
    Prints,
    Raises,
    Reason,
    Settings,
)
from .followed_sizes import FollowedSizes
from .memory_ceiling import Ceiling
from .numpy_arrays import Arrays
from .outside_calls import Call
from .purity import Watch
from .questions import Questions
from .random_streams import Streams
from .refused import Refused
from .user_lines import user, where
from .value_layouts import Originals, Values
from .varying_numbers import NUMBERS, plain, tensor_behind, value_of
from .varying_texts import Texts

ERRORS = RuntimeError, ValueError, TypeError, IndexError, NotImplementedError
# numbers that vary make tensors of these types as they make them themselves
FILLED = {
    float: (dtypes.float32, dtypes.float64), int: (dtypes.float32, dtypes.float64, dtypes.int64),
    bool: ()}


class Recorder(Questions):
    """The observer of one run."""

    def __init__(self, reachable, items_vary=False, watched=(), exact=False):
        self.reachable = {id(t._array): t for t in reachable}
        self.anchors = [t._array for t in reachable]         # (no other array gets the id of one)
        # NumPy arrays that are guarded; tensors around them
        self.watched, self.borrowed = watched, {}
        self.exact = exact                   # would somebody notice a Number?
        # are the numbers that Python asks tensors for taken as they come?
        self.items_vary = items_vary
        # tensors that stand for numbers; weak references to those; ids of the tensors whose value
        # Python went on from
        self.hidden, self.lent, self.pinned = [], [], set()
        self.nodes, self.values, self.ceiling = [], Values(), Ceiling()
        # how values lie, and in the memory of which others
        self.arrays, self.memory = self.values.arrays, self.values.memory
        # value number -> the tensor that was there before; what those held
        self.outside, self.originals = {}, Originals(self.arrays)
        self.made = {}                       # id of a tensor made inside -> a weak reference to it
        # id of an array that a tensor was made around -> (by what, at which line)
        self.foreign = {}
        self.texts, self.streams = Texts(), Streams()
        self.numpys, self.codes = Arrays(self), frozenset()  # NumPy arrays; the user's code
        # what counts the versions of tensors that the run made around arrays
        self.cells = []
        # the op that runs, its operands and attributes, until its results are noted
        self.running = None
        # objects of ours whose attributes were read, of those that the World does not watch
        self.settings = []
        # what was done outside of Python's state: see outside_calls.py
        self.acts = []
        self.outward = None                  # what does such things
        self.followed, self.follows = FollowedSizes(), False     # sizes that are told; are they?
        self.runner = None                   # the code that calls the function
        # why it is no recording; is that so at some calls only?
        self.reason, self.passing = None, False
        # where code is tried (control_flow.py): what stops it, and the first value that is its own
        self.trying, self.since = None, 0

    # ---- values ----------------------------------------------------------------------------------
    def value(self, t):
        """The number of a tensor's value."""
        a = t._array
        n = self.values.number(a)
        if n is None:
            before = self.reachable.get(id(a))
            if before is None and any(x is a or x is a.base for x in self.watched):
                before = t                   # made around an array that is compared at each call
                self.borrowed[id(t)] = t
            if before is None:
                raise Refused(Foreign(a.shape, self.foreign.get(id(a))))
            n = self.enter(a, before)
        if self.values.held is not None:
            self.values.held.append(a)
        return n

    def line_of(self, t):
        """The line that made a tensor."""
        n = self.values.number(t._array)
        return next((node.line for node in self.nodes if n in node.outs), "")

    def enter(self, a, tensor):
        """Number the array of a tensor from outside."""
        n = self.values.given(a)
        self.outside[n] = tensor
        self.originals.meet(n)
        return n

    def is_made(self, t):
        """Was this tensor made inside?"""
        there = self.made.get(id(t))
        return there is not None and there() is t

    def operands(self, inputs):
        return tuple([Ref(self.value(x)) if registry.is_tensor(x) else x for x in inputs])

    def depends_on_time(self):
        """The values that depend on what a clock said."""
        found, roots = set(), {}
        for n in self.nodes:
            if (n.kind == "op" and n.op.random
                    or any(x in found or self.memory.get(x, x) in roots for x in n.refs())):
                found.update(n.outs)
                if n.kind == "write":
                    roots[self.memory.get(n.ins[0], n.ins[0])] = True
                    found.update(k for k in range(len(self.arrays))
                                 if self.memory.get(k, k) in roots)
        return found

    def forget(self, values):
        """What was made inside of a node is unknown outside of it."""
        for n in values:
            self.values.forget(n)

    def own(self, n):
        """Does a value lie in memory that what is tried has made?"""
        for node in reversed(self.nodes):
            if n in node.outs and node.op.is_view:
                n = node.ins[0]
        return n >= self.since and n not in self.outside

    # ---- control flow ----------------------------------------------------------------------------
    def cond(self, pred, true_fn, false_fn, operands):
        from .control_flow import cond
        return cond(self, pred, true_fn, false_fn, operands)

    def while_loop(self, cond_fn, body_fn, carried):
        from .control_flow import while_loop
        return while_loop(self, cond_fn, body_fn, carried)

    @staticmethod
    def user():
        """The user's frame that runs now."""
        return user()

    def refuse(self, reason):
        """Stop recording; the run goes on as if nobody watched."""
        if self.trying is not None:
            self.trying(reason)
        if self.reason is None:
            self.reason = (Settings(reason) if type(reason) is str else Reason.of(reason)).at(
                where())
        state = modes.state
        if self in state.observers:
            state.observers = tuple(o for o in state.observers if o is not self)
            modes.refresh()

    # ---- what is observed ------------------------------------------------------------------------
    def __call__(self, op, inputs, attrs):
        # (else code of the user's may run)
        alone = op.ours and not modes.state.saved_hooks
        return (Watch.unwatched(self.run, op, inputs, attrs) if alone else self.run(
            op, inputs, attrs))

    def run(self, op, inputs, attrs):
        """Run an op as eager does, and note it."""
        if (op.name == "full" and type(attrs["value"]) in NUMBERS
                and attrs["dtype"] in FILLED[type(value_of(attrs["value"]))]):
            with modes.no_grad():
                x = tensor_behind(attrs["value"])
                if (attrs["dtype"] is not dtypes.float32 or type(value_of(attrs["value"])) is int
                        or self.ask(_modest, (x,))):
                    return x.to(attrs["dtype"]).expand(
                        attrs["size"]).clone(memory_format=contiguous_format)
        inputs, attrs = self.numbers(op, inputs), _plain(attrs)
        known, sizes = self.followed.arrive(attrs)
        try:
            ins = self.operands(inputs)
        except Refused as e:
            self.refuse(e.reason)
            return registry.apply(op, inputs, attrs)
        before, self.running = self.running, (op, ins, attrs)
        try:
            out = registry.execute(op, inputs, attrs)
        except BaseException:
            self.raised(op)
            raise
        finally:
            left, self.running = self.running, before
        if left:
            self.note(op, ins, known, out)
            self.followed.came(self.nodes, sizes)
        self.ceiling.look()
        return out

    def computed(self, outs):
        """What the op that runs has made, before hooks see it."""
        if self.running and modes.state.saved_hooks:
            (op, ins, attrs), self.running = self.running, None
            self.note(op, ins, attrs, outs)

    def raised(self, op):
        """An op raised an error: whether it does again may depend on the numbers."""
        if op.may_fail or not isinstance(sys.exc_info()[1], (*ERRORS, registry.Stopped)):
            self.refuse(Raises(f"{op.name} raised an error"))

    def note(self, op, ins, attrs, out, position=None):
        """An op made something; of a draw of random numbers `position` is where the generator
        was."""
        outs = []
        for t in out if type(out) is tuple else (out,):
            known = self.values.number(t._array)
            if known is not None and ins and known == ins[0] and type(out) is not tuple:
                # another tensor around the same array (detach)
                self.made[id(t)] = weakref.ref(t)
                return
            if known is not None:
                return self.refuse(f"{op.name} gave back one of its operands")
            self.made[id(t)] = weakref.ref(t)
            try:
                outs.append(self.values.made(t._array, [x for x in ins if type(x) is Ref]))
            except MemoryError as e:
                self.refuse(Large(str(e)))
                return
            if op.is_view:
                self.memory[outs[-1]] = self.memory.get(ins[0], ins[0])
                if op.reach and t._array.size and not self.values.inside(outs[-1]):
                    self.refuse(Memory(f"{op.name} shows memory outside of the tensor that the "
                                       "function was given"))
                    return
        self.followed.made(op, ins, outs)
        # a constant: as it is now, whatever is written to it later
        if "array" in attrs:
            attrs = {**attrs, "array": copied(attrs["array"])}
        self.nodes.append(
            OpNode(op, ins, attrs, outs, where()) if position is
            None else Draw(op, attrs, outs, where(), position))

    def draw(self, generator, op, shape):
        """Random numbers: drawn anew at each replay."""
        if self.trying is not None:
            self.trying("it draws random numbers")
        (shape,), sizes = self.followed.arrived(shape=_settled(tuple(shape)))
        stream = self.streams.drawn(generator, op.blocks(shape))
        seed, offset = generator.take(op.blocks(shape))
        out = registry.execute(op, (), dict(shape=shape, seed=seed, offset=offset))
        self.note(op, (), dict(shape=shape, generator=stream), out, (seed, offset))
        self.followed.came(self.nodes, sizes)
        return out

    def read(self, setting):
        """A setting of ours was asked for: a replay must find the same."""
        was = setting()
        self.acts.append(Call(_nothing, [], {}, len(self.nodes), lambda: setting() == was))

    def warns(self, message, category, stacklevel):
        """We warn: a replay does so again."""
        frame = sys._getframe(2)
        for _ in range(stacklevel - 1):
            frame = frame and frame.f_back
        if frame is None or frame.f_code is self.runner:
            self.refuse(Prints("whet warns of the line that calls the traced function"))
            return False
        self.outward.repeat(message, category, frame)
        return True

    def positioned(self, how, generator, given):
        """Random numbers are drawn from elsewhere."""
        if how == "asked" and not self.streams.positioned(how, generator, given):
            of = self.streams.at(generator).of
            self.read(lambda: of._seed)
            return True
        if self.trying is not None and how not in ("made", "copied", "told"):
            self.trying("it positions random numbers")
        return self.streams.positioned(how, generator, given)

    def inplace(self, op, t, args, attrs):
        args, attrs = self.numbers(op, (t, *args))[1:], self.followed.plain(self, _plain(attrs))
        made = self.trying is None and self.is_made(t) and t._base is None and self.values.number(t._array) is not None \
            and not _counted(t, self.outside)
        if made and op.is_view:
            ins = self.operands((t,))
            try:
                _reshape(op, t, attrs)
            except BaseException:
                self.raised(op)
                raise
            self.note(op, ins, attrs, t)
            return t
        # (`out=`: what it gets is new memory)
        if made and op.name == "resize" and not t._array.size:
            new = {"size": attrs["size"], "dtype": t.dtype}
            t._array = empty_op.forward(**new)
            t._bump("resize_")
            self.note(empty_op, (), new, t)
            return t
        if op.is_view or op.name == "resize":
            self.refuse(InPlaceShape(f"{op.name}_ changes a tensor's shape in place"))
            return _reshape(op, t, attrs) if op.is_view else t.resize_(attrs["size"])
        try:
            ins = self.operands((t, *args))
        except Refused as e:
            self.refuse(e.reason)
            return pointwise_family.inplace(op, t, args, attrs)
        if self.trying is not None and not self.own(ins[0]):
            self.trying("it writes to a tensor that was there before")
        if self.numpys.frozen(self.memory.get(ins[0], ins[0]), t._array):
            self.refuse(OfNumPy("it writes to a NumPy array of which others have seen the memory"))
        node, base = t._node, t if t._base is None else t._base
        if (modes.state.flags & modes.GRAD and not self.is_made(base)
                and any(registry.is_tensor(x) and x.requires_grad for x in (t, *args))):
            self.refuse(
                Memory("what carries gradients is written to a tensor that was there before"))
            return pointwise_family.inplace(op, t, args, attrs)
        if self.memory.get(ins[0], ins[0]) in self.outside:
            self.originals.write(t._array)
        try:
            pointwise_family.inplace_now(op, t, args, attrs, ip)
        except BaseException:
            self.raised(op)
            raise
        self.nodes.append(Write(op, ins, attrs, where(), t._cell))
        if t._node is not node and not self.is_made(t):
            self.refuse(Memory("a tensor that was there before got a history"))
        return t


def _nothing():
    pass


def _modest(a):
    return bool(abs(a.item()) <= 1e38)


def _plain(attrs):
    """Attributes without Numbers."""
    return {k: _settled(v) for k, v in attrs.items()} if attrs else attrs


def _settled(x):
    if type(x) in NUMBERS:
        return plain(x)
    if type(x) in (tuple, list) and any(type(y) in NUMBERS or type(y) in (tuple, list) for y in x):
        return type(x)([_settled(y) for y in x])
    return x


def counters(t):
    """The cell that counts a tensor's versions, that of its `.data`, that of the `.data` of
    this, and so on: those that there are."""
    cell = t._cell
    while cell is not None:
        yield cell
        cell = cell.aside


def _counted(t, outside):
    """Are a tensor's versions counted with those of one from outside (it is `x.detach()`, or
    `.data`)?"""
    return t._cell is not None and any(c is t._cell for x in outside.values() for c in counters(x))


def _reshape(op, t, attrs):
    from whet.ops.view import reshape_now
    return reshape_now(op, t, attrs)


def escaped(refs, held):
    """One of the tensors that somebody still holds, of weak references to some. `held`: by id,
    how often graphs and gradients hold some."""
    t = object()
    alone = sys.getrefcount(t)
    for ref in refs:
        t = ref()
        n = held.get(id(t), 0)
        if t is not None and (not n or sys.getrefcount(t) != alone + n):
            return t
    return None
