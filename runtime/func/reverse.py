"""Reverse mode: `grad` and `vjp`."""
from functools import wraps

from ..autograd import engine
from ..autograd.levels import variable
from ..autograd.modes import enable_grad, is_grad_enabled
from ..dtypes import FLOAT
from ..tensor import Tensor
from .trees import like, mapped, other_leaves, structure, tensors


def _fresh(t):
    """A tensor to be differentiated by, in the innermost level: over the same memory, and a
    function of `t` where that has a history there."""
    if t.dtype.category < FLOAT:
        raise RuntimeError(
            "grad: only Tensors of floating point and complex dtype can be differentiated, got "
            f"{t.dtype}")
    return variable(t)


def positions(argnums, args):
    """Which of the arguments a transform differentiates by."""
    which = (argnums,) if isinstance(argnums, int) else argnums
    if not (isinstance(which, tuple | list) and all(isinstance(i, int) for i in which)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if not which:
        raise RuntimeError("argnums must be non-empty")
    if any(not -len(args) <= i < len(args) for i in which):
        raise RuntimeError(f"Got argnums={argnums}, but only {len(args)} positional inputs")
    if len({i % len(args) for i in which}) != len(which):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    for x in [args[i] for i in which]:
        if not isinstance(x, dict | list | tuple) and not tensors(x):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
    return tuple(which)


def _value_and_aux(result):
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError("grad_and_value(f)(*args): output of function f should be a tuple: "
                           "(output, aux) if has_aux is True")
    return result


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that computes (gradient, value): the gradient of `func`, which returns one number,
    for its argument(s) `argnums`.

    >>> import whet
    >>> whet.func.grad_and_value(lambda x: x ** 2)(whet.tensor(3.))
    (tensor(6.), tensor(9.))
    """

    @wraps(func)
    def compute(*args, **kwargs):
        which = positions(argnums, args)
        outside = is_grad_enabled()
        with enable_grad():
            args = list(args)
            for i in which:
                args[i] = mapped(_fresh, args[i])
            value = func(*args, **kwargs)
            value, aux = _value_and_aux(value) if has_aux else (value, None)
            if not isinstance(value, Tensor):
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a tensor, got "
                    f"{type(value)}")
            if value.ndim:
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a scalar tensor, got "
                    f"tensor with {value.ndim} dims. Maybe you wanted to use the vjp or jacrev "
                    "APIs instead?")
            by = [args[i] for i in which]
            found = tensors(by)
            recorded = outside and engine.depends_on_others([value], found)
            gs = (
                engine.grad(
                    value, found, create_graph=recorded, allow_unused=True, materialize_grads=True
                )
                if value.requires_grad
                else [t.new_zeros(t.shape) for t in found]
            )
        in_order = iter(gs)
        result = mapped(lambda _: next(in_order), by[0] if isinstance(argnums, int) else tuple(by))
        value, aux = without_own_history((value, aux), recorded)
        return (result, (value, aux)) if has_aux else (result, value)
    return compute


def grad(func, argnums=0, has_aux=False):
    """A function that computes the gradient of `func`, which returns one number, for its
    argument(s) `argnums`.

    >>> import whet
    >>> slope = whet.func.grad(lambda x: x ** 3)
    >>> slope(whet.tensor(2.0)), whet.func.grad(slope)(whet.tensor(2.0))
    (tensor(12.), tensor(12.))
    """
    @wraps(func)
    def compute(*args, **kwargs):
        result, value = grad_and_value(func, argnums, has_aux)(*args, **kwargs)
        return (result, value[1]) if has_aux else result
    return compute


def checked_output(out, has_aux, name):
    """(output, aux) of a function's result."""
    if has_aux and (not isinstance(out, tuple) or len(out) != 2):
        raise RuntimeError(
            f"{name}(f, *primals): output of function f should be a tuple: (output, aux) if "
            "has_aux is True")
    out, aux = out if has_aux else (out, None)
    if not tensors(out):
        raise RuntimeError(
            f"{name}(f, *primals): Expected f to be a function that has non-empty output of "
            f"Tensors, got {type(out)}")
    return out, aux


def check_only_tensors(out, name):
    """Raise where a function gave something that has no derivative beside tensors."""
    for x in other_leaves(out):
        raise RuntimeError(
            f"{name}(f, *primals): expected f(*primals) to return only tensors, got unsupported "
            f"type {type(x)}")


def run(func, primals, has_aux, name):
    """(inputs to differentiate by, outputs, aux, does somebody outside differentiate as well?) of a
    call with fresh inputs."""
    outside = is_grad_enabled()
    with enable_grad():
        inputs = mapped(_fresh, primals)
        out, aux = checked_output(func(*inputs), has_aux, name)
        check_only_tensors(out, name)
        recorded = outside and engine.depends_on_others(tensors(out), tensors(inputs))
    return inputs, out, aux, recorded


def gradients(outputs, inputs, cotangents, create_graph):
    """Gradients for the inputs, zero for those that do not matter."""
    pairs = [(y, v) for y, v in zip(outputs, cotangents) if y.requires_grad]
    if not pairs:
        return [t.new_zeros(t.shape) for t in inputs]
    return engine.grad(
        [y for y, _ in pairs],
        inputs,
        [v for _, v in pairs],
        retain_graph=True,
        create_graph=create_graph,
        allow_unused=True,
        materialize_grads=True,
    )


def without_own_history(value, recorded):
    """The results of a transform: without the history of the variables that it made, if no
    other code needs it."""
    return value if recorded else mapped(lambda t: t._without_history(), value)


def _end(variables):
    """Note that the function of these tensors has been run: what depends on no other leaves has a
    history that cannot be asked for."""
    for t in variables:
        if t._node is None:
            t._extra = {**(t._extra or {}), "ended": True}


def vjp(func, *primals, has_aux=False):
    """(func(*primals), a function that takes a cotangent of the output to those of the primals)

    >>> import whet
    >>> y, back = whet.func.vjp(lambda x: x ** 2, whet.tensor([1., 2.]))
    >>> back(whet.tensor([1., 10.]))
    (tensor([ 2., 40.]),)
    """
    for x in other_leaves(primals):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
    inputs, out, aux, recorded = run(func, primals, has_aux, "vjp")
    _end(tensors(inputs))

    def back(*cotangents, retain_graph=True, create_graph=None):
        cotangent = (
            cotangents
            if len(cotangents) > 1
            or isinstance(out, tuple)
            and not isinstance(cotangents[0], tuple)
            else cotangents[0]
        )
        outs, vs = tensors(out), tensors(cotangent)
        if structure(out) != structure(cotangent):
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of "
                f"outputs to the function. cotangents: {structure(cotangent)}, primal output: "
                f"{structure(out)}")
        again = is_grad_enabled() and (recorded or any(v.requires_grad for v in vs))
        with enable_grad():
            gs = gradients(outs, tensors(inputs), vs, again)
        return without_own_history(like(inputs, gs), again)
    found, aux = without_own_history(out, recorded), without_own_history(aux, recorded)
    return (found, back, aux) if has_aux else (found, back)
