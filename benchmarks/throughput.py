"""Large elementwise ops, reductions and gathers against the best of NumPy and PyTorch on the
same threads."""
import numpy as np

from .harness import Table, peer, threads, timings

SIZES = {"64 Ki": (256, 256), "4 Mi": (2048, 2048)}


def cases(m, F, x, y, c, i, lib):
    """{label: function} for one library; x, y matrices, c a condition, i indices."""
    col, t = x[:1], x.T
    out = {
        "add": lambda: x + y, "add transposed": lambda: t + y, "add broadcast": lambda: x + col,
        "mul": lambda: x * y, "where": lambda: m.where(c, x, y), "exp": lambda: m.exp(x),
        "exp transposed": lambda: m.exp(t), "tanh": lambda: m.tanh(x), "log": lambda: m.log(y),
        "sum": lambda: x.sum(), "sum rows": lambda: x.sum(1), "sum columns": lambda: x.sum(0),
        "mean": lambda: x.mean(), "var": lambda: x.var(), "max": lambda: x.max(),
        "argmax": lambda: x.argmax(), "cumsum": lambda: m.cumsum(x, 1),
        "sort": lambda: m.sort(x, 1), }
    if lib == "numpy":
        out["sort"] = lambda: _sort(x)
        out["gather"] = lambda: np.take_along_axis(x, i, 1)
        out["index_select"] = lambda: x[i[0]]
        return out
    out.update({
        "erf": lambda: m.erf(x), "gelu": lambda: F.gelu(x), "softmax": lambda: m.softmax(x, 1),
        "log_softmax": lambda: m.log_softmax(x, 1),
        "layer_norm": lambda: F.layer_norm(x, x.shape[1:]), "gather": lambda: m.gather(x, 1, i),
        "index_select": lambda: m.index_select(x, 0, i[0]), })
    return out


def _sort(x):
    """Sorted rows and where each element came from, as the others give them."""
    order = np.argsort(x, 1, kind="stable")
    return np.take_along_axis(x, order, 1), order


def main():
    """Measure and write the table."""
    import whet
    import whet.nn.functional as F
    torch = peer("torch")
    whet.set_num_threads(threads())
    if torch:
        torch.set_num_threads(threads())
    table = Table("throughput", f"Throughput, f32, {threads()} thread(s)", ["numpy", "torch"])
    rng = np.random.default_rng(0)
    for size, shape in SIZES.items():
        x = rng.standard_normal(shape).astype("f4")
        y = rng.uniform(0.1, 4, shape).astype("f4")
        c, i = x > 0, rng.integers(0, shape[1], shape)
        libs = {
            "whet": cases(whet, F, *(whet.tensor(a) for a in (x, y, c, i)), "whet"),
            "numpy": cases(np, None, x, y, c, i, "numpy")}
        if torch:
            libs["torch"] = cases(torch, torch.nn.functional,
                                  *(torch.tensor(a) for a in (x, y, c, i)), "torch")
        for label in libs["whet"]:
            table.add(f"{label}, {size}",
                      timings({k: v[label] for k, v in libs.items() if label in v}))
    table.finish()
