"""Convolutions of ResNet-50, VGG and MobileNet layers, and of video and medical models' (C3D, R3D,
R(2+1)D, a 3-d U-Net) on plain row-major tensors, forward and backward, beside PyTorch."""
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

VOLUMES = {  # name: images, channels, size, outputs, kernel, stride
    "c3d 3": (1, 3, (16, 112, 112), 64, (3, 3, 3), (1, 1, 1)),
    "c3d 64": (1, 64, (16, 56, 56), 128, (3, 3, 3), (1, 1, 1)),
    "c3d 128": (1, 128, (8, 28, 28), 256, (3, 3, 3), (1, 1, 1)),
    "c3d 512 late": (1, 512, (2, 7, 7), 512, (3, 3, 3), (1, 1, 1)),
    "r3d stem": (1, 3, (16, 112, 112), 64, (3, 7, 7), (1, 2, 2)),
    "r3d 64, batch 4": (4, 64, (8, 28, 28), 64, (3, 3, 3), (1, 1, 1)),
    "r3d 64/2": (1, 64, (16, 56, 56), 128, (3, 3, 3), (2, 2, 2)),
    "r(2+1)d stem": (1, 3, (16, 112, 112), 45, (1, 7, 7), (1, 2, 2)),
    "r(2+1)d 1x3x3 64": (1, 64, (16, 56, 56), 144, (1, 3, 3), (1, 1, 1)),
    "r(2+1)d 3x1x1 144": (1, 144, (16, 56, 56), 64, (3, 1, 1), (1, 1, 1)),
    "r(2+1)d 1x3x3/2 64": (1, 64, (16, 56, 56), 230, (1, 3, 3), (1, 2, 2)),
    "r(2+1)d 3x1x1/2 230": (1, 230, (16, 28, 28), 128, (3, 1, 1), (2, 1, 1)),
    "unet 1": (1, 1, (32, 32, 32), 32, (3, 3, 3), (1, 1, 1)),
    "unet 32": (1, 32, (32, 32, 32), 64, (3, 3, 3), (1, 1, 1)),
    "unet 128": (1, 128, (16, 16, 16), 128, (3, 3, 3), (1, 1, 1)),
    "unet 256": (1, 256, (8, 8, 8), 256, (3, 3, 3), (1, 1, 1)),
}


def layers():
    """(name, images, channels, size, outputs, kernel, stride, groups) of all layers."""
    for name, (c, size, o, k, stride, groups) in LAYERS.items():
        yield name, 1, c, (size, size), o, (k, k), (stride, stride), groups
    for name, layer in VOLUMES.items():
        yield name, *layer, 1


def case(m, F, arrays, stride, padding, groups):
    """(forward, backward) of one layer in one library."""
    x, w, b, g = (m.tensor(a) for a in arrays)
    xg, wg, bg = (t.clone().requires_grad_() for t in (x, w, b))
    conv = F.conv2d if x.ndim == 4 else F.conv3d
    y = conv(xg, wg, bg, stride, padding, 1, groups)

    def forward():
        with m.no_grad():
            return conv(x, w, b, stride, padding, 1, groups)
    return forward, lambda: m.autograd.grad(y, (xg, wg, bg), g, retain_graph=True)


def main():
    """Measure and write the table."""
    import whet
    import whet.nn.functional as F
    torch = peer("torch")
    whet.set_num_threads(threads())
    if torch:
        torch.set_num_threads(threads())
    table = Table("convolutions", f"conv2d and conv3d, f32, {threads()} thread(s)", ["torch"])
    rng = np.random.default_rng(0)
    for name, images, c, size, o, kernel, stride, groups in layers():
        padding = tuple(k // 2 for k in kernel)
        out = [(n + 2 * p - k) // s + 1 for n, p, k, s in zip(size, padding, kernel, stride)]
        arrays = [
            rng.standard_normal(s).astype("f4")
            for s in ((images, c, *size), (o, c // groups, *kernel), (o,), (images, o, *out))]
        libs = {"whet": case(whet, F, arrays, stride, padding, groups)}
        if torch:
            libs["torch"] = case(torch, torch.nn.functional, arrays, stride, padding, groups)
        for i, what in enumerate(("forward", "backward")):
            table.add(f"{name}, {what}",
                      timings({lib: fns[i] for lib, fns in libs.items()}, 0.5, 11))
    table.finish()
