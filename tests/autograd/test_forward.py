"""Forward mode: of every registered op it is the transpose of its backward; and what dual
tensors do beyond single ops."""
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
