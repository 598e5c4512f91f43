"""Samples of gamma distributions, and how they move with the shape."""
import numpy as np
import whet

from ..ops.registry import Op, apply
from ..ops.special import _incomplete, _log_gamma
from .utils import rand, randn

ROUNDS = 8               # each is accepted in more than 95 of 100 cases


def _slope(alpha, x):
    """d x / d alpha of a sample: minus the derivative of the distribution function by the shape,
    over the density."""
    a, x64 = np.broadcast_arrays(np.asarray(alpha, np.float64),
                                 np.maximum(np.asarray(x, np.float64), 1e-300))
    h = 1e-3 * a
    upper = x64 > a                        # of the tail that is small, so that nothing is lost

    def tail(at):
        return np.where(upper, _incomplete(at, x64, True), -_incomplete(at, x64, False))
    change = (8 * (tail(a + h) - tail(a - h)) - (tail(a + 2 * h) - tail(a - 2 * h))) / (12 * h)
    with np.errstate(all="ignore"):
        density = np.exp((a - 1) * np.log(x64) - x64 - _log_gamma(a))
        return np.where(density > 0, change / density, 1.0).astype(np.asarray(x).dtype)


slope_op = Op("gamma_slope", _slope, inner=True)
# the sample as a function of the shape: its value is known, and so is its slope
moved_op = Op("gamma_sample", lambda alpha, x: np.array(x, copy=True),
              lambda g, _y, alpha, x: [g * apply(slope_op, (alpha, x), {}), None], inner=True)


def standard_gamma(alpha):
    """A sample of Gamma(alpha, 1) for each alpha (Marsaglia and Tsang's method, all rounds at
    once)."""
    with whet.no_grad():
        a = alpha.detach()
        boosted = whet.where(a < 1, a + 1, a)
        d = boosted - 1 / 3
        c = 1 / (9 * d).sqrt()
        shape = (ROUNDS, *a.shape)
        z, u = randn(shape, a), rand(shape, a)
        v = (1 + c * z) ** 3
        accepted = (v > 0) & (u.log() < 0.5 * z * z + d - d * v + d * v.clamp(min=1e-30).log())
        first = accepted.to(whet.int64).argmax(0, keepdim=True)
        x = d * whet.where(accepted.any(0), v.gather(0, first).squeeze(0), 1.0)
        x = whet.where(a < 1,
                       x * rand(a.shape, a) ** (1 / a), x).clamp(min=whet.finfo(a.dtype).tiny)
    return apply(moved_op, (alpha, x), {}) if alpha.requires_grad else x


def sample_dirichlet(concentration):
    """A sample of the Dirichlet distribution for each vector: gamma samples over their sum."""
    x = standard_gamma(concentration)
    return x / x.sum(-1, keepdim=True)


_standard_gamma, _sample_dirichlet = standard_gamma, sample_dirichlet
