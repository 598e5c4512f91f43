"""Functions of single elements: they are of the values, to which other operands are brought."""
from __future__ import annotations

from typing import Any

from ..ops.registry import is_tensor
from ..ops.surface import ELEMENTWISE
from .padding import have_same_parts, longest, parts_of_rows, unpadded
from .rules import family, rule
from .tensor import NestedTensor, is_nested, refusal

# functions of single elements that are written in terms of others
MORE = """where masked_fill round gelu elu selu softplus rrelu threshold polygamma rsub isclose
isreal angle conj real imag igamma igammac mvlgamma special_airy_ai special_bessel_j0
special_bessel_j1 special_bessel_y0 special_bessel_y1 special_modified_bessel_k0
special_modified_bessel_k1 special_ndtri special_scaled_modified_bessel_k0
special_scaled_modified_bessel_k1 complex polar dropout alpha_dropout bernoulli clone
detach __divmod__ resolve_conj resolve_neg alias_copy detach_copy""".split()
IN_PLACE = """masked_fill_ round_ elu_ selu_ rrelu_ threshold_ polygamma_ igamma_ igammac_ mvlgamma_
dropout_ alpha_dropout_ bernoulli_ fill_ zero_ normal_ uniform_ exponential_ log_normal_ cauchy_
geometric_ random_""".split()
OPERATORS = "add sub mul truediv floordiv mod pow and or xor lshift rshift".split()
COMPARISONS = "eq ne lt le gt ge neg pos abs invert".split()


def _shapes_differ(name: str, a: Any, b: Any) -> RuntimeError:
    return RuntimeError(f"cannot call binary pointwise function {name.strip('_')} with inputs of "
                        f"shapes {tuple(a.shape)} and {tuple(b.shape)}")


def beside_values(name: str, x: Any, like: NestedTensor) -> Any:
    """A dense operand in a shape that broadcasts with the values as it does with the parts."""
    ragged, sizes = like._ragged, tuple(x.shape)
    if len(sizes) < like.ndim - ragged:
        return x                             # it has the dimensions behind the ragged one alone
    if len(sizes) > like.ndim:
        raise refusal(name, "a dense operand has more dimensions than the nested one")
    has_batch, sizes = len(sizes) == like.ndim, (1,) * (like.ndim - len(sizes)) + sizes
    x, count = x.reshape(sizes), like.shape[0]
    if sizes[0] not in (1, count):
        raise _shapes_differ(name, like, x)
    if sizes[ragged] == 1:
        if sizes[0] == 1:
            return x.squeeze(0)
        return x.squeeze(ragged).index_select(0, parts_of_rows(like)).movedim(0, ragged - 1)
    if like._lengths is not None or not has_batch or sizes[0] != count \
            or sizes[ragged] != longest(like):
        raise _shapes_differ(name, like, x)
    return unpadded(x, like)._held           # each part of the operand, which is filled up


def beside(name: str, args: Any, kwargs: Any) -> tuple[NestedTensor, list[Any], dict[str, Any]]:
    """The first nested operand, and the arguments with values in the places of nested ones."""
    like = next(x for x in (*args, *kwargs.values()) if is_nested(x))

    def brought(x: Any) -> Any:
        if is_nested(x):
            if not x._has_structure_of(like) or x.ndim != like.ndim:
                raise _shapes_differ(name, like, x)
            return x._held
        return beside_values(name, x, like) if is_tensor(x) and x.ndim else x
    return like, [brought(x) for x in args], {k: brought(x) for k, x in kwargs.items()}


@family(*ELEMENTWISE, *MORE, *(f"__{name}__" for name in OPERATORS + COMPARISONS),
        *(f"__r{name}__" for name in OPERATORS))
def of_elements(func: Any, *args: Any, **kwargs: Any) -> Any:
    """A function of single elements."""
    if kwargs.get("out") is not None:
        raise refusal(f"{func.__name__}(out=...)")
    like, held, named = beside(func.__name__, args, kwargs)
    found = func(*held, **named)
    if isinstance(found, tuple):
        return tuple([like._with(x) for x in found])
    return like._with(found) if is_tensor(found) else found          # `x == None` is a bool


@family(*(f"{name}_" for name in ELEMENTWISE), *IN_PLACE, *(f"__i{name}__" for name in OPERATORS))
def in_place(func: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    """A function of single elements, written over the first operand."""
    if not is_nested(self):
        raise refusal(func.__name__, "a dense tensor cannot hold what is made of a nested one")
    _, held, named = beside(func.__name__, (self, *args), kwargs)
    func(*held, **named)
    return self


@rule("copy_")
def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """The values of another nested tensor with parts of the same sizes, or of a dense operand."""
    if not is_nested(self):
        raise RuntimeError("copy_() between dense and nested tensors is not supported")
    if is_nested(src) and not src._has_structure_of(self) and have_same_parts(self, src):
        self._held.copy_(src._held)
        return self
    _, (held, other), _ = beside("copy_", (self, src), {})
    held.copy_(other)
    return self


@family("prelu")
def prelu(func: Any, input: Any, weight: Any) -> Any:
    """`prelu` with one slope."""
    if is_nested(weight) or weight.numel() != 1:
        raise refusal("prelu", "the slope must be one number, as there are no channels")
    return input._with(func(input._held, weight.reshape(1)))


@rule("is_same_size")
def is_same_size(input: Any, other: Any) -> bool:
    """Do both have the same shape?"""
    return tuple(input.shape) == tuple(other.shape)


@family("result_type")
def result_type(func: Any, *args: Any) -> Any:
    """The type that an operation of two gives."""
    return func(*(x._held if is_nested(x) else x for x in args))
