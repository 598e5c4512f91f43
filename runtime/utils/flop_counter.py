"""Counting floating point operations of products and convolutions, as PyTorch counts them."""
import math
from collections import defaultdict
from typing import Any

from ..autograd import modes
from ..library import CustomOpDef
from ..ops import aten
from ..ops.contract import linear_op, matmul_op, unrounded_matmul_op
from ..ops.convolutions import conv_input_grad_op, conv_op, conv_weight_grad_op
from ..ops.dispatch_observers import Passing
from ..ops.recurrent import BACKWARD, FORWARD
from .module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]


# ---- formulas ------------------------------------------------------------------------------------
def _product(a, b, out_shape):
    return 2 * math.prod(out_shape) * a[-1]


def _linear(x, w, bias=None, out_shape=()):
    return 2 * math.prod(out_shape) * w[-1]


def _convolution(x, w, bias=None, out_shape=()):
    return 2 * math.prod(out_shape) * math.prod(w[1:])


def _input_gradient(g, w, out_shape):
    return 2 * math.prod(g) * math.prod(w[1:])


def _weight_gradient(g, x, out_shape):
    """PyTorch's formula takes no notice of groups."""
    return 2 * math.prod(g) * x[1] * math.prod(out_shape[2:])


def _steps(op):
    """The operations of the products with weights in each step of a recurrent layer."""
    def formula(steps, *others, out_shape):
        weights = [x for x, at in zip(others, op.rows_at[1:])
                   if at is None and x is not None and len(x) == 2]
        return 2 * math.prod(steps[:2]) * sum(map(math.prod, weights))
    return formula


FORMULAS: dict[Any, Any] = {
    matmul_op: _product, unrounded_matmul_op: _product, linear_op: _linear,
    conv_op: _convolution, conv_input_grad_op: _input_gradient,
    conv_weight_grad_op: _weight_gradient,
    **{op: _steps(op) for op in (*FORWARD.values(), *BACKWARD.values())}}
BUILT_IN = frozenset(map(aten.packet, aten.OTHERS))
_registered: dict = {}


def register_flop_formula(targets, get_raw=False):
    """Say how many operations an operator of one's own does, or the ops of a name (or of each of
    several): the function is given the shapes of an op's operands, the op's attributes by name, and
    `out_shape`. With `get_raw` it is given tensors, and `out_val`.

    >>> import whet
    >>> from whet.utils.flop_counter import FlopCounterMode, register_flop_formula
    >>> @register_flop_formula(whet.ops.aten.exp2)
    ... def exp2_flop(shape, out_shape=None):
    ...     return shape[0]
    >>> with FlopCounterMode(display=False) as counter:
    ...     _ = whet.ones(5).exp2()
    >>> counter.get_total_flops()
    5
    """
    def register(formula):
        formula = formula if get_raw else _of_shapes(formula)
        for target in targets if isinstance(targets, list | tuple) else (targets,):
            _check_target(target)
            if target in _registered or target in BUILT_IN:
                raise RuntimeError(f"duplicate registrations for {target}")
            _registered[target] = formula
        return formula
    return register


def _check_target(target):
    if not isinstance(target, aten.OpOverloadPacket | CustomOpDef):
        raise ValueError(
            "register_flop_formula(targets): expected each target to be OpOverloadPacket (i.e. "
            f"whet.ops.aten.mm), got {target} which is of type {type(target)}")


def _of_shapes(formula):
    """A function of shapes as one of tensors."""
    def of_tensors(*args, out_val=None, **attrs):
        outs = tuple(map(_shape, out_val)) if type(out_val) is tuple else _shape(out_val)
        return formula(*map(_shape, args), out_shape=outs, **attrs)
    return of_tensors


def _shape(x):
    return tuple(x._array.shape) if hasattr(x, "_array") else x


# ---- counting ------------------------------------------------------------------------------------
class FlopCounterMode:
    """Counts inside, forward and backward, the floating point operations of products and
    convolutions: in all, and for each module. A product with a vector is one with a matrix of one
    column, which PyTorch's counts none of; attention is its products. Traced functions run eagerly.

    >>> import whet
    >>> from whet.utils.flop_counter import FlopCounterMode
    >>> model = whet.nn.Sequential(whet.nn.Linear(3, 4), whet.nn.ReLU())
    >>> with FlopCounterMode(display=False) as counter:
    ...     model(whet.ones(2, 3)).sum().backward()
    >>> counter.get_total_flops()
    96
    >>> print(counter.get_table())
    Module            FLOP    % Total
    --------------  ------  ---------
    Sequential          96    100.00%
     - aten.addmm       48     50.00%
     - aten.mm          48     50.00%
     Sequential.0       96    100.00%
      - aten.addmm      48     50.00%
      - aten.mm         48     50.00%

    `depth` is how deep modules are shown at the end, where it is to `display` them. Functions in
    `custom_mapping`, by `whet.ops.aten.NAME`, go before the formulas that there are.
    """

    def __init__(self, mods=None, depth=2, display=True, custom_mapping=None):
        if mods is not None:
            modes.warn("mods argument is not needed anymore, you can stop passing it", stacklevel=2)
        self.depth, self.display = depth, display
        self.flop_counts: dict = defaultdict(lambda: defaultdict(int))
        self._formulas = {
            **_registered, **{target: f if getattr(f, "_get_raw", False) else _of_shapes(f)
                              for target, f in (custom_mapping or {}).items()}}
        self.mod_tracker = ModuleTracker()
        self._mode: Any = None

    def get_total_flops(self):
        """All that was counted."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self):
        """What was counted: module -> op -> number."""
        return {module: dict(counts) for module, counts in self.flop_counts.items()}

    def get_table(self, depth=None):
        """What was counted, as a table."""
        depth = depth or self.depth or math.inf
        total, rows, covers = self.get_total_flops(), [], False
        for module in sorted(self.flop_counts):
            level = module.count(".")
            if module != "Global" and level < depth:
                rows += self._rows(module, level, total)
                covers |= sum(self.flop_counts[module].values()) >= total
        if "Global" in self.flop_counts and not covers:
            rows = self._rows("Global", 0, total) + [(" " + name, *rest) for name, *rest in rows]
        return _table([("Module", "FLOP", "% Total"), *(rows or [("Global", "0", "0%")])])

    def _rows(self, module, level, total):
        """The lines of a module."""
        counts, indent = self.flop_counts[module], " " * level
        lines = [(indent + module, sum(counts.values()))]
        lines += [(f"{indent} - {op}", number) for op, number in counts.items()]
        return [(name, _rounded(number, total), f"{number / total:.2%}" if total else "0%")
                for name, number in lines]

    def __enter__(self):
        # whoever records sees no more: what is counted is what runs
        modes.beyond("FlopCounterMode counts what runs")
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self._mode = _Counting(self)
        self._mode.__enter__()
        return self

    def __exit__(self, *exc):
        self._mode.__exit__(*exc)
        self._mode = None
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table(self.depth))

    def _count(self, op, inputs, attrs, outs):
        """Add what an op does to all modules that it runs in."""
        named = aten.packet(aten.name_of(op, inputs, self.mod_tracker.is_bw))
        if named in self._formulas:
            number = self._formulas[named](*inputs, out_val=outs, **attrs)
        elif op in FORMULAS:
            first = outs[0] if type(outs) is tuple else outs
            number = FORMULAS[op](*map(_shape, inputs), out_shape=_shape(first))
        else:
            return
        self._add(named, number)

    def _add(self, named, number):
        for module in self.mod_tracker.parents:
            self.flop_counts[module][named] += number


class _Counting(Passing):
    """Tells a counter of ops."""

    def __init__(self, counter):
        self.counter = counter

    def __call__(self, op, inputs, attrs):
        outs = super().__call__(op, inputs, attrs)
        self.counter._count(op, inputs, attrs, outs)
        return outs

    def custom(self, op, function, args, kwargs):
        """An operator with a formula is counted by it, and else by the ops that it calls."""
        formula = self.counter._formulas.get(op)
        if formula is None:
            return function(*args, **kwargs)
        outs = super().custom(op, function, args, kwargs)
        self.counter._add(op, formula(*args, out_val=outs, **kwargs))
        return outs


# ---- the table -----------------------------------------------------------------------------------
SUFFIXES = "", "K", "M", "B", "T"


def _rounded(number, total):
    """A number in the unit that suits the total."""
    index = max(0, min(len(SUFFIXES) - 1, (len(str(total)) - 2) // 3))
    return f"{number / 1000 ** index:.3f}{SUFFIXES[index]}" if index else str(number)


def _table(rows):
    """Rows as text: names to the left, numbers to the right."""
    widths = [max(len(head) + 2, *map(len, cells)) for head, *cells in zip(*rows)]
    rows.insert(1, tuple("-" * width for width in widths))
    return "\n".join("  ".join((row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])))
                     for row in rows)
