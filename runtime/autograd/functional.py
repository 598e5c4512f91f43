"""Derivatives of functions as values: `jacobian`, `hessian`, and their products with vectors."""
from .engine import grad
from .modes import enable_grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def _as_tuple(x, what, fn):
    from ..tensor import Tensor
    single = not isinstance(x, tuple)
    xs = (x,) if single else x
    for i, t in enumerate(xs):
        if not isinstance(t, Tensor):
            raise TypeError(
                f"The {what} given to {fn} must be either a Tensor or a tuple of Tensors but the "
                f"value at index {i} has type {type(t)}." if not single else
                f"The {what} given to {fn} must be either a Tensor or a tuple of Tensors but got "
                f"{type(x)}")
    return xs, single


def _call(func, inputs, create_graph, fn):
    """(inputs to differentiate by, were they one tensor, outputs, is it one tensor)"""
    inputs, one_in = _as_tuple(inputs, "inputs", fn)
    inputs = tuple([
        x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_()
        for x in inputs])
    outputs, one_out = _as_tuple(func(*inputs), "outputs of the user-provided function", fn)
    return inputs, one_in, outputs, one_out


def _checked(v, like, what, fn):
    """The vector(s) `v`, of the shapes of `like`; ones for a single number."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(
                f"The vector v can only be None if the {what} is a single Tensor with a single "
                "element.")
        return tuple([t.new_ones(t.shape) for t in like])
    v, _ = _as_tuple(v, "v", fn)
    if len(v) != len(like):
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}.")
    for i, (a, b) in enumerate(zip(v, like)):
        if a.shape != b.shape:
            raise RuntimeError(
                f"{f'Entry {i} in v' if len(like) > 1 else 'v'} has invalid size: should be "
                f"{b.shape} but got {a.shape}.")
    return v


def _gradients(outputs, inputs, vectors, create_graph, strict=False, second=False):
    """Gradients of outputs, zero where an output does not depend on an input (an error if
    `strict`). `second`: the outputs are gradients by the inputs."""
    for i, y in enumerate(outputs if strict else ()):
        if not y.requires_grad:
            raise RuntimeError(
                f"The jacobian of the user-provided function with respect to input {i} is "
                "independent of the input. This is not allowed in strict mode." if second else
                f"Output {i} of the user-provided function does not require gradients. The "
                "outputs must be computed in a differentiable manner from the input when running "
                "in strict mode.")
    pairs = [(y, v) for y, v in zip(outputs, vectors) if y.requires_grad]
    gs = (grad([y for y, _ in pairs], inputs, [v for _, v in pairs], create_graph=create_graph,
               retain_graph=True, allow_unused=True) if pairs else [None] * len(inputs))
    for i, g in enumerate(gs if strict else ()):
        if g is None:
            raise RuntimeError(
                f"The {'jacobian' if second else 'output'} of the user-provided function is "
                f"independent of input {i}. This is not allowed in strict mode.")
    return tuple([x.new_zeros(x.shape) if g is None else g for g, x in zip(gs, inputs)])


def _finished(tensors, single, create_graph):
    tensors = tensors if create_graph else tuple([t.detach() for t in tensors])
    return tensors[0] if single else tuple(tensors)


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False,
             strategy="reverse-mode"):
    """The derivative of each element of the outputs by each element of the inputs: (*output shape,
    *input shape).

    With several outputs or inputs, a tuple (of tuples). `vectorize` makes one backward for all
    elements of an output, and the strategy "forward-mode" one forward product for all elements of
    an input.

    >>> import whet
    >>> whet.autograd.functional.jacobian(lambda x: x ** 2, whet.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if strict and vectorize:
        raise RuntimeError(
            "jacobian: strict mode and vectorize=True are not supported together. Please either "
            "set vectorize=False or strict=False.")
    if strategy not in ("reverse-mode", "forward-mode"):
        raise AssertionError(
            f"jacobian: strategy must be 'reverse-mode' or 'forward-mode', got {strategy!r}")
    with enable_grad():
        if strategy == "forward-mode" and not strict:
            return _by_columns(func, inputs, create_graph)
        inputs, one_in, outputs, one_out = _call(func, inputs, create_graph, "jacobian")
        rows = _rows_at_once if vectorize else _rows_in_turn
        table = []
        for y in outputs:
            columns = [
                r.reshape(y.shape + x.shape)
                for r, x in zip(rows(y, inputs, create_graph, strict), inputs)]
            table.append(_finished(columns, one_in, create_graph))
    return table[0] if one_out else tuple(table)


def _by_columns(func, inputs, create_graph):
    """The Jacobian by forward mode."""
    from ..func import jacfwd
    xs, one_in = _as_tuple(inputs, "inputs", "jacobian")
    xs = tuple([x.view_as(x) if create_graph and x.requires_grad else x.detach() for x in xs])
    table = jacfwd(func, tuple(range(len(xs))))(*xs)
    if isinstance(table[0], tuple):
        return tuple([_finished(row, one_in, create_graph) for row in table])
    return _finished(table, one_in, create_graph)


def _rows_in_turn(y, inputs, create_graph, strict):
    """For each input the gradients of the elements of `y`, one a row, by a backward for each."""
    import whet
    flat = y.reshape(-1)
    rows = [_gradients((flat[i],), inputs, (flat.new_ones(()),), create_graph, strict)
            for i in range(flat.numel())]
    return [whet.stack([r[k] for r in rows]) if rows else x.new_zeros((0, *x.shape))
            for k, x in enumerate(inputs)]


def _rows_at_once(y, inputs, create_graph, strict):
    """For each input the gradients of the elements of `y`, one a row, by one backward for all
    rows."""
    from ..func.jacobians import rows
    return rows(y, inputs, create_graph, None)


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False,
            outer_jacobian_strategy="reverse-mode"):
    """The second derivatives of a function that returns one number.

    >>> import whet
    >>> whet.autograd.functional.hessian(lambda x: (x ** 3).sum(), whet.tensor([1., 2.]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    _, single = _as_tuple(inputs, "inputs", "hessian")

    def slope(*xs):
        from .levels import variable
        # in forward mode no gradients have been asked for yet
        xs = tuple([x if x.requires_grad else variable(x) for x in xs])
        y = func(*xs)
        _one_number(y, "hessian")
        g = _gradients((y.reshape(()),), xs, (y.new_ones(()),), create_graph=True, strict=strict)
        return g[0] if single else g
    return jacobian(slope, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)


def _one_number(y, fn):
    from ..tensor import Tensor
    if not isinstance(y, Tensor):
        raise RuntimeError(f"The function given to {fn} should return a single Tensor")
    if y.numel() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {fn} should contain a single element")


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """(outputs, v^T J): the gradient of the outputs, weighted by `v`.

    >>> import whet
    >>> whet.autograd.functional.vjp(lambda x: x ** 2, whet.tensor([1., 2.]), whet.ones(2))[1]
    tensor([2., 4.])
    """
    with enable_grad():
        inputs, one_in, outputs, one_out = _call(func, inputs, create_graph, "vjp")
        g = _gradients(outputs, inputs, _checked(v, outputs, "output", "vjp"), create_graph, strict)
    return _finished(outputs, one_out, create_graph), _finished(g, one_in, create_graph)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """(outputs, J v): the derivative of the outputs in the direction `v`, as the gradient of a
    gradient.

    >>> import whet
    >>> whet.autograd.functional.jvp(lambda x: x ** 2, whet.tensor([1., 2.]), whet.ones(2))[1]
    tensor([2., 4.])
    """
    with enable_grad():
        inputs, _, outputs, one_out = _call(func, inputs, create_graph, "jvp")
        v = _checked(v, inputs, "input to the user-provided function", "jvp")
        dummies = tuple([y.new_zeros(y.shape).requires_grad_() for y in outputs])
        g = _gradients(outputs, inputs, dummies, create_graph=True, strict=strict)
        d = _gradients(g, dummies, v, create_graph)
    return _finished(outputs, one_out, create_graph), _finished(d, one_out, create_graph)


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """(output, v^T H) of a function that returns one number.

    >>> import whet
    >>> x, v = whet.tensor([1., 2.]), whet.ones(2)
    >>> whet.autograd.functional.vhp(lambda x: (x ** 3).sum(), x, v)[1]
    tensor([ 6., 12.])
    """
    return _hessian_product(func, inputs, v, create_graph, strict, "vhp")


def _hessian_product(func, inputs, v, create_graph, strict, fn):
    with enable_grad():
        inputs, one_in, outputs, _ = _call(func, inputs, create_graph, fn)
        v = _checked(v, inputs, "input to the user-provided function", fn)
        _one_number(outputs[0], fn)
        ones = tuple([y.new_ones(y.shape) for y in outputs])
        g = _gradients(outputs, inputs, ones, create_graph=True, strict=strict)
        h = _gradients(g, inputs, v, create_graph, strict, second=True)
    return _finished(outputs, True, create_graph), _finished(h, one_in, create_graph)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """(output, H v) of a function that returns one number: the same as `vhp`, H being symmetric.

    >>> import whet
    >>> x, v = whet.tensor([1., 2.]), whet.ones(2)
    >>> whet.autograd.functional.hvp(lambda x: (x ** 3).sum(), x, v)[1]
    tensor([ 6., 12.])
    """
    return _hessian_product(func, inputs, v, create_graph, strict, "hvp")
