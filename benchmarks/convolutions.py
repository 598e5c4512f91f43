"""Convolutions of ResNet-50, VGG and MobileNet layers on plain row-major tensors, forward and
backward, beside PyTorch."""
import numpy as np

from .harness import Table, peer, threads, timings

LAYERS = {  # name: channels, size, outputs, kernel, stride, groups
    "resnet stem": (3, 224, 64, 7, 2, 1), "resnet 3x3 64": (64, 56, 64, 3, 1, 1),
    "resnet 3x3 128": (128, 28, 128, 3, 1, 1), "resnet 3x3 256": (256, 14, 256, 3, 1, 1),
    "resnet 3x3 512": (512, 7, 512, 3, 1, 1), "resnet 3x3/2 128": (128, 56, 128, 3, 2, 1),
    "resnet 3x3/2 512": (512, 14, 512, 3, 2, 1), "resnet 1x1 64-256": (64, 56, 256, 1, 1, 1),
    "resnet 1x1 256-64": (256, 56, 64, 1, 1, 1), "resnet 1x1 1024-256": (1024, 14, 256, 1, 1, 1),
    "resnet 1x1 2048-512": (2048, 7, 512, 1, 1, 1), "resnet 1x1/2 256-512": (256, 56, 512, 1, 2, 1),
    "vgg 3": (3, 224, 64, 3, 1, 1), "vgg 64": (64, 112, 64, 3, 1, 1),
    "vgg 256": (256, 56, 256, 3, 1, 1), "vgg 512": (512, 28, 512, 3, 1, 1),
    "vgg 512 late": (512, 14, 512, 3, 1, 1), "mobilenet stem": (3, 224, 32, 3, 2, 1),
    "mobilenet 32": (32, 112, 32, 3, 1, 32), "mobilenet 96/2": (96, 112, 96, 3, 2, 96),
    "mobilenet 144": (144, 56, 144, 3, 1, 144), "mobilenet 384": (384, 14, 384, 3, 1, 384),
    "mobilenet 960": (960, 7, 960, 3, 1, 960),
}


def case(m, F, arrays, stride, padding, groups):
    """(forward, backward) of one layer in one library."""
    x, w, b, g = (m.tensor(a) for a in arrays)
    xg, wg, bg = (t.clone().requires_grad_() for t in (x, w, b))
    y = F.conv2d(xg, wg, bg, stride, padding, 1, groups)

    def forward():
        with m.no_grad():
            return F.conv2d(x, w, b, stride, padding, 1, groups)
    return forward, lambda: m.autograd.grad(y, (xg, wg, bg), g, retain_graph=True)


def main():
    """Measure and write the table."""
    import whet
    import whet.nn.functional as F
    torch = peer("torch")
    whet.set_num_threads(threads())
    if torch:
        torch.set_num_threads(threads())
    table = Table("convolutions", f"conv2d, f32, batch 1, {threads()} thread(s)", ["torch"])
    rng = np.random.default_rng(0)
    for name, (c, size, o, k, stride, groups) in LAYERS.items():
        out = (size + 2 * (k // 2) - k) // stride + 1
        arrays = [
            rng.standard_normal(s).astype("f4")
            for s in ((1, c, size, size), (o, c // groups, k, k), (o,), (1, o, out, out))]
        libs = {"whet": case(whet, F, arrays, stride, k // 2, groups)}
        if torch:
            libs["torch"] = case(torch, torch.nn.functional, arrays, stride, k // 2, groups)
        for i, what in enumerate(("forward", "backward")):
            table.add(f"{name}, {what}",
                      timings({lib: fns[i] for lib, fns in libs.items()}, 0.5, 11))
    table.finish()
