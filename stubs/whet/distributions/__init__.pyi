# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any, Callable, ParamSpec, TypeVar
from whet.distributions.constraint_registry import ConstraintRegistry
from whet.tensor import Tensor
from whet.distributions.standard_transforms import AbsTransform as AbsTransform
from whet.distributions.standard_transforms import AffineTransform as AffineTransform
from whet.distributions.discrete import Bernoulli as Bernoulli
from whet.distributions.dirichlet import Beta as Beta
from whet.distributions.discrete import Binomial as Binomial
from whet.distributions.standard_transforms import CatTransform as CatTransform
from whet.distributions.discrete import Categorical as Categorical
from whet.distributions.univariate import Cauchy as Cauchy
from whet.distributions.univariate import Chi2 as Chi2
from whet.distributions.transform import ComposeTransform as ComposeTransform
from whet.distributions.univariate import ContinuousBernoulli as ContinuousBernoulli
from whet.distributions.standard_transforms import CorrCholeskyTransform as CorrCholeskyTransform
from whet.distributions.standard_transforms import CumulativeDistributionTransform as CumulativeDistributionTransform
from whet.distributions.dirichlet import Dirichlet as Dirichlet
from whet.distributions.distribution import Distribution as Distribution
from whet.distributions.standard_transforms import ExpTransform as ExpTransform
from whet.distributions.univariate import Exponential as Exponential
from whet.distributions.exp_family import ExponentialFamily as ExponentialFamily
from whet.distributions.univariate import FisherSnedecor as FisherSnedecor
from whet.distributions.univariate import Gamma as Gamma
from whet.distributions.univariate import GeneralizedPareto as GeneralizedPareto
from whet.distributions.discrete import Geometric as Geometric
from whet.distributions.transformed import Gumbel as Gumbel
from whet.distributions.transformed import HalfCauchy as HalfCauchy
from whet.distributions.transformed import HalfNormal as HalfNormal
from whet.distributions.composed import Independent as Independent
from whet.distributions.transform import IndependentTransform as IndependentTransform
from whet.distributions.transformed import InverseGamma as InverseGamma
from whet.distributions.transformed import Kumaraswamy as Kumaraswamy
from whet.distributions.multivariate import LKJCholesky as LKJCholesky
from whet.distributions.univariate import Laplace as Laplace
from whet.distributions.transformed import LogNormal as LogNormal
from whet.distributions.transformed import LogisticNormal as LogisticNormal
from whet.distributions.multivariate import LowRankMultivariateNormal as LowRankMultivariateNormal
from whet.distributions.standard_transforms import LowerCholeskyTransform as LowerCholeskyTransform
from whet.distributions.composed import MixtureSameFamily as MixtureSameFamily
from whet.distributions.discrete import Multinomial as Multinomial
from whet.distributions.multivariate import MultivariateNormal as MultivariateNormal
from whet.distributions.discrete import NegativeBinomial as NegativeBinomial
from whet.distributions.univariate import Normal as Normal
from whet.distributions.discrete import OneHotCategorical as OneHotCategorical
from whet.distributions.discrete import OneHotCategoricalStraightThrough as OneHotCategoricalStraightThrough
from whet.distributions.transformed import Pareto as Pareto
from whet.distributions.discrete import Poisson as Poisson
from whet.distributions.standard_transforms import PositiveDefiniteTransform as PositiveDefiniteTransform
from whet.distributions.standard_transforms import PowerTransform as PowerTransform
from whet.distributions.transformed import RelaxedBernoulli as RelaxedBernoulli
from whet.distributions.transformed import RelaxedOneHotCategorical as RelaxedOneHotCategorical
from whet.distributions.transform import ReshapeTransform as ReshapeTransform
from whet.distributions.standard_transforms import SigmoidTransform as SigmoidTransform
from whet.distributions.standard_transforms import SoftmaxTransform as SoftmaxTransform
from whet.distributions.standard_transforms import SoftplusTransform as SoftplusTransform
from whet.distributions.standard_transforms import StackTransform as StackTransform
from whet.distributions.standard_transforms import StickBreakingTransform as StickBreakingTransform
from whet.distributions.univariate import StudentT as StudentT
from whet.distributions.standard_transforms import TanhTransform as TanhTransform
from whet.distributions.transform import Transform as Transform
from whet.distributions.transformed import TransformedDistribution as TransformedDistribution
from whet.distributions.univariate import Uniform as Uniform
from whet.distributions.univariate import VonMises as VonMises
from whet.distributions.transformed import Weibull as Weibull
from whet.distributions.multivariate import Wishart as Wishart
from whet.distributions import constraints as constraints
from whet.distributions import constraint_registry as constraint_registry
from whet.distributions import utils as utils

F = TypeVar("F", bound=Callable[..., Any])

biject_to: ConstraintRegistry
identity_transform: Transform
transform_to: ConstraintRegistry
def kl_divergence(p: Distribution, q: Distribution) -> Tensor: """How far p is from q: the mean under p of log p(x) - log q(x)."""
def register_kl(type_p: type[Distribution], type_q: type[Distribution]) -> Callable[[F], F]: """A decorator for the function of (p, q) that computes the divergence of these types."""
