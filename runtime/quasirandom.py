"""Points that fill a cube evenly: `whet.quasirandom.SobolEngine`."""
import numpy as np

from . import dtypes
from .autograd import modes
from .ops.surface import FUNCTIONS as F

__all__ = ["SobolEngine"]


class SobolEngine:
    """A Sobol sequence of points in the unit cube, in the order of a Gray code. With `scramble` its
    digits are mixed and shifted at random, by `seed` where that is given. The directions are
    SciPy's (Joe's and Kuo's), which must be installed.

    >>> import whet
    >>> engine = whet.quasirandom.SobolEngine(2)
    >>> engine.draw(3)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500]])
    >>> engine.num_generated
    3
    """
    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension, scramble=False, seed=None):
        if not 0 < dimension <= self.MAXDIM:
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        modes.beyond("it makes a sequence of quasirandom numbers")
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        directions, shift = _directions(dimension), np.zeros(dimension, np.int64)
        if scramble:
            directions, shift = self._mixed(directions)
        self.sobolstate, self.shift = F["from_numpy"](directions), F["from_numpy"](shift)
        self.reset()

    def _mixed(self, directions):
        """Random triangular matrices times the digits, and a random shift."""
        from .random import Generator
        g = Generator()
        if self.seed is None:
            g.seed()
        else:
            g.manual_seed(self.seed)
        bits = self.MAXBIT
        places = np.arange(bits)
        shift = F["randint"](2, (self.dimension, bits), generator=g).numpy() @ (1 << places)
        # Row: a digit of the result; column: of the direction; both from the highest.
        rows = F["randint"](2, (self.dimension, bits, bits), generator=g).numpy()
        rows = np.tril(rows, -1) + np.eye(bits, dtype=np.int64)
        digits = directions[:, None, :] >> places[::-1][:, None] & 1
        mixed = rows @ digits & 1
        return (mixed << places[::-1][:, None]).sum(1), shift

    def draw(self, n=1, out=None, dtype=None):
        """The next `n` points: (n, dimension)."""
        modes.beyond("it draws quasirandom numbers")
        dtype = dtypes.get_default_dtype() if dtype is None else dtype
        at = np.arange(self.num_generated, self.num_generated + n, dtype=np.int64)
        if n and at[-1] >> self.MAXBIT:
            raise ValueError(f"a Sobol sequence has no more than 2**{self.MAXBIT} points")
        whole = self._at(at)
        self.num_generated += n
        points = F["from_numpy"](whole * 2.0 ** -self.MAXBIT).to(dtype)
        if out is None:
            return points
        return out.resize_(points.shape).copy_(points)

    def _at(self, numbers):
        """The points of these numbers, as integers."""
        code = numbers ^ numbers >> 1
        points = np.repeat(self.shift.numpy()[None], len(numbers), 0)
        for k, direction in enumerate(self.sobolstate.numpy().T):
            taken = code >> k & 1 == 1
            if taken.any():
                points[taken] ^= direction
        return points

    def draw_base2(self, m, out=None, dtype=None):
        """The next 2**m points, where all points so far are then a power of two: as many are in
        balance."""
        n = 2 ** m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: "
                f"n={self.num_generated}+2**{m}={total}. If you still want to do this, please use "
                "'SobolEngine.draw()' instead.")
        return self.draw(n, out=out, dtype=dtype)

    def reset(self):
        """Begin again."""
        modes.beyond("it sets back a sequence of quasirandom numbers")
        self.num_generated = 0
        return self

    def fast_forward(self, n):
        """Leave out the next `n` points."""
        modes.beyond("it draws quasirandom numbers")
        self.num_generated += n
        return self

    @property
    def quasi(self):
        """The latest point as integers: the shift before any."""
        return F["from_numpy"](self._at(np.array([max(self.num_generated - 1, 0)]))[0])

    def __repr__(self):
        return (f"SobolEngine(dimension={self.dimension}"
                + (", scramble=True" if self.scramble else "")
                + (f", seed={self.seed}" if self.seed is not None else "") + ")")


def _directions(dimension):
    """The direction numbers: (dimension, bits)."""
    try:
        from scipy.stats.qmc import Sobol
    except ImportError:
        raise ImportError("SobolEngine takes its direction numbers from SciPy, which is not "
                          "installed: pip install scipy") from None
    # SciPy has no public name for them; points would give them, after steps without number.
    return Sobol(dimension, scramble=False, bits=SobolEngine.MAXBIT)._sv.astype(np.int64)
