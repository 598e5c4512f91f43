"""What all distributions share."""
import numpy as np
import whet
from whet import declared_for_tracing

from ..autograd import modes
from ..ops.argument_guards import guard
from . import constraints
from .utils import (
    Size,
    Tensor,
    broadcast_all,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)


@declared_for_tracing.are_data
class Distribution:
    """A batch of distributions (`batch_shape`), whose samples have `event_shape` each.

    A class of its own states the regions of its parameters, and computes densities:

    >>> import whet
    >>> from whet.distributions import Distribution, constraints
    >>> class Tent(Distribution):
    ...     arg_constraints, support = {}, constraints.interval(-1.0, 1.0)
    ...     def log_prob(self, value):
    ...         self._validate_sample(value)
    ...         return (1 - value.abs()).log()
    >>> Tent().log_prob(whet.tensor(0.0))
    tensor(0.)
    """
    has_rsample = False
    has_enumerate_support = False
    # What a larger batch takes over beside the parameters: name of an attribute -> how many of its
    # dimensions belong to one value; None where a tensor stays as it is.
    _state: dict = {}
    # the nearest class of this package: the one that knows what its instances hold
    _ours: "type[Distribution]"
    _validate_args = True

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if cls.__module__.startswith("whet."):
            cls._ours = cls
            if "__init__" in vars(cls):
                # names an argument that should have been something else
                cls.__init__ = guard(cls.__init__)

    @staticmethod
    def set_default_validate_args(value):
        """Are parameters and values checked where nothing else is said?"""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape=(), event_shape=(), validate_args=None):
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self):
        try:
            regions = self.arg_constraints
        except NotImplementedError:
            modes.warn(f"{type(self)} does not define `arg_constraints`. Please set "
                       "`arg_constraints = {}` or initialize the distribution with "
                       "`validate_args=False` to turn off validation.", stacklevel=3)
            return
        for name, region in regions.items():
            # what is worked out when it is asked for follows from what was checked
            if constraints.is_dependent(region) or name not in self.__dict__ and isinstance(
                    getattr(type(self), name, None), lazy_property):
                continue
            value = getattr(self, name)
            if not bool(region.check(value).all()):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape "
                    f"{tuple(value.shape)}) of distribution {self!r} to satisfy the constraint "
                    f"{region!r}, but found invalid values:\n{value}")

    def expand(self, batch_shape, _instance=None):
        """The same distribution for a larger batch.

        >>> import whet
        >>> whet.distributions.Normal(whet.zeros(2), 1.0).expand((3, 2))
        Normal(loc: whet.Size([3, 2]), scale: whet.Size([3, 2]))
        """
        held, new = self._held(), self._get_checked_instance(self._ours, _instance)
        batch_shape = Size(batch_shape)
        for name, dims in held.items():
            if name not in self.__dict__:
                continue
            value = self.__dict__[name]
            if isinstance(value, Tensor) and dims is not None:
                value = value.expand(batch_shape + value.shape[value.ndim - dims:])
            elif isinstance(value, Distribution):
                more = value.batch_shape[len(self._batch_shape):]
                value = value.expand(batch_shape + more)
            setattr(new, name, value)
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _held(self):
        """Parameters and `_state` of the nearest class of this package."""
        regions = self._ours.arg_constraints
        # a property, where regions go by the parameters
        regions = regions.__get__(self) if isinstance(regions, property) else regions
        return {**{name: region.event_dim for name, region in regions.items()}, **self._ours._state}

    def _get_checked_instance(self, cls, _instance=None):
        """The object that `expand` fills: `_instance`, or a new one of the type of this one. That
        needs an `expand` of its own where it has an `__init__` of its own."""
        if _instance is not None:
            return _instance
        if type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ "
                "method must also define a custom .expand() method.")
        return object.__new__(type(self))

    batch_shape = property(lambda self: self._batch_shape)
    event_shape = property(lambda self: self._event_shape)

    @property
    def arg_constraints(self):
        """The regions of the parameters, by name."""
        raise NotImplementedError

    @property
    def mean(self):
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self):
        """The likeliest value."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self):
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self):
        """The standard deviation."""
        return self.variance.sqrt()

    @property
    def support(self):
        """Where samples lie."""
        raise NotImplementedError

    def sample(self, sample_shape=()):
        """A sample (of each in the batch), through which no gradient flows."""
        with whet.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=()):
        """A sample as a function of the parameters and of noise, so that gradients flow."""
        raise NotImplementedError

    def sample_n(self, n):
        """n samples."""
        return self.sample((n,))

    def log_prob(self, value):
        """The logarithm of the density (or probability) at a value."""
        raise NotImplementedError

    def cdf(self, value):
        """The probability of at most this value."""
        raise NotImplementedError

    def icdf(self, value):
        """The inverse of `cdf`."""
        raise NotImplementedError

    def enumerate_support(self, expand=True):
        """All values of a discrete distribution."""
        raise NotImplementedError

    def entropy(self):
        """The entropy."""
        raise NotImplementedError

    def perplexity(self):
        """exp(entropy)"""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape=()):
        return (Size((sample_shape,) if isinstance(sample_shape, int) else sample_shape)
                + self._batch_shape + self._event_shape)

    def _validate_sample(self, value):
        if not self._validate_args:
            return
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        event = len(self._event_shape)
        if value.ndim - event < 0 or value.shape[value.ndim - event:] != self._event_shape:
            raise ValueError("The right-most size of value must match event_shape: "
                             f"{tuple(value.shape)} vs {tuple(self._event_shape)}.")
        try:
            np.broadcast_shapes(value.shape, self._batch_shape + self._event_shape)
        except ValueError:
            raise ValueError(
                f"Value is not broadcastable with batch_shape+event_shape: {tuple(value.shape)} vs "
                f"{tuple(self._batch_shape + self._event_shape)}.") from None
        try:
            support = self.support
        except NotImplementedError:
            return
        if not bool(support.check(value).all()):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) "
                f"to be within the support ({support!r}) of the distribution {self!r}, but found "
                f"invalid values:\n{value}")

    def __repr__(self):
        held = {n: self.__dict__[n] for n in self.arg_constraints if n in self.__dict__}
        shown = [f"{n}: {x if x.numel() == 1 else x.shape}" for n, x in held.items()]
        return f"{type(self).__name__}({', '.join(shown)})"


Distribution._ours = Distribution


class ProbsOrLogits(Distribution):
    """A parameter that is given as `probs` or as `logits`."""
    _binary = True

    def _take(self, probs, logits, *others):
        """Keep the one that is given, of one shape with the other parameters; these are
        returned."""
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        name, parameter = ("probs", probs) if logits is None else ("logits", logits)
        parameter, *others = broadcast_all(parameter, *others)
        setattr(self, name, parameter)
        return others

    @property
    def _param(self):
        return self.__dict__["probs"] if "probs" in self.__dict__ else self.__dict__["logits"]

    def _new(self, *args, **kwargs):
        """A tensor like the parameter."""
        return self._param.new(*args, **kwargs)

    @property
    def param_shape(self):
        """The shape of the probabilities."""
        return self._param.shape

    @lazy_property
    def probs(self):
        """The probabilities."""
        return logits_to_probs(self.logits, self._binary)

    @lazy_property
    def logits(self):
        """The log-odds (or logarithms) of the probabilities."""
        return probs_to_logits(self.probs, self._binary)
