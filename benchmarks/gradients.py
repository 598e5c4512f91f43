"""Gradients of hot functions: the forward traced and the backward called outside, as users of
PyTorch and `torch.compile` do it; and both in one traced function ("whole"), as `jax.jit` has
them."""
import warnings

import numpy as np

from .harness import Table, peer, threads, timings
from .traced import FUNCTIONS, _array

NAMES = [
    "pointwise chain", "gelu by hand", "SwiGLU", "softplus by hand", "softmax by hand",
    "softmax cross-entropy", "layer norm by hand", "RMS norm", "attention, short",
    "attention, long", "rotary embedding", "RNN cell", "Black-Scholes", "pairwise distances",
    "Gaussian kernel", "stencil", "MLP on a batch", "variance over rows", "KL of a Gaussian",
    "clipped policy loss"]


def by_backward(m, fn, xs, gs):
    """A call that leaves gradients in all arguments, as a user of a traced or compiled function
    makes it. `gs`: the results' gradients."""
    def call():
        for x in xs:
            x.grad = None
        m.autograd.backward(fn(*xs), gs)
        return [x.grad for x in xs]
    return call


def _several(out):
    return out if isinstance(out, tuple) else (out,)


def _torch_calls(torch, fn, arrays, given):
    """{who: call} of torch, eager and compiled."""
    torch._dynamo.reset()
    xs, gs = [torch.tensor(a, requires_grad=True) for a in arrays], [torch.tensor(g) for g in given]
    compiled = torch.compile(lambda *xs: fn(torch, *xs), dynamic=False)
    return {
        "torch": by_backward(torch, lambda *xs: fn(torch, *xs), xs, gs),
        "torch.compile": by_backward(torch, compiled, xs, gs)}


def _jax_call(jax, fn, arrays, given):
    def pulled(xs, gs):
        out, pull = jax.vjp(lambda *xs: _several(fn(jax.numpy, *xs)), *xs)
        return out, pull(gs)
    jitted = jax.jit(pulled)
    xs, gs = ([jax.numpy.asarray(a) for a in x] for x in (arrays, given))
    return lambda: jax.block_until_ready(jitted(xs, tuple(gs)))[1]


def _check(name, fns, want):
    """Do all give the gradients that eager whet gives, and traces its bits?"""
    for who, call in fns.items():
        for a, b in zip(call(), want, strict=True):
            if who in ("whet", "whole"):
                np.testing.assert_array_equal(np.asarray(a), b,
                                              err_msg=f"{name}: traced and eager disagree")
            scale = max(np.abs(b).max(), 1e-6)
            np.testing.assert_allclose(
                np.asarray(a) / scale, b / scale, atol=2e-3,
                err_msg=f"{name}: {who} and whet disagree")


def main(seconds=0.15):
    """Measure and write the table."""
    import whet
    import whet.jit
    whet.set_num_threads(threads())
    torch, jax = peer("torch"), peer("jax")
    if torch:
        torch.set_num_threads(threads())
        warnings.filterwarnings("ignore", module="torch")
    rng = np.random.default_rng(0)
    table = Table("gradients",
                  f"forward and backward of hot functions, f32, {threads()} thread(s)",
                  ["torch", "torch.compile"])
    for name in NAMES:
        fn, sizes = FUNCTIONS[name]
        for shapes in sizes:
            arrays = [_array(rng, s, shapes[0][0]) for s in shapes]
            ours = [whet.tensor(a, requires_grad=True) for a in arrays]
            given = [rng.standard_normal(x.shape).astype("f4") for x in _several(fn(np, *arrays))]
            gs = [whet.tensor(g) for g in given]
            eager = by_backward(whet, lambda *xs, fn=fn: fn(whet, *xs), ours, gs)
            traced = whet.jit.trace(lambda *xs, fn=fn: fn(whet, *xs))
            fns = {
                "whet": by_backward(whet, traced, ours, gs), "eager": eager,
                "whole": whet.jit.trace(eager)}
            want = [g.numpy().copy() for g in eager()]
            if torch:
                fns |= _torch_calls(torch, fn, arrays, given)
            if jax:
                fns["jax"] = _jax_call(jax, fn, arrays, given)
            _check(name, fns, want)
            times = timings(fns, seconds)
            more = {"whole / jax": f"{times['whole'] / times['jax']:.2f}"} if jax else {}
            table.add(f"{name} {'x'.join(map(str, shapes[0]))}",
                      times,
                      **{"traced / eager": f"{times['whet'] / times['eager']:.2f}", **more})
    table.finish()
