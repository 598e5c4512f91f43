"""Hot functions of research code, traced, beside eager whet, PyTorch eager and jax.jit."""
import time

import numpy as np

from .harness import Table, peer, threads, timings


def _rotate(m, x):
    h = x.shape[-1] // 2
    return m.cat((-x[..., h:], x[..., :h]), -1) if hasattr(m, "cat") else m.concatenate((-x[..., h:], x[..., :h]), -1)


def _softmax(m, x):
    if hasattr(m, "cat"):
        e = m.exp(x - x.amax(-1, keepdim=True))
        return e / e.sum(-1, keepdim=True)
    e = m.exp(x - m.amax(x, -1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _chain(m, x, y):
    return m.tanh(x * 2 + y) * m.exp(-x * x) + m.sqrt(m.abs(y))


def _gelu(m, x):
    return 0.5 * x * (1 + m.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def _softplus(m, x):
    return m.log1p(m.exp(-m.abs(x))) + (x + m.abs(x)) * 0.5


def _layer_norm(m, x, g, b):
    centred = x - x.mean(-1)[..., None]
    return centred / m.sqrt((centred ** 2).mean(-1)[..., None] + 1e-5) * g + b


def _attention(m, q, k, v):
    return _softmax(m, q @ k.swapaxes(-1, -2) * 0.125) @ v


def _rotary(m, x, c, s):
    return x * c + _rotate(m, x) * s


def _rnn(m, x, h, w, u, b):
    return m.tanh(x @ w + h @ u + b)


def _gru(m, z, r, n, h):
    update = 1 / (1 + m.exp(-z))
    return (1 - update) * m.tanh(n * (1 / (1 + m.exp(-r)))) + update * h


def _adam(m, p, g, a, v):
    a, v = 0.9 * a + 0.1 * g, 0.999 * v + 0.001 * g * g
    return p - 1e-3 * a / (m.sqrt(v) + 1e-8), a, v


def _black_scholes(m, s, k, t):
    d = (m.log(s / k) + 0.065 * t) / (0.3 * m.sqrt(t))
    return s / (1 + m.exp(-1.702 * d)) - k * m.exp(-0.02 * t) / (1 + m.exp(-1.702 * (d - 0.3 * m.sqrt(t))))


def _distances(m, x, y):
    return m.sqrt(((x[:, None, :] - y[None, :, :]) ** 2).sum(-1))


def _bodies(m, p, w):
    d = p[None, :, :] - p[:, None, :]
    return (d * (w / ((d * d).sum(-1) + 0.01) ** 1.5)[..., None]).sum(1)


def _stencil(m, x):
    return x[1:-1, 1:-1] + 0.1 * (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2] - 4 * x[1:-1, 1:-1])


def _mandelbrot(m, x, y, a, b):
    return x * x - y * y + a, 2 * x * y + b


def _mlp(m, x, a, b, c, d, e, f):
    return m.tanh(m.tanh(x @ a + b) @ c + d) @ e + f


def _variance(m, x):
    return ((x - x.mean(0)) ** 2).mean(0)


# name -> (function of (module, *arrays), the arrays' shapes for each size)
FUNCTIONS = {
    "pointwise chain": (_chain, [((64,),) * 2, ((1 << 16,),) * 2, ((1 << 20,),) * 2]),
    "gelu by hand": (_gelu, [((4, 64),), ((256, 1024),)]),
    "softplus by hand": (_softplus, [((64, 64),), ((1024, 1024),)]),
    "softmax by hand": (_softmax, [((16, 16),), ((256, 1024),)]),
    "layer norm by hand": (_layer_norm, [((16, 64), (64,), (64,)), ((512, 768), (768,), (768,))]),
    "attention": (_attention, [((2, 16, 64),) * 3, ((8, 128, 64),) * 3]),
    "rotary embedding": (_rotary, [((4, 16, 64), (16, 64), (16, 64)), ((8, 512, 64), (512, 64), (512, 64))]),
    "RNN cell": (_rnn, [((8, 32), (8, 64), (32, 64), (64, 64), (64,)), ((64, 256), (64, 512), (256, 512), (512, 512), (512,))]),
    "GRU gates": (_gru, [((8, 64),) * 4, ((256, 512),) * 4]),
    "Adam update": (_adam, [((256,),) * 4, ((1 << 18,),) * 4]),
    "Black-Scholes": (_black_scholes, [((1024,),) * 3, ((1 << 18,),) * 3]),
    "pairwise distances": (_distances, [((32, 3),) * 2, ((256, 16),) * 2]),
    "n-body": (_bodies, [((32, 3), (32,)), ((256, 3), (256,))]),
    "stencil": (_stencil, [((64, 64),), ((1024, 1024),)]),
    "Mandelbrot step": (_mandelbrot, [((64, 64),) * 4, ((512, 512),) * 4]),
    "MLP on one row": (_mlp, [((1, 16), (16, 32), (32,), (32, 32), (32,), (32, 4), (4,))]),
    "variance over rows": (_variance, [((64, 64),), ((1024, 1024),)]),
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
            fns["numpy"] = lambda: fn(np, *arrays)
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
            notes = {"eager": f"{times['whet'] / times['eager']:.2f}", **({"refused": refused} if refused else {})}
            table.add(f"{name} {'x'.join(map(str, shapes[0]))}", times, **notes)
    for k, v in compile_times.items():
        if v:
            print(f"first two calls, {k}: median {sorted(v)[len(v) // 2] * 1e3:.1f} ms")
    table.finish()
