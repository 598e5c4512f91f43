"""What PyTorch's own operator suite found, case by case; `python -m tests.opinfo` runs it."""

import pytest
import whet
import whet.nn.functional as F
from whet.cpu.memory import growth


def test_the_ends_of_whole_powers_are_whole():
    assert whet.logspace(1, 1.2, 2, 5.0, dtype=whet.int64).tolist() == [5, 5]
    assert whet.logspace(whet.tensor(4.3), 0, 2, dtype=whet.int64).tolist() == [10000, 1]


@pytest.mark.parametrize("g", [[1.0, 1, 1, 1], [1.0, -2, 0, 3], [0.0, 0, 0, 0]])
def test_a_running_logsumexp_of_large_numbers_has_a_gradient(g):
    x = whet.tensor([1e4, -3, 2e4, 2e4], dtype=whet.float64, requires_grad=True)
    got, = whet.autograd.grad(whet.logcumsumexp(x, 0), x, whet.tensor(g, dtype=whet.float64))
    wanted = [g[0] + g[1], 0, g[2] + g[3] / 2, g[3] / 2]
    assert got.tolist() == pytest.approx(wanted, abs=1e-9)


def test_a_mean_of_whole_numbers_is_cut_towards_zero():
    x = whet.tensor([[[-5, 0], [0, 0]]])
    assert F.avg_pool2d(x, 2).tolist() == [[[-1]]]
    assert F.avg_pool2d(x, 2, divisor_override=-3).tolist() == [[[1]]]
    assert F.avg_pool2d(-x, 2, divisor_override=-3).tolist() == [[[-1]]]


def test_one_element_meets_all_that_it_is_contracted_with():
    a, b = whet.randn(1, 3, requires_grad=True), whet.randn(4, 5)
    y = whet.tensordot(a, b, ([0], [0]))
    whet.testing.assert_close(y, whet.tensordot(a.expand(4, 3), b, ([0], [0])))
    g, = whet.autograd.grad(y.sum(), a)
    whet.testing.assert_close(g, b.sum().expand(1, 3))
    with pytest.raises(RuntimeError, match="contracted dimensions"):
        whet.tensordot(whet.ones(2), whet.ones(3), 1)


def test_a_matrix_exponential_of_halves_has_their_precision():
    x = (whet.randn(6, 6) * 4).bfloat16()
    wanted = whet.linalg.matrix_exp(x.double())
    got = whet.linalg.matrix_exp(x)
    assert got.dtype is whet.bfloat16
    assert ((got.double() - wanted).abs() <= 0.004 * wanted.abs() + 1e-3).all()


def test_masked_variances_of_halves_are_halves():
    x = whet.ones(3, 4, dtype=whet.float16)
    assert whet.masked.var(x, 1, correction=1.3).dtype is whet.float16


@pytest.mark.parametrize("view, args", [
    ("t", ()), ("view", ((6,),)), ("permute", ((1, 0),)), ("transpose", (0, 1)), ("select", (0, 1)),
    ("expand", ((4, 2, 3),)), ("unsqueeze", (0,)), ("squeeze", ()), ("diagonal", ()),
    ("unfold", (1, 2, 1)), ("as_strided", ((2, 2), (1, 2))), ("unbind", (1,)), ("split", (2, 1)),
    ("split_with_sizes", ([1, 2], 1))])
def test_a_copy_of_a_view_has_its_elements_in_memory_of_its_own(view, args):
    x = whet.arange(6.0).reshape(2, 3).requires_grad_()
    copy = getattr(whet, f"{view}_copy")
    wanted, got = getattr(x, view)(*args), copy(x, *args)
    traced = whet.jit.trace(lambda x: copy(x, *args))(x)
    several = isinstance(wanted, tuple | list)
    for a, b, c in zip(wanted, got, traced) if several else [(wanted, got, traced)]:
        assert a.tolist() == b.tolist() == c.tolist()
        assert b.requires_grad and not b._is_view()
        assert b.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()


def test_put_leaves_its_operand_alone():
    x = whet.zeros(2, 2)
    y = whet.put(x, whet.tensor([0, 0]), whet.ones(2), accumulate=True)
    assert y.tolist() == [[2, 0], [0, 0]] and not x.any()


@pytest.mark.parametrize("call", [
    lambda **out: F.gelu(whet.arange(3.0), approximate="tanh", **out),
    lambda **out: F.softplus(whet.arange(3.0), 2, **out),
    lambda **out: F.softshrink(whet.arange(3.0), **out),
    lambda **out: F.avg_pool2d(whet.arange(16.0).view(1, 4, 4), 2, **out),
    lambda **out: F.avg_pool3d(whet.arange(64.0).view(1, 4, 4, 4), 2, **out)])
def test_results_go_into_out(call):
    wanted, out = call(), whet.empty(0)
    assert call(out=out) is out and out.tolist() == wanted.tolist()


def test_a_histogram_goes_into_out():
    out = whet.empty(0), whet.empty(0)
    got = whet.histogram(whet.tensor([1.0, 2, 2]), 2, out=out)
    assert got[0] is out[0] and out[0].tolist() == [1, 2] and out[1].tolist() == [1, 1.5, 2]


X = whet.arange(4.0).reshape(2, 2)
INDEX = whet.zeros(2, 2, dtype=whet.int64)


@pytest.mark.parametrize("error, match, call", [
    (RuntimeError, "output_size must have 2",
     lambda: F.adaptive_avg_pool2d(whet.ones(1, 2, 3), ())),
    (RuntimeError, "numbers >= 0", lambda: F.adaptive_avg_pool1d(X, -1)),
    (RuntimeError, "output_size must have 1", lambda: F.adaptive_max_pool1d(X, (1, 1))),
    (ValueError, "at least 3", lambda: F.adaptive_max_pool2d(X, (1, 1))),
    (RuntimeError, "Expected 2D or 3D", lambda: F.max_pool1d(whet.ones(0, 4), 1)),
    (RuntimeError, "ndim = 2", lambda: F.prelu(X, X)),
    (ValueError, "min_val cannot be greater", lambda: F.hardtanh(X, 1, 0)),
    (RuntimeError, "lambd must not be negative", lambda: F.softshrink(X, -0.5)),
    (RuntimeError, "must be a 2-tuple", lambda: whet.norm(X, "nuc", 0)),
    (RuntimeError, "at least 2 dimensions", lambda: whet.linalg.solve(X, whet.tensor(1.0))),
    (ValueError, "not a valid value for reduction",
     lambda: F.multi_margin_loss(X, whet.ones(2), reduction="all")),
    (ValueError, "not a valid value for reduction",
     lambda: F.multilabel_margin_loss(X, X, reduction="all")),
    (RuntimeError, "Expected non-empty", lambda: F.multilabel_margin_loss(
        whet.ones(0), whet.ones(0, dtype=whet.int64))),
    (RuntimeError, "dtype Float, but got Double",
     lambda: whet.gather(X, 1, INDEX, out=whet.empty(0, dtype=whet.float64))),
    (RuntimeError, "dtype Float, but got Double",
     lambda: whet.aminmax(X, dim=0, out=(whet.empty(0), whet.empty(0, dtype=whet.float64)))),
    (RuntimeError, "dtype ComplexFloat, but got ComplexDouble",
     lambda: whet.complex(X, X, out=whet.empty(0, dtype=whet.complex128))),
    (RuntimeError, "dtype Long", lambda: whet.multinomial(X, 1, out=whet.empty(0))),
    (RuntimeError, "0-dim integral", lambda: X.narrow(0, whet.tensor([1, 1]), 1)),
    (RuntimeError, "0-dim integral", lambda: X.narrow(0, whet.tensor(True), 1)),
    (RuntimeError, "without overflow", lambda: X.masked_fill(X > 0, whet.tensor(1j))),
    (RuntimeError, "sigma must be positive", lambda: whet.empty(2).cauchy_(0, 0)),
    (RuntimeError, "std must be positive", lambda: whet.empty(2).log_normal_(0, 0))])
def test_what_cannot_be_computed_is_refused(error, match, call):
    with pytest.raises(error, match=match):
        call()


def test_a_matrix_exponential_of_large_norm_has_the_precision_of_its_type():
    x = (whet.arange(25.0).reshape(5, 5) * 1.7).sin() * 9
    wanted = whet.linalg.matrix_exp(x.double())
    assert ((whet.linalg.matrix_exp(x).double() - wanted).abs() <= 1e-6 * wanted.abs().max()).all()


@pytest.mark.parametrize("ord", [-2, -0.5, 0.5, 1.5, 2, 3])
@pytest.mark.parametrize("dtype", [whet.float64, whet.complex128])
def test_norms_have_no_gradient_at_zero(ord, dtype):
    x = whet.zeros(5, dtype=dtype, requires_grad=True)
    whet.linalg.norm(x, ord).backward()
    assert x.grad.tolist() == [0] * 5


def test_a_norm_of_negative_order_with_a_zero_is_zero_and_flat():
    x = whet.tensor([[0.0, 2.0], [1.0, 2.0]], requires_grad=True)
    y = whet.linalg.vector_norm(x, -1, dim=1)
    y.sum().backward()
    assert y.tolist() == pytest.approx([0, 1 / 1.5])
    assert x.grad.flatten().tolist() == pytest.approx([0, 0, 4 / 9, 1 / 9])


def complex_numbers():
    at = whet.arange(5, dtype=whet.float64)
    return whet.complex((at * 2).sin() * 3, (at * 0.7).cos() * 2).requires_grad_()


def test_logarithms_of_sums_of_exponentials_are_there_for_complex_numbers():
    x = complex_numbers()
    whet.testing.assert_close(whet.logaddexp(x, x.flip(0)).exp(), x.exp() + x.flip(0).exp())
    whet.testing.assert_close(whet.logcumsumexp(x, 0).exp(), x.exp().cumsum(0))
    for f in (lambda x: whet.logcumsumexp(x, 0), lambda x: whet.logaddexp(x, x.flip(0))):
        assert whet.autograd.gradcheck(f, (x,))


def test_a_root_mean_square_of_complex_numbers_is_of_their_squares():
    x = complex_numbers()
    y = F.rms_norm(x, (5,), eps=0.5)
    whet.testing.assert_close(y, x / ((x * x).mean() + 0.5).sqrt())
    assert whet.autograd.gradcheck(lambda x: F.rms_norm(x, (5,), eps=0.5), (x,))


@pytest.mark.parametrize("dtype, bound", [(whet.float16, 0.004), (whet.bfloat16, 0.03)])
def test_attention_of_halves_keeps_its_scores_in_full(dtype, bound):
    q, k, v = (((whet.arange(96.0).reshape(4, 3, 8) * a).sin() * 8).to(dtype) for a in (1, 3, 5))
    got = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    wanted = F.scaled_dot_product_attention(q.double(), k.double(), v.double(), is_causal=True)
    assert got.dtype is dtype
    assert ((got.double() - wanted).abs() < bound).all()


def test_types_of_results_that_are_not_those_of_sums():
    true = whet.tensor([True, False])
    assert whet.addr(whet.ones(2, 2, dtype=whet.bool), true, true, beta=0, alpha=2).tolist() == [
        [True, False], [False, False]]
    assert true.sum_to_size(()).dtype is whet.int64 and true.sum_to_size((2,)).dtype is whet.bool
    assert whet.masked.prod(whet.tensor(True)).dtype is whet.int64
    assert whet.masked.argmax(whet.ones(3), 0).dtype is whet.float32
    assert whet.masked.std(complex_numbers().detach(), 0).dtype is whet.complex128
    with pytest.raises(TypeError, match="polar.*'abs'.*must be Tensor, not int"):
        whet.polar(2, whet.ones(1))


def test_the_cross_entropy_of_a_linear_layer_is_that_of_its_results():
    x, w, b = whet.randn(4, 5), whet.randn(3, 2, 5), whet.randn(3, 2)
    t = whet.tensor([[0, 2], [1, 1], [-100, 0], [2, 2]])
    logits = F.linear(x, w.reshape(6, 5), b.reshape(6)).reshape(4, 3, 2)
    whet.testing.assert_close(F.linear_cross_entropy(x, w, t, linear_bias=b),
                              F.cross_entropy(logits, t))
    got = F.linear_cross_entropy(x[0], w[:, 0], t[0, 0], ignore_index=0, reduction="sum")
    assert got.item() == 0
    for bad, said in (((x, w[0, 0], t), "linear_weight"), ((x, w[..., :3], t), "features"),
                      ((x[0], w, t[0]), "needs a batch")):
        with pytest.raises(RuntimeError, match=f"linear_cross_entropy: .*{said}"):
            F.linear_cross_entropy(*bad)
    with pytest.raises(RuntimeError, match="ignore_index cannot be specified"):
        F.linear_cross_entropy(x, w, whet.ones(4, 3, 2), ignore_index=1)
    with pytest.raises(RuntimeError, match="linear_bias shape"):
        F.linear_cross_entropy(x, w, t, linear_bias=b[0])


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("dtype", [whet.float64, whet.bfloat16])
def test_few_rows_at_a_time_have_the_cross_entropy_of_all(reduction, dtype):
    x, w = whet.randn(7, 5), whet.randn(3, 5)
    t, importance = whet.tensor([0, 2, 1, -100, 1, 2, 0]), whet.tensor([1.0, 2.0, 0.5])
    leaves = [a.to(dtype).requires_grad_() for a in (x, w)]
    got = []
    for options in (None, whet.nn.LinearCrossEntropyOptions(batch_chunk_size=2),
                    whet.nn.LinearCrossEntropyOptions(chunking_method="aspect_ratio:4")):
        loss = F.linear_cross_entropy(*leaves, t, weight=importance.to(dtype), options=options,
                                      reduction=reduction, label_smoothing=0.1)
        got.append((loss, *whet.autograd.grad(loss.sum(), leaves)))
    bounds = {"rtol": 1e-9, "atol": 1e-9} if dtype is whet.float64 else {"rtol": 0.05, "atol": 0.05}
    for other in got[1:]:
        whet.testing.assert_close(other, got[0], **bounds)


def test_few_rows_at_a_time_need_less_memory():
    x, w = whet.randn(64, 8, requires_grad=True), whet.randn(4096, 8, requires_grad=True)
    t = whet.arange(64)

    def peak(options):
        return growth(lambda: F.linear_cross_entropy(x, w, t, options=options).backward())
    peak(None)                           # where the gradients are
    assert peak(whet.nn.LinearCrossEntropyOptions(batch_chunk_size=4)) < peak(None) / 2


@pytest.mark.parametrize("wrong, said", [
    ({"acc_policy": "exact"}, "acc_policy"), ({"chunking_method": "halves"}, "chunking_method"),
    ({"batch_chunk_size": 0}, "positive int"), ({"acc_dtype": whet.int32}, "floating point type")])
def test_options_of_cross_entropies_are_checked(wrong, said):
    with pytest.raises(ValueError, match=said):
        whet.nn.LinearCrossEntropyOptions(**wrong)


def test_two_sizes_of_parts_that_differ_are_refused():
    both = whet.nn.LinearCrossEntropyOptions(batch_chunk_size=3, chunking_method="aspect_ratio")
    with pytest.raises(ValueError, match="different chunk sizes"):
        F.linear_cross_entropy(whet.ones(8, 2), whet.ones(4, 2), whet.zeros(8, dtype=whet.int64),
                               options=both)


@pytest.mark.parametrize("draw", [
    whet.bernoulli, whet.poisson, lambda p: whet.normal(p, 0.5), lambda p: whet.normal(0.5, p),
    lambda p: whet.nextafter(whet.ones(3), p),
    lambda p: F.grid_sample(whet.ones(1, 1, 2, 2), p.expand(1, 2, 2, 3)[..., :2], mode="nearest",
                            align_corners=False)])
def test_what_a_result_does_not_vary_with_has_a_gradient_of_zeros(draw):
    p = whet.rand(3, requires_grad=True)
    g, = whet.autograd.grad(draw(p).sum(), p)
    assert g.tolist() == [0, 0, 0]


def test_the_step_to_the_next_number_has_a_slope_of_one():
    a, b = (whet.tensor(v, requires_grad=True) for v in ([1.0, 2.0, 3.0], [2.0, 2.0, 1.0]))
    ga, gb = whet.autograd.grad(whet.nextafter(a, b).sum(), (a, b))
    assert (ga.tolist(), gb.tolist()) == ([1, 0, 1], [0, 0, 0])


def test_binomial_counts():
    whet.manual_seed(0)
    n, p = whet.full((20000,), 12.0, dtype=whet.float64), whet.tensor(0.3, dtype=whet.float64)
    drawn = whet.binomial(n, p)
    assert drawn.dtype is whet.float64 and drawn.shape == (20000,)
    assert abs(drawn.mean() - 3.6) < 0.05 and abs(drawn.var() - 2.52) < 0.1
    assert 0 <= drawn.min() and drawn.max() <= 12 and (drawn == drawn.floor()).all()
    edges = whet.binomial(whet.tensor([3.0, 3.0, -1.0, 3.0]), whet.tensor([0.0, 1.0, 0.5, 1.5]))
    assert edges[:3].tolist() == [0, 3, 0] and edges[3].isnan()
    with pytest.raises(RuntimeError, match="one floating point type"):
        whet.binomial(n, p.float())
    with pytest.raises(TypeError, match="'prob' .position 2. must be Tensor, not float"):
        whet.binomial(n, 0.5)


def test_a_linear_layer_writes_to_what_it_is_given():
    x, w, out = whet.randn(2, 3), whet.randn(4, 3), whet.zeros(2, 4)
    assert F.linear(x, w, out=out) is out
    assert out.tolist() == F.linear(x, w).tolist()


def test_older_names_of_padding_and_sampling():
    x = whet.arange(6.0).reshape(1, 1, 2, 3)
    whet.testing.assert_close(whet.constant_pad_nd(x, (1, 0), 7.0), F.pad(x, (1, 0), value=7.0))
    grid = whet.linspace(-1.2, 1.2, 8).reshape(1, 2, 2, 2)
    for mode, padding in ((0, 0), (1, 1), (2, 2)):
        got = whet.grid_sampler_2d(x, grid, mode, padding, True)
        wanted = F.grid_sample(x, grid, ("bilinear", "nearest", "bicubic")[mode],
                               ("zeros", "border", "reflection")[padding], True)
        whet.testing.assert_close(got, wanted)
    with pytest.raises(RuntimeError, match="grid_sampler.*modes"):
        whet.grid_sampler(x, grid, 3, 0, False)
    with pytest.raises(ValueError, match="one-dimensional"):
        F.multi_margin_loss(whet.ones(2, 3), whet.tensor([0, 1]), weight=whet.tensor(1.0))


def test_types_and_shapes_are_those_of_pytorch():
    half = whet.ones(2, 3, dtype=whet.bfloat16)
    assert F.rms_norm(half, (3,), whet.ones(3)).dtype is whet.bfloat16
    assert whet.masked.logsumexp(whet.tensor([1, 2])).dtype is whet.int64
    a = whet.triangular_solve(whet.ones(2, 3, 1), whet.eye(3)).cloned_coefficient
    assert a.shape == (2, 3, 3)
    none = whet.ones(2, 4, 0)
    assert F.scaled_dot_product_attention(none, none, whet.ones(2, 4, 5)).shape == (2, 4, 5)


def test_sparse_gradients_by_frequency_are_refused_where_one_is_wanted():
    table, i = whet.randn(4, 3), whet.tensor([0, 2, 2])
    assert F.embedding(i, table, sparse=True, scale_grad_by_freq=True).shape == (3, 3)
    with pytest.raises(RuntimeError, match="scale_grad_by_freq not supported"):
        F.embedding(i, table.requires_grad_(), sparse=True, scale_grad_by_freq=True)


def test_empty_vectors_that_are_joined_have_gradients():
    none, x = whet.ones(0, requires_grad=True), whet.ones(2, 3, requires_grad=True)
    g, gx = whet.autograd.grad(whet.cat([none, x]).sum(), (none, x))
    assert g.shape == (0,) and (gx == 1).all()


def test_what_pytorch_takes_is_taken():
    ones = whet.ones(2, 3)
    whet.testing.assert_close(F.cosine_similarity(ones > 0, ones), whet.ones(2))
    x, wide = whet.eye(2), whet.ones(2, 1, dtype=whet.float64)
    assert whet.linalg.solve_triangular(x, wide, upper=True).dtype is whet.float32
    image = whet.randn(2, 3, 4)
    y = F.batch_norm(image, None, None, whet.ones(1, 3), training=True)
    assert (y == F.batch_norm(image, None, None, whet.ones(3), training=True)).all()
    one = whet.index_reduce(whet.tensor([2.0]), 0, whet.tensor(0), whet.tensor([3.0]), "prod",
                            include_self=False)
    assert one.tolist() == [3]
    packed, pivots = whet.linalg.ldl_factor(x)
    assert (whet.linalg.ldl_solve(packed, pivots.to(whet.int64), x) == x).all()
    assert whet.masked.mean(whet.tensor([1.0, 2.0]), mask=whet.tensor([0, 3])) == 2


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_a_softmax_is_along_a_dimension_in_a_type(name):
    x = whet.ones(2, 3)
    for call in (getattr(whet, name), getattr(whet.Tensor, name)):
        assert call(x, 0, whet.float64).dtype is whet.float64
        with pytest.raises(TypeError, match="dim"):
            call(x)
        with pytest.raises(TypeError, match="dim"):
            call(x, None)
    assert getattr(F, name)(x, 0, 3, whet.float64).dtype is whet.float64
    with pytest.warns(UserWarning, match="Implicit dimension choice"):
        assert (getattr(F, name)(x) == getattr(F, name)(x, 1)).all()


def test_arguments_stand_where_pytorch_has_them():
    x, t = whet.rand(3) + 0.1, whet.rand(3)
    whet.testing.assert_close(F.poisson_nll_loss(x, t, False, False, None, 0.5, None, "none"),
                              x - t * (x + 0.5).log())
    assert whet.dropout(x, 0.5, train=False) is x
    assert whet.alpha_dropout(x, p=0.5, train=False) is x
    y = x.clone()
    assert whet.dropout_(y, 1.0, train=True) is y and not y.any()
    image = whet.randn(2, 4, 3)
    assert (whet.group_norm(image, 2, None, None, 1e-5, True) == F.group_norm(image, 2)).all()


# ---- operands of several types, and of no elements -----------------------------------------------
def test_the_class_of_one_example_may_be_a_vector():
    x = whet.tensor([-1.0, -2.0, -3.0])
    assert F.nll_loss(x, whet.tensor([1]), reduction="none").tolist() == 2
    whet.testing.assert_close(F.cross_entropy(x, whet.tensor([1])),
                              F.cross_entropy(x, whet.tensor(1)))


def test_a_loss_over_classes_divides_by_those_of_the_input():
    x, one = whet.arange(5.0) / 5, whet.ones(1, 5)
    wanted = (1 + (-x).exp()).log().mean()
    whet.testing.assert_close(F.multilabel_soft_margin_loss(x[None], one), wanted)
    each = F.multilabel_soft_margin_loss(x, one, reduction="none")
    assert each.shape == (5,)
    whet.testing.assert_close(each.mean(), wanted / 5)


@pytest.mark.parametrize("loss", [F.mse_loss, F.smooth_l1_loss, F.huber_loss])
def test_losses_of_reals_take_their_common_type(loss):
    truth, real = whet.tensor([True, False]), whet.tensor([0.0, 2.0])
    whet.testing.assert_close(loss(real, truth), loss(real, truth.float()))
    for dtype in (whet.bool, whet.int64, whet.complex64):
        with pytest.raises(NotImplementedError):
            loss(truth.to(dtype), truth.to(dtype))


@pytest.mark.parametrize("loss", [F.huber_loss, F.soft_margin_loss])
def test_losses_have_the_type_of_their_input(loss):
    x, y = whet.tensor([0.5, -1.0]), whet.tensor([1.0, -1.0], dtype=whet.float64)
    assert loss(x, y).dtype is whet.float32 and loss(x.bfloat16(), y).dtype is whet.bfloat16
    with pytest.raises(RuntimeError, match="can't be cast|not implemented"):
        loss(x.to(whet.int64), y)


def test_classes_of_a_soft_margin_may_be_small_numbers_or_truths():
    x, y = whet.tensor([0.5, 1.0]), whet.tensor([1.0, 0.0])
    for dtype in (whet.uint8, whet.bool):
        whet.testing.assert_close(F.soft_margin_loss(x, y.to(dtype)), F.soft_margin_loss(x, y))


def test_cross_entropies_of_two_classes_have_one_type():
    x, y = whet.tensor([0.5, 1.0]), whet.tensor([1.0, 0.0])
    wide = whet.ones(2, dtype=whet.float64)
    assert F.binary_cross_entropy(x, y, weight=wide).dtype is whet.float32
    logits = F.binary_cross_entropy_with_logits
    assert logits(x, y.bfloat16()).dtype is whet.bfloat16
    assert logits(x, wide).dtype is whet.float64
    for call in (lambda: F.binary_cross_entropy(x, wide),
                 lambda: F.binary_cross_entropy(x, y.to(whet.int64)),
                 lambda: logits(x, y.to(whet.int64))):
        with pytest.raises(RuntimeError, match="[Dd]type|can't be cast"):
            call()


def test_incomplete_gamma_functions_take_whole_numbers_beside_reals():
    a, x = whet.tensor([1, 2]), whet.tensor([1.0, 0.5])
    for f in (whet.igamma, whet.igammac):
        whet.testing.assert_close(f(a, x), f(a.float(), x))
        assert f(x.bfloat16(), a).dtype is whet.bfloat16
        with pytest.raises(NotImplementedError):
            f(a, a)


def test_what_is_looked_for_may_be_of_another_type():
    bounds, x = whet.tensor([0, 1, 2]), whet.tensor([1.5, 0.5, 2.5])
    assert whet.searchsorted(bounds, x).tolist() == [2, 1, 3]
    assert whet.bucketize(x, bounds).tolist() == [2, 1, 3]
    assert whet.bucketize(whet.tensor([1, 3]), x[1:]).tolist() == [1, 2]
    for dtype in (whet.bool, whet.complex64):
        with pytest.raises(NotImplementedError):
            whet.searchsorted(bounds.to(dtype), bounds.to(dtype))
    with pytest.raises(NotImplementedError):
        whet.searchsorted(bounds, 1j)


@pytest.mark.parametrize("shape", [(0, 3), (0, 3, 2), (2, 3, 0)])
def test_an_empty_batch_leaves_running_statistics_alone(shape):
    layer = whet.nn.BatchNorm1d(3)
    layer(whet.ones(shape)).sum().backward()
    assert layer.running_mean.tolist() == [0, 0, 0] and layer.running_var.tolist() == [1, 1, 1]
    assert layer.weight.grad.tolist() == [0, 0, 0]
    assert F.batch_norm(whet.ones(0), None, None, training=True).shape == (0,)


@pytest.mark.parametrize("key, value", [((2, 3, 3, 4), (2, 3, 3, 0)), ((2, 5, 4), (2, 2, 5, 0)),
                                        ((2, 0, 4), (2, 2, 0, 4)), ((2, 3, 4), (0, 2, 3, 4))])
def test_attention_to_nothing_has_the_batch_of_the_query(key, value):
    q = whet.ones(2, 3, 4, requires_grad=True)
    y = F.scaled_dot_product_attention(q, whet.ones(key), whet.ones(value))
    assert y.shape == (2, 3, value[-1]) and not y.any()
    y.sum().backward()
    assert q.grad.shape == q.shape and not q.grad.any()


@pytest.mark.parametrize("ord", [99, -99, 3, 0.5])
def test_the_norm_of_one_number_is_its_size(ord):
    for x in (whet.tensor(-1e-30), whet.tensor([1e30]), whet.tensor(0.0)):
        x.requires_grad_()
        y = whet.linalg.vector_norm(x, ord)
        y.backward()
        assert y.item() == abs(x.item()) and x.grad.sum().item() == x.sign().sum().item()
    rows = whet.linalg.vector_norm(whet.tensor([[1e-30], [-1e30]]), ord, dim=1)
    assert rows.tolist() == whet.tensor([1e-30, 1e30]).tolist()


def test_powers_of_a_tensor_of_no_dimension_are_double():
    assert whet.float_power(whet.tensor(2.0), whet.tensor([3.0])).dtype is whet.float64
    assert whet.float_power(whet.tensor([2.0]), whet.tensor(3.0)).dtype is whet.float64


def test_what_is_added_to_by_nothing_has_a_say_in_the_type():
    wide, x = whet.ones(2, 2, dtype=whet.float64), whet.ones(2)
    assert whet.addr(wide, x, x, beta=0).dtype is whet.float64


def test_pivots_beyond_the_factors_are_no_pivots():
    pivots = whet.tensor([3, 3, 3], dtype=whet.int32)
    assert whet.lu_unpack(whet.ones(3, 0), pivots)[0].tolist() == whet.eye(3).tolist()


@pytest.mark.parametrize("dropout", [F.dropout, F.dropout2d])
def test_whole_numbers_are_kept_or_dropped_as_they_are(dropout):
    x = whet.ones(2, 2, 3, 3, dtype=whet.int64)
    for p, wanted in ((0.0, 1), (1.0, 0)):
        y = dropout(x, p)
        assert y.dtype is x.dtype and bool((y == wanted).all())
    with pytest.raises(RuntimeError, match="can't be cast"):
        dropout(x, 0.5)
    assert dropout(x, 0.5, training=False) is x


def test_running_extrema_need_an_order():
    for f in (whet.cummax, whet.cummin):
        with pytest.raises(NotImplementedError, match="not implemented for 'ComplexFloat'"):
            f(whet.ones(3, dtype=whet.complex64), 0)


def test_trapezoids_of_small_whole_numbers_are_added_in_large_ones():
    assert whet.trapezoid(whet.tensor([100, 100, 3], dtype=whet.int8)).item() == 151.5
    assert whet.trapezoid(whet.tensor([200, 200], dtype=whet.uint8), dx=2).item() == 400
    assert whet.trapezoid(whet.zeros(0, dtype=whet.int8)).dtype is whet.int8


def test_extrema_at_indices_need_an_order():
    x, at = whet.ones(3, dtype=whet.complex64), whet.tensor([0, 0, 1])
    for call in (x.scatter_reduce, x.index_reduce, x.clone().scatter_reduce_):
        for reduce in ("amax", "amin"):
            with pytest.raises(NotImplementedError, match="not implemented for 'ComplexFloat'"):
                call(0, at, x, reduce)


def test_what_is_added_at_indices_is_multiplied_by_a_number_of_its_type():
    x = whet.tensor([3, 5])
    assert x.index_add(0, whet.tensor([0]), whet.tensor([-1]), alpha=1.5).tolist() == [2, 5]
    assert x.index_add(0, whet.tensor([0]), whet.tensor([3]), alpha=1.5).tolist() == [6, 5]
