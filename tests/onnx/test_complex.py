"""Complex numbers in ONNX: runners have real ones alone, so each part is a value of its own."""

import numpy as np
import pytest
import whet
import whet.onnx
from whet.onnx.write.complex_values import as_pairs

pytest.importorskip("onnx")


def written(fn, *args, folder, opset=20, **how):
    path = folder / "model.onnx"
    whet.export(fn, *args, **how).to_onnx(path, opset=opset)
    return path


def agree(fn, *args, folder, opset=20):
    """The file gives what the function gives, in the standard's own evaluator and read back."""
    import onnx
    from onnx.reference import ReferenceEvaluator

    path = written(fn, *args, folder=folder, opset=opset)
    made = fn(*args)
    wanted = [as_pairs(t.numpy()) for t in (made if isinstance(made, tuple) else (made,))]
    given = [np.ascontiguousarray(as_pairs(t.numpy())) for t in args]
    proto = onnx.load(path)
    names = [x.name for x in proto.graph.input]
    by_standard = ReferenceEvaluator(proto).run(None, dict(zip(names, given)))
    again = whet.onnx.load(path)(*map(whet.from_numpy, given))
    read = [t.detach().numpy() for t in (again if isinstance(again, tuple) else (again,))]
    for want, *got in zip(wanted, by_standard, read, strict=True):
        for a in got:
            assert (a.shape, a.dtype) == (want.shape, want.dtype)
            assert np.abs(a - want).max() <= 1e-5 * (1 + np.abs(want).max())


def numbers(*shape):
    return whet.randn(*shape, dtype=whet.complex64)


def spectrum(x):
    return whet.fft.rfft(x).abs()


def fourier_mixing(x):
    return whet.fft.fft(whet.fft.fft(x, dim=-1), dim=-2).real


def neural_operator(x, w):
    f = whet.fft.rfft2(x)
    low = whet.einsum("bixy,ioxy->boxy", f[..., :2, :2], w)
    out = whet.zeros(*f.shape, dtype=f.dtype)
    out[..., :2, :2] = low
    return whet.fft.irfft2(out, s=x.shape[-2:])


def rotated(x, turns):
    pairs = whet.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return whet.view_as_real(pairs * turns).flatten(-2)


def spectrogram(x):
    window = whet.hann_window(8)
    return whet.stft(x, 8, window=window, return_complex=True).abs().square()


def spectrum_of_turned(x):
    return whet.fft.rfft(x).transpose(1, 2).abs()


def scales(x):
    return (whet.fft.ifft(x, norm="ortho"), whet.fft.fftn(x, norm="forward"),
            whet.fft.hfft(x, 7), whet.fft.ifftn(x, norm="forward"))


def arithmetic(z):
    return ((z + 1j) / (z * z.conj() + 2), z.exp().log(), z ** 3, z ** 0.5, z.sin() * z.cosh(),
            whet.sigmoid(z), z.tanh(), whet.sgn(z), z.mean(), whet.where(z.real > 0, z, 2 * z),
            z.reciprocal(), z.acos(), whet.nn.functional.pad(z, (1, 1), value=2.0), 1 - z)


def written_parts(z):
    y = z.clone()
    y.real[..., 0] = 3.0
    y.imag.add_(1)
    whet.view_as_real(y)[..., 1].mul_(2)
    return y, y.abs().sum()


CASES = {
    "spectrum": (spectrum, lambda: [whet.randn(2, 7)]),
    "vector": (spectrum, lambda: [whet.randn(8).double()]),
    "fourier mixing": (fourier_mixing, lambda: [whet.randn(2, 4, 6)]),
    "neural operator": (neural_operator, lambda: [whet.randn(2, 3, 4, 5), numbers(3, 3, 2, 2)]),
    "rotated": (rotated, lambda: [whet.randn(2, 3, 8), numbers(3, 4)]),
    "spectrogram": (spectrogram, lambda: [whet.randn(2, 32)]),
    "scales": (scales, lambda: [numbers(3, 5)]),
    "arithmetic": (arithmetic, lambda: [numbers(3, 4)]),
    "linear": (whet.nn.functional.linear, lambda: [numbers(3, 4), numbers(5, 4), numbers(5)]),
    "written parts": (written_parts, lambda: [numbers(3, 4)]),
}


@pytest.mark.parametrize("opset", [17, 20])
@pytest.mark.parametrize("name", CASES)
def test_a_function_of_complex_numbers_has_a_form(name, opset, tmp_path):
    fn, args = CASES[name]
    whet.manual_seed(3)
    agree(fn, *args(), folder=tmp_path, opset=opset)


@pytest.mark.parametrize("fn", [fourier_mixing, spectrum_of_turned])
def test_sizes_may_differ_where_a_transform_is(fn, tmp_path):
    dims = {"x": {0: whet.jit.Dim("batch", max=8), 1: whet.jit.Dim("length", min=3, max=20)}}
    path = written(fn, whet.randn(2, 4, 6), folder=tmp_path, dynamic=dims)
    x = whet.randn(3, 7, 6)
    assert (whet.onnx.load(path)(x) - fn(x)).abs().max() < 1e-4


def test_complex_constants_are_one_array_of_pairs(tmp_path):
    class Filter(whet.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = whet.nn.Parameter(numbers(5))

        def forward(self, x):
            return whet.fft.irfft(whet.fft.rfft(x) * self.weight, x.shape[-1])

    model, x = Filter(), whet.randn(2, 8)
    again = whet.onnx.load(written(model, x, folder=tmp_path))
    assert again.state_dict()["weight"].shape == (5, 2)
    assert (again(x) - model(x)).abs().max() < 1e-5


def test_what_has_no_form_names_the_line(tmp_path):
    with pytest.raises(whet.onnx.OnnxError, match=r"test_complex\.py:\d+: prod: complex numbers"):
        written(lambda z: z.prod(0), numbers(3, 4), folder=tmp_path)
