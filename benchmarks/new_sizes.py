"""What an operation takes on a tensor of a size that was never seen before, when the size comes
again, and later: eager whet, beside eager PyTorch and JAX (which compiles for each size)."""
import statistics

from .harness import Table, clock, peer

SIZES, OF_JAX = range(10, 60), range(10, 16)
ROUNDS = 5                       # each size comes so often


def functions(m, f, array):
    """{name: a function of a matrix with 64 columns}, by the names of PyTorch."""
    w, b = array(64, 64), array(64)
    return {
        "x + x": lambda x: x + x,
        "x * b + 1": lambda x: x * b + 1,
        "gelu": f.gelu,
        "x @ w": lambda x: x @ w,
        "linear": lambda x: f.linear(x, w, b),
        "softmax": lambda x: f.softmax(x, -1),
        "sum of rows": lambda x: x.sum(-1),
        "layer norm": lambda x: f.layer_norm(x, (64,), b, b),
        "transpose": lambda x: x.T,
        "cat": lambda x: m.cat([x, x]),
        "attention": lambda x: f.scaled_dot_product_attention(x[None], x[None], x[None])}


def of_jax(jax):
    """The same of JAX, as far as it has them."""
    n, f = jax.numpy, jax.nn
    w, b = n.ones((64, 64)), n.ones(64)
    return {
        "x + x": lambda x: x + x,
        "x * b + 1": lambda x: x * b + 1,
        "gelu": lambda x: f.gelu(x, approximate=False),
        "x @ w": lambda x: x @ w,
        "linear": lambda x: x @ w.T + b,
        "softmax": lambda x: f.softmax(x, -1),
        "sum of rows": lambda x: x.sum(-1),
        "transpose": lambda x: x.T,
        "cat": lambda x: n.concatenate([x, x])}


def seconds(f, given, finish=lambda x: x):
    """A call's time when its size comes for the first time, for the second, and later: medians over
    the sizes."""
    found = []
    for _ in range(ROUNDS):
        times = []
        for x in given:
            t = clock()
            finish(f(x))
            times.append(clock() - t)
        found.append(statistics.median(times))
    return found[0], found[1], statistics.median(found[2:])


def main():
    """Measure and write the table."""
    import whet
    whet.set_num_threads(1)
    torch, jax = peer("torch"), peer("jax")
    table = Table("new_sizes", "Sizes that come for the first time, eager, f32, one thread",
                  ["torch", "jax"])
    contenders = {"whet": functions(whet, whet.nn.functional, whet.randn)}
    if torch:
        torch.set_num_threads(1)
        contenders["torch"] = functions(torch, torch.nn.functional, torch.randn)
    for label, fn in contenders["whet"].items():
        for n in (200, 201, 202):            # kernels are compiled, or read
            fn(whet.randn(n, 64))
        first, again, later = seconds(fn, [whet.randn(n, 64) for n in SIZES])
        times, beside = {"whet": first, "again": again, "later": later}, {}
        if torch:
            given = [torch.randn(n, 64) for n in SIZES]
            times["torch"], _, beside["torch, later"] = seconds(contenders["torch"][label], given)
        if jax and label in (known := of_jax(jax)):
            given = [jax.numpy.ones((n, 64)) for n in OF_JAX]
            times["jax"], _, beside["jax, later"] = seconds(
                known[label], given, lambda x: x.block_until_ready())
        table.add(label, {**times, **beside})
    table.finish()


if __name__ == "__main__":
    main()
