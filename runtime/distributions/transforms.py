"""Transforms, the distributions that they make of others, and the transform that belongs to a
constraint."""
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
)
from .transform import ComposeTransform, IndependentTransform, ReshapeTransform, Transform, identity_transform  # noqa: F401
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
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
    "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform",
    "LowerCholeskyTransform", "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform",
    "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform", "StackTransform",
    "StickBreakingTransform", "TanhTransform", "Transform", "identity_transform"]


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


def biject_to(constraint):
    """The same, the transform being one to one."""
    if constraint is c.simplex:
        return StickBreakingTransform()
    if constraint in (c.positive_definite, c.positive_semidefinite):
        return PositiveDefiniteTransform()
    return transform_to(constraint)
