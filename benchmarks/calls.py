"""What a call of a traced function costs beyond its arithmetic: tiny tensors, beside eager whet,
PyTorch eager, jax.jit and NumPy."""
import numpy as np

from .harness import Table, peer, timings

LAYERS = 25                      # of two parameters each


def _four(m, a, b, c, d):
    return m.tanh(a * b + c) * d


def _mlp(m, x, a, b, c, d, e, f):
    return m.tanh(m.tanh(x @ a + b) @ c + d) @ e + f


FUNCTIONS = {
    "one tensor": (lambda m, x: x * 2 + 1, [(2, 4)]),
    "four tensors": (_four, [(2, 4)] * 4),
    "MLP 16-32-32-4 on one row": (_mlp, [(1, 16), (16, 32), (32,), (32, 32), (32,), (32, 4), (4,)]),
}


def model(nn, used):
    """A model that holds 50 parameters in 25 modules, of which its forward uses the first or
    all."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(LAYERS)])
            for p in self.parameters():
                p.requires_grad_(False)

        def forward(self, x):
            for layer in self.layers[:used]:
                x = layer(x)
            return x
    return Net()


def jax_model(jax, used):
    """The same function of a list of parameters, for `jax.jit`."""
    params = [(jax.numpy.ones((4, 4)), jax.numpy.ones(4)) for _ in range(LAYERS)]

    def forward(params, x):
        for w, b in params[:used]:
            x = x @ w + b
        return x
    compiled = jax.jit(forward)
    return lambda x: compiled(params, x)


def main():
    """Measure and write the table."""
    import whet
    import whet.jit
    import whet.nn
    whet.set_num_threads(1)
    torch, jax = peer("torch"), peer("jax")
    if torch:
        torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    table = Table("calls",
                  "Calls of traced functions on tiny tensors, f32, one thread",
                  ["torch", "jax", "numpy"])

    def row(label, traced, eager, fns):
        times = timings({"whet": traced, "eager": eager, **fns})
        table.add(label, times, eager=f"{times['whet'] / times['eager']:.2f}")
    for name, (fn, shapes) in FUNCTIONS.items():
        arrays = [rng.uniform(0.5, 1.5, s).astype("f4") for s in shapes]
        ours = [whet.tensor(a) for a in arrays]
        traced, fns = (whet.jit.trace(lambda *xs, fn=fn: fn(whet, *xs)),
                       {"numpy": lambda: fn(np, *arrays)})
        if torch:
            theirs = [torch.tensor(a) for a in arrays]
            fns["torch"] = lambda: fn(torch, *theirs)
        if jax:
            compiled, inputs = (jax.jit(lambda *xs, fn=fn: fn(jax.numpy, *xs)),
                                [jax.numpy.asarray(a) for a in arrays])
            fns["jax"] = lambda: jax.block_until_ready(compiled(*inputs))
        row(name, lambda: traced(*ours), lambda: fn(whet, *ours), fns)
    for label, used in ((("a model of 50 parameters, 2 used", 1),
                         ("a model of 50 parameters, all used", LAYERS))):
        ours, x, fns = model(whet.nn, used), whet.rand(1, 4), {}
        traced = whet.jit.trace(ours)
        if torch:
            theirs, y = model(torch.nn, used), torch.rand(1, 4)
            fns["torch"] = lambda: theirs(y)
        if jax:
            compiled, z = jax_model(jax, used), jax.numpy.ones((1, 4))
            fns["jax"] = lambda: jax.block_until_ready(compiled(z))
        row(label, lambda: traced(x), lambda: ours(x), fns)
    table.finish()
