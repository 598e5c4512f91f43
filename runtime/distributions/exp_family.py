"""Exponential families, and what follows from the form of their densities."""
import whet

from .distribution import Distribution
from .utils import sum_rightmost


class ExponentialFamily(Distribution):
    """Distributions whose log-density is `<t(x), theta> - F(theta) + k(x)`: linear in functions t
    of the value.

    A class states theta (`_natural_params`), F (`_log_normalizer`) and the mean of k
    (`_mean_carrier_measure`). Entropies and divergences follow, the mean of t being the gradient
    of F.

    >>> import whet
    >>> d = whet.distributions
    >>> class Waiting(d.ExponentialFamily):
    ...     arg_constraints, _mean_carrier_measure = {}, 0
    ...     def __init__(self, rate):
    ...         self.rate = rate
    ...         super().__init__(rate.shape)
    ...     _natural_params = property(lambda self: (-self.rate,))
    ...     def _log_normalizer(self, x):
    ...         return -(-x).log()
    >>> Waiting(whet.tensor([1.0])).entropy()
    tensor([1.])
    """

    @property
    def _natural_params(self):
        raise NotImplementedError

    def _log_normalizer(self, *natural_params):
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self):
        raise NotImplementedError

    def _normalizer_and_slopes(self):
        """(F, its gradient, theta), as functions of the parameters where they are followed."""
        parameters = self._natural_params
        followed = whet.is_grad_enabled() and any(p.requires_grad for p in parameters)
        theta = [p if p.requires_grad else p.detach().requires_grad_() for p in parameters]
        with whet.enable_grad():
            value = self._log_normalizer(*theta)
            slopes = whet.autograd.grad(value.sum(), theta, create_graph=followed)
        return (value if followed else value.detach()), slopes, parameters

    def entropy(self):
        """The entropy, from the normaliser and its gradient."""
        value, slopes, theta = self._normalizer_and_slopes()
        total = value - self._mean_carrier_measure
        for p, slope in zip(theta, slopes):
            total = total - sum_rightmost(p * slope, p.ndim - len(self._batch_shape))
        return total
