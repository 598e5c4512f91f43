"""Transform: a function of which the inverse and the change of volume are known. Inverses,
compositions and reshapes of transforms."""
import math

import whet

from ..ops.surface import guard
from . import constraints as c
from .base import Size, sum_rightmost


class Transform:
    """y = f(x) with an inverse. With `cache_size=1` the last pair is remembered, so that
    `inv(f(x))` is x itself."""
    bijective = False
    domain = codomain = c.real
    sign = 1

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls) and cls.__module__.startswith("whet."):
            cls.__init__ = guard(cls.__init__)

    def __init__(self, cache_size=0):
        if type(cache_size) is not int or cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size, self._pair = cache_size, (None, None)

    def __call__(self, x):
        """f(x)"""
        if self._cache_size == 0:
            return self._call(x)
        if self._pair[0] is not x:
            self._pair = x, self._call(x)
        return self._pair[1]

    def _back(self, y):
        if self._cache_size == 0:
            return self._inverse(y)
        if self._pair[1] is not y:
            self._pair = self._inverse(y), y
        return self._pair[0]

    @property
    def inv(self):
        """The inverse, a transform as well."""
        return _InverseTransform(self)

    def with_cache(self, cache_size=1):
        """The same with another cache."""
        if cache_size == self._cache_size:
            return self
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__, _cache_size=cache_size, _pair=(None, None))
        return new

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
        return type(self) is type(other) and not any(
            not bool((a == b).all()) if isinstance(a, whet.Tensor) else a != b
            for a, b in ((v, other.__dict__.get(k))
                         for k, v in self.__dict__.items() if k not in ("_pair", "_cache_size")))

    __hash__ = object.__hash__

    def __repr__(self):
        return type(self).__name__ + "()"


class _InverseTransform(Transform):
    def __init__(self, transform):
        super().__init__()
        self._inv = transform
        self.bijective = transform.bijective

    domain = property(lambda self: self._inv.codomain)
    codomain = property(lambda self: self._inv.domain)
    sign = property(lambda self: self._inv.sign)
    inv = property(lambda self: self._inv)

    def with_cache(self, cache_size=1):
        return self._inv.with_cache(cache_size).inv

    def __call__(self, x):
        return self._inv._back(x)

    def _back(self, y):
        return self._inv(y)

    def log_abs_det_jacobian(self, x, y):
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape):
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape):
        return self._inv.forward_shape(shape)

    def __repr__(self):
        return f"_InverseTransform({self._inv!r})"


class ComposeTransform(Transform):
    """Transforms one after the other."""

    def __init__(self, parts, cache_size=0):
        super().__init__(cache_size)
        self.parts = [p.with_cache(cache_size) if cache_size else p for p in parts]

    @property
    def domain(self):
        if not self.parts:
            return c.real
        need = self.parts[-1].codomain.event_dim
        for p in reversed(self.parts):
            need = max(need + p.domain.event_dim - p.codomain.event_dim, p.domain.event_dim)
        d = self.parts[0].domain
        return c.independent(d, need - d.event_dim) if need > d.event_dim else d

    @property
    def codomain(self):
        if not self.parts:
            return c.real
        need = self.parts[0].domain.event_dim
        for p in self.parts:
            need = max(need + p.codomain.event_dim - p.domain.event_dim, p.codomain.event_dim)
        d = self.parts[-1].codomain
        return c.independent(d, need - d.event_dim) if need > d.event_dim else d

    bijective = property(lambda self: all(p.bijective for p in self.parts))
    sign = property(lambda self: math.prod(p.sign for p in self.parts))

    def _call(self, x):
        for p in self.parts:
            x = p(x)
        return x

    def _inverse(self, y):
        for p in reversed(self.parts):
            y = p._back(y)
        return y

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


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform of which the last dimensions count as part of one value."""

    def __init__(self, base_transform, reinterpreted_batch_ndims, cache_size=0):
        super().__init__(cache_size)
        self.base_transform, self.reinterpreted_batch_ndims = (
            base_transform.with_cache(cache_size), reinterpreted_batch_ndims)

    domain = property(lambda self: c.independent(self.base_transform.domain,
                                                 self.reinterpreted_batch_ndims))
    codomain = property(lambda self: c.independent(self.base_transform.codomain,
                                                   self.reinterpreted_batch_ndims))
    bijective = property(lambda self: self.base_transform.bijective)
    sign = property(lambda self: self.base_transform.sign)

    def _call(self, x):
        return self.base_transform(x)

    def _inverse(self, y):
        return self.base_transform._back(y)

    def log_abs_det_jacobian(self, x, y):
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y),
                             self.reinterpreted_batch_ndims)


class ReshapeTransform(Transform):
    """Values in another shape."""
    bijective = True

    def __init__(self, in_shape, out_shape, cache_size=0):
        super().__init__(cache_size)
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if math.prod(in_shape) != math.prod(out_shape):
            raise ValueError("in_shape, out_shape have different numbers of elements")

    domain = property(lambda self: c.independent(c.real, len(self.in_shape)))
    codomain = property(lambda self: c.independent(c.real, len(self.out_shape)))

    def _call(self, x):
        return x.reshape(x.shape[:x.ndim - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y):
        return y.reshape(y.shape[:y.ndim - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x, y):
        return x.new_zeros(x.shape[:x.ndim - len(self.in_shape)])

    def forward_shape(self, shape):
        return Size(shape)[:len(shape) - len(self.in_shape)] + self.out_shape

    def inverse_shape(self, shape):
        return Size(shape)[:len(shape) - len(self.out_shape)] + self.in_shape
