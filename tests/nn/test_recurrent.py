"""Recurrent layers as one op: equal to their cells step by step, forwards, back, and under
transforms."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
import whet
from whet import func, nn
from whet.ops import recurrent

LAYERS = {
    "rnn": lambda *a, **kw: nn.RNN(*a, **kw),
    "relu": lambda *a, **kw: nn.RNN(*a, nonlinearity="relu", **kw),
    "gru": lambda *a, **kw: nn.GRU(*a, **kw),
    "lstm": lambda *a, **kw: nn.LSTM(*a, **kw)}
FORMS = {
    "plain": {}, "both ways, two layers": {"num_layers": 2, "bidirectional": True},
    "no bias": {"bias": False, "batch_first": True}}


def leaves(state):
    return list(state) if isinstance(state, tuple) else [state]


@pytest.fixture
def by_steps(monkeypatch):
    """Calls a function with layers that take their steps one by one."""
    def call(fn, *args):
        with monkeypatch.context() as m:
            m.setattr(recurrent, "direction", lambda *_: None)
            return fn(*args)
    return call


def gradients(layer, x, state=None):
    """(results, gradients of the input, the state and the parameters)"""
    x = x.detach().requires_grad_()
    given = [s.detach().requires_grad_() for s in leaves(state)] if state is not None else []
    layer.zero_grad()
    y, last = layer(x, (tuple(given) if len(given) > 1 else given[0]) if given else None)
    weights = whet.arange(float(y.numel()), dtype=y.dtype).reshape(y.shape).cos()
    ((y * weights).sum() + sum((s * s).sum() for s in leaves(last))).backward()
    return [y.detach(), *(s.detach() for s in leaves(last))], [
        x.grad, *(s.grad for s in given), *(p.grad for p in layer.parameters())]


@pytest.mark.parametrize("sizes", [(5, 3, 4, 6), (7, 16, 20, 48), (3, 33, 8, 270), (2, 2, 3, 17)])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", LAYERS)
def test_all_steps_at_once_are_the_steps(kind, form, sizes, by_steps):
    length, batch, inside, size = sizes
    layer = LAYERS[kind](inside, size, **FORMS[form])
    x = whet.randn(length, batch, inside)
    if form == "no bias":
        x = x.transpose(0, 1)
    rows = layer.num_layers * (2 if layer.bidirectional else 1)
    state = [whet.randn(rows, batch, size) for _ in range(2 if kind == "lstm" else 1)]
    for given in (None, tuple(state) if len(state) > 1 else state[0]):
        made, slopes = gradients(layer, x, given)
        wanted, others = by_steps(gradients, layer, x, given)
        for a, b in zip(made, wanted, strict=True):
            assert a.numpy().tobytes() == b.numpy().tobytes()
        # what is summed over all steps is summed in another order
        for a, b in zip(slopes, others, strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("kind", LAYERS)
def test_rows_know_nothing_of_each_other(kind):
    """No bit of a row depends on how many there are."""
    layer, x = LAYERS[kind](5, 21), whet.randn(6, 31, 5)
    with whet.no_grad():
        whole = layer(x)[0].numpy()
        for first, last in ((0, 1), (3, 5), (7, 12), (14, 28), (0, 30)):
            part = layer(x[:, first:last].contiguous())[0].numpy()
            assert part.tobytes() == np.ascontiguousarray(whole[:, first:last]).tobytes()


@pytest.mark.parametrize("kind", LAYERS)
def test_only_one_of_the_results_is_used(kind, by_steps):
    layer, x = LAYERS[kind](3, 5).double(), whet.randn(4, 2, 3, dtype=whet.float64)

    def slopes(which):
        layer.zero_grad()
        y, last = layer(x)
        [y, *leaves(last)][which].square().sum().backward()
        return [p.grad.clone() for p in layer.parameters()]
    for which in range(3 if kind == "lstm" else 2):
        for a, b in zip(slopes(which), by_steps(slopes, which), strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", LAYERS)
def test_gradients_of_gradients(kind, by_steps):
    layer = LAYERS[kind](3, 4).double()
    x = whet.randn(4, 2, 3, dtype=whet.float64).requires_grad_()

    def second():
        y, _ = layer(x)
        slope, = whet.autograd.grad(y.square().sum(), x, create_graph=True)
        return whet.autograd.grad(slope.square().sum(), [x, *layer.parameters()])
    for a, b in zip(second(), by_steps(second), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("kind", LAYERS)
def test_transforms_go_through(kind, by_steps):
    layer = LAYERS[kind](3, 4).double()
    params = {k: v.detach() for k, v in layer.named_parameters()}
    xs = whet.randn(5, 4, 2, 3, dtype=whet.float64)
    many = {k: whet.stack([v, v * 0.5, v + 0.1, -v, v * 2]) for k, v in params.items()}

    def loss(p, x):
        return func.functional_call(layer, p, (x,))[0].square().sum()

    def all_of_it():
        return [
            func.vmap(lambda x: layer(x)[0])(xs), func.vmap(loss)(many, xs),
            *func.vmap(func.grad(loss), in_dims=(None, 0))(params, xs).values(),
            *func.jvp(lambda x: layer(x)[0], (xs[0],), (xs[1],)),
            func.jacrev(lambda x: layer(x)[0][-1])(xs[0]),
            func.jacfwd(lambda x: layer(x)[0][-1])(xs[0]),
            func.hessian(lambda x: layer(x)[0].square().sum())(xs[0, :2, :1])]
    for a, b in zip(all_of_it(), by_steps(all_of_it), strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-11)


def test_what_was_kept_is_written_over_only_where_nobody_reads_it_again():
    layer, x = nn.GRU(3, 4), whet.randn(4, 2, 3)

    def run(times, pack=None):
        layer.zero_grad()
        hooks = whet.autograd.graph.saved_tensors_hooks(*pack) if pack else None
        if hooks:
            with hooks:
                y = layer(x)[0]
        else:
            y = layer(x)[0]
        loss = y.square().sum()
        for k in range(times):
            layer.zero_grad()
            loss.backward(retain_graph=k < times - 1)
        return [p.grad.numpy().tobytes() for p in layer.parameters()], loss
    wanted, loss = run(1)
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()
    assert run(3)[0] == wanted
    held = []

    def pack(t):
        held.append((t, t.clone()))
        return t
    assert run(1, (pack, lambda t: t))[0] == wanted
    assert all(bool((a == b).all()) for a, b in held)


def test_outputs_may_be_written_to():
    """The backward does not read them."""
    layer, x = nn.LSTM(3, 4), whet.randn(4, 2, 3)
    y, (h, c) = layer(x)
    (y.mul_(2).sum() + h.zero_().sum() + c.sum()).backward()
    mine = layer.weight_hh_l0.grad.clone()
    layer.zero_grad()
    y, (h, c) = layer(x)
    (2 * y.sum() + c.sum()).backward()
    assert mine.numpy().tobytes() == layer.weight_hh_l0.grad.numpy().tobytes()


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_any_number_of_threads_gives_the_same(threads):
    layer, x = nn.LSTM(16, 40), whet.randn(20, 70, 16)
    before = whet.get_num_threads()
    try:
        whet.set_num_threads(1)
        wanted = [t.numpy().tobytes() for part in gradients(layer, x) for t in part]
        whet.set_num_threads(threads)
        assert [t.numpy().tobytes() for part in gradients(layer, x) for t in part] == wanted
    finally:
        whet.set_num_threads(before)


WITHOUT_KERNELS = """
import sys, numpy as np, whet
from whet import nn
values = []
for kind, form in (("RNN", {}), ("GRU", {"bidirectional": True}), ("LSTM", {"bias": False})):
    whet.manual_seed(1)
    layer, x = getattr(nn, kind)(5, 19, **form), whet.randn(4, 3, 5).requires_grad_()
    y, _ = layer(x)
    y.square().sum().backward()
    values += [y.detach(), x.grad, *(p.grad for p in layer.parameters())]
np.save(sys.argv[1], np.concatenate([v.numpy().ravel() for v in values]))
"""


def test_without_kernels_it_is_the_same_but_for_roundings(tmp_path):
    found = []
    for k, env in enumerate(({}, {"WHET_CPU": "numpy"})):
        path = tmp_path / f"{k}.npy"
        subprocess.run([sys.executable, "-c", WITHOUT_KERNELS, path], check=True,
                       env={**__import__("os").environ, **env})
        found.append(np.load(path))
    np.testing.assert_allclose(*found, rtol=1e-4, atol=1e-5)


def test_lengths_of_none_and_one():
    for kind, length in itertools.product(LAYERS, (0, 1)):
        y, _ = LAYERS[kind](3, 4)(whet.randn(length, 2, 3))
        assert y.shape == (length, 2, 4)


@pytest.mark.parametrize("kind", LAYERS)
def test_no_sequences(kind):
    made, slopes = gradients(LAYERS[kind](3, 4), whet.randn(5, 0, 3))
    assert made[0].shape == (5, 0, 4) and all(not s.numpy().any() for s in slopes)
