"""Tensors of quantised types: what they hold, what is done with them, their errors. The numbers are
PyTorch's."""
import copy
import io
import pickle

import pytest
import whet
import whet.nn.functional as F

X = whet.tensor([[-1.0, 0.26, 2.5], [0.125, 9.0, -20.0]])


def one(scale=0.1, zero=10, dtype=whet.quint8):
    return whet.quantize_per_tensor(X, scale, zero, dtype)


def channels():
    return whet.quantize_per_channel(X, whet.tensor([0.1, 0.01]), whet.tensor([10, 0]), 0,
                                     whet.qint8)


def near(x, wanted):
    whet.testing.assert_close(x, whet.tensor(wanted))


# ---- what they hold ------------------------------------------------------------------------------
def test_one_scale_for_all():
    q = one()
    assert q.int_repr().tolist() == [[0, 13, 35], [11, 100, 0]]
    assert q.int_repr().dtype is whet.uint8
    near(q.dequantize(), [[-1.0, 0.3, 2.5], [0.1, 9.0, -1.0]])
    assert (q.q_scale(), q.q_zero_point(), q.qscheme()) == (0.1, 10, whet.per_tensor_affine)
    assert q.dtype is whet.quint8 and q.is_quantized and isinstance(q, whet.Tensor)
    assert (q.shape, q.stride(), q.element_size(), q.numel()) == ((2, 3), (3, 1), 1, 6)
    assert q.layout is whet.strided and q.type() == "whet.quantized.QUInt8Tensor"
    assert one(0.001, 0, whet.qint32).int_repr().tolist() == [[-1000, 260, 2500],
                                                              [125, 9000, -20000]]
    assert repr(q) == """tensor([[-1.0000,  0.3000,  2.5000],
        [ 0.1000,  9.0000, -1.0000]], size=(2, 3), dtype=whet.quint8,
       quantization_scheme=whet.per_tensor_affine, scale=0.1, zero_point=10)"""


def test_a_scale_for_each_place_of_an_axis():
    q = channels()
    assert q.int_repr().tolist() == [[0, 13, 35], [12, 127, -128]]
    near(q.dequantize(), [[-1.0, 0.3, 2.5], [0.12, 1.27, -1.28]])
    assert q.qscheme() is whet.per_channel_affine and q.q_per_channel_axis() == 0
    assert q.q_per_channel_zero_points().tolist() == [10, 0]
    assert q.q_per_channel_scales().dtype is whet.float64
    assert q[0].q_zero_point() == 10 and q[1].q_scale() == pytest.approx(0.01)
    assert "axis=0)" in repr(q)


def test_halves_go_to_the_even_one_and_nan_to_the_greatest():
    x = whet.tensor([float("inf"), float("nan"), -float("inf"), 0.05, 0.15, 0.25])
    q = whet.quantize_per_tensor(x, 0.1, 10, whet.quint8)
    assert q.int_repr().tolist() == [255, 255, 0, 10, 12, 12]


@pytest.mark.parametrize("dtype, reduce, integers, scale, zero", [
    (whet.quint8, False, [[167, 178, 198], [177, 255, 0]], 0.11372549019607843, 176),
    (whet.qint8, True, [[20, 25, 35], [25, 63, -64]], 0.2283464566929134, 24)])
def test_the_range_of_the_numbers_gives_the_scale(dtype, reduce, integers, scale, zero):
    q = whet.quantize_per_tensor_dynamic(X, dtype, reduce)
    assert q.int_repr().tolist() == integers
    assert (q.q_scale(), q.q_zero_point()) == (pytest.approx(scale, rel=1e-12), zero)
    nothing = whet.quantize_per_tensor_dynamic(whet.zeros(2), dtype, reduce)
    assert nothing.dequantize().tolist() == [0, 0] and nothing.q_scale() == pytest.approx(0.1)


def test_lists_of_tensors_and_scales_that_are_tensors():
    a, b = whet.quantize_per_tensor([X, X], whet.tensor([0.1, 0.2]), whet.tensor([10, 0]),
                                    whet.quint8)
    assert a.int_repr().tolist() == one().int_repr().tolist() and b.q_zero_point() == 0
    both = whet.dequantize([a, channels()])
    assert type(both) is tuple and both[0].dtype is whet.float32
    assert X.double().dequantize().dtype is whet.float32


# ---- what is done with them ----------------------------------------------------------------------
@pytest.mark.parametrize("move", [
    lambda x: x.t(), lambda x: x[0], lambda x: x[:, 1:], lambda x: x.view(3, 2),
    lambda x: x.reshape(-1), lambda x: x.permute(1, 0), lambda x: x.unsqueeze(0),
    lambda x: x[x > 0], lambda x: x.chunk(2)[1], lambda x: whet.cat([x, x]),
    lambda x: whet.stack([x, x], 1), lambda x: x.sort().values, lambda x: x.topk(2)[0],
    lambda x: x.max(), lambda x: x.min(1).values, lambda x: F.max_pool2d(x[None, None], 2, 1),
    lambda x: x.index_select(0, whet.tensor([1])), lambda x: x[:1].expand(2, 3),
    lambda x: whet.flatten(x), lambda x: x.clone(), lambda x: x.detach(), lambda x: list(x)[1]])
def test_moves_are_those_of_the_real_numbers_with_the_same_scheme(move):
    q = one()
    moved = move(q)
    assert moved.is_quantized and (moved.q_scale(), moved.q_zero_point()) == (0.1, 10)
    assert whet.equal(moved.dequantize(), move(q.dequantize()))


@pytest.mark.parametrize("function, wanted", [
    (lambda q: q.relu(), [[0, 0.3, 2.5], [0.1, 9, 0]]),
    (lambda q: q.clamp(0, 1), [[0, 0.3, 1], [0.1, 1, 0]]), (lambda q: q.mean(), 1.6),
    (lambda q: F.avg_pool2d(q[None, None], 2, 1), [[[[2.1, 2.7]]]]),
    (lambda q: q.clone().relu_(), [[0, 0.3, 2.5], [0.1, 9, 0]]),
    (lambda q: q.clone().fill_(1.04), [[1.0] * 3] * 2),
    (lambda q: q.clone().copy_(X * 2), [[-1, 0.5, 5], [0.2, 15.5 + 2.5, -1]])])
def test_functions_round_to_the_same_scale(function, wanted):
    got = function(one())
    assert (got.q_scale(), got.q_zero_point()) == (0.1, 10)
    near(got.dequantize(), wanted)


def test_functions_of_a_known_range_have_the_scale_of_that():
    q = one().sigmoid()
    assert (q.q_scale(), q.q_zero_point()) == (1 / 256, 0)
    near(q.dequantize(), [[0.26953125, 0.57421875, 0.92578125],
                          [0.5234375, 0.99609375, 0.26953125]])
    q = one().tanh()
    assert (q.q_scale(), q.q_zero_point()) == (2 / 256, 128)
    near(q.dequantize(), [[-0.7578125, 0.2890625, 0.984375], [0.1015625, 0.9921875, -0.7578125]])


def test_comparisons_elements_and_writes():
    q = one()
    assert (q == q).all() and not (q > q).any() and whet.equal(q, one())
    assert not whet.equal(q, one(0.2)) and whet.equal(channels(), channels())
    assert q[0, 0].item() == -1 and bool(q[0, 0]) and q.tolist()[1][1] == 9
    q[0] = 1.0
    assert q.int_repr()[0].tolist() == [20, 20, 20]
    joined = whet.cat([one(), one(0.2, 0)])
    assert joined.q_scale() == 0.1 and joined.int_repr()[2].tolist() == [10, 12, 34]


def test_pools_and_norms_of_quantised_tensors():
    q = one()
    assert whet.quantized_max_pool2d(q[None, None], [2, 2]).dequantize().tolist() == [[[[9.0]]]]
    near(whet.quantized_max_pool1d(q[None], [2]).dequantize(), [[[0.3], [9.0]]])
    ones, zeros = whet.ones(2), whet.zeros(2)
    normed = whet.quantized_batch_norm(q[None, :, :, None], ones, zeros, zeros, ones, 1e-5, 0.2, 3)
    near(normed.dequantize().flatten(), [-0.6, 0.2, 2.4, 0.0, 9.0, -0.6])
    with pytest.raises(NotImplementedError, match="quantized_max_pool2d"):
        whet.quantized_max_pool2d(X[None, None], [2, 2])


def test_copies_in_files_and_in_memory():
    for q in (one(), channels()):
        file = io.BytesIO()
        whet.save({"q": q}, file)
        file.seek(0)
        loaded = whet.load(file)["q"]
        for same in (copy.deepcopy(q), pickle.loads(pickle.dumps(q)), loaded):
            assert whet.equal(q, same) and same.dtype is q.dtype
    assert pickle.loads(pickle.dumps(whet.quint8)) is whet.quint8
    assert pickle.loads(pickle.dumps(whet.per_tensor_affine)) is whet.per_tensor_affine


@pytest.mark.parametrize("change", [
    {"_held": X}, {"_scale": "0.1"}, {"_zero": 1.5}, {"_zero": 300}, {"_axis": 0}, {"_axis": 7}])
def test_what_a_file_has_of_one_is_looked_at(change):
    from whet.quantised.make import restored
    with pytest.raises((ValueError, RuntimeError)):
        restored({**vars(one()), **change})
    assert whet.equal(restored(vars(one())), one())


def test_traced_functions_take_make_and_give_them():
    @whet.jit.trace
    def halved(q, x):
        made = whet.quantize_per_tensor(q.dequantize() + x, 0.2, 5, whet.qint8)
        return made, made.dequantize() * 0.5

    for k in range(6):
        made, half = halved(one(), X * k)
        wanted = whet.quantize_per_tensor(one().dequantize() + X * k, 0.2, 5, whet.qint8)
        assert whet.equal(made, wanted) and whet.equal(half, wanted.dequantize() * 0.5)


# ---- errors --------------------------------------------------------------------------------------
@pytest.mark.parametrize("error, said, call", [
    (RuntimeError, "zero_point 300 is above upper bound", lambda: one(zero=300)),
    (RuntimeError, "zero_point -1 is below lower bound", lambda: one(zero=-1)),
    (RuntimeError, "ScalarType Byte is not supported", lambda: one(dtype=whet.uint8)),
    (RuntimeError, "only works on Float Tensor, got Double",
     lambda: whet.quantize_per_tensor(X.double(), 0.1, 0, whet.qint8)),
    (TypeError, "must be Tensor, not int", lambda: whet.quantize_per_tensor(3, 0.1, 0, whet.qint8)),
    (NotImplementedError, "quantize_per_tensor",
     lambda: whet.quantize_per_tensor(one(), 0.1, 0, whet.qint8)),
    (RuntimeError, "scales and zero_points must match",
     lambda: whet.quantize_per_channel(X, whet.ones(1), whet.tensor([0, 0]), 0, whet.qint8)),
    (RuntimeError, "Channel axis out of range",
     lambda: whet.quantize_per_channel(X, whet.ones(2), whet.tensor([0, 0]), 2, whet.qint8)),
    (RuntimeError, "length of scales must equal to channel",
     lambda: whet.quantize_per_channel(X, whet.ones(2), whet.tensor([0, 0]), 1, whet.qint8)),
    (RuntimeError, "dtype QInt32 not supported",
     lambda: whet.quantize_per_tensor_dynamic(X, whet.qint32, False)),
    (TypeError, "must be Tensor, not int", lambda: whet.dequantize(3)),
    (NotImplementedError, "'__add__'", lambda: one() + one()),
    (NotImplementedError, "'__mul__'", lambda: one() * 2),
    (NotImplementedError, "'sum'", lambda: one().sum()),
    (NotImplementedError, "'mm'", lambda: one().mm(one().t())),
    (NotImplementedError, "'abs'", lambda: whet.abs(one())),
    (TypeError, "QUInt8", lambda: one().numpy()),
    (RuntimeError, "converted to no other types", lambda: one().to(whet.float64)),
    (RuntimeError, "floating point dtype", lambda: one().requires_grad_()),
    (RuntimeError, "only on uniformly quantized", lambda: channels().t()),
    (RuntimeError, "q_scale: Expected qscheme", lambda: channels().q_scale()),
    (RuntimeError, "q_per_channel_axis: Expected", lambda: one().q_per_channel_axis()),
    (NotImplementedError, "q_scale", lambda: X.q_scale()),
    (NotImplementedError, "int_repr", lambda: X.int_repr()),
    (RuntimeError, "needs a scale", lambda: whet.zeros(2, dtype=whet.quint8)),
    (RuntimeError, "isSignedType", lambda: whet.quint8.is_signed)])
def test_what_cannot_be_says_so(error, said, call):
    with pytest.raises(error, match=said):
        call()
