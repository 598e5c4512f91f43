"""Random functions as plain data."""
import random
import re
import warnings

import numpy as np

from tests import fuzz
from tests.fuzz_parts import TEXTS
from tests.fuzz_sides import Side
from tests.fuzz_text import lines

HOWS = ["backward", "backward", "backward", "grad", "twice", "double", "parts", "free", "some",
        "penalty", "hooks", "inner", "write", "wide", "third"]
SIZES = [1, 2, 2, 3, 3, 4, 4, 5, 8, 17]
CAPTURED = {"w0": ["w0", "box.w0", "table['w0']", "w0"],
            "w1": ["w1", "box.w1", "table['w1']", "w1"]}


# ---- programs ------------------------------------------------------------------------------------
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
        shape = r.choice([base, base, base, base, base[1:], [1, *base[1:]][:len(base)], base[::-1],
                          []])
        dtype = main if r.random() < 0.7 else r.choice(fuzz.FLOATS + ["int64", "bool", "complex64"])
        return dict(dtype=dtype, shape=shape, layout=r.choice(["plain"] * 4 + fuzz.LAYOUTS),
                    seed=r.randrange(1000), grad=r.random() < 0.4, special=r.random() < 0.1,
                    inner=not captured and r.random() < 0.1)
    inputs = [tensor() for _ in range(r.randint(1, 3))]
    if r.random() < 0.12:
        inputs.append({"alias": r.choice(["{x0}", "{x0}[:1]", "{x0}.mT", "{x0}.detach()",
                                          "{x0}.reshape(-1)", "{w0}", "{x0}[..., ::2]"])})
    if r.random() < 0.3:
        inputs.append({"number": r.choice(fuzz.NUMBERS)})
    p = dict(seed=seed, verify=["off", "first", "always"][seed % 3], sizes=sizes, inputs=inputs,
             steps=[], returns=[], captured={k: tensor(True) for k in ("w0", "w1")},
             numbers={"k0": r.choice([0.5, 2, 1, -1.5]), "k1": r.choice([3, 1.0, 0])},
             names={k: r.choice(texts) for k, texts in CAPTURED.items()}
             | {k: r.choice([k, f"box.{k}", f"table['{k}']"]) for k in ("k0", "k1")},
             closure=r.random() < 0.3, look=r.random() < 0.3,
             pack=r.choice([None] * 6 + ["list", "dict", "data", "keywords"]),
             steady=r.random() < 0.3, keep=r.random() < 0.7,
             form=r.choice(["tuple", "tuple", "list", "dict", "nested", "data"]))
    _fill(r, p, length)
    p["calls"] = [_call(r, p, i) for i in range(5)]
    return p


class _Filling:
    """Steps for a program, each tried on the operands that there are so far."""

    def __init__(self, r, p):
        side = Side(p)
        args = side.arguments(0, {})[0]
        self.r, self.p = r, p
        self.space = dict(side.space, **{f"x{i}": a for i, a in enumerate(args)})
        self.names = [f"x{i}" for i in range(len(args))]

    def tensors(self):
        return [n for n in self.names
                if hasattr(self.space[n.split("[")[0]], "shape") or "[" in n]

    def operand(self):
        r = self.r
        u = r.random()
        if u < 0.12:
            return self.p["names"][r.choice(["w0", "w1"])]
        held = self.tensors() or ["x0"]
        return r.choice(held[-3:]) if u < 0.6 else r.choice(held)

    def number(self):
        r = self.r
        u = r.random()
        if u < 0.2:
            return self.p["names"][r.choice(["k0", "k1"])]
        if u < 0.3:
            mine = [n for n in self.names
                    if "[" not in n and isinstance(self.space[n], int | float)]
            if mine:
                return r.choice(mine)
        return _literal(r.choice(fuzz.NUMBERS))

    def operation(self):
        """(an operation's text, its operands), or None: another try."""
        import whet
        r = self.r
        if r.random() < 0.6:
            what, operands, d = fuzz._step(r)
            if what in ("leaf", "backward", "mode") or what in fuzz.INPLACE and r.random() < 0.5:
                return None
            if what in fuzz.PRODUCTS:
                operands = operands[:2]
            ops = {k: self.number() if isinstance(o, dict) else self.operand()
                   for k, o in zip("xyz", operands)}
            return fuzz.expression(whet, what, [f"{{{k}}}" for k in ops], d), ops
        weights, texts = zip(*[(t[0], t[1:]) for t in TEXTS.values()])
        text = r.choice(r.choices(texts, weights)[0])
        ops = {k: self.operand() for k in "xyz"}
        ops |= {"n": self.number(), "i": str(r.randrange(-1, 2))}
        return text, {k: t for k, t in ops.items() if "{" + k + "}" in text}

    def add(self):
        """Try a step, and add it where it runs."""
        r, space, steps = self.r, self.space, self.p["steps"]
        made = self.operation()
        if made is None:
            return
        text, ops = made
        step = dict(text=text, ops=ops, out=f"v{len(steps)}",
                    mode=r.choices([None, "no_grad", "enable_grad"], [30, 2, 1])[0])
        if re.search(r"^\{x\} .=", text) and not re.fullmatch(r"[xv]\d+", ops["x"]):
            return
        out, before = step["out"], dict(space)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                exec("\n".join(lines(step)), space)
        except Exception as e:
            space.clear(), space.update(before)
            if r.random() < 0.01 and not isinstance(e, SyntaxError):
                steps.append(step)
            return
        v = space.get(out)
        if hasattr(v, "numel") and v.numel() > 40000 or isinstance(v, int) and abs(v) > 1e6:
            return
        steps.append(step)
        if isinstance(v, tuple | list) and v and all(hasattr(t, "shape") for t in v):
            self.names += [f"{out}[{k}]" for k in range(min(3, len(v)))]
        elif hasattr(v, "shape") or isinstance(v, int | float):
            self.names.append(out)

    def returns(self):
        """What the program returns: mostly what it made last."""
        r, p = self.r, self.p
        own = [n for n in self.names if n[0] == "v"] or self.names
        p["returns"] = ([r.choice(own[-3:])]
                        + [r.choice(self.names) for _ in range(r.choice([0, 1, 1, 2, 3]))])
        if r.random() < 0.3:
            part = [".shape", "[:1]", ".detach()", ".dtype", ".t()"]
            p["returns"].append(f"{r.choice(self.tensors() or ['x0'])}{r.choice(part)}")
        if r.random() < 0.1:
            p["returns"].append(r.choice(list(p["names"].values())))


def _fill(r, p, length):
    """Steps, tried as they are made."""
    filling, tries = _Filling(r, p), 0
    while len(p["steps"]) < length and tries < 12 * length:
        tries += 1
        filling.add()
    filling.returns()


def _literal(n):
    return (f"math.{n}" if n != n or abs(n) == float("inf") else f"({n!r})"
            if n < 0 or str(n)[0] == "-" else repr(n))


def _call(r, p, i):
    """What happens before a call, and after it."""
    changes = []
    while i > 1 and r.random() < 0.35:
        which = r.randrange(len(p["inputs"]))
        changes.append(r.choice([
            ["sizes", {k: r.choice(SIZES) for k in "abc"}],
            ["input", which, "dtype", r.choice(fuzz.FLOATS + ["int64"])],
            ["input", which, "layout", r.choice(fuzz.LAYOUTS)],
            ["input", which, "grad", r.random() < 0.5], ["number", "k0", r.choice([0.5, 2, -1.0])],
            ["number", "k1", r.choice([0, 2, -1.0])],
            ["input", which, "number", r.choice(fuzz.NUMBERS)], ["tensor", r.choice(["w0", "w1"])],
            ["write", r.choice(["w0", "w1"])], ["zero", r.choice(["w0", "w1"])], ["no_grad"],
            ["again"], ["freeze", r.choice(["w0", "w1"])], ["input", which, "special", True],
            ["mode", r.random() < 0.5], ["rate", r.choice([0.1, 0.2])],
            ["hook", r.choice(["w0", "w1"])], ["array"], ["parameter"], ["reload"], ["clear"],
            ["seed", r.randrange(3)], ["default", r.choice(["float64", "float32"])],
            ["threads", r.choice([1, 2, 3])], ["drop", r.choice([0.0, 0.25])],
            ["total", r.choice([0.0, 1.5, 2])]]))
    after = {}
    if r.random() < 0.6:
        after = dict(take=[r.random() < 0.6 for _ in range(6)], how=r.choice(HOWS),
                     loss=r.choice(["sum", "square", "slice"]), late=r.random() < 0.15,
                     spoil=r.random() < 0.08)
    if r.random() < 0.2:
        after["poke"] = r.randrange(6)
    return dict(changes=changes, once=r.random() < 0.6, after=after)
