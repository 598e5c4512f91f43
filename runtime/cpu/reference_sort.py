"""The reference for `sort.py` in NumPy: rows (k, n), each result as (values, positions)."""
import numpy as np


def order(x, descending=False):
    """The stable order of rows."""
    wide = x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind in "fV" else x
    if descending:
        return np.ascontiguousarray(
            x.shape[1] - 1 - np.argsort(wide[:, ::-1], 1, kind="stable")[:, ::-1])
    return np.argsort(wide, 1, kind="stable")


def _picked(x, at):
    return np.take_along_axis(x, at, 1), at


def first(x, k, descending):
    """The first k of each row."""
    return _picked(x, np.ascontiguousarray(order(x, descending)[:, :k]))


def selected(x, which, k):
    """One element of each sorted row: the `nth`, which is k, or the median."""
    n = x.shape[1]
    column = np.full((x.shape[0], 1), k if which == "nth" else (n - 1) // 2)
    if which != "nth" and x.dtype.kind in "fV":
        nans = np.isnan(x).sum(1, keepdims=True)
        if which == "nanmedian":
            column = np.where(nans < n, (n - 1 - nans) // 2, 0)
        else:
            column = np.where(nans > 0, n - nans, column)
    return _picked(x, np.take_along_axis(order(x), column, 1))


def mode(x):
    """The last element of the first of the longest runs of each sorted row."""
    values, at = first(x, x.shape[1], False)
    n = x.shape[1]
    edge = np.ones((x.shape[0], n + 1), bool)
    edge[:, 1:-1] = values[:, 1:] != values[:, :-1]
    place = np.where(edge[:, :-1], np.arange(n), 0)
    start = np.maximum.accumulate(place, 1)           # where each element's run began
    length = np.where(edge[:, 1:], np.arange(n) - start + 1, 0)
    last = length.argmax(1)[:, None]
    return np.take_along_axis(values, last, 1), np.take_along_axis(at, last, 1)
