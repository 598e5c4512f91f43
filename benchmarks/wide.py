"""Functions that nobody tuned for: a row or two of each family, with what is known to be slow.

Every row is written once for PyTorch's names, and runs on both: eagerly, and traced by whet. Times
are the least of thread time, taken in turns.
"""
import functools
import time

import numpy as np

from .harness import Table, often, peer, threads

ROWS, ROUNDS = {}, 12


class Inputs:
    """A library, and inputs drawn for it: the same ones for each."""

    def __init__(self, lib):
        self.lib, self.nn, self.F = lib, lib.nn, lib.nn.functional

    def tensor(self, a):
        return self.lib.from_numpy(np.ascontiguousarray(a)).clone()

    def normal(self, *shape):
        return self.tensor(_drawn().standard_normal(shape).astype("f4"))

    def uniform(self, *shape):
        return self.tensor(_drawn().random(shape).astype("f4"))

    def below(self, n, *shape):
        return self.tensor(_drawn().integers(0, n, shape))

    def flags(self, *shape):
        return self.tensor(_drawn().random(shape) < 0.5)


@functools.lru_cache(1)
def _drawn():
    return np.random.default_rng(0)


def row(name):
    """A row is a function of `Inputs` that gives a function and its arguments."""
    def put(make):
        ROWS[name] = make
        return make
    return put


def of(name, fn, *draws):
    """A row of fn(inputs, *tensors), whose tensors `draws` make."""
    row(name)(lambda k: (functools.partial(fn, k.lib), [draw(k) for draw in draws]))


def normal(*shape):
    return lambda k: k.normal(*shape)


def uniform(*shape):
    return lambda k: k.uniform(*shape)


def below(n, *shape):
    return lambda k: k.below(n, *shape)


def gradient(fn):
    """The gradients of a function's sum, by all tensors of real numbers."""
    def both(lib, *xs):
        leaves = [x.detach().requires_grad_() if x.is_floating_point() else x for x in xs]
        return lib.autograd.grad(fn(lib, *leaves).sum(), [x for x in leaves if x.requires_grad])
    return both


# ---- single functions ----------------------------------------------------------------------------
def _moments(lib, x):
    return lib.var_mean(x, 1)


of("sum over the first axis 32x3120", lambda lib, x: x.sum(0), normal(32, 3120))
of("variance and mean over a middle axis", _moments, normal(32, 48, 65))
of("cumulative sum of columns", lambda lib, x: x.cumsum(0), normal(200, 300))
of("median of short rows", lambda lib, x: x.median(-1).values, normal(8, 7))
of("the five largest of short rows", lambda lib, x: x.topk(5), normal(64, 10))
of("sort of rows", lambda lib, x: x.sort(-1), normal(32, 1000))
of("distinct integers", lambda lib, x: x.unique(), below(500, 10000))
of("elements at pairs of places", lambda lib, x, i, j: x[i, j], normal(200, 500),
   below(200, 1000), below(500, 1000))
of("their gradient", gradient(lambda lib, x, i, j: x[i, j]), normal(200, 500),
   below(200, 1000), below(500, 1000))
of("elements under a mask", lambda lib, x, m: x[m], normal(100000), lambda k: k.flags(100000))
of("scatter_add along rows", lambda lib, x, i, v: x.scatter_add(1, i, v), normal(256, 100),
   below(100, 256, 200), normal(256, 200))
of("cat of 8", lambda lib, *xs: lib.cat(xs, 1), *[normal(32, 64)] * 8)
of("stack of 16", lambda lib, *xs: lib.stack(xs), *[normal(32, 64)] * 16)
of("a triangle of 512", lambda lib, x: x.tril(), normal(512, 512))
of("padding by reflection", lambda lib, x: lib.nn.functional.pad(x, (1, 1, 1, 1), "reflect"),
   normal(8, 16, 56, 56))
of("random permutation of 10,000", lambda lib: lib.randperm(10000) * 0)
of("einsum bi,bj->bij", lambda lib, x, y: lib.einsum("bi,bj->bij", x, y), normal(64, 32),
   normal(64, 48))
of("einsum bhid,bhjd->bhij", lambda lib, x, y: lib.einsum("bhid,bhjd->bhij", x, y),
   normal(4, 4, 64, 32), normal(4, 4, 64, 32))
of("solve 4x4", lambda lib, a, b: lib.linalg.solve(a + 4 * lib.eye(4), b), normal(4, 4),
   normal(4, 3))
of("eigenvalues of a symmetric matrix of 128", lambda lib, a: lib.linalg.eigvalsh(a + a.mT),
   normal(128, 128))
of("transform of 64 rows of 1024", lambda lib, x: lib.fft.rfft(x), normal(64, 1024))
of("convolution 5x5 of one channel", lambda lib, x, w: lib.nn.functional.conv2d(x, w),
   normal(32, 1, 28, 28), normal(8, 1, 5, 5))
of("convolution 3x3 in 4 groups",
   lambda lib, x, w: lib.nn.functional.conv2d(x, w, padding=1, groups=4),
   normal(8, 32, 28, 28), normal(64, 8, 3, 3))
of("mean of whole planes", lambda lib, x: lib.nn.functional.adaptive_avg_pool2d(x, 1),
   normal(8, 32, 56, 56))
of("image at places of a grid",
   lambda lib, x, g: lib.nn.functional.grid_sample(x, g * 2 - 1, align_corners=False),
   normal(4, 3, 64, 64), uniform(4, 64, 64, 2))
of("bags of an embedding", lambda lib, i, w: lib.nn.functional.embedding_bag(i, w, mode="sum"),
   below(10000, 64, 20), normal(10000, 64))
of("attention to the past, 1x4x1024x64",
   lambda lib, q, k, v: lib.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True),
   *[normal(1, 4, 1024, 64)] * 3)


# ---- programs ------------------------------------------------------------------------------------
def crf(lib, scores, steps):
    """The logarithm of a conditional random field's sum over paths."""
    a = scores[:, 0]
    for t in range(1, scores.shape[1]):
        a = (a[:, :, None] + steps).logsumexp(1) + scores[:, t]
    return a.logsumexp(1)


def viterbi(lib, scores, steps):
    """The best path."""
    best, back = scores[0], []
    for t in range(1, scores.shape[0]):
        m, i = (best[:, None] + steps).max(0)
        best = m + scores[t]
        back.append(i)
    place = best.argmax()
    path = [place]
    for i in reversed(back):
        place = i[place]
        path.append(place)
    return lib.stack(path)


def selective_scan(lib, x, dt, a, b, c):
    """The recurrence of a state space whose steps are given by the data."""
    h, ys = x.new_zeros(x.shape[0], x.shape[2], b.shape[-1]), []
    for t in range(x.shape[1]):
        h = (-dt[:, t, :, None] * a).exp() * h + (dt[:, t] * x[:, t])[..., None] * b[:, t, None]
        ys.append((h * c[:, t, None]).sum(-1))
    return lib.stack(ys, 1)


def springs(lib, x, v):
    """A chain of masses; the forces are written to parts of a tensor."""
    for _ in range(10):
        force, d = lib.zeros_like(x), x[1:] - x[:-1]
        force[:-1] += d
        force[1:] -= d
        v = v + 0.01 * force
        x = x + 0.01 * v
    return x


def experts(lib, x, gate, up, down):
    """Two of four experts for each row, by the rows' places."""
    weight, chosen = (x @ gate).softmax(-1).topk(2, -1)
    out = lib.zeros_like(x)
    for e in range(4):
        t, s = lib.where(chosen == e)
        y = lib.nn.functional.silu(x[t] @ up[e]) @ down[e]
        out.index_add_(0, t, weight[t, s, None] * y)
    return out


def unaligned(lib, scores, labels, count):
    """The loss of a transcript: nobody knows which step speaks which letter."""
    steps, batch = scores.shape[:2]
    return lib.nn.functional.ctc_loss(scores.log_softmax(-1), labels + 1,
                                      lib.full((batch,), steps), count + 3)


def sinkhorn(lib, cost):
    """Optimal transport, by logarithms."""
    f, g = cost.sum(1) * 0, cost.sum(0) * 0
    for _ in range(5):
        f = -((g - cost) / 0.1).logsumexp(1) * 0.1
        g = -((f[:, None] - cost) / 0.1).logsumexp(0) * 0.1
    return f


def suppressed(lib, boxes, scores):
    """Boxes that overlap no better one: Python goes on from each answer."""
    b = boxes[scores.argsort(descending=True)]
    low, high = lib.maximum(b[:, None, :2], b[:, :2]), lib.minimum(b[:, None, 2:], b[:, 2:])
    area = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    both = (high - low).clamp(min=0).prod(-1)
    over = both / (area[:, None] + area - both) > 0.5
    keep = lib.ones(len(b), dtype=lib.bool)
    for i in range(len(b)):
        if keep[i]:
            keep[i + 1:] &= ~over[i, i + 1:]
    return keep


def adapted(lib, w, b, x, y):
    """Gradients through three steps of gradient descent."""
    w, b = w.detach().requires_grad_(), b.detach().requires_grad_()
    v, c = w, b
    for _ in range(3):
        loss = ((x @ v + c - y) ** 2).mean()
        dv, dc = lib.autograd.grad(loss, (v, c), create_graph=True)
        v, c = v - 0.1 * dv, c - 0.1 * dc
    return lib.autograd.grad(((x @ v + c - y) ** 2).mean(), (w, b))


def nucleus(lib, logits):
    """The likely words that make nine tenths."""
    s, i = logits.sort(-1, descending=True)
    out = s.softmax(-1).cumsum(-1) > 0.9
    out = lib.cat([lib.zeros_like(out[:, :1]), out[:, :-1]], 1)
    return logits.masked_fill(out.scatter(1, i, out), float("-inf")).softmax(-1)


of("conditional random field, gradient", gradient(crf), normal(8, 20, 10), normal(10, 10))
of("Viterbi 20x10", viterbi, normal(20, 10), normal(10, 10))
of("selective scan", selective_scan, normal(2, 32, 64), uniform(2, 32, 64), uniform(64, 16),
   normal(2, 32, 16), normal(2, 32, 16))
of("selective scan, gradient", gradient(selective_scan), normal(2, 16, 64), uniform(2, 16, 64),
   uniform(64, 16), normal(2, 16, 16), normal(2, 16, 16))
of("springs, gradient", gradient(springs), normal(100, 2), normal(100, 2))
of("mixture of experts", experts, normal(128, 64), normal(64, 4), normal(4, 64, 128),
   normal(4, 128, 64))
of("loss of a transcript, gradient", gradient(unaligned), normal(30, 4, 20), below(19, 4, 8),
   below(6, 4))
of("Sinkhorn, gradient", gradient(sinkhorn), uniform(64, 64))
of("overlapping boxes of 30", suppressed, uniform(30, 4), uniform(30))
of("gradients through gradients", adapted, normal(8, 2), normal(2), normal(10, 8), normal(10, 2))
of("nucleus of 32,000 words", nucleus, normal(1, 32000))


# ---- parameters ----------------------------------------------------------------------------------
@row("moving average of 20 parameters")
def averages(k):
    means, values = ([k.normal(64, 64) for _ in range(20)] for _ in range(2))

    def update():
        with k.lib.no_grad():
            for m, x in zip(means, values):
                m.mul_(0.99).add_(x, alpha=0.01)
        return means[0]
    return update, []


@row("gradients clipped, 10 parameters")
def clipped(k):
    parameters = [k.normal(64, 64).requires_grad_() for _ in range(10)]
    for p in parameters:
        p.grad = k.normal(64, 64) * 1e-3
    return lambda: k.nn.utils.clip_grad_norm_(parameters, 1.0), []


@row("LSTM of 128, inference")
def lstm(k):
    layer = k.nn.LSTM(64, 128, batch_first=True).eval()
    return k.lib.no_grad()(lambda x: layer(x)[0]), [k.normal(16, 30, 64)]


@row("transformer layer, training step")
def transformer(k):
    layer = k.nn.TransformerEncoderLayer(64, 4, 128, 0.0, batch_first=True)
    optimizer = k.lib.optim.AdamW(layer.parameters(), lr=1e-5)

    def step(x):
        loss = layer(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()
    return step, [k.normal(8, 32, 64)]


# ---- measuring -----------------------------------------------------------------------------------
def least(fns, seconds=0.4):
    """Seconds of the thread per call of each function, the least of some rounds in turns."""
    loops, got = {}, dict.fromkeys(fns, float("inf"))
    for name, f in fns.items():
        for _ in range(20):
            f()
        loops[name] = often(f, seconds / ROUNDS / len(fns))
    for _ in range(ROUNDS):
        for name, f in fns.items():
            t = time.thread_time()
            for _ in range(loops[name]):
                f()
            got[name] = min(got[name], (time.thread_time() - t) / loops[name])
    return got


def called(make, lib, through=lambda f: f):
    """A row's call, with inputs of its own."""
    _drawn.cache_clear()
    fn, args = make(Inputs(lib))
    fn = through(fn)
    return lambda: fn(*args)


def main():
    """Measure and write the table."""
    import whet
    import whet.jit
    torch = peer("torch")
    table = Table("wide", f"functions nobody tuned for, {threads()} thread(s)", ["torch"],
                  figures="least thread times, measured under load")
    whet.set_num_threads(threads())
    if torch:
        torch.set_num_threads(threads())
    for name, make in ROWS.items():
        fns = {"whet": called(make, whet, whet.jit.trace), "eager": called(make, whet)}
        if torch:
            fns["torch"] = called(make, torch)
        times = least(fns)
        more = {"eager / torch": f"{times['eager'] / times['torch']:.2f}"} if torch else {}
        table.add(name, times, **more)
    table.finish()


if __name__ == "__main__":
    main()
