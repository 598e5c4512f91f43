"""Function transforms: gradients of each sample, ensembles, Jacobians, Hessians and products with
them, eager, against `torch.func`."""
import functools
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


def _digits(pool="max_pool2d", stride=1, groups=1, norm=None):
    """A small network for images of 1x28x28."""
    def model(m, p, x):
        F = m.nn.functional
        h = F.conv2d(x, p["c1"], p["d1"], stride=stride)
        h = m.relu(norm(m, h, p) if norm else h)
        h = getattr(F, pool)(h, 2) if pool else h
        h = F.conv2d(h, p["c2"], p["d2"], stride=stride, groups=groups)
        return F.linear(h.flatten(1), p["w"], p["b"])
    return model


def _digits_sizes(last=11, rows=32, groups=1):
    return {
        "c1": (16, 1, 3, 3),
        "d1": (16,),
        "c2": (rows, 16 // groups, 3, 3),
        "d2": (rows,),
        "w": (10, rows * last * last),
        "b": (10,),
        "g": (16,),
        "a": (16,),
    }


def _batch_norm(m, h, p):
    return m.nn.functional.batch_norm(h, m.zeros(16), m.ones(16), p["g"], p["a"], False)


def _group_norm(m, h, p):
    return m.nn.functional.group_norm(h, 4, p["g"], p["a"])


def _signals(m, p, x):
    F = m.nn.functional
    h = F.max_pool1d(m.relu(F.conv1d(x, p["c1"], p["d1"], padding=2)), 2)
    return F.linear(F.conv1d(h, p["c2"], p["d2"], padding=2).flatten(1), p["w"], p["b"])


SIGNALS = {
    "c1": (16, 4, 5),
    "d1": (16,),
    "c2": (32, 16, 5),
    "d2": (32,),
    "w": (10, 1024),
    "b": (10,),
}


def _words(m, p, x):
    h = m.nn.functional.embedding((x * 100).abs().long() % 200, p["e"]).mean(1)
    return m.nn.functional.linear(m.nn.functional.layer_norm(h, (32,), p["g"], p["a"]), p["w"])


@functools.cache
def _cell(m):
    return m.nn.LSTM(8, 16, batch_first=True)


def _sequence(m, p, x):
    cell = {k: v for k, v in p.items() if k.endswith("_l0")}
    return m.nn.functional.linear(m.func.functional_call(_cell(m), cell, (x,))[0][:, -1], p["w"])


LSTM = {
    "weight_ih_l0": (64, 8),
    "weight_hh_l0": (64, 16),
    "bias_ih_l0": (64,),
    "bias_hh_l0": (64,),
    "w": (10, 16),
}


def _made_first(make):
    """A row whose cell is made before the transform begins: its weights are drawn."""
    return lambda m: (_cell(m), make(m))[1]


def _tiny(m, p, x):
    F = m.nn.functional
    return F.linear(F.avg_pool2d(m.tanh(F.conv2d(x, p["c"], p["d"])), 2).flatten(1), p["w"], p["b"])


TINY = {"c": (4, 1, 3, 3), "d": (4,), "w": (3, 36), "b": (3,)}


def _loss(m, model):
    return lambda p, x, y: m.nn.functional.cross_entropy(model(m, p, x[None]), y[None])


def _per_sample(model):
    return lambda m: (
        lambda p, x, y: m.func.vmap(m.func.grad(_loss(m, model)), (None, 0, 0))(p, x, y)
    )


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
# name: (shapes of what is given (a dict: a model's parameters, "labels"), the function made for a
# module)
ROWS = {
    "samples, MLP 64": ((_mlp_sizes(64, 128, 10), (64, 64), (64, LABELS)), _per_sample(_mlp)),
    "samples, MLP 512": ((_mlp_sizes(32, 64, 10), (512, 32), (512, LABELS)), _per_sample(_mlp)),
    "samples, CNN 16": ((CNN, (16, 3, 16, 16), (16, LABELS)), _per_sample(_cnn)),
    "samples, digits 16": (
        (_digits_sizes(), (16, 1, 28, 28), (16, LABELS)),
        _per_sample(_digits()),
    ),
    "samples, digits 64": (
        (_digits_sizes(), (64, 1, 28, 28), (64, LABELS)),
        _per_sample(_digits()),
    ),
    "samples, digits 128": (
        (_digits_sizes(), (128, 1, 28, 28), (128, LABELS)),
        _per_sample(_digits()),
    ),
    "samples, average pool 64": (
        (_digits_sizes(), (64, 1, 28, 28), (64, LABELS)),
        _per_sample(_digits("avg_pool2d")),
    ),
    "samples, stride 2, 64": (
        (_digits_sizes(6), (64, 1, 28, 28), (64, LABELS)),
        _per_sample(_digits(None, 2)),
    ),
    "samples, depthwise 64": (
        (_digits_sizes(11, 16, 16), (64, 1, 28, 28), (64, LABELS)),
        _per_sample(_digits(groups=16)),
    ),
    "samples, batch norm 64": (
        (_digits_sizes(), (64, 1, 28, 28), (64, LABELS)),
        _per_sample(_digits(norm=_batch_norm)),
    ),
    "samples, group norm 64": (
        (_digits_sizes(), (64, 1, 28, 28), (64, LABELS)),
        _per_sample(_digits(norm=_group_norm)),
    ),
    "samples, conv1d 64": ((SIGNALS, (64, 4, 64), (64, LABELS)), _per_sample(_signals)),
    "samples, embedding 64": (
        ({"e": (200, 32), "g": (32,), "a": (32,), "w": (10, 32)}, (64, 20), (64, LABELS)),
        _per_sample(_words),
    ),
    "samples, LSTM 32": ((LSTM, (32, 12, 8), (32, LABELS)), _made_first(_per_sample(_sequence))),
    "samples, attention 16": ((ATTENTION, (16, 24, 32), (16, LABELS)), _per_sample(_attention)),
    "ensemble, 8 MLPs": (
        ({k: (8, *s) for k, s in _mlp_sizes(64, 128, 10).items()}, (64, 64)),
        _ensemble(_mlp),
    ),
    "ensemble, 4 CNNs": (({k: (4, *s) for k, s in CNN.items()}, (8, 3, 16, 16)), _ensemble(_cnn)),
    "ensemble gradients, 8 MLPs": (
        ({k: (8, *s) for k, s in _mlp_sizes(64, 128, 10).items()}, (64, 64), (64, LABELS)),
        _ensemble_gradients(_mlp),
    ),
    "ensemble gradients, 4 digits": (
        ({k: (4, *s) for k, s in _digits_sizes().items()}, (16, 1, 28, 28), (16, LABELS)),
        _ensemble_gradients(_digits()),
    ),
    "ensemble gradients, 4 LSTMs": (
        ({k: (4, *s) for k, s in LSTM.items()}, (32, 12, 8), (32, LABELS)),
        _made_first(_ensemble_gradients(_sequence)),
    ),
    "jacrev, CNN": (
        (TINY, (1, 1, 8, 8)),
        lambda m: lambda p, x: m.func.jacrev(lambda x: _tiny(m, p, x))(x),
    ),
    "jacfwd, CNN": (
        (TINY, (1, 1, 8, 8)),
        lambda m: lambda p, x: m.func.jacfwd(lambda x: _tiny(m, p, x))(x),
    ),
    "hessian, CNN's input": (
        (TINY, (1, 1, 8, 8)),
        lambda m: lambda p, x: m.func.hessian(lambda x: _tiny(m, p, x).square().sum())(x),
    ),
    "jacrev, MLP 64 to 10": (
        (_mlp_sizes(64, 128, 10), (64,)),
        lambda m: lambda p, x: m.func.jacrev(lambda x: _mlp(m, p, x))(x),
    ),
    "jacfwd, MLP 8 to 8": (
        (SMALL, (8,)),
        lambda m: lambda p, x: m.func.jacfwd(lambda x: _mlp(m, p, x))(x),
    ),
    "jacrev of 64 points": (
        (SMALL, (64, 8)),
        lambda m: lambda p, x: m.func.vmap(m.func.jacrev(lambda x: _mlp(m, p, x)))(x),
    ),
    "jacfwd of 64 points": (
        (SMALL, (64, 8)),
        lambda m: lambda p, x: m.func.vmap(m.func.jacfwd(lambda x: _mlp(m, p, x)))(x),
    ),
    "hessian, logistic 20": (
        ((20,), (100, 20), (100,)),
        lambda m: lambda w, x, y: m.func.hessian(lambda w: _logistic(m, w, x, y))(w),
    ),
    "hessian, Rosenbrock 50": (
        ((50,),),
        lambda m: lambda x: m.func.hessian(lambda x: _rosenbrock(m, x))(x),
    ),
    "hessian, MLP's input": (
        (SMALL, (8,)),
        lambda m: lambda p, x: m.func.hessian(lambda x: _mlp(m, p, x).sum())(x),
    ),
    "hessians of 64 points": (
        (SMALL, (64, 8)),
        lambda m: lambda p, x: m.func.vmap(m.func.hessian(lambda x: _mlp(m, p, x).sum()))(x),
    ),
    "hvp, logistic 20": (
        ((20,), (100, 20), (100,), (20,)),
        lambda m: lambda w, x, y, v: _product(m, lambda w: _logistic(m, w, x, y), w, v),
    ),
    "hvp, Rosenbrock 1000": (
        ((1000,), (1000,)),
        lambda m: lambda x, v: _product(m, lambda x: _rosenbrock(m, x), x, v),
    ),
    "hvp, digits' parameters": (
        (_digits_sizes(), _digits_sizes(), (32, 1, 28, 28)),
        lambda m: lambda p, v, x: _product(m, lambda p: _digits()(m, p, x).square().mean(), p, v),
    ),
    "hvp, MLP's parameters": (
        (_mlp_sizes(64, 128, 10), _mlp_sizes(64, 128, 10), (32, 64)),
        lambda m: lambda p, v, x: _product(m, lambda p: _mlp(m, p, x).square().mean(), p, v),
    ),
}


def _made(rng, shape):
    if isinstance(shape, dict):
        return {k: _made(rng, s) for k, s in shape.items()}
    if shape[-1] is LABELS:
        return rng.integers(0, 10, shape[:-1])
    return (rng.standard_normal(shape) * 0.3).astype("f4")


def _as(m, value):
    return (
        {k: m.tensor(x) for k, x in value.items()} if isinstance(value, dict) else m.tensor(value)
    )


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
    table = Table(
        "transforms", f"function transforms, eager, f32, {threads()} thread(s)", ["torch"]
    )
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
                np.testing.assert_allclose(
                    a, b, rtol=2e-3, atol=2e-3 * max(np.abs(b).max(), 1e-6), err_msg=name
                )
            want = want or found
        table.add(name, timings(fns, seconds))
    table.finish()
