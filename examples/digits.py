"""Train a small convolutional network on scikit-learn's images of handwritten digits; beside
PyTorch, where it is installed. Then export it, and call it as a library from C.

    python examples/digits.py [epochs]
"""
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

EPOCHS, BATCH = 12, 64


def images():
    """1797 images of 8x8 pixels, split into training and held-out ones."""
    from whet.datasets import Digits
    return [(part.images.numpy(), part.labels.numpy()) for part in (Digits(), Digits(train=False))]


def network(nn):
    """Two convolutions with batch norm, a pool, two linear layers."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(512, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 10))


def bar(name, epoch, epochs, step, steps, loss):
    """One line that fills up (only where somebody watches)."""
    if sys.stdout.isatty():
        done = int(24 * step / steps)
        print(
            f"\r{name:6s} epoch {epoch:2d}/{epochs} [{'#' * done}{'.' * (24 - done)}] loss "
            f"{loss:.4f} ",
            end="",
            flush=True)


def train(m, epochs, name, wrap=lambda step: step):
    """Train with one framework `m`, its step as `wrap` makes it; (accuracy on held-out images,
    seconds per epoch)."""
    nn, optim = (importlib.import_module(f"{m.__name__}.nn"),
                 importlib.import_module(f"{m.__name__}.optim"))
    F = importlib.import_module(f"{m.__name__}.nn.functional")
    m.manual_seed(0)
    (x, y), (tx, ty) = [(m.tensor(a), m.tensor(b)) for a, b in images()]
    model = network(nn)
    opt = optim.Adam(model.parameters(), lr=2e-3)

    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss
    step, steps, seconds = wrap(step), -(-len(y) // BATCH), []
    for epoch in range(1, epochs + 1):
        start, total = time.perf_counter(), 0.0
        model.train()
        order = m.randperm(len(y))
        for k in range(steps):
            pick = order[k * BATCH:(k + 1) * BATCH]
            total += step(x[pick], y[pick]).item()
            bar(name, epoch, epochs, k + 1, steps, total / (k + 1))
        seconds.append(time.perf_counter() - start)
        if not sys.stdout.isatty():
            print(
                f"{name:6s} epoch {epoch:2d}/{epochs}  loss {total / steps:.4f}  "
                f"{seconds[-1]:.3f} s")
    model.eval()
    with m.no_grad():
        right = (model(tx).argmax(1) == ty).to(m.float32).mean().item()
    if sys.stdout.isatty():
        print()
    return right, float(np.median(seconds)), (model, tx[:64], ty[:64])


LOAD = """
import sys, whet
model, x, y = whet.load(sys.argv[1]), whet.load(sys.argv[2]), whet.load(sys.argv[3])
sys.exit(bool((model(x) != y).any()))
"""


def exported(whet, model, x):
    """Export the network, load it in a process of its own and compare the bits."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("digits.whet", "x", "y")]
        net = whet.export(model, x)
        with whet.no_grad():
            y = model(x)
        net.save(paths[0])
        whet.save(x, paths[1])
        whet.save(y, paths[2])
        size = os.path.getsize(paths[0])
        print(f"\nexported: {net}, {size:,} bytes in a file")
        if subprocess.run([sys.executable, "-c", LOAD, *paths]).returncode:
            sys.exit("the exported network gives other bits in another process")
        print("loaded in another process: the same bits")
    return y


def in_c(library, source, x, threads):
    """What the library gives for an input when a program in C calls it with so many threads, and
    the microseconds that a call takes; None where there is no compiler."""
    cc, folder = shutil.which("cc"), os.path.dirname(library)
    if cc is None:
        return None
    program, given, made = (os.path.join(folder, n) for n in ("program", "x.bin", "y.bin"))
    here = ["-I" + folder, "-Wl,-rpath," + folder]
    subprocess.run([cc, "-O2", *here, source, library, "-o", program], check=True)
    x.tofile(given)
    command = [program, given, made, "200", str(threads)]
    said = subprocess.run(command, check=True, capture_output=True, text=True)
    return np.fromfile(made, np.float32), float(said.stdout)


def compiled(whet, model, x, y, wanted):
    """Make a library of the network, call it from C, and show what a call takes each way."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "library", "digits.c")
    net = whet.export(model, x)
    traced = whet.jit.trace(model)
    with tempfile.TemporaryDirectory() as folder, whet.no_grad():
        library = os.path.join(folder, "digits.so")
        try:
            net.compile(library)
            found = in_c(library, source, x.numpy(), whet.get_num_threads())
        except RuntimeError as e:
            print(f"no library: {e}")
            return
        rows = [("eager", timed(lambda: model(x))), ("traced", timed(lambda: traced(x)))]
        size = os.path.getsize(library)
    if found is None:
        print("(no C compiler: the library is not called)")
        return
    made, microseconds = found
    if made.tobytes() != y.numpy().tobytes():
        sys.exit("the library gives other bits")
    right = (made.reshape(len(x), -1).argmax(1) == wanted.numpy()).mean()
    print(f"\n{len(x)} images at once{'microseconds':>24s}")
    for name, least in (*rows, ("exported library, from C", microseconds)):
        print(f"{name:26s}{least:14.1f}")
    print(f"the library has {size:,} bytes, and gives the same bits: {right:.1%} right")


def timed(call, calls=200):
    """The least microseconds of some calls."""
    least = float("inf")
    for _ in range(calls):
        start = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - start)
    return 1e6 * least


def main():
    epochs = int(sys.argv[1]) if len(sys.argv) > 1 else EPOCHS
    import whet
    rows = [("whet", *train(whet, epochs, "whet")),
            ("traced", *train(whet, epochs, "traced", whet.jit.trace))]
    try:
        import torch
    except ImportError:
        print("(torch is not installed: no comparison)")
    else:
        torch.set_num_threads(whet.get_num_threads())
        rows.append(("torch", *train(torch, epochs, "torch")))
    print(f"\n{'':8s}{'held-out accuracy':>20s}{'seconds per epoch':>20s}")
    for name, right, seconds, _ in rows:
        print(f"{name:8s}{right:20.1%}{seconds:20.3f}")
    if rows[0][1] != rows[1][1]:
        sys.exit("the traced step trained another network than the eager one")
    if rows[0][1] < 0.97:
        sys.exit(f"whet reached {rows[0][1]:.1%}, expected at least 97 %")
    model, x, wanted = rows[1][3]
    y = exported(whet, model, x)
    compiled(whet, model, x, y, wanted)


if __name__ == "__main__":
    main()
