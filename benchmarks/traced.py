"""Hot functions of research code, traced, beside eager whet, PyTorch eager and jax.jit."""
import time

import numpy as np

from .harness import Table, peer, threads, timings


def _rotate(m, x):
    h = x.shape[-1] // 2
    return m.cat((-x[..., h:], x[..., :h]), -1) if hasattr(m, "cat") else m.concatenate((-x[..., h:], x[..., :h]), -1)


def _softmax(m, x):
    e = m.exp(x - m.amax(x, -1, keepdims=True) if not hasattr(m, "cat") else x - x.amax(-1, keepdim=True))
    return e / (e.sum(-1, keepdims=True) if not hasattr(m, "cat") else e.sum(-1, keepdim=True))


def _matmul(x, y):
    return x @ y


# name -> (function of (module, *arrays), shapes for each size)
FUNCTIONS = {
    "pointwise chain": (lambda m, x, y: m.tanh(x * 2 + y) * m.exp(-x * x) + m.sqrt(m.abs(y)), [((64,), (64,)), ((1 << 16,), (1 << 16,)), ((1 << 20,), (1 << 20,))]),
    "gelu by hand": (lambda m, x: 0.5 * x * (1 + m.tanh(0.7978845608 * (x + 0.044715 * x * x * x))), [((4, 64),), ((256, 1024),)]),
    "softplus chain": (lambda m, x: m.log1p(m.exp(-m.abs(x))) + (x + m.abs(x)) * 0.5, [((64, 64),), ((1024, 1024),)]),
    "softmax by hand": (_softmax, [((16, 16),), ((256, 1024),)]),
    "layer norm by hand": (lambda m, x, g, b: (x - x.mean(-1)[..., None]) / m.sqrt(((x - x.mean(-1)[..., None]) ** 2).mean(-1)[..., None] + 1e-5) * g + b,
                           [((16, 64), (64,), (64,)), ((512, 768), (768,), (768,))]),
    "attention": (lambda m, q, k, v: _matmul(_softmax(m, _matmul(q, k.swapaxes(-1, -2)) * 0.125), v),
                  [((2, 16, 64),) * 3, ((8, 128, 64),) * 3]),
    "rotary embedding": (lambda m, x, c, s: x * c + _rotate(m, x) * s, [((4, 16, 64), (16, 64), (16, 64)), ((8, 512, 64), (512, 64), (512, 64))]),
    "RNN cell": (lambda m, x, h, w, u, b: m.tanh(x @ w + h @ u + b), [((8, 32), (8, 64), (32, 64), (64, 64), (64,)), ((64, 256), (64, 512), (256, 512), (512, 512), (512,))]),
    "GRU gates": (lambda m, z, r, n, h: (1 - 1 / (1 + m.exp(-z))) * m.tanh(n * (1 / (1 + m.exp(-r)))) + (1 / (1 + m.exp(-z))) * h,
                  [((8, 64),) * 4, ((256, 512),) * 4]),
    "Adam update": (lambda m, p, g, a, v: (p - 1e-3 * (0.9 * a + 0.1 * g) / (m.sqrt(0.999 * v * v + 0.001 * g * g) + 1e-8), 0.9 * a + 0.1 * g),
                    [((256,),) * 4, ((1 << 18,),) * 4]),
    "Black-Scholes": (lambda m, s, k, t: (lambda d: s / (1 + m.exp(-1.702 * d)) - k * m.exp(-0.02 * t) / (1 + m.exp(-1.702 * (d - 0.3 * m.sqrt(t)))))(
        (m.log(s / k) + 0.065 * t) / (0.3 * m.sqrt(t))), [((1024,),) * 3, ((1 << 18,),) * 3]),
    "pairwise distances": (lambda m, x, y: m.sqrt(((x[:, None, :] - y[None, :, :]) ** 2).sum(-1)), [((32, 3), (32, 3)), ((256, 16), (256, 16))]),
    "n-body": (lambda m, p, w: (lambda d: (d * (w / ((d * d).sum(-1) + 0.01) ** 1.5)[..., None]).sum(1))(p[None, :, :] - p[:, None, :]),
               [((32, 3), (32,)), ((256, 3), (256,))]),
    "stencil": (lambda m, x: x[1:-1, 1:-1] + 0.1 * (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2] - 4 * x[1:-1, 1:-1]), [((64, 64),), ((1024, 1024),)]),
    "Mandelbrot step": (lambda m, x, y, a, b: (x * x - y * y + a, 2 * x * y + b), [((64, 64),) * 4, ((512, 512),) * 4]),
    "MLP on one row": (lambda m, x, a, b, c, d, e, f: m.tanh(m.tanh(x @ a + b) @ c + d) @ e + f, [((1, 16), (16, 32), (32,), (32, 32), (32,), (32, 4), (4,))]),
    "variance over rows": (lambda m, x: ((x - x.mean(0)) ** 2).mean(0), [((64, 64),), ((1024, 1024),)]),
}


def main():
    """Measure and write the table."""
    import whet
    import whet.jit
    whet.set_num_threads(threads())
    torch, jax = peer("torch"), peer("jax")
    if torch:
        torch.set_num_threads(threads())
    rng = np.random.default_rng(0)
    table = Table("traced", f"hot functions, f32, {threads()} thread(s); the ratio is to the best of the others", ["torch", "jax", "numpy"])
    compile_times = {"whet": [], "jax": []}
    for name, (fn, sizes) in FUNCTIONS.items():
        for shapes in sizes:
            arrays = [rng.uniform(0.5, 1.5, s).astype("f4") for s in shapes]
            ours = [whet.tensor(a) for a in arrays]
            traced = whet.jit.trace(lambda *xs, fn=fn: fn(whet, *xs))
            t = time.perf_counter()
            traced(*ours)
            traced(*ours)
            compile_times["whet"].append(time.perf_counter() - t)
            refused = traced.explain(data=True)["refused"] or traced.why
            fns = {"whet": lambda: traced(*ours), "eager": lambda: fn(whet, *ours)}
            if "m.cat" not in name:
                try:
                    fn(np, *arrays)
                    fns["numpy"] = lambda: fn(np, *arrays)
                except (TypeError, AttributeError):
                    pass
            if torch:
                theirs = [torch.tensor(a) for a in arrays]
                fns["torch"] = lambda: fn(torch, *theirs)
            if jax:
                compiled = jax.jit(lambda *xs, fn=fn: fn(jax.numpy, *xs))
                inputs = [jax.numpy.asarray(a) for a in arrays]
                t = time.perf_counter()
                jax.block_until_ready(compiled(*inputs))
                compile_times["jax"].append(time.perf_counter() - t)
                fns["jax"] = lambda: jax.block_until_ready(compiled(*inputs))
            times = timings(fns, 0.15)
            table.add(f"{name} {'x'.join(map(str, shapes[0]))}", times, eager=f"{times['whet'] / times['eager']:.2f}", **({"refused": refused} if refused else {}))
    for k, v in compile_times.items():
        if v:
            print(f"first two calls, {k}: median {sorted(v)[len(v) // 2] * 1e3:.1f} ms")
    table.finish()
