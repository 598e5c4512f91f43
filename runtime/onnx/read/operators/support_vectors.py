"""Support vector machines, of ai.onnx.ml."""
from typing import Any

import numpy as np

from ...errors import OnnxError
from ..definition import operator
from ..values import Array, from_array
from .scores import labelled, named, transform

ML = "ai.onnx.ml"


class Kernel:
    """How alike two vectors are, for support vector machines."""

    def __init__(self, kind: str, parameters: list[float] | None) -> None:
        self.kind = kind
        self.gamma, self.shift, degree = parameters or [0.0, 0.0, 0.0]
        self.degree = int(degree)

    def __call__(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """For all rows of the one with all rows of the other."""
        products: np.ndarray = a @ b.T
        if self.kind == "LINEAR":
            return products
        if self.kind == "POLY":
            return np.asarray((products * self.gamma + self.shift) ** self.degree)
        if self.kind == "SIGMOID":
            return np.asarray(np.tanh(products * self.gamma + self.shift))
        if self.kind == "RBF":
            apart = ((a[:, None] - b[None]) ** 2).sum(-1)
            return np.asarray(np.exp(-self.gamma * apart))
        raise OnnxError(f"there is no kernel_type {self.kind!r}")


@operator("SVMRegressor", domain=ML)
def svm_regressor(x: Array, *, coefficients: list[float], kernel_params: list[float] | None = None,
                  kernel_type: str = "LINEAR", n_supports: int = 0, one_class: int = 0,
                  post_transform: str = "NONE", rho: list[float],
                  support_vectors: list[float] | None = None) -> Any:
    rows, weights = x.astype(np.float32), np.array(coefficients, np.float32)
    if n_supports:
        vectors = np.array(support_vectors, np.float32).reshape(n_supports, -1)
        found = Kernel(kernel_type, kernel_params)(rows, vectors) @ weights
    else:
        found = rows @ weights
    found = (found + np.float32(rho[0])).reshape(-1, 1).astype(np.float32)
    if one_class:
        return from_array(np.where(found > 0, np.float32(1), np.float32(-1)))
    return from_array(transform(found, post_transform))


class Pairs:
    """A machine for each pair of classes."""

    def __init__(self, counts: list[int], coefficients: np.ndarray, shifts: list[float]) -> None:
        ends = np.cumsum(counts)
        self.parts = [slice(e - n, e) for n, e in zip(counts, ends)]
        self.coefficients, self.shifts = coefficients, shifts

    def scores(self, alike: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The score of each pair, and how many pairs each class has won."""
        count, found = len(self.parts), list[np.ndarray]()
        votes = np.zeros((len(alike), count))
        for i in range(count):
            for j in range(i + 1, count):
                first, second = self.parts[i], self.parts[j]
                score = alike[:, first] @ self.coefficients[j - 1, first] + \
                    alike[:, second] @ self.coefficients[i, second] + self.shifts[len(found)]
                votes[:, i] += score > 0
                votes[:, j] += score <= 0
                found.append(score)
        return np.stack(found, 1), votes

    def probabilities(self, scores: np.ndarray, a: list[float], b: list[float]) -> np.ndarray:
        """The probability of each class, of those of the pairs."""
        count, at = len(self.parts), 0
        pairs = np.zeros((len(scores), count, count))
        for i in range(count):
            for j in range(i + 1, count):
                value = 1 / (1 + np.exp(scores[:, at] * a[at] + b[at]))
                pairs[:, i, j] = np.clip(value, 1e-7, 1 - 1e-7)
                pairs[:, j, i] = 1 - pairs[:, i, j]
                at += 1
        return np.stack([coupled(p) for p in pairs])


def coupled(pairs: np.ndarray) -> np.ndarray:
    """Probabilities of classes that fit those of all pairs best: Wu, Lin and Weng's second way."""
    count = len(pairs)
    q = -pairs.T * pairs
    np.fill_diagonal(q, (pairs.T ** 2).sum(1))
    p = np.full(count, 1 / count)
    for _ in range(max(100, count)):
        qp = q @ p
        total = p @ qp
        if np.abs(qp - total).max() < 0.005 / count:
            break
        for t in range(count):
            step = (total - qp[t]) / q[t, t]
            p[t] += step
            total = (total + step * (step * q[t, t] + 2 * qp[t])) / (1 + step) ** 2
            qp = (qp + step * q[t]) / (1 + step)
            p /= 1 + step
    return p


@operator("SVMClassifier", domain=ML)
def svm_classifier(x: Array, *, classlabels_ints: list[int] | None = None,
                   classlabels_strings: list[str] | None = None, coefficients: list[float],
                   kernel_params: list[float] | None = None, kernel_type: str = "LINEAR",
                   post_transform: str = "NONE", prob_a: list[float] | None = None,
                   prob_b: list[float] | None = None, rho: list[float],
                   support_vectors: list[float] | None = None,
                   vectors_per_class: list[int] | None = None) -> Any:
    labels: list[Any] = classlabels_ints or classlabels_strings or []
    rows, weights = x.astype(np.float32), np.array(coefficients, np.float32)
    if not vectors_per_class:
        scores = rows @ weights.reshape(max(len(labels), 1), -1).T + np.float32(rho[0])
        return labelled(scores, labels, post_transform, is_probability=False)
    count = sum(vectors_per_class)
    vectors = np.array(support_vectors, np.float32).reshape(count, -1)
    pairs = Pairs(vectors_per_class, weights.reshape(-1, count), rho)
    scores, votes = pairs.scores(Kernel(kernel_type, kernel_params)(rows, vectors))
    if prob_a and prob_b:
        chances = pairs.probabilities(scores, prob_a, prob_b).astype(np.float32)
        return named(votes.argmax(1), labels), from_array(transform(chances, post_transform))
    final = scores.astype(np.float32)
    if len(labels) == 2:
        final = np.concatenate([-final, final], 1)
    return named(votes.argmax(1), labels), from_array(transform(final, post_transform))
