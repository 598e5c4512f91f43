"""Transforms in transforms, over closures: what they give is what exact difference quotients and
loops give.

    python -m tests.autograd.test_nesting                        all triples
    python -m tests.autograd.test_nesting --seconds 120 --seed 7   deeper nests, drawn

A program is a nest of transforms, and of what else takes a function (checkpoints, control flow, a
`Function` in front of it), each of a function of one number that closes over the variables of all
outer ones. The reference runs the same nest with 200 digits, where a difference quotient with a
tiny step is right to twenty of them.
"""
import argparse
import itertools
import random
import time
import warnings
from decimal import Context, Decimal, localcontext

import pytest
import whet
from whet import func
from whet.utils.checkpoint import checkpoint

STEP, DIGITS = Decimal(10) ** -20, 200


def one(x):
    return whet.ones_like(x)


class Square(whet.autograd.Function):
    """In the older form, without rules of its own."""
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * 2 * x


class RuledSquare(whet.autograd.Function):
    """With all the rules that there are."""
    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * 2 * x

    @staticmethod
    def jvp(ctx, t):
        x, = ctx.saved_tensors
        return 2 * x * t

    @staticmethod
    def vmap(info, in_dims, x):
        return RuledSquare.apply(x), in_dims[0]


def repeated(f, x):
    """f(f(x) / 4) / 4"""
    return whet.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, f(a) / 4), (whet.tensor(0), x))[
        1
    ]


def while_small(f, x):
    """f of a positive x doubled while it is below 3: as often as the number says."""
    return f(whet.while_loop(lambda a: (a > 0) & (a < 3), lambda a: (a * 2,), (x,))[0])


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
    "checkpoint": lambda f, x: checkpoint(f, x, use_reentrant=False),
    "Function": lambda f, x: f(Square.apply(x)),
    "ruled": lambda f, x: RuledSquare.apply(f(x)),
    "cond": lambda f, x: whet.cond(x > 1, f, lambda x: f(x) * x, (x,)),
    "while_loop": repeated,
    "while_small": while_small,
    "scan": lambda f, x: whet.scan(
        lambda c, y: (c + f(y), c * y), whet.zeros_like(x), whet.stack([x, 2 * x])
    )[0],
}


def slope(f, x):
    return (f(x + STEP) - f(x - STEP)) / (2 * STEP)


REFERENCE = {
    **dict.fromkeys(("grad", "vjp", "jvp", "jacfwd", "jacrev", "linearize"), slope),
    "hessian": lambda f, x: (f(x + STEP) - 2 * f(x) + f(x - STEP)) / STEP**2,
    "vmap": lambda f, x: f(x) + f(2 * x) + f(x * x),
    "trace": lambda f, x: f(x),
    "checkpoint": lambda f, x: f(x),
    "Function": lambda f, x: f(x * x),
    "ruled": lambda f, x: f(x) ** 2,
    "cond": lambda f, x: f(x) if x > 1 else f(x) * x,
    "while_loop": lambda f, x: f(f(x) / 4) / 4,
    "while_small": lambda f, x: f(doubled(x)),
    "scan": lambda f, x: f(x) + f(2 * x),
}


def doubled(x):
    while 0 < x < 3:
        x = x * 2
    return x


def nest(names, apply, x):
    """The nest of transforms at `x`: each function uses its own variable, those outside of it, and
    what the next transform makes of them."""
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
    with localcontext(Context(prec=DIGITS, Emax=10**9)):
        want = float(nest(names, REFERENCE, Decimal("0.7")))
    if abs(want) > 1e100:
        return                               # too steep for 16 digits
    got = nest(names, TRANSFORMS, whet.tensor(0.7, dtype=whet.float64))
    assert got.shape == () and float(got.detach()) == pytest.approx(want, rel=1e-8, abs=1e-8), names
    assert not isinstance(got, whet.Tensor) or not got.requires_grad


PAIRS, TRIPLES = [list(itertools.product(TRANSFORMS, repeat=n)) for n in (2, 3)]


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_pairs(names):
    check(names)


@pytest.mark.drawn(2)
@pytest.mark.parametrize("names", random.Random(0).sample(TRIPLES, 60), ids="-".join)
def test_triples(names):
    """Some of them; `python -m tests.autograd.test_nesting` takes all."""
    check(names)


def wrong(nests):
    """Those of some nests that are not right, with what is wrong."""
    for names in nests:
        try:
            check(names)
        except (Exception, AssertionError) as e:
            yield names, f"{type(e).__name__} {str(e)[:300]}"


def drawn(seed, seconds):
    """Nests of two to four for so long."""
    rng, end = random.Random(seed), time.monotonic() + seconds
    while time.monotonic() < end:
        yield tuple(rng.choices(list(TRANSFORMS), k=rng.choice((2, 3, 3, 3, 4))))


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--seconds", type=float)
    p.add_argument("--seed", type=int, default=0)
    a = p.parse_args()
    warnings.simplefilter("ignore")
    found = 0
    for names, what in wrong(TRIPLES if a.seconds is None else drawn(a.seed, a.seconds)):
        found += 1
        print("-".join(names), what, flush=True)
    print(f"{found} wrong")
    return int(bool(found))


if __name__ == "__main__":
    raise SystemExit(main())
