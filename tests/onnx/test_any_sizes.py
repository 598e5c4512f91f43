"""Functions whose sizes differ, exported with PyTorch's arguments: one model serves other sizes."""

import collections
import dataclasses
import importlib.util
import io

import pytest
import whet
import whet.nn.functional as F
from whet import nn
from whet.jit import Dim

from tests.onnx.test_export import agree, run


def sampled(x, mode, **how):
    """Twice as large, and of a size that is no multiple."""
    return (F.interpolate(x, scale_factor=2, mode=mode, **how),
            F.interpolate(x, size=(5, 9), mode=mode, **how))


def half_of(x):
    return x[:, :, : (x.shape[2] + 1) // 2] * 2


def padded_to_four(x):
    return whet.cat([x, x.new_zeros(*x.shape[:2], -x.shape[2] % 4, x.shape[3])], 2)


def picked(x):
    places = (x[0, 0, :, 0] * 9).long().clamp(0, x.shape[2] - 1)
    return x[:, :, places]


def folded(x):
    return F.fold(F.unfold(x[:, :, :6, :6], 3), (6, 6), 3)


def as_one_grid(x):
    """What each place of a grid scores, as a list; the grid halves its image."""
    y = F.max_pool2d(x, 3, 2, 1)
    batch, channels, height, width = y.shape
    return y.permute(0, 2, 3, 1).reshape(batch, height * width, channels)


FUNCTIONS = {
    "nearest": lambda x: sampled(x, "nearest"),
    "nearest exact": lambda x: sampled(x, "nearest-exact"),
    "bilinear": lambda x: sampled(x, "bilinear"),
    "bilinear, corners": lambda x: sampled(x, "bilinear", align_corners=True),
    "bicubic": lambda x: sampled(x, "bicubic"),
    "area": lambda x: sampled(x, "area"),
    "diagonal": lambda x: x.diagonal(1, 2, 3) * 2,
    "diagonal of other dimensions": lambda x: x.diagonal(-1, 3, 1) + 1,
    "folded": folded,
    "products": lambda x: x.cumprod(2),
    "logarithms of sums": lambda x: x.logcumsumexp(2),
    "greatest so far": lambda x: x.cummax(2),
    "least so far": lambda x: x.cummin(2),
    "picked": picked,
    "half": half_of,
    "padded": padded_to_four,
    "last ones": lambda x: x[:, :, max(0, x.shape[2] - 5):] * 2,
    "grid": as_one_grid,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_model_serves_other_sizes(name):
    fn, file = FUNCTIONS[name], io.BytesIO()
    whet.manual_seed(1)
    whet.onnx.export(
        fn, (whet.randn(2, 3, 8, 6),), file, input_names=["x"],
        dynamic_axes={"x": {0: "batch", 2: "height"}})
    for batch, height in ((2, 8), (3, 11), (1, 18)):
        x = whet.randn(batch, 3, height, 6)
        agree(run(file.getvalue(), x), fn(x))


def mean_of_some(x):
    some = x[x > 0]
    return some * 2, some.sum() / some.shape[0], some.mean()


OF_DATA = {
    "masked": lambda x: x[x > 0] * 2,
    "places": lambda x: whet.nonzero(x > 0) + 1,
    "rows": lambda x: x[x[:, 0] > 0].reshape(-1, 2),
    "distinct": lambda x: whet.unique(x.round()),
    "mean": mean_of_some,
    "all in order": lambda x: whet.cat([x[x > 0], x[x <= 0]]),
    "pairs": lambda x: x[x[:, 0] > 0][:, None] - x[x[:, 1] > 0][None],
}


@pytest.mark.parametrize("axes", [None, {"x": {0: "n"}}])
@pytest.mark.parametrize("name", OF_DATA)
def test_one_model_serves_data_that_decide_other_sizes(name, axes):
    fn, file = OF_DATA[name], io.BytesIO()
    whet.manual_seed(0)
    whet.onnx.export(fn, (whet.randn(5, 4),), file, input_names=["x"], dynamic_axes=axes)
    for rows in (5, 5, 5, 7 if axes else 5):
        x = whet.randn(rows, 4)
        agree(run(file.getvalue(), x), fn(x))


def test_sizes_that_go_another_way_for_other_data_are_warned_of():
    def some(x):
        return x[x > 0] * 2 if x.sum() < 100 else x[x > 0].sin()

    x = whet.tensor([1.0, 2.0, 100.0, -40.0])
    with pytest.warns(UserWarning, match="decide the sizes of the example alone: .*another way"), \
            pytest.raises(ValueError, match="say it with whet.cond"):
        whet.onnx.export(some, (x,), None)


def test_a_filter_that_grows_with_the_size_is_refused():
    def small(x):
        return F.interpolate(x, size=(4, 4), mode="bilinear", antialias=True)

    with pytest.raises(ValueError, match="n|taps|antialias"):
        whet.onnx.export(small, (whet.randn(1, 1, 8, 8),), None, dynamic_axes={"x": {2: "n"}})


WEIGHT = whet.linspace(-1, 1, 16).reshape(4, 4)
PROJECTED = nn.LSTM(4, 6, proj_size=3)
Pair = collections.namedtuple("Pair", "x rows")


@dataclasses.dataclass
class Batch:
    x: whet.Tensor
    rows: whet.Tensor


def chosen(x):
    return whet.cond(x.sum() > 0, lambda x: (x @ WEIGHT).relu(), lambda x: (x * 2) @ WEIGHT.T, (x,))


def repeated(x):
    y, count = whet.while_loop(
        lambda y, i: (i < 5) & (y.abs().max() < 10), lambda y, i: (y @ WEIGHT + x, i + 1),
        (x * 1, whet.tensor(0)))
    return y.reshape(-1, x.shape[0]), count


@pytest.mark.parametrize("fn", [chosen, repeated])
def test_bodies_of_control_flow_are_of_any_size(fn):
    file = io.BytesIO()
    whet.onnx.export(fn, (whet.ones(3, 4),), file, input_names=["x"],
                     dynamic_axes={"x": {0: "rows"}})
    for x in (-whet.ones(3, 4), whet.randn(5, 4), whet.ones(1, 4), whet.full((7, 4), 50.0)):
        agree(run(file.getvalue(), x), fn(x))


def scanned(x):
    return whet.scan(lambda h, y: ((h @ WEIGHT + y).tanh(),) * 2, whet.zeros(x.shape[1], 4), x)


def looped(x):
    h, all_ = whet.ones(x.shape[1], 4), []
    for y in x.unbind(0):
        h = (h @ WEIGHT + y).tanh()
        all_.append(h)
    return whet.stack(all_, 1), all_[0], all_[1], h


def looped_backwards(x):
    h, all_ = whet.ones(x.shape[1], 4), []
    for y in reversed(x.unbind(0)):
        h = (h @ WEIGHT + y).tanh()
        all_.append(h)
    return whet.stack(all_[::-1]), all_[0], all_[1], h


@pytest.mark.parametrize("fn", [scanned, looped, looped_backwards, lambda x: PROJECTED(x)[0]])
def test_loops_take_as_many_steps_as_a_size_says(fn):
    file = io.BytesIO()
    with whet.no_grad():
        whet.onnx.export(fn, (whet.randn(5, 2, 4),), file, input_names=["x"],
                         dynamic_axes={"x": {0: "steps", 1: "rows"}})
        for steps, rows in ((5, 2), (9, 3), (3, 1), (2, 2)):
            x = whet.randn(steps, rows, 4)
            if fn is not looped_backwards or importlib.util.find_spec("onnxruntime"):
                agree(run(file.getvalue(), x), fn(x))
            else:                            # which the reference evaluator does not run
                agree([y.numpy() for y in whet.onnx.load(file.getvalue())(x)], fn(x))


def test_a_loop_of_which_a_step_in_the_middle_is_read_is_refused():
    def third(x):
        h, all_ = whet.ones(2, 4), []
        for y in x.unbind(0):
            h = (h @ WEIGHT + y).tanh()
            all_.append(h)
        return all_[2]

    with pytest.raises(ValueError, match="the function goes another way where steps is"):
        whet.onnx.export(third, (whet.randn(6, 2, 4),), None, dynamic_axes={"x": {0: "steps"}})


@pytest.mark.parametrize("kind", [Pair, Batch])
def test_sizes_of_tensors_in_records_differ(kind):
    def fn(batch):
        return batch.x.softmax(1) * batch.rows

    file = io.BytesIO()
    axes = {"batch.x": {0: "n"}, "batch.rows": {0: "n"}}
    whet.onnx.export(fn, (kind(whet.randn(3, 4), whet.randn(3, 1)),), file, dynamic_axes=axes)
    batch = kind(whet.randn(7, 4), whet.randn(7, 1))
    agree(run(file.getvalue(), batch.x, batch.rows), fn(batch))


def places_and_rows(x, y):
    """Differences of all places, which are as many as the square of a length, and rows of both."""
    places = whet.arange(x.shape[1])
    table = (places[:, None] - places).flatten()
    return table, x.sum(1, keepdim=True) + y, x.new_ones(x.shape[1] ** 2 + y.shape[1])


def test_the_square_of_one_of_many_sizes_is_found():
    file = io.BytesIO()
    whet.onnx.export(places_and_rows, (whet.randn(2, 3), whet.randn(2, 4)), file, dynamic_axes={
        "x": {0: "batch", 1: "n"}, "y": {0: "batch", 1: "m"}})
    for batch, n, m in (3, 6, 5), (1, 9, 2):
        x, y = whet.randn(batch, n), whet.randn(batch, m)
        agree(run(file.getvalue(), x, y), places_and_rows(x, y))


def halved_and_doubled(x):
    small = F.max_pool2d(F.max_pool2d(x, 2), 2)
    return whet.cat([x, F.interpolate(small, scale_factor=4)], 1)


HEIGHT = Dim("height", min=8, max=24, multiple=4), Dim("width", min=8, max=24, multiple=4)


@pytest.mark.parametrize("sizes", [
    {"dynamic_axes": {"x": {2: "height", 3: "width"}}},
    {"dynamic_shapes": {"x": {2: HEIGHT[0], 3: HEIGHT[1]}}},
])
def test_sizes_that_must_be_multiples(sizes):
    file = io.BytesIO()
    whet.onnx.export(halved_and_doubled, (whet.randn(1, 2, 16, 16),), file, input_names=["x"],
                     **sizes)
    for height, width in ((16, 16), (24, 8), (8, 20)):
        x = whet.randn(1, 2, height, width)
        agree(run(file.getvalue(), x), halved_and_doubled(x))


def test_sizes_that_are_tried_are_within_the_bounds():
    places = whet.randn(10, 4)
    file = io.BytesIO()
    whet.onnx.export(lambda x: x + places[:x.shape[0]], (whet.randn(6, 4),), file,
                     dynamic_shapes={"x": {0: Dim("n", max=10)}})
    for n in (1, 9, 10):
        x = whet.randn(n, 4)
        agree(run(file.getvalue(), x), x + places[:n])


def test_a_check_of_constants_is_none_of_the_model():
    window, file = whet.hann_window(16), io.BytesIO()

    def halved(x):
        frames = whet.stft(x, 16, 4, window=window, return_complex=True)
        return whet.istft(frames / 2, 16, 4, window=window, length=64)

    whet.onnx.export(halved, (whet.randn(2, 64),), file, dynamic_axes={"x": {0: "rows"}})
    x = whet.randn(3, 64)
    agree(run(file.getvalue(), x), halved(x))
