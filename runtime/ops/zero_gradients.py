"""Results as functions of tensors that they do not vary with: the gradients there are zeros."""
from ..ir.outline import like_first
from .batching import all_batched
from .registry import Op, apply, is_tensor
from .sample_inputs import Sample
from .surface import FUNCTIONS


def attached(result, *inputs):
    """A result whose gradient for the inputs is zero, where one of them requires a gradient."""
    wanting = [x for x in inputs if is_tensor(x) and x.requires_grad]
    return apply(attached_op, (result, *wanting), {}) if wanting else result


def _vjp(g, _y, _result, *inputs):
    return [g, *[FUNCTIONS["zeros"](x.shape, dtype=x.dtype, device=x.device) for x in inputs]]


def _each(op, n, inputs, batched, attrs):
    return apply(op, tuple(all_batched(n, inputs, batched)), attrs)


attached_op = Op("attached", lambda result, *inputs: result.copy(), _vjp, samples=lambda make: [
    Sample(make(3), make(2, 3)), Sample(make(2, 3), make(2), make(3))], batch=_each)
attached_op.total, attached_op.outlined = True, like_first
