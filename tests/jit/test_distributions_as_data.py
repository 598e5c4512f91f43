"""Distributions that a traced function makes, keeps, gives back or is given: they are data."""
import pytest
import whet
from whet import distributions as D
from whet import jit, nn, optim

from tests.jit.ledgers import served

CALLS = 16


pytestmark = pytest.mark.usefixtures("replays_count_as_faster")


# of a tensor with rows of four numbers that are positive
MADE = {
    "normal": lambda x: D.Normal(x, x + 1),
    "independent": lambda x: D.Independent(D.Normal(x, 1.0), 1),
    "categorical": lambda x: D.Categorical(logits=x),
    "categorical, by probabilities": lambda x: D.Categorical(probs=x),
    "bernoulli": lambda x: D.Bernoulli(logits=x),
    "beta": lambda x: D.Beta(x, x + 1),
    "gamma": lambda x: D.Gamma(x, x),
    "dirichlet": lambda x: D.Dirichlet(x),
    "laplace": lambda x: D.Laplace(x, x),
    "exponential": lambda x: D.Exponential(x),
    "uniform": lambda x: D.Uniform(-x, x + 2),
    "student": lambda x: D.StudentT(x, x, 1.0),
    "multivariate": lambda x: D.MultivariateNormal(x, scale_tril=whet.eye(4) * 2),
    "log-normal": lambda x: D.LogNormal(x, x),
    "squashed": lambda x: D.TransformedDistribution(D.Normal(x, 1.0), [D.TanhTransform()]),
    "mixture": lambda x: D.MixtureSameFamily(D.Categorical(logits=x), D.Normal(x, 1.0)),
    "expanded": lambda x: D.Normal(x[:1], 1.0).expand((3, 4)),
}


def value(d):
    """Something that a distribution could give."""
    if isinstance(d, D.Categorical | D.Bernoulli):
        return whet.ones(d.batch_shape)
    return whet.full((*d.batch_shape, *d.event_shape), 0.25)


def looks(d):
    """What can be seen of a distribution."""
    names, density = list(vars(d)), d.log_prob(value(d))
    return (type(d), repr(d), tuple(d.batch_shape), tuple(d.event_shape), names,
            density.detach().numpy().tobytes())


def row(k):
    return whet.arange(1.0, 13.0).reshape(3, 4) / 12 + k / 8


@pytest.mark.parametrize("name", MADE)
def test_what_is_given_back_is_one_of_the_call(name):
    def f(x):
        return MADE[name](x * 2)
    traced, held = jit.trace(f), []
    for k in range(CALLS):
        held.append(traced(row(k)))
        assert looks(held[-1]) == looks(f(row(k)))
    assert len(set(map(id, held))) == CALLS
    for k, d in enumerate(held):             # later ones have not written over it
        assert looks(d)[-1] == looks(f(row(k)))[-1]
    assert served(traced) >= CALLS - 6


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.Linear(4, 8)
        self.back = nn.Linear(4, 4)

    def forward(self, x):
        mean, spread = self.parts(x).chunk(2, -1)
        self.q = D.Normal(mean, spread.exp())
        return self.back(self.q.rsample())

    def divergence(self):
        return D.kl_divergence(self.q, D.Normal(0.0, 1.0)).sum(-1).mean()


@pytest.mark.parametrize("inside", [True, False], ids=["inside", "outside"])
def test_one_that_is_kept_in_an_attribute(inside):
    """The divergence is asked for in the step that is traced, or after the traced forward."""
    found = []
    for trace in (lambda f: f, jit.trace):
        whet.manual_seed(0)
        model = Encoder()
        opt = optim.SGD(model.parameters(), lr=0.01)
        forward = model.forward if inside else trace(model.forward)

        def step(x, forward=forward, model=model, opt=opt):
            loss = (forward(x) - x).square().mean() + model.divergence()
            opt.zero_grad()
            loss.backward()
            opt.step()
            return loss.detach()
        step = trace(step) if inside else step
        losses = [step(row(k)).item() for k in range(CALLS)]
        found.append((losses, model.q.mean.tolist(), type(model.q), repr(model.q)))
        traced = step if inside else forward
    assert found[0] == found[1]
    assert served(traced) >= CALLS - 6


# a transform says itself when it is equal to another one: objects with one are not data
@pytest.mark.parametrize("name", [name for name in MADE if name not in ("log-normal", "squashed")])
def test_one_that_is_given_is_known_by_what_it_holds(name):
    def f(d, x):
        return d.log_prob(x)
    traced = jit.trace(f)
    for k in range(CALLS):
        d = MADE[name](row(k))
        x = value(d)
        assert traced(d, x).numpy().tobytes() == f(d, x).numpy().tobytes()
    assert served(traced) >= CALLS - 8


def test_the_defaults_of_a_class_are_compared():
    """Whether arguments are checked is a default that anybody may change."""
    def f(x):
        return D.Normal(0.0, x)
    traced = jit.trace(f)
    for _ in range(CALLS):
        traced(row(1))
    with pytest.raises(ValueError, match="satisfy the constraint"):
        traced(-row(1))
    D.Distribution.set_default_validate_args(False)
    try:
        assert traced(-row(1)).scale.tolist() == (-row(1)).tolist()
    finally:
        D.Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError, match="satisfy the constraint"):
        traced(-row(1))
