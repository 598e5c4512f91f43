"""Function transforms: gradients of each sample, ensembles, Jacobians, Hessians and products with them, eager, against `torch.func`."""
import warnings

import numpy as np

from .harness import Table, peer, threads, timings


def _mlp(m, p, x):
    h = m.tanh(m.nn.functional.linear(x, p["w1"], p["b1"]))
    h = m.tanh(m.nn.functional.linear(h, p["w2"], p["b2"]))
    return m.nn.functional.linear(h, p["w3"], p["b3"])


def _mlp_sizes(i, h, o):
    return {"w1": (h, i), "b1": (h,), "w2": (h, h), "b2": (h,), "w3": (o, h), "b3": (o,)}


def _cnn(m, p, x):
    F = m.nn.functional
    h = F.max_pool2d(m.relu(F.conv2d(x, p["c1"], p["d1"], padding=1)), 2)
    h = F.max_pool2d(m.relu(F.conv2d(h, p["c2"], p["d2"], padding=1)), 2)
    return F.linear(h.flatten(1), p["w"], p["b"])


CNN = {"c1": (8, 3, 3, 3), "d1": (8,), "c2": (16, 8, 3, 3), "d2": (16,), "w": (10, 256), "b": (10,)}


def _attention(m, p, x):
    F = m.nn.functional
    h = F.layer_norm(x, x.shape[-1:], p["g"], p["a"])
    q, k, v = F.linear(h, p["wq"]), F.linear(h, p["wk"]), F.linear(h, p["wv"])
    weights = m.softmax(q @ k.transpose(-1, -2) * 0.2, -1)
    return F.linear(weights @ v, p["wo"]).mean(-2)


ATTENTION = {"g": (32,), "a": (32,), "wq": (32, 32), "wk": (32, 32), "wv": (32, 32), "wo": (10, 32)}


def _loss(m, model):
    return lambda p, x, y: m.nn.functional.cross_entropy(model(m, p, x[None]), y[None])


def _per_sample(model):
    return lambda m: (lambda p, x, y: m.func.vmap(m.func.grad(_loss(m, model)), (None, 0, 0))(p, x, y))


def _ensemble(model):
    return lambda m: (lambda ps, x: m.func.vmap(lambda p: model(m, p, x))(ps))


def _ensemble_gradients(model):
    def loss(m, p, x, y):
        return m.nn.functional.cross_entropy(model(m, p, x), y)
    return lambda m: (lambda ps, x, y: m.func.vmap(m.func.grad(lambda p: loss(m, p, x, y)))(ps))


def _logistic(m, w, x, y):
    return m.nn.functional.softplus(-y * (x @ w)).mean() + 0.1 * (w * w).sum()


def _rosenbrock(m, x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def _product(m, f, x, v):
    return m.func.jvp(m.func.grad(f), (x,), (v,))[1]


SMALL, LABELS = _mlp_sizes(8, 32, 8), "labels"
# name: (shapes of what is given (a dict: a model's parameters, "labels"), the function made for a module)
ROWS = {
    "samples, MLP 64": ((_mlp_sizes(64, 128, 10), (64, 64), (64, LABELS)), _per_sample(_mlp)),
    "samples, MLP 512": ((_mlp_sizes(32, 64, 10), (512, 32), (512, LABELS)), _per_sample(_mlp)),
    "samples, CNN 16": ((CNN, (16, 3, 16, 16), (16, LABELS)), _per_sample(_cnn)),
    "samples, attention 16": ((ATTENTION, (16, 24, 32), (16, LABELS)), _per_sample(_attention)),
    "ensemble, 8 MLPs": (({k: (8, *s) for k, s in _mlp_sizes(64, 128, 10).items()}, (64, 64)), _ensemble(_mlp)),
    "ensemble, 4 CNNs": (({k: (4, *s) for k, s in CNN.items()}, (8, 3, 16, 16)), _ensemble(_cnn)),
    "ensemble gradients, 8 MLPs": (({k: (8, *s) for k, s in _mlp_sizes(64, 128, 10).items()}, (64, 64), (64, LABELS)), _ensemble_gradients(_mlp)),
    "jacrev, MLP 64 to 10": ((_mlp_sizes(64, 128, 10), (64,)), lambda m: lambda p, x: m.func.jacrev(lambda x: _mlp(m, p, x))(x)),
    "jacfwd, MLP 8 to 8": ((SMALL, (8,)), lambda m: lambda p, x: m.func.jacfwd(lambda x: _mlp(m, p, x))(x)),
    "jacrev of 64 points": ((SMALL, (64, 8)), lambda m: lambda p, x: m.func.vmap(m.func.jacrev(lambda x: _mlp(m, p, x)))(x)),
    "jacfwd of 64 points": ((SMALL, (64, 8)), lambda m: lambda p, x: m.func.vmap(m.func.jacfwd(lambda x: _mlp(m, p, x)))(x)),
    "hessian, logistic 20": (((20,), (100, 20), (100,)), lambda m: lambda w, x, y: m.func.hessian(lambda w: _logistic(m, w, x, y))(w)),
    "hessian, Rosenbrock 50": (((50,),), lambda m: lambda x: m.func.hessian(lambda x: _rosenbrock(m, x))(x)),
    "hessian, MLP's input": ((SMALL, (8,)), lambda m: lambda p, x: m.func.hessian(lambda x: _mlp(m, p, x).sum())(x)),
    "hessians of 64 points": ((SMALL, (64, 8)), lambda m: lambda p, x: m.func.vmap(m.func.hessian(lambda x: _mlp(m, p, x).sum()))(x)),
    "hvp, logistic 20": (((20,), (100, 20), (100,), (20,)),
                         lambda m: lambda w, x, y, v: _product(m, lambda w: _logistic(m, w, x, y), w, v)),
    "hvp, Rosenbrock 1000": (((1000,), (1000,)), lambda m: lambda x, v: _product(m, lambda x: _rosenbrock(m, x), x, v)),
    "hvp, MLP's parameters": ((_mlp_sizes(64, 128, 10), _mlp_sizes(64, 128, 10), (32, 64)),
                              lambda m: lambda p, v, x: _product(m, lambda p: _mlp(m, p, x).square().mean(), p, v)),
}


def _made(rng, shape):
    if isinstance(shape, dict):
        return {k: _made(rng, s) for k, s in shape.items()}
    if shape[-1] is LABELS:
        return rng.integers(0, 10, shape[:-1])
    return (rng.standard_normal(shape) * 0.3).astype("f4")


def _as(m, value):
    return {k: m.tensor(x) for k, x in value.items()} if isinstance(value, dict) else m.tensor(value)


def _arrays(value):
    if isinstance(value, dict):
        return [value[k].detach().numpy() for k in sorted(value)]
    return [value.detach().numpy()]


def main(seconds=0.3):
    """Measure and write the table."""
    import whet
    import whet.func
    whet.set_num_threads(threads())
    torch = peer("torch")
    if torch:
        torch.set_num_threads(threads())
        warnings.filterwarnings("ignore", module="torch")
    rng = np.random.default_rng(0)
    table = Table("transforms", f"function transforms, eager, f32, {threads()} thread(s)", ["torch"])
    for name, (shapes, make) in ROWS.items():
        given = [_made(rng, s) for s in shapes]
        fns, want = {}, None
        for who, m in {"whet": whet, "torch": torch}.items():
            if m is None:
                continue
            args = [_as(m, g) for g in given]
            fns[who] = lambda f=make(m), args=args: f(*args)
            found = _arrays(fns[who]())
            for a, b in zip(found, want or found, strict=True):
                np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-3 * max(np.abs(b).max(), 1e-6), err_msg=name)
            want = want or found
        table.add(name, timings(fns, seconds))
    table.finish()
