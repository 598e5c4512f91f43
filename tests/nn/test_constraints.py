"""Constraints are classes, as in PyTorch: they are told apart by type, made again from their
attributes, and each has its transforms."""
import copy
import pickle

import pytest
import whet
from whet import distributions as D
from whet.distributions import constraints as C

INF = whet.inf
NAN = whet.nan


@pytest.mark.parametrize("region, text", [
    (C.real, "Real()"), (C.positive, "GreaterThan(lower_bound=0.0)"),
    (C.nonnegative, "GreaterThanEq(lower_bound=0.0)"), (C.less_than(2), "LessThan(upper_bound=2)"),
    (C.unit_interval, "Interval(lower_bound=0.0, upper_bound=1.0)"),
    (C.half_open_interval(0, 1), "HalfOpenInterval(lower_bound=0, upper_bound=1)"),
    (C.integer_interval(0, 3), "IntegerInterval(lower_bound=0, upper_bound=3)"),
    (C.nonnegative_integer, "IntegerGreaterThan(lower_bound=0)"),
    (C._IntegerLessThan(3), "IntegerLessThan(upper_bound=3)"), (C.boolean, "Boolean()"),
    (C.one_hot, "OneHot()"), (C.simplex, "Simplex()"), (C.multinomial(3), "Multinomial()"),
    (C.lower_cholesky, "LowerCholesky()"), (C.corr_cholesky, "CorrCholesky()"),
    (C.positive_definite, "PositiveDefinite()"), (C.dependent, "Dependent()"),
    (C.real_vector, "IndependentConstraint(Real(), 1)"), (C.cat([C.real]), "Cat()"),
    (C.stack([C.real]), "Stack()"),
    (C.MixtureSameFamilyConstraint(C.real), "MixtureSameFamilyConstraint(Real())")], ids=str)
def test_a_constraint_says_what_it_is(region, text):
    assert repr(region) == text
    assert repr(pickle.loads(pickle.dumps(region))) == repr(copy.deepcopy(region)) == text


def test_constraints_are_told_apart_by_class():
    assert isinstance(C.positive, C.greater_than) and not isinstance(C.nonnegative, C.greater_than)
    assert type(C.positive)(lower_bound=1.0).lower_bound == 1
    assert isinstance(type(C.lower_cholesky)(), C._LowerCholesky)
    assert C.greater_than is C._GreaterThan and C.independent is C._IndependentConstraint
    assert not isinstance(C.lower_cholesky, C._LowerTriangular)
    inner = C.independent(C.positive, 2)
    assert inner.base_constraint is C.positive and inner.reinterpreted_batch_ndims == 2


@pytest.mark.parametrize("region, event_dim, is_discrete", [
    (C.real, 0, False), (C.boolean, 0, True), (C.one_hot, 1, True), (C.simplex, 1, False),
    (C.multinomial(2), 1, True), (C.positive_definite, 2, False), (C.real_vector, 1, False),
    (C.independent(C.boolean, 2), 2, True), (C.cat([C.simplex, C.boolean], -1), 1, True),
    (C.stack([C.real, C.positive]), 0, False), (C.stack([C.real, C.positive], -1), 1, False),
    (C.MixtureSameFamilyConstraint(C.simplex), 1, False)], ids=str)
def test_a_constraint_knows_its_dimensions(region, event_dim, is_discrete):
    assert (region.event_dim, region.is_discrete) == (event_dim, is_discrete)


MATRIX = [[2.0, 0.5], [0.5, 1.0]]
LOWER = [[1.0, 0.0], [0.6, 0.8]]


@pytest.mark.parametrize("region, value, within", [
    (C.real, [0.0, INF, NAN], [True, True, False]),
    (C.greater_than(1.0), [1.0, 2.0], [False, True]),
    (C.greater_than_eq(1.0), [0.5, 1.0], [False, True]),
    (C.less_than(1.0), [0.5, 1.0], [True, False]),
    (C.interval(0.0, 1.0), [0.0, 1.0, 1.5], [True, True, False]),
    (C.half_open_interval(0.0, 1.0), [0.0, 1.0], [True, False]),
    (C.integer_interval(0, 2), [0.0, 0.5, 2.0, 3.0], [True, False, True, False]),
    (C._IntegerLessThan(2), [2.0, 1.5, 3.0], [True, False, False]),
    (C.boolean, [0.0, 1.0, 2.0], [True, True, False]),
    (C.one_hot, [[0.0, 1.0], [1.0, 1.0]], [True, False]),
    (C.simplex, [[0.5, 0.5], [0.6, 0.6], [-0.5, 1.5]], [True, False, False]),
    (C.multinomial(3), [[1.0, 2.0], [2.0, 2.0]], [True, False]),
    (C.lower_triangular, [LOWER, MATRIX], [True, False]),
    (C.lower_cholesky, [LOWER, [[-1.0, 0.0], [0.0, 1.0]]], [True, False]),
    (C.corr_cholesky, [LOWER, [[1.0, 0.0], [0.6, 0.6]]], [True, False]),
    (C.square, MATRIX, True), (C.square, [[1.0, 2.0]], False),
    (C.symmetric, [MATRIX, LOWER], [True, False]), (C.symmetric, [[1.0, 2.0]], False),
    (C.positive_semidefinite, [MATRIX, [[1.0, 0.0], [0.0, 0.0]], [[-1.0, 0.0], [0.0, 1.0]]],
     [True, True, False]),
    (C.positive_definite, [MATRIX, LOWER, [[1.0, 2.0], [2.0, 1.0]], [[NAN] * 2] * 2],
     [True, False, False, False]),
    (C.positive_definite, [[1.0, 2.0]], False),
    (C.independent(C.positive, 1), [[1.0, 2.0], [1.0, -1.0]], [True, False]),
    (C.cat([C.positive, C.real], 0, [1, 2]), [-1.0, -1.0, -1.0], [False, True, True]),
    (C.stack([C.positive, C.real]), [-1.0, -1.0], [False, True]),
    (C.MixtureSameFamilyConstraint(C.simplex), [[0.5, 0.5], [0.5, 0.6]], [True, False])], ids=str)
def test_a_constraint_knows_its_values(region, value, within):
    assert region.check(whet.tensor(value)).tolist() == within


# ---- dependent -----------------------------------------------------------------------------------
def test_what_is_not_said_of_a_dependent_region_cannot_be_asked():
    with pytest.raises(NotImplementedError, match="is_discrete"):
        C.dependent.is_discrete  # noqa: B018
    said = C.dependent(is_discrete=True, event_dim=1)
    assert (said.is_discrete, said.event_dim) == (True, 1) and C.is_dependent(said)
    with pytest.raises(ValueError, match="dependent"):
        said.check(whet.ones(1))
    assert C.is_dependent(D.Uniform.support) and D.Uniform.support.event_dim == 0
    assert not C.is_dependent(D.Uniform(0.0, 1.0).support)


def test_a_dependent_property_is_a_property_of_instances():
    class Short(D.Distribution):
        arg_constraints: dict = {}

        @C.dependent_property(is_discrete=True, event_dim=2)
        def support(self):
            return C.real
    assert Short.support.is_discrete and Short.support.event_dim == 2
    assert Short().support is C.real


def test_parts_that_do_not_fit_are_named():
    with pytest.raises(AssertionError, match="lengths"):
        C.cat([C.real], lengths=[1, 2])
    with pytest.raises(AssertionError, match="must be a Constraint"):
        C.independent(3, 1)
    with pytest.raises(AssertionError, match="dim 1"):
        C.stack([C.real], 1).check(whet.ones(1))
    with pytest.raises(ValueError, match="value.dim"):
        C.real_vector.check(whet.tensor(1.0))


# ---- transforms ----------------------------------------------------------------------------------
@pytest.mark.parametrize("region", [
    C.greater_than_eq(1.0), C.half_open_interval(-1.0, 2.0), C.nonnegative, C.corr_cholesky,
    C.independent(C.simplex, 1), C.cat([C.positive, C.less_than(0.0)], -1, [1, 2]),
    C.stack([C.positive, C.real, C.unit_interval], -1), C.positive_semidefinite], ids=str)
def test_each_region_has_a_transform(region):
    x = whet.linspace(-1, 1, 9, dtype=whet.float64).reshape(3, 3)
    for t in (D.transform_to(region), D.biject_to(region)):
        y = t(x)
        assert bool(region.check(y).all()) and y.shape == t.forward_shape(x.shape)
        assert t.inverse_shape(y.shape) == x.shape and bool(whet.allclose(t(t.inv(y)), y))


def test_a_transform_is_registered_for_the_class_of_an_instance():
    class Odd(C.Constraint):
        pass
    registry = D.constraint_registry.ConstraintRegistry()
    registry.register(Odd(), lambda constraint: D.ExpTransform())
    assert isinstance(registry(Odd()), D.ExpTransform)
    with pytest.raises(NotImplementedError, match="Cannot transform _Real"):
        registry(C.real)
