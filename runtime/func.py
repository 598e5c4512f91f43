"""Functions that make functions: `whet.func`."""
from functools import wraps

from .autograd.modes import enable_grad
from .autograd.node import edge_of
from .nn.utils.stateless import functional_call
from .random import default_generator
from .tensor import Tensor
from .tensor_base import Base

__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "stack_module_state", "vjp", "vmap"]


def _map(f, value):
    """The value with f(tensor) for each tensor in it; tuples, lists and dicts are gone through."""
    if isinstance(value, Tensor):
        return f(value)
    if isinstance(value, dict):
        return type(value)((k, _map(f, x)) for k, x in value.items())
    if isinstance(value, tuple | list):
        parts = [_map(f, x) for x in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def _tensors(value):
    found: list = []
    _map(found.append, value)
    return found


def _fresh(t):
    """A tensor to be differentiated by: over the same memory, and a function of `t` where that has a history."""
    if t.dtype.kind < 2:
        raise RuntimeError(f"grad: only Tensors of floating point and complex dtype can be differentiated, got {t.dtype}")
    return t.view_as(t) if t.requires_grad else t.detach().requires_grad_()


def _differentiated_outside(outputs, inputs):
    """Do the outputs depend on tensors that somebody outside may differentiate by: does their history reach other leaves than the inputs?

    The function may have closed over them, so its arguments alone do not tell.
    """
    own = {id(t) for t in inputs}
    seen, stack = set(), [e for e in map(edge_of, outputs) if e is not None]
    while stack:
        edge = stack.pop()
        if isinstance(edge, Base):
            if id(edge) not in own:
                return True
        elif edge is not None and edge not in seen:
            seen.add(edge)
            stack.extend(edge.edges)
    return False


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that computes (gradient, value): the gradient of `func`, which returns one number, for its argument(s) `argnums`."""
    from .autograd import engine

    @wraps(func)
    def compute(*args, **kwargs):
        which = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        with enable_grad():
            args = list(args)
            for i in which:
                args[i] = _map(_fresh, args[i])
            value = func(*args, **kwargs)
            value, aux = value if has_aux else (value, None)
            if not isinstance(value, Tensor):
                raise RuntimeError(f"grad_and_value(f)(*args): Expected f(*args) to return a tensor, got {type(value)}")
            if value.ndim:
                raise RuntimeError("grad_and_value(f)(*args): Expected f(*args) to return a scalar tensor, got tensor with "
                                   f"{value.ndim} dims. Maybe you wanted to use the vjp or jacrev APIs instead?")
            by = [args[i] for i in which]
            found = _tensors(by)
            recorded = _differentiated_outside([value], found)
            gs = engine.grad(value, found, create_graph=recorded, allow_unused=True, materialize_grads=True) if value.requires_grad else \
                [t.new_zeros(t.shape) for t in found]
        in_order = iter(gs)
        result = _map(lambda _: next(in_order), by[0] if isinstance(argnums, int) else tuple(by))
        value = value if recorded else value.detach()
        return (result, (value, aux)) if has_aux else (result, value)
    return compute


def grad(func, argnums=0, has_aux=False):
    """A function that computes the gradient of `func`, which returns one number, for its argument(s) `argnums`.

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


# ---- products with Jacobians, and Jacobians ----------------------------------------------------------------------------
def _run(func, primals, has_aux, name):
    """(inputs to differentiate by, outputs, aux, does a caller differentiate as well?) of a call with fresh inputs."""
    inputs = _map(_fresh, primals)
    out = func(*inputs)
    if has_aux:
        if not isinstance(out, tuple) or len(out) != 2:
            raise RuntimeError(f"{name}(f, *primals): output of function f should be a tuple: (output, aux) if has_aux is True")
    out, aux = out if has_aux else (out, None)
    if not _tensors(out):
        raise RuntimeError(f"{name}(f, *primals): Expected f to be a function that has non-empty output of Tensors, got {type(out)}")
    return inputs, out, aux, _differentiated_outside(_tensors(out), _tensors(inputs))


def _gradient(outputs, inputs, cotangents, create_graph):
    """Gradients for the inputs, zero for those that do not matter."""
    from .autograd import engine
    pairs = [(y, v) for y, v in zip(outputs, cotangents) if y.requires_grad]
    if not pairs:
        return [t.new_zeros(t.shape) for t in inputs]
    return engine.grad([y for y, _ in pairs], inputs, [v for _, v in pairs], retain_graph=True, create_graph=create_graph, allow_unused=True,
                       materialize_grads=True)


def _like(value, tensors):
    """The structure of `value` with other tensors in it."""
    in_order = iter(tensors)
    return _map(lambda _: next(in_order), value)


def _given(value, recorded):
    return value if recorded else _map(lambda t: t.detach(), value)


def vjp(func, *primals, has_aux=False):
    """(func(*primals), a function that takes a cotangent of the output to those of the primals)

    >>> import whet
    >>> y, back = whet.func.vjp(lambda x: x ** 2, whet.tensor([1., 2.]))
    >>> back(whet.tensor([1., 10.]))
    (tensor([ 2., 40.]),)
    """
    with enable_grad():
        inputs, out, aux, recorded = _run(func, primals, has_aux, "vjp")

    def back(*cotangents, retain_graph=True, create_graph=None):
        given = cotangents if len(cotangents) > 1 or isinstance(out, tuple) and not isinstance(cotangents[0], tuple) else cotangents[0]
        outs, vs = _tensors(out), _tensors(given)
        if len(outs) != len(vs):
            raise RuntimeError("vjp: Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function, "
                               f"but there are {len(vs)} tensors and {len(outs)} outputs")
        again = recorded or any(v.requires_grad for v in vs)
        with enable_grad():
            gs = _gradient(outs, _tensors(inputs), vs, again)
        return _given(_like(inputs, gs), again)
    return (_given(out, recorded), back, aux) if has_aux else (_given(out, recorded), back)


def _forward(outs, xs, create_graph):
    """The function that takes tangents of `xs` to those of `outs`: the gradient of a gradient."""
    dummies = [y.new_zeros(y.shape).requires_grad_() for y in outs]
    gs = _gradient(outs, xs, dummies, True)
    return lambda tangents: _gradient(gs, dummies, tangents, create_graph)


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """(func(*primals), its derivative in the direction of the tangents)

    >>> import whet
    >>> whet.func.jvp(lambda x: x ** 2, (whet.tensor([1., 2.]),), (whet.tensor([1., 1.]),))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple):
        raise RuntimeError(f"jvp(f, primals, tangents): Expected primals and tangents to be tuples, got {type(primals)} and {type(tangents)}")
    vs = _tensors(tangents)
    for x, v in zip(_tensors(primals), vs):
        if x.shape != v.shape:
            raise RuntimeError(f"jvp(f, primals, tangents): primal of shape {tuple(x.shape)} and tangent of shape {tuple(v.shape)} differ")
    if len(vs) != len(_tensors(primals)):
        raise RuntimeError("jvp(f, primals, tangents): Expected primals and tangents to have the same python structure")
    with enable_grad():
        inputs, out, aux, recorded = _run(func, primals, has_aux, "jvp")
        recorded = recorded or any(v.requires_grad for v in vs)
        ds = _forward(_tensors(out), _tensors(inputs), recorded)(vs)
    result = _given(out, recorded), _given(_like(out, ds), recorded)
    return (*result, aux) if has_aux else result


def linearize(func, *primals):
    """(func(*primals), the function that takes tangents of the primals to the output's)"""
    with enable_grad():
        inputs, out, _, recorded = _run(func, primals, False, "linearize")
        forward = _forward(_tensors(out), _tensors(inputs), recorded)

    def tangent(*tangents):
        with enable_grad():
            return _given(_like(out, forward(_tensors(tangents))), recorded)
    return _given(out, recorded), tangent


def _by(func, args, kwargs, argnums):
    """A function of the arguments `argnums` alone, and these."""
    which = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    if not args or any(not -len(args) <= i < len(args) for i in which):
        raise RuntimeError(f"Got argnums={argnums}, but only {len(args)} positional inputs")

    def of_some(*some):
        every = list(args)
        for i, x in zip(which, some):
            every[i] = x
        return func(*every, **kwargs)
    return of_some, tuple([args[i] for i in which])


def _jacobian(func, argnums, has_aux, name, table):
    """The common part of jacrev and jacfwd: `table(output, inputs, create_graph)` has one derivative for each input."""
    @wraps(func)
    def compute(*args, **kwargs):
        of_some, some = _by(func, args, kwargs, argnums)
        with enable_grad():
            inputs, out, aux, recorded = _run(of_some, some, has_aux, name)
            xs = _tensors(inputs)

            def of(y):
                parts = _like(inputs, table(y, xs, recorded))
                return parts[0] if isinstance(argnums, int) else parts
            result = _map(of, out)
        result = _given(result, recorded)
        return (result, aux) if has_aux else result
    return compute


def _stacked(rows, shape, like):
    from .ops import stack
    return stack(rows).reshape(shape) if rows else like.new_zeros(shape)


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """A function that computes the Jacobian of `func`, (*output's shape, *input's shape): one backward for each element of the output.

    >>> import whet
    >>> whet.func.jacrev(lambda x: x ** 2)(whet.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    def table(y, xs, create_graph):
        rows = []
        for i in range(y.numel()):
            v = y.new_zeros(y.numel())
            v[i] = 1
            rows.append(_gradient([y], xs, [v.reshape(y.shape)], create_graph))
        return [_stacked([r[k] for r in rows], (*y.shape, *x.shape), x) for k, x in enumerate(xs)]
    return _jacobian(func, argnums, has_aux, "jacrev", table)


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """As `jacrev`, with one product for each element of the input: for functions of few numbers.

    >>> import whet
    >>> whet.func.jacfwd(lambda x: whet.stack([x, x ** 2, x ** 3]))(whet.tensor(2.))
    tensor([ 1.,  4., 12.])
    """
    def table(y, xs, create_graph):
        forward, result = _forward([y], xs, create_graph), []
        for k, x in enumerate(xs):
            columns = []
            for i in range(x.numel()):
                v = x.new_zeros(x.numel())
                v[i] = 1
                columns.append(forward([v.reshape(x.shape) if j == k else z.new_zeros(z.shape) for j, z in enumerate(xs)])[0])
            result.append(_stacked(columns, (*x.shape, *y.shape), x).movedim(tuple(range(x.ndim)), tuple(range(y.ndim, y.ndim + x.ndim)))
                          if x.ndim else columns[0])
        return result
    return _jacobian(func, argnums, has_aux, "jacfwd", table)


def hessian(func, argnums=0):
    """A function that computes the second derivatives of `func`.

    >>> import whet
    >>> whet.func.hessian(lambda x: (x ** 3).sum())(whet.tensor([1., 2.]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


# ---- over a dimension ----------------------------------------------------------------------------------------------------
def _dims(value, dims, found):
    """(tensor, dimension) of each tensor in a structure, `dims` being a number or None for all or a structure like it."""
    if isinstance(value, Tensor):
        found.append((value, dims))
    elif isinstance(value, dict | tuple | list):
        if isinstance(dims, dict | tuple | list) and len(dims) != len(value):
            raise ValueError(f"vmap: in_dims is not compatible with the structure of inputs: {len(dims)} and {len(value)} entries")
        for k in value if isinstance(value, dict) else range(len(value)):
            _dims(value[k], dims[k] if isinstance(dims, dict | tuple | list) else dims, found)
    elif isinstance(dims, int):
        found.append((value, dims))
    return found


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """`func` for every slice of its arguments along `in_dims`, the results stacked along `out_dims`.

    The function runs once for each slice; `jit.trace` around it makes one program of them. A tensor whose `in_dims` is None is given as
    it is. `randomness` says what random numbers are: an error, "different" for each slice, or the "same".

    >>> import whet
    >>> whet.vmap(whet.dot)(whet.tensor([[1., 2.], [3., 4.]]), whet.ones(2, 2))
    tensor([3., 7.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")

    @wraps(func)
    def over(*args, **kwargs):
        from .ops import stack
        if isinstance(in_dims, tuple | list) and len(in_dims) != len(args):
            raise ValueError(f"vmap({getattr(func, '__name__', func)}, in_dims={in_dims}, ...)(<inputs>): in_dims is not compatible with the "
                             f"structure of inputs: {len(args)} inputs")
        found = _dims(args, tuple(in_dims) if isinstance(in_dims, list) else in_dims, [])
        sizes = set()
        for t, d in found:
            if d is None:
                continue
            if not isinstance(t, Tensor):
                raise ValueError(f"vmap: Got in_dim={d} for an input but the input is of type {type(t)}. We cannot vmap over non-Tensor arguments, "
                                 "please use None as the respective in_dim")
            if not -t.ndim <= d < t.ndim:
                raise ValueError(f"vmap: Got in_dim={d} for some input, but that input is a Tensor of dimensionality {t.ndim} so expected in_dim "
                                 f"to satisfy -{t.ndim} <= in_dim < {t.ndim}.")
            sizes.add(t.shape[d])
        if not sizes:
            raise ValueError("vmap: at least one input must have a dimension to map over")
        if len(sizes) > 1:
            raise ValueError("vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                             f"{sorted(sizes)} for the mapped dimension")
        if sizes == {0}:
            raise RuntimeError("vmap: the mapped dimension has size 0, so the function cannot be run")
        results, start = [], default_generator._offset
        for i in range(sizes.pop()):
            in_order = iter([t if d is None else t.select(d, i) for t, d in found])
            some = _map(lambda _, it=in_order: next(it), args)
            if randomness == "same":
                default_generator._offset = start
            results.append(func(*some, **kwargs))
            if randomness == "error" and default_generator._offset != start:
                raise RuntimeError("vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
                                   "randomness flags on vmap or perform the randomness operation out of vmap")
        parts = [_tensors(r) for r in results]
        if not parts[0] or any(not isinstance(r, Tensor | tuple | list | dict) for r in results):
            raise ValueError(f"vmap({getattr(func, '__name__', func)}, ...): `{getattr(func, '__name__', func)}` must only return Tensors, "
                             f"got type {type(results[0])}")
        dims = [d for _, d in _dims(results[0], out_dims, [])]
        return _like(results[0], [stack(column, 0 if d is None else d) if d is not None else column[0] for column, d in zip(zip(*parts), dims)])
    return over


def stack_module_state(models):
    """(parameters, buffers) of modules that are built alike, each stacked over the modules: for `vmap` over an ensemble."""
    from .ops import stack
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")

    def together(states):
        return {k: stack([s[k] for s in states]).detach().requires_grad_(states[0][k].requires_grad) for k in states[0]}
    return together([dict(m.named_parameters()) for m in models]), together([dict(m.named_buffers()) for m in models])
