"""Loaders that read small samples and images, here and in one or two processes, against PyTorch's.

    python -m benchmarks.loaders
"""
import statistics
import time

import numpy as np

from .harness import Table, peer

ROUNDS = 5
WORKERS = 0, 1, 2


def small(m):
    """60,000 samples of 28 numbers and a label, in batches of 256."""
    class Small(m.utils.data.Dataset):
        def __init__(self):
            self.x, self.y = m.randn(60_000, 28), m.arange(60_000)

        def __len__(self):
            return len(self.y)

        def __getitem__(self, i):
            return self.x[i], self.y[i]
    return Small(), 256


def images(m):
    """2,000 images of 3 x 224 x 224 floats made from bytes, in batches of 32."""
    pixels = np.random.default_rng(0).integers(0, 255, (4, 3, 256, 256), dtype=np.uint8)

    class Images(m.utils.data.Dataset):
        def __len__(self):
            return 2000

        def __getitem__(self, i):
            at = i % 32
            cut = pixels[i % 4, :, at:at + 224, at:at + 224]
            return m.from_numpy(cut.astype(np.float32) / 255), i
    return Images(), 32


def epoch(m, dataset, size, workers):
    """Seconds for one epoch, the workers' start and end included."""
    began, seen = time.perf_counter(), 0
    for x, _ in m.utils.data.DataLoader(dataset, size, shuffle=True, num_workers=workers):
        seen += x.shape[0]
    assert seen == len(dataset)
    return time.perf_counter() - began


def main():
    import whet
    libraries = {"whet": whet}
    torch = peer("torch")
    if torch is not None:
        import torch.utils.data
        libraries["torch"] = torch
    table = Table("loaders", "Loaders: an epoch", ["torch"])
    for make in small, images:
        datasets = {name: make(m) for name, m in libraries.items()}
        for workers in WORKERS:
            times = {name: [] for name in libraries}
            for _ in range(ROUNDS):
                for name, m in libraries.items():
                    times[name].append(epoch(m, *datasets[name], workers))
            table.add(f"{make.__name__}, workers: {workers}",
                      {name: statistics.median(t) for name, t in times.items()})
    table.finish()


if __name__ == "__main__":
    main()
