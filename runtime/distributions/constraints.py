"""Regions in which parameters and samples of distributions lie: `constraint.check(value)` says
where a value does."""
import whet

__all__ = [
    "Constraint", "boolean", "cat", "circular", "corr_cholesky", "dependent", "dependent_property",
    "greater_than", "greater_than_eq", "half_open_interval", "independent", "integer_interval",
    "interval", "is_dependent", "less_than", "lower_cholesky", "lower_triangular", "multinomial",
    "nonnegative", "nonnegative_integer", "one_hot", "positive", "positive_definite",
    "positive_integer", "positive_semidefinite", "real", "real_vector", "simplex", "square",
    "stack", "symmetric", "unit_interval"]


class Constraint:
    """A region. `event_dim` dimensions of a tensor make one value."""
    is_discrete = False
    event_dim = 0

    def check(self, value):
        """True for each value that lies within."""
        raise NotImplementedError

    def __repr__(self):
        return type(self).__name__[1:] + "()"


class _Test(Constraint):
    def __init__(self, name, test, event_dim=0, is_discrete=False, **bounds):
        self._name, self._test, self.event_dim = name, test, event_dim
        self.is_discrete = is_discrete
        self.__dict__.update(bounds)

    def check(self, value):
        return self._test(value)

    def __repr__(self):
        return self._name


class _Dependent(Constraint):
    """A region that depends on other parameters; nothing is checked."""

    def __init__(self, *, is_discrete=False, event_dim=0):
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def __call__(self, *, is_discrete=False, event_dim=0):
        return _Dependent(is_discrete=is_discrete, event_dim=event_dim)


class dependent_property(property, _Dependent):
    """A property whose value is the constraint of an instance."""

    def __init__(self, fn=None, *, is_discrete=False, event_dim=0):
        super().__init__(fn)
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def __call__(self, fn):
        return dependent_property(fn, is_discrete=self.is_discrete, event_dim=self.event_dim)


def is_dependent(constraint):
    """Does it depend on other parameters?"""
    return isinstance(constraint, _Dependent)


class independent(Constraint):
    """A region of values that are made of `reinterpreted_batch_ndims` more dimensions."""

    def __init__(self, base_constraint, reinterpreted_batch_ndims):
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        self.is_discrete = base_constraint.is_discrete
        self.event_dim = base_constraint.event_dim + reinterpreted_batch_ndims

    def check(self, value):
        n = self.reinterpreted_batch_ndims
        r = self.base_constraint.check(value)
        if r.ndim < n:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.ndim}")
        return r.reshape(*r.shape[:r.ndim - n], -1).all(-1) if n else r

    def __repr__(self):
        return f"independent({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class cat(Constraint):
    """Regions beside each other along a dimension, `lengths` long."""

    def __init__(self, cseq, dim=0, lengths=None):
        self.cseq, self.dim, self.lengths = list(cseq), dim, list(lengths or [1] * len(cseq))
        self.is_discrete, self.event_dim = (any(c.is_discrete for c in self.cseq),
                                            max(c.event_dim for c in self.cseq))

    def check(self, value):
        parts, at = [], 0
        for c, n in zip(self.cseq, self.lengths):
            parts.append(c.check(value.narrow(self.dim, at, n)))
            at += n
        return whet.cat(parts, self.dim)


class stack(Constraint):
    """Regions of the slices along a dimension."""

    def __init__(self, cseq, dim=0):
        self.cseq, self.dim = list(cseq), dim
        self.is_discrete = any(c.is_discrete for c in self.cseq)
        self.event_dim = max(c.event_dim for c in self.cseq) + (dim < 0)

    def check(self, value):
        return whet.stack([c.check(v) for c, v in zip(self.cseq, value.unbind(self.dim))], self.dim)


def greater_than(lower_bound):
    """Numbers above a bound."""
    return _Test(f"GreaterThan(lower_bound={lower_bound})", lambda x: x > lower_bound,
                 lower_bound=lower_bound)


def greater_than_eq(lower_bound):
    """Numbers from a bound on."""
    return _Test(f"GreaterThanEq(lower_bound={lower_bound})", lambda x: x >= lower_bound,
                 lower_bound=lower_bound)


def less_than(upper_bound):
    """Numbers below a bound."""
    return _Test(f"LessThan(upper_bound={upper_bound})", lambda x: x < upper_bound,
                 upper_bound=upper_bound)


def interval(lower_bound, upper_bound):
    """Numbers between two bounds, these included."""
    return _Test(f"Interval(lower_bound={lower_bound}, upper_bound={upper_bound})", lambda x:
                 (x >= lower_bound) & (x <= upper_bound),
                 lower_bound=lower_bound,
                 upper_bound=upper_bound)


def half_open_interval(lower_bound, upper_bound):
    """Numbers between two bounds, without the upper."""
    return _Test(f"HalfOpenInterval(lower_bound={lower_bound}, upper_bound={upper_bound})",
                 lambda x: (x >= lower_bound) & (x < upper_bound),
                 lower_bound=lower_bound,
                 upper_bound=upper_bound)


def integer_interval(lower_bound, upper_bound):
    """Whole numbers between two bounds, these included."""
    return _Test(f"IntegerInterval(lower_bound={lower_bound}, upper_bound={upper_bound})", lambda x:
                 (x % 1 == 0) & (x >= lower_bound) & (x <= upper_bound),
                 is_discrete=True,
                 lower_bound=lower_bound,
                 upper_bound=upper_bound)


def multinomial(upper_bound):
    """Vectors of counts that sum up to at most a bound."""
    return _Test(f"Multinomial(upper_bound={upper_bound})", lambda x:
                 (x >= 0).all(-1) & (x.sum(-1) <= upper_bound),
                 1,
                 True,
                 upper_bound=upper_bound)


def _symmetric(x):
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        return x.new_zeros(x.shape[:-2], dtype=whet.bool)
    return (x - x.mT).abs().flatten(-2).amax(-1) <= 1e-6 * (1 + x.abs().flatten(-2).amax(-1))


def _definite(x, bound):
    return _symmetric(x) & (bound(whet.linalg.eigvalsh(x))).all(-1)


def _lower_cholesky(x):
    return (x.tril() == x).flatten(-2).all(-1) & (x.diagonal(0, -2, -1) > 0).all(-1)


dependent = _Dependent()
boolean = _Test("Boolean()", lambda x: (x == 0) | (x == 1), is_discrete=True)
one_hot = _Test("OneHot()", lambda x: ((x == 0) | (x == 1)).all(-1) & (x.sum(-1) == 1), 1, True)
nonnegative_integer = _Test("IntegerGreaterThan(lower_bound=0)", lambda x: (x % 1 == 0) & (x >= 0),
                            is_discrete=True,
                            lower_bound=0)
positive_integer = _Test("IntegerGreaterThan(lower_bound=1)", lambda x: (x % 1 == 0) & (x >= 1),
                         is_discrete=True,
                         lower_bound=1)
real = _Test("Real()", lambda x: x == x)
real_vector = independent(real, 1)
positive = greater_than(0.0)
nonnegative = greater_than_eq(0.0)
unit_interval = interval(0.0, 1.0)
circular = interval(-3.141592653589793, 3.141592653589793)
simplex = _Test("Simplex()", lambda x: (x >= 0).all(-1) & ((x.sum(-1) - 1).abs() < 1e-6), 1)
lower_triangular = _Test("LowerTriangular()", lambda x: (x.tril() == x).flatten(-2).all(-1), 2)
lower_cholesky = _Test("LowerCholesky()", _lower_cholesky, 2)
corr_cholesky = _Test("CorrCholesky()",
                      lambda x: _lower_cholesky(x) & ((x.norm(dim=-1) - 1).abs() < 1e-4).all(-1),
                      2)
square = _Test("Square()", lambda x: whet.full(
    x.shape[:-2], x.shape[-1] == x.shape[-2], device=x.device), 2)
symmetric = _Test("Symmetric()", _symmetric, 2)
positive_semidefinite = _Test("PositiveSemidefinite()", lambda x: _definite(x, lambda e: e >= 0), 2)
positive_definite = _Test("PositiveDefinite()", lambda x: _definite(x, lambda e: e > 0), 2)
