"""Linear models, encoders and scalers, of ai.onnx.ml."""
from typing import Any

import numpy as np
import whet

from ....tensor import Tensor
from ...errors import OnnxError
from ..definition import operator
from ..values import Array, Value, as_array, from_array
from .scores import labelled, transform

ML = "ai.onnx.ml"


@operator("ArrayFeatureExtractor", domain=ML)
def array_feature_extractor(x: Array, at: Array) -> Any:
    found = x[..., at.reshape(-1)]
    return from_array(found.reshape(1, -1) if x.ndim == 1 else found)


@operator("Binarizer", domain=ML)
def binarizer(x: Tensor, *, threshold: float = 0.0) -> Tensor:
    return (x > threshold).to(x.dtype)


def mapped(x: np.ndarray, table: dict[Any, Any], default: Any, kind: Any) -> Any:
    """Each element replaced by what the table has for it."""
    found = [table.get(_key(v), default) for v in x.reshape(-1).tolist()]
    if kind is object:
        return np.array([*found, None], dtype=object)[:-1].reshape(x.shape)
    return from_array(np.array(found, kind).reshape(x.shape))


def _key(value: Any) -> Any:
    """NaN is found, too."""
    return "nan" if isinstance(value, float) and value != value else value


@operator("LabelEncoder", domain=ML, since=2)
def label_encoder(x: Array, *, default_float: float = -0.0, default_int64: int = -1,
                  default_string: str = "_Unused", default_tensor: Value = None,
                  keys_floats: list[float] | None = None, keys_int64s: list[int] | None = None,
                  keys_strings: list[str] | None = None, keys_tensor: Value = None,
                  values_floats: list[float] | None = None,
                  values_int64s: list[int] | None = None,
                  values_strings: list[str] | None = None, values_tensor: Value = None) -> Any:
    keys: Any = keys_floats or keys_int64s or keys_strings
    if keys_tensor is not None:
        keys = as_array(keys_tensor).tolist()
    kind: Any
    default: Any
    for values, default, kind in ((values_floats, default_float, np.float32),
                                  (values_int64s, default_int64, np.int64),
                                  (values_strings, default_string, object)):
        if values:
            return mapped(x, dict(zip(map(_key, keys), values)), default, kind)
    array = as_array(values_tensor)
    standard = {"f": -0.0, "i": -1, "O": "_Unused"}[array.dtype.kind]
    default = standard if default_tensor is None else as_array(default_tensor).reshape(-1)[0]
    kind = object if array.dtype == object else array.dtype
    return mapped(x, dict(zip(map(_key, keys), array.tolist())), default, kind)


@operator("LabelEncoder", domain=ML)
def label_encoder_1(x: Array, *, classes_strings: list[str], default_int64: int = -1,
                    default_string: str = "_Unused") -> Any:
    if x.dtype == object:
        return mapped(x, {s: i for i, s in enumerate(classes_strings)}, default_int64, np.int64)
    return mapped(x, dict(enumerate(classes_strings)), default_string, object)


@operator("CategoryMapper", domain=ML)
def category_mapper(x: Array, *, cats_int64s: list[int], cats_strings: list[str],
                    default_int64: int = -1, default_string: str = "_Unused") -> Any:
    if x.dtype == object:
        return mapped(x, dict(zip(cats_strings, cats_int64s)), default_int64, np.int64)
    return mapped(x, dict(zip(cats_int64s, cats_strings)), default_string, object)


@operator("OneHotEncoder", domain=ML)
def one_hot_encoder(x: Array, *, cats_int64s: list[int] | None = None,
                    cats_strings: list[str] | None = None, zeros: int = 1) -> Any:
    categories: list[Any] = cats_strings or cats_int64s or []
    flat = x if x.dtype == object else x.astype(np.int64)
    found = np.stack([flat == c for c in categories], -1).astype(np.float32)
    if not zeros and not found.any(-1).all():
        raise OnnxError("an element is none of the categories")
    return from_array(found)


@operator("Scaler", domain=ML)
def scaler(x: Tensor, *, offset: list[float] | None = None,
           scale: list[float] | None = None) -> Tensor:
    wide = x.to(whet.float32)
    wide = wide if offset is None else wide - whet.tensor(offset, dtype=whet.float32)
    return wide if scale is None else wide * whet.tensor(scale, dtype=whet.float32)


@operator("Normalizer", domain=ML)
def normalizer(x: Tensor, *, norm: str = "MAX") -> Tensor:
    wide = x.to(whet.float32)
    if norm == "MAX":
        size = whet.amax(wide, -1, keepdim=True)
    elif norm == "L1":
        size = whet.sum(whet.abs(wide), -1, keepdim=True)
    elif norm == "L2":
        size = whet.sqrt(whet.sum(wide * wide, -1, keepdim=True))
    else:
        raise OnnxError(f"there is no norm {norm!r}")
    return wide / whet.where(whet.eq(size, 0), whet.ones_like(size), size)


@operator("Imputer", domain=ML)
def imputer(x: Tensor, *, imputed_value_floats: list[float] | None = None,
            imputed_value_int64s: list[int] | None = None, replaced_value_float: float = 0.0,
            replaced_value_int64: int = 0) -> Tensor:
    if x.dtype.is_floating_point:
        new: Any = imputed_value_floats
        gone = whet.isnan(x) if replaced_value_float != replaced_value_float else \
            whet.eq(x, replaced_value_float)
    else:
        new, gone = imputed_value_int64s, whet.eq(x, replaced_value_int64)
    if new is None:
        raise OnnxError("there is no imputed value for this type")
    return whet.where(gone, whet.tensor(new, dtype=x.dtype), x)


@operator("FeatureVectorizer", domain=ML)
def feature_vectorizer(*x: Tensor, inputdimensions: list[int] | None = None) -> Tensor:
    rows = [t.reshape(t.shape[0] if t.ndim > 1 else 1, -1).to(whet.float32) for t in x]
    if inputdimensions is not None:
        rows = [t.narrow(1, 0, n) for t, n in zip(rows, inputdimensions)]
    return whet.cat(rows, 1)


@operator("LinearRegressor", domain=ML)
def linear_regressor(x: Tensor, *, coefficients: list[float],
                     intercepts: list[float] | None = None, post_transform: str = "NONE",
                     targets: int = 1) -> Any:
    weight = whet.tensor(coefficients, dtype=whet.float32).reshape(targets, -1)
    found = whet.matmul(x.to(whet.float32), weight.t())
    if intercepts is not None:
        found = found + whet.tensor(intercepts, dtype=whet.float32)
    if post_transform == "NONE":
        return found
    return from_array(transform(as_array(found), post_transform))


@operator("LinearClassifier", domain=ML)
def linear_classifier(x: Tensor, *, classlabels_ints: list[int] | None = None,
                      classlabels_strings: list[str] | None = None, coefficients: list[float],
                      intercepts: list[float] | None = None, multi_class: int = 0,
                      post_transform: str = "NONE") -> Any:
    labels: list[Any] = classlabels_ints or classlabels_strings or []
    count = len(intercepts) if intercepts else len(coefficients) // x.shape[-1]
    found = linear_regressor(x, coefficients=coefficients, intercepts=intercepts, targets=count)
    return labelled(as_array(found), labels, post_transform, is_probability=True)
