"""What `testing.assert_close` compares, and what it says of a difference."""
import cmath
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import dtypes
from .dtypes import FLOAT
from .layouts import strided
from .ops.surface import FUNCTIONS as F
from .tensor import Tensor

# (rtol, atol) by type, as PyTorch has them
TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7)}
NUMBERS = int | float | complex | np.number
# what of a sparse tensor is compared in turn
PARTS = {
    "sparse_coo": ("indices", "values"),
    **dict.fromkeys(("sparse_csr", "sparse_bsr"), ("crow_indices", "col_indices", "values")),
    **dict.fromkeys(("sparse_csc", "sparse_bsc"), ("ccol_indices", "row_indices", "values"))}


class Comparison(NamedTuple):
    """How two things are compared. `msg` is said in place of a difference, or makes it of ours."""
    rtol: float | None
    atol: float | None
    equal_nan: bool
    subclasses: bool
    device: bool
    dtype: bool
    layout: bool
    stride: bool
    msg: Any

    def fail(self, text, place):
        """Say where two things differ."""
        text = text + (f"\n\nThe failure occurred for item {place}" if place else "")
        if isinstance(self.msg, str):
            text = self.msg
        raise AssertionError(self.msg(text) if callable(self.msg) else text)

    def tolerances(self, *types):
        """(rtol, atol): given, or the largest of these types."""
        if self.rtol is not None:
            return self.rtol, self.atol
        return tuple(max(t) for t in zip(*(TOLERANCES.get(t, (0.0, 0.0)) for t in types)))

    def compare(self, a, b, place=""):
        """Compare two things of any kind."""
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            self.mappings(a, b, place)
        elif _is_sequence(a) and _is_sequence(b):
            self.sequences(a, b, place)
        elif a is None or b is None:
            if a is not b:
                self.fail(f"None mismatch: {a} is not {b}", place)
        elif isinstance(a, bool | np.bool_) and isinstance(b, bool | np.bool_):
            if a != b:
                self.fail(f"Booleans mismatch: {a} is not {b}", place)
        elif _is_number(a) and _is_number(b):
            self.numbers(_number(a), _number(b), place)
        else:
            self.arrays(a, b, place)

    def mappings(self, a, b, place):
        """Compare two mappings: they must have the same keys, whose values are close."""
        if a.keys() != b.keys():
            missing, more = (sorted(x.keys() - y.keys(), key=str) for x, y in ((b, a), (a, b)))
            raise AssertionError(
                "The keys of the mappings do not match:\nMissing keys in the actual mapping: "
                f"{missing}\nAdditional keys in the actual mapping: {more}"
                + (f"\n\nThe failure occurred for item {place}" if place else ""))
        for k in a:
            self.compare(a[k], b[k], f"{place}[{k!r}]")

    def sequences(self, a, b, place):
        """Compare two sequences: they must have as many items, which are close."""
        if len(a) != len(b):
            raise AssertionError(
                f"The length of the sequences mismatch: {len(a)} != {len(b)}"
                + (f"\n\nThe failure occurred for item {place}" if place else ""))
        for i, (x, y) in enumerate(zip(a, b)):
            self.compare(x, y, f"{place}[{i}]")

    def numbers(self, a, b, place):
        """Numbers of Python or NumPy."""
        if self.dtype and type(a) is not type(b):
            self.fail(f"The (d)types do not match: {type(a)} != {type(b)}.", place)
        names = {int: "int64", float: "float64", complex: "complex128"}
        rtol, atol = self.tolerances(names[type(a)], names[type(b)])
        if (a == b or self.equal_nan and cmath.isnan(a) and cmath.isnan(b)
                or cmath.isfinite(a) and cmath.isfinite(b) and abs(a - b) <= atol + rtol * abs(b)):
            return
        gap = abs(a - b)
        self.tell_scalars(a, b, gap, gap / abs(b) if b else float("inf"), (rtol, atol), place)

    def tell_scalars(self, a, b, gap, relative, tolerances, place):
        """Two numbers differ."""
        self.fail(f"Scalars are not {_wanted(tolerances)}!\n\nExpected {b} but got {a}.\n"
                  f"Absolute difference: {gap}{_limit(tolerances, 1)}\n"
                  f"Relative difference: {relative}{_limit(tolerances, 0)}", place)

    def arrays(self, a, b, place):
        """Tensors, or what tensors are made of: of classes of which one is the other's."""
        related = (isinstance(a, type(b)) or isinstance(b, type(a)) if self.subclasses
                   else type(a) is type(b))
        try:
            if not related:
                raise TypeError
            x, y = (t if isinstance(t, Tensor) else F["as_tensor"](t) for t in (a, b))
        except (TypeError, ValueError, RuntimeError):
            raise TypeError("No comparison pair was able to handle inputs of type "
                            f"{type(a)} and {type(b)}.") from None
        self.tensors(x, y, place)

    def tensors(self, a, b, place):
        """Two tensors: first what is said of them, then the elements."""
        for name, compared, get in (
                ("shape", True, lambda t: t.shape), ("layout", self.layout, lambda t: t.layout),
                ("device", self.device, lambda t: t.device),
                ("dtype", self.dtype, lambda t: t.dtype)):
            if compared and get(a) != get(b):
                self.fail(f"The values for attribute '{name}' do not match: {get(a)} != "
                          f"{get(b)}.", place)
        if a.layout != b.layout:
            a, b = (t if t.layout is strided else t.to_dense() for t in (a, b))
        kind = str(a.layout).rpartition(".")[2]
        if kind in PARTS:
            self.sparse(a, b, kind, place)
            return
        if self.stride and a.stride() != b.stride():
            self.fail("The values for attribute 'stride()' do not match: "
                      f"{a.stride()} != {b.stride()}.", place)
        self.elements(a, b, "Tensor-likes", place)

    def sparse(self, a, b, kind, place):
        """Two sparse tensors: where elements are, and which."""
        title = "Sparse " + kind.rpartition("_")[2].upper()
        if kind == "sparse_coo":
            a, b = a.coalesce(), b.coalesce()
        if a.values().shape != b.values().shape:
            self.fail("The number of specified values in sparse "
                      f"{title[7:]} tensors does not match: {len(a.values())} != "
                      f"{len(b.values())}", place)
        for part in PARTS[kind]:
            self.elements(getattr(a, part)(), getattr(b, part)(),
                          f"{title} {part.replace('_', ' ')}", place)

    def elements(self, a, b, title, place):
        """Elements of two tensors of one shape."""
        rtol, atol = self.tolerances(a.dtype.name, b.dtype.name)
        common = dtypes.promote_types(a.dtype, b.dtype)
        common = common if common.category >= FLOAT else dtypes.int64
        a, b = a.detach().cpu().to(common), b.detach().cpu().to(common)
        wrong = ~F["isclose"](a, b, rtol=rtol, atol=atol, equal_nan=self.equal_nan)
        if wrong.any():
            self.tell_elements(a, b, wrong, (rtol, atol), title, place)

    def tell_elements(self, a, b, wrong, tolerances, title, place):
        """Two tensors differ: how much, and where most."""
        gap = (a - b).abs()
        gap = gap.double() if gap.dtype.category >= FLOAT else gap
        relative = gap / b.abs().double()
        if not a.ndim:
            self.tell_scalars(a.item(), b.item(), gap.item(), relative.item(), tolerances, place)
        bad = int(wrong.sum())
        lines = [f"Mismatched elements: {bad} / {a.numel()} ({100 * bad / a.numel():.1f}%)"]
        for i, name, size in ((1, "absolute", gap), (0, "relative", relative)):
            # What is no number is more than any.
            order = size.double().where(wrong, -1.0).nan_to_num(nan=float("inf"),
                                                               posinf=float("inf"))
            at = tuple(int(k) for k in F["unravel_index"](order.argmax(), size.shape))
            lines.append(f"Greatest {name} difference: {size[at].item()} at index {at}"
                         + _limit(tolerances, i))
        self.fail(f"{title} are not {_wanted(tolerances)}!\n\n" + "\n".join(lines), place)


def _is_sequence(x):
    return isinstance(x, Sequence) and not isinstance(x, str)


def _is_number(x):
    return isinstance(x, NUMBERS) and not isinstance(x, bool)


def _number(x):
    return x.item() if isinstance(x, np.number) else x


def _wanted(tolerances):
    return "close" if any(tolerances) else "equal"


def _limit(tolerances, i):
    return f" (up to {tolerances[i]} allowed)" if any(tolerances) else ""
