"""Arguments of a wrong type, shape or number raise what PyTorch raises, and never give a result;
`python -m tests.opinfo --part wrong_arguments` tries all of PyTorch's samples."""
import pytest
import whet
import whet.nn.functional as F
from whet import nn, optim

x, wide = whet.ones(2, 3), whet.ones(2, 3, dtype=whet.float64)
square, double = whet.eye(3), whet.eye(3, dtype=whet.float64)
image = whet.ones(1, 2, 4, 4)


@pytest.mark.parametrize("flag", ["x", None, 1.5, [], whet.tensor(True)])
@pytest.mark.parametrize("call", [
    lambda flag: whet.sum(x, 1, keepdim=flag), lambda flag: whet.amax(x, 1, flag),
    lambda flag: x.amax(1, flag), lambda flag: whet.topk(x, 1, 0, flag),
    lambda flag: whet.scatter_reduce(x, 0, whet.zeros(2, 3, dtype=whet.int64), x, "sum",
                                     include_self=flag),
    lambda flag: F.dropout(x, 0.5, flag), lambda flag: F.kl_div(x, x, log_target=flag),
    lambda flag: F.max_pool2d(image, 2, ceil_mode=flag),
    lambda flag: whet.linalg.cholesky(square, upper=flag),
    lambda flag: whet.linalg.solve_triangular(square, square, upper=flag),
    lambda flag: whet.bucketize(x, x[0], right=flag)])
def test_what_is_no_flag_is_refused(call, flag):
    with pytest.raises(TypeError, match="must be bool, not|received an invalid|expected a bool"):
        call(flag)


def test_constructors_take_none_for_no_flag():
    made = whet.zeros(2, requires_grad=None, pin_memory=None)
    assert not made.requires_grad and whet.signal.windows.hann(3, requires_grad=None).numel() == 3
    with pytest.raises(TypeError, match="must be bool"):
        whet.zeros(2, requires_grad="x")


def test_one_number_is_looked_for_in_an_empty_sequence():
    assert whet.searchsorted(whet.tensor([]), whet.tensor(0.0)).item() == 0


def test_whole_numbers_are_flags():
    assert whet.amax(x, 1, 1).shape == (2, 1) and whet.amax(x, 1, whet.tensor(1).numpy()).ndim == 2


@pytest.mark.parametrize("call", [
    lambda: F.layer_norm(x, (3,), wide[0]), lambda: F.layer_norm(x, (3,), x[0], wide[0]),
    lambda: F.group_norm(image, 2, wide[0, :2]), lambda: F.instance_norm(image, weight=wide[0, :2]),
    lambda: F.batch_norm(image, wide[0, :2], wide[0, :2]), lambda: whet.addmm(wide[:, :2], x, x.mT),
    lambda: whet.addmv(wide[:, 0], x, x[0]), lambda: whet.cdist(x, wide),
    lambda: whet.linalg.solve(square, double), lambda: whet.linalg.vecdot(x, wide),
    lambda: whet.triangular_solve(square, double),
    lambda: whet.cholesky_solve(double, square), lambda: whet.linalg.cross(x, wide),
    lambda: whet.linalg.householder_product(square, double[0]), lambda: whet.lerp(x, wide, 0.5),
    lambda: whet.heaviside(x, wide), lambda: F.prelu(x, wide[0]), lambda: whet.polar(x, wide),
    lambda: F.bilinear(x, x, whet.ones(4, 3, 3, dtype=whet.float64)),
    lambda: F.nll_loss(x, whet.tensor([0, 1]), wide[0]), lambda: whet.linalg.lstsq(square, double),
    lambda: F.grid_sample(image, whet.zeros(1, 2, 2, 2, dtype=whet.float64), align_corners=False),
    lambda: F.embedding_bag(whet.zeros(1, 2, dtype=whet.int64), x, mode="sum",
                            per_sample_weights=wide[:1, :2])])
def test_tensors_of_two_types_do_not_meet(call):
    with pytest.raises(RuntimeError, match="type"):
        call()


def test_parameters_of_norms_may_be_wider_than_halves():
    half = x.to(whet.bfloat16)
    assert F.layer_norm(half, (3,), x[0], x[0]).dtype is whet.bfloat16


WRONG = [
    (RuntimeError, lambda: whet.narrow_copy(x, 2, 0, 1)),
    (TypeError, lambda: x.narrow_copy(0, whet.tensor([0, 1]), 1)),
    (RuntimeError, lambda: F.max_pool2d(image, 9, 1, ceil_mode=True)),
    (RuntimeError, lambda: F.avg_pool2d(image, 9, 1, ceil_mode=True)),
    (TypeError, lambda: F.avg_pool2d(image, 2, divisor_override=1.5)),
    (RuntimeError, lambda: F.conv2d(image, whet.ones(3, 2, 0, 1))),
    (RuntimeError, lambda: F.conv_transpose2d(image[..., :0], whet.ones(2, 3, 2, 2))),
    (RuntimeError, lambda: F.conv_transpose2d(image, whet.ones(2, 3, 2, 2), padding=-1)),
    (RuntimeError, lambda: F.adaptive_avg_pool2d(image[..., :0], 2)),
    (RuntimeError, lambda: F.adaptive_max_pool2d(image[:, :0], 2)),
    (NotImplementedError, lambda: F.max_pool2d(image.to(whet.complex64), 2)),
    (ValueError, lambda: F.max_unpool2d(image, image.to(whet.int64), 2, output_size=(8,))),
    (ValueError, lambda: F.max_unpool2d(image, image.to(whet.int64), 2, output_size=(8, 11))),
    (TypeError, lambda: F.interpolate(image, (1.5, 2))),
    (TypeError, lambda: F.interpolate(image, 3, mode="bilinear", align_corners="x")),
    (RuntimeError, lambda: F.grid_sample(image[..., :0], whet.zeros(1, 2, 2, 2))),
    (RuntimeError, lambda: F.cosine_embedding_loss(x, x, whet.ones(2, 3))),
    (RuntimeError, lambda: F.triplet_margin_loss(x, x, x[0])),
    (RuntimeError, lambda: F.multi_margin_loss(x, whet.tensor([0]))),
    (RuntimeError, lambda: F.multilabel_margin_loss(x, whet.zeros(3, dtype=whet.int64))),
    (TypeError, lambda: F.gaussian_nll_loss(x, x, None)),
    (ValueError, lambda: F.gaussian_nll_loss(x, x, -1.0)),
    (RuntimeError, lambda: F.binary_cross_entropy(x, x, whet.ones(1, 2, 3))),
    (RuntimeError, lambda: F.kl_div(x.to(whet.int64), x)),
    (ValueError, lambda: F.batch_norm(image, None, x[0, :2], training=True)),
    (RuntimeError, lambda: F.group_norm(image, 2, x[:1, :2])),
    (RuntimeError, lambda: F.bilinear(x, x[0], whet.ones(4, 3, 3))),
    (RuntimeError, lambda: F.bilinear(x, x, whet.ones(4, 3, 3), whet.ones(1))),
    (ValueError, lambda: F.linear_cross_entropy(x, x, whet.tensor([0, 1]), reduction="no such")),
    (TypeError, lambda: whet.round(x, decimals=1.5)), (TypeError, lambda: whet.mvlgamma(x, 1.5)),
    (RuntimeError, lambda: whet.mvlgamma(x > 0, 1)), (TypeError, lambda: whet.topk(x, 1.5)),
    (TypeError, lambda: whet.kthvalue(x, 1.5)), (TypeError, lambda: whet.cov(x, correction=1.5)),
    (TypeError, lambda: whet.bincount(whet.tensor([1]), minlength=1.5)),
    (TypeError, lambda: whet.tril_indices(1.5, 2)), (TypeError, lambda: whet.full_like(x, None)),
    (TypeError, lambda: x.new_zeros()), (TypeError, lambda: whet.linspace(None, 1, 3)),
    (RuntimeError, lambda: whet.linspace(whet.ones(1), 1, 3)),
    (TypeError, lambda: whet.logspace("x", 1, 3)), (TypeError, lambda: whet.resolve_conj([1])),
    (TypeError, lambda: whet.resolve_neg("x")), (TypeError, lambda: whet.diff(x, prepend="x")),
    (RuntimeError, lambda: whet.diff(x, prepend=x[0])),
    (TypeError, lambda: whet.linalg.vander(x, N=2.5)),
    (RuntimeError, lambda: whet.linalg.vecdot(x.to(whet.int64), x.to(whet.int64))),
    (RuntimeError, lambda: whet.linalg.lstsq(square, square[None])),
    (RuntimeError, lambda: whet.linalg.lu_solve(square, whet.tensor([1, 2, 3]), square)),
    (RuntimeError, lambda: whet.linalg.lu_solve(square, whet.ones(2, dtype=whet.int32), square)),
    (RuntimeError, lambda: whet.ormqr(square, x[0], square[None])),
    (RuntimeError, lambda: whet.linalg.householder_product(square[None], x[0])),
    (RuntimeError, lambda: whet.cdist(x.to(whet.int64), x.to(whet.int64))),
    (RuntimeError, lambda: whet.nn.functional.pdist(x.to(whet.complex64))),
    (RuntimeError, lambda: whet.cdist(x, x, -1.0)),
    (RuntimeError, lambda: whet.nn.functional.pdist(x, -1.0)),
    (RuntimeError, lambda: F.celu(x, 0.0)), (RuntimeError, lambda: whet.celu_(x * 1, 0)),
    (TypeError, lambda: whet.Size((2.0, 3))), (TypeError, lambda: whet.Size("23")),
    (TypeError, lambda: whet.Size((whet.tensor(2.0), 3))), (TypeError, lambda: whet.Size((x, 3))),
    (ValueError, lambda: whet.pca_lowrank(x, 9)), (TypeError, lambda: x.uniform_(0, 1, low=2)),
    (IndexError, lambda: whet.masked.prod(x, 99)),
    (IndexError, lambda: whet.masked.sum(x, (0, -9))),
    (TypeError, lambda: F.dropout("x", 0.0)), (TypeError, lambda: F.dropout2d([x], training=False)),
    (RuntimeError, lambda: F.cosine_similarity(x, x.to(whet.complex64))),
    (RuntimeError, lambda: F.embedding_bag(whet.tensor([0]), x, whet.zeros(1))),
    (ValueError, lambda: whet.cdist(x, x, compute_mode="quickly")),
    (RuntimeError, lambda: whet.cdist(x[0], x)),
    (RuntimeError, lambda: F.soft_margin_loss(x[0], x)),
    (RuntimeError, lambda: F.multilabel_margin_loss(x, x > 0)),
    (RuntimeError, lambda: whet.index_add(x[0, 0], 0, whet.tensor([0]), x[0, :1])),
    (TypeError, lambda: whet.scatter_reduce(x, 0, whet.zeros(2, 3, dtype=whet.int64), x, 3)),
    (TypeError, lambda: F.pad(x, (1, 1), 3)), (TypeError, lambda: whet.div(x, x, rounding_mode=1)),
    (TypeError, lambda: F.gelu(x, approximate=1)), (TypeError, lambda: whet.cdist(x, x, "x")),
    (IndexError, lambda: whet.linalg.matrix_norm(whet.ones(2, 3, 4), 1, (-5, 2))),
    (RuntimeError, lambda: whet.linalg.matrix_norm(x, "nuc", (0, 1, 1))),
    (RuntimeError, lambda: whet.linalg.lu_solve(x[0], whet.ones(3, dtype=whet.int32), x)),
    (RuntimeError, lambda: whet.lu_unpack(x[0], whet.ones(3, dtype=whet.int32))),
    (RuntimeError, lambda: F.ctc_loss(image, whet.ones(1, 1), [1], [1])),
    (RuntimeError, lambda: whet.igamma(x, x[:, :2])), (TypeError, lambda: x.masked_fill("x", 1)),
    (TypeError, lambda: whet.masked_select(x, [1])),
    (IndexError, lambda: x.clone().put_(whet.tensor([0]), x[0])),
    (ValueError, lambda: F.embedding_bag(whet.tensor([[0]]), x[0])),
    (RuntimeError, lambda: F.max_unpool2d(image, image.to(whet.int32), 2)),
    (RuntimeError, lambda: whet.complex(x, x[:, :2])), (RuntimeError, lambda: whet.normal(x, x.mT)),
    (TypeError, lambda: whet.signal.windows.hann(2.5)),
    (ValueError, lambda: whet.signal.windows.hann(2, layout=whet.sparse_coo)),
    (TypeError, lambda: whet.randint(None, (2,))), (TypeError, lambda: whet.randint(1.5, (2,))),
    (TypeError, lambda: whet.randint(0, 2.5, (2,))), (TypeError, lambda: whet.randint("x", (2,))),
    (TypeError, lambda: whet.randint_like(x, 1.5)), (TypeError, lambda: whet.randint_like(x, None)),
    (TypeError, lambda: whet.normal(1j, x)), (TypeError, lambda: whet.normal(x, "x")),
    (RuntimeError, lambda: whet.normal(x, x.to(whet.complex64))),
    (TypeError, lambda: x.clone().random_(2.5)), (TypeError, lambda: x.clone().random_("x")),
    (TypeError, lambda: x.clone().random_(True)),
    (RuntimeError, lambda: x.clone().geometric_(1.5)), (RuntimeError, lambda: x.geometric_(1)),
    (RuntimeError, lambda: whet.isin(x > 0, x > 0)), (RuntimeError, lambda: whet.isin(x, True)),
    (RuntimeError, lambda: whet.isin(x, 1j)), (TypeError, lambda: whet.sort(x, 0, None)),
    (TypeError, lambda: x.to(whet.float64, None)), (TypeError, lambda: x.to("cpu", None, "x")),
    (RuntimeError, lambda: whet.constant_pad_nd(x, (1, 1), 1j)),
    (TypeError, lambda: F.pad(x, (1, 1), value=1j)), (TypeError, lambda: F.pad(x, 1)),
    (RuntimeError, lambda: F.pad(x.to(whet.uint8), (1, 1), value=300)),
    (TypeError, lambda: whet.constant_pad_nd(x, (1, 1), None)),
    (TypeError, lambda: x.sum_to_size()), (TypeError, lambda: x.sum_to_size("x")),
    (ValueError, lambda: whet.broadcast_shapes((-5,), (2,))),
    (TypeError, lambda: whet.broadcast_shapes((1.5,), (1,))),
    (TypeError, lambda: whet.logspace(1, 2, 3, None)),
    (RuntimeError, lambda: whet.linspace(whet.tensor(1j), 1, 3, dtype=whet.float32)),
    (RuntimeError, lambda: whet.linspace(0, 1j, 3, dtype=whet.float32)),
    (RuntimeError, lambda: whet.logspace(whet.tensor(1j), 1, 3, dtype=whet.float32)),
    (RuntimeError, lambda: whet.topk(x > 0, 1)), (TypeError, lambda: whet.topk(x, 1, None)),
    (TypeError, lambda: whet.kthvalue(x, 1, None)),
    (TypeError, lambda: F.cosine_similarity(x, x, None)),
    (TypeError, lambda: whet.unravel_index(whet.tensor([1]), (1.5, 5))),
    (RuntimeError, lambda: whet.index_select(whet.tensor(1.0), 0, whet.tensor([0, 0]))),
    (TypeError, lambda: x.unfold(0, 1, 1.5)), (TypeError, lambda: x.unfold(0, 1.0, 1)),
    (TypeError, lambda: F.embedding(whet.tensor([0]), x, 1.5)),
    (RuntimeError, lambda: whet.cumulative_trapezoid(x, whet.ones(x.shape[-1] - 1))),
    (RuntimeError, lambda: whet.trapezoid(x, x > 0)), (RuntimeError, lambda: whet.gradient(x > 0)),
    (RuntimeError, lambda: whet.stft(x.to(whet.int64), 2, return_complex=True)),
    (TypeError, lambda: whet.stft(whet.ones(9), 4, window="x", return_complex=True)),
    (RuntimeError, lambda: whet.tensordot(x, x, 1.5)),
    (RuntimeError, lambda: whet.tensordot(x, x, "x")),
    (IndexError, lambda: whet.index_copy(x, 0, whet.tensor([0]), x)),
    (IndexError, lambda: whet.index_copy(x[0], 0, whet.tensor([0, 1]), x)),
    (RuntimeError, lambda: whet.index_add(x, 1, whet.tensor([0, 1]), x[:, 0])),
    (RuntimeError, lambda: whet.index_reduce(x, 0, whet.tensor([0]), x, "prod")),
    (RuntimeError, lambda: whet.index_reduce(x[0], 0, whet.tensor([0, 1]), x, "prod")),
    (TypeError, lambda: whet.randint(0, 10)), (TypeError, lambda: whet.randint(3, None)),
    (RuntimeError, lambda: whet.unflatten(whet.tensor(1.0), 0, (2,))),
    (RuntimeError, lambda: F.embedding_bag(whet.tensor([[0]]), x.to(whet.int64))),
    (RuntimeError, lambda: F.pad(x, (-5, 4))), (TypeError, lambda: whet.quantile(x, None)),
    (TypeError, lambda: whet.linalg.matrix_norm(x, None)),
    (RuntimeError, lambda: whet.norm(x, "x")), (RuntimeError, lambda: whet.norm(image, "nuc")),
    (ValueError, lambda: F.interpolate(image, (3,))),
    (ValueError, lambda: F.interpolate(image[0], scale_factor=(2.0, 2.0), mode="bilinear")),
    (RuntimeError, lambda: whet.randint_like(x.to(whet.complex64), 3)),
    (ValueError, lambda: F.nll_loss(x, whet.tensor(0))),
    (ValueError, lambda: F.nll_loss(x[0], whet.tensor([0, 1]))),
    (ValueError, lambda: F.cross_entropy(x, x[:1])),
    (TypeError, lambda: whet.stft(whet.ones(9), 4, onesided="x", return_complex=True)),
    (TypeError, lambda: whet.native_batch_norm(image, None, None, None, None, "x", 0.1, 1e-5)),
    (TypeError, lambda: whet.native_batch_norm(image, None, None, None, None, True, "x", 1e-5)),
    (RuntimeError, lambda: F.cross_entropy(x, x.to(whet.int64))),
    (RuntimeError, lambda: whet.linalg.matrix_rank(square, atol=whet.tensor(1j))),
    (RuntimeError, lambda: whet.linalg.pinv(square, rtol=whet.tensor(1j))),
    (RuntimeError, lambda: whet.linalg.vander(x > 0)),
    (RuntimeError, lambda: whet.ormqr(square, x[0, :1], square)),
    (RuntimeError, lambda: F.unfold(image, (3,))), (RuntimeError, lambda: F.normalize(x, "x")),
    (RuntimeError, lambda: whet.linalg.vander(whet.tensor(1.0))),
    (RuntimeError, lambda: whet.linalg.norm(whet.tensor(1.0), 3)),
    (RuntimeError, lambda: F.ctc_loss(whet.ones(2, 1, 3), whet.ones(1, 1, dtype=whet.int64),
                                      whet.tensor([True]), whet.tensor([1])))]
DRAWS = "uniform_ normal_ random_ exponential_ geometric_ cauchy_ log_normal_".split()


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("of", [None, "x", [x], 1.5])
def test_draws_fill_tensors(draw, of):
    with pytest.raises(TypeError, match="tensors"):
        getattr(whet.Tensor, draw)(of, 0.5)


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("number", [None, "x", [1], 1j, whet.ones(2), whet.tensor(1j)])
def test_draws_go_by_numbers(draw, number):
    if draw == "random_" and number is None:
        return                                      # all that the type can hold
    with pytest.raises(TypeError, match="must be"):
        getattr(x.clone(), draw)(number)
    with pytest.raises(TypeError, match="must be"):
        getattr(x.clone(), draw)(whet.tensor(0.5, requires_grad=True))


@pytest.mark.parametrize("draw", DRAWS)
def test_tensors_of_no_dimension_are_numbers_of_draws(draw):
    number = whet.tensor(3) if draw == "random_" else whet.tensor(0.5)
    drawn = getattr(whet.zeros(2, 3), draw)(number)
    assert drawn.shape == (2, 3) and bool(drawn.isfinite().all())


@pytest.mark.parametrize("draw, dtype, error", [
    ("exponential_", whet.complex64, RuntimeError), ("cauchy_", whet.int64, RuntimeError),
    ("log_normal_", whet.complex64, NotImplementedError),
    ("geometric_", whet.bool, NotImplementedError), ("normal_", whet.int64, NotImplementedError),
    ("random_", whet.complex64, NotImplementedError),
    ("bernoulli_", whet.complex64, NotImplementedError)])
def test_draws_fill_the_types_that_they_have_numbers_of(draw, dtype, error):
    with pytest.raises(error):
        getattr(whet.zeros(2, dtype=dtype), draw)(0.5)


def test_normal_numbers_have_the_type_of_their_means():
    assert whet.normal(x, wide).dtype is whet.float32
    assert whet.normal(x.to(whet.bfloat16), x).dtype is whet.bfloat16
    assert whet.normal(0.0, wide).dtype is whet.float64


@pytest.mark.parametrize("error, call", WRONG)
def test_wrong_arguments_raise(error, call):
    with pytest.raises(error):
        call()


def test_masks_of_numbers_are_truths():
    mask = whet.tensor([[1, 0, 2], [0, 0, 1]])
    assert whet.masked.sum(x, 1, mask=mask).tolist() == [2, 1]


ROW = whet.ones(16)


@pytest.mark.parametrize("wrong", [1.5, "x", [1.5]])
@pytest.mark.parametrize("call", [
    lambda n: F.group_norm(image, n), lambda n: whet.stft(ROW, n, return_complex=True),
    lambda n: whet.stft(ROW, 4, n, return_complex=True), lambda n: whet.gradient(x, edge_order=n),
    lambda n: F.pixel_shuffle(image, n), lambda n: F.pixel_unshuffle(image, n),
    lambda n: whet.channel_shuffle(image, n), lambda n: whet.as_strided(x, (9,), (9,), n),
    lambda n: F.layer_norm(x, n), lambda n: F.rms_norm(x, n),
    lambda n: whet.empty_permuted((2,), n)])
def test_whole_numbers_are_asked_for_by_name(call, wrong):
    with pytest.raises(TypeError, match="must be (int|.*of ints)"):
        call(wrong)


@pytest.mark.parametrize("call", [
    lambda: whet.fft.fft(x, norm=3), lambda: whet.fft.irfftn(x, norm=3),
    lambda: whet.linalg.lstsq(x, x, driver=3), lambda: whet.quantile(x, 0.5, interpolation=3)])
def test_texts_are_asked_for_by_name(call):
    with pytest.raises(TypeError, match="must be str, not int"):
        call()


def test_an_error_of_right_arguments_stays_what_it_is():
    with pytest.raises(RuntimeError, match="divisible"):
        F.group_norm(image, 5)
    with pytest.raises(RuntimeError, match="non-zero size"):
        F.adaptive_avg_pool2d(image[..., :0], (None, 2))
    with pytest.raises(RuntimeError, match="driver"):
        whet.linalg.lstsq(x, x, driver="quickly")


@pytest.mark.parametrize("kind", ["Adam", "AdamW"])
@pytest.mark.parametrize("options", [
    dict(lr=whet.tensor(0.1), foreach=True), dict(lr=whet.tensor([0.1, 0.2])),
    dict(betas=(whet.tensor(0.9), whet.tensor(0.99)), foreach=True),
    dict(betas=(whet.tensor(0.9), 0.99)), dict(betas=(0.9, whet.tensor(0.99)))])
def test_tensors_for_the_numbers_of_adam_are_refused_where_pytorch_does(kind, options):
    with pytest.raises(ValueError, match="Tensor"):
        getattr(optim, kind)([nn.Parameter(whet.ones(2))], **options)
    if "foreach" in options:
        options = {**options, "foreach": False}
        getattr(optim, kind)([nn.Parameter(whet.ones(2))], **options)


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW", "Adagrad"])
def test_fused_is_one_way_and_foreach_another(kind):
    with pytest.raises(RuntimeError, match="cannot be `True` together"):
        getattr(optim, kind)([nn.Parameter(whet.ones(2))], fused=True, foreach=True)


@pytest.mark.parametrize("kind", ["Adam", "AdamW", "Adamax", "NAdam", "RAdam", "SparseAdam"])
def test_betas_are_two(kind):
    with pytest.raises(IndexError):
        getattr(optim, kind)([whet.ones(2)], betas=(0.9,))
    with pytest.raises(TypeError):
        getattr(optim, kind)([whet.ones(2)], betas=0.9)


def test_functions_of_lists_want_a_list_of_tensors():
    x = whet.ones(2)
    for call in (lambda: whet._foreach_exp([]), lambda: whet._foreach_add_([], 1)):
        with pytest.raises(RuntimeError, match="at least one tensor"):
            call()
    for call, at in ((lambda: whet._foreach_exp(x), "must be tuple of Tensors, not Tensor"),
                     (lambda: whet._foreach_add(1, [x]), "must be tuple of Tensors, not int"),
                     (lambda: whet._foreach_sqrt([x, 1]), "element 1 in argument 0, but got int")):
        with pytest.raises(TypeError, match=at):
            call()
    assert whet._foreach_pow(2, [x])[0].tolist() == [2, 2]


def test_frequencies_are_no_whole_numbers():
    with pytest.raises(RuntimeError, match="floating point"):
        whet.fft.fftfreq(4, dtype=whet.int64)


def test_whole_numbers_are_not_made_floats_by_a_number_beside_them():
    whole = whet.arange(4)
    for call in (lambda: F.hardshrink(whole), lambda: F.softshrink(whole, 0.5),
                 lambda: whet.lerp(whole, whole, 0.5), lambda: F.elu(whole), lambda: F.celu(whole),
                 lambda: F.leaky_relu(whole), lambda: F.rrelu(whole)):
        with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
            call()
