"""Transforms in transforms, over closures: what they give is what exact difference quotients and loops give.

A program is a nest of transforms, each of a function of one number that closes over the variables of all outer ones. The reference runs the
same nest in fractions, where a difference quotient with a tiny step is right to twenty digits.
"""
import itertools
import random
from fractions import Fraction

import pytest
import whet
from whet import func

STEP = Fraction(1, 10**14)


def one(x):
    return whet.ones_like(x)


TRANSFORMS = {
    "grad": lambda f, x: func.grad(f)(x),
    "vjp": lambda f, x: func.vjp(f, x)[1](one(x))[0],
    "jvp": lambda f, x: func.jvp(f, (x,), (one(x),))[1],
    "jacfwd": lambda f, x: func.jacfwd(f)(x),
    "jacrev": lambda f, x: func.jacrev(f)(x),
    "linearize": lambda f, x: func.linearize(f, x)[1](one(x)),
    "hessian": lambda f, x: func.hessian(f)(x),
    "vmap": lambda f, x: whet.vmap(f)(whet.stack([x, 2 * x, x * x])).sum(),
    "trace": lambda f, x: whet.jit.trace(f)(x),
}


def slope(f, x):
    return (f(x + STEP) - f(x - STEP)) / (2 * STEP)


REFERENCE = {
    **dict.fromkeys(("grad", "vjp", "jvp", "jacfwd", "jacrev", "linearize"), slope),
    "hessian": lambda f, x: (f(x + STEP) - 2 * f(x) + f(x - STEP)) / STEP**2,
    "vmap": lambda f, x: f(x) + f(2 * x) + f(x * x),
    "trace": lambda f, x: f(x),
}


def nest(names, apply, x):
    """The nest of transforms at `x`: each function uses its own variable, those outside of it, and what the next transform makes of them."""
    def at(depth, outer):
        def f(y):
            product = y * y + y
            for k, z in enumerate(outer):
                product = product * y + z * (k + 2) * y
            if depth + 1 == len(names):
                return product * y
            return product + y * at(depth + 1, (*outer, y))
        at_point = outer[-1] * outer[-1] + 1 if outer else x
        return apply[names[depth]](f, at_point)
    return at(0, ())


def check(names):
    want = float(nest(names, REFERENCE, Fraction(7, 10)))
    got = nest(names, TRANSFORMS, whet.tensor(0.7, dtype=whet.float64))
    assert got.shape == () and float(got.detach()) == pytest.approx(want, rel=1e-8, abs=1e-8), names
    assert not isinstance(got, whet.Tensor) or not got.requires_grad


PAIRS, TRIPLES = [list(itertools.product(TRANSFORMS, repeat=n)) for n in (2, 3)]


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_pairs(names):
    check(names)


@pytest.mark.parametrize("names", random.Random(0).sample(TRIPLES, 60), ids="-".join)
def test_triples(names):
    """Some of them; `python -m tests.autograd.test_nesting` takes all."""
    check(names)


if __name__ == "__main__":
    wrong = []
    for names in TRIPLES:
        try:
            check(names)
        except Exception as e:
            wrong.append(names)
            print("-".join(names), type(e).__name__, str(e)[:200])
    print(f"{len(TRIPLES) - len(wrong)} of {len(TRIPLES)} triples right")
