"""Pooling."""
from types import FunctionType
from typing import Any

from ..ops import docstrings
from . import functional as F
from .conv import ntuple
from .layer import Layer, layer


class _Pool(Layer):
    def prepare(self):
        if self.stride is None:
            self.stride = self.kernel_size


class _MaxPoolNd(_Pool):
    shown = "kernel_size stride padding dilation ceil_mode"


class _AvgPoolNd(_Pool):
    shown = "kernel_size stride padding"


class _LPPoolNd(Layer):
    shown = "norm_type kernel_size stride ceil_mode"


class _MaxUnpoolNd(_Pool):
    shown = "kernel_size stride padding"


class _AdaptiveMaxPoolNd(Layer):
    shown = "output_size"


class _AdaptiveAvgPoolNd(Layer):
    pass


def _max_pool(n):
    @layer(f"max_pool{n}d")
    class MaxPool(_MaxPoolNd):
        kernel_size: Any
        stride: Any = None
        padding: Any = 0
        dilation: Any = 1
        return_indices: bool = False
        ceil_mode: bool = False
    return MaxPool


def _avg_pool(n):
    if n == 1:
        @layer("avg_pool1d")
        class AvgPool(_AvgPoolNd):
            kernel_size: Any
            stride: Any = None
            padding: Any = 0
            ceil_mode: bool = False
            count_include_pad: bool = True

            def prepare(self):
                super().prepare()
                for name in ("kernel_size", "stride", "padding"):
                    setattr(self, name, ntuple(getattr(self, name), 1))
    else:
        @layer(f"avg_pool{n}d")
        class AvgPool(_AvgPoolNd):
            kernel_size: Any
            stride: Any = None
            padding: Any = 0
            ceil_mode: bool = False
            count_include_pad: bool = True
            divisor_override: int | None = None
    return AvgPool


def _lp_pool(n):
    @layer(f"lp_pool{n}d")
    class LPPool(_LPPoolNd):
        norm_type: float
        kernel_size: Any
        stride: Any = None
        ceil_mode: bool = False
    return LPPool


def _max_unpool(n):
    @layer()
    class MaxUnpool(_MaxUnpoolNd):
        kernel_size: Any
        stride: Any = None
        padding: Any = 0

        def prepare(self):
            stride = self.kernel_size if self.stride is None else self.stride
            self.kernel_size, self.stride, self.padding = [
                ntuple(x, n) for x in (self.kernel_size, stride, self.padding)]

        def forward(self, input, indices, output_size=None):
            return getattr(F, unpool)(input, indices, self.kernel_size, self.stride, self.padding,
                                      output_size)
    unpool = f"max_unpool{n}d"
    return MaxUnpool


def _adaptive_max_pool(n):
    @layer(f"adaptive_max_pool{n}d")
    class AdaptiveMaxPool(_AdaptiveMaxPoolNd):
        output_size: Any
        return_indices: bool = False
    return AdaptiveMaxPool


def _adaptive_avg_pool(n):
    @layer(f"adaptive_avg_pool{n}d")
    class AdaptiveAvgPool(_AdaptiveAvgPoolNd):
        output_size: Any
    return AdaptiveAvgPool


def _fractional_max_pool(n):
    @layer()
    class FractionalMaxPool(Layer):
        kernel_size: Any
        output_size: Any = None
        output_ratio: Any = None
        return_indices: bool = False
        _random_samples: Any = None
        shown = ()

        def prepare(self):
            # a buffer in name only: the samples are given to every forward, and move with the
            # module
            samples = self.__dict__.pop("_random_samples")
            self.register_buffer("_random_samples", samples)
            if (self.output_size is None) == (self.output_ratio is None):
                raise ValueError(
                    f"FractionalMaxPool{n}d: give exactly one of output_size and output_ratio")
            ratio = self.output_ratio
            if (ratio is not None and
                    not all(0 < r < 1
                            for r in (ratio if isinstance(ratio, tuple | list) else (ratio,)))):
                raise ValueError(f"output_ratio must be between 0 and 1 (got {ratio})")

        def forward(self, input):
            return getattr(F, pool)(input, self.kernel_size, self.output_size, self.output_ratio,
                                    self.return_indices, _random_samples=self._random_samples)
    pool = f"fractional_max_pool{n}d"
    return FractionalMaxPool


_FAMILIES = {
    "MaxPool": (_max_pool, (1, 2, 3), "The largest value of each window."),
    "AvgPool": (_avg_pool, (1, 2, 3), "The mean of each window."),
    "LPPool": (_lp_pool, (1, 2, 3), "The p-norm of each window."),
    "MaxUnpool": (_max_unpool, (1, 2, 3),
                  "Puts the values of a max pool back where they came from, zero elsewhere."),
    "AdaptiveMaxPool": (_adaptive_max_pool, (1, 2, 3),
                        "A max pool whose windows are chosen to give `output_size`."),
    "AdaptiveAvgPool": (_adaptive_avg_pool, (1, 2, 3),
                        "An average pool whose windows are chosen to give `output_size`."),
    "FractionalMaxPool": (_fractional_max_pool, (2, 3), "A max pool over pseudo-random windows."), }
__all__ = []


def _docstring(name, n, says):
    """What a pool of n dimensions does, and an example that gives two places in each."""
    if name == "MaxUnpool":
        call = (f"whet.nn.MaxUnpool{n}d(2)(*whet.nn.MaxPool{n}d(2, return_indices=True)"
                f"(whet.ones(1, 3{', 4' * n})))")
    else:
        arguments = {"LPPool": "2, kernel_size=2", "FractionalMaxPool": "2, output_size=2"}.get(
            name, "2")
        call = f"whet.nn.{name}{n}d({arguments})(whet.ones(1, 3{', 4' * n}))"
    size = 4 if name == "MaxUnpool" else 2
    return docstrings.with_example(says, f"{call}.shape", f"whet.Size([1, 3{f', {size}' * n}])")


for _name, (_make, _dims, _doc) in _FAMILIES.items():
    for _n in _dims:
        _cls = _make(_n)
        _cls.__name__ = _cls.__qualname__ = f"{_name}{_n}d"
        for _method in vars(_cls).values():
            if isinstance(_method, FunctionType):
                _method.__qualname__ = f"{_cls.__name__}.{_method.__name__}"
        _cls.__doc__ = _docstring(_name, _n, _doc)
        globals()[_cls.__name__] = _cls
        __all__.append(_cls.__name__)
