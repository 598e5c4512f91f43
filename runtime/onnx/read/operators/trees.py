"""Ensembles of trees, of ai.onnx.ml. All rows go down a tree at once, a level at a time."""
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import OnnxError
from ..definition import operator
from ..values import Array, Value, as_array, from_array
from .scores import labelled, transform

ML = "ai.onnx.ml"
COMPARE: list[Callable[[np.ndarray, np.ndarray], np.ndarray]] = [
    np.less_equal, np.less, np.greater_equal, np.greater, np.equal, np.not_equal]
MODES = {"BRANCH_LEQ": 0, "BRANCH_LT": 1, "BRANCH_GTE": 2, "BRANCH_GT": 3, "BRANCH_EQ": 4,
         "BRANCH_NEQ": 5}
MEMBER, LEAF = 6, -1


@dataclass
class Trees:
    """The nodes of all trees. A leaf has the mode LEAF."""
    roots: np.ndarray
    features: np.ndarray
    modes: np.ndarray
    splits: np.ndarray
    yes: np.ndarray
    no: np.ndarray
    missing: np.ndarray
    members: dict[int, np.ndarray]

    def __post_init__(self) -> None:
        count = len(self.modes)
        inner = self.modes != LEAF
        for name in ("yes", "no"):
            at = getattr(self, name)
            if len(at) != count or ((at < 0) | (at >= count))[inner].any():
                raise OnnxError("a node of the trees leads to one that is not there")
        if any(len(a) != count for a in (self.features, self.splits, self.missing)):
            raise OnnxError("the lists of the trees' nodes are not equally long")

    def leaves(self, x: np.ndarray) -> np.ndarray:
        """The leaf that each row comes to, tree by tree: [rows, trees]."""
        at = np.broadcast_to(self.roots, (len(x), len(self.roots))).copy()
        rows = np.arange(len(x))[:, None]
        for _ in range(len(self.modes) + 1):
            inner = self.modes[at] != LEAF
            if not inner.any():
                return at
            feature = np.where(inner, self.features[at], 0)
            if feature.size and not 0 <= feature.min() <= feature.max() < x.shape[1]:
                raise OnnxError(f"a tree asks for a feature beyond the {x.shape[1]} that there are")
            taken = self.decided(at, x[rows, feature])
            at = np.where(inner, np.where(taken, self.yes[at], self.no[at]), at)
        raise OnnxError("a tree goes round in a circle")

    def decided(self, at: np.ndarray, value: np.ndarray) -> np.ndarray:
        """Does a value go the way of a node that holds?"""
        modes, found = self.modes[at], np.zeros(at.shape, bool)
        for mode, compare in enumerate(COMPARE):
            found = np.where(modes == mode, compare(value, self.splits[at]), found)
        for node, members in self.members.items():
            found = np.where(at == node, np.isin(value, members), found)
        return found | (np.isnan(value) & (self.missing[at] != 0))


def summed(leaves: np.ndarray, weights: dict[int, list[tuple[int, float]]], targets: int,
           kind: Any, how: str) -> tuple[np.ndarray, np.ndarray]:
    """What the leaves of all trees give each target, and how many of them do."""
    start = {"MIN": np.inf, "MAX": -np.inf}.get(how, 0.0)
    found, seen = np.full((len(leaves), targets), start, kind), np.zeros((len(leaves), targets))
    fold = {"MIN": np.minimum, "MAX": np.maximum}.get(how, np.add)
    for column in leaves.T:
        for leaf in np.unique(column):
            rows = column == leaf
            for target, weight in weights.get(int(leaf), ()):
                found[rows, target] = fold(found[rows, target], kind(weight))
                seen[rows, target] += 1
    found = np.where((seen == 0) & np.isinf(found), kind(0), found)
    return found / leaves.shape[1] if how == "AVERAGE" else found, seen


@operator("TreeEnsemble", domain=ML, since=5)
def tree_ensemble(x: Array, *, leaf_targetids: list[int], leaf_weights: Value,
                  nodes_falseleafs: list[int], nodes_falsenodeids: list[int],
                  nodes_featureids: list[int], nodes_modes: Value, nodes_splits: Value,
                  nodes_trueleafs: list[int], nodes_truenodeids: list[int], tree_roots: list[int],
                  aggregate_function: int = 1, membership_values: Value = None,
                  n_targets: int | None = None, nodes_hitrates: Value = None,
                  nodes_missing_value_tracks_true: list[int] | None = None,
                  post_transform: int = 0) -> Any:
    modes, leaves = as_array(nodes_modes).astype(np.int64), as_array(leaf_weights)
    inner, count = len(modes), len(leaves)
    yes, no = (np.array(ids) + inner * np.array(flags) for ids, flags in (
        (nodes_truenodeids, nodes_trueleafs), (nodes_falsenodeids, nodes_falseleafs)))
    sets = iter(_sets(membership_values))
    members = {int(i): next(sets) for i in _in_order(tree_roots, modes, yes, no)}
    fill = np.zeros(count, np.int64)
    missing = nodes_missing_value_tracks_true or [0] * inner
    trees = Trees(np.array(tree_roots), np.r_[nodes_featureids, fill],
                  np.r_[modes, fill + LEAF],
                  np.r_[as_array(nodes_splits), fill].astype(x.dtype), np.r_[yes, fill],
                  np.r_[no, fill], np.r_[missing, fill], members)
    weights = {inner + i: [(t, w)] for i, (t, w) in enumerate(zip(leaf_targetids, leaves))}
    how = ["AVERAGE", "SUM", "MIN", "MAX"][aggregate_function]
    targets = n_targets or max(leaf_targetids) + 1
    found, _ = summed(trees.leaves(x), weights, targets, x.dtype.type, how)
    name = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"][post_transform]
    return from_array(transform(found, name).astype(x.dtype))


def _sets(values: Any) -> list[np.ndarray]:
    """Sets of numbers, each of which ends with a NaN."""
    if values is None:
        return []
    flat = as_array(values)
    ends = np.flatnonzero(np.isnan(flat))
    return [flat[a:b] for a, b in zip(np.r_[0, ends + 1], ends)]


def _in_order(roots: list[int], modes: np.ndarray, yes: np.ndarray, no: np.ndarray) -> list[int]:
    """The nodes that ask for membership, in the order in which the trees are walked."""
    found, stack, seen = [], list(reversed(roots)), set()
    while stack:
        i = int(stack.pop())
        if i < len(modes) and i not in seen:
            seen.add(i)
            if modes[i] == MEMBER:
                found.append(i)
            stack += [no[i], yes[i]]
    return found


@dataclass
class Listed:
    """The nodes of trees as the older operators list them: by the ids of tree and node."""
    treeids: list[int]
    nodeids: list[int]
    featureids: list[int]
    modes: list[str]
    values: Any
    yes: list[int]
    no: list[int]
    missing: list[int] | None

    def trees(self, kind: Any) -> tuple[Trees, dict[tuple[int, int], int]]:
        """The trees, and the number of each node."""
        number = {k: i for i, k in enumerate(zip(self.treeids, self.nodeids))}
        modes = np.array([LEAF if m == "LEAF" else MODES.get(m, -2) for m in self.modes])
        if (modes == -2).any():
            raise OnnxError("a node of the trees has a mode that is none")
        ways = [np.array([number.get((t, n), -1) for t, n in zip(self.treeids, ids)])
                for ids in (self.yes, self.no)]
        first: dict[int, int] = {}
        for i, tree in enumerate(self.treeids):
            first.setdefault(tree, i)
        roots = np.array([first[t] for t in sorted(first)])
        missing = np.array(self.missing or [0] * len(modes))
        return Trees(roots, np.array(self.featureids), modes, np.asarray(self.values, kind),
                     ways[0], ways[1], missing, {}), number

    def weights(self, number: dict[tuple[int, int], int], trees: list[int], nodes: list[int],
                ids: list[int], values: Any) -> dict[int, list[tuple[int, float]]]:
        """What each leaf gives."""
        found: dict[int, list[tuple[int, float]]] = {}
        for tree, node, target, weight in zip(trees, nodes, ids, values):
            found.setdefault(number[tree, node], []).append((target, weight))
        return found


def either(listed: list[float] | None, tensor: Any, kind: Any) -> Any:
    """Numbers that are an attribute of one kind or of the other."""
    if tensor is not None:
        return as_array(tensor)
    return None if listed is None else np.array(listed, kind)


@operator("TreeEnsembleRegressor", domain=ML)
def tree_ensemble_regressor(
        x: Array, *, aggregate_function: str = "SUM", base_values: list[float] | None = None,
        base_values_as_tensor: Value = None, n_targets: int = 1,
        nodes_falsenodeids: list[int], nodes_featureids: list[int],
        nodes_hitrates: list[float] | None = None, nodes_hitrates_as_tensor: Value = None,
        nodes_missing_value_tracks_true: list[int] | None = None, nodes_modes: list[str],
        nodes_nodeids: list[int], nodes_treeids: list[int], nodes_truenodeids: list[int],
        nodes_values: list[float] | None = None, nodes_values_as_tensor: Value = None,
        post_transform: str = "NONE", target_ids: list[int], target_nodeids: list[int],
        target_treeids: list[int], target_weights: list[float] | None = None,
        target_weights_as_tensor: Value = None) -> Any:
    kind = np.float64 if x.dtype == np.float64 else np.float32
    listed = Listed(nodes_treeids, nodes_nodeids, nodes_featureids, nodes_modes,
                    either(nodes_values, nodes_values_as_tensor, kind), nodes_truenodeids,
                    nodes_falsenodeids, nodes_missing_value_tracks_true)
    trees, number = listed.trees(kind)
    weights = listed.weights(number, target_treeids, target_nodeids, target_ids,
                             either(target_weights, target_weights_as_tensor, kind))
    found, _ = summed(trees.leaves(x.astype(kind)), weights, n_targets, kind, aggregate_function)
    base = either(base_values, base_values_as_tensor, kind)
    return from_array(transform(found if base is None else found + base, post_transform))


@operator("TreeEnsembleClassifier", domain=ML)
def tree_ensemble_classifier(
        x: Array, *, base_values: list[float] | None = None, base_values_as_tensor: Value = None,
        class_ids: list[int], class_nodeids: list[int], class_treeids: list[int],
        class_weights: list[float] | None = None, class_weights_as_tensor: Value = None,
        classlabels_int64s: list[int] | None = None, classlabels_strings: list[str] | None = None,
        nodes_falsenodeids: list[int], nodes_featureids: list[int],
        nodes_hitrates: list[float] | None = None, nodes_hitrates_as_tensor: Value = None,
        nodes_missing_value_tracks_true: list[int] | None = None, nodes_modes: list[str],
        nodes_nodeids: list[int], nodes_treeids: list[int], nodes_truenodeids: list[int],
        nodes_values: list[float] | None = None, nodes_values_as_tensor: Value = None,
        post_transform: str = "NONE") -> Any:
    kind = np.float64 if x.dtype == np.float64 else np.float32
    listed = Listed(nodes_treeids, nodes_nodeids, nodes_featureids, nodes_modes,
                    either(nodes_values, nodes_values_as_tensor, kind), nodes_truenodeids,
                    nodes_falsenodeids, nodes_missing_value_tracks_true)
    trees, number = listed.trees(kind)
    weights = listed.weights(number, class_treeids, class_nodeids, class_ids,
                             either(class_weights, class_weights_as_tensor, kind))
    labels: list[Any] = classlabels_int64s or classlabels_strings or []
    binary = len(set(class_ids)) == 1 and len(labels) <= 2
    found, seen = summed(trees.leaves(x.astype(kind)), weights, 1 if binary else len(labels),
                         np.float32, "SUM")
    base = either(base_values, base_values_as_tensor, np.float32)
    positive = all(w >= 0 for row in weights.values() for _, w in row)
    return labelled(found if base is None else found + base, labels, post_transform, positive,
                    0.5 if positive else 0.0, seen > 0 if base is None else None)
