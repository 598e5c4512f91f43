"""Random expressions about tensors, their metadata and their memory, eager and traced.

    python -m tests.fuzz_expressions --seconds 60 --seed 1

A program is a function of tensors, numbers and a string, made of the forms of
tests/tensor_forms.py: computations, sizes, strides, versions and identities that numbers are made
of, views, writes in place to arguments and to what shares their memory, options that are strings. A
line is tried as it is drawn, so that most programs run. The function is called with other numbers,
strings, data, sizes, dtypes, strides and aliases, eagerly and traced. All names that it binds, its
arguments, gradients of both and what it raises are compared (tests/observed.py).
"""
import dataclasses
import math
import random
import re
import sys

from tests import fuzz_harness
from tests.observed import observed, outcome
from tests.tensor_forms import FORMS

LINES, TRIES, DEPTH = 7, 40, 2
FAILING = 0.01                   # so many of the lines that raise are kept
SLOT = re.compile(r"(?<!{){([a-z])}")
BY_KIND: dict[str, list[str]] = {}
for _line in FORMS.strip().split("\n"):
    BY_KIND.setdefault(_line[0], []).append(_line[1:].strip())
LEAVES = {"i": ["n", "k", "2", "1"], "f": ["r", "0.5", "-1.5"], "b": ["True", "on"],
          "s": ["mode", "'relu'"], "d": ["whet.float32", "whet.float64"]}
DATA = ["whet.arange({a}.0) * {h} - 1", "whet.arange({a}.0 * {b}).reshape({a}, {b}) * {h} - 1",
        "whet.arange({a}.0 * {b}).reshape({b}, {a}).mT * {h}",
        "(whet.arange({a}.0 * {b} * 2) * {h}).reshape({a}, {b} * 2)[:, ::2]",
        "whet.arange({a} * {b}).reshape({a}, {b})", "whet.tensor({h}).expand({a}, {b})",
        "(whet.arange({a}.0 * {b}).reshape({a}, {b}) * {h}).requires_grad_()",
        "(whet.arange({a}.0 * {b}).reshape({a}, {b}) * {h}).double()", "whet.tensor({h})"]
ALIASES = ["x", "x.detach()", "x.view(x.shape)", "x.flatten()", "x.reshape(-1)[::2]",
           "x[..., None]"]


class Drawing:
    """Draws lines, each tried on the arguments of the first call."""

    def __init__(self, r, space):
        self.r, self.space, self.names = r, space, ["x", "y"]

    def expression(self, kind, depth=DEPTH):
        """The text of something of a kind."""
        r = self.r
        if kind == "v":
            return r.choice(self.names[-4:])
        if kind == "n":
            kind = r.choice("if")
        if depth <= 0 or r.random() < 0.2:
            return r.choice(self.names[-4:] if kind == "t" else LEAVES[kind])
        text = self.filled(r.choice(BY_KIND[kind]), depth - 1)
        return text if re.fullmatch(r"[\w.]+(\([^()]*\))?", text) else f"({text})"

    def filled(self, form, depth):
        """A form with something in its slots."""
        text = SLOT.sub(lambda m: self.expression(m[1], depth), form)
        return text.replace("{{", "{").replace("}}", "}")

    def line(self):
        """The next line, or None where it raises."""
        r, made = self.r, f"v{len(self.names) - 2}"
        if r.random() < 0.3:
            text, binds = self.filled(r.choice(BY_KIND["!"]), DEPTH - 1), False
        else:
            text, binds = f"{made} = {self.expression(r.choice('ttttifbs'))}", True
        try:
            compile(text, "line", "exec")
        except SyntaxError:
            return None
        before = dict(self.space)
        try:
            exec(text, self.space)
        except Exception:
            self.space.clear()
            self.space.update(before)
            return text if r.random() < FAILING else None
        if binds and isinstance(self.space[made], type(self.space["x"])):
            self.names.append(made)
        elif binds:
            number = f"w{r.randrange(10**6)}"
            text = number + text.removeprefix(made)
            self.space[number] = self.space.pop(made)
        return text


@dataclasses.dataclass
class Program(fuzz_harness.TwoSided):
    """The lines of a function and the arguments of its calls, as source."""
    lines: list
    calls: list

    @classmethod
    def drawn(cls, seed):
        """The program of a seed."""
        import whet
        r = random.Random(seed)
        whet.manual_seed(0)
        calls = cls._calls(r)
        space = environment()
        exec(bound(calls[0]), space)
        drawing, lines = Drawing(r, space), []
        for _ in range(TRIES):
            line = drawing.line()
            lines += [line] if line else []
            if len(lines) == LINES:
                break
        return cls(lines, calls)

    @staticmethod
    def _calls(r):
        few = {"k": [str(r.randint(-3, 9)) for _ in range(r.choice([1, 2, 9]))],
               "n": [str(r.randint(0, 5)) for _ in range(r.choice([1, 1, 3]))],
               "r": [str(round(r.uniform(-3, 3), 2)) for _ in range(r.choice([1, 2, 9]))],
               "mode": r.sample(["'sum'", "'mean'", "'none'", "'relu'", "'p'"], r.choice([1, 2])),
               "on": ["True", "False"][:r.choice([1, 1, 2])]}
        sizes = [(r.randint(1, 4), r.randint(1, 4)) for _ in range(r.choice([1, 1, 2, 3]))]
        data = [r.choice(DATA) for _ in range(r.choice([1, 1, 2]))]
        others = [r.choice([*DATA, *DATA, *ALIASES]) for _ in range(r.choice([1, 1, 2]))]
        made = []
        for _ in range(r.randint(8, 14)):
            (a, b), h = r.choice(sizes), str(round(r.uniform(0.2, 2), 2))
            texts = [r.choice(data), r.choice(others)]
            texts = [t.replace("{a}", str(a)).replace("{b}", str(b)).replace("{h}", h)
                     for t in texts]
            made.append(dict(x=texts[0], y=texts[1], **{k: r.choice(v) for k, v in few.items()}))
        return made

    def source(self):
        """The function."""
        names = dict.fromkeys(re.findall(r"^([vw]\d+) =", "\n".join(self.lines), re.MULTILINE))
        last = "return dict(" + ", ".join(f"{k}={k}" for k in names) + ")"
        body = "\n".join(f"    {line}" for line in [*self.lines, last])
        return f"def f(x, y, n, k, r, mode, on):\n{body}\n"

    def smaller(self):
        """Programs that are a little smaller."""
        for k in range(len(self.lines)):
            yield dataclasses.replace(self, lines=self.lines[:k] + self.lines[k + 1:])
        for size in (4, 2, 1):
            for k in range(0, len(self.calls), size):
                yield dataclasses.replace(self, calls=self.calls[:k] + self.calls[k + size:])

    def seen(self, traced):
        import whet
        whet.manual_seed(0)
        space = environment()
        exec(compile(self.source(), "<program>", "exec"), space)
        f = whet.jit.trace(space["f"]) if traced else space["f"]
        seen, kept = [], []
        for call in self.calls:
            given = environment()
            exec(bound(call), given)
            given = {k: given[k] for k in call}
            out = outcome(lambda: f(**given))
            back = outcome(lambda: gradients(out))
            seen.append((observed(out, given), observed(back, given["x"], given["y"])))
            kept.append(out)
        return [*seen, (observed(kept), whet.get_rng_state().tolist())], f

    def __str__(self):
        calls = ["f(" + ", ".join(f"{k}={v}" for k, v in c.items()) + ")" for c in self.calls]
        return "\n".join([self.source(), *calls])


def environment():
    """The names of a program's module."""
    import whet
    return {"__name__": "program", "whet": whet, "F": whet.nn.functional, "math": math}


def bound(call):
    """Statements that bind the arguments of a call."""
    return "\n".join(f"{name} = {text}" for name, text in call.items())


def gradients(out):
    """Take gradients through all that a call gave, where it gave any."""
    import whet
    made = [t for t in (out.values() if isinstance(out, dict) else ())
            if isinstance(t, whet.Tensor) and t.grad_fn is not None]
    if made:
        sum(t.double().sum() for t in made).backward()


if __name__ == "__main__":
    sys.exit(fuzz_harness.main(__spec__.name))
