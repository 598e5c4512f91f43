"""What `autocast` makes of functions that are no products, and operands of two types."""
import pytest
import whet
import whet.nn.functional as F
from whet import jit

FLOAT, HALF = whet.float32, whet.bfloat16
A, B = whet.linspace(-1, 1, 12), whet.linspace(0.1, 2, 12)
IMAGE, GRID = A[:9].view(1, 1, 3, 3), B[:4].view(1, 1, 2, 2) - 1
MATRIX = A[:9].view(3, 3)
SMALL = {
    "prelu": lambda t, u: F.prelu(A.to(t), B[:1].to(u)),
    "conv_transpose1d": lambda t, u: F.conv_transpose1d(
        A.to(t).view(1, 2, 6), B.to(u).view(2, 3, 2), A[:3]),
    "conv_transpose2d": lambda t, u: F.conv_transpose2d(
        IMAGE.to(t), B[:4].to(u).view(1, 1, 2, 2)),
}
LARGE = {
    "grid_sample": lambda t, u: F.grid_sample(IMAGE.to(t), GRID.to(u), align_corners=False),
    "cdist": lambda t, u: whet.cdist(MATRIX.to(t), MATRIX.to(u) + 1),
    "trace": lambda t, u: MATRIX.to(t).trace(),
    "prod": lambda t, u: B.to(t).prod(),
    "rfft": lambda t, u: whet.fft.rfft(A.to(t)).abs(),
    "stft": lambda t, u: whet.stft(A.to(t), 4, window=B[:4].to(u), return_complex=True).abs(),
}


@pytest.mark.parametrize("u", [FLOAT, HALF], ids=str)
@pytest.mark.parametrize("t", [FLOAT, HALF], ids=str)
@pytest.mark.parametrize("name", [*SMALL, *LARGE])
def test_types_under_autocast(name, t, u):
    """The same numbers as without it, in the type that autocast is for or in float32."""
    f = SMALL.get(name) or LARGE[name]
    with whet.autocast("cpu"):
        y = f(t, u)
    assert y.dtype is (HALF if name in SMALL else FLOAT)
    assert whet.allclose(y.float(), f(FLOAT, FLOAT), rtol=0.05, atol=0.03)


def test_positions_that_a_product_made_are_those_of_the_image():
    """A spatial transformer: its image is of float32, and its grid a product's."""
    image, features = whet.linspace(0, 1, 50).view(2, 1, 5, 5), whet.ones(2, 4)
    weight = whet.linspace(-0.2, 0.2, 24).view(6, 4)

    def warped(image):
        theta = (features @ weight.T).view(-1, 2, 3)
        grid = F.affine_grid(theta, image.shape, align_corners=False)
        return F.grid_sample(image, grid, align_corners=False)
    traced, exact = jit.trace(warped), warped(image)
    with whet.autocast("cpu"):
        for _ in range(3):
            assert whet.equal(traced(image), warped(image))
            assert whet.allclose(warped(image), exact, atol=0.02)
    assert "2 of 3 calls replayed" in repr(traced)


def test_float64_is_not_mixed_with_others_under_autocast():
    with whet.autocast("cpu"):
        with pytest.raises(RuntimeError, match="same dtype"):
            F.grid_sample(IMAGE.double(), GRID, align_corners=False)
        y = F.grid_sample(IMAGE.double(), GRID.double(), align_corners=False)
    assert y.dtype is whet.float64


@pytest.mark.parametrize("norm", [
    lambda x, w, b: F.group_norm(x, 2, w, b),
    lambda x, w, b: F.instance_norm(x, weight=w, bias=b)], ids=["group_norm", "instance_norm"])
def test_norms_of_halves_with_parameters_of_float32(norm):
    x, w, b = B.view(1, 4, 3), whet.ones(4) * 2, whet.ones(4)
    y = norm(x.to(HALF), w, b)
    assert y.dtype is HALF and whet.allclose(y.float(), norm(x, w, b), atol=0.05)
