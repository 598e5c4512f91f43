"""softmax, log_softmax and logsumexp."""

import math

from .. import dtypes
from ..autograd import modes
from ..dtypes import COMPLEX, FLOAT
from ..ir import row_programs
from . import dims, docstrings
from .argument_errors import checked_input
from .out_types import OutType
from .reduce import amax, samples_along_one_dim
from .registry import apply
from .rows_family import RowsOp
from .sample_inputs import Sample
from .surface import FUNCTIONS, function
from .variance import without_dim


def _softmax_grad_vjp(gg, _o, g, y, *, dim):
    d = list(dim)
    t = (g * y).sum(d, keepdim=True)
    u = (gg * y).sum(d, keepdim=True)
    return [y * (gg - u), gg * (g - t) - g * u]


def _log_softmax_grad_vjp(gg, _o, g, y, *, dim):
    d = list(dim)
    e = y.exp()
    return [gg - (gg * e).sum(d, keepdim=True), -(gg * e * g.sum(d, keepdim=True))]


def _pair_samples(make):
    yield Sample(make(3, 4), make(3, 4), dim=(1,))


def _tuple_dim(make):
    for q in samples_along_one_dim(make):
        yield Sample(*q.args, dim=(q.kwargs["dim"],))


softmax_grad_op = RowsOp(
    "softmax_backward", row_programs.softmax_backward, vjp=_softmax_grad_vjp, samples=_pair_samples
)
softmax_op = RowsOp(
    "softmax",
    row_programs.softmax,
    vjp=lambda g, y, _x, *, dim: [softmax_grad_op(g, y, dim=dim)],
    samples=_tuple_dim,
    onnx=lambda b, x, dim: b.Softmax(x, axis=dim[0]),
)
log_softmax_grad_op = RowsOp(
    "log_softmax_backward",
    row_programs.log_softmax_backward,
    vjp=_log_softmax_grad_vjp,
    samples=_pair_samples,
)
log_softmax_op = RowsOp(
    "log_softmax",
    row_programs.log_softmax,
    vjp=lambda g, y, _x, *, dim: [log_softmax_grad_op(g, y, dim=dim)],
    samples=_tuple_dim,
    onnx=lambda b, x, dim: b.LogSoftmax(x, axis=dim[0]),
)


def _logsumexp_vjp(g, y, x, *, dim):
    # all -inf: the gradient is zero
    safe = FUNCTIONS["where"](y == y.new_full((), -math.inf), 0.0, y)
    return [g * (x - safe).exp()]


logsumexp_op = RowsOp(
    "logsumexp",
    row_programs.logsumexp,
    vjp=_logsumexp_vjp,
    samples=_tuple_dim,
    onnx=lambda b, x, dim: b.reduce("ReduceLogSumExp", x, dim),
)


def _row_functions(name, op, doc):
    """The function of the top level, also a method, and that of `nn.functional`, which may be left
    to choose a dimension."""

    def f(input, dim, dtype=None):
        if dtype is not None:
            input = input.to(dtype=dtype)
        if checked_input(name, input).dtype.category != FLOAT:
            raise NotImplementedError(
                f"\"{name}_lastdim_kernel_impl\" not implemented for '{input.dtype.letter}'"
            )
        d = dims.one(dim, input.ndim, name)
        if not input.ndim:
            return apply(op, (input.reshape(1),), {"dim": (0,)}).reshape(())
        return apply(op, (input,), {"dim": (d,)})

    def functional(input, dim=None, _stacklevel=3, dtype=None):
        if dim is None:
            modes.warn(
                f"Implicit dimension choice for {name} has been deprecated. Change the call to "
                "include dim=X as an argument.", stacklevel=2)
            dim = 0 if checked_input(name, input).ndim in (0, 1, 3) else 1
        return f(input, dim, dtype)

    for made in (f, functional):
        made.__name__, made.__doc__ = name, doc
    functional.__module__ = "whet.nn.functional"
    function(out=True)(f)
    return functional


softmax = _row_functions("softmax", softmax_op, docstrings.with_example(
    "exp(x) divided by its sum along `dim`.",
    "whet.softmax(whet.tensor([0., 1.]), dim=0)", "tensor([0.2689, 0.7311])"))
log_softmax = _row_functions("log_softmax", log_softmax_op, docstrings.with_example(
    "log(softmax(x)) along `dim`, without overflow and underflow.",
    "whet.log_softmax(whet.tensor([0., 1.]), dim=0)", "tensor([-1.3133, -0.3133])"))


@function(out=True, out_type=OutType.CASTS)
def logsumexp(input, dim, keepdim=False):
    """log(sum(exp(x))) along `dim`, computed stably.

    >>> import whet
    >>> whet.logsumexp(whet.tensor([0., 0.]), dim=0)
    tensor(0.6931)
    """
    if checked_input("logsumexp", input).dtype.category < FLOAT:
        input = input.to(dtypes.get_default_dtype())
    d = dims.many(dim, input.ndim, "logsumexp")
    if not input.ndim:  # a complex one has its angle between -pi and pi, as a logarithm
        return (
            input * 1 if input.dtype.category != COMPLEX
            else logsumexp(input.reshape(1), 0).reshape(())
        )
    d = tuple(range(input.ndim)) if d is None else d
    if input.dtype.category == COMPLEX:
        if not input.numel():
            return input.exp().sum(d, keepdim=keepdim).log()
        top = FUNCTIONS["nan_to_num"](amax(input.detach().real, d, True), 0.0, 0.0, 0.0)
        return without_dim((input - top).exp().sum(d, keepdim=True).log() + top, d, keepdim)
    return without_dim(apply(logsumexp_op, (input,), {"dim": d}), d, keepdim)
