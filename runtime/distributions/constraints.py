"""Regions in which parameters and samples of distributions lie: `constraint.check(value)` says
where a value does.

Each kind of region is a class, `_GreaterThan`. What has parameters is made by the name without an
underscore, which is the class itself (`greater_than(1.0)`); what has none is an instance (`real`).
"""
import math

import whet

__all__ = [
    "Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "circular", "corr_cholesky",
    "dependent", "dependent_property", "greater_than", "greater_than_eq", "half_open_interval",
    "independent", "integer_interval", "interval", "is_dependent", "less_than", "lower_cholesky",
    "lower_triangular", "multinomial", "nonnegative", "nonnegative_integer", "one_hot", "positive",
    "positive_definite", "positive_integer", "positive_semidefinite", "real", "real_vector",
    "simplex", "square", "stack", "symmetric", "unit_interval"]


class Constraint:
    """A region. `event_dim` dimensions of a tensor make one value.

    >>> import whet
    >>> whet.distributions.constraints.positive.check(whet.tensor([1.0, -1.0]))
    tensor([ True, False])
    """
    is_discrete = False
    event_dim = 0

    def check(self, value):
        """True for each value that lies within."""
        raise NotImplementedError

    def _said(self):
        """What the representation has in parentheses."""
        return ""

    def __repr__(self):
        return f"{type(self).__name__.removeprefix('_')}({self._said()})"


# ---- regions that are not known yet --------------------------------------------------------------
class _Dependent(Constraint):
    """A region that depends on other parameters. What is not said of it cannot be asked."""

    def __init__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        self._is_discrete, self._event_dim = is_discrete, event_dim
        super().__init__()

    def _known(self, name):
        value = getattr(self, f"_{name}")
        if value is NotImplemented:
            raise NotImplementedError(f".{name} cannot be determined statically")
        return value

    is_discrete = property(lambda self: self._known("is_discrete"))
    event_dim = property(lambda self: self._known("event_dim"))

    def __call__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim)

    def check(self, value):
        raise ValueError("Cannot determine validity of dependent constraint")


class _DependentProperty(property, _Dependent):
    """A property whose value is the constraint of an instance.

    >>> import whet
    >>> whet.distributions.Uniform.support.event_dim
    0
    >>> whet.distributions.Uniform(0.0, 2.0).support
    Interval(lower_bound=0.0, upper_bound=2.0)
    """

    def __init__(self, fn=None, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        property.__init__(self, fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn):
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def is_dependent(constraint):
    """Does it depend on other parameters?

    >>> import whet
    >>> from whet.distributions import constraints
    >>> constraints.is_dependent(constraints.real)
    False
    """
    return isinstance(constraint, _Dependent)


# ---- regions made of others ----------------------------------------------------------------------
def _region(x):
    if not isinstance(x, Constraint):
        raise AssertionError(f"base_constraint must be a Constraint, got {type(x).__name__}")
    return x


def _all_of_last(result, dims):
    return result.reshape(*result.shape[:result.ndim - dims], -1).all(-1)


class _IndependentConstraint(Constraint):
    """A region of values that are made of `reinterpreted_batch_ndims` more dimensions.

    >>> import whet
    >>> c = whet.distributions.constraints
    >>> c.independent(c.positive, 1).check(whet.tensor([[1.0, -1.0], [1.0, 1.0]]))
    tensor([False,  True])
    """

    def __init__(self, base_constraint, reinterpreted_batch_ndims):
        if not isinstance(reinterpreted_batch_ndims, int) or reinterpreted_batch_ndims < 0:
            raise AssertionError("reinterpreted_batch_ndims must be an int that is >= 0, "
                                 f"got {reinterpreted_batch_ndims!r}")
        self.base_constraint = _region(base_constraint)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__()

    is_discrete = property(lambda self: self.base_constraint.is_discrete)
    event_dim = property(lambda self: (self.base_constraint.event_dim
                                       + self.reinterpreted_batch_ndims))

    def check(self, value):
        result = self.base_constraint.check(value)
        if result.ndim < self.reinterpreted_batch_ndims:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.ndim}")
        return _all_of_last(result, self.reinterpreted_batch_ndims)

    def _said(self):
        return f"{self.base_constraint!r}, {self.reinterpreted_batch_ndims}"


class MixtureSameFamilyConstraint(Constraint):
    """The region of a mixture: a value lies in the region of every component."""

    def __init__(self, base_constraint):
        self.base_constraint = _region(base_constraint)
        super().__init__()

    is_discrete = property(lambda self: self.base_constraint.is_discrete)
    event_dim = property(lambda self: self.base_constraint.event_dim)

    def check(self, value):
        dims = value.ndim - self.event_dim
        if dims < 0:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.ndim}")
        result = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        return _all_of_last(result, result.ndim - dims)

    def _said(self):
        return repr(self.base_constraint)


class _OfParts(Constraint):
    """Regions of the parts of a value along a dimension."""

    def __init__(self, cseq, dim=0):
        self.cseq, self.dim = [_region(c) for c in cseq], dim
        super().__init__()

    is_discrete = property(lambda self: any(c.is_discrete for c in self.cseq))
    event_dim = property(lambda self: max(c.event_dim for c in self.cseq))

    def _check_dim(self, value):
        if not -value.ndim <= self.dim < value.ndim:
            raise AssertionError(f"dim {self.dim} is none of a value of {value.ndim} dimensions")


class _Cat(_OfParts):
    """Regions beside each other along a dimension, `lengths` long.

    >>> import whet
    >>> from whet.distributions import constraints
    >>> c = constraints.cat([constraints.positive, constraints.real])
    >>> c.check(whet.tensor([-1.0, -1.0]))
    tensor([False,  True])
    """

    def __init__(self, cseq, dim=0, lengths=None):
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"{len(self.cseq)} constraints, {len(self.lengths)} lengths")

    def check(self, value):
        self._check_dim(value)
        parts = value.split(self.lengths, self.dim)
        return whet.cat([c.check(part) for c, part in zip(self.cseq, parts)], self.dim)


class _Stack(_OfParts):
    """Regions of the slices along a dimension.

    >>> import whet
    >>> from whet.distributions import constraints
    >>> c = constraints.stack([constraints.positive, constraints.real])
    >>> c.check(whet.tensor([[-1.0, 1.0], [-1.0, 1.0]]))
    tensor([[False,  True],
            [ True,  True]])
    """
    event_dim = property(lambda self: (max(c.event_dim for c in self.cseq)
                                       + (self.dim + max(c.event_dim for c in self.cseq) < 0)))

    def check(self, value):
        self._check_dim(value)
        slices = value.unbind(self.dim)
        return whet.stack([c.check(v) for c, v in zip(self.cseq, slices)], self.dim)


# ---- numbers -------------------------------------------------------------------------------------
class _Real(Constraint):
    """All numbers."""

    def check(self, value):
        return value == value                    # but nan


class _Boolean(Constraint):
    """0 and 1."""
    is_discrete = True

    def check(self, value):
        return (value == 0) | (value == 1)


class _Bounded(Constraint):
    """A region that is given by bounds, which are its attributes."""

    def _said(self):
        return ", ".join(f"{name}={value}" for name, value in vars(self).items())


class _FromBelow(_Bounded):
    def __init__(self, lower_bound):
        self.lower_bound = lower_bound
        super().__init__()


class _FromAbove(_Bounded):
    def __init__(self, upper_bound):
        self.upper_bound = upper_bound
        super().__init__()


class _FromBoth(_Bounded):
    def __init__(self, lower_bound, upper_bound):
        self.lower_bound, self.upper_bound = lower_bound, upper_bound
        super().__init__()


class _GreaterThan(_FromBelow):
    """Numbers above a bound.

    >>> import whet
    >>> c = whet.distributions.constraints.greater_than(2.0)
    >>> c.check(whet.tensor([1.0, 2.0, 3.0]))
    tensor([False, False,  True])
    """

    def check(self, value):
        return self.lower_bound < value


class _GreaterThanEq(_FromBelow):
    """Numbers from a bound on.

    >>> import whet
    >>> c = whet.distributions.constraints.greater_than_eq(2.0)
    >>> c.check(whet.tensor([1.0, 2.0, 3.0]))
    tensor([False,  True,  True])
    """

    def check(self, value):
        return self.lower_bound <= value


class _LessThan(_FromAbove):
    """Numbers below a bound.

    >>> import whet
    >>> c = whet.distributions.constraints.less_than(2.0)
    >>> c.check(whet.tensor([1.0, 2.0, 3.0]))
    tensor([ True, False, False])
    """

    def check(self, value):
        return value < self.upper_bound


class _Interval(_FromBoth):
    """Numbers between two bounds, these included.

    >>> import whet
    >>> whet.distributions.constraints.interval(0.0, 1.0).check(whet.tensor([1.0, 2.0]))
    tensor([ True, False])
    """

    def check(self, value):
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_FromBoth):
    """Numbers between two bounds, without the upper.

    >>> import whet
    >>> c = whet.distributions.constraints.half_open_interval(0.0, 1.0)
    >>> c.check(whet.tensor([0.0, 0.5, 1.0]))
    tensor([ True,  True, False])
    """

    def check(self, value):
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _IntegerInterval(_FromBoth):
    """Whole numbers between two bounds, these included.

    >>> import whet
    >>> c = whet.distributions.constraints.integer_interval(0, 2)
    >>> c.check(whet.tensor([0.0, 0.5, 3.0]))
    tensor([ True, False, False])
    """
    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerLessThan(_FromAbove):
    """Whole numbers up to a bound."""
    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & (value <= self.upper_bound)


class _IntegerGreaterThan(_FromBelow):
    """Whole numbers from a bound on."""
    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & (self.lower_bound <= value)


# ---- vectors -------------------------------------------------------------------------------------
class _OneHot(Constraint):
    """Vectors with a single 1, and else 0."""
    is_discrete, event_dim = True, 1

    def check(self, value):
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _Simplex(Constraint):
    """Vectors of fractions that sum up to 1."""
    event_dim = 1
    tolerance = 1e-6                             # of the sum: what rounding makes of many fractions

    def check(self, value):
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < self.tolerance)


class _Multinomial(Constraint):
    """Vectors of counts that sum up to at most a bound.

    >>> import whet
    >>> c = whet.distributions.constraints.multinomial(3)
    >>> c.check(whet.tensor([[1.0, 2.0], [1.0, 1.0]]))
    tensor([True, True])
    """
    is_discrete, event_dim = True, 1

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound
        super().__init__()

    def check(self, value):
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


# ---- matrices ------------------------------------------------------------------------------------
class _LowerTriangular(Constraint):
    """Matrices with 0 above the diagonal."""
    event_dim = 2

    def check(self, value):
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(Constraint):
    """Matrices with 0 above the diagonal and a positive diagonal."""
    event_dim = 2

    def check(self, value):
        return lower_triangular.check(value) & (value.diagonal(0, -2, -1) > 0).all(-1)


class _CorrCholesky(Constraint):
    """Matrices with 0 above the diagonal and a positive diagonal, whose rows have length 1."""
    event_dim = 2
    roundings = 10                               # that each of the entries of a row may be off by

    def check(self, value):
        tolerance = whet.finfo(value.dtype).eps * value.shape[-1] * self.roundings
        return lower_cholesky.check(value) & ((value.norm(dim=-1) - 1).abs() <= tolerance).all(-1)


class _Square(Constraint):
    """Square matrices."""
    event_dim = 2

    def check(self, value):
        square = value.ndim >= 2 and value.shape[-1] == value.shape[-2]
        return whet.full(value.shape[:-2], square, device=value.device)


class _Symmetric(_Square):
    """Symmetric matrices."""
    tolerance = 1e-6                             # of a difference between an entry and its mirror

    def check(self, value):
        if value.ndim < 2 or value.shape[-1] != value.shape[-2]:
            return super().check(value)
        return whet.isclose(value, value.mT, atol=self.tolerance).flatten(-2).all(-1)

    def _symmetric(self, value):
        """(which are symmetric?, those, and the identity for the others)"""
        right = _Symmetric.check(self, value)
        if value.ndim < 2 or value.shape[-1] != value.shape[-2]:
            return right, value.new_ones((*value.shape[:-2], 1, 1))
        eye = whet.eye(value.shape[-1], dtype=value.dtype, device=value.device)
        return right, whet.where(right[..., None, None], value, eye)


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(self, value):
        right, matrices = self._symmetric(value)
        return right & (whet.linalg.eigvalsh(matrices) >= 0).all(-1)


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices of positive eigenvalues: those that have a Cholesky factor."""

    def check(self, value):
        right, matrices = self._symmetric(value)
        return right & (whet.linalg.cholesky_ex(matrices).info == 0)


# ---- by name -------------------------------------------------------------------------------------
dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
cat, stack = _Cat, _Stack
greater_than, greater_than_eq, less_than = _GreaterThan, _GreaterThanEq, _LessThan
interval, half_open_interval = _Interval, _HalfOpenInterval
integer_interval, multinomial = _IntegerInterval, _Multinomial

boolean, one_hot, real = _Boolean(), _OneHot(), _Real()
real_vector = independent(real, 1)
nonnegative_integer, positive_integer = _IntegerGreaterThan(0), _IntegerGreaterThan(1)
positive, nonnegative = greater_than(0.0), greater_than_eq(0.0)
unit_interval, circular = interval(0.0, 1.0), interval(-math.pi, math.pi)
simplex = _Simplex()
lower_triangular, lower_cholesky = _LowerTriangular(), _LowerCholesky()
corr_cholesky = _CorrCholesky()
square, symmetric = _Square(), _Symmetric()
positive_semidefinite, positive_definite = _PositiveSemidefinite(), _PositiveDefinite()
