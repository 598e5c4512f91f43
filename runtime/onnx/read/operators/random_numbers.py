"""Random numbers. A node without a seed draws from whet's own generator."""
from typing import Any

import numpy as np
import whet

from ....random import Generator
from ....tensor import Tensor
from ...element_types import ElementType
from ..definition import operator
from ..values import Value, shape_of, type_of
from .casts import cast_to


def generator(seed: float | None) -> Generator | None:
    """A generator of a node's own."""
    if seed is None:
        return None
    return Generator().manual_seed(int(np.float32(seed).view(np.int32)) & 0x7fffffff)


def uniform(shape: Any, low: float, high: float, code: int, seed: float | None) -> Any:
    return cast_to(whet.rand(shape, generator=generator(seed)) * (high - low) + low, code)


def normal(shape: Any, mean: float, scale: float, code: int, seed: float | None) -> Any:
    return cast_to(whet.randn(shape, generator=generator(seed)) * scale + mean, code)


def kind_like(value: Any, dtype: int | None) -> int:
    """The type that is asked for, or the value's own."""
    return dtype or ElementType.of(type_of(value)).code


@operator("RandomUniform")
def random_uniform(*, shape: list[int], dtype: int = 1, high: float = 1.0, low: float = 0.0,
                   seed: float | None = None) -> Any:
    return uniform(shape, low, high, dtype, seed)


@operator("RandomUniformLike")
def random_uniform_like(x: Value, *, dtype: int | None = None, high: float = 1.0, low: float = 0.0,
                        seed: float | None = None) -> Any:
    return uniform(shape_of(x), low, high, kind_like(x, dtype), seed)


@operator("RandomNormal")
def random_normal(*, shape: list[int], dtype: int = 1, mean: float = 0.0, scale: float = 1.0,
                  seed: float | None = None) -> Any:
    return normal(shape, mean, scale, dtype, seed)


@operator("RandomNormalLike")
def random_normal_like(x: Value, *, dtype: int | None = None, mean: float = 0.0,
                       scale: float = 1.0, seed: float | None = None) -> Any:
    return normal(shape_of(x), mean, scale, kind_like(x, dtype), seed)


@operator("Bernoulli")
def bernoulli(x: Tensor, *, dtype: int | None = None, seed: float | None = None) -> Any:
    drawn = whet.rand(x.shape, generator=generator(seed)) < x
    return cast_to(drawn, kind_like(x, dtype))


@operator("Multinomial")
def multinomial(x: Tensor, *, dtype: int = 6, sample_size: int = 1,
                seed: float | None = None) -> Any:
    chances = whet.softmax(x.to(whet.float32), -1)
    found = whet.multinomial(chances, sample_size, replacement=True, generator=generator(seed))
    return cast_to(found, dtype)
