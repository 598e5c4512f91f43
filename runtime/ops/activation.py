"""Activations whose call is more than their formula."""
from ..dtypes import FLOAT
from . import activation_formulas as formulas
from . import docstrings
from .argument_errors import check_numbers_fit, checked_input
from .argument_guards import check_text
from .out_arguments import give_out
from .pointwise_family import inplace
from .public_functions import compile_function
from .random import draw
from .registry import apply, check_one_type, is_tensor, narrowed
from .softmax import softmax
from .surface import FUNCTIONS, function


def _act(op, input, numbers, write):
    checked_input(op.name, input)
    return inplace(op, input, numbers) if write else apply(op, (input, *numbers), {})


def activation(name, op, params=""):
    """The functional form `name(input, <params>, inplace=False)` of a pointwise op."""
    names = "".join(q.split("=")[0].strip() + ", " for q in params.split(",") if q.strip())
    f = compile_function(
        name,
        f"def {name}(input, {params + ', ' if params else ''}inplace=False):\n"
        f"    return act(op, input, ({names}), inplace)", {"act": _act, "op": op})
    f.__doc__ = docstrings.of_elementwise(name, op.doc, op.example)[0]
    return f


def elu(input, alpha=1.0, inplace=False):
    """x where positive, alpha * (exp(x) - 1) elsewhere.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.elu(whet.tensor([-1., 0., 2.]))
    tensor([-0.6321,  0.0000,  2.0000])
    """
    return _act(formulas.elu_op, input, (alpha, 1.0), inplace)


def celu(input, alpha=1.0, inplace=False):
    """x where positive, alpha * (exp(x / alpha) - 1) elsewhere.

    >>> import whet
    >>> whet.celu(whet.tensor([-1e9, 2.0]), 0.5)
    tensor([-0.5000,  2.0000])
    """
    if alpha == 0:
        raise RuntimeError("celu(): alpha cannot be 0")
    return _act(formulas.celu_op, input, (alpha,), inplace)


def selu(input, inplace=False):
    """The self-normalising ELU.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.selu(whet.tensor([-1., 2.]))
    tensor([-1.1113,  2.1014])
    """
    return _act(formulas.selu_op, input, (), inplace)


def gelu(input, approximate="none", *, out=None):
    """x times the normal distribution function of x (or its tanh approximation).

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.gelu(whet.tensor([-1., 0., 2.]))
    tensor([-0.1587,  0.0000,  1.9545])
    """
    if approximate not in ("none", "tanh"):
        check_text("gelu", "approximate", approximate)
        raise RuntimeError("approximate argument must be either none or tanh.")
    op = formulas.gelu_erf if approximate == "none" else formulas.gelu_tanh
    y = _act(op, input, (), write=False)
    return y if out is None else give_out("gelu", y, out, (input,))


def softplus(input, beta=1, threshold=20, *, out=None):
    """log(1 + exp(beta * x)) / beta, the identity above the threshold.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.softplus(whet.tensor([0., 2.]))
    tensor([0.6931, 2.1269])
    """
    y = _act(formulas.softplus_op, input, (beta, threshold), write=False)
    return y if out is None else give_out("softplus", y, out, (input,))


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """x, no less than `min_val` and no more than `max_val`.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.hardtanh(whet.tensor([-2., 0.5, 2.]))
    tensor([-1.0000,  0.5000,  1.0000])
    """
    try:
        crossed = min_val > max_val
    except TypeError:
        raise TypeError(
            "hardtanh(): min_val and max_val must be numbers, not "
            f"{min_val.__class__.__name__} and {max_val.__class__.__name__}") from None
    if crossed:
        raise ValueError("min_val cannot be greater than max_val")
    if min_val < 0 and is_tensor(input) and input.dtype.kind == "u":
        raise RuntimeError("hardtanh(): cannot do hardtanh on an unsigned type with negative "
                           f"limits: {min_val} for {input.dtype}")
    check_numbers_fit("hardtanh", input, min_val, max_val)
    return _act(formulas.hardtanh.op, input, (min_val, max_val), inplace)


def softshrink(input, lambd=0.5, *, out=None):
    """x moved towards zero by `lambd`, and zero where it is nearer than that.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.softshrink(whet.tensor([-2., 0.25, 1.]))
    tensor([-1.5000,  0.0000,  0.5000])
    """
    if lambd < 0:
        raise RuntimeError(f"softshrink: lambd must not be negative, but found {lambd}")
    return formulas.softshrink(input, lambd, out=out)


def threshold(input, threshold, value, inplace=False):
    """x where greater than the threshold, `value` elsewhere (of whole numbers both without their
    fractions).

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.threshold(whet.tensor([0.25, 2.]), 0.5, 9.)
    tensor([9., 2.])
    """
    if is_tensor(input) and input.dtype.category < FLOAT:
        check_numbers_fit("threshold", input, threshold, value)
        threshold, value = int(threshold), int(value)
    return _act(formulas.threshold_op, input, (threshold, value), inplace)


@function()
def prelu(input, weight):
    """x where positive, weight * x elsewhere; the weight is one number or one per channel.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.prelu(whet.tensor([-1., 2.]), whet.tensor([0.25]))
    tensor([-0.2500,  2.0000])
    """
    if weight.ndim > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    check_one_type("prelu", input=input, weight=weight)
    input, weight = narrowed(input, weight)
    n = weight.numel()
    if n != 1:
        if input.ndim == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input.shape[1] if input.ndim > 1 else 1
        if channels != n:
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{n} and channel size = {channels}.")
    shape = [1] * input.ndim
    if input.ndim > 1:
        shape[1] = n
    return apply(formulas.prelu_op, (input, weight.reshape(shape)), {})


def glu(input, dim=-1):
    """One half of the input times the sigmoid of the other.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.glu(whet.tensor([1., 2., 0., 0.]))
    tensor([0.5000, 1.0000])
    """
    if input.ndim == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    if input.shape[dim] % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {dim} is size {input.shape[dim]}")
    a, b = input.chunk(2, dim)
    return a * b.sigmoid()


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """softmax(-x)

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.softmin(whet.tensor([0., 1.]), dim=0)
    tensor([0.7311, 0.2689])
    """
    return softmax(-input, dim, dtype=dtype)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """A sample of a relaxed (or, with a straight-through gradient, a hard) one-hot variable.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> y = F.gumbel_softmax(whet.zeros(3, 4), hard=True)
    >>> y.sum(-1)
    tensor([1., 1., 1.])
    """
    g = -FUNCTIONS["empty_like"](logits).exponential_().log()
    soft = FUNCTIONS["softmax"]((logits + g) / tau, dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one = FUNCTIONS["zeros_like"](logits).scatter(dim, index, 1.0)
    return one - soft.detach() + soft


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """Leaky ReLU whose slope is random in training.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.rrelu(whet.tensor([-1., 2.]), 0.1, 0.3)
    tensor([-0.2000,  2.0000])
    """
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        return _act(formulas.leaky_relu.op, input, ((lower + upper) / 2,), inplace)
    u = draw("uniform32", input.shape, device=input.device)
    slope = u.to(input.dtype) * (upper - lower) + lower
    slope = FUNCTIONS["where"](input > 0, 1.0, slope)
    return input.mul_(slope) if inplace else input * slope
