"""Random functions that write to tensors which share memory, and go on from numbers between the
writes: traced calls give what eager ones do, whatever order a program has.

    python -m tests.jit.test_random_writes 1000 2000

runs the programs of these seeds.
"""
import math
import random
import sys

import pytest
import whet
from whet import jit
from whet.jit.policy import account

CALLS = 24
WRITTEN, READ = ("a", "va", "wa", "b", "vb"), ("a", "va", "wa", "b", "vb", "x", "t")
PARTS = "", "", "[1:]", "[::2]", "[:2]", "[0]"


def statement(rng):
    """A line or two, of tensors from outside (a, va and wa share memory, and b and vb), of the
    argument x, and of t, which was made of some; i are places."""
    def read():
        return rng.choice(READ)

    def written():
        return rng.choice(WRITTEN) + rng.choice(PARTS)
    inside = rng.choice(["out.append(1)", "a.mul_(0.5)", "s['n'] += 1", "vb.sub_(0.25)",
                         "s['l'].append(0)", "wa.fill_(0.5)", "return out, t"])
    return rng.choice([
        f"{written()}.add_({read()}.sum() * 0.1)",
        f"{written()}.add_(x[0])",
        f"{written()}.copy_(x[1])",
        f"{written()}.mul_({rng.choice(['0.5', '-1', 'x.mean()'])})",
        f"{rng.choice(['a', 'va', 'wa'])}[i] = {read()}.min()",
        f"t = {read()}.sum() + {read()}.max() * x",
        f"t = {rng.choice(['a', 'b', 'va', 'wa'])}[i] + x.sum()",
        f"if {read()}{rng.choice(PARTS)}.sum() > {rng.choice([0, 1, 3])}:\n        {inside}",
        f"if {rng.choice(WRITTEN)}.max() > {rng.choice([0, 1, 3])}:\n        {inside}",
        f"if {rng.choice(WRITTEN)}[0] < {rng.choice([0, 1])}:\n        {inside}",
        f"if s['n'] % {rng.choice([2, 3])} == 0:\n        {inside}",
        "s['n'] += 1",
        f"s['sum'] += {read()}.sum().item()",
        f"s['hits'] += ({read()} > {rng.choice([0, 1])}).sum().item()",
        f"out.append({read()}.tolist())",
        f"out.append({read()}{rng.choice(PARTS)}.sum().item())"])


def program(rng):
    """The text of a function."""
    lines = [statement(rng) for _ in range(rng.randrange(3, 8))]
    return "\n    ".join(["def f(x, i):", "out, t = [], x", *lines, "return out, t + x"])


def run(text, wrap, seed):
    """What can be seen after each call of a function."""
    base, other = whet.zeros(8), whet.arange(5.0)
    env = {"whet": whet, "a": base[:5], "va": base[2:7], "wa": base[::2], "b": other,
           "vb": other[1:4], "s": {"n": 0, "sum": 0.0, "hits": 0, "l": []}}
    exec(compile(text, "<a random function>", "exec"), env)
    f, rng, seen = wrap(env["f"]), random.Random(seed), []
    for _ in range(CALLS):
        x = whet.full((5,), rng.choice([-1.0, 0.0, 0.5, 1.0, 2.0]))
        i = whet.tensor([rng.randrange(3), rng.randrange(4 if rng.random() < 0.9 else 9)])
        try:
            out, t = f(x, i)
            got = out, t.tolist()
        except (IndexError, RuntimeError) as e:
            got = str(e)
        seen.append(repr((got, base.tolist(), other.tolist(), env["s"], base._version,
                          other._version)))
        if max(base.abs().max(), other.abs().max()) > 1e6:
            base.zero_(), other.zero_()
    return seen


def differences(seeds):
    """The texts of those of these programs that are another when they are traced."""
    for seed in seeds:
        text = program(random.Random(seed))
        if run(text, jit.trace, seed) != run(text, lambda f: f, seed):
            yield f"seed {seed}:\n{text}"


@pytest.mark.filterwarnings("ignore")
def test_random_functions_that_write_and_ask(monkeypatch):
    monkeypatch.setattr(account, "GRACE", math.inf)
    assert not list(differences(range(100)))


if __name__ == "__main__":
    account.GRACE = math.inf
    found = list(differences(range(*map(int, sys.argv[1:]))))
    print(*found, f"{len(found)} differ", sep="\n\n")
