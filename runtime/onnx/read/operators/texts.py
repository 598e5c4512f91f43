"""Strings, which are NumPy arrays of Python's."""
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import whet

from ...errors import OnnxError
from ..definition import operator
from ..values import Array, as_array, each, from_array


@operator("StringConcat")
def string_concat(x: Array, y: Array) -> Any:
    return each(lambda a, b: a + b, x, y)


@operator("RegexFullMatch")
def regex_full_match(x: Array, *, pattern: str) -> Any:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise OnnxError(f"the pattern {pattern!r} is none: {error}") from error
    found = [compiled.fullmatch(t) is not None for t in x.reshape(-1)]
    return from_array(np.array(found, bool).reshape(x.shape))


@operator("StringSplit")
def string_split(x: Array, *, delimiter: str = "", maxsplit: int | None = None) -> Any:
    most = -1 if maxsplit is None else maxsplit
    rows = [t.split(delimiter or None, most) if t else [] for t in x.reshape(-1)]
    width = max(map(len, rows), default=0)
    full = np.empty((len(rows), width), dtype=object)
    for i, row in enumerate(rows):
        full[i] = row + [""] * (width - len(row))
    counts = np.array([len(row) for row in rows], np.int64)
    return full.reshape(*x.shape, width), from_array(counts.reshape(x.shape))


@operator("StringNormalizer")
def string_normalizer(x: Array, *, case_change_action: str = "NONE", is_case_sensitive: int = 0,
                      locale: str = "en_US", stopwords: list[str] | None = None) -> Any:
    change = {"NONE": str, "LOWER": str.lower, "UPPER": str.upper}.get(case_change_action)
    if change is None:
        raise OnnxError(f"there is no case_change_action {case_change_action!r}")
    key: Callable[[str], str] = str if is_case_sensitive else str.lower
    stopped = {key(word) for word in stopwords or ()}
    kept = [change(t) for t in x.reshape(-1) if key(t) not in stopped] or [""]
    found = np.array([*kept, None], dtype=object)[:-1]
    return found.reshape(1, -1) if x.ndim == 2 else found


@operator("TfIdfVectorizer")
def tf_idf_vectorizer(x: Array, *, mode: str, min_gram_length: int, max_gram_length: int,
                      max_skip_count: int, ngram_counts: list[int], ngram_indexes: list[int],
                      pool_int64s: list[int] | None = None, pool_strings: list[str] | None = None,
                      weights: list[float] | None = None) -> Any:
    pool: list[Any] = list(pool_strings if pool_strings is not None else pool_int64s or [])
    grams = ngrams(pool, ngram_counts)
    rows = as_array(x).reshape(1, -1) if x.ndim < 2 else x
    counts = np.zeros((len(rows), max(ngram_indexes, default=-1) + 1), np.float32)
    for row, count in zip(rows, counts):
        for gram in found_in(row.tolist(), min_gram_length, max_gram_length, max_skip_count):
            if gram in grams:
                count[ngram_indexes[grams[gram]]] += 1
    if mode in ("IDF", "TFIDF"):
        scale = np.ones(counts.shape[1], np.float32)
        if weights is not None:
            scale[ngram_indexes] = np.array(weights, np.float32)
        counts = (counts if mode == "TFIDF" else (counts > 0).astype(np.float32)) * scale
    elif mode != "TF":
        raise OnnxError(f"there is no mode {mode!r}")
    return whet.from_numpy(counts.reshape(-1) if x.ndim < 2 else counts)


def ngrams(pool: list[Any], starts: list[int]) -> dict[tuple[Any, ...], int]:
    """The n-grams of a pool, in which those of each length follow one another, by number."""
    found: dict[tuple[Any, ...], int] = {}
    for n, (start, end) in enumerate(zip(starts, [*starts[1:], len(pool)]), 1):
        for i in range(start, end, n):
            found[tuple(pool[i:i + n])] = len(found)
    return found


def found_in(row: list[Any], shortest: int, longest: int, skips: int) -> list[tuple[Any, ...]]:
    """The n-grams of a row, whose words may be some words apart."""
    found = []
    for n in range(shortest, longest + 1):
        for skip in range(1 if n == 1 else skips + 1):
            span = (skip + 1) * (n - 1) + 1
            for i in range(len(row) - span + 1):
                found.append(tuple(row[i:i + span:skip + 1]))
    return found
