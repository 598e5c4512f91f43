"""Looking values up in other values: bins, sets, counts."""
import builtins
import math
import operator

import numpy as np

from .. import devices, dtypes, return_types
from ..cpu import indexed, search
from ..cpu.histograms import add_numbers, in_intervals, numbers, runs
from ..cpu.reference_only import REFERENCE
from ..dtypes import BOOL, COMPLEX, FLOAT, INT
from ..ir.outline import Outline
from ..size_arguments import as_int, sizes
from . import dims
from .batching import all_batched, by_rows, example_ndim
from .from_data import scalar_tensor, tensor
from .number_questions import has_negative, listed
from .onnx import gather_and_scatter as in_onnx
from .ranges import evenly
from .registry import Op, apply, ask, is_tensor
from .sample_inputs import Sample
from .surface import function


# ---- sorted boundaries ---------------------------------------------------------------------------
def _search_each(op, n, inputs, batched, attrs):
    """A sequence that all examples share may be searched for any values; others are the rows of
    one tensor."""
    if (not any(
        [b for b, x in zip((batched[0], *batched[2:]), (inputs[0], *inputs[2:])) if is_tensor(x)])
            and inputs[0]._array.ndim == 1):
        return apply(op, inputs, attrs)
    one = example_ndim(inputs[0], batched[0]) == 1
    sequence, values, *sorter = all_batched(n, inputs, batched)
    shape = values._array.shape
    if one:
        values = values.reshape((n, math.prod(shape[1:])))
    return apply(op, (sequence, values, *sorter), attrs).reshape(shape)


search_op = Op(
    "searchsorted", search.searchsorted, batch=_search_each, onnx=in_onnx.searched,
    samples=lambda make: [
        Sample(tensor([1.0, 3.0, 5.0]), make(2, 3), right=False, out_int32=False),
        Sample(make(2, 2, low=0, grad=False).cumsum(-1), make(2, 3), right=True, out_int32=True)])


search_op.outlined = lambda sequence, values, *_, right, out_int32: Outline(
    values.shape, np.int32 if out_int32 else np.int64)
search_op.forward_on_device = devices.function_of("sort", "searchsorted")
search_op.is_repeatable = search_op.any_sizes = True


def _check_sorter(sorter, shape):
    """Raise RuntimeError where this names no order of a sequence of a shape."""
    if sorter._array.shape != shape:
        raise RuntimeError(
            "searchsorted(): boundary and sorter must have the same size, but got boundary "
            f"tensor {list(shape)} and got sorter tensor {list(sorter._array.shape)}")
    if sorter.dtype is not dtypes.int64:
        raise RuntimeError(
            f"searchsorted(): sorter must be a tensor of long dtype but got dtype {sorter.dtype}")
    n = shape[-1]
    if sorter._array.size and ask(lambda s: bool(s.min() < 0 or s.max() >= n), sorter):
        raise RuntimeError("searchsorted(): sorter index out of range")


@function(method=False, out=True)
def searchsorted(sorted_sequence, values=None, *, out_int32=False, right=False, side=None,
                 sorter=None, input=None):
    """Where each value would be put in to keep the sequence (its last dimension) sorted.

    >>> import whet
    >>> whet.searchsorted(whet.tensor([1, 3, 5]), whet.tensor([3, 6]))
    tensor([1, 3])
    """
    values = input if values is None else values
    if side not in (None, "left", "right"):
        raise RuntimeError(
            f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}".replace(
                "torch.", ""))
    if side == "left" and right:
        raise RuntimeError(
            "searchsorted(): side and right can't be set to opposites, got side of left while "
            "right was True")
    number = not is_tensor(values)
    if number:
        values = scalar_tensor(values)
    a, v = sorted_sequence._array, values._array
    if not a.ndim:
        raise RuntimeError(
            "searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension")
    if a.ndim != 1 and (a.ndim != v.ndim or a.shape[:-1] != v.shape[:-1]):
        raise RuntimeError(
            "searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions "
            "of boundaries tensor and input value tensor must match, but we got boundaries tensor "
            f"{list(a.shape)} and input value tensor {list(v.shape)}")
    common = dtypes.promote_types(sorted_sequence.dtype, values.dtype)
    if common.category in (BOOL, COMPLEX):
        raise NotImplementedError(f"\"searchsorted\" not implemented for '{common.letter}'")
    # A number is looked for as what it is.
    inputs = [sorted_sequence, values] if number else [sorted_sequence.to(common),
                                                       values.to(common)]
    if sorter is not None:
        _check_sorter(sorter, a.shape)
        inputs.append(sorter)
    return apply(search_op,
                 tuple(inputs), {"right": bool(right or side == "right"), "out_int32": out_int32})


@function(method=False, out=True)
def bucketize(input, boundaries, *, out_int32=False, right=False):
    """The number of the bucket, between sorted boundaries, that each value falls in.

    >>> import whet
    >>> whet.bucketize(whet.tensor([0.5, 1.0, 3.0]), whet.tensor([1.0, 2.0]))
    tensor([0, 0, 2])
    """
    if boundaries.ndim != 1:
        raise RuntimeError(
            f"bucketize(): boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


# ---- distinct values -----------------------------------------------------------------------------
def _comparable(a):
    return a.astype(np.float32) if a.dtype == dtypes.bfloat16.np else a


def _unique(a, inverse, counts, dim, consecutive):
    if dim is None and indexed.suit(a):
        return runs(a, consecutive, inverse, counts)
    return _unique_slices(a, dim, consecutive)


def _unique_slices(a, dim, consecutive):
    """The different slices along a dimension, or with NumPy alone the different elements."""
    if dim is None:
        flat = a.reshape(-1)
        rows = flat.reshape(-1, 1)
    else:
        flat = None
        rows = np.ascontiguousarray(np.moveaxis(a, dim,
                                                0)).reshape(a.shape[dim],
                                                            a.size // max(1, a.shape[dim]))
    if dim is not None and not rows.shape[1] and rows.shape[0]:
        raise RuntimeError(
            "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    n = len(rows)
    order = np.arange(n)
    if not consecutive:
        order = (np.argsort(_comparable(flat), kind="stable") if dim is None else _sort_rows(
            _comparable(rows)))
    ordered = rows[order]
    new = np.ones(n, bool)
    if n > 1:
        new[1:] = (ordered[1:] != ordered[:-1]).any(1)
    first = np.flatnonzero(new)
    kept = ordered[first]
    values = kept.reshape(-1) if dim is None else \
        np.moveaxis(kept.reshape(len(first), *a.shape[:dim], *a.shape[dim + 1:]), 0, dim)
    back = np.empty(n, np.int64)
    back[order] = np.cumsum(new) - 1
    if dim is None:
        back = back.reshape(a.shape)
    return np.ascontiguousarray(values), back, np.diff(np.append(first, n)).astype(np.int64)


def _sort_rows(rows):
    return np.lexsort(rows.T[::-1]) if rows.shape[1] else np.arange(len(rows))


unique_op = Op("unique", _unique, onnx=in_onnx.distinct, samples=lambda make: [
    Sample(tensor([3, 1, 3]), inverse=True, counts=True, dim=None, consecutive=False),
    Sample(tensor([[1, 2], [1, 2]]), inverse=True, counts=True, dim=0, consecutive=True)])

unique_op.sized_by_data = True
unique_op.forward_on_device = devices.function_of("unique", "unique")


def _unique_result(input, inverse, counts, dim, consecutive):
    if dim is not None:
        dim = dims.one(dim, input._array.ndim)
        if not input._array.ndim:
            input, dim = input.reshape(1), 0
    values, back, number = apply(
        unique_op, (input,),
        {"inverse": inverse, "counts": counts, "dim": dim, "consecutive": consecutive})
    out = (values, *([back] if inverse else []), *([number] if counts else []))
    return out if len(out) > 1 else values


@function()
def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The distinct elements (or slices along `dim`), sorted; where asked, which of them each
    element is, and how often each occurs.

    >>> import whet
    >>> whet.unique(whet.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    return _unique_result(input, return_inverse, return_counts, dim, consecutive=False)


@function()
def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """`input` without repetitions of an element (or slice along `dim`) right after itself.

    >>> import whet
    >>> whet.unique_consecutive(whet.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    return _unique_result(input, return_inverse, return_counts, dim, consecutive=True)


@function(method=False)
def unique_values(x):
    """The distinct elements.

    >>> import whet
    >>> whet.unique_values(whet.tensor([3, 1, 3]))
    tensor([1, 3])
    """
    return unique(x)


@function(method=False)
def unique_counts(x):
    """The distinct elements and how often each occurs.

    >>> import whet
    >>> whet.unique_counts(whet.tensor([3, 1, 3])).counts
    tensor([1, 2])
    """
    return return_types.unique_counts(unique(x, return_counts=True))


@function(method=False)
def unique_inverse(x):
    """The distinct elements and which of them each element is.

    >>> import whet
    >>> whet.unique_inverse(whet.tensor([3, 1, 3])).inverse_indices
    tensor([1, 0, 1])
    """
    return return_types.unique_inverse(unique(x, return_inverse=True))


def _first(inverse, values):
    first = np.full(values.size, inverse.size, np.int64)
    np.minimum.at(first, inverse.reshape(-1), np.arange(inverse.size))
    return first


first_op = Op("first",
              _first,
              samples=lambda make: [Sample(tensor([[1, 0], [1, 2]]), tensor([3, 5, 7]))])


@function(method=False)
def unique_all(x):
    """The distinct elements, where each occurs first, which of them each element is, and how
    often each occurs.

    >>> import whet
    >>> whet.unique_all(whet.tensor([3, 1, 3])).values
    tensor([1, 3])
    """
    values, inverse, counts = unique(x, return_inverse=True, return_counts=True)
    first = apply(first_op, (inverse, values), {})
    return return_types.unique_all((values, first, inverse, counts))


isin_op = Op("isin",
             search.isin,
             samples=lambda make: [Sample(tensor([1, 2, 3]), tensor([2, 5]), invert=False)],
             onnx=in_onnx.contained)
isin_op.is_repeatable = isin_op.any_sizes = True
isin_op.outlined = lambda a, tests, *, invert: Outline(a.shape, np.bool_)
by_rows(isin_op)


@function(method=False, out=True)
def isin(elements, test_elements, *, assume_unique=False, invert=False):
    """For each element: is it among the test elements?

    >>> import whet
    >>> whet.isin(whet.tensor([1, 2, 3]), whet.tensor([2, 5]))
    tensor([False,  True, False])
    """
    if not is_tensor(elements) and not is_tensor(test_elements):
        raise TypeError("isin(): at least one of 'elements' and 'test_elements' must be Tensor")
    elements, test_elements = [
        x if is_tensor(x) else scalar_tensor(x) for x in (elements, test_elements)]
    for t in (elements, test_elements):
        if t.dtype.category in (BOOL, COMPLEX):
            raise RuntimeError(
                f"Unsupported input type encountered for isin(): {t.dtype.letter}")
    return apply(isin_op, (elements, test_elements), {"invert": invert})


# ---- counting ------------------------------------------------------------------------------------
def _bincount(a, weights=None, *, minlength):
    few = listed(a)
    largest = max(few) if few is not None else np.maximum.reduce(a) if a.size else -1
    n = max(int(largest) + 1, minlength)
    if not REFERENCE:
        return numbers(a, n, weights)
    if weights is None:
        return np.bincount(a.astype(np.int64), minlength=n).astype(np.int64)
    out = np.zeros(n, np.float32 if weights.dtype == np.float32 else np.float64)
    np.add.at(out, a.astype(np.int64), weights.astype(out.dtype))
    return out


def _bincount_without_numpy(out, a, weights=None, *, minlength):
    """Counts by launches, where the number of them does not depend on the data."""
    if out.shape != (minlength,) or not indexed.suit(out, a):
        return False
    at = indexed.converted(a, indexed.I64)
    if not indexed.within(at, minlength):
        return False
    add_numbers(out, at, weights)
    return True


bincount_op = Op("bincount", _bincount, onnx=in_onnx.counts, samples=lambda make: [
    Sample(tensor([0, 2, 2]), minlength=0), Sample(tensor([1]), minlength=4),
    Sample(tensor([0, 2, 2]), make(3), minlength=4)])
bincount_op.moves = lambda out, a, *_, minlength: [(out, 0)]
bincount_op.sized_by_data = True
bincount_op.usual_shape = lambda minlength: (minlength,)
bincount_op.any_sizes = True
bincount_op.forward_on_device = devices.function_of("unique", "bincount")
bincount_op.write_without_numpy = _bincount_without_numpy


@function()
def bincount(input, weights=None, minlength=0):
    """How often (or with how much weight) each number 0, 1, ... occurs.

    >>> import whet
    >>> whet.bincount(whet.tensor([0, 2, 2]))
    tensor([1, 0, 2])
    """
    if input.dtype.category != INT and not (input.dtype.category == BOOL):
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{input.dtype.letter}'")
    minlength = as_int(minlength, "bincount", "minlength")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if input.ndim != 1 or input._array.size and ask(has_negative, input):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None:
        if weights._array.shape != input._array.shape:
            raise RuntimeError("weights should be 1-d and have the same length as input")
        if weights.dtype.category == COMPLEX:
            raise RuntimeError("bincount: weights must be real")
        return apply(bincount_op, (input, weights), {"minlength": minlength})
    return apply(bincount_op, (input,), {"minlength": minlength})


def _bounds(name, a, low, high):
    """The range of a histogram: that of the values where none is given."""
    if low == high and a.size and (name == "histc" or low == 0):
        low, high = float(a.min()), float(a.max())
    if low == high:
        low, high = low - (1 if name == "histc" else 0.5), high + (1 if name == "histc" else 0.5)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(f"{name}: range of [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError(f"{name}: max must be larger than min")
    return low, high


def _bins(a, low, high, n):
    """The number of the bin of equal width that each value falls in; -1 outside."""
    with np.errstate(invalid="ignore"):
        x = a.astype(np.float64, copy=False)
        inside = (x >= low) & (x <= high)
        k = ((x - low) / (high - low) * n)
        k = np.where(inside, k, 0).astype(np.int64)
    return np.where(inside, np.minimum(k, n - 1), -1)


def _histc(a, bins, low, high):
    by_elements = low == high           # the kernel's sign for it is a range of zeros
    if by_elements:
        low = high = 0.0
    if not by_elements:
        low, high = _bounds("histc", a, low, high)
    counts = in_intervals(a, bins, low, high) if indexed.suit(a) else None
    if counts is not None:
        return counts
    low, high = _bounds("histc", a, low, high)
    k = _bins(a.reshape(-1), low, high, bins)
    return np.bincount(k[k >= 0], minlength=bins).astype(a.dtype)


histc_op = Op("histc", _histc, samples=lambda make: [Sample(make(10), bins=4, low=-1.0, high=1.0)])
histc_op.is_repeatable = histc_op.any_sizes = True
histc_op.outlined = lambda a, *, bins, low, high: Outline((bins,), a.dtype)


@function(out=True)
def histc(input, bins=100, min=0, max=0):
    """How many elements fall in each of `bins` equal intervals between min and max (the
    elements' own, if these are equal).

    >>> import whet
    >>> whet.histc(whet.tensor([1., 1., 3.]), bins=2, min=0, max=4)
    tensor([2., 1.])
    """
    bins = operator.index(bins)
    if bins <= 0:
        raise RuntimeError(f"histogram(): bins must be > 0, but got {bins} for dimension 0")
    if input.dtype.category in (BOOL, COMPLEX):
        raise NotImplementedError(f"\"histogram_cpu\" not implemented for '{input.dtype.letter}'")
    return apply(histc_op, (input,), {"bins": bins, "low": float(min), "high": float(max)})


def _histogram(a, edges, weight=None, *, density):
    counts = _nd_counts([a.reshape(-1)], [edges], None if weight is None else weight.reshape(-1))
    return _finish_histogram(counts, [edges], density, a.dtype)


def _finish_histogram(counts, edges, density, dtype):
    if density:
        total = counts.sum()
        volume = np.ones(())
        for e in edges:
            volume = volume[..., None] * np.diff(e.astype(np.float64))
        counts = counts / (total * volume)
    return counts.astype(dtype)


def _nd_counts(columns, edges, weight):
    """Counts of points in the boxes between edges; the last edge belongs to the last box."""
    shape = [len(e) - 1 for e in edges]
    place, inside = 0, True
    for x, e, n in zip(columns, edges, shape):
        k = search.searchsorted(e, x, right=True, out_int32=False) - 1
        k = np.where(x == e[-1], n - 1, k)
        inside = inside & (k >= 0) & (k < n)
        place = place * n + k
    place, size = np.where(inside, place, -1), math.prod(shape)
    weight = None if weight is None else weight.astype(np.float64)
    return _occurrences(place, weight, size).reshape(shape).astype(np.float64)


def _occurrences(place, weight, size):
    """How often each place below `size` is named, or with how much weight; -1 is none."""
    if not REFERENCE:
        return numbers(place, size, weight)
    inside = place >= 0
    return np.bincount(place[inside], None if weight is None else weight[inside], minlength=size)


histogram_op = Op(
    "histogram", _histogram, samples=lambda make: [
        Sample(make(10), tensor([-1.0, 0.0, 1.0], dtype=dtypes.float64), density=False)])


def _even_edges(a, bins, low, high, dtype):
    return evenly(*_bounds("histogram", a, low, high), bins + 1, dtype)


edges_op = Op(
    "histogram_edges", _even_edges, samples=lambda make: [
        Sample(make(10), bins=4, low=0.0, high=0.0, dtype=dtypes.float32),
        Sample(make(10), bins=2, low=-1.0, high=1.0, dtype=dtypes.float64)])


def _edges(x, bins, bounds):
    low, high = bounds if bounds is not None else (0, 0) if x._array.size else (0, 1)
    return apply(edges_op, (x.detach(),),
                 {"bins": bins, "low": float(low), "high": float(high), "dtype": x.dtype})


@function(out=True)
def histogram(input, bins=100, *, range=None, weight=None, density=False):
    """(hist, bin_edges): the elements (or their weights) counted between edges, given as a
    number of bins or a sorted tensor.

    >>> import whet
    >>> whet.histogram(whet.tensor([1., 1., 3.]), bins=2, range=(0., 4.)).hist
    tensor([2., 1.])
    """
    if input.dtype.category != FLOAT:
        raise NotImplementedError(f"\"histogram\" not implemented for '{input.dtype.letter}'")
    if weight is not None and weight._array.shape != input._array.shape:
        raise RuntimeError(
            "histogram(): if weight tensor is provided it should have the same shape as the input "
            "tensor excluding its innermost dimension, but got input with shape "
            f"{list(input.shape)} and weight with shape {list(weight.shape)}")
    if isinstance(bins, int):
        if bins <= 0:
            raise RuntimeError(f"histogram(): bins must be > 0, but got {bins} for dimension 0")
        bins = _edges(input, bins, range)
    elif bins.ndim != 1 or bins.numel() < 1:
        raise RuntimeError("histogram(): bins tensor should have one dimension, but got "
                           f"{bins.ndim} dimensions")
    inputs = (input, bins) if weight is None else (input, bins, weight)
    return return_types.histogram((apply(histogram_op, inputs, {"density": density}), bins))


def _histogramdd(a, *rest, density, weighted):
    weight, edges = (rest[-1], rest[:-1]) if weighted else (None, rest)
    points = a.reshape(-1, a.shape[-1])
    counts = _nd_counts(list(points.T), edges, None if weight is None else weight.reshape(-1))
    return _finish_histogram(counts, edges, density, a.dtype)


histogramdd_op = Op("histogramdd", _histogramdd, samples=lambda make: [
    Sample(make(6, 2), tensor([-1.0, 0.0, 1.0]), tensor([-1.0, 1.0]), density=False,
           weighted=False)])


@function(method=False)
def histogramdd(input, bins, *, range=None, weight=None, density=False):
    """(hist, bin_edges): points, the rows of the last dimension, counted in boxes.

    >>> import whet
    >>> whet.histogramdd(whet.tensor([[0., 1.], [1., 0.]]), bins=[2, 2]).hist
    tensor([[0., 1.],
            [1., 0.]])
    """
    if input.ndim < 2:
        raise RuntimeError(
            f"histogramdd(): input tensor should have at least 2 dimensions, but got {input.ndim}")
    n = input.shape[-1]
    bins = [bins] * n if isinstance(bins, int) else list(bins)
    if len(bins) != n:
        raise RuntimeError(
            "histogramdd(): The size of bins must be equal to the innermost dimension of the "
            f"input: {len(bins)} and {n}")
    if weight is not None and tuple(weight.shape) != tuple(input.shape[:-1]):
        raise RuntimeError(
            "histogramdd(): if weight tensor is provided it should have the same shape as the "
            "input tensor excluding its innermost dimension, but got input with shape "
            f"{list(input.shape)} and weight with shape {list(weight.shape)}")
    edges = []
    for d in builtins.range(n):
        bounds = None if range is None else (range[2 * d], range[2 * d + 1])
        edges.append(
            _edges(input[..., d], bins[d], bounds) if isinstance(bins[d], int) else bins[d])
    inputs = (input, *edges) if weight is None else (input, *edges, weight)
    r = apply(histogramdd_op, inputs, {"density": density, "weighted": weight is not None})
    return return_types.histogramdd((r, tuple(edges)))


by_rows(unique_op, first_op, bincount_op, histc_op, histogram_op, edges_op, histogramdd_op)


@function(method=False)
def unravel_index(indices, shape):
    """Places of a flattened tensor of `shape` as one index tensor for each dimension.

    >>> import whet
    >>> whet.unravel_index(whet.tensor([5]), (2, 3))
    (tensor([1]), tensor([2]))
    """
    if indices.dtype.category != INT:
        raise TypeError(
            f"unravel_index(): expected 'indices' to be integer dtype, but got {indices.dtype}")
    shape = sizes((shape,), "unravel_index", "shape")
    if any(n < 0 for n in shape):
        raise ValueError(
            f"unravel_index(): 'shape' cannot have negative values, but got {list(shape)}")
    out, rest = [], indices.to(dtypes.int64)
    for n in reversed(shape):
        if not n:
            out.append(rest * 0)
            continue
        out.append(rest % n)
        rest = rest // n
    return tuple(reversed(out))
