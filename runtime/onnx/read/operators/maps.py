"""Maps from names to numbers, which are Python's dicts, of ai.onnx.ml."""
from typing import Any

import numpy as np
import whet

from ....tensor import Tensor
from ...errors import OnnxError
from ..definition import operator
from ..values import Value, from_array

ML = "ai.onnx.ml"


def a_map(value: Any) -> dict[Any, Any]:
    """The value, where it is a map."""
    if not isinstance(value, dict):
        raise OnnxError(f"a map is needed, not a {type(value).__name__}")
    return value


@operator("ZipMap", domain=ML)
def zip_map(x: Tensor, *, classlabels_int64s: list[int] | None = None,
            classlabels_strings: list[str] | None = None) -> Any:
    labels: list[Any] = classlabels_strings or classlabels_int64s or []
    rows = x.reshape(-1, len(labels)).tolist()
    return [dict(zip(labels, row)) for row in rows]


@operator("DictVectorizer", domain=ML)
def dict_vectorizer(x: Value, *, int64_vocabulary: list[int] | None = None,
                    string_vocabulary: list[str] | None = None) -> Any:
    words: list[Any] = string_vocabulary or int64_vocabulary or []
    found = [a_map(x).get(word) for word in words]
    if any(isinstance(v, str) for v in found):
        return np.array([[v or "" for v in found]], dtype=object)
    whole = all(isinstance(v, int) for v in found if v is not None)
    kind = whet.int64 if whole else whet.float32
    return whet.tensor([[v or 0 for v in found]], dtype=kind)


@operator("CastMap", domain=ML)
def cast_map(x: Value, *, cast_to: str = "TO_FLOAT", map_form: str = "DENSE",
             max_map: int = 1) -> Any:
    entries = a_map(x)
    if map_form == "SPARSE":
        values = [entries.get(i, 0) for i in range(max_map)]
    else:
        values = [entries[k] for k in sorted(entries)]
    if cast_to == "TO_STRING":
        return np.array([[str(v) for v in values]], dtype=object)
    kinds = {"TO_FLOAT": np.float32, "TO_INT64": np.int64}
    if cast_to not in kinds:
        raise OnnxError(f"there is no cast_to {cast_to!r}")
    return from_array(np.array([[float(v) for v in values]]).astype(kinds[cast_to]))
