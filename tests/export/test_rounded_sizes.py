"""Sizes that windows and strides leave, `(time-1)//2+1`: one export serves odd and even ones, and
the function, its archive, its library and its ONNX model give what the model gives."""


import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet import nn
from whet.jit import Dim
from whet.jit.export import ArchiveError, PreconditionError
from whet.jit.export.library import targets
from whet.jit.export.size_formulas import SizeFormula

from tests.export import models, onnx_runtime, test_library
from tests.export.damage import format_of, with_formula
from tests.export.test_library import CALL


class Listener(nn.Module):
    """Attention over every other frame, with a table of places that is cut to these."""

    def __init__(self):
        super().__init__()
        self.front = nn.Conv1d(4, 8, 3, stride=2, padding=1)
        self.places = nn.Parameter(whet.randn(64, 8))
        self.qkv = nn.Linear(8, 24)

    def forward(self, x):
        x = F.gelu(self.front(x)).transpose(1, 2)
        x = x + self.places[: x.shape[1]]
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, 2, 4).permute(2, 0, 3, 1, 4)
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, c)


class Pooled(nn.Sequential):
    """Images of any size, by strides and pools, to five numbers."""

    def __init__(self):
        super().__init__(
            nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
            nn.Conv2d(4, 6, 3, padding=1), nn.AdaptiveAvgPool2d((2, 2)), nn.Flatten(),
            nn.Linear(24, 5))


class UNet(nn.Module):
    """Halved twice, and doubled again beside what was there."""

    def __init__(self):
        super().__init__()
        self.down, self.deep = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
        self.up, self.out = nn.ConvTranspose2d(4, 4, 2, 2), nn.Conv2d(8, 1, 1)

    def join(self, up, skip):
        return whet.cat([up, skip], 1)

    def forward(self, x):
        a = F.relu(self.down(x))
        b = F.relu(self.deep(F.max_pool2d(a, 2)))
        c = F.relu(self.deep(F.max_pool2d(b, 2)))
        c = self.out(self.join(self.up(c), b)).expand(-1, 4, -1, -1)
        return self.out(self.join(self.up(c), a))


class PaddedUNet(UNet):
    """The same for images of any size: what is a row short is padded."""

    def join(self, up, skip):
        y, x = skip.shape[2] - up.shape[2], skip.shape[3] - up.shape[3]
        return whet.cat([F.pad(up, [x // 2, x - x // 2, y // 2, y - y // 2]), skip], 1)


class Resized(nn.Module):
    """What a pool has made smaller is resized to what it was made of."""

    def forward(self, x):
        small = F.max_pool2d(x, 2)
        return F.interpolate(small, size=x.shape[-2:], mode="bilinear") + x


class Speech(nn.Module):
    """Every third window of a sound, read in both directions."""

    def __init__(self):
        super().__init__()
        self.front, self.out = nn.Conv1d(3, 4, 5, stride=3), nn.Linear(8, 2)
        self.layer = nn.GRU(4, 4, batch_first=True, bidirectional=True)

    def forward(self, x):
        return self.out(self.layer(self.front(x).transpose(1, 2))[0]).log_softmax(-1)


class Spectrum(nn.Module):
    """The power of frequencies in windows of a sound."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", whet.hann_window(16))
        self.out = nn.Linear(9, 3)

    def forward(self, x):
        z = whet.stft(x, 16, 4, window=self.window, return_complex=True)
        return self.out((z.real ** 2 + z.imag ** 2).transpose(1, 2)).clamp(min=1e-6).log10()


class Windows(nn.Module):
    """Images are padded to windows of 4x4, each of which attends to itself."""

    def forward(self, x):
        b, h, w, c = x.shape
        x = F.pad(x, (0, 0, 0, -w % 4, 0, -h % 4))
        y, z = x.shape[1] // 4, x.shape[2] // 4
        x = x.view(b, y, 4, z, 4, c).transpose(2, 3).reshape(-1, 16, c)
        x = (x @ x.mT).softmax(-1) @ x
        return x.view(b, y, z, 4, 4, c).transpose(2, 3).reshape(b, 4 * y, 4 * z, c)[:, :h, :w]


class Halves(nn.Module):
    """Numbers that Python computes of a size."""

    def forward(self, x):
        n = (x.shape[1] + 1) // 2
        return x[:, :n].softmax(1), x[:, n:], x.new_zeros(x.shape[1] % 3 + 1)


class Places(nn.Module):
    """Places that go on where a size ends, and evenly spaced ones, as many as there are."""

    def forward(self, x):
        n = x.shape[1]
        return whet.arange(n, n + 3) * 2, whet.arange(n, 0, -2), x * whet.linspace(0.1, 1, n)


class Extremes(nn.Module):
    """A size is cut to a length, padded to another, and counted up to a third."""

    def forward(self, x):
        rows, n = x.shape
        kept = x[:, :min(n, 10)].softmax(1)
        return kept, F.pad(x, (0, max(n, 30) - n)) * min(n, 7), x[:min(rows, n - 3)]


def of(*shape):
    """A function from sizes to arguments; None is where a size stands."""
    return lambda *sizes: [
        whet.randn(*[next(it) if n is None else n for n in shape]) for it in [iter(sizes)]]


TIME, EDGES = (Dim("batch", max=3), Dim("time", min=5, max=60)), (Dim("h", min=8, max=20),
                                                                 Dim("w", min=8, max=20))
QUARTERS = Dim("h", min=8, max=24, multiple=4), Dim("w", min=8, max=24, multiple=4)
EIGHTHS = Dim("h", min=16, max=48, multiple=8), Dim("w", min=16, max=48, multiple=8)
SOUNDS = (2, 20), (1, 31), (3, 5), (3, 60), (2, 38)
IMAGES = (12, 16), (19, 9), (8, 8), (20, 20), (17, 14)
# the model, its argument for sizes, which sizes differ, some of these, how its result is told
CASES = {
    "listener": (Listener, of(None, 4, None), {0: TIME[0], 2: TIME[1]}, SOUNDS,
                 ["[output: f32[batch,(time-1)//2+1,8]]"]),
    "pooled": (Pooled, of(2, 3, None, None), {2: EDGES[0], 3: EDGES[1]}, IMAGES,
               ["[output: f32[2,5]]"]),
    "unet": (UNet, of(2, 1, None, None), {2: QUARTERS[0], 3: QUARTERS[1]},
             ((12, 16), (8, 8), (24, 24), (20, 8), (16, 20)), ["[output: f32[2,1,h,w]]"]),
    "unet of a square": (
        UNet, of(None, 1, None, None), {0: TIME[0], 2: EIGHTHS[0], 3: EIGHTHS[1]},
        ((1, 16, 16), (2, 16, 24), (3, 48, 32), (1, 32, 32)), ["[output: f32[batch,1,h,w]]"]),
    "padded unet": (PaddedUNet, of(2, 1, None, None), {2: EDGES[0], 3: EDGES[1]}, IMAGES,
                    ["[output: f32[2,1,h,w]]"]),
    # more sizes than could be recorded one by one
    "resized": (Resized, of(2, 1, None, None),
                {2: Dim("h", min=8, max=40), 3: Dim("w", min=8, max=40)}, IMAGES,
                ["[output: f32[2,1,h,w]]"]),
    "speech": (Speech, of(None, 3, None), {0: TIME[0], 2: TIME[1]}, SOUNDS,
               ["[output: f32[batch,(time-5)//3+1,2]]"]),
    "spectrum": (Spectrum, of(None, None), {0: TIME[0], 1: Dim("time", min=16, max=90)},
                 ((2, 20), (1, 31), (3, 16), (3, 90), (2, 38)),
                 ["[output: f32[batch,time//4+1,3]]"]),
    "windows": (Windows, of(2, None, None, 3), {1: EDGES[0], 2: EDGES[1]}, IMAGES,
                ["[output: f32[2,h,w,3]]"]),
    "halves": (Halves, of(2, None), {1: TIME[1]}, [(n,) for _, n in SOUNDS],
               ["output.0: f32[2,(time+1)//2]", "f32[2,time-(time+1)//2]", "f32[time%3+1]"]),
    "places": (Places, of(2, None), {1: TIME[1]}, [(n,) for _, n in SOUNDS],
               ["output.1: i64[-(time//-2)], output.2: f32[2,time]"]),
    "extremes": (Extremes, of(3, None), {1: TIME[1]}, [(n,) for _, n in SOUNDS],
                 ["f32[3,min(time, 10)]", "f32[3,max(time, 30)]", "f32[min(3, time-3),time]"]),
}


@pytest.fixture(scope="module", params=CASES)
def exported(request):
    """(the model, what was exported, its argument at some sizes, how its result is told)"""
    make, inputs, dynamic, sizes, told = CASES[request.param]
    whet.manual_seed(3)
    model = make().eval()
    function = whet.export(model, *inputs(*sizes[0]), dynamic={
        "input" if isinstance(model, nn.Sequential) else "x": dynamic})
    return model, function, [inputs(*s) for s in sizes], told


def test_the_function_and_its_archive(exported, tmp_path):
    model, function, calls, told = exported
    assert all(said in repr(function.results) for said in told), function.results
    function.save(tmp_path / "model.whet")
    loaded = whet.load(tmp_path / "model.whet")
    loaded.verify()
    assert repr(loaded.results) == repr(function.results)
    for args in calls:
        with whet.no_grad():
            wanted = model(*args)
        for f in (function, loaded):
            assert models.same(f(*args), wanted), args[0].shape


def test_the_onnx_model(exported, tmp_path):
    pytest.importorskip("onnx")
    model, function, calls, _ = exported
    function.to_onnx(tmp_path / "model.onnx")
    read = whet.onnx.load(tmp_path / "model.onnx")
    runtime = onnx_runtime.Runtime() if onnx_runtime.Runtime.is_there() else None
    for args in calls:
        with whet.no_grad():
            wanted, found = ([*y] if isinstance(y, tuple) else [y]
                             for y in (model(*args), read(*args)))
        every = [[t.numpy() for t in found]]
        if runtime is not None:
            arrays = [x.numpy() for x in args]
            every.append(runtime.run(tmp_path / "model.onnx", arrays, tmp_path))
        for made in every:
            for a, b in zip(made, wanted, strict=True):
                np.testing.assert_allclose(a, b.numpy(), rtol=1e-4, atol=1e-5)
    if runtime is not None:
        runtime.close()


@test_library.pytestmark
@pytest.mark.parametrize("name, sizes", (
    ("halves", {1: Dim("time", min=5, max=31)}),
    ("extremes", {1: Dim("time", min=5, max=31)}),
    ("listener", {2: Dim("time", min=5, max=12)}),
    ("unet", {2: Dim("h", min=8, max=16, multiple=4)})))
def test_the_library(name, sizes, tmp_path):
    make, inputs, *_ = CASES[name]
    model = make().eval()
    (dim,) = sizes.values()

    def arguments(n):
        return inputs(*{"halves": (n,), "extremes": (n,), "listener": (2, n), "unet": (n, 8)}[name])

    function = whet.export(model, *arguments(dim.max), dynamic={"x": sizes})
    function.compile(tmp_path / "model.so", threads=1, target=targets.HERE)
    library = CALL.Model(tmp_path / "model.so", threads=1)
    for n in range(dim.min, dim.max + 1):
        x, = arguments(n)
        if n not in dim:
            with pytest.raises(ValueError, match=f"`{dim.name}` is out of .* a multiple of 4"):
                library(x.numpy(), sizes={dim.name: n})
            continue
        with whet.no_grad():
            wanted = model(x)
        made = library(x.numpy(), sizes={dim.name: n})
        for a, b in zip(made, wanted if isinstance(wanted, tuple) else [wanted], strict=True):
            assert a.tobytes() == b.numpy().tobytes() and a.shape == b.shape, n
    library.close()


def test_a_size_that_is_no_multiple_is_refused_in_words():
    make, inputs, dynamic, *_ = CASES["unet"]
    function = whet.export(make().eval(), *inputs(12, 16), dynamic={"x": dynamic})
    said = r"input `x` has 9 in dimension 2; h is a multiple of 4, from 8 to 24"
    with pytest.raises(PreconditionError, match=said):
        function(*inputs(9, 8))
    assert "h is a multiple of 4, from 8 to 24" in map(repr, function.preconditions)


def test_a_window_far_away_is_no_constant():
    """Near the example there are three windows always."""
    def windows(x):
        return x.unfold(0, 100, 100).softmax(1)

    function = whet.export(windows, whet.randn(340), dynamic={"x": ("n",)})
    assert repr(function.results) == "[output: f32[(n-100)//100+1,100]]"
    for n in (100, 399, 400, 1234):
        x = whet.randn(n)
        assert models.same(function(x), windows(x)), n


@pytest.mark.parametrize("text, said", (
    ("__import__('os').getpid()", "is no expression of sizes"),
    ("s0 ** 999", "is no expression of sizes"), ("s7", "is no expression of sizes"),
    ("s0 // 0", "does not fit the example"), ("s0", "does not fit the example"),
    ("(" * 300 + "s0", "cannot be read"), ("-" * 900 + "s0", "read|fit|expression"),
    ("s0+" * 400 + "s0", "is too long"), (7, "is a text")))
def test_a_damaged_expression_is_refused(text, said, tmp_path):
    whet.export(Halves(), whet.ones(2, 9), dynamic={"x": {1: TIME[1]}}).save(tmp_path / "x.whet")
    assert format_of(tmp_path / "x.whet") == 4
    with_formula(tmp_path / "x.whet", tmp_path / "bad.whet", text)
    with pytest.raises(ArchiveError, match=said):
        whet.load(tmp_path / "bad.whet")


def test_formulas_in_words():
    assert SizeFormula("((s0 - 1) // 2 + 1 - 1) // 2", 1).text(["time"]) == "((time-1)//2+1-1)//2"
    assert SizeFormula("(s1 // 2) // 3 + max(s0, 4)", 2).text("ab") == "b//6+max(a, 4)"
    assert SizeFormula("-(-s0 // 4) % 3", 1).at([9]) == 0


def test_bags_of_any_number_of_words_are_onnx_models(tmp_path):
    pytest.importorskip("onnx")
    bag, ends = nn.EmbeddingBag(30, 6, mode="mean").eval(), whet.tensor([0, 4, 6])
    function = whet.export(bag, whet.randint(0, 30, (9,)), ends, dynamic={"input": ("n",)})
    function.to_onnx(tmp_path / "bag.onnx")
    read = whet.onnx.load(tmp_path / "bag.onnx")
    for n in (7, 9, 30):
        words = whet.randint(0, 30, (n,))
        np.testing.assert_allclose(
            read(words, ends).detach().numpy(), bag(words, ends).detach().numpy(), rtol=1e-5)
