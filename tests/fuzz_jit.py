"""Random functions, called eagerly and traced: every call must come to the same, to the bit. A trace is replayed by its compiled program, and
in turn by one that lacks one of the passes, or by what the interpreter says that the recorded graph means; or recording is given up halfway.

    python -m tests.fuzz_jit --seconds 60 --seed 1

A program is plain data: what the arguments and the captured things are, the lines of a function (made of the steps of tests/fuzz.py and of
the `TEXTS` below, each tried while the function is made, so that most functions run), and what is done between its calls: other data,
shapes, dtypes and captured values, gradients taken through the results, writes to them. It becomes Python source that runs twice, eagerly
and traced, and all that can be seen after each call is compared. A wrong program is made as short as possible and printed.
"""
import argparse
import collections
import contextlib
import copy
import dataclasses
import faulthandler
import functools
import json
import os
import random
import re
import sys
import time
import warnings
from concurrent import futures

import numpy as np

from tests import fuzz, sweep_kernels
from tests.fuzz_parts import HEAD, PARTS, TEXTS

HOWS = ["backward", "backward", "backward", "grad", "twice", "double", "parts", "free", "some", "penalty", "hooks", "inner", "write", "wide", "third"]
SIZES = [1, 2, 2, 3, 3, 4, 4, 5, 8, 17]
CAPTURED = {"w0": ["w0", "box.w0", "table['w0']", "w0"], "w1": ["w1", "box.w1", "table['w1']", "w1"]}


@dataclasses.dataclass
class Several:
    x0: object = None
    x1: object = None
    x2: object = None
    x3: object = None
    x4: object = None
    r0: object = None
    r1: object = None
    r2: object = None
    r3: object = None
    r4: object = None
    r5: object = None
    r6: object = None


# ---- programs -----------------------------------------------------------------------------------------------------------
def program(seed, length=8):
    """What to run, as plain data."""
    r = random.Random(seed)
    base = r.choice([["a"], ["a", "b"], ["a", "b"], ["a", "a"], ["a", "b", "c"], []])
    sizes = {k: r.choice(SIZES) for k in "abc"}
    if r.random() < 0.08:
        sizes[r.choice("ab")] = r.choice([0, 64, 130])
    if base == ["a"] and r.random() < 0.1:
        sizes["a"] = 20000
    main = r.choice(fuzz.FLOATS) if r.random() < 0.25 else r.choice(fuzz.FLOATS[:2])

    def tensor(captured=False):
        shape = r.choice([base, base, base, base, base[1:], [1, *base[1:]][:len(base)], base[::-1], []])
        dtype = main if r.random() < 0.7 else r.choice(fuzz.FLOATS + ["int64", "bool", "complex64"])
        return dict(dtype=dtype, shape=shape, layout=r.choice(["plain"] * 4 + fuzz.LAYOUTS), seed=r.randrange(1000), grad=r.random() < 0.4,
                    special=r.random() < 0.1, inner=not captured and r.random() < 0.1)
    inputs = [tensor() for _ in range(r.randint(1, 3))]
    if r.random() < 0.12:
        inputs.append({"alias": r.choice(["{x0}", "{x0}[:1]", "{x0}.mT", "{x0}.detach()", "{x0}.reshape(-1)", "{w0}", "{x0}[..., ::2]"])})
    if r.random() < 0.3:
        inputs.append({"number": r.choice(fuzz.NUMBERS)})
    p = dict(seed=seed, verify=["off", "first", "always"][seed % 3], sizes=sizes, inputs=inputs, steps=[], returns=[],
             captured={k: tensor(True) for k in ("w0", "w1")}, numbers={"k0": r.choice([0.5, 2, 1, -1.5]), "k1": r.choice([3, 1.0, 0])},
             names={k: r.choice(texts) for k, texts in CAPTURED.items()} | {k: r.choice([k, f"box.{k}", f"table['{k}']"]) for k in ("k0", "k1")},
             closure=r.random() < 0.3, look=r.random() < 0.3, pack=r.choice([None] * 6 + ["list", "dict", "data",
             "keywords"]), steady=r.random() < 0.3, keep=r.random() < 0.7,
             form=r.choice(["tuple", "tuple", "list", "dict", "nested", "data"]))
    _fill(r, p, length)
    p["calls"] = [_call(r, p, i) for i in range(5)]
    r = random.Random(f"kernels of {seed}")                  # (of its own, so that programs are what they were)
    p["kernels"] = dict(way=r.random(), threads=r.choice([1, 1, 2, 3, 4]), form=r.choice(["usual", "brief", "brief", "full"]), first=r.random() < 0.6)
    return p


def _fill(r, p, length):
    """Steps, tried as they are made."""
    side = Side(p)
    args = side.arguments(0, {})[0]
    space = dict(side.space, **{f"x{i}": a for i, a in enumerate(args)})
    names = [f"x{i}" for i in range(len(args))]

    def tensors():
        return [n for n in names if hasattr(space[n.split("[")[0]], "shape") or "[" in n]

    def operand():
        u = r.random()
        if u < 0.12:
            return p["names"][r.choice(["w0", "w1"])]
        held = tensors() or ["x0"]
        return r.choice(held[-3:]) if u < 0.6 else r.choice(held)

    def number():
        u = r.random()
        if u < 0.2:
            return p["names"][r.choice(["k0", "k1"])]
        if u < 0.3:
            mine = [n for n in names if "[" not in n and isinstance(space[n], int | float)]
            if mine:
                return r.choice(mine)
        return _literal(r.choice(fuzz.NUMBERS))

    import whet
    tries = 0
    while len(p["steps"]) < length and tries < 12 * length:
        tries += 1
        if r.random() < 0.6:
            what, operands, d = fuzz._step(r)
            if what in ("leaf", "backward", "mode") or what in fuzz.INPLACE and r.random() < 0.5:
                continue
            if what in fuzz.PRODUCTS:
                operands = operands[:2]
            ops = {k: number() if isinstance(o, dict) else operand() for k, o in zip("xyz", operands)}
            text = fuzz.expression(whet, what, [f"{{{k}}}" for k in ops], d)
        else:
            weights, texts = zip(*[(t[0], t[1:]) for t in TEXTS.values()])
            text = r.choice(r.choices(texts, weights)[0])
            ops = {k: operand() for k in "xyz"} | {"n": number(), "i": str(r.randrange(-1, 2))}
            ops = {k: t for k, t in ops.items() if "{" + k + "}" in text}
        step = dict(text=text, ops=ops, out=f"v{len(p['steps'])}", mode=r.choices([None, "no_grad", "enable_grad"], [30, 2, 1])[0])
        if re.search(r"^\{x\} .=", text) and not re.fullmatch(r"[xv]\d+", ops["x"]):
            continue
        out, before = step["out"], dict(space)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                exec("\n".join(lines(step)), space)
        except Exception as e:
            space.clear(), space.update(before)
            if r.random() < 0.01 and not isinstance(e, SyntaxError):
                p["steps"].append(step)
            continue
        v = space.get(out)
        if hasattr(v, "numel") and v.numel() > 40000 or isinstance(v, int) and abs(v) > 1e6:
            continue
        p["steps"].append(step)
        if isinstance(v, tuple | list) and v and all(hasattr(t, "shape") for t in v):
            names += [f"{out}[{k}]" for k in range(min(3, len(v)))]
        elif hasattr(v, "shape") or isinstance(v, int | float):
            names.append(out)
    own = [n for n in names if n[0] == "v"] or names
    p["returns"] = [r.choice(own[-3:])] + [r.choice(names) for _ in range(r.choice([0, 1, 1, 2, 3]))]
    if r.random() < 0.3:
        p["returns"].append(f"{r.choice(tensors() or ['x0'])}{r.choice(['.shape', '[:1]', '.detach()', '.dtype', '.t()'])}")
    if r.random() < 0.1:
        p["returns"].append(r.choice(list(p["names"].values())))


def _literal(n):
    return f"math.{n}" if n != n or abs(n) == float("inf") else f"({n!r})" if n < 0 or str(n)[0] == "-" else repr(n)


def _call(r, p, i):
    """What happens before a call, and after it."""
    changes = []
    while i > 1 and r.random() < 0.35:
        which = r.randrange(len(p["inputs"]))
        changes.append(r.choice([
            ["sizes", {k: r.choice(SIZES) for k in "abc"}], ["input", which, "dtype", r.choice(fuzz.FLOATS + ["int64"])],
            ["input", which, "layout", r.choice(fuzz.LAYOUTS)], ["input", which, "grad", r.random() < 0.5],
            ["number", "k0", r.choice([0.5, 2, -1.0])], ["number", "k1", r.choice([0, 2, -1.0])], ["input", which, "number", r.choice(fuzz.NUMBERS)],
            ["tensor", r.choice(["w0", "w1"])],
            ["write", r.choice(["w0", "w1"])], ["zero", r.choice(["w0", "w1"])], ["no_grad"], ["again"], ["freeze", r.choice(["w0", "w1"])],
            ["input", which, "special", True], ["mode", r.random() < 0.5], ["rate", r.choice([0.1, 0.2])], ["hook", r.choice(["w0", "w1"])],
            ["array"], ["parameter"], ["reload"], ["clear"], ["seed", r.randrange(3)], ["default", r.choice(["float64", "float32"])],
            ["threads", r.choice([1, 2, 3])], ["drop", r.choice([0.0, 0.25])], ["total", r.choice([0.0, 1.5, 2])]]))
    after = {}
    if r.random() < 0.6:
        after = dict(take=[r.random() < 0.6 for _ in range(6)], how=r.choice(HOWS),
                     loss=r.choice(["sum", "square", "slice"]), late=r.random() < 0.15, spoil=r.random() < 0.08)
    if r.random() < 0.2:
        after["poke"] = r.randrange(6)
    return dict(changes=changes, once=r.random() < 0.6, after=after)


def lines(step):
    """A step as lines of source."""
    text = step["text"].format(**step["ops"], v=step["out"])
    block = "{v}" in step["text"] or "\n" in step["text"] or re.match(r"(if|for|with|assert|\S+ .?=|.*\] = |.*grad = |box\.)", step["text"])
    out = text.split("\n") if block else [f"{step['out']} = {text}"]
    return [f"with whet.{step['mode']}():", *["    " + line for line in out]] if step["mode"] else out


def source(p):
    """The program's module."""
    body = [line for s in p["steps"] for line in lines(s)]
    xs, rs = [f"x{i}" for i in range(len(p["inputs"]))], ", ".join(p["returns"])
    taken = {"list": [f"{', '.join(xs)}, = pack"], "dict": [f"{x} = pack['{x}']" for x in xs], "data": [f"{x} = pack.{x}" for x in xs]}
    head = "pack" if p["pack"] in taken else "*, " * (p["pack"] == "keywords") + ", ".join(xs)
    body = taken.get(p["pack"], []) + body
    back = {"tuple": f"{rs}," if rs else "()", "list": f"[{rs}]", "nested": f"[({rs},), {p['returns'][0]}]" if rs else "[]",
            "dict": "{" + ", ".join(f"'r{i}': {t}" for i, t in enumerate(p["returns"])) + "}",
            "data": f"Several({', '.join(f'r{i}={t}' for i, t in enumerate(p['returns']))})"}[p["form"]]
    f = [f"def f({head}):", *["    " + line for line in body], f"    return {back}"]
    free = [n for n in (*p["captured"], *p["numbers"]) if p["names"][n] == n] if p["closure"] else []
    if free:
        f = [f"def outer({', '.join(f'{n}=None' for n in free)}):", *["    " + line for line in f], "    return f", "", "", "f = outer()"]
    named = set(re.findall(r"(?<![.\w])[a-zA-Z]\w*", "\n".join(f))) if p["steps"] else {name for names in PARTS for name in names.split()}
    parts = [text for names, text in PARTS.items() if not named.isdisjoint(names.split())]
    return "\n\n".join([HEAD, *parts, "\n".join(f) + "\n"])


# ---- running them -------------------------------------------------------------------------------------------------------
@functools.lru_cache(4)
def _compiled(text, path):
    return compile(text, path, "exec")


class Side:
    """One of the two ways to run a program, with its own module, tensors and state."""

    def __init__(self, p):
        import whet
        self.whet, self.p, self.q = whet, p, copy.deepcopy({k: p[k] for k in ("sizes", "inputs", "captured")})
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
        return fuzz._make(self.whet, **{**d, "shape": shape, "seed": d["seed"] + (0 if self.p["steady"] else 1000 * i)})

    def put(self, name, x):
        """Bind a captured name."""
        self.captured[name] = x
        text = self.p["names"][name]
        cells = dict(zip(self.f.__code__.co_freevars, self.f.__closure__ or ()))
        if text != name:
            exec(f"{text} = put", {"box": self.space["box"], "table": self.space["table"], "put": x})
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
                m.load_state_dict({k: t * 0.5 if t.is_floating_point() else t for k, t in m.state_dict().items()})
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
            out.append([_seen(list(m.state_dict().values())), [_bits(t.grad) for t in m.parameters()], m.training, getattr(m, "calls", 0)])
        for k in ("step", "adam", "rms"):
            if k in space:
                out.append([[[name, _bits(t) if hasattr(t, "_array") else t] for s in space[k].state.values() for name, t in s.items()],
                            [g["lr"] for g in space[k].param_groups]])
        holders = {"rows": list, "log": dict, "ring": list, "names": sorted, "seen": list, "held": vars, "gen": lambda g: g._offset}
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
                note["before"] = _said(e)
                continue
            if call["once"]:
                self.q = before
            leaves = [t for t in leaves if t.requires_grad] + [t for t in self.captured.values() if getattr(t, "requires_grad", False)]
            out = None
            try:
                with whet.set_grad_enabled(["no_grad"] not in call["changes"]):
                    out = self.call(f, args)
                note["result"] = _seen(out)
                if p["look"]:
                    note["history"] = [_history(t) for t in _tensors(out, [])]
            except Exception as e:
                note["result"] = _said(e)
            note["effects"] = [_seen(args), _seen(leaves), _seen(list(self.captured.values())), [_bits(t.grad) for t in leaves], self.state()]
            note["modes"] = whet.is_grad_enabled(), whet.random.default_generator._offset
            results = []
            _tensors(out, results)
            waiting.append((call["after"], results, args, leaves))
            if not call["after"].get("late") or i == len(p["calls"]) - 1:
                for w in waiting:
                    note.setdefault("gradients", []).append(self.after(*w))
                waiting = []
            note["effects after"] = [_seen(args), _seen(out), _seen(list(self.captured.values())), self.state()]
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
        return f(*args) if pack is None else f(list(args) if pack == "list" else named if pack == "dict" else self.space["Several"](**named))

    def after(self, after, results, args, leaves):
        """Gradients through the results, and writes to them."""
        whet, note = self.whet, []
        loss, alive = after.get("loss"), [t for t in results if t.requires_grad]
        alive = [t for t, take in zip(alive, after.get("take", [])) if take]
        try:
            if after.get("spoil"):
                with whet.no_grad():
                    next(t for t in args if hasattr(t, "shape")).add_(1)
            sums = []
            for k, t in enumerate(alive):
                t = t.real if t.is_complex() else t
                t = t * t if loss == "square" else t[..., :1] if loss == "slice" and t.ndim else t
                sums.append((t.sum() * (k + 1)).double())
            if sums:
                total, how = sum(sums), after["how"]
                if how == "parts":
                    for s in sums:
                        s.backward(retain_graph=True)
                elif how == "free":          # each frees its part of the graph
                    for s in [*sums, *sums]:
                        try:
                            s.backward()
                        except RuntimeError as e:
                            note.append(_said(e))
                elif how == "some":
                    for t in leaves:
                        try:
                            note.append([_bits(g) for g in whet.autograd.grad(total, t, allow_unused=True)])
                        except RuntimeError as e:
                            note.append(_said(e))
                elif how == "penalty":
                    gs = [g for g in whet.autograd.grad(total, leaves, allow_unused=True, create_graph=True) if g is not None]
                    (total + sum((g.real if g.is_complex() else g).square().sum().double() for g in gs)).backward()
                elif how == "hooks":
                    for t in alive:
                        t.retain_grad()
                        t.register_hook(lambda g: note.append(_bits(g)))
                    total.backward()
                    note.append([_bits(t.grad) for t in alive])
                elif how == "inner":
                    note.append([_bits(g) for g in whet.autograd.grad(total, alive + leaves, allow_unused=True)])
                elif how == "write":
                    alive[0].mul_(2)
                    (total + (alive[-1].real if alive[-1].is_complex() else alive[-1]).sum()).backward()
                elif how == "wide":
                    for t in alive:
                        t.backward(whet.full(t.shape, 1.1, dtype=whet.complex128 if t.is_complex() else whet.float64), retain_graph=True)
                elif how == "third":
                    g = total
                    for _ in range(3):
                        g = [g for g in whet.autograd.grad(g, leaves, allow_unused=True, create_graph=True) if g is not None][0]
                        g = (g.real if g.is_complex() else g).sum().double()
                        note.append(_bits(g))
                elif how == "twice":
                    total.backward(retain_graph=True)
                    sums[0].backward()
                elif how == "backward":
                    total.backward()
                elif leaves:
                    gs = whet.autograd.grad(total, leaves, allow_unused=True, create_graph=how == "double")
                    note.append([_bits(g) for g in gs])
                    gs = [(g.real if g.is_complex() else g) for g in gs if g is not None and g.requires_grad]
                    if gs:
                        sum((g * g).sum().double() for g in gs).backward()
        except Exception as e:
            note.append(_said(e))
        note.append([_bits(t.grad) for t in leaves])
        if "poke" in after and results:
            try:
                with whet.no_grad():
                    results[after["poke"] % len(results)].add_(1)
            except Exception as e:
                note.append(_said(e))
        return note


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
    return fuzz.describe(x, False)[:7] + [str(x.detach()._array.reshape(-1)[:6].tolist())] if hasattr(x, "_array") else repr(x)


def _bits(g):
    """A gradient, but for how it lies in memory (eager may hand out an expanded one), and how often it was added to."""
    return None if g is None else [part for k, part in enumerate(_seen(g)) if k not in (2, 6)]


def _said(e):
    return f"{type(e).__name__}: {e}"[:300]


@contextlib.contextmanager
def interpreted():
    """Programs that are called inside do what `ir.interpret` says that their recorded graph means."""
    from whet.ir.graph import Graph, Input
    from whet.ir.interpret import interpret
    from whet.jit.guards import native_table
    from whet.jit.program import program
    from whet.random import Position

    def run(self, given):
        g = Graph.of(self.recorded, self.arrays, [Input(n, "") for n in self.outside], [(n, "") for n in self.results])
        draws = [n for n in self.recorded if n.kind == "draw"]
        streams = {id(n.attrs["generator"]): n.attrs["generator"] for n in draws}.values()
        streams = [s.now() if type(s) is Position else (s._seed, s._offset) for s in streams]
        ends = [(s, p.now()) for s, p in (self.draws.ends if self.draws else ())]
        before = [a.copy() for a in given]
        try:
            made = dict(zip(self.results, interpret(g, *given, streams=streams)))
        except Exception as e:               # (as programs do: eager will raise it)
            for a, b in zip(given, before):
                if a.flags.writeable:
                    a[...] = b
            raise program.Miss(str(e)) from None
        for n in draws:
            if type(n.attrs["generator"]) is not Position:
                n.attrs["generator"].take(n.op.blocks(n.attrs["shape"]))
        for s, end in ends:
            s._seed, s._offset = end
        return made
    kept = program.Program.__call__, native_table.table
    program.Program.__call__, native_table.table = run, lambda *given: None
    try:
        yield
    finally:
        program.Program.__call__, native_table.table = kept


@contextlib.contextmanager
def given_up(seed):
    """Runs that are recorded stop being so at some operation."""
    from whet.jit.capture import value_layouts
    kept, value_layouts.MOST = value_layouts.MOST, random.Random(seed).choice([0, 0, 8, 30, 100, 400, 2000])
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


def compare(p):
    """Eager and traced: {"why": where they differ or None, "paths": recordings, "replays": calls of them, "refused": why}.

    New kernels have the form that the program says; eager has full ones, where the traced function comes first."""
    import whet
    from whet.cpu import haste
    from whet.jit.policy import account
    from whet.passes.pipeline import names, without
    account.GRACE = float("inf")              # whatever recordings cost: what is replayed must be right
    turn, odd = divmod(p["seed"], 2)
    left_out = names()[turn % len(names())]
    other = ("given up", given_up(turn)) if turn % 5 == 4 else ("interpreted", interpreted()) if odd else (f"without {left_out}", without(left_out))
    why, made = None, []

    def traced(f):
        made.append(whet.jit.trace(f, verify=p["verify"]))
        return made[-1]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        whet.set_num_threads(p["kernels"]["threads"])
        early = None
        if p["kernels"]["first"]:
            with haste.form(p["kernels"]["form"]):
                early = run(p, traced)
            haste.settle()
        want = run(p)
        for name, way in (("", contextlib.nullcontext()), other):
            first = 0 if early else len(made)
            with way, haste.form(p["kernels"]["form"]):
                why = difference(want, early or run(p, traced))
            early = None
            why = why or made[first]._drift       # (these programs go by nothing that a trace cannot see)
            if why is None and "please report" in str(made[first]._why):
                why = made[first]._why
            if why and difference(want, run(p)):
                why = None                       # eager differs from itself
            facts = made[0].explain(data=True)
            if why:
                why = f"{name} {why}".strip()
            if why or not facts["paths"]:        # (without a recording it runs eagerly)
                break
    return dict(why=why, paths=len(facts["paths"]), replays=sum(q["calls"] for q in facts["paths"]), refused=facts["refused"] or made[0]._why)


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


# ---- making them shorter ------------------------------------------------------------------------------------------------
def shorten(p, wrong):
    """The program without what it takes none of to be wrong."""
    tried = set()

    def better(q):
        key = json.dumps(q)
        if key in tried:
            return False
        tried.add(key)
        return wrong(q)
    changed = True
    while changed:
        changed = False
        for q in _smaller(p):
            if better(q):
                p, changed = q, True
                break
    return p


def _smaller(p):
    """Programs that are a little smaller."""
    def other(**kw):
        return {**copy.deepcopy(p), **kw}
    for k in range(len(p["steps"]))[::-1]:
        step, rest = p["steps"][k], p["steps"][:k] + p["steps"][k + 1:]
        pattern = re.compile(rf"\b{step['out']}\b(\[\d\])?")
        uses = [s for s in rest if any(pattern.search(t) for t in s["ops"].values())]
        if not uses:
            yield other(steps=rest, returns=[t for t in p["returns"] if not pattern.search(t)])
        else:
            drop = {id(s) for s in uses}
            gone = re.compile("|".join([pattern.pattern] + [rf"\b{s['out']}\b" for s in uses]))
            yield other(steps=[s for s in rest if id(s) not in drop], returns=[t for t in p["returns"] if not gone.search(t)])
        for o in dict.fromkeys([*step["ops"].values(), "x0"]):
            if re.match(r"[xvwbt]", o):
                new = [{**s, "ops": {n: pattern.sub(o, t) for n, t in s["ops"].items()}} for s in rest]
                yield other(steps=new, returns=[pattern.sub(o, t) for t in p["returns"]])
        if step["mode"]:
            yield other(steps=[*p["steps"][:k], {**step, "mode": None}, *p["steps"][k + 1:]])
    for k in range(len(p["returns"])):
        yield other(returns=p["returns"][:k] + p["returns"][k + 1:])
    calls = p["calls"]
    for k in range(len(calls)):
        yield other(calls=calls[:k] + calls[k + 1:])
        for j in range(len(calls[k]["changes"])):
            c = {**calls[k], "changes": calls[k]["changes"][:j] + calls[k]["changes"][j + 1:]}
            yield other(calls=[*calls[:k], c, *calls[k + 1:]])
        for key in list(calls[k]["after"]):
            if key in ("poke", "take", "late", "spoil") and calls[k]["after"][key] is not False:
                c = {**calls[k], "after": {n: v for n, v in calls[k]["after"].items() if n != key}}
                yield other(calls=[*calls[:k], c, *calls[k + 1:]])
    if len(p["inputs"]) > 1:
        name = rf"\bx{len(p['inputs']) - 1}\b"
        if not any(re.search(name, t) for t in [*p["returns"], *[t for s in p["steps"] for t in s["ops"].values()]]):
            last = len(p["inputs"]) - 1
            yield other(inputs=p["inputs"][:-1], calls=[{**c, "changes": [x for x in c["changes"] if x[:2] != ["input", last]]} for c in calls])
    for group in ("inputs", "captured"):
        for k in range(len(p[group])) if group == "inputs" else list(p[group]):
            for key, plain in dict(layout="plain", special=False, inner=False, grad=False, dtype="float32").items():
                if p[group][k].get(key, plain) != plain:
                    q = other()
                    q[group][k][key] = plain
                    yield q
    for k, n in p["sizes"].items():
        if n not in (2, 3):
            yield other(sizes={**p["sizes"], k: 2})
    for key, plain in dict(closure=False, keep=False, form="tuple", steady=True, pack=None, look=False).items():
        if p[key] != plain:
            yield other(**{key: plain})
    for k, t in p["names"].items():
        if t != k:
            old = re.escape(t)
            q = json.loads(re.sub(old, k, json.dumps(dict(steps=p["steps"], returns=p["returns"]))))
            yield other(names={**p["names"], k: k}, **q)


def show(p):
    """A program to be read."""
    out = [source(p)[len(HEAD):].strip()]
    out += [f"x{i}: {json.dumps(d)}" for i, d in enumerate(p["inputs"])]
    out += [f"{p['names'][n]}: {json.dumps(v)}" for n, v in [*p["captured"].items(), *p["numbers"].items()] if p["names"][n] in out[0]]
    out += [f"call {i}: {json.dumps(c)}" for i, c in enumerate(p["calls"])]
    out += [f"{p['sizes']} verify={p['verify']} keep={p['keep']} steady={p['steady']} kernels: {p['kernels']}"]
    return "\n".join(["    " + line for line in "\n".join(out).split("\n")])


# ---- many of them -------------------------------------------------------------------------------------------------------
class Worker(fuzz.Worker):
    """A process that compares programs sent to it. With `lives` another takes its place after so many: where there is no cache on disk, its
    first programs find no kernels."""

    def __init__(self, lives=None, **env):
        super().__init__("tests.fuzz_jit", **env)
        self.lives, self.count = lives, 0

    def __call__(self, p):
        if self.count == self.lives:
            self.close()
            self.process, self.count = None, 0
        self.count += 1
        r = super().__call__(p)
        return r if isinstance(r, dict) else dict(why=str(r[0]), paths=0, replays=0, refused=None)


def serve():
    """Read programs, one a line; answer with what came of them."""
    faulthandler.enable()
    for line in sys.stdin:
        try:
            answer = compare(json.loads(line))
        except Exception as e:
            answer = dict(why=f"the comparison raised {_said(e)}", paths=0, replays=0, refused=None)
        print(json.dumps(answer, default=str), flush=True)         # (reasons are objects)


COLD = dict(lives=20, WHET_CACHE="0")


def workers():
    """Ways to run, of which a program draws one: each target, native or plain, with kernels on disk or none."""
    first, *narrow = sweep_kernels.targets()
    ways = [Worker(WHET_NATIVE="1"), Worker(WHET_NATIVE="1", **COLD), Worker(WHET_NATIVE="0"), Worker(WHET_NATIVE="0", WHET_GUARD="begin", **COLD),
            Worker(WHET_NATIVE="1", WHET_GUARD="end", WHET_CHECK="2", **COLD)]
    return [*ways, *(Worker(WHET_CPU=t, WHET_NATIVE="1", WHET_GUARD="end", **COLD) for t in narrow)]


def rounds(seed, count, ways, seconds=float("inf"), length=8, skip=()):
    """Run programs; gives (seed, why, program, worker) of each wrong one, and at last how many were run, compiled and replayed."""
    end, counts = time.time() + seconds, [0, 0, 0]
    pools, waiting = [futures.ThreadPoolExecutor(1) for _ in ways], collections.deque()

    def finished(most):
        while len(waiting) > most:
            s, p, way, answer = waiting.popleft()
            r = answer.result()
            for k, one in enumerate((True, r["paths"], r["replays"])):
                counts[k] += bool(one)
            if r["why"]:
                yield s, r["why"], p, way
    for s in range(seed, seed + count):
        if time.time() > end:
            break
        if s not in skip:
            p = program(s, length)
            k = int(p["kernels"]["way"] * len(ways))
            waiting.append((s, p, ways[k], pools[k].submit(ways[k], p)))
        yield from finished(8)
    yield from finished(0)
    for pool in pools:
        pool.shutdown()
    yield tuple(counts)


def again(p, way):
    """Run a program once more, in a process like `way`'s; one that finds no kernels, if that is so there."""
    other = like.setdefault(tuple(way.env.items()), Worker(way.lives and 1, **way.env))
    return other(p)


like = {}


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("--seconds", type=float, default=10)
    a.add_argument("--seed", type=int, default=0)
    a.add_argument("--rounds", type=int, default=10 ** 9)
    a.add_argument("--length", type=int, default=8)
    a.add_argument("--serve", type=int)
    a.add_argument("--raw", action="store_true", help="do not make wrong programs shorter")
    a = a.parse_args()
    if a.serve is not None:
        return serve()
    ways, wrong = workers(), 0
    for found in rounds(a.seed, a.rounds, ways, a.seconds, a.length):
        if len(found) == 3:
            done, compiled, replayed = found
            break
        wrong += 1
        seed, why, p, way = found
        if not a.raw:
            p = shorten(p, lambda q: again(q, way)["why"])
            why = again(p, way)["why"]
        print(f"seed {seed} with {way.env}: {why}\n{show(p)}", flush=True)
    for w in [*ways, *like.values()]:
        w.close()
    print(f"{done} programs, {compiled} compiled, {replayed} replayed, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    os.environ.setdefault("WHET_CACHE_DIR", os.path.join(os.path.dirname(__file__), "..", ".whet-cache"))
    sys.exit(main())
