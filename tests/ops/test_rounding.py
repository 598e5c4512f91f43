"""Functions of several ops compute halves in float32 and round once: a result is the half that is
nearest to the one of float64, which two roundings miss in a quarter of all cases."""
import pytest
import whet
import whet.nn.functional as F

X = whet.linspace(-8, 8, 360, dtype=whet.float64).sin().mul(8).view(2, 6, 5, 6)
W, B, POSITIVE = (f(whet.arange(1.0, 7.0, dtype=whet.float64)) for f in (
    whet.sin, whet.cos, whet.sqrt))
FUNCTIONS = {
    "batch_norm": lambda x, w, b, v: F.batch_norm(x, b, v, w, b),
    "group_norm": lambda x, w, b, v: F.group_norm(x, 3, w, b),
    "group_norm without bias": lambda x, w, b, v: F.group_norm(x, 3, w),
    "instance_norm": lambda x, w, b, v: F.instance_norm(x, weight=w, bias=b),
    "layer_norm without bias": lambda x, w, b, v: F.layer_norm(x, (6,), w),
    "rms_norm": lambda x, w, b, v: F.rms_norm(x, (6,), w),
    "std": lambda x, w, b, v: x.std(-1),
    "std_mean": lambda x, w, b, v: whet.std_mean(x, -1)[1],
    "norm": lambda x, w, b, v: x.norm(dim=-1),
    **{mode: lambda x, w, b, v, mode=mode: F.interpolate(x, size=(4, 9), mode=mode)
       for mode in ("bilinear", "bicubic")},
    "linear": lambda x, w, b, v: F.interpolate(x[0], size=9, mode="linear"),
    "bilinear by a scale": lambda x, w, b, v: F.interpolate(
        x, scale_factor=1.7, mode="bilinear", antialias=True),
    "a linear layer": lambda x, w, b, v: F.linear(x, x[0, 0], w[:5]),
    "a linear layer for each example": lambda x, w, b, v: whet.vmap(F.linear)(
        x[0], x[1], x[0, :, 0, :5]),
    "a linear layer for one number": lambda x, w, b, v: F.linear(x, w, b[0]),
    "addmm of a row": lambda x, w, b, v: whet.addmm(w[:5], x[0, 0], x[0, 1].mT),
    "addmm with factors": lambda x, w, b, v: whet.addmm(
        x[0, 2, :, :5], x[0, 0], x[0, 1].mT, beta=0.5, alpha=-3),
    "baddbmm": lambda x, w, b, v: whet.baddbmm(x[1, :, :, :5], x[0], x[1].mT),
    "trilinear": lambda x, w, b, v: F.interpolate(x[None], size=(4, 3, 9), mode="trilinear"),
}


@pytest.mark.parametrize("dtype", [whet.float16, whet.bfloat16], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_halves_are_rounded_once(name, dtype):
    halves = [t.to(dtype) for t in (X, W, B, POSITIVE)]
    exact = FUNCTIONS[name](*[t.double() for t in halves])
    found = FUNCTIONS[name](*halves)
    assert found.dtype is dtype
    assert (found != exact.to(dtype)).double().mean() < 0.05


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_of_halves_are_halves_near_the_exact_ones(name):
    """What was computed in float32 gives gradients in the types of the operands."""
    def gradients(dtype):
        leaves = [t.to(whet.float16).to(dtype).requires_grad_() for t in (X, W, B, POSITIVE)]
        (FUNCTIONS[name](*leaves) * 0.5).sum().backward()
        return [t.grad for t in leaves if t.grad is not None]
    for half, exact in zip(gradients(whet.float16), gradients(whet.float64), strict=True):
        assert half.dtype is whet.float16
        assert whet.allclose(half.double(), exact, rtol=5e-3, atol=5e-3)
