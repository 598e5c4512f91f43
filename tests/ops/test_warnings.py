"""What functions warn of: in every call, on the user's line, traced or not."""
import warnings

import pytest
import whet

F = whet.nn.functional
x, image, grid, maps = (whet.zeros(*size) for size in (
    (2, 3), (1, 1, 2, 2), (1, 2, 2, 2), (1, 2, 3)))


@pytest.mark.parametrize("given, call", [
    ("reduction='mean'", lambda: F.kl_div(x, x)),
    ("reduction='mean'", lambda: whet.nn.KLDivLoss()(x, x)),
    ("grid_sample: align_corners", lambda: F.grid_sample(image, grid)),
    ("grid_sample: align_corners", lambda: F.grid_sample(image.half(), grid.half())),
    ("affine_grid: align_corners", lambda: F.affine_grid(maps, (1, 1, 2, 2))),
    ("one pixel", lambda: F.affine_grid(maps, (1, 1, 2, 1), align_corners=True))])
def test_what_is_not_said_is_warned_of(given, call):
    for f in (call, whet.jit.trace(call)):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            for _ in range(5):
                f()
        assert [w.category for w in seen] == [UserWarning] * 5
        assert all(given in str(w.message) and w.filename == __file__ for w in seen)


def test_what_is_said_is_not(recwarn):
    F.kl_div(x, x, reduction="batchmean")
    F.kl_div(x, x, reduction="sum")
    F.grid_sample(image, grid, align_corners=False)
    F.affine_grid(maps, (1, 1, 2, 2), align_corners=True)
    F.affine_grid(maps, (1, 1, 1, 1), align_corners=False)
    assert not recwarn.list
