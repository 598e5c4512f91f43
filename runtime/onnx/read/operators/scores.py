"""Scores of classes, in what the operators of ai.onnx.ml have in common."""
from typing import Any

import numpy as np
import whet

from ...errors import OnnxError
from ..values import from_array


def transform(scores: np.ndarray, name: str) -> np.ndarray:
    """The scores after the transformation of this name."""
    if name == "NONE":
        return scores
    if name == "LOGISTIC":
        return np.asarray(whet.sigmoid(whet.from_numpy(scores)).numpy())
    if name == "SOFTMAX":
        return np.asarray(whet.softmax(whet.from_numpy(scores), -1).numpy())
    if name == "SOFTMAX_ZERO":
        highest = scores.max(-1, keepdims=True)
        parts = np.where(np.abs(scores) > 1e-7, np.exp(scores - highest),
                         scores * np.exp(-highest))
        total = parts.sum(-1, keepdims=True)
        return np.where(total == 0, scores.dtype.type(0.5), parts / np.where(total == 0, 1, total))
    if name == "PROBIT":
        double = whet.from_numpy(scores) * 2 - 1
        return np.asarray((whet.erfinv(double) * 2**0.5).numpy())
    raise OnnxError(f"there is no post_transform {name!r}")


def with_other(score: np.ndarray, name: str, is_probability: bool) -> np.ndarray:
    """The scores of both classes, where only the second one's is known. Of the transformations
    only LOGISTIC means something for one score."""
    if name == "LOGISTIC":
        return transform(np.concatenate([-score, score], 1), name)
    return np.concatenate([1 - score if is_probability else -score, score], 1)


def named(index: np.ndarray, labels: list[Any]) -> Any:
    """The classes' labels."""
    if labels and isinstance(labels[0], str):
        return np.array([*labels, None], dtype=object)[:-1][index]
    return from_array(np.array(labels, np.int64)[index])


def labelled(scores: np.ndarray, labels: list[Any], name: str, is_probability: bool,
             threshold: float = 0.0, counted: np.ndarray | None = None) -> Any:
    """The label of each row, and its scores. Only classes that are `counted` are picked."""
    if scores.shape[1] == 1 and len(labels) <= 2:
        picked = (scores[:, 0] > threshold).astype(np.int64)
        pair = labels if len(labels) == 2 else [0, *labels]
        return named(picked, pair), from_array(with_other(scores, name, is_probability))
    best = scores if counted is None else np.where(counted, scores, -np.inf)
    return named(best.argmax(1), labels), from_array(transform(scores, name))
