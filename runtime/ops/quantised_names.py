"""The functions and methods that lead to tensors of quantised types. What they do is in
`whet.quantised`, which is imported when the first is called."""
import importlib

from ..composite import Composite
from ..dtypes import float32
from .argument_errors import checked_input
from .docstrings import with_example
from .surface import FUNCTIONS, METHODS, function


def _there():
    return importlib.import_module("whet.quantised")


@function(method=False)
def quantize_per_tensor(input, scale, zero_point, dtype):
    """Real numbers as integers of a quantised type (`quint8`, `qint8`, `qint32`), which stand for
    (q - zero_point) * scale; of a list of tensors each, by lists of scales and zero points.

    >>> import whet
    >>> q = whet.quantize_per_tensor(whet.tensor([-1.0, 0.25, 2.0]), 0.5, 10, whet.quint8)
    >>> q.int_repr(), q.dequantize()
    (tensor([ 8, 10, 14], dtype=whet.uint8), tensor([-1.,  0.,  2.]))
    """
    return _there().quantize_per_tensor(input, scale, zero_point, dtype)


@function(method=False)
def quantize_per_channel(input, scales, zero_points, axis, dtype):
    """Real numbers as integers of a quantised type, with a scale and a zero point for each place
    along a dimension.

    >>> import whet
    >>> x = whet.tensor([[1.0, 2.0], [10.0, 20.0]])
    >>> scales, zeros = whet.tensor([1.0, 10.0]), whet.tensor([0, 0])
    >>> whet.quantize_per_channel(x, scales, zeros, 0, whet.qint8).int_repr()
    tensor([[1, 2],
            [1, 2]], dtype=whet.int8)
    """
    return _there().quantize_per_channel(input, scales, zero_points, axis, dtype)


@function(method=False)
def quantize_per_tensor_dynamic(input, dtype, reduce_range):
    """Real numbers as integers of a quantised type, with the scale and the zero point that their
    range asks for; of one bit less where the range is reduced.

    >>> import whet
    >>> q = whet.quantize_per_tensor_dynamic(whet.tensor([0.0, 25.5]), whet.quint8, False)
    >>> round(q.q_scale(), 3), q.q_zero_point()
    (0.1, 0)
    """
    return _there().quantize_per_tensor_dynamic(input, dtype, reduce_range)


@function()
def dequantize(input):
    """The real numbers of a tensor of a quantised type, or of each of several; other tensors as
    float32.

    >>> import whet
    >>> whet.dequantize(whet.quantize_per_tensor(whet.tensor([0.3]), 0.5, 0, whet.qint8))
    tensor([0.5000])
    """
    if isinstance(input, list | tuple):
        return tuple([dequantize(x) for x in input])
    if issubclass(type(input), Composite) and hasattr(type(input), "int_repr"):
        return type(input).dequantize(input)
    checked_input("dequantize", input)
    return input.to(float32)


@function(method=False)
def quantized_batch_norm(input, weight, bias, mean, var, eps, output_scale, output_zero_point):
    """`batch_norm` by known statistics of a tensor of a quantised type, by another scale.

    >>> import whet
    >>> q = whet.quantize_per_tensor(whet.ones(1, 2, 1, 1), 0.5, 0, whet.quint8)
    >>> one, zero = whet.ones(2), whet.zeros(2)
    >>> whet.quantized_batch_norm(q, one, zero, zero, one, 0.0, 0.25, 0).int_repr().flatten()
    tensor([4, 4], dtype=whet.uint8)
    """
    real = FUNCTIONS["batch_norm"](dequantize(input), weight, bias, mean, var, False, 0.0, eps)
    return quantize_per_tensor(real, output_scale, output_zero_point, input.dtype)


def _pool(n):
    def pool(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
        if not getattr(input, "is_quantized", False):
            raise NotImplementedError(f"Could not run 'quantized_max_pool{n}d' with a tensor of "
                                      "no quantised type")
        from ..nn import functional
        run = getattr(functional, f"max_pool{n}d")
        return run(input, kernel_size, stride if stride != () else None, padding, dilation,
                   ceil_mode)
    pool.__name__ = pool.__qualname__ = f"quantized_max_pool{n}d"
    pool.__doc__ = with_example(
        f"`max_pool{n}d` of a tensor of a quantised type.",
        f"whet.quantized_max_pool{n}d(whet.quantize_per_tensor(whet.ones(1, 1{', 2' * n}), 0.5, 0, "
        "whet.quint8), 2).int_repr().flatten()", "tensor([2], dtype=whet.uint8)")
    return pool


for _n in (1, 2, 3):
    function(method=False)(_pool(_n))


def _only_of_quantised(name, what):
    def ask(self):
        if issubclass(type(self), Composite):
            return getattr(self, name)()
        raise NotImplementedError(f"Could not run '{name}' with a tensor of {self.dtype}: it is of "
                                  "quantised types")
    ask.__name__ = ask.__qualname__ = name
    ask.__doc__ = f"{what} of a tensor of a quantised type."
    return ask


METHODS.update({name: _only_of_quantised(name, what) for name, what in {
    "int_repr": "The integers", "q_scale": "The scale", "q_zero_point": "The zero point",
    "q_per_channel_scales": "The scales along the axis",
    "q_per_channel_zero_points": "The zero points along the axis",
    "q_per_channel_axis": "The axis that has a scale for each place",
    "qscheme": "The scheme"}.items()})
