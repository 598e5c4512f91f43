"""The vector product of three-dimensional space."""
from . import dims
from .registry import check_one_type, check_tensors
from .surface import FUNCTIONS, function


@function(out=True)
def cross(input, other, dim=None):
    """The vector product of vectors of 3 elements along `dim` (by default the first dimension of
    size 3).

    >>> import whet
    >>> whet.cross(whet.tensor([1., 0., 0.]), whet.tensor([0., 1., 0.]), dim=0)
    tensor([0., 0., 1.])
    """
    check_tensors("cross", input=input, other=other)
    check_one_type("cross", input=input, other=other)
    if input.ndim != other.ndim:
        raise RuntimeError("cross: inputs must have the same number of dimensions.")
    if dim is None:
        dim = next((i for i, n in enumerate(input.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    d = dims.one(dim, input.ndim, "cross")
    if input.shape[d] != 3 or other.shape[d] != 3:
        raise RuntimeError(
            f"cross: inputs dimension {dim} must have length 3. Got {input.shape[d]} and "
            f"{other.shape[d]}")
    if input.shape != other.shape:
        input, other = FUNCTIONS["broadcast_tensors"](input, other)
    (a, b, c), (x, y, z) = input.unbind(d), other.unbind(d)
    return FUNCTIONS["stack"]((b * z - c * y, c * x - a * z, a * y - b * x), d)
