"""Runs a random function, eagerly or traced, and compares what the two ways show."""
import contextlib
import copy
import dataclasses
import functools
import json
import random

from tests import fuzz
from tests.fuzz_text import Several, source


# ---- running them --------------------------------------------------------------------------------
@functools.lru_cache(4)
def _compiled(text, path):
    return compile(text, path, "exec")


class Side:
    """One of the two ways to run a program, with its own module, tensors and state."""

    def __init__(self, p):
        import whet
        self.whet, self.p = whet, p
        self.q = copy.deepcopy({k: p[k] for k in ("sizes", "inputs", "captured")})
        self.space = {"__name__": f"program_{p['seed']}", "Several": Several}
        exec(_compiled(source(p), f"/tmp/whet_fuzz/program_{p['seed']}.py"), self.space)
        self.f = self.space["f"]
        self.captured, self.last = {}, None
        for name, d in p["captured"].items():
            self.put(name, self.make(d, 0))
        for name, n in p["numbers"].items():
            self.put(name, n)

    def make(self, d, i):
        d = {k: v for k, v in d.items() if k not in ("inner", "number", "alias")}
        shape = [self.q["sizes"][k] if isinstance(k, str) else k for k in d["shape"]]
        return fuzz._make(self.whet,
                          **{**d, "shape": shape,
                             "seed": d["seed"] + (0 if self.p["steady"] else 1000 * i)})

    def put(self, name, x):
        """Bind a captured name."""
        self.captured[name] = x
        text = self.p["names"][name]
        cells = dict(zip(self.f.__code__.co_freevars, self.f.__closure__ or ()))
        if text != name:
            exec(f"{text} = put",
                 {"box": self.space["box"], "table": self.space["table"], "put": x})
        elif name in cells:
            cells[name].cell_contents = x
        self.space[name] = x

    def arguments(self, i, call):
        """Arguments of call i, and the leaves of theirs through which gradients come."""
        if ["again"] in call.get("changes", []) and self.last is not None:
            return self.last
        args, leaves, named = [], [], {"w0": self.captured["w0"]}
        for k, d in enumerate(self.q["inputs"]):
            if "alias" in d:
                try:
                    t = eval(d["alias"].format(x0="x0", w0="w0"), dict(named))
                except Exception:
                    t = named["x0"]
            elif "shape" not in d:
                t = d["number"]
            else:
                t = self.make(d, i)
                leaves.append(t)
                if d["inner"]:
                    t = t * 1
            named[f"x{k}"] = t
            args.append(t)
        self.last = args, leaves
        return self.last

    def change(self, call, i):
        """What happens between calls."""
        whet = self.whet
        before = copy.deepcopy(self.q)
        for what, *rest in call["changes"]:
            if what == "sizes":
                self.q["sizes"] = rest[0]
            elif what == "input":
                k, key, value = rest
                if key in self.q["inputs"][k]:
                    self.q["inputs"][k][key] = value
            elif what == "number":
                self.put(*rest)
            elif what == "tensor":
                self.put(rest[0], self.make({**self.q["captured"][rest[0]], "seed": i}, 0))
            elif what in ("write", "zero", "freeze"):
                t = self.captured[rest[0]]
                if what == "zero":
                    t.grad = None
                elif what == "write":
                    with whet.no_grad():
                        t.copy_(t.clone() * 2)
                elif t.is_leaf and (t.is_floating_point() or t.is_complex()):
                    t.requires_grad_(not t.requires_grad)
            elif what == "hook":
                t = self.captured[rest[0]]
                if t.requires_grad:
                    t.register_hook(lambda g: g * 2)
            else:
                self.disturb(what, *rest)
        return before

    def disturb(self, what, value=None):
        """A change to what is around the function; of what is not there, none."""
        whet, space = self.whet, self.space
        models = [space[k] for k in ("net", "deep") if k in space]
        if what == "seed":
            whet.manual_seed(value)
        elif what == "default":
            whet.set_default_dtype(getattr(whet, value))
        elif what == "threads":
            whet.set_num_threads(value)
        elif what == "total":
            space["box"].total = value
        elif what == "array" and "arr" in space:
            space["arr"] += 1
        elif what == "clear":
            for k in ("rows", "log", "ring", "names", "seen"):
                space.get(k, []).clear()
        for m in models:
            if what == "mode":
                m.train(value)
            elif what == "drop":
                m.drop.p = value
            elif what == "reload":
                m.load_state_dict({k: t * 0.5 if t.is_floating_point() else t
                                   for k, t in m.state_dict().items()})
        if what == "rate":
            for k in ("step", "adam", "rms"):
                if k in space:
                    space[k].param_groups[0]["lr"] = value
        elif what == "parameter" and "net" in space:
            space["net"].scale = whet.nn.Parameter(whet.tensor([2.0, 0.25]))

    def state(self):
        """What is around the function, as it is now."""
        space, out = self.space, [_seen(vars(self.space["box"])), _seen(self.space["table"])]
        for m in [space[k] for k in ("net", "deep") if k in space]:
            out.append([_seen(list(m.state_dict().values())),
                        [_bits(t.grad) for t in m.parameters()], m.training,
                        getattr(m, "calls", 0)])
        for k in ("step", "adam", "rms"):
            if k in space:
                out.append([[[name, _bits(t) if hasattr(t, "_array") else t]
                             for s in space[k].state.values() for name, t in s.items()],
                            [g["lr"] for g in space[k].param_groups]])
        holders = {"rows": list, "log": dict, "ring": list, "names": sorted, "seen": list,
                   "held": vars, "gen": lambda g: g._offset}
        return out + [_seen(what(space[k])) for k, what in holders.items() if k in space]

    def run(self, traced=None):
        """What each call came to; `traced` makes the function traced."""
        whet, p = self.whet, self.p
        seen, held, waiting = [], [], []
        f = traced(self.f) if traced else self.f
        if traced and "inner" in self.space:
            self.space["inner"] = traced(self.space["inner"])
        whet.manual_seed(p["seed"])
        for i, call in enumerate(p["calls"]):
            note = {}
            seen.append(note)
            try:
                before = self.change(call, i)
                args, leaves = self.arguments(i, call)
            except Exception as e:
                note["before"] = said(e)
                continue
            if call["once"]:
                self.q = before
            leaves = ([t for t in leaves if t.requires_grad]
                      + [t for t in self.captured.values() if getattr(t, "requires_grad", False)])
            out = None
            try:
                with whet.set_grad_enabled(["no_grad"] not in call["changes"]):
                    out = self.call(f, args)
                note["result"] = _seen(out)
                if p["look"]:
                    note["history"] = [_history(t) for t in _tensors(out, [])]
            except Exception as e:
                note["result"] = said(e)
            note["effects"] = [_seen(args), _seen(leaves), _seen(list(self.captured.values())),
                               [_bits(t.grad) for t in leaves], self.state()]
            note["modes"] = whet.is_grad_enabled(), whet.random.default_generator._offset
            results = []
            _tensors(out, results)
            waiting.append((call["after"], results, args, leaves))
            if not call["after"].get("late") or i == len(p["calls"]) - 1:
                for w in waiting:
                    note.setdefault("gradients", []).append(self.after(*w))
                waiting = []
            note["effects after"] = [_seen(args), _seen(out), _seen(list(self.captured.values())),
                                     self.state()]
            if p["keep"]:
                held.append((args, out))
            del out, results, args
        seen.append({"in the end": [_seen(x) for x in held]})
        return seen

    def call(self, f, args):
        """Call the function with its arguments as it takes them."""
        named, pack = {f"x{k}": x for k, x in enumerate(args)}, self.p["pack"]
        if pack == "keywords":
            return f(**named)
        return (f(*args) if pack is None
                else f(list(args) if pack == "list" else named if pack == "dict"
                       else self.space["Several"](**named)))

    def after(self, after, results, args, leaves):
        """Gradients through the results, and writes to them."""
        whet, note = self.whet, []
        alive = [t for t in results if t.requires_grad]
        alive = [t for t, take in zip(alive, after.get("take", [])) if take]
        try:
            if after.get("spoil"):
                with whet.no_grad():
                    next(t for t in args if hasattr(t, "shape")).add_(1)
            if alive:
                Gradients(whet, alive, leaves, after.get("loss"), note).take(after["how"])
        except Exception as e:
            note.append(said(e))
        note.append([_bits(t.grad) for t in leaves])
        if "poke" in after and results:
            try:
                with whet.no_grad():
                    results[after["poke"] % len(results)].add_(1)
            except Exception as e:
                note.append(said(e))
        return note


class Gradients:
    """Gradients of the sum of some results, taken in a way that a program names: a method each.
    What they come to is noted, beside what they leave in the leaves."""

    def __init__(self, whet, alive, leaves, loss, note):
        self.whet, self.alive, self.leaves, self.note = whet, alive, leaves, note
        self.sums = [(self.lost(t, loss).sum() * (k + 1)).double() for k, t in enumerate(alive)]
        self.total = sum(self.sums)

    def lost(self, t, loss):
        """What is summed of a result."""
        t = _real(t)
        return t * t if loss == "square" else t[..., :1] if loss == "slice" and t.ndim else t

    def take(self, how):
        getattr(self, how)()

    def grad(self, create_graph=False):
        """The gradients of the leaves, noted and differentiated again where that is wanted."""
        if not self.leaves:
            return
        gs = self.of(self.total, self.leaves, create_graph=create_graph)
        self.note.append([_bits(g) for g in gs])
        gs = [_real(g) for g in gs if g is not None and g.requires_grad]
        if gs:
            sum((g * g).sum().double() for g in gs).backward()

    def double(self):
        self.grad(create_graph=True)

    def of(self, total, inputs, **more):
        return self.whet.autograd.grad(total, inputs, allow_unused=True, **more)

    def backward(self):
        self.total.backward()

    def twice(self):
        self.total.backward(retain_graph=True)
        self.sums[0].backward()

    def parts(self):
        for s in self.sums:
            s.backward(retain_graph=True)

    def free(self):
        """Each frees its part of the graph."""
        for s in [*self.sums, *self.sums]:
            try:
                s.backward()
            except RuntimeError as e:
                self.note.append(said(e))

    def some(self):
        for t in self.leaves:
            try:
                self.note.append([_bits(g) for g in self.of(self.total, t)])
            except RuntimeError as e:
                self.note.append(said(e))

    def penalty(self):
        gs = self.of(self.total, self.leaves, create_graph=True)
        gs = [g for g in gs if g is not None]
        (self.total + sum(_real(g).square().sum().double() for g in gs)).backward()

    def hooks(self):
        for t in self.alive:
            t.retain_grad()
            t.register_hook(lambda g: self.note.append(_bits(g)))
        self.total.backward()
        self.note.append([_bits(t.grad) for t in self.alive])

    def inner(self):
        self.note.append([_bits(g) for g in self.of(self.total, self.alive + self.leaves)])

    def write(self):
        self.alive[0].mul_(2)
        (self.total + _real(self.alive[-1]).sum()).backward()

    def wide(self):
        for t in self.alive:
            dtype = self.whet.complex128 if t.is_complex() else self.whet.float64
            t.backward(self.whet.full(t.shape, 1.1, dtype=dtype), retain_graph=True)

    def third(self):
        g = self.total
        for _ in range(3):
            gs = self.of(g, self.leaves, create_graph=True)
            g = _real([g for g in gs if g is not None][0]).sum().double()
            self.note.append(_bits(g))


def _real(t):
    """A tensor, or the real part of a complex one."""
    return t.real if t.is_complex() else t


def _tensors(x, into):
    """Add the tensors in a result to a list."""
    if isinstance(x, list | tuple):
        for y in x:
            _tensors(y, into)
    elif isinstance(x, dict):
        _tensors(list(x.values()), into)
    elif dataclasses.is_dataclass(x):
        _tensors(list(vars(x).values()), into)
    elif hasattr(x, "_array") and not any(x is t for t in into):
        into.append(x)
    return into


def _history(t):
    """The graph that made a tensor, two nodes deep."""
    def names(n, depth):
        return n and [n.name(), *(names(m, depth - 1) for m, _ in n.next_functions if depth)]
    return names(t.grad_fn, 2), t.output_nr, t._base is not None


def _seen(x):
    if isinstance(x, dict):
        return [[k, _seen(v)] for k, v in x.items()]
    if isinstance(x, list | tuple):
        return [type(x).__name__, *[_seen(v) for v in x]]
    if dataclasses.is_dataclass(x):
        return _seen(vars(x))
    return (fuzz.describe(x, False)[:7] + [str(x.detach()._array.reshape(-1)[:6].tolist())]
            if hasattr(x, "_array") else repr(x))


def _bits(g):
    """A gradient, but for how it lies in memory (eager may hand out an expanded one), and how often
    it was added to."""
    return None if g is None else [part for k, part in enumerate(_seen(g)) if k not in (2, 6)]


def said(e):
    return f"{type(e).__name__}: {e}"[:300]


@contextlib.contextmanager
def interpreted():
    """Programs that are called inside do what `ir.interpret` says that their recorded graph
    means."""
    from whet.ir.graph import Graph, Input
    from whet.ir.interpret import interpret
    from whet.jit.program.program import Program
    from whet.jit.refusals.replay_miss import Miss
    from whet.jit.tables import native_table
    from whet.random_position import Position

    def run(self, given, spent=()):
        wanted = [*self.results, *self.counted]
        g = Graph.of(self.recorded, self.arrays, [Input(n, "") for n in self.outside],
                     [(n, "") for n in wanted])
        draws = [n for n in self.recorded if n.kind == "draw"]
        streams = {id(n.attrs["generator"]): n.attrs["generator"] for n in draws}.values()
        streams = [s.now() if type(s) is Position else (s._seed, s._offset) for s in streams]
        ends = [(s, p.now()) for s, p in (self.draws.ends if self.draws else ())]
        before = [a.copy() for a in given]
        try:
            made = dict(zip(self.outside, given))
            made |= zip(wanted, interpret(g, *given, streams=streams))
        except Exception as e:               # as programs do: eager will raise it
            for a, b in zip(given, before):
                if a.flags.writeable:
                    a[...] = b
            raise Miss(str(e)) from None
        for n in draws:
            if type(n.attrs["generator"]) is not Position:
                n.attrs["generator"].take(n.op.blocks(n.attrs["shape"]))
        for s, end in ends:
            s._seed, s._offset = end
        return made
    kept = Program.__call__, native_table.table
    Program.__call__, native_table.table = run, lambda *given: None
    try:
        yield
    finally:
        Program.__call__, native_table.table = kept


@contextlib.contextmanager
def given_up(seed):
    """Runs that are recorded stop being so at some operation."""
    from whet.jit.program import value_layouts
    kept, value_layouts.MOST = (value_layouts.MOST,
                                random.Random(seed).choice([0, 0, 8, 30, 100, 400, 2000]))
    try:
        yield
    finally:
        value_layouts.MOST = kept


def run(p, traced=None):
    """A program's run, in settings that it may change."""
    import whet
    threads = whet.get_num_threads()
    try:
        return Side(p).run(traced)
    finally:
        whet.set_default_dtype(whet.float32)
        whet.set_num_threads(threads)


def compare(p, form, counts):
    """Where eager and traced differ, in words; None where they agree. New kernels have the form
    that is given; eager has full ones, where the traced function comes first."""
    import whet
    from whet.cpu import tiered_compilation
    from whet.passes.pipeline import names, without
    turn, odd = divmod(p["seed"], 2)
    left_out = names()[turn % len(names())]
    other = (("given up", given_up(turn)) if turn % 5 == 4 else ("interpreted", interpreted())
             if odd else (f"without {left_out}", without(left_out)))
    why, made, early = None, [], None

    def traced(f):
        made.append(whet.jit.trace(f, verify=p["verify"]))
        return made[-1]
    if form.traced_first:
        with form.new_kernels():
            early = run(p, traced)
        tiered_compilation.compile_well()
    want = run(p)
    for name, way in (("", contextlib.nullcontext()), other):
        first = 0 if early else len(made)
        with way, form.new_kernels():
            why = difference(want, early or run(p, traced))
        early = None
        # these programs go by nothing that a trace cannot see
        why = why or made[first]._drift
        if why is None and "please report" in str(made[first]._why):
            why = made[first]._why
        if why and difference(want, run(p)):
            why = None                       # eager differs from itself
        facts = made[0].explain(data=True)
        if why:
            why = f"{name} {why}".strip()
        if why or not facts["paths"]:        # without a recording it runs eagerly
            break
    counts["compiled"] += bool(facts["paths"])
    counts["replayed"] += any(q["calls"] for q in facts["paths"])
    return why


def difference(want, got):
    """The first place where two runs differ, in words."""
    for i, (a, b) in enumerate(zip(want, got)):
        for what in dict(a, **b):
            x, y = a.get(what), b.get(what)
            if json.dumps(x) != json.dumps(y):
                return f"call {i}, {what}:\n    eager  {_narrow(x, y)}\n    traced {_narrow(y, x)}"


def _narrow(x, y):
    """The part of x that is not as in y."""
    while isinstance(x, list) and isinstance(y, list) and len(x) == len(y):
        parts = [k for k, (u, v) in enumerate(zip(x, y)) if u != v]
        if len(parts) != 1 or not isinstance(x[parts[0]], list):
            break
        x, y = x[parts[0]], y[parts[0]]
    return str(x)[:500]
