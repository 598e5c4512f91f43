"""Products of sparse matrices beside PyTorch's, of one thread, forward and backward.

    python -m benchmarks.sparse        (with PyTorch installed: `make peers`)
"""
import time
import warnings

import numpy as np
import torch
import whet

SHAPES = ((2_708, 16, 13_264), (2_708, 64, 13_264), (5_000, 64, 20_000), (20_000, 64, 200_000),
          (100_000, 64, 1_000_000), (100_000, 8, 1_000_000), (100_000, 1, 1_000_000))


def least(calls, seconds=2.0):
    """The least time of this thread that each call took, in milliseconds; the calls take turns."""
    found = [float("inf")] * len(calls)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or found[-1] == float("inf"):
        for i, call in enumerate(calls):
            start = time.thread_time()
            call()
            found[i] = min(found[i], time.thread_time() - start)
    return [1000 * t for t in found]


def operands(lib, nodes, width, rows, columns, values, dense, layout):
    """A sparse matrix and a dense one that wants a gradient."""
    places = np.stack([rows, columns])
    adj = lib.sparse_coo_tensor(lib.from_numpy(places), lib.from_numpy(values), (nodes, nodes))
    adj = adj.coalesce()
    return (adj if layout == "coo" else adj.to_sparse_csr(),
            lib.from_numpy(dense).requires_grad_())


def calls_of(lib, adj, dense):
    """Forward alone, and with the way back to the dense operand."""
    ones = lib.ones(*dense.shape)
    frozen = dense.detach()

    def forward():
        return lib.sparse.mm(adj, frozen)

    def both():
        dense.grad = None
        lib.sparse.mm(adj, dense).backward(ones)
    return forward, both


def main():
    """Print a table."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    whet.set_num_threads(1)
    rng = np.random.default_rng(0)
    print("| nodes | width | entries | layout | forward: whet, torch (ms) | ratio "
          "| both ways: whet, torch (ms) | ratio |\n|---|---|---|---|---|---|---|---|")
    for nodes, width, count in SHAPES:
        flat = np.unique(rng.integers(0, nodes * nodes, count))
        rows, columns = flat // nodes, flat % nodes
        values = rng.standard_normal(flat.size).astype("f4")
        dense = rng.standard_normal((nodes, width)).astype("f4")
        for layout in ("coo", "csr"):
            ours, theirs = (calls_of(lib, *operands(lib, nodes, width, rows, columns, values, dense,
                                                    layout)) for lib in (whet, torch))
            a, b, c, d = least([ours[0], theirs[0], ours[1], theirs[1]])
            print(f"| {nodes} | {width} | {flat.size} | {layout} | {a:.2f}, {b:.2f} | {a / b:.2f} "
                  f"| {c:.2f}, {d:.2f} | {c / d:.2f} |", flush=True)


if __name__ == "__main__":
    main()
