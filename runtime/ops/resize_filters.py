"""Which elements of an axis become an element of the resized axis, and with which weights."""
import numpy as np

from .grid_sampling import cubic_weights


class Filter:
    """A way to make the elements of a resized axis of those of the axis."""

    def taps(self, n, out, scale, align_corners, antialias):
        """(for each of `out` elements the places that it is made of, among n; their weights, or
        None where there is one place). Both have a row for each element. `scale`: by which an axis
        grows, None where its sizes tell."""
        raise NotImplementedError


class Nearest(Filter):
    """The one element that lies nearest; `centre`: where elements are, beyond their number."""

    def __init__(self, centre):
        self.centre = centre

    def taps(self, n, out, scale, align_corners, antialias):
        at = (np.arange(out) + self.centre) * _step(n, out, scale)
        return np.minimum(np.floor(at.astype(np.float32)).astype(np.int64), n - 1)[:, None], None


class Interpolation(Filter):
    """A weighted sum of neighbours. `reach`: how far they are at most, where nothing shrinks."""
    reach: float

    def taps(self, n, out, scale, align_corners, antialias):
        if antialias:
            return self.stretched(n, out, scale, align_corners)
        x = self.source(n, out, scale, align_corners)
        i = np.floor(x).astype(np.int64)
        return self.neighbours(i, x - i, n)

    def source(self, n, out, scale, align_corners):
        """Where the elements lie in the axis."""
        if align_corners:
            return np.arange(out) * _aligned_step(n, out)
        return (np.arange(out) + 0.5) * _step(n, out, scale) - 0.5

    def neighbours(self, i, t, n):
        """Places and weights of what lies `t` behind places i."""
        raise NotImplementedError

    def weight(self, d):
        """The weight at a distance, for the filter that grows as an axis shrinks."""
        raise NotImplementedError

    def stretched(self, n, out, scale, align_corners):
        """The taps of a filter that reaches further the more an axis shrinks."""
        step = _aligned_step(n, out) if align_corners else _step(n, out, scale)
        stretch = max(step, 1.0)
        reach = self.reach * stretch
        centre = step * (np.arange(out) + 0.5)
        low = np.maximum((centre - reach + 0.5).astype(np.int64), 0)
        high = np.minimum((centre + reach + 0.5).astype(np.int64), n)
        width = int((high - low).max())
        index = low[:, None] + np.arange(width)
        w = self.weight(np.abs((index - centre[:, None] + 0.5) / stretch))
        w = np.where(index < high[:, None], w, 0)
        return np.minimum(index, n - 1), w / w.sum(1, keepdims=True)


class Linear(Interpolation):
    """Of two neighbours."""
    reach = 1.0

    def source(self, n, out, scale, align_corners):
        x = super().source(n, out, scale, align_corners)
        return x if align_corners else np.maximum(x, 0.0)

    def neighbours(self, i, t, n):
        index = np.stack([np.minimum(i, n - 1), np.minimum(i + 1, n - 1)], 1)
        return index, np.stack([1 - t, t], 1)

    def weight(self, d):
        return np.maximum(1 - d, 0)


class Cubic(Interpolation):
    """Of four neighbours. PyTorch's parameter is another one where a filter may grow."""
    reach = 2.0

    def neighbours(self, i, t, n):
        index = np.clip(i[:, None] + np.arange(-1, 3), 0, n - 1)
        return index, np.stack(cubic_weights(t, -0.75), 1)

    def weight(self, d):
        a = -0.5
        return np.where(d < 1, ((a + 2) * d - (a + 3)) * d * d + 1,
                        np.where(d < 2, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a, 0))


def _step(n, out, scale):
    """How far two elements of the resized axis are apart in the axis."""
    return 1.0 / scale if scale else n / out


def _aligned_step(n, out):
    """The same, where the first and the last elements of both lie alike."""
    return (n - 1) / (out - 1) if out > 1 else 0.0


FILTERS = {"nearest": Nearest(0.0), "nearest-exact": Nearest(0.5), "linear": Linear(),
           "cubic": Cubic()}
