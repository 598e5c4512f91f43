"""Functions whose sizes differ, exported with PyTorch's arguments: one model serves other sizes."""

import io

import pytest
import whet
import whet.nn.functional as F

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
