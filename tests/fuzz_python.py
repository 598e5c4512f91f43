"""Random Python around tensors, called eagerly and traced: every call must come to the same.

    python -m tests.fuzz_python --seconds 60 --seed 1

Most of what a traced function does is not tensors but Python: numbers that differ from call to
call, of Python's and of NumPy's, alone and in containers, compared, looked up, formatted and
branched on.
A program is a function made of the forms in tests/python_forms.py, and a list of calls. It runs
twice, eagerly and traced, each time in a module of its own. After each call its results, with the
types of all that is in them, or its error, and the state that it changed are compared.
"""

import dataclasses
import itertools
import random
import re
import sys

from tests import fuzz_harness, python_forms, python_statements
from tests.observed import observed, outcome

KINDS = "ifbzsldotua"
# what needs no parentheses within an expression
ALONE = re.compile(r"[A-Za-z_][\w.]*(\[[\w']+\])?")
SLOT = re.compile(r"{(set:)?(name:)?([a-z]+)}")
NUMBERS = {
    "i": ["0", "1", "2", "3", "5", "-1", "-4", "17", "256", "1000"],
    "f": ["0.0", "1.0", "2.0", "0.5", "-1.5", "3.25", "-0.0", "1e-3", "7.0"],
    "b": ["True", "False"],
    "z": ["np.float32(1.5)", "np.float64(-2.0)", "np.int64(3)", "np.float64(0.25)", "np.int32(1)"],
    "s": ["'1'", "'abc'", "''"]}
RARE = ["float('nan')", "math.inf", "-math.inf", "1e300", "1e-310"]


def _expressions():
    """{kind: the texts of its forms}"""
    made = {}
    for line in python_forms.EXPRESSIONS.strip().split("\n"):
        kind, text = line.split(None, 1)
        made.setdefault(kind, []).append(text)
    return made


EXPRESSIONS = _expressions()
STATEMENTS = python_statements.STATEMENTS.strip().split("\n\n")
BETWEEN = python_statements.BETWEEN.strip().split("\n")


# ---- programs ------------------------------------------------------------------------------------
@dataclasses.dataclass(frozen=True)
class Form:
    """A form with what stands in its slots: an expression of a kind, a statement, or a block."""
    kind: str
    text: str
    parts: tuple = ()

    def written(self):
        """Its source."""
        parts = iter(self.parts)
        lines = []
        for line in self.text.split("\n"):
            indent = line[:len(line) - len(line.lstrip())]
            line = SLOT.sub(lambda _: next(parts).inside().replace("\n", "\n" + indent), line)
            lines.append(line.replace("{{", "{").replace("}}", "}"))
        return "\n".join(lines)

    def inside(self):
        """Its source as a part of something."""
        text = self.written()
        return f"({text})" if self.kind in KINDS and not ALONE.fullmatch(text) else text


def block(statements):
    """Statements one after another."""
    return Form("block", "\n".join(["{block}"] * len(statements)) or "pass", tuple(statements))


class Writer:
    """Draws forms; knows which names are bound."""

    def __init__(self, r, names):
        self.r, self.names, self.made = r, names, itertools.count()
        self.local = dict(LOCAL)

    def expression(self, kind, depth):
        """An expression of a kind."""
        if kind == "v":
            kind = self.r.choice(KINDS)
        if kind == "n":
            kind = self.r.choice("iiffb")
        if depth <= 0 or self.r.random() < 0.25:
            return self.leaf(kind)
        text = self.r.choice(EXPRESSIONS[kind])
        return Form(kind, text, tuple(self.slots(text, depth)))

    def leaf(self, kind):
        """A name that is bound, or now and then a constant."""
        if kind in NUMBERS and self.r.random() < 0.2:
            return Form(kind, self.r.choice(NUMBERS[kind]))
        return Form(kind, self.r.choice(self.names[kind]))

    def slots(self, text, depth):
        """What stands in the slots of a text."""
        for sets, name, kind in SLOT.findall(text):
            if sets:
                value, new = self.expression(kind, depth), f"{kind}{next(self.made)}"
                self.names[kind] = [*self.names[kind], new]
                self.local[kind] = [*self.local[kind], new]
                yield Form("set", new + " = {v}", (value,))
            elif name:
                kind = self.r.choice("if") if kind == "n" else kind
                yield Form("name", self.r.choice(self.local[kind]))
            elif kind == "block":
                yield self.inner(depth - 1)
            else:
                yield self.expression(kind, depth - 1)

    def inner(self, depth):
        """A block whose new names are not seen outside of it."""
        kept = dict(self.names), dict(self.local)
        made = block([self.statement(depth) for _ in range(self.r.randint(1, 2))])
        self.names, self.local = kept
        return made

    def statement(self, depth):
        """A statement."""
        texts = [t for t in STATEMENTS if depth > 1 or "{block}" not in t]
        text = self.r.choice(texts)
        return Form("statement", text, tuple(self.slots(text, depth)))


ARGUMENTS = ["i", "j", "x", "y", "on", "z", "s", "numbers", "named", "options", "t", "a"]
LOCAL = {"i": ["i", "j"], "f": ["x", "y"], "b": ["on"], "z": ["z"], "s": ["s"], "l": ["numbers"],
         "d": ["named"], "o": ["options"], "t": ["t"], "u": ["u"], "a": ["a"]}
REACHED = {"i": ["options.n", "named['i']", "K", "model.steps", "plain.steps"],
           "f": ["options.x", "named['x']", "EPS", "model.rate", "plain.rate"],
           "b": ["options.on"], "t": ["W"], "u": ["t.sum()"]}


@dataclasses.dataclass(frozen=True)
class Manner:
    """How a function takes its arguments: its first lines and what comes after it, what is traced,
    and how that is called."""
    head: str = "def f({names}):"
    first: str = "pass"
    last: str = ""
    traced: str = "f"
    call: str = "f(*given)"


MANNERS = [
    Manner(),
    Manner("def f(*, {names}):", call="f(**dict(zip(NAMES, given)))"),
    Manner("def f(pair, rest):", "{names} = *pair, *rest['rest']",
           call="f((given[0], given[1]), {'rest': given[2:]})"),
    Manner("def f(*given, **more):", "{names} = *given, more['a']",
           call="f(*given[:-1], a=given[-1])"),
    Manner("def forward(model, {names}):", last="Model.forward = forward\n", traced="model"),
    Manner("def run(plain, {names}):", last="Plain.run = run\n", traced="plain.run"),
    Manner("def make(base):\n  def f({names}):", "y = y + base", "  return f\n", "make(1.5)")]


@dataclasses.dataclass
class Program(fuzz_harness.TwoSided):
    """A function and the calls that are made of it."""
    body: Form
    results: tuple
    calls: list
    manner: Manner = Manner()

    @classmethod
    def drawn(cls, seed):
        """The program of a seed."""
        r = random.Random(seed)
        writer = Writer(r, {k: [*LOCAL[k], *REACHED.get(k, ())] for k in KINDS})
        body = block([writer.statement(3) for _ in range(r.randint(1, 5))])
        results = tuple(writer.expression("v", 3) for _ in range(r.randint(1, 3)))
        return cls(body, results, cls._calls(r), r.choice([Manner(), *MANNERS]))

    @staticmethod
    def _calls(r):
        """Arguments of each call, as source: some never differ, some are drawn from a few."""
        draws = {name: Draws(r) for name in ARGUMENTS}
        made, changes = [], r.choice([0, 0, 0.1, 0.3])
        for _ in range(r.randint(8, 20)):
            call = {name: of.argument(name) for name, of in draws.items()}
            if made and r.random() < 0.15:
                call = r.choice(made)
            between = r.choice(BETWEEN) if r.random() < changes else ""
            made.append({**call, "between": between})
        return made

    def source(self):
        """The module of the function."""
        returns = [Form("statement", "returned.append({v})", (e,)) for e in self.results]
        names = ", ".join(ARGUMENTS)
        lines = [self.manner.first, "u = t[0]", "returned = []",
                 *block([self.body, *returns]).written().split("\n"), "return returned"]
        body = "".join(f"    {line}\n" for line in lines)
        text = f"{self.manner.head}\n{body}".replace("{names}", names)
        return f"{python_statements.HEAD}\n\n{text}{self.manner.last}"

    def smaller(self):
        """Programs that are a little smaller."""
        for k in range(len(self.calls)):
            yield dataclasses.replace(self, calls=self.calls[:k] + self.calls[k + 1:])
        for k in range(len(self.results)):
            yield dataclasses.replace(self, results=self.results[:k] + self.results[k + 1:])
        for k, e in enumerate(self.results):
            for less in shorter(e):
                others = self.results[:k], self.results[k + 1:]
                yield dataclasses.replace(self, results=(*others[0], less, *others[1]))
        for less in shorter(self.body):
            yield dataclasses.replace(self, body=less)
        for k, call in enumerate(self.calls):
            if call["between"]:
                less = [*self.calls[:k], {**call, "between": ""}, *self.calls[k + 1:]]
                yield dataclasses.replace(self, calls=less)
        for name in ARGUMENTS:
            if any(c[name] != self.calls[0][name] for c in self.calls):
                same = [{**c, name: self.calls[0][name]} for c in self.calls]
                yield dataclasses.replace(self, calls=same)

    def seen(self, traced):
        side = Side(self, traced)
        seen = [side.call(given) for given in self.calls]
        return [*seen, observed(side.given_back)], side.f

    def __str__(self):
        calls = [c["between"] + "\nf(" + ", ".join(c[name] for name in ARGUMENTS) + ")"
                 for c in self.calls]
        return "\n".join([self.source().removeprefix(python_statements.HEAD), *calls])


def shorter(form):
    """Forms of the same kind that are a little shorter."""
    if form.kind in LOCAL and form.parts:
        yield Form(form.kind, LOCAL[form.kind][0])
        yield from (p for p in form.parts if p.kind == form.kind)
    if form.kind == "block" and form.parts:
        for k in range(len(form.parts)):
            yield block(form.parts[:k] + form.parts[k + 1:])
            inner = [p.parts for p in form.parts[k].parts if p.kind == "block"]
            yield from (block((*form.parts[:k], *p, *form.parts[k + 1:])) for p in inner)
    for k, part in enumerate(form.parts):
        for less in shorter(part):
            yield dataclasses.replace(form, parts=(*form.parts[:k], less, *form.parts[k + 1:]))


class Draws:
    """The values of an argument of a program: how many there are, and of what kinds."""

    def __init__(self, r):
        self.r, self.most = r, r.choice([1, 1, 2, 3, 99])
        self.mixed, self.rare = r.random() < 0.15, r.random() < 0.1
        self.length, self.made = r.choice([1, 2, 2, 3]), []

    def argument(self, name):
        """The source of the next value."""
        if len(self.made) < self.most:
            self.made.append(self.anew(name))
            return self.made[-1]
        return self.r.choice(self.made)

    def number(self, kind):
        """The source of a number."""
        r = self.r
        if self.mixed:
            kind = r.choice([kind, kind, "i", "f", "b"])
        if self.rare and kind == "f" and r.random() < 0.3:
            return r.choice(RARE)
        if kind in "if" and r.random() < 0.4:
            return str(r.randint(-9, 99) if kind == "i" else round(r.uniform(-3, 3), 3))
        return r.choice(NUMBERS[kind])

    def anew(self, name):
        """The source of a value."""
        r = self.r
        if name == "numbers":
            length = r.choice([1, 2, 3]) if self.mixed else self.length
            return f"[{', '.join(self.number('fi'[k % 2]) for k in range(length))}]"
        if name == "named":
            return f"{{'x': {self.number('f')}, 'i': {self.number('i')}}}"
        if name == "options":
            return f"Options({self.number('i')}, {self.number('f')}, {r.choice(NUMBERS['b'])})"
        if name in "ta":
            values = ", ".join(str(round(r.uniform(-2, 2), 2)) for _ in range(4))
            return f"whet.tensor([{values}])" if name == "t" else f"np.array([{values}])"
        if name == "s" or name == "z":
            return r.choice(NUMBERS[name])
        return self.number({"i": "i", "j": "i", "x": "f", "y": "f", "on": "b"}[name])


# ---- running them --------------------------------------------------------------------------------
# names of the module that a program changes
STATE = "state", "log", "table", "seen", "recent", "plain", "model", "held"


class Side:
    """One of the two ways to run a program, in a module of its own."""

    def __init__(self, program, traced):
        import whet
        self.space, self.text = {"__name__": "program"}, program.source()
        exec(compile(self.text, "<program>", "exec"), self.space)
        f = eval(program.manner.traced, self.space)
        self.f = whet.jit.trace(f) if traced else f
        self.how, self.given_back = program.manner.call, []

    def call(self, given):
        """What a call comes to, and what it leaves in its arguments and in the module."""
        import whet
        whet.manual_seed(0)                  # of weights that are made between calls
        exec(given["between"], self.space)
        args = [eval(given[name], self.space) for name in ARGUMENTS]
        scope = {**self.space, "f": self.f, "given": args, "NAMES": ARGUMENTS}
        out = outcome(lambda: eval(self.how, scope))
        self.given_back.append(out)
        return observed(out, args, [self.space[name] for name in STATE])


if __name__ == "__main__":
    sys.exit(fuzz_harness.main(__spec__.name))
