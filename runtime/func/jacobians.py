"""Jacobians and Hessians."""
from functools import wraps

from ..autograd.modes import enable_grad
from ..ops import cat, eye
from .forward import jvp
from .reverse import gradients, positions, run, without_own_history
from .trees import like, mapped, tensors
from .vmap import checked_chunk, vmap


def _by(func, args, kwargs, argnums):
    """A function of the arguments `argnums` alone, and these."""
    which = positions(argnums, args)

    def of_some(*some):
        every = list(args)
        for i, x in zip(which, some):
            every[i] = x
        return func(*every, **kwargs)
    return of_some, tuple([args[i] for i in which])


def _basis(x):
    """The unit tensors of a shape, one a row."""
    return eye(x.numel(), dtype=x.dtype, device=x.device).reshape((x.numel(), *x.shape))


def _joint_basis(xs):
    """The unit tensors of several tensors as one space: for each of them a part of every
    direction."""
    if len(xs) == 1:
        return [_basis(xs[0])]
    sizes, blocks = [x.numel() for x in xs], []
    for k, x in enumerate(xs):
        before, after = [x.new_zeros((sum(some), *x.shape)) for some in (sizes[:k], sizes[k + 1:])]
        blocks.append(cat([before, _basis(x), after]))
    return blocks


def rows(y, xs, create_graph, chunk_size):
    """For each input the derivatives of the elements of `y`, one a row."""
    def row(cotangent):
        return tuple(gradients([y], xs, [cotangent], create_graph))
    if y.numel() == 1:
        return [g.unsqueeze(0) for g in row(y.new_ones(y.shape))]
    if not y.numel():
        return [x.new_zeros((0, *x.shape)) for x in xs]
    return vmap(row, chunk_size=chunk_size)(_basis(y))


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """A function that computes the Jacobian of `func`, (*output's shape, *input's shape), by one
    backward for all elements of the output, or for `chunk_size` of them at a time.

    >>> import whet
    >>> whet.func.jacrev(lambda x: x ** 2)(whet.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    checked_chunk(chunk_size)

    @wraps(func)
    def compute(*args, **kwargs):
        of_some, some = _by(func, args, kwargs, argnums)
        inputs, out, aux, recorded = run(of_some, some, has_aux, "jacrev")
        with enable_grad():
            xs = tensors(inputs)

            def of(y):
                parts = [
                    r.reshape((*y.shape, *x.shape))
                    for r, x in zip(rows(y, xs, recorded, chunk_size), xs)
                ]
                parts = like(inputs, parts)
                return parts[0] if isinstance(argnums, int) else parts
            result = mapped(of, out)
        result, aux = without_own_history((result, aux), recorded)
        return (result, aux) if has_aux else result
    return compute


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error", chunk_size=None):
    """As `jacrev`, by forward mode along all elements of the input at once: for functions of few
    numbers.

    >>> import whet
    >>> whet.func.jacfwd(lambda x: whet.stack([x, x ** 2, x ** 3]))(whet.tensor(2.))
    tensor([ 1.,  4., 12.])
    """
    checked_chunk(chunk_size)

    @wraps(func)
    def compute(*args, **kwargs):
        of_some, some = _by(func, args, kwargs, argnums)
        xs = tensors(some)

        def push(*directions):
            return jvp(of_some, some, like(some, directions), has_aux=has_aux)[1:]
        made = vmap(
            push,
            out_dims=(-1, None) if has_aux else (-1,),
            randomness=randomness,
            chunk_size=chunk_size,
        )(*_joint_basis(xs))

        def of(y):
            parts = y.split([x.numel() for x in xs], -1)
            parts = like(some, [p.reshape((*y.shape[:-1], *x.shape)) for p, x in zip(parts, xs)])
            return parts[0] if isinstance(argnums, int) else parts
        result = mapped(of, made[0])
        return (result, made[1]) if has_aux else result
    return compute


def hessian(func, argnums=0):
    """A function that computes the second derivatives of `func`.

    >>> import whet
    >>> whet.func.hessian(lambda x: (x ** 3).sum())(whet.tensor([1., 2.]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


