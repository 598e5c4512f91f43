"""Programs over mixes of sizes: all calls of five passes traced, recordings included, beside the
same calls made eagerly.

A row is one program over one mix. Each call is made eagerly and traced in turn, on models of their
own, and the time of either is added up. Eager calls are another process's: what eager mode does
once for each size, it does on either side. A pass is as many calls as there are sizes: drawn at
random from them (uniform), each once and in order (growing), each once and shuffled anew (epochs),
or each pass of sizes that no other pass has (fresh).

    python -m benchmarks.mixes [--sizes 1 20 200 1000] [--passes 5] [--mixes epochs]
        [--only attention]
"""
import argparse
import multiprocessing
import random
import sys
import time

# of eager's time, and seconds: what tracing may take at most
ALLOWED, GRACE = 1.1, 0.05
# of eager's time: what it should take from the third pass on, where so many sizes recur
GAIN = 0.8
RECURRING = 200
WIDTH, HEADS, BATCH = 32, 2, 4


def attention():
    """Softmax attention of one sequence over itself."""
    import whet

    @whet.no_grad()
    def fn(q):
        return (q @ q.t() * 0.125).softmax(-1) @ q
    return fn, lambda n: (whet.randn(n + 2, WIDTH),)


def transformer():
    """A training step of one transformer layer on a padded batch."""
    import whet
    layer = whet.nn.TransformerEncoderLayer(WIDTH, HEADS, 2 * WIDTH, dropout=0.0, batch_first=True)
    optimizer = whet.optim.SGD(layer.parameters(), lr=1e-3)

    def fn(x, mask):
        loss = layer(x, src_key_padding_mask=mask).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    def inputs(n):
        mask = whet.zeros(BATCH, n + 3, dtype=whet.bool)
        mask[0, -1] = True
        return whet.randn(BATCH, n + 3, WIDTH), mask
    return fn, inputs


def language():
    """A training step of a small language model, with AdamW."""
    import whet
    import whet.nn.functional as F
    nn = whet.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Embedding(64, WIDTH), nn.Linear(WIDTH, 64)
            self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.norm = nn.LayerNorm(WIDTH)

        def forward(self, tokens):
            x = self.embed(tokens)
            q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
            x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True))
            return self.head(x)
    model = Model()
    optimizer = whet.optim.AdamW(model.parameters(), lr=1e-3)

    def fn(tokens, targets):
        loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()
    return fn, lambda n: (whet.randint(64, (BATCH, n + 3)), whet.randint(64, (BATCH, n + 3)))


def cache_by_cat():
    """A step of decoding whose cache of keys and values grows by `cat`."""
    import whet
    q, k, v = (whet.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3))

    @whet.no_grad()
    def fn(x, keys, values):
        keys, values = whet.cat([keys, k(x)]), whet.cat([values, v(x)])
        return (q(x) @ keys.t() * 0.125).softmax(-1) @ values, keys, values
    return fn, lambda n: (whet.randn(1, WIDTH), whet.randn(n + 2, WIDTH), whet.randn(n + 2, WIDTH))


def cache_by_writes():
    """A step of decoding that writes to a cache of keys and values of full length."""
    import whet
    q, k, v = (whet.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3))
    keys, values = whet.zeros(8192, WIDTH), whet.zeros(8192, WIDTH)

    @whet.no_grad()
    def fn(x, n):
        keys[n], values[n] = k(x)[0], v(x)[0]
        return (q(x) @ keys[:n + 1].t() * 0.125).softmax(-1) @ values[:n + 1]
    return fn, lambda n: (whet.randn(1, WIDTH), n + 2)


def recurrent():
    """An RNN over sequences, a step after the other."""
    import whet
    cell = whet.nn.GRUCell(8, 16)

    @whet.no_grad()
    def fn(xs):
        h = whet.zeros(1, 16)
        for x in xs.unbind(0):
            h = cell(x, h)
        return h
    return fn, lambda n: (whet.randn(1 + n % 64 + n // 64, 1, 8),)


def pooling():
    """Means of pieces of a ragged batch."""
    import whet

    @whet.no_grad()
    def fn(x, segment):
        total = whet.zeros(8, WIDTH).index_add(0, segment, x)
        count = whet.zeros(8).index_add(0, segment, whet.ones(x.shape[0]))
        return total / count.clamp(min=1)[:, None]
    return fn, lambda n: (whet.randn(n + 8, WIDTH), whet.arange(n + 8) % 8)


def perceptron():
    """An MLP with batches of any size."""
    import whet
    nn = whet.nn
    net = nn.Sequential(nn.Linear(WIDTH, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 64),
                        nn.GELU(), nn.Linear(64, 10))
    return whet.no_grad()(lambda x: net(x).log_softmax(-1)), lambda n: (whet.randn(n + 2, WIDTH),)


def convolutional():
    """A convolutional net over images of many sizes."""
    import whet
    nn = whet.nn
    net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                        nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
                        nn.Flatten(), nn.Linear(8, 10)).eval()
    return whet.no_grad()(lambda x: net(x)), lambda n: (whet.randn(1, 3, 8 + n % 32, 8 + n // 32),)


def branching():
    """Python branches on data."""
    import whet

    @whet.no_grad()
    def fn(x):
        y = (x * 2 + 1).tanh() * x.exp()
        if y.sum() > 0:
            y = y / (y.abs().sum(-1, keepdim=True) + 1)
        if y.max() > 0.1:
            y = y * 0.5 - x
        return y.sum(0)
    return fn, lambda n: (whet.randn(n + 2, WIDTH),)


def graph():
    """A layer of message passing over graphs of any number of nodes and edges."""
    import whet
    message, update = whet.nn.Linear(2 * WIDTH, WIDTH), whet.nn.Linear(2 * WIDTH, WIDTH)

    @whet.no_grad()
    def fn(x, source, target):
        m = message(whet.cat([x[source], x[target]], -1)).relu()
        return update(whet.cat([x, whet.zeros_like(x).index_add(0, target, m)], -1)).relu()

    return fn, lambda n: (whet.randn(n + 4, WIDTH), whet.randint(n + 4, (3 * n + 5,)),
                          whet.randint(n + 4, (3 * n + 5,)))


PROGRAMS = [
    transformer, attention, cache_by_cat, cache_by_writes, recurrent, pooling, perceptron,
    convolutional, language, branching, graph]


def uniform(count, passes, rng):
    """So many of all sizes, drawn at random."""
    return [[rng.randrange(count) for _ in range(count)] for _ in range(passes)]


def growing(count, passes, rng):
    """All sizes in order."""
    return [list(range(count)) for _ in range(passes)]


def epochs(count, passes, rng):
    """All sizes in an order that each pass draws."""
    return [rng.sample(range(count), count) for _ in range(passes)]


def fresh(count, passes, rng):
    """Sizes that grow on, and never come again."""
    return [list(range(k * count, (k + 1) * count)) for k in range(passes)]


MIXES = [uniform, growing, epochs, fresh]


class Times:
    """Seconds of the passes by one clock, eager and traced; `worst`: the most that tracing was
    ever behind what it may take."""

    def __init__(self):
        self.eager, self.traced, self.worst = [], [], 0.0

    def begin(self):
        """A pass begins."""
        self.eager.append(0.0)
        self.traced.append(0.0)

    def add(self, eager, traced):
        """A call of each was made."""
        self.eager[-1] += eager
        self.traced[-1] += traced
        self.worst = max(self.worst, sum(self.traced) - ALLOWED * sum(self.eager) - GRACE)

    @property
    def kept(self):
        """Did tracing stay within what it may take?"""
        return sum(self.traced) <= ALLOWED * sum(self.eager) + GRACE

    @property
    def later(self):
        """The ratio of traced to eager from the third pass on."""
        return sum(self.traced[2:]) / max(sum(self.eager[2:]), 1e-9)


CLOCKS = (time.perf_counter, time.process_time)


def timed(fn, args):
    """The seconds that a call takes, by each clock."""
    start = [c() for c in CLOCKS]
    fn(*args)
    return [c() - s for c, s in zip(CLOCKS, start)]


def answer(connection, fn, given):
    """Make the calls that the other process asks for, until it asks for none."""
    for n in iter(connection.recv, None):
        connection.send(timed(fn, given[n]))


class OtherProcess:
    """A copy of this process that makes calls of a function."""

    def __init__(self, fn, given):
        forked = multiprocessing.get_context("fork")
        self.connection, other = forked.Pipe()
        self.process = forked.Process(target=answer, args=(other, fn, given), daemon=True)

    def timed(self, n):
        """The seconds that a call takes there."""
        self.connection.send(n)
        return self.connection.recv()

    def __enter__(self):
        self.process.start()
        return self

    def __exit__(self, *_):
        self.connection.send(None)
        self.process.join()


def measure(program, mix, count, passes, seed=0, dynamic=None):
    """(wall, processor) `Times` of a program over a mix, and the traced function."""
    import whet
    import whet.jit
    rng = random.Random(seed)
    whet.manual_seed(seed)
    eager, inputs = program()
    whet.manual_seed(seed)
    traced = whet.jit.trace(program()[0], dynamic=dynamic)
    times = [Times() for _ in CLOCKS]
    order = mix(count, passes, rng)
    given = {n: inputs(n) for n in {n for p in order for n in p}}
    for n in list(given)[:2]:
        eager(*given[n])                     # what eager mode compiles, it has
    with OtherProcess(eager, given) as other:
        for calls in order:
            for t in times:
                t.begin()
            for n in calls:
                for t, *seconds in zip(times, other.timed(n), timed(traced, given[n])):
                    t.add(*seconds)
    return *times, traced


def main(argv=()):
    """Measure and print the rows."""
    ask = argparse.ArgumentParser()
    ask.add_argument("--sizes", type=int, nargs="*", default=[1, 20, 200])
    ask.add_argument("--passes", type=int, default=5)
    ask.add_argument("--mixes", nargs="*", default=[m.__name__ for m in MIXES])
    ask.add_argument("--only", nargs="*", default=[p.__name__ for p in PROGRAMS])
    ask.add_argument("--passed", action="store_true", help="the times of each pass, too")
    ask = ask.parse_args(argv)
    import whet
    whet.set_num_threads(1)
    over, short = [], []
    heads = ("program", "mix", "sizes", "eager ms", "traced ms", "ratio by wall clock", "ratio",
             "from the third pass on", "ms beyond, at worst")
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for program in (p for p in PROGRAMS if p.__name__ in ask.only):
        for mix in (m for m in MIXES if m.__name__ in ask.mixes):
            for count in ask.sizes:
                wall, cpu, _ = measure(program, mix, count, ask.passes)
                eager, took, row = (sum(cpu.eager), sum(cpu.traced),
                                    (program.__name__, mix.__name__, count))
                facts = (*row, f"{eager * 1e3:.0f}", f"{took * 1e3:.0f}",
                         f"{sum(wall.traced) / sum(wall.eager):.2f}", f"{took / eager:.2f}",
                         f"{cpu.later:.2f}",
                         f"{cpu.worst * 1e3:.0f}" if cpu.kept else f"**{cpu.worst * 1e3:.0f}**")
                print(f"| {' | '.join(map(str, facts))} |", flush=True)
                if ask.passed:
                    print("   " + " ".join(f"{a * 1e3:.1f}/{b * 1e3:.1f}"
                                           for a, b in zip(cpu.traced, cpu.eager)))
                over += [row] * (not cpu.kept)
                short += [row] * (mix is epochs and count <= RECURRING and cpu.later > GAIN)
    print(
        f"\nBeyond what tracing may take: {len(over)}: {over}\nAbove {GAIN} from the third pass "
        f"on: {len(short)}: {short}")


if __name__ == "__main__":
    main(sys.argv[1:])
