"""The transform that belongs to a constraint."""
from ..autograd import modes
from . import constraints as c
from .standard_transforms import (
    AffineTransform,
    CatTransform,
    CorrCholeskyTransform,
    ExpTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    SigmoidTransform,
    SoftmaxTransform,
    StackTransform,
    StickBreakingTransform,
)
from .transform import ComposeTransform, IndependentTransform, identity_transform

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """The transform that belongs to a constraint: that of the function registered for its class.

    >>> import whet
    >>> d = whet.distributions
    >>> class Small(d.constraints.Constraint):
    ...     pass
    >>> @d.transform_to.register(Small)
    ... def small(constraint):
    ...     return d.AffineTransform(0.0, 1e-3)
    >>> d.transform_to(Small())(whet.tensor(2.0))
    tensor(0.0020)
    """

    def __init__(self):
        super().__init__()
        self._registry = {}

    def register(self, constraint, factory=None):
        """Let `factory(constraint)` make the transform for a class of constraints, that of an
        instance if one is given; without `factory` a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, c.Constraint):
            constraint = type(constraint)
        if not (isinstance(constraint, type) and issubclass(constraint, c.Constraint)):
            raise TypeError("Expected constraint to be either a Constraint subclass or instance, "
                            f"but got {constraint}")
        modes.beyond("it registers a transform")
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint):
        """The transform."""
        factory = modes.read(lambda: self._registry.get(type(constraint)))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry()         # one to one
transform_to = ConstraintRegistry()      # onto the region, of all numbers (or vectors, matrices)


# ---- numbers -------------------------------------------------------------------------------------
def _from(bound):
    """Onto the numbers above a bound."""
    if not isinstance(bound, int | float) or bound != 0:
        return ComposeTransform([ExpTransform(), AffineTransform(bound, 1)])
    return ExpTransform()


def _between(constraint):
    """Onto the numbers between two bounds."""
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, int | float) and isinstance(high, int | float) and (low, high) == (0, 1):
        return SigmoidTransform()
    return ComposeTransform([SigmoidTransform(), AffineTransform(low, high - low)])


SAME = {
    c._Real: lambda constraint: identity_transform,
    c._GreaterThan: lambda constraint: _from(constraint.lower_bound),
    c._GreaterThanEq: lambda constraint: _from(constraint.lower_bound),
    c._LessThan: lambda constraint: ComposeTransform(
        [ExpTransform(), AffineTransform(constraint.upper_bound, -1)]),
    c._Interval: _between,
    c._HalfOpenInterval: _between,
    c._CorrCholesky: lambda constraint: CorrCholeskyTransform(),
    c._LowerCholesky: lambda constraint: LowerCholeskyTransform(),
    c._PositiveDefinite: lambda constraint: PositiveDefiniteTransform(),
    c._PositiveSemidefinite: lambda constraint: PositiveDefiniteTransform()}

biject_to.register(c._Simplex, lambda constraint: StickBreakingTransform())
transform_to.register(c._Simplex, lambda constraint: SoftmaxTransform())


# ---- regions made of others ----------------------------------------------------------------------
def _made_of_others(registry):
    """The transforms of regions that are made of others: the same, made of theirs."""
    return {
        c._IndependentConstraint: lambda x: IndependentTransform(
            registry(x.base_constraint), x.reinterpreted_batch_ndims),
        c._Cat: lambda x: CatTransform([registry(part) for part in x.cseq], x.dim, x.lengths),
        c._Stack: lambda x: StackTransform([registry(part) for part in x.cseq], x.dim)}


for _registry in (biject_to, transform_to):
    for _constraint, _factory in {**SAME, **_made_of_others(_registry)}.items():
        _registry.register(_constraint, _factory)
