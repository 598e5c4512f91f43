"""Summaries: the messages by which TensorBoard's pages are filled, one function a kind."""
from typing import Any

import numpy as np

from . import pictures, wire

FLOAT, STRING = 1, 7             # of TensorFlow's types
STRING_TYPE, BOOL_TYPE, NUMBER_TYPE = 1, 2, 3        # of hyper-parameters
SUCCESS = 1
EXPERIMENT, SESSION_START, SESSION_END = (f"_hparams_/{name}" for name in (
    "experiment", "session_start_info", "session_end_info"))


def array(x):
    """A tensor, array or number as an array."""
    from ...tensor import Tensor
    if not isinstance(x, Tensor):
        return np.asarray(x)
    tensor: Any = x
    tensor = tensor.detach().cpu()
    return (tensor.float() if tensor.dtype.name == "bfloat16" else tensor).numpy()


def _summary(tag, field):
    return wire.block(1, wire.block(1, tag) + field)


def _plugin(name, content=b""):
    return wire.block(9, wire.block(1, wire.block(1, name) + wire.block(2, content)))


def _shape(sizes):
    return b"".join(wire.block(2, wire.whole(1, n)) for n in sizes)


def _tensor(dtype, sizes, content):
    return wire.block(8, wire.whole(1, dtype) + wire.block(2, _shape(sizes)) + content)


def scalar(tag, value, new_style=False, double_precision=False):
    """One number."""
    value = array(value)
    if value.size != 1:
        raise AssertionError(f"add_scalar: one number, got an array of shape {value.shape}")
    value = value.item()
    if not (new_style or double_precision):
        return _summary(tag, wire.single(2, value))
    packed = (wire.whole(1, 2) + wire.doubles(6, [value]) if double_precision
              else wire.whole(1, FLOAT) + wire.block(5, np.float32(value).astype("<f4").tobytes()))
    kind = wire.block(9, wire.block(1, wire.block(1, "scalars")) + wire.whole(4, 1))
    return _summary(tag, wire.block(8, packed) + kind)


def _growing_limits():
    """Limits of buckets that grow by a tenth each, on both sides of zero."""
    limits = [1e-12]
    while limits[-1] < 1e20:
        limits.append(limits[-1] * 1.1)
    return np.array([*(-x for x in reversed(limits)), 0, *limits])


def histogram(tag, values, bins="tensorflow", max_bins=None):
    """How numbers are distributed."""
    values = array(values).astype(np.float64).reshape(-1)
    if not values.size:
        raise ValueError("The input has no element.")
    bins = _growing_limits() if isinstance(bins, str) and bins == "tensorflow" else bins
    counts, limits = np.histogram(values, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        merged = len(counts) // max_bins
        counts = np.add.reduceat(counts, np.arange(0, len(counts), merged))
        limits = np.append(limits[:-1:merged], limits[-1])
    held = np.flatnonzero(counts)
    if not held.size:
        raise ValueError("The histogram is empty, please file a bug report.")
    first, last = held[0], held[-1] + 1
    numbers = (values.min(), values.max(), values.size, values.sum(), values @ values)
    content = b"".join(wire.double(field, n) for field, n in enumerate(numbers, 1))
    # The first limit is where the first bucket that holds anything begins: an empty one ends there.
    content += wire.doubles(6, limits[first:last + 1])
    content += wire.doubles(7, [0, *counts[first:last]])
    return _summary(tag, wire.block(5, content))


def raw_histogram(tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts):
    """A distribution whose buckets were counted elsewhere."""
    content = b"".join(wire.double(field, float(n)) for field, n in
                       enumerate((min, max, num, sum, sum_squares), 1))
    return _summary(tag, wire.block(5, content + wire.doubles(6, bucket_limits)
                                    + wire.doubles(7, bucket_counts)))


def _image(tag, sizes, encoded):
    numbers = b"".join(wire.whole(field, n) for field, n in enumerate(sizes, 1))
    return _summary(tag, wire.block(4, numbers + wire.block(4, encoded)))


def image(tag, pixels):
    """An image: an array of bytes (height, width, channels)."""
    return _image(tag, pixels.shape, pictures.png(pixels))


def video(tag, frames, frames_per_second):
    """Images (time, height, width, channels) one after the other."""
    return _image(tag, frames.shape[1:],
                  pictures.png(*frames, frames_per_second=frames_per_second))


def audio(tag, samples, sample_rate):
    """A sound of one channel."""
    samples = array(samples).squeeze()
    if samples.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    content = (wire.single(1, sample_rate) + wire.whole(2, 1) + wire.whole(3, len(samples))
               + wire.block(4, pictures.wav(samples.clip(-1, 1), sample_rate))
               + wire.block(5, "audio/wav"))
    return _summary(tag, wire.block(6, content))


def text(tag, string):
    """A text in Markdown."""
    return _summary(f"{tag}/text_summary",
                    _plugin("text") + _tensor(STRING, [1], wire.block(8, string)))


def precision_recall(tag, labels, predictions, num_thresholds=127, weights=None):
    """The curve of precision over recall, at thresholds between 0 and 1."""
    labels, predictions = array(labels).reshape(-1), array(predictions).reshape(-1)
    weights = np.ones(1) if weights is None else array(weights)
    num_thresholds = min(num_thresholds, 127)
    buckets = np.floor(predictions.astype(np.float64) * (num_thresholds - 1)).astype(np.int64)
    span = (0, num_thresholds - 1)

    def at_least(which):
        counts, _ = np.histogram(buckets, bins=num_thresholds, range=span, weights=which)
        return np.cumsum(counts[::-1])[::-1]

    true = at_least(labels * weights)
    false = at_least((1 - labels.astype(np.float64)) * weights)
    tiny = 1e-10
    table = np.stack([true, false, false[0] - false, true[0] - true,
                      true / np.maximum(tiny, true + false), true / np.maximum(tiny, true[0])])
    content = wire.block(5, table.astype("<f4").tobytes())
    return _summary(tag, _plugin("pr_curves", wire.whole(2, num_thresholds))
                    + _tensor(FLOAT, table.shape, content))


def custom_scalars(layout):
    """Which scalars are shown in one chart: {category: {chart: (kind, tags)}}."""
    out = b""
    for category, charts in layout.items():
        content = wire.block(1, category)
        for title, (kind, tags) in charts.items():
            if kind == "Margin":
                value, lower, upper = tags
                lines = wire.block(3, wire.block(1, wire.block(1, value) + wire.block(2, lower)
                                                 + wire.block(3, upper)))
            else:
                lines = wire.block(2, b"".join(wire.block(1, tag) for tag in tags))
            content += wire.block(2, wire.block(1, title) + lines)
        out += wire.block(2, content)
    return _summary("custom_scalars__config__", _plugin("custom_scalars")
                    + _tensor(STRING, [], wire.block(8, out)))


class Setting:
    """A hyper-parameter's value, as a message, and its type."""

    def __init__(self, name, value):
        from ...tensor import Tensor
        value = value.item() if isinstance(value, Tensor | np.generic) else value
        if isinstance(value, bool):
            self.kind, self.value = BOOL_TYPE, wire.whole(4, value)
        elif isinstance(value, int | float):
            self.kind, self.value = NUMBER_TYPE, wire.double(2, value)
        elif isinstance(value, str):
            self.kind, self.value = STRING_TYPE, wire.block(3, value)
        else:
            raise ValueError(f"hparam {name!r}: value should be one of int, float, str, bool, or "
                             f"a tensor of one number, got {type(value).__name__}")


def _hparams(tag, field, content):
    return _summary(tag, _plugin("hparams", wire.block(field, content)))


def hparams(settings, metrics, domains=None):
    """What a session was set up with and measured by: the experiment, the session's start and its
    end, three summaries."""
    experiment, values = b"", []
    for name, value in settings.items():
        if value is None:
            continue
        setting = Setting(name, value)
        values.append((name, setting.value))
        info = wire.block(1, name) + wire.whole(4, setting.kind)
        if domains and name in domains:
            info += wire.block(5, b"".join(wire.block(1, Setting(name, v).value)
                                           for v in domains[name]))
        experiment += wire.block(4, info)
    for tag in metrics:
        experiment += wire.block(5, wire.block(1, wire.block(2, tag)))
    return (_hparams(EXPERIMENT, 2, experiment),
            _hparams(SESSION_START, 3, wire.entries(1, values)),
            _hparams(SESSION_END, 4, wire.whole(1, SUCCESS)))
