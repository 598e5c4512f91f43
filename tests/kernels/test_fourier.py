"""Fourier transforms against NumPy's in double precision, of sizes around each boundary."""
import numpy as np
import pytest
import whet
from whet.cpu import fourier

pytestmark = pytest.mark.skipif(fourier.REFERENCE, reason="NumPy alone is wanted")
FEW = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15, 16, 17, 19, 23, 31, 33, 64, 128, 143, 200, 255, 256]
MANY = [257, 260, 288, 289, 300, 512, 1000, 1001, 2048, 3003, 4096]
CONVOLVED = [29, 31, 37, 58, 97, 113, 122, 127, 139, 257, 509, 1021]
SHAPES = [lambda n: (n,), lambda n: (17, n), lambda n: (n, 1), lambda n: (2, n, 5),
          lambda n: (n, 33)]
NORMS = ["backward", "ortho", "forward"]


def near(got, wanted):
    single = got.dtype.char in "fF"
    bound = 2e-6 if single else 4e-15
    assert got.dtype.char in "fdFD"
    assert np.abs(got - wanted).max() <= bound * max(1e-9, np.abs(wanted).max())


def numbers(dtype, *shape):
    rng = np.random.default_rng(sum(shape))
    a = rng.standard_normal(shape)
    return (a + 1j * rng.standard_normal(shape) if dtype in "FD" else a).astype(dtype)


@pytest.mark.drawn(3)
@pytest.mark.parametrize("n", FEW + MANY + CONVOLVED)
@pytest.mark.parametrize("dtype", ["F", "D"])
@pytest.mark.parametrize("inverse", [False, True])
def test_complex_numbers(n, dtype, inverse):
    name = "ifft" if inverse else "fft"
    for shape, norm in zip(SHAPES, NORMS + NORMS, strict=False):
        a, dim = numbers(dtype, *shape(n)), shape(n).index(n)
        got = fourier.complex_to_complex(a, dims=(dim,), inverse=inverse, norm=norm)
        near(got, getattr(np.fft, name)(a.astype("D"), axis=dim, norm=norm))


@pytest.mark.drawn(3)
@pytest.mark.parametrize("n", [
    *(2 * half for half in FEW + MANY + CONVOLVED), *(n for n in FEW + MANY + CONVOLVED if n % 2)])
@pytest.mark.parametrize("dtype", ["f", "d"])
def test_real_numbers_and_back(n, dtype):
    for shape, norm in zip(SHAPES, NORMS + NORMS, strict=False):
        a, dim = numbers(dtype, *shape(n)), shape(n).index(n)
        got = fourier.real_to_complex(a, dim=dim, norm=norm)
        near(got, np.fft.rfft(a.astype("d"), axis=dim, norm=norm))
        got[(slice(None),) * dim + (0,)] += 1j          # what nobody reads
        near(fourier.complex_to_real(got, dim=dim, n=n, norm=norm), a)


@pytest.mark.parametrize("layout", [lambda a: a, np.asfortranarray, lambda a: a[::-1, :, ::2]])
def test_several_dimensions_of_any_layout(layout):
    a = layout(numbers("F", 6, 300, 8))
    for dims in ((0, 1), (1, 2), (0, 1, 2), (2, 0), (1,)):
        near(fourier.complex_to_complex(a, dims=dims, inverse=False, norm="ortho"),
             np.fft.fftn(a.astype("D"), axes=dims, norm="ortho"))


@pytest.mark.parametrize("n", [5, 37, 96, 256, 500, 509, 1024])
def test_a_transform_has_the_same_bits_wherever_it_lies(n):
    a = numbers("F", 37, n)
    whole = fourier.complex_to_complex(a, dims=(1,), inverse=False, norm="backward")
    for i in (0, 3, 36):
        alone = fourier.complex_to_complex(a[i], dims=(0,), inverse=False, norm="backward")
        assert alone.tobytes() == whole[i].tobytes()
    turned = fourier.complex_to_complex(np.ascontiguousarray(a.T), dims=(0,), inverse=False,
                                        norm="backward")
    assert turned.T.tobytes() == whole.tobytes()


@pytest.mark.parametrize("dtype", ["F", "D"])
def test_transforms_beside_each_other_are_not_copied_into_rows(dtype, monkeypatch):
    a = numbers(dtype, 2, 512, 5)
    for inverse, exact in ((False, np.fft.fft), (True, np.fft.ifft)):
        rows = fourier.complex_to_complex(np.ascontiguousarray(a.transpose(0, 2, 1)), dims=(2,),
                                          inverse=inverse, norm="backward")
        with monkeypatch.context() as m:
            m.setattr(fourier, "_moved", None)
            got = fourier.complex_to_complex(a, dims=(1,), inverse=inverse, norm="backward")
        near(got, exact(a.astype("D"), axis=1))
        assert got.transpose(0, 2, 1).tobytes() == rows.tobytes()


@pytest.mark.parametrize("n", [29, 97, 127, 139, 1022, 10007])
@pytest.mark.parametrize(("dtype", "exact", "bound"), [("f", "d", 3e-7), ("d", "g", 8e-16)])
def test_convolutions_lose_few_bits(n, dtype, exact, bound):
    assert fourier.passes_of(n) >= 2 * n - 1
    a, z = numbers(dtype, 3, n), numbers(dtype.upper(), 3, n)
    for got, wanted in (
            (fourier.complex_to_complex(z, dims=(1,), inverse=False, norm="backward"),
             np.fft.fft(z.astype(exact.upper()))),
            (fourier.complex_to_complex(z, dims=(1,), inverse=True, norm="backward"),
             np.fft.ifft(z.astype(exact.upper()))),
            (fourier.real_to_complex(a, dim=1, norm="backward"), np.fft.rfft(a.astype(exact)))):
        assert np.linalg.norm(got - wanted) <= bound * np.linalg.norm(wanted)


def test_rows_of_a_convolution_do_not_meet():
    a = numbers("F", 40, 37)
    wanted = fourier.complex_to_complex(a, dims=(1,), inverse=False, norm="backward")
    a[1::2] = np.nan
    got = fourier.complex_to_complex(a, dims=(1,), inverse=False, norm="backward")
    assert np.isnan(got[1::2]).all() and got[::2].tobytes() == wanted[::2].tobytes()


def test_the_largest_sizes_are_those_of_numpy():
    n = 524309                              # prime; twice as many are more than a table is worth
    a = numbers("F", n)
    assert not fourier.fits(a, n) and fourier.fits(a, 131071)
    near(fourier.complex_to_complex(a, dims=(0,), inverse=False, norm="ortho"),
         np.fft.fft(a.astype("D"), norm="ortho"))


def test_a_transform_is_replayed_by_its_launches():
    x, y = whet.randn(3, 8, 600), whet.randn(5, 20, 24)
    for f, a in ((lambda x: whet.fft.irfft(whet.fft.rfft(x) * 2.0), x),
                 (lambda x: whet.fft.fft2(x).abs(), y), (lambda x: whet.fft.rfft(x, dim=1), y)):
        traced, wanted = whet.jit.trace(f), f(a).numpy().tobytes()
        assert all(traced(a).numpy().tobytes() == wanted for _ in range(4))


def test_angles_are_exact_at_eighths_of_a_turn():
    cosine, sine = fourier._angle(np.arange(9), 8)
    root = np.sqrt(0.5)
    assert np.allclose(cosine, [1, root, 0, -root, -1, -root, 0, root, 1], rtol=0, atol=2e-16)
    assert np.allclose(sine, [0, -root, -1, -root, 0, root, 1, root, 0], rtol=0, atol=2e-16)
    assert cosine[2] == sine[0] == sine[4] == cosine[6] == 0
