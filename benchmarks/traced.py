"""Hot functions of research code, traced, beside eager whet, PyTorch (eager and compiled),
jax.jit and NumPy."""
import os
import statistics
import time
import warnings

import numpy as np

from .harness import RESULTS, Table, peer, threads, timings


# Each function is written once, in names and arguments that all four frameworks share.
def _sigmoid(m, x):
    return 1 / (1 + m.exp(-x))


def _cat(m, *xs):
    return (m.cat if hasattr(m, "cat") else m.concatenate)(xs, -1)


def _top(m, x):
    return m.amax(x, -1)[..., None]


def _softmax(m, x):
    e = m.exp(x - _top(m, x))
    return e / e.sum(-1)[..., None]


def _chain(m, x, y):
    return m.tanh(x * 2 + y) * m.exp(-x * x) + m.sqrt(m.abs(y))


def _gelu(m, x):
    return 0.5 * x * (1 + m.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def _swiglu(m, x, w, v):
    a = x @ w
    return a * _sigmoid(m, a) * (x @ v)


def _softplus(m, x):
    return m.log1p(m.exp(-m.abs(x))) + (x + m.abs(x)) * 0.5


def _cross_entropy(m, x, t):
    shifted = x - _top(m, x)
    return (m.log(m.exp(shifted).sum(-1)) - (shifted * t).sum(-1)).mean()


def _layer_norm(m, x, g, b):
    centred = x - x.mean(-1)[..., None]
    return centred / m.sqrt((centred ** 2).mean(-1)[..., None] + 1e-5) * g + b


def _rms_norm(m, x, g):
    return x / m.sqrt((x * x).mean(-1)[..., None] + 1e-6) * g


def _attention(m, q, k, v):
    return _softmax(m, q @ k.swapaxes(-1, -2) * 0.125) @ v


def _rotary(m, x, c, s):
    h = x.shape[-1] // 2
    return x * c + _cat(m, -x[..., h:], x[..., :h]) * s


def _rnn(m, x, h, w, u, b):
    return m.tanh(x @ w + h @ u + b)


def _gru(m, z, r, n, h):
    update = _sigmoid(m, z)
    return (1 - update) * m.tanh(n * _sigmoid(m, r)) + update * h


def _lstm(m, x, h, c, w, u):
    g = x @ w + h @ u
    n = c.shape[-1]
    c = _sigmoid(m, g[:, n:2 * n]) * c + _sigmoid(m, g[:, :n]) * m.tanh(g[:, 2 * n:3 * n])
    return _sigmoid(m, g[:, 3 * n:]) * m.tanh(c), c


def _momentum(m, p, g, v):
    v = 0.9 * v + g
    return p - 0.01 * v, v


def _adam(m, p, g, a, v):
    a, v = 0.9 * a + 0.1 * g, 0.999 * v + 0.001 * g * g
    return p - 1e-3 * a / (m.sqrt(v) + 1e-8), a, v


def _black_scholes(m, s, k, t):
    d = (m.log(s / k) + 0.065 * t) / (0.3 * m.sqrt(t))
    return (s * _sigmoid(m, 1.702 * d)
            - k * m.exp(-0.02 * t) * _sigmoid(m, 1.702 * (d - 0.3 * m.sqrt(t))))


def _distances(m, x, y):
    return m.sqrt(((x[:, None, :] - y[None, :, :]) ** 2).sum(-1))


def _kernel(m, x, y):
    return m.exp(-0.5 * ((x * x).sum(-1)[:, None] + (y * y).sum(-1)[None, :] - 2 *
                         (x @ y.swapaxes(0, 1))))


def _bodies(m, p, w):
    d = p[None, :, :] - p[:, None, :]
    return (d * (w / ((d * d).sum(-1) + 0.01) ** 1.5)[..., None]).sum(1)


def _stencil(m, x):
    return (x[1:-1, 1:-1] + 0.1 *
            (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2] - 4 * x[1:-1, 1:-1]))


def _wave(m, now, before):
    inner = now[1:-1]
    return 2 * inner - before[1:-1] + 0.25 * (now[2:] - 2 * inner + now[:-2])


def _mandelbrot(m, x, y, a, b):
    for _ in range(4):
        x, y = x * x - y * y + a, 2 * x * y + b
    return x * x + y * y


def _julia(m, z, c):
    for _ in range(4):
        z = z * z + c
    return m.abs(z)


def _split_step(m, psi, potential, kinetic):
    half = m.exp(-0.05j * potential)
    return half * m.fft.ifft(m.fft.fft(half * psi) * m.exp(-0.1j * kinetic))


def _spectral(m, x, w):
    return m.abs(x @ w) ** 2


def _kalman(m, x, p, a, h, z, q, r):
    x, p = a @ x, a @ p @ a.swapaxes(0, 1) + q
    s = (h @ p @ h.swapaxes(0, 1) + r)[0, 0]
    gain = p @ h.swapaxes(0, 1) / s
    return x + gain @ (z - h @ x), p - gain @ (h @ p)


def _mlp(m, x, a, b, c, d, e, f):
    return m.tanh(m.tanh(x @ a + b) @ c + d) @ e + f


def _variance(m, x):
    return ((x - x.mean(0)) ** 2).mean(0)


def _middle(m, x):
    return m.sqrt((x * x).sum(1)) + m.amax(m.abs(x), 1)


def _gather(m, table, rows, w):
    return (table[rows] * w[..., None]).sum(1)


def _interpolate(m, table, x):
    at = x * (table.shape[0] - 2)
    i = m.floor(at)
    k = i.long() if hasattr(i, "long") else i.astype("int64" if m is np else "int32")
    return table[k] * (1 - (at - i)) + table[k + 1] * (at - i)


def _rk4(m, x, y):
    def f(x, y): return y, (1 - x * x) * y - x
    a, b = f(x, y)
    c, d = f(x + 0.05 * a, y + 0.05 * b)
    e, g = f(x + 0.05 * c, y + 0.05 * d)
    h, k = f(x + 0.1 * e, y + 0.1 * g)
    return x + 0.1 / 6 * (a + 2 * c + 2 * e + h), y + 0.1 / 6 * (b + 2 * d + 2 * g + k)


def _returns(m, p, old, adv):
    ratio = m.exp(p - old)
    clipped = m.minimum(m.maximum(ratio, ratio * 0 + 0.8), ratio * 0 + 1.2)
    return -m.minimum(ratio * adv, clipped * adv).mean()


def _kl(m, mean, logvar):
    return (-0.5 * (1 + logvar - mean * mean - m.exp(logvar))).sum(-1).mean()


# name -> (function of (module, *arrays), the arrays' shapes for each size)
FUNCTIONS = {
    "pointwise chain": (_chain, [((64,),) * 2, ((1 << 16,),) * 2, ((1 << 20,),) * 2]),
    "gelu by hand": (_gelu, [((4, 64),), ((256, 1024),)]),
    "SwiGLU": (_swiglu, [((8, 64), (64, 128), (64, 128)), ((128, 256), (256, 512), (256, 512))]),
    "softplus by hand": (_softplus, [((64, 64),), ((1024, 1024),)]),
    "softmax by hand": (_softmax, [((16, 16),), ((256, 1024),)]),
    "softmax cross-entropy": (_cross_entropy, [((16, 10),) * 2, ((256, 1000),) * 2]),
    "layer norm by hand": (_layer_norm, [((16, 64), (64,), (64,)),
                                         ((512, 768), (768,), (768,))]),
    "RMS norm": (_rms_norm, [((16, 64), (64,)), ((512, 768), (768,))]),
    "attention, short": (_attention, [((2, 16, 64),) * 3, ((8, 64, 64),) * 3]),
    "attention, long": (_attention, [((8, 128, 64),) * 3, ((4, 512, 64),) * 3]),
    "rotary embedding": (_rotary, [((4, 16, 64), (16, 64), (16, 64)),
                                   ((8, 512, 64), (512, 64), (512, 64))]),
    "RNN cell": (_rnn,
                 [((8, 32), (8, 64), (32, 64), (64, 64), (64,)),
                  ((64, 256), (64, 512), (256, 512), (512, 512), (512,))]),
    "GRU gates": (_gru, [((8, 64),) * 4, ((256, 512),) * 4]),
    "LSTM cell": (_lstm,
                  [((8, 32), (8, 64), (8, 64), (32, 256), (64, 256)),
                   ((64, 128), (64, 256), (64, 256), (128, 1024), (256, 1024))]),
    "momentum update": (_momentum, [((256,),) * 3, ((1 << 18,),) * 3]),
    "Adam update": (_adam, [((256,),) * 4, ((1 << 18,),) * 4]),
    "Black-Scholes": (_black_scholes, [((1024,),) * 3, ((1 << 18,),) * 3]),
    "pairwise distances": (_distances, [((32, 3),) * 2, ((256, 16),) * 2]),
    "Gaussian kernel": (_kernel, [((32, 8),) * 2, ((512, 16),) * 2]),
    "n-body": (_bodies, [((32, 3), (32,)), ((256, 3), (256,))]),
    "stencil": (_stencil, [((64, 64),), ((1024, 1024),)]),
    "wave equation": (_wave, [((1024,),) * 2, ((1 << 18,),) * 2]),
    "Mandelbrot, 4 steps": (_mandelbrot, [((64, 64),) * 4, ((512, 512),) * 4]),
    "Julia set, 4 steps": (_julia, [((64, 64, complex),) * 2, ((512, 512, complex),) * 2]),
    "wave function, a step": (_split_step, [((256, complex), (256,), (256,)),
                                            ((64, 1024, complex), (1024,), (1024,))]),
    "power of a mixture": (_spectral, [((8, 16, complex), (16, 16, complex)),
                                       ((256, 128, complex), (128, 128, complex))]),
    "Kalman step": (_kalman,
                    [((4, 1), (4, 4), (4, 4), (1, 4), (1, 1), (4, 4), (1, 1)),
                     ((32, 1), (32, 32), (32, 32), (1, 32), (1, 1), (32, 32), (1, 1))]),
    "MLP on one row": (_mlp, [((1, 16), (16, 32), (32,), (32, 32), (32,), (32, 4), (4,))]),
    "MLP on a batch": (_mlp,
                       [((32, 64), (64, 128), (128,), (128, 128), (128,), (128, 10), (10,)),
                        ((256, 784), (784, 256), (256,), (256, 256), (256,), (256, 10), (10,))]),
    "variance over rows": (_variance, [((64, 64),), ((1024, 1024),)]),
    "norms over a middle axis": (_middle, [((8, 16, 8),), ((64, 128, 64),)]),
    "weighted gather": (_gather,
                        [((100, 16), (32, 4, int), (32, 4)),
                         ((10000, 64), (1024, 8, int), (1024, 8))]),
    "linear interpolation": (_interpolate, [((256,), (1024,)), ((4096,), (1 << 17,))]),
    "Runge-Kutta step": (_rk4, [((256,),) * 2, ((1 << 18,),) * 2]),
    "clipped policy loss": (_returns, [((256,),) * 3, ((1 << 16,),) * 3]),
    "KL of a Gaussian": (_kl, [((32, 16),) * 2, ((1024, 128),) * 2]), }


def _array(rng, shape, first):
    """Numbers from 0.3 to 0.9, complex ones with such parts, or rows of the first array."""
    if shape[-1] is int:
        return rng.integers(0, first, shape[:-1])
    if shape[-1] is complex:
        real, imag = (_array(rng, shape[:-1], first) for _ in range(2))
        return real + np.complex64(1j) * imag
    return rng.uniform(0.5, 1.5, shape).astype("f4") * np.float32(0.6)


def _same(name, who, got, want):
    """Do two frameworks agree?"""
    got, want = (x if isinstance(x, tuple) else (x,) for x in (got, want))
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(np.asarray(a), b, rtol=2e-3, atol=2e-4,
                                   err_msg=f"{name}: {who} and NumPy disagree")


def _first_two(call):
    """Seconds of the first two calls, and the second's result."""
    t = time.perf_counter()
    call()
    out = call()
    return out, time.perf_counter() - t


def _third(call):
    """Seconds of a call."""
    t = time.perf_counter()
    call()
    return time.perf_counter() - t


def warm_peers():
    """torch and jax, or None. Each has compiled something before it is timed."""
    torch, jax = peer("torch"), peer("jax")
    if torch:
        import torch._inductor.config
        torch.set_num_threads(threads())
        torch._inductor.config.force_disable_caches = True
        warnings.filterwarnings("ignore", module="torch")
        torch.compile(lambda x: x + 1)(torch.ones(3))
    if jax:
        jax.jit(lambda x: x + 1)(jax.numpy.ones(3))
    return torch, jax


def write_compiling(seconds):
    """Print the table of the first two calls ({who: seconds}), and add it to the results."""
    lines = [
        "", "## The first two calls", "",
        "Tracing and compiling, ms, without caches on disk. Warm: another trace of a function "
        "whose kernels this process has already.",
        "Kernels with little to do are compiled without optimisation first, and well when the "
        "function is called a third time.",
        "", "| | median | longest |", "|---|---|---|"]
    lines += [
        f"| {k} | {statistics.median(v) * 1e3:.1f} | {max(v) * 1e3:.1f} |"
        for k, v in seconds.items()]
    print("\n".join(lines))
    with open(RESULTS / "traced.md", "a") as f:
        f.write("\n".join(lines) + "\n")


def _torch_calls(torch, label, fn, arrays, want):
    """({who: call} of torch, eager and compiled; seconds of the compiled one's first calls)"""
    theirs = [torch.tensor(a) for a in arrays]
    torch._dynamo.reset()
    compiled = torch.compile(lambda *xs: fn(torch, *xs), dynamic=False)
    got, seconds = _first_two(lambda: compiled(*theirs))
    _same(label, "torch.compile", got, want)
    _same(label, "torch", fn(torch, *theirs), want)
    calls = {"torch": lambda: fn(torch, *theirs), "torch.compile": lambda: compiled(*theirs)}
    return calls, seconds


def _jax_call(jax, label, fn, arrays, want):
    """(a call of the compiled function, seconds of its first calls)"""
    jitted = jax.jit(lambda *xs: fn(jax.numpy, *xs))
    inputs = [jax.numpy.asarray(a) for a in arrays]

    def call():
        return jax.block_until_ready(jitted(*inputs))
    got, seconds = _first_two(call)
    _same(label, "jax", got, want)
    return call, seconds


def main(seconds=0.15):
    """Measure and write the tables. Nobody's cache on disk is used, as long as whet has not been
    imported before."""
    os.environ["WHET_CACHE"] = "0"
    import whet
    import whet.jit
    whet.set_num_threads(threads())
    torch, jax = warm_peers()
    whet.jit.trace(lambda x: x + 1)(whet.ones(3))
    rng = np.random.default_rng(0)
    table = Table(
        "traced",
        f"hot functions, f32, {threads()} thread(s); the ratio is to the best of the others",
        ["torch", "torch.compile", "jax", "numpy"])
    compiling = {}
    for name, (fn, sizes) in FUNCTIONS.items():
        for shapes in sizes:
            arrays = [_array(rng, s, shapes[0][0]) for s in shapes]
            sides = [str(n) for n in shapes[0] if isinstance(n, int)]
            label = f"{name} {'x'.join(sides)}"
            want = fn(np, *arrays)
            ours = [whet.tensor(a) for a in arrays]
            traced = whet.jit.trace(lambda *xs, fn=fn: fn(whet, *xs))
            got, first = _first_two(lambda: traced(*ours))
            _same(label, "whet", got, want)
            # its kernels are there now
            again = whet.jit.trace(lambda *xs, fn=fn: fn(whet, *xs))
            took = {
                "whet": first,
                "whet, warm": _first_two(lambda: again(*ours))[1],
                "whet, third call": _third(lambda: traced(*ours))}
            refused = traced.explain(data=True)["refused"] or traced._why
            fns = {
                "whet": lambda: traced(*ours),
                "eager": lambda: fn(whet, *ours),
                "numpy": lambda: fn(np, *arrays)}
            if torch:
                calls, took["torch.compile"] = _torch_calls(torch, label, fn, arrays, want)
                fns |= calls
            if jax:
                fns["jax"], took["jax"] = _jax_call(jax, label, fn, arrays, want)
            for k, v in took.items():
                compiling.setdefault(k, []).append(v)
            times = timings(fns, seconds)
            notes = {
                "traced / eager": f"{times['whet'] / times['eager']:.2f}",
                **({"refused": refused} if refused else {})}
            table.add(label, times, **notes)
    table.finish()
    write_compiling(compiling)
