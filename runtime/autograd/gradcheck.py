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
    """Are the gradients of `func` at `inputs` those that finite differences give?

    >>> import whet
    >>> x = whet.randn(3, dtype=whet.float64, requires_grad=True)
    >>> whet.autograd.gradcheck(lambda x: (x * x).sum(), (x,))
    True
    """
    inputs = tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)
    try:
        return _check(func, inputs, eps, atol, rtol, nondet_tol)
    except GradcheckError:
        if raise_exception:
            raise
        return False


def _check(func, inputs, eps, atol, rtol, nondet_tol):
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
        for k in range(len(outs)):
            if k not in live:
                continue
            analytical = _analytical(outs[k], t)
            if nondet_tol == 0.0:
                again = _analytical(outs[k], t)
                if not np.array_equal(analytical, again, equal_nan=True):
                    raise GradcheckError(
                        "Backward is not reentrant, i.e., running backward with same input and "
                        "grad_output multiple times gives different values")
            numerical = _numerical(func, inputs, t, k, eps)
            if not np.allclose(analytical, numerical, rtol, atol, equal_nan=True):
                worst = np.abs(analytical - numerical).max()
                raise GradcheckError(
                    f"Jacobian mismatch for output {k} with respect to input {i} (largest "
                    f"difference {worst:.3g}),\nnumerical:{numerical}\nanalytical:{analytical}\n")
    return True


def _analytical(out, t):
    """One row per output direction: the gradient of its real part."""
    rows = []
    flat = np.zeros(out._array.size, out._array.dtype)
    from ..tensor import wrap
    for d in _directions(out):
        for j in range(flat.size):
            flat[:] = 0
            flat[j] = d
            g, = engine.grad((out,), (t,), (wrap(flat.reshape(out._array.shape).copy()),),
                             retain_graph=True, allow_unused=True)
            rows.append(
                np.zeros(t._array.size, t._array.dtype) if g is
                None else np.asarray(g._array).reshape(-1).copy())
    return np.array(rows).reshape(len(_directions(out)) * flat.size, t._array.size)


def _numerical(func, inputs, t, k, eps):
    """One row per output direction, from central differences in each input direction."""
    a = t._array
    n = a.size
    with modes.no_grad():
        base = _outputs(func, inputs)[k]._array
        m, complex_out = base.size, base.dtype.kind == "c"
        j = np.zeros(((2 if complex_out else 1) * m, n), a.dtype)
        for i in range(n):
            at = np.unravel_index(i, a.shape)
            for d in _directions(t):
                old = a[at].copy()
                a[at] = old + eps * d
                hi = _outputs(func, inputs)[k]._array.astype(base.dtype, copy=True).reshape(-1)
                a[at] = old - eps * d
                lo = _outputs(func, inputs)[k]._array.astype(base.dtype, copy=True).reshape(-1)
                a[at] = old
                slope = (hi - lo) / (2 * eps)
                j[:m, i] += slope.real * d
                if complex_out:
                    j[m:, i] += slope.imag * d
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
                     raise_exception=raise_exception, nondet_tol=nondet_tol)
