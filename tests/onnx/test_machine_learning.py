"""Operators of ai.onnx.ml that ONNX's own suite has no tests of, against its reference."""
import numpy as np
import pytest

pytest.importorskip("onnx")

import whet
import whet.onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

from .models import of_nodes, run_node

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 3)).astype(np.float32)
TREES = {
    "nodes_treeids": [0] * 5 + [1] * 3, "nodes_nodeids": [0, 1, 2, 3, 4, 0, 1, 2],
    "nodes_featureids": [0, 1, 0, 0, 0, 2, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "BRANCH_LT", *["LEAF"] * 3, "BRANCH_GT", "LEAF", "LEAF"],
    "nodes_values": [0.1, -0.2, 0, 0, 0, 0.3, 0, 0],
    "nodes_truenodeids": [1, 2, 0, 0, 0, 1, 0, 0], "nodes_falsenodeids": [4, 3, 0, 0, 0, 2, 0, 0]}
LEAVES = ([0, 0, 0, 1, 1], [2, 3, 4, 1, 2])


def floats(count):
    return RNG.normal(size=count).astype(np.float32).tolist()


def agree(op, outputs=1, version=1, **attributes):
    names = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, ["x"], names, domain="ai.onnx.ml", **attributes)
    model = of_nodes([node], {"x": X}, names, 18, domains=[("ai.onnx.ml", version)])
    found, wanted = whet.onnx.load(model)(X), ReferenceEvaluator(model).run(None, {"x": X})
    for a, b in zip([found] if outputs == 1 else found, wanted):
        array = a.numpy() if isinstance(a, whet.Tensor) else a
        if array.dtype == object:
            assert array.tolist() == b.tolist()
        else:
            assert np.allclose(array, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("how", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_trees_that_give_numbers(how):
    agree("TreeEnsembleRegressor", **TREES, n_targets=1, target_treeids=LEAVES[0],
          target_nodeids=LEAVES[1], target_ids=[0] * 5, target_weights=floats(5),
          aggregate_function=how)


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX"])
def test_trees_that_give_classes(transform):
    weights = np.abs(floats(5)).tolist()
    agree("TreeEnsembleClassifier", 2, **TREES, class_treeids=LEAVES[0], class_nodeids=LEAVES[1],
          class_ids=[0, 1, 2, 0, 1], class_weights=weights, classlabels_int64s=[3, 4, 5],
          post_transform="NONE")
    agree("LinearClassifier", 2, coefficients=floats(9), intercepts=floats(3),
          classlabels_strings=["a", "b", "c"], post_transform=transform)


@pytest.mark.parametrize("kernel", ["LINEAR", "POLY", "RBF", "SIGMOID"])
def test_support_vector_machines(kernel):
    shape = {"kernel_type": kernel, "kernel_params": [0.5, 0.1, 2.0]}
    agree("SVMRegressor", coefficients=floats(4), n_supports=4, rho=floats(1),
          support_vectors=floats(12), **shape)
    three = {"coefficients": floats(14), "rho": floats(3), "support_vectors": floats(21),
             "vectors_per_class": [2, 3, 2], "classlabels_ints": [1, 2, 3], **shape}
    agree("SVMClassifier", 2, **three)
    two = {"coefficients": floats(5), "rho": floats(1), "support_vectors": floats(15),
           "vectors_per_class": [2, 3], "classlabels_ints": [0, 1], **shape}
    _, chances = run_node("SVMClassifier", 1, X, outputs=2, domain="ai.onnx.ml", **two,
                          prob_a=[-1.5], prob_b=[0.2])
    _, scores = run_node("SVMClassifier", 1, X, outputs=2, domain="ai.onnx.ml", **two)
    first = 1 / (1 + np.exp(1.5 * scores.numpy()[:, 0] + 0.2))      # Platt's, of the first class
    assert np.allclose(chances.sum(1).numpy(), 1, atol=1e-5)
    assert np.abs(chances.numpy()[:, 0] - first).max() < 0.02


def test_scalers_and_maps():
    agree("Scaler", offset=floats(3), scale=floats(3))
    for norm in ("L1", "L2"):
        agree("Normalizer", norm=norm)
    rows = run_node("ZipMap", 1, X[:2], domain="ai.onnx.ml", classlabels_int64s=[1, 2, 3])
    assert rows == [dict(zip((1, 2, 3), row)) for row in X[:2].tolist()]
    found = run_node("CategoryMapper", 1, np.array([1, 9]), domain="ai.onnx.ml",
                     cats_int64s=[1, 2], cats_strings=["a", "b"])
    assert found.tolist() == ["a", "_Unused"]


def test_trees_that_lead_nowhere_are_errors():
    for change in ({"nodes_truenodeids": [1, 9, 0, 0, 0, 1, 0, 0]},
                   {"nodes_truenodeids": [0, 2, 0, 0, 0, 1, 0, 0]},
                   {"nodes_featureids": [7, 1, 0, 0, 0, 2, 0, 0]}):
        with pytest.raises(whet.onnx.OnnxError, match="tree"):
            run_node("TreeEnsembleRegressor", 1, X, domain="ai.onnx.ml", **{**TREES, **change},
                     n_targets=1, target_treeids=LEAVES[0], target_nodeids=LEAVES[1],
                     target_ids=[0] * 5, target_weights=[1.0] * 5)
