"""Which elements of an axis become an element of the resized axis, and with which weights."""
import numpy as np
from whet.ir import expressions as e
from whet.ir.scalar import evaluate

from ..dtypes import SHORT
from .grid_sampling import cubic_weights

# What formulas of taps are of, all in f64: the number of an element of the resized axis, how many
# elements the axis has, and how many the resized one.
NUMBER, BEFORE, AFTER = e.args(3)


class Filter:
    """A way to make the elements of a resized axis of those of the axis."""

    def formulas(self, scale, align_corners):
        """For each tap: (the place that it reads, its weight), as expressions of NUMBER, BEFORE and
        AFTER; the weight is None where there is one tap. `scale`: by which the axis grows, None
        where its sizes tell."""
        raise NotImplementedError

    def taps(self, n, out, scale, align_corners, antialias):
        """(for each of `out` elements the places that it is made of, among n; their weights, or
        None where there is one place). Both have a row for each element."""
        places, weights = zip(*self.formulas(scale, align_corners))
        given = np.arange(out, dtype=np.float64), np.float64(n), np.float64(out)

        def columns(roots):
            made = evaluate(roots, given, lambda name: SHORT[name].np)
            return np.stack([np.broadcast_to(column, out) for column in made], 1)
        return columns(places), None if weights[0] is None else columns(weights)


class Nearest(Filter):
    """The one element that lies nearest; `centre`: where elements are, beyond their number."""

    def __init__(self, centre):
        self.centre = centre

    def formulas(self, scale, align_corners):
        at = e.floor(e.cast((NUMBER + self.centre) * _step(scale), "f32"))
        return [(_place(e.cast(at, "f64")), None)]


class Interpolation(Filter):
    """A weighted sum of neighbours. `reach`: how far they are at most, where nothing shrinks."""
    reach: float

    def formulas(self, scale, align_corners):
        x = self.source(scale, align_corners)
        i = e.floor(x)
        return self.neighbours(i, x - i)

    def taps(self, n, out, scale, align_corners, antialias):
        if antialias:
            return self.stretched(n, out, scale, align_corners)
        return super().taps(n, out, scale, align_corners, antialias)

    def source(self, scale, align_corners):
        """Where an element lies in the axis."""
        if align_corners:
            several = e.gt(AFTER, 1.0)
            return NUMBER * e.where(several, (BEFORE - 1) / e.maximum(AFTER - 1, 1.0), 0.0)
        return (NUMBER + 0.5) * _step(scale) - 0.5

    def neighbours(self, i, t):
        """Places and weights of what lies `t` behind place i."""
        raise NotImplementedError

    def weight(self, d):
        """The weight at a distance, for the filter that grows as an axis shrinks."""
        raise NotImplementedError

    def stretched(self, n, out, scale, align_corners):
        """The taps of a filter that reaches further the more an axis shrinks."""
        step = 1.0 / scale if scale else n / out
        if align_corners:
            step = (n - 1) / (out - 1) if out > 1 else 0.0
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
    """Interpolation of two neighbours."""
    reach = 1.0

    def source(self, scale, align_corners):
        x = super().source(scale, align_corners)
        return x if align_corners else e.maximum(x, 0.0)

    def neighbours(self, i, t):
        return [(_place(i), 1 - t), (_place(i + 1), t)]

    def weight(self, d):
        return np.maximum(1 - d, 0)


class Cubic(Interpolation):
    """Interpolation of four neighbours. PyTorch's parameter is another one where a filter may
    grow."""
    reach = 2.0

    def neighbours(self, i, t):
        places = [_place(e.maximum(i + far, 0.0)) for far in range(-1, 3)]
        return list(zip(places, cubic_weights(t, -0.75)))

    def weight(self, d):
        a = -0.5
        return np.where(d < 1, ((a + 2) * d - (a + 3)) * d * d + 1,
                        np.where(d < 2, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a, 0))


def _step(scale):
    """How far two elements of the resized axis are apart in the axis."""
    return e.const(1.0 / scale) if scale else BEFORE / AFTER


def _place(x):
    """A whole number that is no place behind the last one, as an i64."""
    return e.cast(e.minimum(x, BEFORE - 1), "i64")


FILTERS = {"nearest": Nearest(0.0), "nearest-exact": Nearest(0.5), "linear": Linear(),
           "cubic": Cubic()}
