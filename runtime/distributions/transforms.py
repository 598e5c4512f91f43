"""Transforms, the distributions that they make of others, and the transform that belongs to a
constraint."""
from ..autograd import modes
from . import constraints as c
from .standard_transforms import (  # noqa: F401
    AbsTransform,
    AffineTransform,
    CatTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    _clipped_sigmoid,
)
from .transform import (  # noqa: F401
    ComposeTransform,
    IndependentTransform,
    ReshapeTransform,
    Transform,
    _InverseTransform,
    identity_transform,
)
from .transformed import (  # noqa: F401
    HalfCauchy,
    HalfNormal,
    InverseGamma,
    Kumaraswamy,
    LogisticNormal,
    LogNormal,
    Pareto,
    RelaxedBernoulli,
    RelaxedOneHotCategorical,
    TransformedDistribution,
    Weibull,
)

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "ConstraintRegistry",
    "CorrCholeskyTransform", "CumulativeDistributionTransform", "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform", "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform",
    "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform", "StackTransform",
    "StickBreakingTransform", "TanhTransform", "Transform", "identity_transform"]


class ConstraintRegistry:
    """The transform that belongs to a constraint: that of a function registered for it, or else
    that of `otherwise`."""

    def __init__(self, otherwise):
        self._otherwise, self._registry = otherwise, {}
        self.__doc__ = otherwise.__doc__

    def register(self, constraint, factory=None):
        """Let `factory(constraint)` make the transform for a class of constraints, or for one
        constraint; without `factory` a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if not (isinstance(constraint, c.Constraint) or isinstance(constraint, type)
                and issubclass(constraint, c.Constraint)):
            raise TypeError("Expected constraint to be either a Constraint subclass or instance, "
                            f"but got {constraint}")
        modes.beyond("it registers a transform")
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint):
        return modes.read(lambda: self._factory(constraint))(constraint)

    def _factory(self, constraint):
        registry = self._registry
        return registry.get(constraint) or registry.get(type(constraint)) or self._otherwise


@ConstraintRegistry
def transform_to(constraint):
    """A transform from all real numbers (or vectors) to a region."""
    if isinstance(constraint, c.independent):
        return IndependentTransform(transform_to(constraint.base_constraint),
                                    constraint.reinterpreted_batch_ndims)
    known = {
        id(c.real): identity_transform,
        id(c.simplex): SoftmaxTransform(),
        id(c.lower_cholesky): LowerCholeskyTransform(),
        id(c.corr_cholesky): CorrCholeskyTransform(),
        id(c.positive_definite): PositiveDefiniteTransform(),
        id(c.positive_semidefinite): PositiveDefiniteTransform(),
        id(c.unit_interval): SigmoidTransform()}
    found = known.get(id(constraint))
    if found is not None:
        return found
    low, high = getattr(constraint, "lower_bound", None), getattr(constraint, "upper_bound", None)
    if constraint.is_discrete or low is None and high is None:
        raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
    if low is not None and high is not None:
        return ComposeTransform([SigmoidTransform(), AffineTransform(low, high - low)])
    if high is not None:
        return ComposeTransform([ExpTransform(), AffineTransform(high, -1)])
    plain = isinstance(low, int | float) and low == 0
    return ExpTransform() if plain else ComposeTransform([ExpTransform(), AffineTransform(low, 1)])


@ConstraintRegistry
def biject_to(constraint):
    """The same, the transform being one to one."""
    if constraint is c.simplex:
        return StickBreakingTransform()
    if constraint in (c.positive_definite, c.positive_semidefinite):
        return PositiveDefiniteTransform()
    return transform_to(constraint)
