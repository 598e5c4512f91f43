"""Functions in which data decides several sizes: eager and traced must come to the same.

    python -m tests.fuzz_counts --seconds 60 --seed 1

A program finds rows of its arguments by a few questions (`where`, `nonzero`, masks), one after the
other or in a loop. What it does with them goes by their numbers in all ways that Python has: writes
in place, sizes of others, branches, gradients. Beside them it goes by numbers among the arguments
and by places that data decides. Calls find none, one, some or all rows. How many counts a part may
go by is drawn, too.
"""
import contextlib
import dataclasses
import math
import random
import sys

import numpy as np

from tests import fuzz_harness
from tests.observed import observed, outcome

CALLS, ROWS, VARYING = 24, 6, (4, 6, 9)
# i: a name for what is found, s: one for its rows, c: a column, t: a threshold
QUESTIONS = [
    "x[:, {c}] > {t}", "y[:, {c}] > {t}", "(x[:, 1] > {t}) & (y[:, 0] < 1.5)", "kind == {c}",
    "x.sum(1) > {t}"]
OF_LOOPS = ["kind == k", "x[:, k % 4] > {t}", "kind == {c}"]
FOUND = [
    "{i} = whet.where({q})[0]", "{i} = ({q}).nonzero(as_tuple=True)[0]",
    "{i} = whet.arange(x.shape[0])[{q}]"]
BRANCHES = [
    "if len({i}) == 0:\n    total = total + 1", "if {i}.shape[0] > 2:\n    out += 1",
    "if {i}.numel() <= 1:\n    res.append(x * 2)\nelse:\n    out[0] = 3",
    "if len({i}) == 1:\n    total = total + {i}.shape[0]\nelse:\n    total = total * 2",
    "if len({i}) > most:\n    {i} = {i}[:most]"]
ROWS_OF = [
    "{s} = x[{i}]", "{s} = y[{i}]",
    "{s} = x[{i}]\n{s} = whet.stack([{s}[:, 2] - {s}[:, 0], {s}[:, 3], {s}[:, 0]], 1) @ w[:3]"]
STEPS = [
    "{s} = {s} * 2 + 1", "{s} = {s} @ w", "{s} = whet.relu({s})", "{s} = {s} - {s}.sum(0)",
    "{s} = F.softmax({s}, 1)", "{s} = {s} * x[0]", "{s} = {s} ** 2 / max(len({i}), 1)",
    "{s} = {s}.exp()", "{s} = whet.cat([{s}, {s}])[:len({i})]",
    "{s} = {s} + whet.ones({s}.shape[0], 1)",
    "{s} = {s} + whet.arange({s}.shape[0])[:, None]",
    "{s} = {s}[{s}[:, 0].argsort(descending=True)]",
    "{s} = {s} * table[at]", "{s} = {s} + (table[at - most] if at >= most else table[0] * 0)"]
USES = [
    "out.index_add_(0, {i}, {s})", "out[{i}] = {s}", "out[{i}] += {s}", "total = total + {s}.sum()",
    "res.append({s}.sum(0))", "res.append({s})", "res.append({i})", "res.append(out.clone())",
    "total = total + whet.ones_like(y).sum() * {s}.sum()", "state.add_({s}.detach().sum())",
    "total = total + whet.zeros(x.shape[0]).sum() + {s}.mean(0).nan_to_num(0).sum()",
    "res.append(whet.zeros({i}.shape[0] + 1, 2))", "total = total + {s}.amax(1).sum()",
    "total = total + (x[:, 0].expand_as(y[:, 0]) * state).sum() * {s}.numel()",
    "total = total + {s}.std(0).nan_to_num(0).sum()",
    "res.append(whet.full((y.shape[0],), 2.0) * {s}.sum())", "res.append({s}[:, 1:3].T[0] * at)",
    "if len({i}):\n    at_most = int({s}[:, 0].argmax())\n"
    "    res.append({s}[at_most:at_most + 1] - {s}[1:])",
    "if len({i}):\n    best = {s}[:, 0].argmax().item()\n    out[best] = {s}[best]",
    "res.append({s}[:at].sum(0))", "res.append(x[at:at + most][:, :2].T)"]
ENDS = [
    "res.append(whet.cat([{all}]).sum(0))", "res.append(sum(len(s) for s in [{all}]) * x.sum())",
    "loss = total + out.sum()\n"
    "if loss.requires_grad:\n    res += whet.autograd.grad(loss, [w], allow_unused=True)"]


@dataclasses.dataclass
class Program(fuzz_harness.TwoSided):
    """`counts`: the statements of each count, `times`: how often the first is run, in a loop, where
    there is one. `sizes`: how many rows each call has, `most_counts` and `most_ways`: see
    jit/program/parts_builder.py."""
    counts: list
    ends: list
    times: int
    sizes: list
    most_counts: int
    most_ways: int
    seed: int

    @classmethod
    def drawn(cls, seed):
        r = random.Random(seed)
        times = r.randint(2, 5) if r.random() < 0.4 else 0
        counts = [cls._count(r, k, bool(times)) for k in range(1 if times else r.randint(2, 5))]
        ends = [] if times else [r.choice(ENDS[:2])] if r.random() < 0.5 else []
        ends += [ENDS[2]] if r.random() < 0.3 else []
        varies = r.random() < 0.3
        sizes = [r.choice(VARYING) if varies else ROWS for _ in range(CALLS)]
        return cls(counts, ends, times, sizes, r.choice([1, 1, 4]), r.choice([1, 2, 4]), seed)

    @staticmethod
    def _count(r, k, in_loop):
        names = dict(i=f"i{k}", s=f"s{k}")
        question = r.choice(OF_LOOPS if in_loop else QUESTIONS).format(
            c=r.randint(0, 3), t=r.choice([-0.5, 0.3, 0.9, 1.3, 2.2]))
        texts = [r.choice(FOUND).format(q=question, **names)]
        texts += [r.choice(BRANCHES)] if r.random() < 0.25 else []
        texts += [r.choice(ROWS_OF), *r.choices(STEPS, k=r.randint(0, 3))]
        texts += r.choices(USES, k=r.randint(1, 2))
        return [text.format(**names) for text in texts]

    def source(self):
        """The module of the function."""
        lines = ["out, res, total = whet.zeros_like(x), [], x.sum() * 0"]
        for texts in self.counts:
            inner = [line for text in texts for line in text.split("\n")]
            if self.times:
                lines += [f"for k in range({self.times}):", *(f"    {line}" for line in inner)]
            else:
                lines += inner
        names = ", ".join(f"s{k}" for k in range(len(self.counts)))
        lines += [line for text in self.ends for line in text.format(all=names).split("\n")]
        body = "\n".join(f"    {line}" for line in [*lines, "return [*res, out, total]"])
        return ("import whet\nimport whet.nn.functional as F\n\n\n"
                f"def f(x, y, kind, w, state, table, most, at):\n{body}\n")

    def smaller(self):
        for k in range(len(self.counts) if len(self.counts) > 1 else 0):
            names = any("{all}" in end for end in self.ends)
            if not names:
                yield dataclasses.replace(self, counts=self.counts[:k] + self.counts[k + 1:])
        for k in range(len(self.ends)):
            yield dataclasses.replace(self, ends=self.ends[:k] + self.ends[k + 1:])
        for k, texts in enumerate(self.counts):
            for j in range(1, len(texts)):
                less = texts[:j] + texts[j + 1:]
                yield dataclasses.replace(
                    self, counts=self.counts[:k] + [less] + self.counts[k + 1:])
        yield dataclasses.replace(self, sizes=self.sizes[:-1])

    def seen(self, traced):
        import whet
        space = {"__name__": "program"}
        exec(compile(self.source(), "<program>", "exec"), space)
        f = whet.jit.trace(space["f"]) if traced else space["f"]
        rng = np.random.default_rng(self.seed)
        w = whet.tensor(rng.standard_normal((4, 4)).astype("f"), requires_grad=True)
        state, table, seen = whet.zeros(()), whet.linspace(0.9, 0.1, 8), []
        with parts_go_by(self.most_counts, self.most_ways):
            for n in self.sizes:
                x, y = (whet.from_numpy(rng.standard_normal((n, 4)).astype("f")) for _ in range(2))
                kind = whet.from_numpy(rng.integers(0, 5, n))
                most, at = 1 + len(seen) // 12, len(seen) % 3 + 1
                result = outcome(lambda: f(x, y, kind, w, state, table, most, at))
                seen.append(observed(result, x, y, state))
        return seen, f

    def __str__(self):
        return (f"{self.source()}\nrows: {self.sizes}, most counts: {self.most_counts}, "
                f"most ways: {self.most_ways}")


@contextlib.contextmanager
def parts_go_by(most_counts, most_ways):
    """Parts are split by counts from so many on, and set to sizes by machine code at once."""
    from whet.jit.program import parts_builder, program_in_parts
    drawn = {(parts_builder, "MOST_COUNTS"): most_counts, (parts_builder, "MOST_WAYS"): most_ways,
             (parts_builder, "LONG"): math.inf, (program_in_parts, "RESIZED"): 1}
    kept = {place: getattr(*place) for place in drawn}
    try:
        for place, x in drawn.items():
            setattr(*place, x)
        yield
    finally:
        for place, x in kept.items():
            setattr(*place, x)


if __name__ == "__main__":
    sys.exit(fuzz_harness.main(__spec__.name))
