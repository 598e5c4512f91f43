"""Parameters as one vector, and back."""
import whet

from ...ops.registry import check_tensors
from ...tensor import Tensor


def parameters_to_vector(parameters):
    """All elements of the parameters, one after the other.

    >>> import whet
    >>> from whet import nn
    >>> whet.nn.utils.parameters_to_vector(nn.Linear(3, 2).parameters()).shape
    whet.Size([8])
    """
    parameters = list(parameters)
    for p in parameters:
        check_tensors("parameters_to_vector", parameters=p)
    return whet.cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec, parameters):
    """Give the parameters new memory: slices of the vector.

    >>> import whet
    >>> from whet import nn
    >>> layer = nn.Linear(1, 1)
    >>> whet.nn.utils.vector_to_parameters(whet.tensor([2., 3.]), layer.parameters())
    >>> layer.weight.item(), layer.bias.item()
    (2.0, 3.0)
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected whet.Tensor, but got: {type(vec).__name__}")
    parameters = list(parameters)
    wanted = sum(p.numel() for p in parameters)
    if vec.numel() < wanted:
        raise RuntimeError(
            f"vector_to_parameters: the parameters have {wanted} elements, the vector has "
            f"{vec.numel()}")
    at = 0
    for p in parameters:
        n = p.numel()
        p.data = vec[at:at + n].view(p.shape).data
        at += n
