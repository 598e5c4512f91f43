"""`out=` of another shape gets it in its own memory, which must not be that of an operand. Of
another type it is taken where results are cast."""
import warnings

import pytest
import whet
import whet.nn.functional as F

CALLS = {
    "pointwise": lambda x, o: whet.add(x, 1, out=o),
    "of two": lambda x, o: whet.mul(whet.ones(6), x, out=o),
    "a function with out=": lambda x, o: whet.index_select(x, 0, whet.arange(6), out=o),
    "a list": lambda x, o: whet.cat([whet.ones(2), x], out=o),
    "several results": lambda x, o: whet.sort(x, out=(o, whet.empty(0, dtype=whet.int64))),
    "gelu": lambda x, o: F.gelu(x, out=o),
    "norm": lambda x, o: whet.linalg.vector_norm(x.view(6, 1), dim=1, out=o),
}
PARTS = {
    "the first": slice(0, 3), "those in the midst": slice(2, 5), "each second": slice(0, 6, 2)}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", CALLS)
def test_out_of_another_shape_over_an_operand_is_an_error(name, part):
    x = whet.arange(6.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            CALLS[name](x, x[PARTS[part]])
    assert x.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("name", CALLS)
def test_out_of_another_shape_elsewhere_is_resized(name):
    x, memory = whet.arange(6.0), whet.zeros(12)
    with pytest.warns(UserWarning, match="was resized"):
        CALLS[name](x, o := memory[2:4])
    assert x.tolist() == [0, 1, 2, 3, 4, 5]
    assert memory[2:2 + len(o)].tolist() == o.tolist() and any(o.tolist())


def test_out_of_the_result_s_shape_may_lie_over_an_operand():
    x = whet.arange(6.0)
    whet.add(x[:5], 1, out=x[1:])
    assert x.tolist() == [0, 1, 2, 3, 4, 5]
    whet.mul(x, 2, out=x)
    assert x.tolist() == [0, 2, 4, 6, 8, 10]


def test_out_that_repeats_elements_is_not_resized():
    with pytest.raises(RuntimeError, match="more than one element"):
        whet.index_select(whet.ones(3, 6), 1, whet.tensor([0, 1]), out=whet.zeros(1).expand(3, 1))


KEEP_THEIR_TYPE = {
    "a product": lambda x, o: whet.mm(x, x, out=o), "abs": lambda x, o: whet.abs(x, out=o),
    "softmax": lambda x, o: whet.softmax(x, 0, out=o), "triu": lambda x, o: whet.triu(x, out=o),
    "linear": lambda x, o: F.linear(x, x, out=o), "gelu": lambda x, o: F.gelu(x, out=o),
    "a copy of a view": lambda x, o: whet.view_copy(x, (4,), out=o),
    "an inverse": lambda x, o: whet.linalg.inv(x, out=o),
    "one of several": lambda x, o: whet.sort(x, out=(o, whet.empty(0, dtype=whet.int64))),
    "a constructor": lambda x, o: whet.zeros(2, dtype=whet.float32, out=o),
    "a range": lambda x, o: whet.arange(3, dtype=whet.float32, out=o),
    "hardshrink": lambda x, o: whet.hardshrink(x, out=o),
    "softshrink": lambda x, o: F.softshrink(x, out=o),
    "between two of one type": lambda x, o: whet.lerp(x, x, x, out=o),
    "heaviside": lambda x, o: whet.heaviside(x, x, out=o),
    "a choice": lambda x, o: whet.where(x > 1, x, 0.0, out=o),
    "nan_to_num": lambda x, o: whet.nan_to_num(x, out=o),
    "sums of products": lambda x, o: whet.inner(x, x, out=o),
    "extrema with places": lambda x, o: whet.max(x, 0, out=(o, whet.empty(0, dtype=whet.int64))),
    "a mean in a type": lambda x, o: whet.mean(x, dtype=whet.float32, out=o),
    "draws": lambda x, o: whet.rand(2, dtype=whet.float32, out=o)}
CAST = {
    "of two": lambda x, o: whet.add(x, 1, out=o), "exp": lambda x, o: whet.exp(x, out=o),
    "a sum": lambda x, o: whet.sum(x, out=o), "cat": lambda x, o: whet.cat([x, x], out=o),
    "an outer product": lambda x, o: whet.addr(x, x[0], x[1], out=o),
    "a pseudo-inverse": lambda x, o: whet.linalg.pinv(x, out=o),
    "between by a number": lambda x, o: whet.lerp(x, x, 0.5, out=o),
    "an extremum": lambda x, o: whet.max(x, out=o),
    "threshold": lambda x, o: whet.threshold(x, 1.0, 2.0, out=o),
    "logical_not": lambda x, o: whet.logical_not(x, out=o),
    "a permutation": lambda x, o: whet.randperm(3, out=o)}


@pytest.mark.parametrize("name", KEEP_THEIR_TYPE)
def test_out_must_have_the_type_of_results_that_are_not_cast(name):
    x, wide = whet.tensor([[2.0, 1.0], [0.0, 3.0]]), whet.empty(0, dtype=whet.float64)
    with pytest.raises(RuntimeError, match="dtype"):
        KEEP_THEIR_TYPE[name](x, wide)
    assert not wide.numel()
    KEEP_THEIR_TYPE[name](x, narrow := whet.empty(0))
    assert narrow.numel()


@pytest.mark.parametrize("name", CAST)
def test_out_may_have_a_wider_type_than_results_that_are_cast(name):
    x, wide = whet.tensor([[2.0, 1.0], [0.0, 3.0]]), whet.empty(0, dtype=whet.float64)
    CAST[name](x, wide)
    assert wide.numel() and wide.dtype is whet.float64


def test_moduli_go_into_any_floats_and_into_their_numbers_type():
    z = whet.tensor([3 + 4j])
    for dtype in (whet.float16, whet.float32, whet.float64, whet.complex64):
        assert whet.abs(z, out=whet.empty(1, dtype=dtype)).tolist() == [5]
    for dtype in (whet.complex128, whet.int64):
        with pytest.raises(RuntimeError):
            whet.abs(z, out=whet.empty(1, dtype=dtype))


def test_tensors_are_not_joined_into_a_type_that_cannot_hold_them():
    for join in (whet.cat, whet.stack, whet.hstack):
        with pytest.raises(TypeError, match="can't be cast to the desired output type Long"):
            join([whet.ones(2), whet.ones(2)], out=whet.empty(0, dtype=whet.int64))


@pytest.mark.parametrize("name", ["signbit", "isneginf", "isposinf"])
def test_tests_of_one_number_go_into_booleans_alone(name):
    with pytest.raises(RuntimeError, match="Found dtype Float but expected Bool"):
        getattr(whet, name)(whet.ones(3), out=whet.empty(3))


def test_powers_in_double_precision_go_into_nothing_narrower():
    for made in (whet.empty(2), whet.empty(2, dtype=whet.complex128)):
        with pytest.raises(RuntimeError, match="expected Double"):
            whet.float_power(whet.ones(2), 2, out=made)
    out = whet.empty(2, dtype=whet.float64)
    assert whet.float_power(whet.tensor([2, 3]), 2, out=out) is out and out.tolist() == [4, 9]


@pytest.mark.parametrize("name", ["all", "any"])
@pytest.mark.parametrize("of", [whet.uint8, whet.float32])
def test_truths_go_into_booleans_and_bytes(name, of):
    x = whet.tensor([[0, 3], [2, 2]], dtype=of)
    wanted = [False, True] if name == "all" else [True, True]
    for dtype in (whet.bool, whet.uint8):
        out = getattr(whet, name)(x, 1, out=whet.empty(0, dtype=dtype))
        assert out.dtype is dtype and out.tolist() == wanted
    with pytest.raises(RuntimeError, match="only supports bool tensor for result, got: Float"):
        getattr(whet, name)(x, 1, out=whet.empty(0))


def test_real_transforms_do_not_go_into_complex_numbers():
    x = whet.tensor([1.0, 2.0, 3.0])
    for name in ("irfft", "hfft", "hfftn", "irfftn", "irfft2"):
        transform = getattr(whet.fft, name)
        x = x.reshape(1, 3)
        with pytest.raises(RuntimeError, match="can't be cast"):
            transform(x, out=whet.empty(0, dtype=whet.complex64))
        assert transform(x, out=whet.empty(0, dtype=whet.float64)).dtype is whet.float64


def test_draws_of_zeros_and_ones_go_into_whole_numbers():
    out = whet.bernoulli(whet.tensor([0.0, 1.0]), out=whet.empty(0, dtype=whet.int64))
    assert out.dtype is whet.int64 and out.tolist() == [0, 1]
    with pytest.raises(NotImplementedError):
        whet.bernoulli(whet.ones(2), out=whet.empty(2, dtype=whet.complex64))


def test_draws_around_means_keep_the_shape_of_out():
    out = whet.normal(whet.tensor([0.0, 100.0]), 1.0, out=whet.empty(3, 2))
    assert out.shape == (3, 2) and bool((out[:, 1] > 50).all()) and len(set(out[:, 0].tolist())) > 1
    with pytest.raises(RuntimeError, match="do not broadcast"):
        whet.normal(whet.zeros(3), 1.0, out=whet.empty(2))


def test_an_extremum_of_all_elements_keeps_no_dimension():
    for call in (lambda x: x.max(keepdim=True), lambda x: whet.min(x, keepdim=True),
                 lambda x: whet.max(x, x, True)):
        with pytest.raises(TypeError, match="keepdim"):
            call(whet.ones(3))


def test_dimensions_are_in_tuples_or_lists():
    x = whet.ones(3)
    for dims in ({}, {0}, set(), range(1)):
        with pytest.raises(TypeError, match="argument 'dim' must be"):
            x.sum(dims)
    assert x.sum([0]).item() == x.sum((0,)).item() == 3
