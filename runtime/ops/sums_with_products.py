"""Weighted sums of a tensor and a product: `addmm` and its like."""
from ..autograd import modes
from ..dtypes import BOOL, FLOAT, INT
from ..size_arguments import broadcasts_to
from . import docstrings
from .argument_guards import guard
from .contract import (
    bmm,
    check_dims,
    linear_op,
    mm,
    mv,
    outer,
    product_of_batches,
    product_of_matrices,
    unrounded_matmul_op,
)
from .half_precision import wide, wide_type
from .join import common_type
from .out_types import OutType
from .public_functions import compile_function
from .registry import apply, check_one_type, is_tensor, narrowed
from .surface import METHODS, function


def _affine(name, product, promotes=False):
    """beta * input + alpha * product(a, b): what `addmm` and its like are."""
    unrounded = {mm: product_of_matrices, bmm: product_of_batches}.get(product)

    def f(input, a, b, beta, alpha):
        if unrounded is not None:
            a, b = narrowed(a, b)
            if is_tensor(a) and wide_type(a.dtype) is not a.dtype:
                return _affine_in_halves(name, unrounded, input, a, b, beta, alpha)
        r = product(a, b)
        if modes.state.flags & modes.CASTS and r.dtype is modes.state.autocast:
            input = input.to(r.dtype)
        _check_fits(name, input, r)
        if not promotes and input._array.dtype is not r._array.dtype:
            check_one_type(name, input=input, product=r)
        if promotes and r.dtype.category == BOOL:
            r, input = common_type([r, input])
        if promotes:
            _check_factors(r, input, beta=beta, alpha=alpha)
        if r.dtype.category == BOOL:        # "or" is the sum of truths
            r = r & bool(alpha)
            return r | input if beta else r
        # the factors become whole numbers, as the operands are
        if r.dtype.category == INT and not promotes:
            alpha, beta = int(alpha), int(beta)
        if beta == 0 and promotes:
            r = r.to(common_type([r, input])[0].dtype)
        return _weighted_sum(input, r, beta, alpha)
    return f


def _check_factors(*tensors, **factors):
    """Raise where whole numbers are to be multiplied by one that is none."""
    for name, factor in factors.items():
        if isinstance(factor, float) and all([x.dtype.category < FLOAT for x in tensors]):
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a "
                               "floating point number.")


def _affine_in_halves(name, product, input, a, b, beta, alpha):
    """beta * input + alpha * product(a, b) of 16-bit floats, rounded once."""
    if modes.state.flags & modes.CASTS:
        input = input.to(a.dtype)
    if input._array.dtype is not a._array.dtype:
        check_one_type(name, input=input, product=a)
    if (product is product_of_matrices and alpha == 1 and beta == 1
            and input._array.shape == b._array.shape[1:]):
        check_dims("mm", a, 2, b, 2)
        return apply(linear_op, (a, b.mT, input), {})
    r = product(a, b, unrounded_matmul_op)
    _check_fits(name, input, r)
    return _weighted_sum(wide(input), r, beta, alpha).to(a.dtype)


def _check_fits(name, input, r):
    if not broadcasts_to(input.shape, r.shape):
        raise RuntimeError(
            f"{name}: the input of shape {tuple(input.shape)} does not broadcast to the "
            f"product's {tuple(r.shape)}")


def _weighted_sum(input, r, beta, alpha):
    if alpha != 1:
        r = r * alpha
    if beta == 0:
        return r
    return r + (input if beta == 1 else input * beta)


def _batch_sum(a, b):
    return bmm(a, b).sum(0, dtype=a.dtype)


for _name, _a, _b, _product, _example in (
        ("addmm", "mat1", "mat2", mm, "[[1.]], [[1., 2.]], [[3.], [4.]] -> [[12.]]"),
        ("addmv", "mat", "vec", mv, "[1.], [[1., 2.]], [3., 4.] -> [12.]"),
        ("addr", "vec1", "vec2", outer, "[[1., 1.]], [2.], [3., 4.] -> [[7., 9.]]"),
        ("baddbmm", "batch1", "batch2", bmm,
         "[[[1.]]], [[[1., 2.]]], [[[3.], [4.]]] -> [[[12.]]]"),
        ("addbmm", "batch1", "batch2", _batch_sum,
         "[[1.]], [[[1., 2.]]], [[[3.], [4.]]] -> [[12.]]")):
    _env = {"affine": _affine(_name, _product, promotes=_product is outer)}
    _fn = compile_function(_name, f"def {_name}(input, {_a}, {_b}, *, beta=1, alpha=1):\n"
                                  f"    return affine(input, {_a}, {_b}, beta, alpha)", _env)
    _doc, _, _written = docstrings.of_elementwise(
        _name, f"beta * input + alpha * {_product.__name__.strip('_')}({_a}, {_b}).", _example)
    _fn.__doc__ = _doc
    function(out=True, out_type=OutType.CASTS if _name == "addr" else OutType.RESULT)(_fn)
    _in_place = compile_function(
        _name + "_",
        f"def {_name}_(self, {_a}, {_b}, *, beta=1, alpha=1):\n    return "
        f"self.copy_(affine(self, {_a}, {_b}, beta, alpha))",
        _env)
    _in_place.__doc__ = _written
    METHODS[_name + "_"] = guard(_in_place)
