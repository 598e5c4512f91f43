"""Forward mode: `jvp` and `linearize`."""
from ..autograd.forward_ad import ForwardLevel
from ..autograd.modes import enable_grad
from .reverse import checked_output, given, gradients, run
from .trees import like, mapped, tensors


def _checked(primals, tangents):
    """The tensors of primals and tangents, which must fit each other."""
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple):
        raise RuntimeError(f"jvp(f, primals, tangents): Expected primals and tangents to be tuples, got {type(primals)} and {type(tangents)}")
    xs, vs = tensors(primals), tensors(tangents)
    if len(vs) != len(xs):
        raise RuntimeError("jvp(f, primals, tangents): Expected primals and tangents to have the same python structure")
    for x, v in zip(xs, vs):
        if x.shape != v.shape:
            raise RuntimeError(f"jvp(f, primals, tangents): primal of shape {tuple(x.shape)} and tangent of shape {tuple(v.shape)} differ")
        if x.dtype.kind < 2:
            raise RuntimeError(f"jvp: only Tensors of floating point and complex dtype can be differentiated, got {x.dtype}")
    return xs, vs


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """(func(*primals), its derivative in the direction of the tangents)

    >>> import whet
    >>> whet.func.jvp(lambda x: x ** 2, (whet.tensor([1., 2.]),), (whet.tensor([1., 1.]),))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    xs, vs = _checked(primals, tangents)
    with ForwardLevel() as level:
        duals = like(primals, [level.tensor(x, v) for x, v in zip(xs, vs)])
        out, aux = checked_output(func(*duals), has_aux, "jvp")
        pairs = [(t.value, t.tangent) if level.owns(t) else (t, None) for t in tensors(out)]
        aux = mapped(lambda t: t.value if level.owns(t) else t, aux)
    result = like(out, [y for y, _ in pairs]), like(out, [y.new_zeros(y.shape) if t is None else t for y, t in pairs])
    return (*result, aux) if has_aux else result


def linearize(func, *primals):
    """(func(*primals), the function that takes tangents of the primals to the output's)

    The function is evaluated once; the products that follow are the gradient of its backward, which is linear.
    """
    with enable_grad():
        inputs, out, _, recorded = run(func, primals, False, "linearize")
        outs = tensors(out)
        dummies = [y.new_zeros(y.shape).requires_grad_() for y in outs]
        gs = gradients(outs, tensors(inputs), dummies, True)

    def tangent(*tangents):
        with enable_grad():
            again = recorded or any(v.requires_grad for v in tensors(tangents))
            return given(like(out, gradients(gs, dummies, tensors(tangents), again)), again)
    return given(out, recorded), tangent
