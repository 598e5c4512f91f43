"""Compare gradients with finite differences."""
import numpy as np

from ..dtypes import COMPLEX, FLOAT
from . import engine, modes


class GradcheckError(RuntimeError):
    """The analytical and the numerical gradient differ."""


def _outputs(fn, inputs):
    r = fn(*inputs)
    r = r if isinstance(r, tuple | list) else (r,)
    return tuple(t for t in r if hasattr(t, "_array") and t.dtype.category >= FLOAT)


def _directions(t):
    """Unit steps: real, and imaginary for complex tensors."""
    return (1.0, 1j) if t.dtype.category == COMPLEX else (1.0,)


def gradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, nondet_tol=0.0,
              check_undefined_grad=True, check_grad_dtypes=False, check_batched_grad=False,
              check_batched_forward_grad=False, check_forward_ad=False, check_backward_ad=True,
              fast_mode=False, masked=None):
    """Are the gradients of `func` at `inputs` those that finite differences give? In forward mode,
    too, and by `vmap` of several backwards, where that is asked for.

    >>> import whet
    >>> x = whet.randn(3, dtype=whet.float64, requires_grad=True)
    >>> whet.autograd.gradcheck(lambda x: (x * x).sum(), (x,))
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError(
            "Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError(
            "Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    ways = [way for way, is_asked in (
        (_backward_rows, check_backward_ad), (_forward_rows, check_forward_ad),
        (_batched_rows, check_batched_grad), (_batched_forward_rows, check_batched_forward_grad))
        if is_asked]
    inputs = tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)
    try:
        return _check(func, inputs, ways, eps, atol, rtol, nondet_tol)
    except GradcheckError:
        if raise_exception:
            raise
        return False


def _check(func, inputs, ways, eps, atol, rtol, nondet_tol):
    wanted = [(i, t) for i, t in enumerate(inputs) if hasattr(t, "_array") and t.requires_grad]
    if not wanted:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the "
            "them have requires_grad=True.")
    outs = _outputs(func, inputs)
    live = [k for k, o in enumerate(outs) if o.requires_grad]
    if not live and any(np.any(_numerical(func, inputs, t, k, eps))
                        for _, t in wanted for k in range(len(outs))):
        raise GradcheckError("Numerical gradient for function expected to be zero")
    for i, t in wanted:
        for k in live:
            numerical = _numerical(func, inputs, t, k, eps)
            for way in ways:
                analytical = way(func, inputs, i, k, outs[k])
                if way is _backward_rows and nondet_tol == 0.0 and not np.array_equal(
                        analytical, way(func, inputs, i, k, outs[k]), equal_nan=True):
                    raise GradcheckError(
                        "Backward is not reentrant, i.e., running backward with same input and "
                        "grad_output multiple times gives different values")
                if not np.allclose(analytical, numerical, rtol, atol, equal_nan=True):
                    worst = np.abs(analytical - numerical).max()
                    raise GradcheckError(
                        f"Jacobian mismatch for output {k} with respect to input {i} {way.__doc__} "
                        f"(largest difference {worst:.3g}),\nnumerical:{numerical}\n"
                        f"analytical:{analytical}\n")
    return True


# Jacobians: a row for each direction of the output, with the gradient of its real part there.
def _backward_rows(_func, inputs, i, _k, out):
    """in backward mode"""
    t, rows = inputs[i], []
    for direction in _units(out):
        g, = engine.grad((out,), (t,), (direction,), retain_graph=True, allow_unused=True)
        rows.append(_numbers(g, t))
    return np.array(rows).reshape(len(rows), t._array.size)


def _batched_rows(_func, inputs, i, _k, out):
    """in backward mode by vmap"""
    from ..func import vmap
    from ..ops.surface import FUNCTIONS
    t, used = inputs[i], []

    def row(direction):
        g, = engine.grad((out,), (t,), (direction,), retain_graph=True, allow_unused=True)
        used.append(g is not None)
        return direction if g is None else g
    units = _units(out)
    if not units:
        return np.zeros((0, t._array.size), t._array.dtype)
    made = vmap(row)(FUNCTIONS["stack"](units))
    return (_numbers(made, t) if used[0] else np.zeros(len(units) * t._array.size, t._array.dtype)
            ).reshape(len(units), t._array.size)


def _forward_rows(func, inputs, i, k, out):
    """in forward mode"""
    return _rows(inputs[i], out, [_numbers(_tangent(func, inputs, i, k, unit), out)
                                  for unit in _units(inputs[i])])


def _batched_forward_rows(func, inputs, i, k, out):
    """in forward mode by vmap"""
    from ..func import vmap
    from ..ops.surface import FUNCTIONS
    t = inputs[i]

    def tangent(unit):
        made = _tangent(func, inputs, i, k, unit)
        return FUNCTIONS["zeros_like"](out) if made is None else made
    units = _units(t)
    made = vmap(tangent)(FUNCTIONS["stack"](units)) if units else ()
    return _rows(t, out, [_numbers(x, out) for x in made])


def _numerical(func, inputs, t, k, eps):
    """By central differences."""
    a = t._array

    def stepped(at, step):
        old = a[at].copy()
        a[at] = old + step
        made = _outputs(func, inputs)[k]._array.astype(out._array.dtype, copy=True).reshape(-1)
        a[at] = old
        return made
    with modes.no_grad():
        out = _outputs(func, inputs)[k]
        slopes = [(stepped(at, eps * d) - stepped(at, -eps * d)) / (2 * eps)
                  for d in _directions(t) for at in np.ndindex(a.shape)]
    return _rows(t, out, slopes)


def _tangent(func, inputs, i, k, unit):
    """The tangent of a result for one of an input, or None."""
    from . import forward_ad
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(inputs[i], unit)
        made = _outputs(func, (*inputs[:i], dual, *inputs[i + 1:]))[k]
        return forward_ad.unpack_dual(made).tangent


def _units(t):
    """Tensors like `t` with a unit in one place: real ones, then imaginary ones."""
    from ..tensor import wrap
    flat, units = np.zeros(t._array.size, t._array.dtype), []
    for d in _directions(t):
        for at in range(flat.size):
            unit = flat.copy()
            unit[at] = d
            units.append(wrap(unit.reshape(t._array.shape)))
    return units


def _numbers(x, like):
    """A tensor's elements in a row; None is a tensor of zeros like `like`."""
    return (np.zeros(like._array.size, like._array.dtype) if x is None
            else np.array(x.detach()._array).reshape(-1))


def _rows(t, out, slopes):
    """Slopes of a result by each unit of an input, as gradients of the result's parts."""
    n, m = t._array.size, out._array.size
    is_complex = out.dtype.category == COMPLEX
    j = np.zeros(((2 if is_complex else 1) * m, n), t._array.dtype)
    for at, slope in enumerate(slopes):
        d = _directions(t)[at // n]
        j[:m, at % n] += slope.real * d
        if is_complex:
            j[m:, at % n] += slope.imag * d
    return j


def gradgradcheck(func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3,
                  gen_non_contig_grad_outputs=False, raise_exception=True, nondet_tol=0.0,
                  check_undefined_grad=True, check_grad_dtypes=False, check_batched_grad=False,
                  check_fwd_over_rev=False, check_rev_over_rev=True, fast_mode=False, masked=False):
    """Are the second derivatives those that finite differences of the first give?

    >>> import whet
    >>> x = whet.rand(3, dtype=whet.float64, requires_grad=True)
    >>> whet.autograd.gradgradcheck(lambda x: (x ** 3).sum(), (x,))
    True
    """
    inputs = tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)
    outs = [o for o in _outputs(func, inputs) if o.requires_grad]
    if grad_outputs is None:
        from ..tensor import wrap
        rng = np.random.default_rng(0)
        grad_outputs = []
        for o in outs:
            r = rng.standard_normal(o._array.shape)
            if o.dtype.category == COMPLEX:
                r = r + 1j * rng.standard_normal(o._array.shape)
            grad_outputs.append(wrap(np.asarray(r, o._array.dtype)).requires_grad_())
    grad_outputs = (tuple(grad_outputs) if isinstance(grad_outputs, tuple | list) else
                    (grad_outputs,))
    n = len(inputs)
    wanted = [i for i, t in enumerate(inputs) if hasattr(t, "_array") and t.requires_grad]

    def first(*args):
        xs, gs = args[:n], args[n:]
        with modes.enable_grad():
            ys = [o for o in _outputs(func, xs) if o.requires_grad]
            r = engine.grad(ys, [xs[i] for i in wanted], gs, create_graph=True, allow_unused=True)
        return tuple(x for x in r if x is not None)

    return gradcheck(first, inputs + grad_outputs, eps=eps, atol=atol, rtol=rtol,
                     raise_exception=raise_exception, nondet_tol=nondet_tol,
                     check_batched_grad=check_batched_grad, check_forward_ad=check_fwd_over_rev,
                     check_backward_ad=check_rev_over_rev)
