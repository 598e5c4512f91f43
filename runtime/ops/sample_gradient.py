"""Derivatives of functions of which samples are known: `whet.gradient`."""
from .. import dtypes
from ..dtypes import BOOL, FLOAT
from . import dims
from .registry import check_tensors, is_tensor
from .surface import FUNCTIONS as F
from .surface import function
from .view_parts import slice_along


def _along(x, d, n):
    return x.reshape([-1 if i == d else 1 for i in range(n)])


def _slope(f, d, step, edge_order):
    """The derivative of samples along one dimension: `step` is a number, or the places of the
    samples."""
    def at(start, end=None):
        return slice_along(f, d, start, end)
    if not is_tensor(step):
        inner = (at(2) - at(0, -2)) / (2.0 * step)
        first, last = (at(1, 2) - at(0, 1)) / step, (at(-1) - at(-2, -1)) / step
        if edge_order == 2:
            first = (at(0, 1) * -1.5 + at(1, 2) * 2.0 + at(2, 3) * -0.5) / step
            last = (at(-1) * 1.5 + at(-2, -1) * -2.0 + at(-3, -2) * 0.5) / step
        return F["cat"]([first, inner, last], d)
    h = step.diff()
    a, b = (_along(q, d, f.ndim) for q in (h[:-1], h[1:]))
    inner = (at(0, -2) * (-b / (a * (a + b))) + at(1, -1) * ((b - a) / (a * b))
             + at(2) * (a / (b * (a + b))))
    first, last = (at(1, 2) - at(0, 1)) / h[0], (at(-1) - at(-2, -1)) / h[-1]
    if edge_order == 2:
        p, q = h[0], h[1]
        first = (at(0, 1) * (-(2 * p + q) / (p * (p + q))) + at(1, 2) *
                 ((p + q) / (p * q)) - at(2, 3) * (p / (q * (p + q))))
        p, q = h[-2], h[-1]
        last = (at(-3, -2) * (q / (p * (p + q))) - at(-2, -1) *
                ((p + q) / (p * q)) + at(-1) * ((2 * q + p) / (q * (p + q))))
    return F["cat"]([first, inner, last], d)


@function(method=False)
def gradient(input, *, spacing=1, dim=None, edge_order=1):
    """The derivatives of samples along each dimension, by central differences.

    >>> import whet
    >>> whet.gradient(whet.tensor([0., 1., 4., 9.]))
    (tensor([1., 2., 4., 5.]),)
    """
    check_tensors("gradient", input=input)
    if input.dtype.category == BOOL:
        raise RuntimeError("Subtraction, the `-` operator, with two bool tensors is not supported.")
    if edge_order not in (1, 2):
        raise RuntimeError("gradient only supports edge_order=1 and edge_order=2.")
    check_tensors("gradient", input=input)
    along = (range(input.ndim)
             if dim is None else [dim] if isinstance(dim, int) else dim)
    along = [dims.one(d, input.ndim, "gradient") for d in along]
    if len(set(along)) != len(along):
        raise RuntimeError(f"dim {along[0]} appears multiple times in the list of dims")
    spacing = 1 if spacing is None else spacing
    steps = list(spacing) if isinstance(spacing, list | tuple) else [spacing] * len(along)
    if len(steps) != len(along):
        raise RuntimeError(
            "gradient expected spacing to be unspecified, a scalar, or a list of length equal to "
            f"{len(along)}, but got a list of length {len(steps)}")
    for d, s in zip(along, steps):
        if input.shape[d] <= edge_order:
            raise RuntimeError("gradient expected each dimension size to be at least edge_order+1")
        if is_tensor(s) and (s.ndim != 1 or s.shape[0] != input.shape[d]):
            raise RuntimeError(
                f"gradient expected the coordinates of dimension {d} to be one dimensional, with "
                f"{input.shape[d]} elements")
    f = input if input.dtype.category >= FLOAT else input.to(dtypes.get_default_dtype())
    return tuple(_slope(f, d, s, edge_order) for d, s in zip(along, steps))
