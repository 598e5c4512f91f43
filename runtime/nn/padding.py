"""Padding of the last one, two or three dimensions."""
from ..ops import docstrings
from . import functional as F
from .module import Module
from .tuples import _ntuple


class _Pad(Module):
    mode, dims = "constant", 1

    def __init__(self, padding):
        super().__init__()
        # What F.pad takes: two amounts a dimension, the last one first. It checks them.
        self.padding = _ntuple(2 * self.dims)(padding)

    def forward(self, input):
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self):
        return f"{self.padding}"


class _ConstantPadNd(_Pad):
    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(_ConstantPadNd):
    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class _ReflectionPadNd(_Pad):
    mode = "reflect"


class _ReplicationPadNd(_Pad):
    mode = "replicate"


class _CircularPadNd(_Pad):
    mode = "circular"

    def forward(self, input):
        if input.ndim not in (self.dims + 1, self.dims + 2):
            raise ValueError(
                f"expected {self.dims + 1}D or {self.dims + 2}D input (got {input.ndim}D input)")
        return F.pad(input, self.padding, self.mode)


_FAMILIES = {
    "ConstantPad": (_ConstantPadNd, "Pads with a value."),
    "ZeroPad": (_ZeroPad, "Pads with zeros."),
    "ReflectionPad": (_ReflectionPadNd, "Pads with the mirror image, which leaves out the edge."),
    "ReplicationPad": (_ReplicationPadNd, "Pads with the elements at the edge."),
    "CircularPad": (_CircularPadNd, "Pads with the elements from the opposite side."),
}
__all__ = []
for _name, (_base, _doc) in _FAMILIES.items():
    for _n in (1, 2, 3):
        _pad = f"{_name}{_n}d({'1, 0.5' if _name == 'ConstantPad' else '1'})"
        _example = docstrings.with_example(
            _doc, f"whet.nn.{_pad}(whet.ones(1, 2{', 3' * _n})).shape",
            f"whet.Size([1, 2{', 5' * _n}])")
        globals()[f"{_name}{_n}d"] = type(
            f"{_name}{_n}d", (_base,),
            {"dims": _n, "__doc__": _example, "__module__": __name__})
        __all__.append(f"{_name}{_n}d")
