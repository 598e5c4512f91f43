"""New tensors: what data become which type, what is shared, what is refused; conversion, copies
and pickles."""
import copy
import itertools
import math
import pickle

import numpy as np
import pytest
import whet
from whet.ops import ranges


@pytest.mark.parametrize(
    "data, dtype",
    [(1, whet.int64), (1.5, whet.float32), (True, whet.bool), (1j, whet.complex64),
     ([1, 2.0, True], whet.float32), ([[True], [False]], whet.bool), ([], whet.float32),
     ([[], []], whet.float32), (np.float64(1), whet.float64), ([np.float32(1), 2.0], whet.float32),
     ([np.float64(1)], whet.float64), (np.arange(3, dtype=np.int16), whet.int16),
     (range(3), whet.int64), ([whet.tensor(1), 2.5], whet.float32),
     ([whet.float64.np.type(2)], whet.float64), ((1, 2), whet.int64), ([1j, 2], whet.complex64)])
def test_type_of_data(data, dtype):
    t = whet.tensor(data)
    assert (t.dtype is dtype and t.tolist()
            == (data.tolist() if hasattr(data, "tolist") else whet.tensor(data).tolist()))


def test_floats_take_the_default_type():
    whet.set_default_dtype(whet.float64)
    try:
        assert whet.tensor(1.0).dtype is whet.float64 and whet.zeros(1).dtype is whet.float64
        assert whet.tensor(1j).dtype is whet.complex128
        assert whet.arange(2.0).dtype is whet.float64 and whet.full((1,), 2.0).dtype is whet.float64
    finally:
        whet.set_default_dtype(whet.float32)


def test_values_of_data():
    assert whet.tensor([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert whet.tensor([1.9, -1.9], dtype=whet.int32).tolist() == [1, -1]
    assert whet.tensor([0.5, 0], dtype=whet.bool).tolist() == [True, False]
    assert (whet.tensor(-1, dtype=whet.uint8).item() == 255
            and whet.tensor([-1], dtype=whet.uint8).tolist() == [255])
    assert whet.tensor([2**64 - 1], dtype=whet.uint64).tolist() == [2**64 - 1]
    assert math.isinf(whet.tensor(float("inf"), dtype=whet.float16).item())
    assert whet.tensor([[], []]).shape == (2, 0)
    assert (whet.tensor(0.1).item() == np.float32(0.1)
            and whet.tensor([1 + 2 ** -9], dtype=whet.bfloat16).item() == 1.0)
    assert whet.tensor([whet.tensor([1, 2]), whet.tensor([3, 4])]).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    "make, error, text",
    [(lambda: whet.tensor([[1, 2], [3]]), ValueError, "expected sequence of length 2 at dim 1"),
     (lambda: whet.tensor([[1, 2], 3]), TypeError, "not a sequence"),
     (lambda: whet.tensor("a"), TypeError, "invalid data type 'str'"),
     (lambda: whet.tensor(["a"]), ValueError, "too many dimensions 'str'"),
     (lambda: whet.tensor({}), RuntimeError, "infer dtype of dict"),
     (lambda: whet.tensor(None), RuntimeError, "infer dtype of NoneType"),
     (lambda: whet.tensor(2 ** 63), ValueError, "Overflow"),
     (lambda: whet.tensor([300], dtype=whet.uint8), RuntimeError, "without overflow"),
     (lambda: whet.tensor(float("nan"), dtype=whet.int32),
      RuntimeError,
      "cannot be converted|without overflow"),
     (lambda: whet.tensor([1], requires_grad=True), RuntimeError, "Only Tensors of floating point"),
     (lambda: whet.zeros(2, -1), RuntimeError, "non-negative"),
     (lambda: whet.zeros(2.0), TypeError, "tuple of ints"),
     (lambda: whet.zeros(1 << 40, 1 << 40), RuntimeError, "overflow"),
     (lambda: whet.zeros(2, dtype="float"), TypeError, "dtype"),
     (lambda: whet.zeros(2, device="nowhere"), RuntimeError, "device"),
     (lambda: whet.zeros(2, device="cuda"), RuntimeError, "not available"),
     (lambda: whet.full((2,), 300, dtype=whet.uint8), RuntimeError, "without overflow"),
     (lambda: whet.arange(0, 5, -1), RuntimeError, "inconsistent with step sign"),
     (lambda: whet.arange(0, 5, 0), RuntimeError, "nonzero"),
     (lambda: whet.arange(math.inf), RuntimeError, "unsupported range"),
     (lambda: whet.linspace(0, 1, -1), RuntimeError, "non-negative"),
     (lambda: whet.eye(-1), RuntimeError,
      "n must be greater"), (lambda: whet.empty_strided((2,), (-1,)), RuntimeError, "strides"),
     (lambda: whet.asarray([1.0], copy=False), ValueError,
      "can't alias"), (lambda: whet.from_numpy([1]), TypeError, "np.ndarray"),
     (lambda: whet.from_numpy(np.array(["a"])), TypeError,
      "can't convert"), (lambda: whet.Tensor(3.0), TypeError, "data must be a sequence"),
     (lambda: whet.from_numpy(np.arange(3, dtype=">i4")), ValueError, "byte order"),
     (lambda: whet.frombuffer(bytearray(7), dtype=whet.int16),
      ValueError,
      "multiple of element size"),
     (lambda: whet.hann_window(3, dtype=whet.int32), RuntimeError,
      "floating point"), (lambda: whet.meshgrid(whet.ones(2, 2)), RuntimeError, "0D or 1D"),
     (lambda: whet.complex(whet.ones(1), whet.ones(1, dtype=whet.float64)),
      RuntimeError,
      "scalar type")])
def test_what_is_refused(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_tensor_copies_and_as_tensor_shares():
    a = np.zeros(3)
    copied, shared, taken = whet.tensor(a), whet.as_tensor(a), whet.from_numpy(a)
    a[0] = 1
    assert copied[0] == 0 and shared[0] == 1 and taken[0] == 1
    taken[1] = 2
    assert a[1] == 2
    t = whet.ones(2)
    assert whet.as_tensor(t) is t and whet.asarray(t) is t and whet.asarray(t, copy=True) is not t
    w = whet.ones(2, requires_grad=True)
    assert whet.as_tensor(w, dtype=whet.float64).grad_fn is not None
    b = bytearray(8)
    f = whet.frombuffer(b, dtype=whet.int16, count=2, offset=2)
    f.fill_(1)
    assert b == bytearray([0, 0, 1, 0, 1, 0, 0, 0])


@pytest.mark.parametrize("dtype", [whet.float32, whet.bfloat16, whet.int64, whet.bool,
                                   whet.complex64])
def test_large_memory_that_was_used_is_cleared(dtype):
    """As bytes, where it lies row by row."""
    for count in (1 << 8, 1 << 14, 1 << 17):
        whet.ones(count, dtype=dtype)                # which leaves its memory to the next
        made = whet.zeros(count, dtype=dtype)
        assert not made.view(whet.uint8).any()
        used = whet.ones(count // 16, 16, dtype=dtype)
        assert not used[:, 1:].zero_().any() and used[:, 0].all()
        assert not used.t().fill_(0).any() and not used.view(whet.uint8).any()
    lies = whet.zeros_like(whet.ones(2, 3, 64, 64, dtype=dtype), memory_format=whet.channels_last)
    assert not lies.any() and lies.stride() == (12288, 1, 192, 3)


def test_a_negative_zero_is_no_zero_of_bytes():
    for count in (8, 1 << 14):
        assert whet.empty(count).fill_(-0.0).signbit().all()
        assert not whet.empty(count).fill_(-0.0).fill_(0.0).signbit().any()


@pytest.mark.parametrize("dtype", [whet.float32, whet.float64])
def test_few_numbers_have_the_bits_that_they_have_among_many(dtype, monkeypatch):
    """Few are made by fewer steps."""
    def found():
        return [whet.linspace(start, end, steps, dtype=dtype).numpy().tobytes()
                for start, end in ((0, 1), (-2.2, 1e29), (7, -3), (1e-30, 0.1))
                for steps in (2, 3, 10, 77)]
    few = found()
    monkeypatch.setattr(ranges, "ORDINARY", 0)
    assert found() == few


def test_sequences():
    assert (whet.arange(1, 2.5, 0.5).tolist() == [1.0, 1.5, 2.0]
            and whet.arange(5, 0, -2).tolist() == [5, 3, 1])
    assert whet.arange(0).shape == (0,)
    assert whet.range(0, 2).tolist() == [0, 1, 2]
    assert (whet.linspace(0, 1, 5).tolist() == [0, 0.25, 0.5, 0.75, 1]
            and whet.linspace(3, 7, 1).tolist() == [3])
    assert whet.linspace(0, 0.7, 11)[-1] == np.float32(0.7)
    assert whet.linspace(0, 10, 5, dtype=whet.int32).tolist() == [0, 2, 5, 7, 10]
    assert (whet.logspace(0, 2, 3).tolist() == [1, 10, 100]
            and whet.logspace(0, 3, 4, base=2).tolist() == [1, 2, 4, 8])
    assert whet.eye(2, 3).tolist() == [[1, 0, 0], [0, 1, 0]]
    np.testing.assert_array_equal(whet.tril_indices(3, 4, 1).numpy(), np.tril_indices(3, 1, 4))
    np.testing.assert_array_equal(whet.triu_indices(3, 2, -1).numpy(), np.triu_indices(3, -1, 2))
    assert whet.vander(whet.tensor([2, 3]), 3).tolist() == [[4, 2, 1], [9, 3, 1]]
    assert (whet.cartesian_prod(whet.tensor([1, 2]),
                                whet.tensor([3, 4])).tolist() == [[1, 3], [1, 4], [2, 3], [2, 4]])
    assert whet.combinations(whet.tensor([1, 2, 3])).tolist() == [[1, 2], [1, 3], [2, 3]]
    x, y = whet.meshgrid(whet.tensor([1, 2, 3]), whet.tensor([4, 5]), indexing="xy")
    assert x.tolist() == [[1, 2, 3], [1, 2, 3]] and y.tolist() == [[4, 4, 4], [5, 5, 5]]
    assert whet.block_diag(whet.ones(1, 2), whet.tensor(3.0)).tolist() == [[1, 1, 0], [0, 0, 3]]
    # a tensor of no dimension does not widen the others, as in arithmetic
    assert whet.block_diag(whet.ones(1, 2), whet.tensor(3.0).double()).dtype is whet.float32


@pytest.mark.parametrize("repeated", [False, True])
def test_combinations_come_in_order(repeated):
    choose = itertools.combinations_with_replacement if repeated else itertools.combinations
    for n, r in itertools.product(range(6), range(1, 5)):
        rows = whet.combinations(whet.arange(n), r, with_replacement=repeated)
        wanted = list(choose(range(n), r))
        assert rows.shape == (len(wanted), r) and list(map(tuple, rows.tolist())) == wanted


@pytest.mark.parametrize("name, scale",
                         [("hann", np.hanning), ("hamming", np.hamming), ("blackman", np.blackman),
                          ("bartlett", np.bartlett)])
def test_windows(name, scale):
    window = getattr(whet, f"{name}_window")
    for n in (0, 1, 2, 7, 8):
        np.testing.assert_allclose(
            window(n, periodic=False, dtype=whet.float64).numpy(), scale(n), atol=1e-15)
        if n > 1:
            np.testing.assert_allclose(
                window(n, dtype=whet.float64).numpy(),
                scale(n + 1)[:-1], atol=1e-15)
    np.testing.assert_allclose(
        whet.kaiser_window(7, False, 5.0, dtype=whet.float64).numpy(), np.kaiser(7, 5.0),
        rtol=1e-12)


def test_order_in_memory():
    x = whet.zeros(2, 3, 4)
    assert whet.empty_like(x.permute(2, 0, 1)).stride() == (1, 12, 4) == x.permute(
        2, 0, 1).clone().stride()
    assert whet.empty_like(x.permute(2, 0, 1),
                           memory_format=whet.contiguous_format).stride() == (6, 3, 1)
    assert whet.zeros(2, 3, 4,
                      5).contiguous(memory_format=whet.channels_last).stride() == (60, 1, 15, 3)
    assert whet.empty_strided((2, 3), (1, 2)).stride() == (1, 2) and whet.empty_permuted(
        (2, 3, 4), (1, 2, 0)).stride() == (1, 8, 2)
    assert x.contiguous() is x


def test_out_is_written_and_resized():
    out = whet.empty(0)
    assert (whet.arange(3, out=out) is out and out.tolist() == [0, 1, 2]
            and out.dtype is whet.float32)


def test_conversions():
    x = whet.tensor([1.7, -1.7, 300.0])
    assert (x.to(whet.int32).tolist() == [1, -1, 300] and x.long().dtype is whet.int64
            and x.to(whet.tensor(1)).dtype is whet.int64)
    assert (x.to(whet.float32) is x and x.to("cpu") is x and x.float() is x
            and x.to(whet.float32, copy=True) is not x)
    assert x.cpu() is x
    assert (x.to("cpu", whet.float64).dtype is whet.float64
            and x.to(device="cpu", dtype=whet.bool).tolist() == [True] * 3)
    assert whet.tensor([0.0, float("nan")]).bool().tolist() == [False, True]
    assert (x.type() == "whet.FloatTensor" and x.type(whet.int8).dtype is whet.int8
            and x.type("whet.LongTensor").dtype is whet.int64)
    c = whet.tensor([1 + 2j])
    assert x.cfloat().dtype is whet.complex64 and c.bool().tolist() == [True]
    with pytest.warns(UserWarning, match="discards the imaginary part"):
        assert c.to(whet.float32).tolist() == [1]
    w = whet.ones(2, requires_grad=True)
    w.double().sum().backward()
    assert w.grad.dtype is whet.float32
    with pytest.raises(TypeError, match="invalid combination"):
        x.to([1])


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize(
    "value", [0.1, 1e-8, -3.7, 65519.0, 65520.0, 1e30, float("nan"), float("-inf"), 5.960464e-8])
def test_half_types_round_to_nearest_even(value):
    x = whet.tensor([value] * 40)
    np.testing.assert_array_equal(x.half().numpy(), x.numpy().astype(np.float16))
    np.testing.assert_array_equal(x.bfloat16().float().numpy(),
                                  x.numpy().astype(whet.bfloat16.np).astype(np.float32))
    np.testing.assert_array_equal(x.half().float().numpy(),
                                  x.numpy().astype(np.float16).astype(np.float32))


def test_promotion():
    assert whet.result_type(whet.tensor([1, 2]), 1.0) is whet.float32
    assert whet.result_type(whet.tensor([1], dtype=whet.int8), 3) is whet.int8
    assert whet.result_type(whet.tensor(1.0, dtype=whet.float64), whet.ones(1)) is whet.float32
    assert whet.result_type(1, 2.0) is whet.float32
    assert whet.cat([whet.ones(1), whet.tensor([1])]).dtype is whet.float32


def test_detach_shares_memory_and_versions():
    w = whet.ones(3, requires_grad=True)
    x = w * 2
    d = x.detach()
    d[0] = 7.0
    assert x[0] == 7 and x._version == 1 and not d.requires_grad and d.is_leaf and d._base is None
    with pytest.raises(RuntimeError, match="Use tensor.detach"):
        w.numpy()
    assert w.numpy(force=True).tolist() == [1, 1, 1]


def test_copies_of_objects_keep_sharing():
    x = whet.arange(6.0)
    v, w = x[2:4], whet.ones(2, requires_grad=True)
    w.grad = whet.ones(2)
    for again in (copy.deepcopy((x, v, w)), pickle.loads(pickle.dumps((x, v, w)))):
        y, u, z = again
        y[2] = 9.0
        assert (u[0] == 9 and x[2] == 2 and u.tolist() == [9, 3] and z.requires_grad
                and not y.requires_grad)
    assert copy.deepcopy(w).grad.tolist() == [1, 1]
    assert copy.deepcopy([x, x])[0] is not x and (lambda a: a[0] is a[1])(copy.deepcopy([x, x]))
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(w * 2)


@pytest.mark.parametrize("dtype", [whet.bfloat16, whet.bool, whet.complex64, whet.int8], ids=str)
@pytest.mark.parametrize("part", [(..., ), (slice(None, None, 2),), (0,), (slice(0, 0),)])
def test_pickles_of_any_type_and_layout(dtype, part):
    x = whet.arange(12).view(3, 4).to(dtype).t()[part]
    y = pickle.loads(pickle.dumps(x))
    assert (y.dtype is dtype and y.tolist() == x.tolist()
            and (y.stride() == x.stride() or not x.numel()))
    assert copy.deepcopy(x).tolist() == x.tolist()


def test_a_pickle_of_a_small_view_of_a_large_array_loads():
    big = np.zeros((1000, 1000), np.float32)
    x = whet.from_numpy(big)[::2, 5]
    assert pickle.loads(pickle.dumps(x)).shape == (500,)


def test_storage():
    x = whet.arange(6, dtype=whet.int16)
    v = x[2:]
    assert (v.storage_offset() == 2 and v.untyped_storage() == x.untyped_storage()
            and v.untyped_storage().nbytes() == 12)
    assert (v.storage().tolist() == [0, 1, 2, 3, 4, 5] and v.storage()[1] == 1
            and v.untyped_storage()[2] == 1)
    v.storage()[0] = 7
    assert x[0] == 7


def test_resize():
    x = whet.arange(6.0)
    p = x.data_ptr()
    assert (x.resize_(2, 2).tolist() == [[0, 1], [2, 3]] and x.data_ptr() == p
            and x.resize_(6).tolist() == [0, 1, 2, 3, 4, 5])
    assert x.resize_(8)[:6].tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        whet.ones(2, requires_grad=True).resize_(3)


def test_inference_mode_marks_new_tensors():
    with whet.inference_mode():
        x = whet.tensor([1.0, 2.0])
        assert x.is_inference() and whet.zeros(2).is_inference() and x[0].is_inference()


def test_shared_memory():
    x = whet.arange(4.0)
    assert (not x.is_shared() and x.share_memory_() is x and x.is_shared() and x[1:].is_shared()
            and x.tolist() == [0, 1, 2, 3])


@pytest.mark.parametrize("make",
                         [
                             lambda a: whet.tensor(a), lambda a: whet.asarray(a, copy=True),
                             lambda a: whet.tensor(a.tolist()), lambda a: whet.randn(*a.shape),
                             lambda a: whet.rand(*a.shape)])
def test_large_tensors_begin_where_vectors_like_it(make):
    page = np.empty(4096 + 300 * 300, np.float32)
    for shift in range(1, 16):
        a = page[shift:shift + 90000].reshape(300, 300)
        a[:] = shift
        assert make(a).data_ptr() % 64 == 0


def test_tensors_of_one_element_in_lists_are_numbers():
    one = whet.ones(1)
    assert whet.tensor([one, one * 2]).tolist() == [1, 2]
    assert whet.tensor([[whet.ones(1, 1)], [3]]).tolist() == [[1], [3]]
    assert whet.tensor([whet.arange(2), whet.arange(2)]).shape == (2, 2)
    assert whet.jit.trace(lambda x: whet.tensor([x, x]))(one).shape == (2,)


def test_a_shape_holds_ints():
    for made in (whet.Size((whet.tensor(2), 3)), whet.Size((np.int64(2), 3)), whet.Size([True] * 2),
                 whet.Size(whet.tensor([2, 3]))):
        assert {type(n) for n in made} == {int}
    made = whet.jit.trace(lambda x, n: whet.Size((n, x.shape[0], 2)))
    assert [made(whet.ones(4), n) for n in (1, 2, 3, 2)] == [(1, 4, 2), (2, 4, 2), (3, 4, 2),
                                                             (2, 4, 2)]


def test_a_tensor_of_a_tensor_has_its_type_and_memory():
    whole = whet.tensor([1, 2])
    assert whet.Tensor(whole).dtype is whet.int64
    whet.Tensor(whole)[0] = 5
    assert whole[0] == 5


@pytest.mark.parametrize("make", [
    lambda out: whet.arange(4, out=out), lambda out: whet.range(0, 3, out=out),
    lambda out: whet.linspace(0, 3, 4, out=out),
    lambda out: whet.logspace(0, 3, 4, base=2, out=out).log2_()])
def test_a_range_keeps_the_shape_of_out_and_writes_to_no_other_place(make):
    x = whet.full((2, 3), 9.0)
    make(x[:, 1:])
    assert x.tolist() == [[9, 0, 1], [9, 2, 3]]


def test_logspace_between_complex_ends_is_complex():
    t = whet.logspace(0, 1j, 3)
    assert t.dtype is whet.complex64
    assert np.allclose(t.numpy(), 10 ** np.linspace(0, 1j, 3))
    with pytest.raises(RuntimeError, match="can't be safely cast"):
        whet.logspace(0, 1j, 3, dtype=whet.float64)


def test_complex_data_become_truth_values_and_no_other_numbers():
    assert whet.tensor([0j, 1j, 2 + 0j], dtype=whet.bool).tolist() == [False, True, True]
    for data in (1j, [1j, 2j]):
        for dtype in (whet.float32, whet.int64):
            with pytest.raises(TypeError, match="must be real number, not complex"):
                whet.tensor(data, dtype=dtype)


@pytest.mark.parametrize("data", ["a", [1, "a"], [[1], ["a"]]])
def test_texts_are_no_data(data):
    with pytest.raises(TypeError, match="invalid data type 'str'"):
        whet.tensor(data)


def test_empty_vectors_are_joined_along_any_dimension():
    assert whet.cat([whet.empty(0), whet.empty(0)], dim=1).shape == (0,)
    assert whet.cat([whet.empty(0), whet.ones(2, 3)], dim=1).shape == (2, 3)
    with pytest.raises(IndexError, match="Dimension out of range"):
        whet.cat([whet.ones(2), whet.empty(0)], dim=1)


@pytest.mark.parametrize("size", [(2, 4, 2**29, 2**29), (2**60,), (2**61, 2**61)])
def test_a_size_beyond_all_memory_is_named(size):
    for call in (lambda: whet.empty(size, dtype=whet.float64), lambda: whet.ones(2).resize_(size)):
        with pytest.raises(RuntimeError, match="Storage size calculation overflowed"):
            call()


def test_a_size_is_joined_to_other_tuples_on_both_sides():
    size = whet.Size([2, 3])
    for joined, want in ((size + (4,), (2, 3, 4)), ((4,) + size, (4, 2, 3))):
        assert joined == want and type(joined) is whet.Size


def test_a_device_has_no_negative_index():
    for make in (lambda: whet.device("cpu", -1), lambda: whet.device("cuda", -1),
                 lambda: whet.device(-1)):
        with pytest.raises(RuntimeError, match="must not be negative"):
            make()


def test_a_complex_number_that_is_real_is_a_python_number():
    x = whet.tensor(2 + 0j)
    assert (int(x), float(x), complex(x)) == (2, 2.0, 2 + 0j)
    traced = whet.jit.trace(lambda z, y: y * float(z))
    for z in (1.5, 2.5, 3.5, 4.5):
        assert traced(whet.tensor(z + 0j), whet.ones(2)).tolist() == [z, z]
    for convert in (int, float):
        with pytest.raises(RuntimeError, match="cannot be converted to type"):
            convert(whet.tensor(1 + 2j))
    with pytest.raises(RuntimeError, match="cannot be converted to type"):
        traced(whet.tensor(1j), whet.ones(2))


@pytest.mark.parametrize("make", [whet.rand_like, whet.randn_like,
                                  lambda x, **to: whet.randint_like(x, 10, **to)])
def test_draws_like_a_tensor_lie_in_memory_as_it_does(make):
    images = whet.ones(2, 3, 4, 5).contiguous(memory_format=whet.channels_last)
    for x in (images, whet.ones(3, 4).t(), whet.ones(2, 3, 4).permute(2, 0, 1)):
        assert make(x).stride() == x.stride()
        assert make(x, memory_format=whet.contiguous_format).is_contiguous()
    other = make(whet.ones(2, 3, 4, 5), memory_format=whet.channels_last)
    assert other.is_contiguous(memory_format=whet.channels_last)
    whet.manual_seed(1)
    drawn = make(images)
    whet.manual_seed(1)
    assert drawn.tolist() == make(whet.ones(2, 3, 4, 5)).tolist()
    assert make(whet.ones(3, 4).t(), dtype=whet.float64, requires_grad=True).is_leaf


def test_a_padding_value_may_be_an_array_without_dimensions():
    assert whet.nn.functional.pad(whet.zeros(1), (1, 0), value=np.array(2.0)).tolist() == [2, 0]
