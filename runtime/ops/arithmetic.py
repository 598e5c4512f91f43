"""Functions whose signature is more than their formula: they choose a pointwise op, or bind its
numbers."""
import functools
import inspect
import math
import operator
from numbers import Number

import numpy as np

from .. import dtypes, function_protocol, return_types
from ..dtypes import BOOL, COMPLEX, FLOAT, INT, finfo
from ..size_arguments import as_int
from . import docstrings
from . import pointwise as p
from .argument_errors import check_numbers_fit, checked_input
from .argument_guards import check_text
from .batching import native
from .number_questions import has_zero
from .out_types import OutType
from .pointwise_family import inplace, write_out
from .public_functions import compile_function
from .registry import Op, apply, ask, check_tensors, is_tensor
from .sample_inputs import Sample
from .surface import ELEMENTWISE, FUNCTIONS, METHODS, function, method

NO_ATTRS: dict = {}


def _run(op, args, out=None, out_type=None):
    return apply(op, args, NO_ATTRS) if out is None else write_out(op, args, out, out_type)


def _kind(x):
    """The category of a tensor or a number."""
    return (x.dtype.category if is_tensor(x) else BOOL if isinstance(x, bool)
            else FLOAT if isinstance(x, float) else COMPLEX if isinstance(x, complex) else INT)


def _of_numbers(choose):
    """A choice for two numbers, too: the first becomes a tensor."""
    @functools.wraps(choose)
    def chosen(input, other, *more):
        if isinstance(input, Number) and isinstance(other, Number):
            input = FUNCTIONS["tensor"](input)
        return choose(input, other, *more)
    return chosen


def _define(name, choose, signature, *, aliases=(), inplace_form=True, method_form=True, doc=None,
            example=None, out_type=None):
    """Publish `name(signature, *, out)`, the method and the in-place form of a function that picks
    its op: `choose(*args) -> (op, operands)`, and may have an `out=` of other types than that
    (`out_type`). Its docstring is that of `choose`, or `doc`, with the
    example (see `docstrings.py`)."""
    params = [q.strip() for q in signature.split(",")]
    names = ", ".join(q.split("=")[0].strip() for q in params if q != "*")
    env = {"choose": choose, "run": _run, "inplace": inplace, "math": math, "out_type": out_type}
    star = "" if "*" in params else ", *"
    fn = compile_function(
        name,
        f"def {name}({signature}{star}, out=None):\n    op, xs = choose({names})\n    return "
        "run(op, xs, out, out_type)\n",
        env)
    rest = ", ".join(["self", *params[1:]])
    selfnames = ", ".join(["self", *names.split(", ")[1:]])
    m = compile_function(
        name, f"def {name}({rest}):\n    op, xs = choose({selfnames})\n    return run(op, xs)\n",
        env)
    i = compile_function(
        f"{name}_", f"def {name}_({rest}):\n    op, xs = choose({selfnames})\n"
        "    return inplace(op, self, xs[1:]) if xs[0] is self else self.copy_(run(op, xs))\n", env)
    fn.__doc__, m.__doc__, i.__doc__ = docstrings.of_elementwise(
        name, inspect.cleandoc(doc or choose.__doc__), example)
    for n in (name, *aliases):
        FUNCTIONS[n], ELEMENTWISE[n] = fn, functools.partial(_chosen, fn, choose)
        if method_form:
            METHODS[n] = m
        if inplace_form:
            METHODS[n + "_"] = i
            FUNCTIONS.setdefault(n + "_", i)
    return fn


def _chosen(fn, choose, *args, **kwargs):
    """What `choose` makes of the arguments of a call, those that are left out included."""
    found = inspect.signature(fn).bind(*args, **kwargs)
    found.apply_defaults()
    return choose(*[x for name, x in found.arguments.items() if name != "out"])


def _check_alpha(input, other, alpha):
    if isinstance(alpha, float) and _kind(input) < FLOAT and _kind(other) < FLOAT:
        raise RuntimeError(
            "For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, bool) and (_kind(input) != BOOL or _kind(other) != BOOL):
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, complex) and _kind(input) < COMPLEX and _kind(other) < COMPLEX:
        raise RuntimeError(
            "For non-complex input tensors, argument alpha must not be a complex number.")


@_of_numbers
def _add(input, other, alpha):
    """input + alpha * other."""
    if type(alpha) is not int:
        _check_alpha(input, other, alpha)
    if alpha == 1:
        return p.add_op, (input, other)
    return p.add_scaled, (input, other, alpha)


@_of_numbers
def _sub(input, other, alpha):
    """input - alpha * other."""
    if _kind(input) == BOOL and _kind(other) == BOOL:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` "
            "or `logical_xor()` operator instead.")
    if BOOL in (_kind(input), _kind(other)):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are "
            "trying to invert a mask, use the `~` or `logical_not()` operator instead.")
    if type(alpha) is not int:
        _check_alpha(input, other, alpha)
    if alpha == 1:
        return p.sub_op, (input, other)
    return p.add_scaled, (input, other, -alpha)


def _check_zero(name, input, other):
    """Integer division by zero raises before anything is computed."""
    if _kind(input) >= FLOAT or _kind(other) >= FLOAT:
        return
    if ask(has_zero, other) if is_tensor(other) else other == 0:
        raise RuntimeError(f"ZeroDivisionError: {name}: integer division by zero")


@_of_numbers
def _div(input, other, rounding_mode):
    """input / other: true division, or rounded ("trunc", "floor")."""
    if rounding_mode is None:
        return p.div_op, (input, other)
    if rounding_mode not in ("trunc", "floor"):
        check_text("div", "rounding_mode", rounding_mode)
        raise RuntimeError(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
            f"'{rounding_mode}'")
    _check_zero("div", input, other)
    return (p.div_floor if rounding_mode == "floor" else p.div_trunc), (input, other)


@_of_numbers
def _floor_divide(input, other):
    """The quotient rounded towards minus infinity."""
    _check_zero("floor_divide", input, other)
    return p.div_floor, (input, other)


_square, _same, _sqrt = p.square_.op, p.same_op, p.sqrt_.op


def _remainder(input, other):
    """The remainder of the division rounded down; it has the sign of the divisor."""
    _check_zero("remainder", input, other)
    return p.remainder_op, (input, other)


def _fmod(input, other):
    """The remainder of the division rounded towards zero; it has the sign of the dividend."""
    _check_zero("fmod", input, other)
    return p.fmod_op, (input, other)


def _sign(input):
    """-1, 0 or 1, by the sign of each element."""
    if _kind(input) == COMPLEX:
        raise NotImplementedError(
            "Unlike NumPy, whet.sign doesn't return 0+0j for complex zero. Use whet.sgn instead.")
    return (p.sign_op if _kind(input) else p.to_bool), (input,)


def _sgn(input):
    """input / |input|, 0 at 0: the sign, of complex numbers, too."""
    return (p.sgn_complex, (input,)) if _kind(input) == COMPLEX else _sign(input)


_POWERS = {0.5: p.half_power, **p.INVERSE_POWERS, **p.WHOLE_POWERS}


def _exact_enough(n, short):
    """May a power be taken by products? There is no type with more digits than f64, and none
    with more room is used for bf16."""
    return n in (-1, -0.5, 0.5, 3, 4) if short in ("f64", "c128") else n >= -1 or short != "bf16"


def _pow(input, exponent):
    """input to the power of exponent."""
    if not is_tensor(exponent):
        if not is_tensor(input):
            raise TypeError("pow(): at least one of 'input' and 'exponent' must be Tensor")
        if (exponent == 2 and type(exponent) is int and input.dtype.category >= INT
                or exponent == 2 and input.dtype.category >= FLOAT):
            return _square, (input,)
        if exponent == 1 and type(exponent) is int and input.dtype.category >= INT:
            return _same, (input,)
        if exponent == 0 and (input.dtype.category == FLOAT or type(exponent) is int
                              and INT <= input.dtype.category <= FLOAT):
            return p.zeroth_power, (input,)
        if exponent == 0.5 and input.dtype.category == COMPLEX:
            return _sqrt, (input,)
        powers = _POWERS if input.dtype.category == FLOAT else p.WHOLE_POWERS
        if (input.dtype.category >= FLOAT and (op := powers.get(exponent)) is not None
                and _exact_enough(exponent, input.dtype.short)):
            return op, (input,)
        # Asked of numbers that vary, too.
        if input.dtype.category < FLOAT and isinstance(exponent, int) and exponent < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
    return p.pow_op, (input, exponent)


def _float_power(input, exponent):
    """input to the power of exponent, in double precision."""
    wide = dtypes.complex128 if max(_kind(input), _kind(exponent)) == COMPLEX else dtypes.float64
    # Both: a tensor of no dimension has no say in the type beside others.
    return p.pow_op, tuple([x.to(wide) if is_tensor(x) else x for x in (input, exponent)])


def _check_bounds(input, *bounds):
    """Whole numbers as bounds of integers lie within their type. With others the result is of
    another one."""
    if all([isinstance(b, int) for b in bounds]):
        check_numbers_fit("clamp", input, *bounds)


def _clamp(input, min, max):
    """input limited to [min, max]."""
    if min is None and max is None:
        raise RuntimeError("clamp: At least one of 'min' or 'max' must not be None")
    if is_tensor(input) and input.dtype.category == COMPLEX:
        raise NotImplementedError("clamp is not supported for complex types")
    if max is None:
        return _clamp_min(input, min)
    if min is None:
        return _clamp_max(input, max)
    _check_bounds(input, min, max)
    return p.clamp_op, (input, min, max)


def _clamp_min(input, min):
    """input, at least min."""
    _check_bounds(input, min)
    return p.clamp_min_op, (input, min)


def _clamp_max(input, max):
    """input, at most max."""
    _check_bounds(input, max)
    return p.clamp_max_op, (input, max)


def _logit(input, eps):
    """log(input / (1 - input)), input limited to [eps, 1 - eps] where eps is given."""
    return (p.logit_op, (input,)) if eps is None else (p.logit_of_limited, (input, eps))


def _nan_to_num(input, nan, posinf, neginf):
    """NaN and the infinities replaced by numbers."""
    checked_input("nan_to_num", input)
    if input.dtype.category < FLOAT:
        return _same if input.dtype.category != BOOL else p.to_bool, (input,)
    limit = finfo(input.dtype)
    numbers = (0.0 if nan is None else nan, limit.max if posinf is None else posinf,
               limit.min if neginf is None else neginf)
    if input.dtype.category == COMPLEX:                       # each part for itself
        parts = [apply(p.nan_to_num_op, (x, *numbers), {}) for x in (input.real, input.imag)]
        return _same, (FUNCTIONS["complex"](*parts),)
    return p.nan_to_num_op, (input, *numbers)


add = _define("add", _add, "input, other, *, alpha=1", example="[1., 2.], [10., 20.] -> [11., 22.]")
sub = _define("sub", _sub, "input, other, *, alpha=1", aliases=["subtract"],
              example="[10., 20.], [1., 2.] -> [ 9., 18.]")
div = _define("div", _div, "input, other, *, rounding_mode=None", aliases=["divide"],
              example="[6., 8.], [3., 2.] -> [2., 4.]")
true_divide = _define("true_divide", _of_numbers(lambda a, b: (p.div_op, (a, b))), "input, other",
                      doc="input / other, of whole numbers, too.",
                      example="[6., 7.], 2 -> [3.0000, 3.5000]")
remainder = _define("remainder", _remainder, "input, other", example="[-3., 5.], 2 -> [1., 1.]")
fmod = _define("fmod", _fmod, "input, other", example="[-3., 5.], 2 -> [-1., 1.]")
sign = _define("sign", _sign, "input", out_type=OutType.RESULT,
               example="[-2., 0., 3.] -> [-1., 0., 1.]")
sgn = _define("sgn", _sgn, "input", out_type=OutType.RESULT,
              example="[-2., 0., 3.] -> [-1., 0., 1.]")
floor_divide = _define("floor_divide", _floor_divide, "input, other",
                       example="[7., -7.], 2 -> [ 3., -4.]")
pow_ = _define("pow", _pow, "input, exponent", example="[2., 3.], 2 -> [4., 9.]")
float_power = _define("float_power", _float_power, "input, exponent", inplace_form=False,
                      out_type=OutType.RESULT,
                      example="[2., 3.], 2 -> [4., 9.], dtype=whet.float64")
clamp = _define("clamp", _clamp, "input, min=None, max=None", aliases=["clip"],
                example="[-1., 0.5, 3.], 0, 1 -> [0.0000, 0.5000, 1.0000]")
clamp_min = _define("clamp_min", _clamp_min, "input, min",
                    example="[-1., 0.5, 3.], 0 -> [0.0000, 0.5000, 3.0000]")
clamp_max = _define("clamp_max", _clamp_max, "input, max",
                    example="[-1., 0.5, 3.], 1 -> [-1.0000, 0.5000, 1.0000]")
logit = _define("logit", _logit, "input, eps=None", example="[0.5, 0.9] -> [0.0000, 2.1972]")
nan_to_num = _define("nan_to_num", _nan_to_num, "input, nan=None, posinf=None, neginf=None",
                     out_type=OutType.RESULT, example="[nan, 1.] -> [0., 1.]")
ldexp = _define("ldexp", lambda a, b: (p.ldexp_op, (a, b)), "input, other",
                doc="input times two to the power of other.",
                example="[1., 3.], [2., 1.] -> [4., 6.]")
conj_physical = _define("conj_physical", lambda a: (p.conj_op, (a,)), "input",
                        doc="The complex conjugate of each element.",
                        example="[1+2j, 3-1j] -> [1.-2.j, 3.+1.j]")
FUNCTIONS["arctan2"] = FUNCTIONS["atan2"]


@method()
def float_power_(self, exponent):
    """`float_power`, in place: of tensors in double precision."""
    op, (base, power) = _float_power(self, exponent)
    if base.dtype is not self.dtype:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {self.dtype.letter} but the operation's "
            f"result requires dtype {base.dtype.letter}")
    return inplace(op, self, (power,))


@function(out=True)
def round(input, *, decimals=0):
    """Round half to even, to `decimals` digits.

    >>> import whet
    >>> whet.round(whet.tensor([0.5, 1.5, 2.5]))
    tensor([0., 2., 2.])
    """
    if type(decimals) is not int:
        decimals = as_int(decimals, "round", "decimals")
    if decimals == 0:
        return apply(p.round_op, (input,), NO_ATTRS)
    if input.dtype.category < FLOAT:
        raise NotImplementedError(f"\"round\" to decimals not implemented for "
                                  f"'{input.dtype.letter}'")
    scale = 10.0 ** abs(decimals)
    if decimals > 0:
        return apply(p.round_op, (input * scale,), NO_ATTRS) / scale
    return apply(p.round_op, (input / scale,), NO_ATTRS) * scale


@method()
def round_(self, *, decimals=0):
    """`round`, in place.

    >>> import whet
    >>> whet.tensor([0.5, 1.5, 2.5]).round_()
    tensor([0., 2., 2.])
    """
    if decimals == 0:
        return inplace(p.round_op, self, ())
    return self.copy_(round(self, decimals=decimals))


@function()
def rsub(input, other, *, alpha=1):
    """other - alpha * input

    >>> import whet
    >>> whet.rsub(whet.tensor([1., 2.]), 10)
    tensor([9., 8.])
    """
    return _run(*_sub(other, input, alpha))


@function(method=False)
def where(condition, input=None, other=None, *, out=None):
    """Elements of `input` where the condition holds, of `other` elsewhere; with one argument, the
    indices where it holds.

    >>> import whet
    >>> whet.where(whet.tensor([True, False]), 1.0, 0.0)
    tensor([1., 0.])
    """
    if input is None and other is None:
        return FUNCTIONS["nonzero"](condition, as_tuple=True)
    if not is_tensor(condition):
        raise TypeError(
            f"where(): argument 'condition' must be Tensor, not {condition.__class__.__name__}")
    if condition.dtype.category != BOOL:
        if condition.dtype.short != "u8":
            raise RuntimeError(
                "where expected condition to be a boolean tensor, but got a tensor with dtype "
                f"{condition.dtype.letter}")
        condition = condition.to(bool)
    if not is_tensor(input) and not is_tensor(other):
        from .from_data import scalar_tensor
        input = scalar_tensor(input)
    return _run(p.where_op, (condition, input, other), out)


METHODS["where"] = lambda self, condition, other: where(condition, self, other)


def is_foreign(x):
    """An operand that is neither a tensor nor a number: NotImplemented unless it converts."""
    return (not (is_tensor(x) or isinstance(x, int | float | complex) or hasattr(x, "__array__")
                 or hasattr(x, "dtype") or function_protocol.has_own(x)))


def operator_method(choose, *, reflected=False, write=False):
    """A Python operator from a `choose` function; NotImplemented for foreign operands, so that
    theirs is tried."""
    def plain(self, other):
        if is_foreign(other):
            return NotImplemented
        return _run(*choose(self, as_operand(other)))

    def swapped(self, other):
        if is_foreign(other):
            return NotImplemented
        return _run(*choose(as_operand(other), self))

    def writing(self, other):
        if is_foreign(other):
            return NotImplemented
        op, xs = choose(self, as_operand(other))
        return inplace(op, self, xs[1:])
    return swapped if reflected else writing if write else plain


def as_operand(x):
    """A NumPy array as a tensor; tensors and numbers (those that vary in a trace too) as they
    are."""
    if is_tensor(x) or type(x) in (int, float, bool, complex) or hasattr(x, "__whet_tensor__"):
        return x
    import numpy as np
    if isinstance(x, np.generic):
        return x.item() if x.dtype.kind in "biufc" else x
    if isinstance(x, int | float | complex):
        return (operator.index(x)
                if isinstance(x, int) else complex(x) if isinstance(x, complex) else float(x))
    if function_protocol.has_own(x):
        raise TypeError(f"an operand is a {x.__class__.__name__}")
    from .from_data import as_tensor
    return as_tensor(x)


def _op(name):
    op = FUNCTIONS[name].op
    return lambda a, b: (op, (a, b))


OPERATORS = {
    "add": lambda a, b: (p.add_op, (a, b)), "sub": lambda a, b: _sub(a, b, 1), "mul": _op("mul"),
    "truediv": lambda a, b: (p.div_op, (a, b)), "floordiv": _floor_divide, "mod": _remainder,
    "pow": _pow, "and": _op("bitwise_and"), "or": _op("bitwise_or"), "xor": _op("bitwise_xor"),
    "lshift": _op("bitwise_left_shift"), "rshift": _op("bitwise_right_shift"), }
COMPARISONS = {n: _op(n) for n in ("lt", "le", "gt", "ge")}


def _publish(name, fn):
    """Publish the method behind one of Python's operators."""
    fn.__name__, fn.__qualname__ = name, f"Tensor.{name}"
    METHODS[name] = fn


for _name, _choose in OPERATORS.items():
    _publish(f"__{_name}__", operator_method(_choose))
    _publish(f"__r{_name}__", operator_method(_choose, reflected=True))
    _publish(f"__i{_name}__", operator_method(_choose, write=True))
for _name, _choose in COMPARISONS.items():
    _publish(f"__{_name}__", operator_method(_choose))


def _equality(name):
    op = FUNCTIONS[name].op
    neutral = name == "ne"

    def compare(self, other):
        if is_foreign(other):
            return neutral if other is None else NotImplemented
        return apply(op, (self, as_operand(other)), NO_ATTRS)
    return compare


_publish("__eq__", _equality("eq"))
_publish("__ne__", _equality("ne"))
METHODS["__neg__"] = METHODS["neg"]
METHODS["__abs__"] = METHODS["abs"]


@method()
def __invert__(self):
    if self.dtype.category >= FLOAT:
        raise TypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return apply(p.bitwise_not.op, (self,), NO_ATTRS)


@method("__pos__")
@function()
def positive(input):
    """The input itself; of booleans an error.

    >>> import whet
    >>> x = whet.tensor([1., -2.])
    >>> +x is x
    True
    """
    if checked_input("positive", input).dtype.category == BOOL:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


def _frexp(x):
    wide = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    m, e = np.frexp(wide)
    return np.asarray(m, x.dtype), np.asarray(e, np.int32)


frexp_op = Op("frexp",
              _frexp, lambda g, y, _x: [g[0] / FUNCTIONS["exp2"](y[1].to(_x.dtype))],
              nondiff_outputs=(1,),
              samples=lambda make: [Sample(make(3, 4, low=0.6, high=0.9))],
              batch=native)


@function(out=True)
def frexp(input):
    """(mantissa, exponent): input = mantissa * 2 ** exponent, 0.5 <= |mantissa| < 1.

    >>> import whet
    >>> whet.frexp(whet.tensor([8., 0.75]))
    whet.return_types.frexp(
    mantissa=tensor([0.5000, 0.7500]),
    exponent=tensor([4, 0], dtype=whet.int32))
    """
    check_tensors("frexp", input=input)
    if input.dtype.category != FLOAT:
        raise RuntimeError("frexp() only supports floating-point dtypes")
    return return_types.frexp(apply(frexp_op, (input,), {}))


@function("multigammaln", out=True, out_type=OutType.CASTS)
def mvlgamma(input, p):
    """The logarithm of the multivariate gamma function of dimension p.

    >>> import whet
    >>> whet.mvlgamma(whet.tensor([2., 3.]), 2)
    tensor([0.4516, 1.5502])
    """
    check_tensors("mvlgamma", input=input)
    if input.dtype.category == BOOL:
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    if input.dtype.category < FLOAT:
        input = input.to(dtypes.get_default_dtype())
    p = as_int(p, "mvlgamma", "p", 2)
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    steps = FUNCTIONS["arange"](0, p, dtype=input.dtype, device=input.device) * -0.5
    terms = FUNCTIONS["lgamma"](input.unsqueeze(-1) + steps)
    return terms.sum(-1) + p * (p - 1) / 4 * math.log(math.pi)


@method()
def mvlgamma_(self, p):
    """`mvlgamma`, in place."""
    made = mvlgamma(self, p)
    if self.dtype.category < FLOAT:
        raise RuntimeError(f"mvlgamma: result type {self.dtype.letter} can't be cast to the "
                           f"desired output type {made.dtype.letter}")
    return self.copy_(made)
