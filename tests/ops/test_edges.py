"""Results at the edges, and what is refused there, as in PyTorch."""
import math

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet.ops import contraction_order


@pytest.mark.parametrize("dtype", [whet.float32, whet.uint8, whet.bool, whet.int64])
def test_an_index_without_elements_may_have_any_type(dtype):
    x = whet.ones(3, 2, requires_grad=True)
    assert whet.gather(x, 0, whet.empty(0, dtype=dtype)).shape == (0,)
    empty = whet.empty(0, 2, dtype=dtype)
    y = whet.gather(x, 0, empty)
    assert y.shape == (0, 2)
    written = x.scatter(0, empty, 5.0).scatter_add(0, empty, whet.ones(1, 2))
    (y.sum() + written.sum()).backward()
    assert written.equal(x) and x.grad.equal(whet.ones(3, 2))
    with pytest.raises(IndexError):
        whet.gather(x, 2, empty)
    traced = whet.jit.trace(lambda x, i: (whet.gather(x, 0, i), x.scatter(0, i, 2.0)))
    for _ in range(3):
        a, b = traced(x.detach(), empty)
        assert a.shape == (0, 2) and b.equal(x.detach())


def test_an_index_with_elements_may_not():
    for dtype in (whet.float32, whet.bool):
        with pytest.raises(RuntimeError):
            whet.gather(whet.ones(3), 0, whet.zeros(1, dtype=dtype))
        with pytest.raises(RuntimeError):
            whet.ones(3).scatter(0, whet.zeros(1, dtype=dtype), 1.0)
    with pytest.raises(RuntimeError):
        whet.take(whet.ones(3), whet.zeros(1, dtype=whet.int32))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_means_of_windows_are_not_for_all_types(n):
    x = whet.arange(4 ** n).reshape(1, *[4] * n)
    assert getattr(F, f"avg_pool{n}d")(x, 2).dtype is whet.int64
    for dtype in (whet.int32, whet.uint8, whet.bool):
        with pytest.raises(NotImplementedError):
            getattr(F, f"avg_pool{n}d")(x.to(dtype), 2)
    with pytest.raises(NotImplementedError):
        getattr(F, f"adaptive_avg_pool{n}d")(x, 2)
    with pytest.raises(NotImplementedError):
        getattr(F, f"max_pool{n}d")(x.bool(), 2)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (2, 3, 0), (0, 2, 2)])
def test_matrices_without_elements_have_condition_zero(shape):
    assert whet.linalg.cond(whet.zeros(shape)).equal(whet.zeros(shape[:-2]))


@pytest.mark.parametrize("shape,right", [((0, 0), (0, 2)), ((2, 0, 0), (2, 0, 3)),
                                         ((0, 3, 3), (0, 3, 2)), ((3, 3), (3, 0))])
def test_systems_without_elements(shape, right):
    a = whet.zeros(shape) + whet.eye(shape[-1])
    b = whet.ones(right)
    for x in (whet.linalg.lu_solve(*whet.linalg.lu_factor(a), b), whet.linalg.solve(a, b),
              whet.linalg.solve_triangular(a, b, upper=True)):
        assert x.equal(b)
    assert whet.linalg.pinv(a).shape == shape


def test_lu_solve_takes_matrices():
    with pytest.raises(RuntimeError):
        whet.linalg.lu_solve(*whet.linalg.lu_factor(whet.eye(2)), whet.ones(2))


def test_the_power_of_zero_has_a_gradient_of_zero():
    a = whet.randn(2, 3, 3, requires_grad=True)
    y = whet.linalg.matrix_power(a, 0)
    y.sum().backward()
    assert y.equal(whet.eye(3).expand(2, 3, 3)) and a.grad.equal(whet.zeros(2, 3, 3))


@pytest.mark.parametrize("triangle", ["L", "U"])
@pytest.mark.parametrize("dtype", [whet.float64, whet.complex128])
def test_the_gradient_of_eigenvectors_is_symmetric(triangle, dtype):
    whet.manual_seed(0)
    a = whet.randn(3, 3, dtype=dtype)
    a = (a + a.mH).requires_grad_()
    w, v = whet.linalg.eigh(a, UPLO=triangle)
    (w.sum() + v.abs().sum()).backward()
    assert a.grad.allclose(a.grad.mH)
    assert whet.autograd.gradcheck(
        lambda x: (lambda r: (r[0], r[1].abs()))(whet.linalg.eigh((x + x.mH) / 2, UPLO=triangle)),
        (a, ))


@pytest.mark.parametrize("call", [
    lambda: F.pdist(whet.ones(2, 3, 4)), lambda: F.channel_shuffle(whet.ones(2, 4), 2),
    lambda: F.dropout1d(whet.ones(2, 3, 4, 4))])
def test_functions_of_so_many_dimensions(call):
    with pytest.raises(RuntimeError):
        call()


def test_einsum_multiplies_where_nothing_is_summed():
    a, b = whet.tensor([-0.0, 2.0]), whet.tensor([1.0, -0.0])
    got = whet.einsum("i,j->ij", a, b)
    assert whet.signbit(got).tolist() == [[True, False], [False, True]]
    x, y = whet.randn(3, 4), whet.randn(5, 3, 2)
    got = whet.einsum("ac,dae->ecda", x, y)
    assert (got == x.t()[None, :, None] * y.permute(2, 0, 1)[:, None]).all()
    assert whet.einsum("ij->ij", x) is not x


@pytest.mark.parametrize("again", [False, True])
def test_numpy_names_of_arguments_are_known_from_the_first_call_on(again):
    x = whet.randn(3, 4)
    for _ in range(1 + 2 * again):
        assert whet.amax(x, axis=1, keepdims=True).shape == (3, 1)
        with pytest.raises(TypeError, match="keepdim"):
            whet.amax(x, axis=1, keepdims=3.5)
        with pytest.raises(TypeError):
            whet.amax(x, axis=1, other=3)
        assert whet.amax(a=x, axis=0).shape == whet.amax(input=x, dim=0).shape == (4,)


@pytest.mark.parametrize("equation, shapes", [
    ("ij,jk->ik", [(3, 4), (4, 5)]),
    ("ii->i", [(4, 4)]),
    ("ii", [(4, 4)]),
    ("i,j->ij", [(3,), (4,)]),
    ("...ij,...jk->...ik", [(2, 3, 4), (4, 5)]),
    ("ijk,ilk,jl->k", [(2, 3, 4), (2, 5, 4), (3, 5)]),
    ("ij,ij->ij", [(3, 1), (1, 4)]),
    ("iij,jk->ik", [(3, 3, 4), (4, 2)]),
    ("ij,jk", [(0, 4), (4, 5)]),
    ("bnd,dr,rst,sd,te->bne", [(2, 3, 5), (5, 2), (2, 3, 4), (3, 5), (4, 5)]),
    ("...i,ij,j,jk,k,kl->l...", [(2, 1), (3, 4), (4,), (1, 2), (2,), (2, 3)]),
    ("i->i", [(3,)])])
def test_einsum_does_the_same_each_time(equation, shapes):
    xs = [whet.randn(*s, dtype=whet.float64) for s in shapes]
    for _ in range(3):
        made = whet.einsum(equation, *xs)
        assert np.allclose(made.numpy(), np.einsum(equation, *[x.numpy() for x in xs]))
        assert made is not xs[0]
    rows = [whet.stack([x, x * 2]) for x in xs]
    both = whet.func.vmap(lambda *a: whet.einsum(equation, *a))(*rows)
    assert whet.allclose(both[1], made * 2 ** len(xs))


@pytest.mark.parametrize("equation, order", [
    ("ij,jk,kl->il", [(0, 1), (0, 1)]),                      # all orders are alike
    ("ij,jk,k->i", [(1, 2), (0, 1)]),
    ("ai,bi,ci,di,ei,f->f", [(0, 1), (0, 1), (0, 1), (0, 1), (0, 1)]),
    ("ab,cd,de,bc,e->a", [(2, 4), (1, 2), (1, 2), (0, 1)])])
def test_einsum_multiplies_first_what_leaves_fewest_indices(equation, order):
    left, out = equation.split("->")
    found = contraction_order.pairs(tuple(map(frozenset, left.split(","))), frozenset(out))
    assert list(found) == order


def test_einsum_of_many_makes_no_product_of_all_indices():
    xs = [whet.ones(64, 64)] * 6
    assert whet.einsum("ab,cd,ef,bc,de,fa->", *xs).item() == 64 ** 6


@pytest.mark.parametrize("shape, n", [
    ((3, 4, 0), 5), ((0, 4, 3), 5), ((3, 0, 4), 2), ((2, 3, 4), 0), ((0,), 3), ((3, 0), 2)])
def test_gradients_of_linear_without_elements(shape, n):
    x = whet.ones(*shape, requires_grad=True)
    w, b = whet.ones(n, shape[-1], requires_grad=True), whet.ones(n, requires_grad=True)
    whet.nn.functional.linear(x, w, b).sum().backward()
    assert [t.grad.shape for t in (x, w, b)] == [t.shape for t in (x, w, b)]
    assert b.grad.tolist() == [float(math.prod(shape[:-1]))] * n


@pytest.mark.parametrize("reduce", ["sum", "prod", "nansum"])
@pytest.mark.parametrize("dtype", [whet.int8, whet.uint8, whet.int32, whet.int64])
def test_sums_of_real_numbers_have_the_integer_type_that_was_asked_for(reduce, dtype):
    x = whet.tensor([[1.0, 2.5], [3.0, 1.0]])
    made = getattr(whet, reduce)(x, dim=0, dtype=dtype)
    assert made.dtype is dtype and made.tolist() == ([3, 2] if reduce == "prod" else [4, 3])


def test_powers_of_small_integers_are_int64():
    made = whet.vander(whet.tensor([2, 30], dtype=whet.int8), 3)
    assert made.dtype is whet.int64 and made.tolist() == [[4, 2, 1], [900, 30, 1]]


def test_tensors_without_dimensions_are_checked_like_others():
    x = whet.tensor(3.0)
    for wrong in (lambda: x.movedim(1, 0), lambda: x.split_with_sizes([1], 0),
                  lambda: x.split_with_sizes([])):
        with pytest.raises((IndexError, RuntimeError)) as e:
            wrong()
        assert "tuple" not in str(e.value)
    assert x.movedim(0, -1).equal(x) and whet.adjoint(x).equal(x)
    assert whet.adjoint(whet.tensor(1 + 2j)).item() == 1 - 2j
    assert whet.hash_tensor(x, dim=-1, keepdim=True).shape == ()
    with pytest.raises(RuntimeError):
        whet.adjoint(whet.ones(2))


def test_defaults_and_names_of_arguments_are_those_of_pytorch():
    x = whet.tensor([0.0, 1.0, 1.0])
    assert x.histogram().hist.shape == (100,)
    assert whet.ones(2, 3).swapaxes_(axis0=0, axis1=1).shape == (3, 2)
    assert whet.linalg.svdvals(whet.eye(2), driver=None).tolist() == [1, 1]
    out = whet.empty(0, dtype=whet.uint64)
    assert whet.hash_tensor(whet.tensor([1, 2]), out=out) is out and out.item() == 3


def test_degrees_of_polynomials_may_be_fractions_that_are_cut_off():
    x = whet.tensor([0.5, 2.0])
    made = whet.special.chebyshev_polynomial_t(x, 2.7)
    assert made.equal(whet.special.chebyshev_polynomial_t(x, 2))
    for n in (math.nan, math.inf, "2"):
        with pytest.raises(TypeError):
            whet.special.chebyshev_polynomial_t(x, n)


@pytest.mark.parametrize("rows", [
    [[1, 2, 3], [2, 4, 6], [1, 0, 1]], [[0, 0], [0, 0]], [[1, 0], [0, 0]], [[0]],
    [[[1, 2], [2, 4]], [[1, 0], [0, 2]]], [[1 + 1j, 2], [2 + 2j, 4]]])
def test_determinants_of_matrices_without_an_inverse_have_derivatives(rows):
    kind = whet.complex128 if isinstance(rows[0][0], complex) else whet.float64
    x = whet.tensor(rows, dtype=kind, requires_grad=True)
    assert whet.autograd.gradcheck(whet.det, (x,)) and whet.autograd.gradgradcheck(whet.det, (x,))
    given = [whet.eye(3) * k for k in (2, 3, 4)] + [whet.ones(3, 3), whet.eye(3)]
    traced, eager = whet.jit.trace(whet.func.grad(whet.det)), whet.func.grad(whet.det)
    assert all(traced(x).equal(eager(x)) for x in given)


def second(fn, at):
    x = whet.tensor(at, dtype=whet.float64, requires_grad=True)
    slope, = whet.autograd.grad(fn(x), x, create_graph=True)
    return whet.autograd.grad(slope, x)[0].item()


@pytest.mark.parametrize("fn", [
    F.silu, F.mish, F.gelu, lambda x: F.gelu(x, approximate="tanh"), F.softplus])
def test_second_derivatives_at_zero_are_those_beside_it(fn):
    x = whet.tensor([1e-5, -1e-5], dtype=whet.float64, requires_grad=True)
    right, left = whet.autograd.grad(fn(x).sum(), x)[0].tolist()
    assert math.isclose(second(fn, 0.0), (right - left) / 2e-5, rel_tol=1e-4)


@pytest.mark.parametrize("fn", [F.elu, F.celu, F.selu])
def test_second_derivatives_where_slopes_meet_are_pytorchs(fn):
    assert second(fn, 0.0) == 0 and second(fn, math.nan) == 0
    assert second(fn, -1.0) > 0.3


@pytest.mark.parametrize("f", [
    lambda x, n: x.clamp(0, n), lambda x, n: x.clamp(max=n), lambda x, n: whet.clip(x, n),
    lambda x, n: x.clone().clamp_(n, n), lambda x, n: x.clone().clamp_min_(n),
    lambda x, n: x.clone().clamp_max_(n)])
def test_bounds_that_the_type_does_not_hold_raise_and_do_not_wrap_around(f):
    x, traced = whet.tensor([0, 1, 2], dtype=whet.uint8), whet.jit.trace(f)
    for n in (255, 3, 1, 2, 255, 300, 1, 256, 2, -300):
        if abs(n) < 256:
            assert traced(x, n).equal(f(x, n))
            continue
        for called in f, traced:
            with pytest.raises(RuntimeError, match=f"type whet.uint8 without overflow: {n}"):
                called(x, n)
    assert x.clamp(0, 300.5).tolist() == x.int().clamp(-1, 300).tolist() == [0, 1, 2]


@pytest.mark.parametrize("f", [F.hardtanh, F.threshold])
def test_numbers_that_are_taken_in_the_type_of_integers_lie_within_it(f):
    """Others wrapped around: a limit of 300 was one of 44."""
    x, traced = whet.tensor([0, 1, 2], dtype=whet.int8), whet.jit.trace(f)
    for low, high in ((0, 1), (0.0, 1.0), (0, 1), (0.0, math.inf), (0, 300), (0.0, 1e15), (0, 1)):
        if high == 1:
            assert traced(x, low, high).equal(f(x, low, high))
            continue
        for called in f, traced:
            with pytest.raises(RuntimeError, match="whet.int8 without overflow"):
                called(x, low, high)


@pytest.mark.parametrize("f", [
    lambda x: F.pixel_shuffle(x, 1), lambda x: F.pixel_unshuffle(x, 1),
    lambda x: F.channel_shuffle(x, 1), lambda x: F.channel_shuffle(x, 4),
    lambda x: whet.linalg.matrix_power(x, 1)])
def test_what_moves_nothing_has_memory_of_its_own(f):
    for x in whet.ones(1, 4, 2, 2), whet.ones(1, 2, 2, 4).permute(0, 3, 1, 2):
        for called in f, whet.jit.trace(f):
            for _ in range(3):
                y = called(x)
                y.mul_(2)
                assert y.is_contiguous() and y.eq(2).all() and x.eq(1).all()


def test_hardtanh_of_unsigned_numbers_takes_no_negative_limits():
    x = whet.tensor([0, 1, 2], dtype=whet.uint8)
    assert F.hardtanh(x, 0, 1).tolist() == [0, 1, 1]
    with pytest.raises(RuntimeError, match="unsigned type with negative limits"):
        F.hardtanh(x)


def test_truths_are_added_as_numbers_to_numbers():
    yes = whet.ones(3, dtype=whet.bool)
    assert whet.addr(whet.ones(3, 3).long(), yes, yes).tolist() == [[2] * 3] * 3
    assert whet.addr(whet.ones(3, 3), yes, yes, beta=2, alpha=3).tolist() == [[5.0] * 3] * 3
    assert whet.addr(yes.expand(3, 3), yes, yes).dtype is whet.bool


def test_places_repeated_have_the_type_of_the_counts():
    for dtype in whet.int32, whet.int64:
        counts = whet.tensor([0, 1, 2], dtype=dtype)
        places = whet.repeat_interleave(counts)
        assert places.dtype is dtype and places.tolist() == [1, 2, 2]


def test_a_step_that_is_none_as_a_whole_number_raises():
    assert whet.arange(0, 3, 1.5, dtype=whet.int64).tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="as a whole number 0.5 is 0"):
        whet.arange(0, 1, 0.5, dtype=whet.int64)
    with pytest.raises(RuntimeError, match="step"):
        whet.arange(0, 1, -0.5, dtype=whet.int64)


def test_wrong_pivots_buffers_and_dimensions_of_hashes():
    with pytest.raises(RuntimeError, match="with shape \\[\\] for LU"):
        whet.lu_unpack(whet.ones(3, 5), whet.tensor(1, dtype=whet.int32))
    with pytest.raises(ValueError, match="buffer protocol"):
        whet.frombuffer(3, dtype=whet.int16)
    x = whet.arange(4).reshape(2, 2)
    assert whet.hash_tensor(x, dim=None).equal(whet.hash_tensor(x))


@pytest.mark.parametrize("call, shape", [
    (lambda: F.pdist(whet.ones(3, 0), math.inf), (3,)),
    (lambda: whet.cdist(whet.ones(3, 0), whet.ones(2, 0), math.inf), (3, 2)),
    (lambda: F.instance_norm(whet.ones(0, 2, 3)), (0, 2, 3)),
    (lambda: F.linear_cross_entropy(whet.ones(2, 0), whet.ones(4, 0), whet.tensor([0, 1])), ()),
    (lambda: whet.linalg.tensorsolve(whet.ones(2, 3, 0), whet.ones(2, 0)), (0,))])
def test_functions_of_no_elements(call, shape):
    assert call().shape == shape


@pytest.mark.parametrize("order", [-2, -0.5, -math.inf, math.inf])
def test_norms_of_nothing_that_have_no_identity_raise(order):
    with pytest.raises(RuntimeError, match="no identity"):
        whet.linalg.vector_norm(whet.ones(0, 5), order, dim=0)
    assert whet.linalg.vector_norm(whet.ones(0, 5), order, dim=1).shape == (0,)


def test_a_copy_in_another_shape_needs_no_view():
    assert whet.view_copy(whet.arange(6).reshape(2, 3).T, (6,)).tolist() == [0, 3, 1, 4, 2, 5]
    assert whet.view_copy(whet.ones(2), whet.int32).tolist() == [1065353216] * 2


def test_differences_go_into_any_type_that_holds_them():
    made = whet.diff(whet.tensor([1.0, 4, 9]), out=whet.empty(2, dtype=whet.float64))
    assert made.tolist() == [3, 5]


@pytest.mark.parametrize("name", ["sum", "nansum", "prod", "cumsum", "cumprod"])
@pytest.mark.parametrize("dtype", [whet.int32, whet.float64, whet.complex64, whet.bool])
def test_the_type_of_out_is_what_sums_and_products_compute_in(name, dtype):
    x = whet.tensor([[1.25, 1e8], [2.25, 3.0], [1.0, 0.0]])
    f = getattr(whet, name)
    out = whet.empty(3 if name.startswith("cum") else 0, 2, dtype=dtype)
    assert f(x, 0, out=out) is out
    assert out.tolist() == f(x, 0, dtype=dtype).tolist() and out.dtype is dtype
    with pytest.raises(RuntimeError, match="does not match dtype of out"):
        f(x, 0, dtype=whet.float16, out=out)


def test_a_sum_without_nans_is_one_of_whole_numbers_too():
    x = whet.tensor([whet.nan, 1.0, 2.5])
    assert whet.nansum(x, dtype=whet.int64).item() == 3
    assert whet.nansum(x, dtype=whet.bool).item() is True


@pytest.mark.parametrize("name", ["_foreach_addcmul", "_foreach_addcdiv"])
@pytest.mark.parametrize("scalars", [[1.0, 2.0], whet.tensor([1.0, 2.0])])
def test_scalars_of_products_of_lists_may_be_named(name, scalars):
    x = [whet.full((2,), 3.0), whet.tensor(2.0)]
    named = getattr(whet, name)(x, x, x, scalars=scalars)
    assert [t.tolist() for t in named] == [
        t.tolist() for t in getattr(whet, name)(x, x, x, [1.0, 2.0])]


def test_a_histogram_of_an_empty_range_is_one_of_the_elements_own():
    assert whet.histc(whet.arange(12.0), 3, min=5, max=5).tolist() == [4, 4, 4]
    assert whet.histc(whet.ones(4), 4, 2, 2).tolist() == [0, 0, 4, 0]


def test_an_outer_product_of_whole_numbers_is_scaled_by_what_the_result_holds():
    ones = whet.ones(2, dtype=whet.int64)
    assert whet.addr(whet.ones(2, 2), ones, ones, alpha=1.5).tolist() == [[2.5, 2.5]] * 2
    for factors in ({"alpha": 1.5}, {"beta": 0.5}):
        for dtype in (whet.int64, whet.bool):
            with pytest.raises(RuntimeError, match="must not be a floating point number"):
                whet.addr(whet.ones(2, 2).to(dtype), ones.to(dtype), ones.to(dtype), **factors)
