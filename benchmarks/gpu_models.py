"""What training steps and inference of whole models take on this machine's GPU, eagerly and
traced, beside PyTorch's eager mode where that is installed.

    python -m benchmarks.gpu_models

Without a GPU it says so and measures nothing."""
import functools
import statistics
import time

from .harness import Table, peer

ROUNDS, SECONDS = 5, 0.3


def block(lib, width=1024, heads=16):
    """A block of GPT's kind."""
    nn, f = lib.nn, lib.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            b, t, w = x.shape
            q, k, v = (z.reshape(b, t, heads, -1).transpose(1, 2)
                       for z in self.qkv(self.first(x)).chunk(3, -1))
            a = f.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(a.transpose(1, 2).reshape(b, t, w))
            return x + self.down(f.gelu(self.up(self.second(x))))
    return Block()


def residual(lib, width=64):
    """A network of ResNet's kind, of 18 layers."""
    nn, f = lib.nn, lib.nn.functional

    class Pair(nn.Module):
        def __init__(self, before, after, stride):
            super().__init__()
            self.one = nn.Conv2d(before, after, 3, stride, 1, bias=False)
            self.two = nn.Conv2d(after, after, 3, 1, 1, bias=False)
            self.norm1, self.norm2 = nn.BatchNorm2d(after), nn.BatchNorm2d(after)
            self.short = None if stride == 1 else nn.Sequential(
                nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

        def forward(self, x):
            y = self.norm2(self.two(f.relu(self.norm1(self.one(x)))))
            return f.relu(y + (x if self.short is None else self.short(x)))
    sizes = [width, width, 2 * width, 4 * width, 8 * width]
    pairs = [Pair(a if k == 0 else b, b, 2 if k == 0 and a != b else 1)
             for a, b in zip(sizes, sizes[1:]) for k in range(2)]
    return nn.Sequential(
        nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
        nn.MaxPool2d(3, 2, 1), *pairs, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(sizes[-1], 1000))


def perceptron(lib, width=4096):
    """A perceptron of four layers."""
    nn = lib.nn
    return nn.Sequential(*[m for _ in range(3) for m in (nn.Linear(width, width), nn.GELU())],
                         nn.Linear(width, 10))


MODELS = {
    "GPT block, 8 x 1024 words": (block, (8, 1024, 1024), None),
    "ResNet-18, 32 images": (residual, (32, 3, 224, 224), 1000),
    "perceptron, 256 rows": (perceptron, (256, 4096), 10)}


def programs(lib, name, dtype):
    """{what: a call} of a model: inference, and a training step with AdamW."""
    lib.manual_seed(0)
    make, size, classes = MODELS[name]
    dtype = getattr(lib, dtype)
    model = make(lib).cuda().to(dtype)
    x = lib.randn(*size, device="cuda").to(dtype)
    labels = None if classes is None else lib.randint(0, classes, size[:1], device="cuda")
    optimizer = lib.optim.AdamW(model.parameters(), lr=1e-4)

    def inference(x):
        with lib.no_grad():
            return model(x)

    def step(x):
        y = model(x)
        loss = (y.float().square().mean() if labels is None else
                lib.nn.functional.cross_entropy(y.float(), labels))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()
    return {"inference": functools.partial(inference, x), "step": functools.partial(step, x)}


def seconds(lib, f):
    """What a call takes, of many one after the other: the longer of the host's and the device's
    time."""
    def spent(calls):
        lib.cuda.synchronize()
        t = time.perf_counter()
        for _ in range(calls):
            f()
        lib.cuda.synchronize()
        return (time.perf_counter() - t) / calls
    for _ in range(5):
        once = spent(1)
    calls = max(2, int(SECONDS / ROUNDS / once))
    return statistics.median(spent(calls) for _ in range(ROUNDS))


def allow_tf32(lib, may):
    """May products and convolutions of float32 be rounded to TF32? (PyTorch's convolutions are,
    unless a program says no.)"""
    lib.backends.cuda.matmul.allow_tf32 = lib.backends.cudnn.allow_tf32 = may


# what models are computed in: (the type, may it be rounded to TF32?)
PRECISIONS = {"float32": ("float32", False), "TF32": ("float32", True),
              "bfloat16": ("bfloat16", False)}


def measured(whet, torch, table, name, precision):
    """The rows of a model."""
    dtype, may = PRECISIONS[precision]
    for lib in filter(None, (whet, torch)):
        allow_tf32(lib, may)
    mine = programs(whet, name, dtype)
    for what in mine:
        times = {"eager": seconds(whet, mine[what]),
                 "whet": seconds(whet, functools.partial(whet.jit.trace(mine[what].func),
                                                         *mine[what].args))}
        if torch is not None:
            times["torch"] = seconds(torch, programs(torch, name, dtype)[what])
        table.add(f"{name}, {precision}, {what}", times)
        whet.cuda.empty_cache()


def main():
    """Measure and write the table."""
    import whet
    if not whet.cuda.is_available():
        print("no GPU here: nothing was measured")
        return
    torch = peer("torch")
    table = Table("gpu_models", f"{whet.cuda.get_device_name(0)}: models", ["eager", "torch"])
    for precision in PRECISIONS:
        for name in MODELS:
            try:
                measured(whet, torch, table, name, precision)
            except Exception as failure:
                print(f"{name}, {precision}: {type(failure).__name__} {str(failure)[:300]}",
                      flush=True)
    table.finish()


if __name__ == "__main__":
    main()
