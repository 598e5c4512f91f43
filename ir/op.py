"""What the compiler knows of an op: the facts that its definition in `whet.ops` states, and how to
find an op by its name."""
from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .scalar import Expr

# words that begin a line of a graph: an op of such a name is written in quotes
KEYWORDS = frozenset((
    "input", "draw", "write", "guard", "ask", "return", "stream", "graph", "into", "uncounted",
    "fused", "rows", "parts", "picks", "contract", "chain", "many"))
_NAME = re.compile(r"[A-Za-z_]\w*\Z")


class Op(Protocol):
    """An op's facts; `whet.ops.registry.Op` says more of each."""
    name: str
    family: str
    ours: bool                   # defined by the framework: its name identifies it
    pure: bool
    random: bool
    draw: Any                    # how its random numbers are made, if it draws some
    fills: Callable[..., Any] | None     # of an op without operands: the number in its result
    is_unset: bool               # of such an op: does it leave memory uninitialised?
    forward: Callable[..., Any]
    compute: Callable[..., Any]          # the same on the device of the operands

    # ---- expressions and derivatives
    base: Any                    # the op whose gradient it computes
    at_result: bool              # its gradient may read the result in place of the operand
    gradient: Callable[..., Any]
    result: Any
    roots: tuple[Expr, ...]      # of a write to many tensors: what it computes for each element
    _number: Callable[..., Any]
    as_rows: Callable[..., Any]

    # ---- views
    is_view: bool                # the result is in the first operand's memory
    reach: Callable[..., tuple[int, int]] | None     # the elements of a view that goes beyond it

    # ---- repeating a call
    is_repeatable: bool          # a call can be replayed as its one launch, or view
    launches: bool
    dynamic_numbers: bool        # numbers are read by the kernel, so a replay may have others
    kernels_take_numbers: bool   # the same for kernels of devices

    # ---- sizes
    any_sizes: bool              # it may be part of a plan for symbolic sizes
    numbers_by_size: bool        # numbers among operands may be symbolic
    size_attrs: frozenset[str]   # attributes that are sizes, or tuples of them
    value_attrs: frozenset[str]  # attributes that are numbers of values
    keeps_elements: bool         # the result has all elements of the operand, in shape `size`
    keeps_sizes: bool            # all results have the sizes of the first operand
    makes: Callable[..., Any] | None         # outlines of the operands -> outlines of the results
    outlined: Callable[..., Any] | None      # the same, of an op whose launches do not show them
    sized_by_data: bool          # do the results' sizes depend on elements of the operands?
    # the result's shape, if the attributes determine it for nearly all data; else None
    usual_shape: Callable[..., tuple[int, ...] | None] | None
    rows_at: tuple[int | None, ...]      # of a recurrent op: the operands' sequence dimensions

    # ---- writes in place, and forms by launches
    write: Callable[..., Any] | None
    targets: Callable[[Mapping[str, Any]], int]  # attributes -> how many operands `write` changes
    moves: Callable[..., list[tuple[Any, Any]]] | None
    picks: Callable[..., tuple[int, bool, bool] | None] | None
    write_by_kernels: Callable[..., Any] | None
    write_without_numpy: Callable[..., Any] | None
    forward_without_numpy: Callable[..., Any] | None

    onnx: Callable[..., Any] | None

    @property
    def may_fail(self) -> bool:
        """Can a call raise, or make another shape, for other data?"""

    @property
    def root(self) -> Expr:
        """A pointwise op's expression."""

    def plan(self, inputs: list[Any]) -> tuple[Any, Any, Any]:
        """(the kernel, the type of numbers, the type of the result) of a pointwise op for such
        operands."""

    def blocks(self, shape: Iterable[int]) -> int:
        """How far a draw of random numbers moves its generator."""

    def program(self, dtype: str) -> Any:
        """The row program of an op over rows."""


def name_of(op: Op) -> str:
    """An op's name; the gradients of complex operands have names of their own."""
    return op.name + (".complex" if _is_complex(op) else "")


def name_text(op: Op) -> str:
    """An op by its name, as a graph's text has it."""
    return (name_of(op) if _NAME.match(op.name) and op.name not in KEYWORDS else json.dumps(
        name_of(op)))


def _is_complex(op: Op) -> bool:
    made: Mapping[Any, Any] = getattr(op.base, "_grads", {})
    return any(type(k) is tuple and type(got) is tuple and got[0] is op for k, got in made.items())


def find_op(name: str) -> Any:
    """The op of a name: a defined op; a gradient of a pointwise op, as `mul_grad0`, also with
    `.complex`; a write to several tensors, as `mul.each`; or an update of an optimizer, or a
    formula of it, as `Adam.step/0,l2,0,1` and `Adam.param/0,l2,0,1`. None if there is none."""
    from whet.ops.registry import REGISTRY
    name, complex_ = (name[:-8], True) if name.endswith(".complex") else (name, False)
    if name in REGISTRY and not complex_:
        return REGISTRY[name]
    if name.endswith(".each"):
        from whet.ops import write_to_each
        return write_to_each.to_each_if_pointwise(find_op(name.removesuffix(".each")))
    if "/" in name and "_grad" not in name:
        from whet.optim import update_ops
        return update_ops.find_op(name)
    if name.count("_grad") > 4:
        return None
    before, found, i = name.rpartition("_grad")
    base = find_op(before) if found else None
    if base is None or not hasattr(base, "gradient") or i and not i.isdecimal() \
            or int(i or 0) >= base.nin or bool(i) != (base.nin > 1):
        return None
    got = base.gradient(int(i or 0), complex_)
    return got[0] if type(got) is tuple else None
