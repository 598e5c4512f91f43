"""What ops take on this machine's GPU, beside PyTorch where that is installed: the device's time
for large operands, with the fraction of what the device can do at most, and the host's time for
small ones.

    python -m benchmarks.gpu

Without a GPU it says so and measures nothing."""
import functools
import math
import statistics
import time

from .harness import Table, peer

WARM, ROUNDS = 3, 7
MEBI = 1 << 20


class Row:
    """One thing to measure: `run(lib, *tensors)` on tensors of these shapes, and what it has at
    least to do: bytes to move through the device's memory, or multiply-adds of a kind."""

    def __init__(self, label, run, shapes, dtype="float32", moved=None, products=0, grad=False):
        self.label, self.run, self.shapes, self.dtype = label, run, shapes, dtype
        self.moved, self.products, self.grad = moved, products, grad

    def tensors(self, lib):
        """The operands, for a library."""
        lib.manual_seed(0)
        dtype = getattr(lib, self.dtype)
        return [lib.randn(*s, device="cuda").to(dtype).requires_grad_(self.grad)
                for s in self.shapes]

    def least(self, peaks):
        """The seconds that it takes at least."""
        by_memory = (self.moved or 0) / peaks["bytes"]
        return max(by_memory, 2 * self.products / peaks[self.dtype])


def same_shape(name, *shape, reads=1, writes=1, dtype="float32", call=None):
    """A row of an op that reads and writes so many tensors of one shape."""
    size = {"float32": 4, "float64": 8}.get(dtype, 2)
    run = call or (lambda lib, *xs: getattr(lib, name)(*xs))
    return Row(f"{name} {'x'.join(map(str, shape))} {dtype}", run, [shape] * reads, dtype,
               moved=math.prod(shape) * size * (reads + writes))


def product(m, n, k, dtype="float32"):
    """A row of a product of matrices."""
    size = 4 if dtype == "float32" else 2
    return Row(f"matmul {m}x{k} @ {k}x{n} {dtype}", lambda lib, a, b: a @ b, [(m, k), (k, n)],
               dtype, moved=size * (m * k + k * n + m * n), products=m * n * k)


def linear(m, k, n, dtype="float32"):
    """A row of a linear layer: of rows with rows."""
    row = product(m, n, k, dtype)
    return Row(f"linear {m}x{k}, {n} outputs, {dtype}", lambda lib, a, b: a @ b.t(),
               [(m, k), (n, k)], dtype, moved=row.moved, products=row.products)


def functional(lib):
    """`torch.nn.functional`, or whet's."""
    return lib.nn.functional


def convolution(n, c, size, out, kernel, dtype="float32"):
    """A row of a convolution."""
    each = 4 if dtype == "float32" else 2
    return Row(
        f"conv2d {n}x{c}x{size}x{size}, {out} of {kernel}x{kernel} {dtype}",
        lambda lib, x, w: functional(lib).conv2d(x, w, padding=kernel // 2),
        [(n, c, size, size), (out, c, kernel, kernel)], dtype,
        moved=each * n * size * size * (c + out),
        products=n * size * size * out * c * kernel * kernel)


def attention(batch, heads, words, features, is_causal, grad=False):
    """A row of attention of bfloat16, or of it and its gradients."""
    def run(lib, *xs):
        y = functional(lib).scaled_dot_product_attention(*xs, is_causal=is_causal)
        if grad:
            lib.autograd.grad(y, xs, y)
    # (2 products forward; of the same size 5 backward)
    products = (7 if grad else 2) * batch * heads * words * words * features
    return Row(
        f"attention {batch}x{heads}x{words}x{features} bfloat16{', causal' if is_causal else ''}"
        f"{', and gradients' if grad else ''}", run, [(batch, heads, words, features)] * 3,
        "bfloat16", products=products // (2 if is_causal else 1), grad=grad)


LARGE = 64 * MEBI
ROWS = [
    same_shape("add", LARGE, reads=2),
    same_shape("add", LARGE, reads=2, dtype="bfloat16"),
    same_shape("exp", LARGE),
    same_shape("gelu", LARGE, call=lambda lib, x: functional(lib).gelu(x)),
    same_shape("multiply by a number", LARGE, call=lambda lib, x: x * 2.0),
    same_shape("add a row", 8192, 8192, call=lambda lib, x: x + x[0]),
    same_shape("copy of the transpose", 8192, 8192, call=lambda lib, x: x.t().contiguous()),
    same_shape("sum", LARGE, writes=0),
    same_shape("sum along rows", 8192, 8192, writes=0, call=lambda lib, x: x.sum(1)),
    same_shape("sum along columns", 8192, 8192, writes=0, call=lambda lib, x: x.sum(0)),
    same_shape("softmax", 8192, 4096, call=lambda lib, x: x.softmax(1)),
    same_shape("softmax", 65536, 512, call=lambda lib, x: x.softmax(1)),
    same_shape("layer_norm", 8192, 4096,
               call=lambda lib, x: functional(lib).layer_norm(x, (4096,))),
    same_shape("cumsum", 8192, 4096, call=lambda lib, x: x.cumsum(1)),
    same_shape("sort", 64, 65536, writes=3, call=lambda lib, x: x.sort(1)),
    Row("embedding 50257x768, 32768 of them",
        lambda lib, w: functional(lib).embedding(indices(lib), w), [(50257, 768)],
        moved=2 * 32768 * 768 * 4),
    product(4096, 4096, 4096), product(512, 512, 512), product(64, 4096, 4096),
    product(8192, 8192, 8192, "bfloat16"), product(2048, 2048, 2048, "float16"),
    product(256, 4096, 4096, "bfloat16"), linear(8192, 1024, 4096, "bfloat16"),
    linear(8192, 1024, 4096),
    convolution(32, 64, 56, 64, 3), convolution(32, 256, 14, 1024, 1),
    convolution(32, 64, 56, 64, 3, "bfloat16"), convolution(32, 256, 14, 1024, 1, "bfloat16"),
    *(attention(4, 16, 4096, features, is_causal, grad) for features in (64, 128)
      for is_causal in (False, True) for grad in (False, True)),
]


@functools.lru_cache(2)
def indices(lib):
    """Rows of a table to look up."""
    return lib.randint(0, 50257, (32768,), device="cuda")


def device_seconds(lib, f, seconds=0.05):
    """The device's time for a call: medians of rounds of several, between two events."""
    start, end = (lib.cuda.Event(enable_timing=True) for _ in range(2))

    def spent(calls):
        start.record()
        for _ in range(calls):
            f()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / 1e3 / calls
    for _ in range(WARM):
        once = spent(1)
    calls = max(1, min(200, int(seconds / max(once, 1e-6))))
    return statistics.median(spent(calls) for _ in range(ROUNDS))


def host_seconds(lib, f, calls=300):
    """The time that a call takes on the host, while the device has little to do."""
    def spent():
        lib.cuda.synchronize()
        t = time.perf_counter()
        for _ in range(calls):
            f()
        return (time.perf_counter() - t) / calls
    for _ in range(WARM):
        f()
    return statistics.median(spent() for _ in range(ROUNDS))


def measured_peaks(whet):
    """What the device does at most: bytes a second by its own copies, products a second by what its
    maker says of its units."""
    from whet.cuda import device_state
    x = whet.empty(LARGE * 4, device="cuda")
    y = whet.empty_like(x)
    driver, stream = device_state.machine().driver, device_state.current_stream(0)
    seconds = device_seconds(whet, lambda: driver.copy(
        y._array.address, x._array.address, x.nbytes, stream))
    found = whet.cuda.get_device_properties(0)
    # fused multiply-adds a clock of each multiprocessor, counted as two: 128 lanes, and the tensor
    # cores of sm_90
    clock = 1.755e9
    units = found.multi_processor_count * clock * 2
    return {"bytes": 2 * x.nbytes / seconds, "float32": units * 128, "float64": units * 64,
            "bfloat16": units * 2048, "float16": units * 2048}


def throughput(whet, torch):
    """The device's time for large operands."""
    peaks = measured_peaks(whet)
    name = whet.cuda.get_device_name(0)
    table = Table("gpu", f"{name}: copies of {peaks['bytes'] / 1e12:.2f} TB/s, device time",
                  ["torch"])
    for row in ROWS:
        times, error = {}, ""
        for label, lib in (("whet", whet), ("torch", torch)):
            if lib is None:
                continue
            try:
                xs = row.tensors(lib)
                times[label] = device_seconds(lib, lambda: row.run(lib, *xs))
            except Exception as failure:
                error = f"{label}: {type(failure).__name__} {str(failure)[:80]}"
            xs = None
            lib.cuda.empty_cache()
        if "whet" in times:
            table.add(row.label, times, of_peak=f"{row.least(peaks) / times['whet']:.0%}")
        if error:
            print(f"{row.label}: {error}", flush=True)
    table.finish()


def small(lib):
    """{label: a call on small operands}"""
    x, w, b = (lib.randn(*s, device="cuda") for s in ((64, 64), (64, 64), (64,)))
    leaf = lib.randn(64, 64, device="cuda", requires_grad=True)
    f = functional(lib)
    model = lib.nn.Sequential(lib.nn.Linear(64, 256), lib.nn.ReLU(), lib.nn.Linear(256, 10)).cuda()
    optimizer = lib.optim.AdamW(model.parameters(), lr=1e-3)
    target = lib.zeros(64, dtype=lib.int64, device="cuda")

    def step():
        optimizer.zero_grad()
        f.cross_entropy(model(x), target).backward()
        optimizer.step()
    return {
        "x + w": lambda: x + w, "x * 2": lambda: x * 2.0, "x.relu()": lambda: x.relu(),
        "x + row": lambda: x + b, "x.add_(w)": lambda: x.add_(w), "x @ w": lambda: x @ w,
        "linear": lambda: f.linear(x, w, b), "softmax": lambda: x.softmax(1),
        "x.sum()": lambda: x.sum(), "layer_norm": lambda: f.layer_norm(x, (64,)),
        "x.view": lambda: x.view(32, 128), "x[3:7]": lambda: x[3:7],
        "x[3:7] + 1": lambda: x[3:7] + 1.0,
        "empty": lambda: lib.empty(64, 64, device="cuda"),
        "cat": lambda: lib.cat([x, w]),
        "sum of a product, backward": lambda: (leaf * 2).sum().backward(),
        "step of a small network": step}


def overhead(whet, torch):
    """The host's time for small operands."""
    table = Table("gpu_host", f"{whet.cuda.get_device_name(0)}: the host's time for a call",
                  ["torch"])
    libraries = [(name, lib, small(lib)) for name, lib in (("whet", whet), ("torch", torch)) if lib]
    for label in libraries[0][2]:
        try:
            table.add(label, {name: host_seconds(lib, calls[label])
                              for name, lib, calls in libraries})
        except Exception as failure:
            print(f"{label}: {type(failure).__name__} {str(failure)[:200]}", flush=True)
    table.finish()


def programs(lib):
    """{label: (a function, its operands)}: what a trace makes fewer kernels of."""
    f = functional(lib)
    x, y = (lib.randn(4096, 4096, device="cuda") for _ in range(2))
    row = lib.randn(4096, device="cuda")
    h, w, b = (lib.randn(*s, device="cuda") for s in ((512, 1024), (4096, 1024), (4096,)))
    model = lib.nn.Sequential(*[
        m for _ in range(6) for m in (lib.nn.Linear(256, 256), lib.nn.GELU())]).cuda()
    optimizer = lib.optim.AdamW(model.parameters(), lr=1e-3)
    batch, target = (lib.randn(64, 256, device="cuda") for _ in range(2))

    def step(batch, target):
        loss = f.mse_loss(model(batch), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()
    return {
        "six pointwise ops": (
            lambda x, y: ((x * y + 1.0).sigmoid() * x - y).tanh(), (x, y)),
        "add, layer_norm, gelu": (
            lambda x, y: f.gelu(f.layer_norm(x + y, (4096,), row, row)), (x, y)),
        "softmax of a masked product": (
            lambda x, y: (x * 0.125).masked_fill(y > 1.0, -1e9).softmax(-1), (x, y)),
        "linear, gelu, scale": (lambda h, w: f.gelu(f.linear(h, w, b)) * 0.5, (h, w)),
        "training step of six layers": (step, (batch, target))}


def traces(whet, torch):
    """What traced functions take, on the device and on the host, beside eager mode."""
    table = Table("gpu_traced", f"{whet.cuda.get_device_name(0)}: traced functions",
                  ["eager", "torch"])
    mine, theirs = programs(whet), programs(torch) if torch else {}
    for label, (fn, args) in mine.items():
        calls = {"whet": (whet, whet.jit.trace(fn), args), "eager": (whet, fn, args)}
        if label in theirs:
            calls["torch"] = (torch, *theirs[label])
        for what, seconds in (("device", device_seconds), ("host", host_seconds)):
            try:
                table.add(f"{label}, {what}", {
                    name: seconds(lib, functools.partial(f, *xs))
                    for name, (lib, f, xs) in calls.items()})
            except Exception as failure:
                print(f"{label}: {type(failure).__name__} {str(failure)[:200]}", flush=True)
    table.finish()


def main():
    """Measure and write the tables."""
    import whet
    if not whet.cuda.is_available():
        print("no GPU here: nothing was measured")
        return
    torch = peer("torch")
    if torch is not None and not torch.cuda.is_available():
        torch = None
    overhead(whet, torch)
    traces(whet, torch)
    throughput(whet, torch)


if __name__ == "__main__":
    main()
