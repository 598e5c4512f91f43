"""Functions whose recordings the tests of graphs look at: every kind of node, each small. `CASES`:
name -> (make, how often it is called), where `make()` gives a function and its arguments."""
import whet
import whet.nn.functional as F
from whet import nn, optim
from whet.autograd import modes
from whet.ir.graph import Graph, Input
from whet.jit.capture.recorder import Recorder
from whet.jit.program import builder


def chain():
    return lambda x, y: ((x * 2 + y).tanh() - x.exp()) / 3, (whet.randn(4, 5), whet.randn(5))


def numbers():
    return (lambda x: (x * 0.1 + 1e30 - 3, x.clamp(-0.0, float("inf")),
                       (x > 2) & True, x.to(whet.int64) * (1 << 40)), (whet.randn(7),))


def views():
    return (lambda x:
            (x.T[1:, ::2].reshape(-1), x[None, ..., 0], x.unbind(0)[1], x.split([1, 2])[1].mT),
            (whet.randn(3, 4),))


def writes():
    def f(x, y):
        x[1:].mul_(y)
        z = x.clone()
        z += y
        z[..., 0] = 7
        x.t().add_(z.t())
        x.data.add_(1)
        return z, x * 2
    return f, (whet.randn(3, 4), whet.randn(4))


def draws():
    g = whet.Generator().manual_seed(3)
    return (lambda x: (F.dropout(x, 0.5) * whet.rand(3, generator=g), whet.randn(2), x.clone().
                       normal_(generator=g)), (whet.randn(2, 3),))


def guards():
    def f(x, y):
        if x.tolist() == [1.0, 1.0, 1.0]:
            return y * 2
        return y - x.max().item()
    return f, (whet.ones(3), whet.randn(2))


def asks():
    table = whet.randn(10, 4)
    return (lambda i, x: (F.embedding(i, table), F.cross_entropy(x, i), F.one_hot(i, 5)),
            (whet.tensor([1, 4, 2]), whet.randn(3, 6)))


def constants():
    big = list(range(100))
    return (lambda x: x + whet.tensor(big).sum() + whet.tensor([0.5, float("nan"), -0.0]) + whet.
            tensor([[1, 2], [3, 4]]).T.sum(), (whet.randn(3),))


def reductions():
    def f(x):
        return ((x * x).sum(1), (x + 1).mean(), x.max(), x.argmax(0), x.var(-1), x.softmax(-1),
                x.cumsum(0), x.logsumexp(0))
    return f, (whet.randn(5, 6),)


def types():
    return lambda x: [(x.to(t) + 1).to(whet.float32)
                      for t in (whet.float16, whet.bfloat16, whet.float64, whet.int8, whet.uint8,
                                whet.bool)] + [x.to(whet.complex64) * 1j], (whet.randn(6),)


def contractions():
    conv = nn.Conv2d(2, 3, 3, padding=1)
    return lambda x: (conv(x).relu(), x @ x.mT, F.max_pool2d(x, 2)), (whet.randn(1, 2, 6, 6),)


def attention():
    def f(q, k, v):
        return (q @ k.mT / 8 ** 0.5).softmax(-1) @ v
    return f, tuple(whet.randn(2, 3, 8) for _ in range(3))


def backward():
    w = whet.randn(4, requires_grad=True)

    def f(x):
        y = ((x * w).tanh() ** 2).sum()
        w.grad = None
        y.backward()
        return y
    return f, (whet.randn(3, 4),)


def training(make, n=4):
    def case():
        model = nn.Sequential(nn.Linear(5, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3))
        opt = make(model.parameters())

        def step(x, y):
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            return loss
        return step, (whet.randn(n, 5), whet.arange(n) % 3)
    return case


def loop():
    w, u = whet.randn(4, 4) / 2, whet.randn(4, 4) / 2

    def f(x):
        h, states = whet.zeros(2, 4), []
        for i in range(64):
            h = (x[i] @ w + h @ u).tanh()
            states.append(h)
        return whet.stack(states).sum(0), h
    return f, (whet.randn(64, 2, 4),)


CASES = {
    f.__name__: (f, 1) for f in (chain, numbers, views, writes, draws, guards, asks, constants,
                                 reductions, types, contractions, attention, backward, loop)}
CASES["sgd"] = training(lambda p: optim.SGD(p, lr=0.1, momentum=0.9)), 3
CASES["adam"] = training(lambda p: optim.Adam(p, lr=0.01)), 3


def traced(name):
    """The traced function of a case, called (a call that loads modules for the first time is no
    recording), and the arguments."""
    make, calls = CASES[name]
    fn, args = make()
    f = whet.jit.trace(fn)
    for _ in range(calls + 2):
        f(*args)
    assert f.recorded is not None, f._why or f.explain()
    return f, args


def flat(x):
    """The tensors in a result."""
    if isinstance(x, list | tuple):
        return [t for y in x for t in flat(y)]
    return [x]


def recorded(fn, tensors):
    """(the graph of a call, that of its program, the program, the results) for a function that
    is only recorded, with nothing watched."""
    rec = Recorder(tensors)
    modes.state.observers += (rec,)
    modes.refresh()
    try:
        out = flat(fn(*tensors))
    finally:
        modes.state.observers = tuple(o for o in modes.state.observers if o is not rec)
        modes.refresh()
    assert rec.reason is None, rec.reason
    inputs = [
        Input(rec.value(t), f"argument {i}", f"x{i}")
        for i, t in enumerate({id(t): t for t in tensors}.values())]
    results = [rec.value(t) for t in out]
    p = builder.build(rec.nodes, rec.values.arrays, [x.value for x in inputs], results)
    return (*(Graph.of(nodes, rec.values.arrays, inputs, [(v, "") for v in results], "f")
              for nodes in (rec.nodes, p.nodes)), p, out)
