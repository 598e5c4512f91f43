"""Where code that was written for PyTorch looks for distributions: a module for each.

`from whet.distributions.normal import Normal`, `whet.distributions.normal.Normal`. What is in such
a module is said here; our own files hold several distributions each.
"""
import importlib
import sys
import types

# our file -> (module of PyTorch, what it has)
PLACES = {
    "composed": (("independent", "Independent"), ("mixture_same_family", "MixtureSameFamily")),
    "dirichlet": (("beta", "Beta"),),
    "discrete": (
        ("bernoulli", "Bernoulli"), ("binomial", "Binomial"), ("categorical", "Categorical"),
        ("geometric", "Geometric"), ("multinomial", "Multinomial"),
        ("negative_binomial", "NegativeBinomial"), ("poisson", "Poisson"),
        ("one_hot_categorical", "OneHotCategorical", "OneHotCategoricalStraightThrough"),
        ("relaxed_bernoulli", "LogitRelaxedBernoulli"),
        ("relaxed_categorical", "ExpRelaxedCategorical")),
    "multivariate": (
        ("lkj_cholesky", "LKJCholesky"), ("wishart", "Wishart"),
        ("multivariate_normal", "MultivariateNormal", "_batch_mahalanobis", "_batch_mv",
         "_precision_to_scale_tril"),
        ("lowrank_multivariate_normal", "LowRankMultivariateNormal", "_batch_capacitance_tril",
         "_batch_lowrank_logdet", "_batch_lowrank_mahalanobis", "_batch_mahalanobis",
         "_batch_mv")),
    "sampling": (("gamma", "_standard_gamma"),),
    "transformed": (
        ("gumbel", "Gumbel"), ("half_cauchy", "HalfCauchy"), ("half_normal", "HalfNormal"),
        ("inverse_gamma", "InverseGamma"), ("kumaraswamy", "Kumaraswamy"),
        ("log_normal", "LogNormal"), ("logistic_normal", "LogisticNormal"), ("pareto", "Pareto"),
        ("relaxed_bernoulli", "RelaxedBernoulli"),
        ("relaxed_categorical", "RelaxedOneHotCategorical"),
        ("transformed_distribution", "TransformedDistribution"), ("weibull", "Weibull")),
    "univariate": (
        ("cauchy", "Cauchy"), ("chi2", "Chi2"), ("continuous_bernoulli", "ContinuousBernoulli"),
        ("exponential", "Exponential"), ("fishersnedecor", "FisherSnedecor"), ("gamma", "Gamma"),
        ("generalized_pareto", "GeneralizedPareto"), ("laplace", "Laplace"), ("normal", "Normal"),
        ("studentT", "StudentT"), ("uniform", "Uniform"), ("von_mises", "VonMises"))}


def lay_out(package):
    """Make these modules, as attributes of the package and for `import`."""
    for file, places in PLACES.items():
        source = importlib.import_module(f"{package}.{file}")
        for place, *names in places:
            name = f"{package}.{place}"
            if name not in sys.modules:
                sys.modules[name] = types.ModuleType(name, source.__doc__)
                setattr(sys.modules[package], place, sys.modules[name])
            vars(sys.modules[name]).update({n: getattr(source, n) for n in names})
