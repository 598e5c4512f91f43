"""SciPy's functions in what is traced: of arrays, of tensors, of user functions."""
import numpy as np
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import whet
from scipy import ndimage
from scipy.optimize import linear_sum_assignment

from tests.traps.harness import Box, leaf, mlp, outcome, ramp, thrice, trap


@trap
def predictions_are_matched_with_targets():
    """As detectors do: costs of a step choose which prediction belongs to which target."""
    model = mlp()
    def f(x, targets):
        y = model(x)
        costs = whet.cdist(y, targets).detach()
        rows, columns = linear_sum_assignment(costs)
        loss = (y[whet.as_tensor(rows)] - targets[whet.as_tensor(columns)]).abs().mean()
        model.zero_grad()
        loss.backward()
        return loss, rows, columns
    def calls(f):
        for _ in range(8):
            yield f(whet.randn(4, 3), whet.randn(4, 2)), [p.grad for p in model.parameters()]
        yield f(whet.randn(5, 3), whet.randn(3, 2))
    return f, calls


@trap
def costs_that_scipy_refuses():
    """Not a number among the costs, a cost with a history, a vector: SciPy's own errors."""
    def f(c): return whet.from_numpy(linear_sum_assignment(c)[1]) + 1
    def calls(f):
        yield from thrice(lambda: f(whet.rand(3, 3)))
        yield outcome(lambda: f(ramp(3, 3) * float("nan")))
        yield outcome(lambda: f(leaf(3, 3)))
        yield outcome(lambda: f(ramp(3)))
        yield from thrice(lambda: f(whet.rand(3, 3)))
    return f, calls


@trap
def scipy_writes_to_what_it_is_given():
    """output=, and overwrite_a=."""
    kept = np.zeros((4, 4), np.float32)
    def f(a, way):
        if way == 0:
            ndimage.gaussian_filter(a, 1.0, output=kept)
            return whet.from_numpy(kept.copy())
        if way == 1:
            return whet.from_numpy(scipy.linalg.qr(a, overwrite_a=True)[1])
        return whet.from_numpy(ndimage.sobel(a, 0, a))
    def calls(f):
        for way in range(3):
            for k in range(5):
                a = np.asfortranarray(np.arange(16, dtype=np.float32).reshape(4, 4) ** 0.5 + k)
                yield outcome(lambda a=a, way=way: f(a, way)), a, kept
    return f, calls


@trap
def scipy_is_given_functions():
    """A function with state of its own, which SciPy calls."""
    o = Box(asked=0, at=2.0)
    def distance(v):
        o.asked += 1
        return (v - o.at) ** 2
    def f(x):
        return x * float(scipy.optimize.minimize_scalar(distance).x)
    def calls(f):
        for at in (2.0, 2.0, 2.0, 3.0, 3.0):
            o.at = at
            yield f(ramp(2)), o.asked
    return f, calls


@trap
def arrays_for_functions_that_cython_compiled():
    """They take nothing that only looks like an array; beside the array SciPy gives a number."""
    def f(x):
        labels, count = ndimage.label(x.numpy() > 0)
        return x * count + whet.from_numpy(labels)
    def calls(f):
        for k in range(6):
            yield f((ramp(8) * (3 + k)).sin())
    return f, calls


@trap
def a_function_of_scipy_is_patched():
    """By its name in the module, between calls; and one that is passed along."""
    def f(x, by): return whet.from_numpy(scipy.signal.medfilt(x.numpy(), 3)) + by(x.numpy())[0]
    def calls(f):
        real = scipy.signal.medfilt
        yield from thrice(lambda: f(whet.rand(6), scipy.signal.detrend))
        scipy.signal.medfilt = lambda a, n: a * n
        try:
            yield from thrice(lambda: f(whet.rand(6), scipy.signal.detrend))
        finally:
            scipy.signal.medfilt = real
        yield from thrice(lambda: f(whet.rand(6), scipy.signal.hilbert))
        yield from thrice(lambda: f(whet.rand(6), np.flip))
    return f, calls


@trap
def what_scipy_makes_is_written_to():
    """An array that SciPy made of constants, kept and changed by its owner."""
    kept = []
    def f(x):
        window = scipy.signal.get_window("hann", 4).astype(np.float32)
        kept.append(window)
        return x * whet.from_numpy(window)
    def calls(f):
        for k in range(6):
            yield f(ramp(4))
            kept[-1][0] = k
            yield list(kept)
    return f, calls
