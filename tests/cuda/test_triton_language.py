"""What kernels of users may be made of, on simulated devices: types, functions, libraries."""
import functools

import pytest
import whet
from whet.library import wrap_triton

from tests.triton_runs import needs_triton

triton = pytest.importorskip("triton")
tl = triton.language
from triton.language.extra import libdevice  # noqa: E402

from tests.cuda import triton_kernels as k  # noqa: E402

pytestmark = needs_triton
EQUAL = functools.partial(whet.testing.assert_close, rtol=0, atol=0)
CLOSE = functools.partial(whet.testing.assert_close, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", "float16 bfloat16 float64 int8 int16 int32 int64 uint8 uint16 "
                         "uint32 uint64".split())
def test_tensors_of_all_types_are_pointers(gpus, dtype):
    x = whet.arange(8, device="cuda").to(getattr(whet, dtype))
    out = whet.empty_like(x)
    wrap_triton(k.add_kernel)[(1,)](x, x, out, 8, BLOCK=8)
    assert out.cpu().tolist() == [2 * i for i in range(8)]


@triton.jit
def rounded_kernel(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
    squares = value * value + value
    tl.store(out + at, tl.where(squares > value, squares, -squares))


def test_bfloat16_is_rounded_after_each_operation(gpus):
    x = whet.randn(64).bfloat16()
    out = whet.empty(64, dtype=whet.bfloat16, device="cuda")
    wrap_triton(rounded_kernel)[(1,)](x.cuda(), out, BLOCK=64)
    squares = x * x + x
    EQUAL(out.cpu(), whet.where(squares > x, squares, -squares))


@triton.jit
def library_kernel(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
    cube = libdevice.pow(libdevice.abs(value), value * 0 + 3)
    made = libdevice.tanh(value) + cube + libdevice.erf(value)
    made = made + libdevice.rsqrt(value * value + 1)
    tl.store(out + at, tl.where(libdevice.isnan(made) != 0, 7.0, made))


@pytest.mark.parametrize("dtype", [whet.float32, whet.float64])
def test_nvidias_library_of_functions_is_simulated(gpus, dtype):
    x = whet.tensor([-1.5, 0.0, 0.25, float("nan")], dtype=dtype)
    out = whet.empty_like(x.cuda())
    wrap_triton(library_kernel)[(1,)](x.cuda(), out, BLOCK=4)
    want = x.tanh() + x.abs() ** 3 + x.erf() + (x * x + 1).rsqrt()
    CLOSE(out.cpu(), want.nan_to_num(nan=7.0))


@triton.jit
def rare_kernel(x):
    tl.store(x, libdevice.cyl_bessel_i0(tl.load(x)))


def test_a_function_of_the_library_that_is_not_simulated_says_so(gpus):
    x = whet.ones(1, device="cuda")
    wrap_triton(rare_kernel)[(1,)](x)
    with pytest.raises(RuntimeError, match="cyl_bessel_i0f has no form on simulated devices"):
        whet.cuda.synchronize()


@triton.jit
def applied_kernel(x, out, F: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, F(tl.load(x + at)))


@triton.jit
def _twice(x):
    return x + x


@triton.jit
def _squared(x):
    return x * x


def test_functions_are_constants(gpus):
    x, out = whet.arange(4.0, device="cuda"), whet.empty(4, device="cuda")
    for f, want in ((_twice, [0, 2, 4, 6]), (_squared, [0, 1, 4, 9])):
        wrap_triton(applied_kernel)[(1,)](x, out, f, 4)
        assert out.tolist() == want


@triton.jit
def chosen_kernel(mask, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.where(tl.load(mask + at), 1.0, 2.0))


def test_bools_are_pointers_too(gpus):
    mask = whet.tensor([True, False, False, True], device="cuda")
    out = whet.empty(4, device="cuda")
    wrap_triton(chosen_kernel)[(1,)](mask, out, BLOCK=4)
    assert out.tolist() == [1, 2, 2, 1]
