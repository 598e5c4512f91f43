"""Probability distributions (`whet.distributions`): samples, densities, divergences, and what is
made of them by transforms."""
import sys as _sys

from . import base as _base
from . import constraints, transforms
from .base import Distribution, ExponentialFamily
from .discrete import (
    Bernoulli,
    Binomial,
    Categorical,
    Geometric,
    Multinomial,
    NegativeBinomial,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
    Poisson,
)
from .kl import kl_divergence, register_kl
from .multivariate import (
    Dirichlet,
    Independent,
    LKJCholesky,
    LowRankMultivariateNormal,
    MixtureSameFamily,
    MultivariateNormal,
    Wishart,
)
from .standard_transforms import (
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
from .transform import (
    ComposeTransform,
    IndependentTransform,
    ReshapeTransform,
    Transform,
    identity_transform,
)
from .transformed import (
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
from .transforms import ConstraintRegistry, biject_to, transform_to
from .univariate import (
    Beta,
    Cauchy,
    Chi2,
    ContinuousBernoulli,
    Exponential,
    FisherSnedecor,
    Gamma,
    GeneralizedPareto,
    Gumbel,
    Laplace,
    Normal,
    StudentT,
    Uniform,
    VonMises,
)

# where PyTorch keeps its distributions: `from whet.distributions.normal import Normal`
for _name in (
        "bernoulli beta binomial categorical cauchy chi2 continuous_bernoulli dirichlet "
        "distribution exp_family exponential fishersnedecor gamma geometric gumbel half_cauchy "
        "half_normal independent inverse_gamma kumaraswamy laplace lkj_cholesky log_normal "
        "logistic_normal lowrank_multivariate_normal mixture_same_family multinomial "
        "multivariate_normal negative_binomial normal one_hot_categorical pareto poisson "
        "relaxed_bernoulli relaxed_categorical studentT transformed_distribution uniform "
        "von_mises weibull wishart").split():
    _sys.modules.setdefault(f"{__name__}.{_name}", _sys.modules[__name__])
_sys.modules[f"{__name__}.utils"] = _base
