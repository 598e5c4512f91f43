"""Functions that keep containers in attributes, eager and traced: both must come to the same.

    python -m tests.fuzz_state --seconds 60 --seed 1

Attributes hold tensors and numbers in lists, tuples, dicts and objects, within one another, of any
sizes. A call reads them, writes to them, exchanges them, lays others, asks which are the same. Now
and then, between calls, others come in their place, as a cache that each text has of its own. After
each call the result, all attributes and what they held before it are compared, and which of it is
one object.
"""
import dataclasses
import random
import sys
import types

from tests import fuzz_harness
from tests.observed import observed, outcome

CALLS, KEPT = 26, 4              # calls; for so many it is looked at what attributes held before
HEAD = '''
import whet


class Item:
    def __init__(self, a, n, p): self.a, self.n, self.p = a, n, p
    def bump(self, x):
        self.a, self.n = self.a + x, self.n + 1
        return self.a.sum() * self.n


def total(v, deep=0):
    if isinstance(v, whet.Tensor): return v.sum()
    if isinstance(v, (int, float)): return v * 0.5
    if isinstance(v, (list, tuple)) and deep < 4: return sum([total(e, deep + 1) for e in v], 0.0)
    if isinstance(v, dict) and deep < 4: return sum([total(e, deep + 1) for e in v.values()], 0.0)
    if isinstance(v, Item) and deep < 4: return v.a.sum() * v.n + total(v.p, deep + 1)
    return 0.0


def grown(v, x, deep=0):
    if isinstance(v, whet.Tensor):
        return whet.cat([v.reshape(-1), x.reshape(-1)]) if v.numel() < 12 else v[-2:]
    if isinstance(v, (int, float)): return v + 1
    if isinstance(v, (list, tuple)) and deep < 4:
        return type(v)([grown(e, x, deep + 1) for e in v])
    if isinstance(v, dict) and deep < 4: return {k: grown(e, x, deep + 1) for k, e in v.items()}
    return v


def put_first(v, x):
    if isinstance(v, list) and v: v[0] = x
    elif isinstance(v, dict) and v: v[next(iter(v))] = x
    elif isinstance(v, Item): v.p = x


def add(v, x):
    if isinstance(v, list) and len(v) < 5: v.append(x)
    elif isinstance(v, Item): v.a = v.a * 0.5 + x.sum()


def drop(v):
    if isinstance(v, list) and v: v.pop()
    elif isinstance(v, dict) and len(v) > 1: v.pop(next(iter(v)))


def write(v, k):
    if isinstance(v, whet.Tensor): v.add_(k)
    elif isinstance(v, (list, tuple)):
        for e in v:
            if isinstance(e, whet.Tensor): e.mul_(k)


def count(v):
    if isinstance(v, Item): v.n = v.n + 1
    elif isinstance(v, (dict, list)):
        for k in list(v) if isinstance(v, dict) else range(len(v)):
            if isinstance(v[k], (int, float)): v[k] = v[k] + 1
'''
# n, m: attributes, s: what an attribute may hold, k: a small number
STATEMENTS = [
    "y = y + total(o.{n})", "o.{n} = grown(o.{n}, x)", "o.{n} = {s}", "put_first(o.{n}, x)",
    "put_first(o.{n}, total(o.{m}))", "add(o.{n}, x * {k})", "drop(o.{n})", "o.{n} = [o.{m}, x]",
    "o.{n} = o.{m}", "o.{n}, o.{m} = o.{m}, o.{n}", "write(o.{n}, {k})", "count(o.{n})",
    "if isinstance(o.{n}, Item):\n    y = y + o.{n}.bump(x.sum())",
    "if isinstance(o.{n}, list) and len(o.{n}) > {k}:\n    y = y * 2",
    "if isinstance(o.{n}, dict):\n    o.{n}['z'] = y",
    "if isinstance(o.{n}, dict):\n    y = y + total(o.{n}.get('a'))",
    "if o.{n} is o.{m}:\n    y = y + 7"]
RESULTS = ["y", "y", "y, o.{n}", "[y, x]"]
SCALARS = ["0", "1", "2", "0.5", "1.75", "None", "'text'"]


def held(r, deep=0):
    """The text of what an attribute may hold."""
    kind = r.choice(["list", "dict", "tuple", "item", "tensor", "list", "dict"]) \
        if deep < 2 else r.choice(["tensor", "scalar"])
    if kind == "tensor":
        return f"tensor({r.randint(1, 3)})"
    if kind == "scalar":
        return r.choice(SCALARS)
    if kind == "item":
        return f"Item(tensor({r.randint(1, 3)}), {r.randint(0, 2)}, {held(r, deep + 1)})"
    parts = [held(r, deep + 1) for _ in range(r.randint(kind == "tuple", 3))]
    if kind == "dict":
        return "{" + ", ".join(f"{k!r}: {x}" for k, x in zip("abc", parts)) + "}"
    return f"[{', '.join(parts)}]" if kind == "list" else f"({''.join(x + ', ' for x in parts)})"


@dataclasses.dataclass(frozen=True)
class Program(fuzz_harness.TwoSided):
    """`statements` of the function, its `result`. `before`: for each call the assignments that come
    before it, `sizes`: that of its argument."""
    statements: list
    result: str
    before: list
    sizes: list

    @classmethod
    def drawn(cls, seed):
        r = random.Random(seed)
        names = "pqr"[:r.randint(1, 3)]
        may_hold = {n: [held(r) for _ in range(r.randint(1, 3))] for n in names}
        statements = [
            r.choice(STATEMENTS).format(
                n=r.choice(names), m=r.choice(names), s=held(r), k=r.randint(1, 3))
            for _ in range(r.randint(2, 5))]
        every, before = r.choice([3, 4, 5, 7]), []
        for i in range(CALLS):
            before.append([])
            if not i % every:
                before[i] = [f"o.{n} = {r.choice(may_hold[n])}" for n in names]
            elif r.random() < 0.08:
                what = held(r) if r.random() < 0.5 else f"o.{r.choice(names)}"
                before[i] = [f"o.{r.choice(names)} = {what}"]
        others = [3] if r.random() < 0.7 else [3, 3, 2]
        sizes = [r.choice(others) for _ in range(CALLS)]
        return cls(statements, r.choice(RESULTS).format(n=r.choice(names)), before, sizes)

    def source(self):
        """The function's text."""
        lines = [line for text in self.statements for line in text.split("\n")]
        body = "\n".join(f"    {line}" for line in ["y = x.sum()", *lines,
                                                    f"return {self.result}"])
        return f"{HEAD}\n\ndef f(x):\n{body}\n"

    def smaller(self):
        for k in range(len(self.statements)):
            yield dataclasses.replace(
                self, statements=self.statements[:k] + self.statements[k + 1:])
        if len(self.sizes) > 1:
            yield dataclasses.replace(self, sizes=self.sizes[:-1])
        for k in range(1, len(self.before)):
            if self.before[k]:
                yield dataclasses.replace(
                    self, before=[*self.before[:k], [], *self.before[k + 1:]])

    def seen(self, traced):
        import whet
        made, o, seen, was = [], types.SimpleNamespace(), [], []

        def tensor(n):
            made.append(n)
            return (whet.arange(n).float() + 1) * (0.5 + len(made) % 5)
        space = {"__name__": "program", "o": o, "tensor": tensor}
        exec(compile(self.source(), "<program>", "exec"), space)
        f = whet.jit.trace(space["f"]) if traced else space["f"]
        for i, (assignments, n) in enumerate(zip(self.before, self.sizes)):
            for text in assignments:
                exec(text, space)
            was = [*was, list(vars(o).values())][-KEPT:]
            x = (whet.arange(n).float() + 1) * (i % 4 + 0.5)
            seen.append(observed(outcome(lambda: f(x)), dict(vars(o)), was))
        return seen, f

    def __str__(self):
        calls = "\n".join(f"call {i}: {'; '.join(texts)}"
                          for i, texts in enumerate(self.before) if texts)
        return f"{self.source()}\nbefore\n{calls}\nsizes: {self.sizes}"


if __name__ == "__main__":
    sys.exit(fuzz_harness.main(__spec__.name))
