"""What all distributions share."""
import numpy as np
import whet

from ..ops.surface import guard
from . import constraints

Size, Tensor = whet.Size, whet.Tensor


def broadcast_all(*values):
    """Numbers and tensors as tensors of one shape (and the tensors' type)."""
    for v in values:
        if not isinstance(v, Tensor | int | float):
            raise ValueError(
                "Input arguments must all be instances of Number, Tensor or objects implementing "
                f"__torch_function__, got {type(v)}.")
    like = next((v for v in values if isinstance(v, Tensor)), None)
    floats = like is not None and like.is_floating_point()
    dtype = like.dtype if floats else whet.get_default_dtype()
    device = None if like is None else like.device
    return whet.broadcast_tensors(*[
        v if isinstance(v, Tensor) else whet.tensor(v, dtype=dtype, device=device)
        for v in values])


def clamp_probs(probs):
    """Probabilities that are neither 0 nor 1."""
    eps = whet.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits, is_binary=False):
    """The probabilities of log-odds, or of logarithms up to a constant."""
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def probs_to_logits(probs, is_binary=False):
    """Log-odds, or logarithms, of probabilities."""
    p = clamp_probs(probs)
    return p.log() - (-p).log1p() if is_binary else p.log()


def sum_rightmost(value, dims):
    """The sum over the last dimensions."""
    return value if dims == 0 else value.reshape(*value.shape[:value.ndim - dims], -1).sum(-1)


_sum_rightmost = sum_rightmost


def _standard_normal(shape, dtype, device):
    """Numbers that are normally distributed around 0, with deviation 1."""
    return whet.randn(shape, dtype=dtype, device=device)


class lazy_property:
    """An attribute that is worked out when it is first asked for."""

    def __init__(self, fn):
        self.fn, self.__doc__ = fn, fn.__doc__

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        with whet.enable_grad():
            value = self.fn(instance)
        setattr(instance, self.name, value)
        return value


class Distribution:
    """A batch of distributions (`batch_shape`), whose samples have `event_shape` each."""
    has_rsample = False
    has_enumerate_support = False
    arg_constraints: dict = {}
    # attributes that are no parameters -> how many dimensions belong to one value
    _event_dims: dict = {}
    _validate_args = True

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls) and cls.__module__.startswith("whet."):
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
        if not self._validate_args:
            return
        for name, constraint in self.arg_constraints.items():
            if constraints.is_dependent(constraint) or name not in self.__dict__:
                continue
            value = getattr(self, name)
            if not bool(constraint.check(value).all()):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape "
                    f"{tuple(value.shape)}) of distribution {self!r} to satisfy the constraint "
                    f"{constraint!r}, but found invalid values:\n{value}")

    def expand(self, batch_shape, _instance=None):
        """The same distribution for a larger batch."""
        batch_shape = Size(batch_shape)
        new = object.__new__(type(self)) if _instance is None else _instance
        for name, value in self.__dict__.items():
            if isinstance(value, Tensor):
                setattr(new,
                        name,
                        value.expand(batch_shape + value.shape[value.ndim - self._dims_of(name):]))
            elif isinstance(value, Distribution):
                setattr(new,
                        name,
                        value.expand(batch_shape + value.batch_shape[len(self._batch_shape):]))
            elif name not in ("_batch_shape", "_event_shape"):
                setattr(new, name, value)
        new._batch_shape, new._event_shape = batch_shape, self._event_shape
        return new

    def _dims_of(self, name):
        """How many dimensions of an attribute belong to one value."""
        return (self.arg_constraints[name].event_dim
                if name in self.arg_constraints else self._event_dims.get(name, 0))

    batch_shape = property(lambda self: self._batch_shape)
    event_shape = property(lambda self: self._event_shape)

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
        names = [n for n in self.arg_constraints if n in self.__dict__]
        held = {n: x for n in names if isinstance(x := getattr(self, n), Tensor)}
        shown = [f"{n}: {x if x.numel() == 1 else tuple(x.shape)}" for n, x in held.items()]
        return f"{type(self).__name__}({', '.join(shown)})"


class ExponentialFamily(Distribution):
    """Distributions whose log-density is linear in functions of the value."""


def rand(shape, like):
    """Uniform numbers in (0, 1), as precise as a tensor."""
    eps = whet.finfo(like.dtype).tiny
    return whet.rand(shape, dtype=like.dtype, device=like.device).clamp(min=eps)


def randn(shape, like):
    """Normal numbers, as precise as a tensor."""
    return whet.randn(shape, dtype=like.dtype, device=like.device)
