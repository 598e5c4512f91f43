"""Transform: a function of which the inverse and the change of volume are known. Inverses,
compositions and reshapes of transforms."""
import math

import whet
from whet import declared_for_tracing

from ..ops.argument_guards import guard
from . import constraints as c
from .utils import Size, sum_rightmost


def _equal(a, b):
    if isinstance(a, whet.Tensor) or isinstance(b, whet.Tensor):
        return bool(whet.as_tensor(a == b).all())
    return a == b


@declared_for_tracing.are_data
class Transform:
    """y = f(x) with an inverse. With `cache_size=1` the last pair is remembered, so that
    `inv(f(x))` is x itself.

    A transform of one's own has `_call`, `_inverse` and `log_abs_det_jacobian`:

    >>> import whet
    >>> from whet.distributions import Transform, constraints
    >>> class Cube(Transform):
    ...     domain = codomain = constraints.real
    ...     bijective, sign = True, 1
    ...     def _call(self, x):
    ...         return x ** 3
    ...     def _inverse(self, y):
    ...         return y.sign() * y.abs() ** (1 / 3)
    ...     def log_abs_det_jacobian(self, x, y):
    ...         return (3 * x ** 2).log()
    >>> Cube()(whet.tensor(2.0)), Cube().inv(whet.tensor(-8.0))
    (tensor(8.), tensor(-2.))
    """
    bijective = False
    domain: c.Constraint
    codomain: c.Constraint
    # the attributes by which two of a kind are equal; None: each is equal to itself only
    _equal_by: tuple[str, ...] | None = None

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls) and cls.__module__.startswith("whet."):
            cls.__init__ = guard(cls.__init__)

    def __init__(self, cache_size=0):
        super().__init__()
        if type(cache_size) is not int or cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size, self._inv = cache_size, None
        self._cached_x_y = None, None

    def __getstate__(self):
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self):
        """How many dimensions make one value, where these are as many before as after."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self):
        """The inverse, a transform as well: `t.inv.inv is t`."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self):
        """1 where it is increasing, -1 where it is decreasing."""
        raise NotImplementedError

    def with_cache(self, cache_size=1):
        """This transform with another cache."""
        if cache_size == self._cache_size:
            return self
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__, _cache_size=cache_size, _cached_x_y=(None, None),
                            _inv=None)
        return new

    def __call__(self, x):
        """f(x)"""
        if self._cache_size == 0:
            return self._call(x)
        if self._cached_x_y[0] is not x:
            self._cached_x_y = x, self._call(x)
        return self._cached_x_y[1]

    def _inv_call(self, y):
        if self._cache_size == 0:
            return self._inverse(y)
        if self._cached_x_y[1] is not y:
            self._cached_x_y = self._inverse(y), y
        return self._cached_x_y[0]

    def _call(self, x):
        raise NotImplementedError

    def _inverse(self, y):
        raise NotImplementedError

    def log_abs_det_jacobian(self, x, y):
        """log |dy / dx|"""
        raise NotImplementedError

    def forward_shape(self, shape):
        """The shape of f(x)."""
        return shape

    def inverse_shape(self, shape):
        """The shape of x."""
        return shape

    def __eq__(self, other):
        if self is other or self._equal_by is None or type(self) is not type(other):
            return self is other
        return all(_equal(getattr(self, n), getattr(other, n)) for n in self._equal_by)

    __hash__ = object.__hash__

    def __repr__(self):
        return type(self).__name__ + "()"


class _InverseTransform(Transform):
    """The inverse of a transform, which does the work."""
    _equal_by = ("_inv",)

    def __init__(self, transform):
        super().__init__(transform._cache_size)
        self._inv = transform

    def __getstate__(self):
        return self.__dict__

    @c.dependent_property(is_discrete=False)
    def domain(self):
        return self._inv.codomain

    @c.dependent_property(is_discrete=False)
    def codomain(self):
        return self._inv.domain

    bijective = property(lambda self: self._inv.bijective)
    sign = property(lambda self: self._inv.sign)
    inv = property(lambda self: self._inv)

    def with_cache(self, cache_size=1):
        return self._inv.with_cache(cache_size).inv

    def __call__(self, x):
        return self._inv._inv_call(x)

    def _inv_call(self, y):
        return self._inv(y)

    def log_abs_det_jacobian(self, x, y):
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape):
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape):
        return self._inv.forward_shape(shape)

    def __repr__(self):
        return f"{type(self).__name__}({self._inv!r})"


def _widened(region, event_dim):
    """A region whose values have so many dimensions."""
    more = event_dim - region.event_dim
    return c.independent(region, more) if more else region


class ComposeTransform(Transform):
    """Transforms one after the other.

    >>> import whet
    >>> d = whet.distributions
    >>> t = d.ComposeTransform([d.ExpTransform(), d.AffineTransform(1.0, 2.0)])
    >>> t(whet.tensor(0.0)), t.inv(whet.tensor(3.0))
    (tensor(3.), tensor(0.))
    """
    _equal_by = ("parts",)

    def __init__(self, parts, cache_size=0):
        super().__init__(cache_size)
        self.parts = [p.with_cache(cache_size) for p in parts] if cache_size else list(parts)

    @c.dependent_property(is_discrete=False)
    def domain(self):
        if not self.parts:
            return c.real
        need = self.parts[-1].codomain.event_dim
        for p in reversed(self.parts):
            need = max(need + p.domain.event_dim - p.codomain.event_dim, p.domain.event_dim)
        return _widened(self.parts[0].domain, need)

    @c.dependent_property(is_discrete=False)
    def codomain(self):
        if not self.parts:
            return c.real
        need = self.parts[0].domain.event_dim
        for p in self.parts:
            need = max(need + p.codomain.event_dim - p.domain.event_dim, p.codomain.event_dim)
        return _widened(self.parts[-1].codomain, need)

    bijective = property(lambda self: all(p.bijective for p in self.parts))
    sign = property(lambda self: math.prod(p.sign for p in self.parts))

    @property
    def inv(self):
        if self._inv is None:
            self._inv = ComposeTransform([p.inv for p in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def with_cache(self, cache_size=1):
        if cache_size == self._cache_size:
            return self
        return ComposeTransform(self.parts, cache_size)

    def __call__(self, x):
        for p in self.parts:
            x = p(x)
        return x

    def _inv_call(self, y):
        return self.inv(y)

    def log_abs_det_jacobian(self, x, y):
        if not self.parts:
            return whet.zeros_like(x)
        total, event_dim = 0, self.domain.event_dim
        for i, p in enumerate(self.parts):
            z = y if i + 1 == len(self.parts) else p(x)
            total = (total
                     + sum_rightmost(p.log_abs_det_jacobian(x, z), event_dim - p.domain.event_dim))
            event_dim += p.codomain.event_dim - p.domain.event_dim
            x = z
        return total

    def forward_shape(self, shape):
        for p in self.parts:
            shape = p.forward_shape(shape)
        return shape

    def inverse_shape(self, shape):
        for p in reversed(self.parts):
            shape = p.inverse_shape(shape)
        return shape

    def __repr__(self):
        parts = ",\n    ".join(map(repr, self.parts))
        return f"{type(self).__name__}(\n    {parts}\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform of which the last dimensions count as part of one value.

    >>> import whet
    >>> from whet.distributions import ExpTransform, IndependentTransform
    >>> x = whet.tensor([1., 2.])
    >>> transform = IndependentTransform(ExpTransform(), 1)
    >>> transform.log_abs_det_jacobian(x, transform(x))
    tensor(3.)
    """
    _equal_by = ("base_transform", "reinterpreted_batch_ndims")

    def __init__(self, base_transform, reinterpreted_batch_ndims, cache_size=0):
        super().__init__(cache_size)
        self.base_transform, self.reinterpreted_batch_ndims = (
            base_transform.with_cache(cache_size), reinterpreted_batch_ndims)

    @c.dependent_property(is_discrete=False)
    def domain(self):
        return c.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @c.dependent_property(is_discrete=False)
    def codomain(self):
        return c.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    bijective = property(lambda self: self.base_transform.bijective)
    sign = property(lambda self: self.base_transform.sign)

    def with_cache(self, cache_size=1):
        if cache_size == self._cache_size:
            return self
        return IndependentTransform(
            self.base_transform, self.reinterpreted_batch_ndims, cache_size)

    def _call(self, x):
        check_dims(x.shape, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y):
        check_dims(y.shape, self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x, y):
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y),
                             self.reinterpreted_batch_ndims)

    def forward_shape(self, shape):
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape):
        return self.base_transform.inverse_shape(shape)

    def __repr__(self):
        return (f"{type(self).__name__}({self.base_transform!r}, "
                f"{self.reinterpreted_batch_ndims})")


class ReshapeTransform(Transform):
    """Values in another shape.

    >>> import whet
    >>> t = whet.distributions.ReshapeTransform((4,), (2, 2))
    >>> t(whet.zeros(3, 4)).shape
    whet.Size([3, 2, 2])
    """
    bijective = True
    _equal_by = ("in_shape", "out_shape")

    def __init__(self, in_shape, out_shape, cache_size=0):
        super().__init__(cache_size)
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if math.prod(in_shape) != math.prod(out_shape):
            raise ValueError("in_shape, out_shape have different numbers of elements")

    @c.dependent_property
    def domain(self):
        return c.independent(c.real, len(self.in_shape))

    @c.dependent_property
    def codomain(self):
        return c.independent(c.real, len(self.out_shape))

    def _call(self, x):
        return x.reshape(x.shape[:x.ndim - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y):
        return y.reshape(y.shape[:y.ndim - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x, y):
        return x.new_zeros(x.shape[:x.ndim - len(self.in_shape)])

    def forward_shape(self, shape):
        return _exchanged(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape):
        return _exchanged(shape, self.out_shape, self.in_shape)


def check_dims(shape, least):
    """Has a value the dimensions that a transform needs?"""
    if len(shape) < least:
        raise ValueError("Too few dimensions on input")


def _exchanged(shape, old, new):
    """A shape that ends in a new one instead of an old one."""
    check_dims(shape, len(old))
    cut = len(shape) - len(old)
    if tuple(shape[cut:]) != tuple(old):
        raise ValueError(f"Shape mismatch: expected {old} but got {shape[cut:]}")
    return Size(shape[:cut]) + new
