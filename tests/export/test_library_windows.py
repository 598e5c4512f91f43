"""Libraries of convolutions and pools for many sizes: their plans are formulas of the sizes, so one
list of launches serves thousands of sizes with the bits of eager mode."""

import pytest
import whet
from whet import nn
from whet.jit import Dim

from tests.export import test_library, test_rounded_sizes
from tests.export.test_library import CALL

pytestmark = test_library.pytestmark
LEVEL = "x86-64-v3"


class Images(nn.Sequential):
    """Depthwise and other convolutions, with pools of all kinds between them."""

    def __init__(self):
        super().__init__(
            nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
            nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.AvgPool2d(2, ceil_mode=True),
            nn.Conv2d(16, 16, 3, padding=1), nn.Conv2d(16, 4, 1),
            nn.AdaptiveAvgPool2d((3, 2)))


class Doubled(nn.Sequential):
    """Images grow by transposed convolutions, with and without padding."""

    def __init__(self):
        super().__init__(
            nn.ConvTranspose2d(3, 8, 2, 2), nn.ReLU(), nn.ConvTranspose2d(8, 4, 3, 2, padding=1))


IMAGES = {2: Dim("h", min=12, max=90), 3: Dim("w", min=12, max=90)}
# the model, its argument, the sizes that differ, some of these, threads
CASES = {
    "images": (Images, (2, 3, None, None), IMAGES, ((24, 40), (12, 12), (90, 89), (57, 13)), 2),
    "doubled": (Doubled, (2, 3, None, None), IMAGES, ((24, 40), (12, 12), (90, 89), (57, 13)), 2),
    "listener": (test_rounded_sizes.Listener, (2, 4, None), {2: Dim("time", min=20, max=127)},
                 ((50,), (20,), (127,), (64,)), 1),
}


@pytest.mark.parametrize("name", CASES)
def test_many_sizes(name, tmp_path):
    make, shape, dims, sizes, threads = CASES[name]
    whet.manual_seed(4)
    model, inputs = make().eval(), test_rounded_sizes.of(*shape)
    key = "input" if isinstance(model, nn.Sequential) else "x"
    function = whet.export(model, *inputs(*sizes[0]), dynamic={key: dims})
    function.compile(tmp_path / "model.so", threads=threads, target=LEVEL)
    library = CALL.Model(tmp_path / "model.so", threads=threads)
    names = [d.name for d in dims.values()]
    for values in sizes:
        (x,) = inputs(*values)
        with whet.no_grad():
            wanted = model(x)
        (made,) = library(x.numpy(), sizes=dict(zip(names, values)))
        assert made.tobytes() == wanted.numpy().tobytes() and made.shape == wanted.shape, values
    library.close()


@pytest.mark.parametrize("kind", (whet.bfloat16, whet.float16))
def test_convolutions_of_16_bits_and_transforms_of_planes(kind, tmp_path):
    whet.manual_seed(4)
    layer = nn.Conv2d(3, 8, 3).to(kind).eval()

    def model(x):
        return layer(x.to(kind)).float(), whet.fft.fft2(x).real

    function = whet.export(
        model, whet.randn(2, 3, 8, 6), dynamic={"x": {0: Dim("batch", min=1, max=3)}})
    function.compile(tmp_path / "model.so", threads=1, target=LEVEL)
    library = CALL.Model(tmp_path / "model.so", threads=1)
    traced = whet.jit.trace(model)
    for batch in (1, 2, 3):
        x = whet.randn(batch, 3, 8, 6)
        with whet.no_grad():
            wanted, replayed = model(x), [traced(x) for _ in range(3)][-1]
        made = library(x.numpy(), sizes={"batch": batch})
        for a, b, c in zip(made, wanted, replayed, strict=True):
            assert a.tobytes() == b.numpy().tobytes() == c.numpy().tobytes(), batch
    assert "in Python" not in traced.explain()
    library.close()
