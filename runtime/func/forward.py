"""Forward mode: `jvp` and `linearize`."""
from ..autograd.forward_ad import ForwardLevel
from ..autograd.linearize import LinearLevel
from ..dtypes import FLOAT
from .reverse import check_only_tensors, checked_output
from .trees import like, mapped, other_leaves, tensors


def _checked(primals, tangents, name="jvp"):
    """The tensors of primals and tangents, which must fit each other."""
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple):
        raise RuntimeError(
            f"{name}(f, primals, tangents): Expected primals and tangents to be tuples, got "
            f"{type(primals)} and {type(tangents)}")
    for what, values in (("primals", primals), ("tangents", tangents)):
        for x in other_leaves(values):
            raise RuntimeError(
                f"{name}(f, primals, tangents): Expected {what} to only contain Tensors, got "
                f"{type(x)}")
    xs, vs = tensors(primals), tensors(tangents)
    if len(vs) != len(xs):
        raise RuntimeError(
            f"{name}(f, primals, tangents): Expected primals and tangents to have the same python "
            "structure")
    for x, v in zip(xs, vs):
        if x.shape != v.shape:
            raise RuntimeError(
                f"{name}(f, primals, tangents): primal of shape {tuple(x.shape)} and tangent of "
                f"shape {tuple(v.shape)} differ")
    return _differentiable(xs, name), vs


def _differentiable(xs, name):
    for x in xs:
        if x.dtype.category < FLOAT:
            raise RuntimeError(
                f"{name}: only Tensors of floating point and complex dtype can be differentiated, "
                f"got {x.dtype}")
    if not xs:
        raise RuntimeError(f"{name}: Expected at least one Tensor to differentiate by")
    return xs


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
        check_only_tensors(out, "jvp")
        pairs = [(t.value, t.tangent) if level.owns(t) else (t, None) for t in tensors(out)]
        if strict and any(t is None for _, t in pairs):
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the "
                "inputs. This is not allowed with strict=True.")
        aux = mapped(lambda t: t.value if level.owns(t) else t, aux)
    result = (
        like(out, [y for y, _ in pairs]),
        like(out, [y.new_zeros(y.shape) if t is None else t for y, t in pairs]),
    )
    return (*result, aux) if has_aux else result


def linearize(func, *primals):
    """(func(*primals), the function that takes tangents of the primals to the output's)

    The function is evaluated once; what becomes of tangents is written down, and computed whenever
    there are some.

    >>> import whet
    >>> y, push = whet.func.linearize(lambda x: x ** 2, whet.tensor([1., 2.]))
    >>> push(whet.tensor([1., 10.]))
    tensor([ 2., 40.])
    """
    with LinearLevel() as level:
        inputs, slots = zip(
            *[level.variable_of(x) for x in _differentiable(tensors(primals), "linearize")]
        )
        out, _ = checked_output(func(*like(primals, inputs)), False, "linearize")
        pairs = [(t.value, t.tangent) if level.owns(t) else (t, None) for t in tensors(out)]
    steps = level.linear([slot for _, slot in pairs if slot is not None])

    def push(*tangents):
        _, vs = _checked(primals, tangents, "linearize")
        found = dict(zip(slots, vs))
        for step in steps:
            step.run(found)
        return like(
            out, [found[slot] if slot in found else y.new_zeros(y.shape) for y, slot in pairs]
        )
    return like(out, [y for y, _ in pairs]), push
