"""Data that an op refuses, at a call that is replayed: eager's error comes, whether anybody
reads the result or not."""
import warnings

import pytest
import whet
import whet.nn.functional as F
from whet import tensor

one, ones = tensor(2.0), whet.ones


def three(f, x=ones(3), good=(0, 1, 2), bad=((0, 1, 9), (0, -9, 2), (-1, 1, 2))):
    """A function of a tensor and three places in it, with places that are outside (-1: for
    some)."""
    return lambda i: f(x, i), tensor(good), [tensor(b) for b in bad]


def single(f):
    """The same of one place in a tensor without dimensions."""
    return three(f, one, (0,), ((1,), (-2,), (-1,)))


def two(f, good, *bad):
    return f, tensor(good), [tensor(b) for b in bad]


def checked(p):
    if not (p > 0).all():
        raise ValueError("not positive")
    return p


CASES = {
    "getitem": three(lambda x, i: x[i]),
    "setitem": three(lambda x, i: x.clone().__setitem__(i, 0.5)),
    "index_put": three(lambda x, i: x.clone().index_put_((i,), ones(3))),
    "index_put many": three(lambda x, i: x.clone().index_put_((i, i), ones(3), accumulate=True),
                            ones(3, 3)),
    "put": three(lambda x, i: x.clone().put_(i, ones(3))),
    "take": three(lambda x, i: x.take(i)),
    "take_along_dim": three(lambda x, i: whet.take_along_dim(x, i, 0)),
    "gather": three(lambda x, i: x.gather(0, i)),
    "scatter": three(lambda x, i: x.scatter(0, i, ones(3))),
    "scatter a number": three(lambda x, i: x.clone().scatter_(0, i, 1.5)),
    "scatter_add": three(lambda x, i: x.scatter_add(0, i, ones(3))),
    "scatter_add of rows": three(
        lambda x, i: x.expand(4, 3).T.scatter_add(0, i[:, None].expand(3, 4), ones(3, 4))),
    "gather of rows": three(
        lambda x, i: x.expand(4, 3).T.contiguous().gather(0, i[:, None].expand(3, 4))),
    "scatter_reduce": three(lambda x, i: x.scatter_reduce(0, i, ones(3), "amax")),
    "index_select": three(lambda x, i: x.index_select(0, i)),
    "index_add": three(lambda x, i: x.index_add(0, i, ones(3))),
    "index_copy": three(lambda x, i: x.index_copy(0, i, ones(3))),
    "index_fill": three(lambda x, i: x.index_fill(0, i, 2.0)),
    "index_reduce": three(lambda x, i: x.index_reduce(0, i, ones(3), "prod")),
    "one gather": single(lambda x, i: x.gather(0, i)),
    "one scatter": single(lambda x, i: x.scatter(0, i, ones(1))),
    "one scatter_add": single(lambda x, i: x.scatter_add(0, i, ones(1))),
    "one index_add": single(lambda x, i: x.index_add(0, i, ones(()))),
    "one index_copy": single(lambda x, i: x.index_copy(0, i, ones(1))),
    "one index_fill": single(lambda x, i: x.index_fill(0, i, 2.0)),
    "one index_reduce": single(lambda x, i: x.index_reduce(0, i, ones(()), "mean")),
    "one take": single(lambda x, i: x.take(i)),
    "one_hot": three(lambda x, i: F.one_hot(i, 3)),
    "embedding": three(lambda x, i: F.embedding(i, x), ones(3, 2)),
    "embedding_bag": three(lambda x, i: F.embedding_bag(i, x, tensor([0, 1])), ones(3, 2)),
    "nll_loss": three(lambda x, i: F.nll_loss(x, i), ones(3, 3)),
    "cross_entropy": three(lambda x, i: F.cross_entropy(x, i), ones(3, 3)),
    "max_unpool1d": three(lambda x, i: F.max_unpool1d(ones(1, 1, 3), i.reshape(1, 1, 3), 1)),
    "bincount": three(lambda x, i: i.bincount()),
    "repeat_interleave": three(lambda x, i: x.repeat_interleave(i)),
    "floor_divide": three(lambda x, i: whet.full((3,), 2) // i, good=(1, 2, 3), bad=((1, 0, 1),)),
    "masked_scatter": two(lambda p: ones(2).masked_scatter(p > 0, one), [1.0, -1.0], [1.0, 1.0]),
    "masked_scatter_": two(lambda p: ones(2, 2).masked_scatter_(p > 0, ones(2)), [1.0, -1.0],
                           [1.0, 1.0]),
    "bernoulli": two(whet.bernoulli, [0.5, 0.5], [0.5, 1.5]),
    "multinomial": two(lambda p: whet.multinomial(p, 2), [0.5, 0.5], [0.5, -1.5], [1.0, 0.0],
                       [0.0, 0.0]),
    "normal": two(lambda p: whet.normal(0 * p, p), [0.5, 0.5], [0.5, -1.5]),
    "poisson": two(whet.poisson, [0.5, 0.5], [0.5, -1.5]),
    "quantile": two(lambda p: whet.quantile(ones(4), p), [0.5, 0.5], [0.5, 1.5]),
    "binary_cross_entropy": two(lambda p: F.binary_cross_entropy(p, ones(2)), [0.5, 0.5],
                                [0.5, 1.5]),
    "binary_cross_entropy's target": two(lambda p: F.binary_cross_entropy(ones(2) / 2, p),
                                         [0.5, 0.5], [0.5, -0.5], [0.5, float("nan")]),
    "gaussian_nll_loss": two(lambda p: F.gaussian_nll_loss(ones(2), ones(2), p), [0.5, 0.5],
                             [0.5, -1.5]),
    "cholesky": two(lambda p: whet.linalg.cholesky(p.diag()), [0.5, 0.5], [0.5, -1.5]),
    "inv": two(lambda p: whet.linalg.inv(p.diag()), [0.5, 0.5], [0.5, 0.0]),
    "histc": two(lambda p: whet.histc(p), [0.5, 0.7], [0.5, float("inf")]),
    "Normal": two(lambda p: whet.distributions.Normal(0.0, p).entropy(), [0.5, 0.7], [0.5, -1.0]),
    "log_prob": two(lambda p: whet.distributions.Exponential(ones(2)).log_prob(p), [0.5, 0.7],
                    [0.5, -1.0]),
    "arange": two(lambda p: whet.arange(p[0].item()), [3.0, 1.0], [-1.0, 1.0]),
    "an error of the user's": two(checked, [0.5, 0.7], [0.5, -1.0]), }


@pytest.mark.parametrize("unread", [False, True], ids=["read", "unread"])
@pytest.mark.parametrize("name", CASES)
def test_refused_data(name, unread):
    f, good, bad = CASES[name]

    def g(x):
        y = f(x)
        return x * 2 if unread else y

    def seen(f, x, k):
        whet.manual_seed(k)
        try:
            y = f(x)
        except Exception as e:
            return f"{type(e).__name__}: {e}"
        return [str(t) for t in (y if type(y) is tuple else (y,))]
    traced = whet.jit.trace(g)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        calls = [good, good, good, *bad, good]
        wanted = [seen(g, x, k) for k, x in enumerate(calls)]
        assert [seen(traced, x, k) for k, x in enumerate(calls)] == wanted
    assert type(wanted[0]) is list and any(type(want) is str for want in wanted)
    assert sum(path["calls"] for path in traced.explain(data=True)["paths"]) >= 2
