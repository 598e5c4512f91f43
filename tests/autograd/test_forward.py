"""Forward mode: of every registered op it is the transpose of its backward; and what dual
tensors do beyond single ops."""
import math

import numpy as np
import pytest
import whet
from whet import func
from whet.dtypes import FLOAT
from whet.ops.registry import REGISTRY

from tests.ops.test_ops import RANDOM, calls

DIFFERENTIABLE = [
    n for n in sorted(REGISTRY)
    if n not in RANDOM and REGISTRY[n].samples is not None and REGISTRY[n].differentiable]


def inner_product(xs, ys):
    return sum(float((x * y.conj()).sum().real) for x, y in zip(xs, ys))


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_the_forward_product_is_the_transposed_backward(name):
    op, rng = REGISTRY[name], np.random.default_rng(0)

    def like(t):
        x = (rng.standard_normal(t.shape) +
             (1j * rng.standard_normal(t.shape) if t.is_complex() else 0))
        return whet.tensor(x, dtype=t.dtype)
    for sample in calls(op):
        at = [i for i, a in enumerate(sample.args) if whet.is_tensor(a) and a.requires_grad]
        if not at:
            continue

        def f(*xs, sample=sample, at=at):
            args = list(sample.args)
            for i, x in zip(at, xs):
                args[i] = x
            out = op(*args, **sample.kwargs)
            out = out if isinstance(out, tuple) else (out,)
            return tuple(o for i, o in enumerate(out)
                         if i not in op.nondiff_outputs and o.dtype.category >= FLOAT)
        for moving in (at, at[:1], at[1:]):
            if not moving:
                continue
            rest = {i: sample.args[i].detach() for i in at if i not in moving}
            g = lambda *xs: f(*[rest.get(i) if i in rest else xs[moving.index(i)]
                                for i in at])    # noqa: B023, E731
            xs = tuple(sample.args[i].detach() for i in moving)
            vs = tuple(map(like, xs))
            out, tangents = func.jvp(g, xs, vs)
            us = tuple(map(like, out))
            back = func.vjp(g, *xs)[1](us)
            for o, t in zip(out, tangents):
                assert o.shape == t.shape and o.dtype is t.dtype
            assert (inner_product(tangents, us)
                    == pytest.approx(inner_product(vs, back), rel=1e-8, abs=1e-9)), (sample, moving)


def test_modules_are_built_and_filled_inside():
    def of(x):
        layer = whet.nn.Linear(3, 3)
        with whet.no_grad():
            layer.weight.copy_(whet.ones(3, 3))
            layer.bias.copy_(whet.zeros(3))
        attention = whet.nn.MultiheadAttention(4, 2)
        assert not attention.in_proj_bias.any()
        return layer(x)
    for transformed in (lambda x, v: func.jvp(of, (x,), (v,))[1],
                        lambda x, v: func.linearize(of, x)[1](v)):
        assert whet.equal(transformed(whet.ones(2, 3), whet.ones(2, 3)), whet.full((2, 3), 3.0))
    with pytest.raises(RuntimeError, match="into one from outside"):
        func.jvp(whet.zeros(3).copy_, (whet.ones(3),), (whet.ones(3),))


@pytest.mark.parametrize("dtype", [whet.float64, whet.complex128])
def test_tangents_of_running_sums_of_exponentials(dtype):
    x = whet.randn(6, dtype=dtype, generator=whet.Generator().manual_seed(0)).requires_grad_()

    def f(x):
        return x.logcumsumexp(0)
    assert whet.autograd.gradcheck(f, x, check_forward_ad=True)
    assert whet.autograd.gradgradcheck(f, x, check_fwd_over_rev=True)


def test_tangents_of_running_sums_of_numbers_far_apart():
    x, t = whet.tensor([-math.inf, -800.0, 0, 1, 900]), whet.tensor([1.0, 2, 3, 3, 5])
    _, made = whet.func.jvp(lambda x: x.logcumsumexp(0), (x,), (t,))
    whet.testing.assert_close(made, whet.tensor([0.0, 2, 3, 3, 5]))


class Square(whet.autograd.Function):
    """With a wrong rule for tangents."""
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0]

    @staticmethod
    def jvp(ctx, t):
        return 3 * t * ctx.saved_tensors[0]


def test_gradients_are_checked_in_the_modes_that_are_asked_for():
    check, x = whet.autograd.gradcheck, whet.ones(2, dtype=whet.float64, requires_grad=True)
    assert check(Square.apply, x)
    for ways in ({}, {"check_backward_ad": False}, {"check_batched_forward_grad": True}):
        with pytest.raises(RuntimeError, match="in forward mode"):
            check(Square.apply, x, check_forward_ad=True, **ways)
    assert check(lambda x: (x.exp(), x.sum()), x, check_forward_ad=True, check_batched_grad=True,
                 check_batched_forward_grad=True)
    with pytest.raises(AssertionError, match="at least one"):
        check(Square.apply, x, check_backward_ad=False)


def test_batched_gradients_are_checked():
    class AsksForNumbers(Square):
        @staticmethod
        def backward(ctx, g):
            return g * 2 if g.sum().item() else g * 0
    x = whet.ones(2, dtype=whet.float64, requires_grad=True)
    assert whet.autograd.gradcheck(AsksForNumbers.apply, x)
    with pytest.raises(RuntimeError, match="vmap"):
        whet.autograd.gradcheck(AsksForNumbers.apply, x, check_batched_grad=True)
