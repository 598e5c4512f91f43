"""Steps that print lines, and that call SciPy, are replayed with eager's results."""
import contextlib
import io

import pytest
import whet

from tests.loops.harness import untimed


def replays(f, *of_call):
    """How many of twelve calls are replayed; all give and print what eager calls do."""
    t = whet.jit.trace(f)
    with untimed():
        for args in of_call:
            seen = []
            for call in (f, t):
                with contextlib.redirect_stdout(io.StringIO()) as out:
                    seen.append((repr(call(*args)), out.getvalue()))
            assert seen[0] == seen[1]
    return t._policy.summary().replayed


@pytest.mark.parametrize("form", [
    '"[%d/%d] loss: %.4f" % (i, 10, loss)', '"{} {:.3f} {:>5}".format(i, loss, i)',
    '"%s %r" % (i, loss)', '"at " + str(i)', 'f"{i}: {loss!s}"', '"%.1f" % loss'])
def test_lines_with_numbers_that_vary(form):
    names = {}
    exec(f"def f(i, x):\n    loss = x.mean().item()\n    print({form})\n    return x * 2", names)
    assert replays(names["f"], *[(i, whet.ones(3) * i) for i in range(12)]) >= 8


def test_functions_of_arrays():
    optimize, ndimage = pytest.importorskip("scipy.optimize"), pytest.importorskip("scipy.ndimage")
    def f(x):
        rows, columns = optimize.linear_sum_assignment(whet.cdist(x, x.flip(0)))
        blurred = whet.from_numpy(ndimage.gaussian_filter(x.numpy(), 1.0))
        return x[whet.as_tensor(columns)] * rows.sum(), blurred * 2
    x = whet.arange(12.0).view(4, 3)
    assert replays(f, *[((x * (i + 1)).sin(),) for i in range(12)]) >= 8
