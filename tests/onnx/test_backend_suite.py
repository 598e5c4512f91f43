"""ONNX's own suite of backends: each operator by itself, simple models, models from PyTorch.

`make onnx-tests` runs the networks as well, whose weights the package makes up.
"""
import os
import pickle
import platform
import tempfile
import warnings

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnx.backend.test")

import onnx.backend.test
import whet.onnx.backend
from onnx.backend.test import loader
from whet.cpu import cache

from .backend_exceptions import EXCEPTIONS

NETWORKS = os.environ.get("WHET_ONNX_NETWORKS") == "1"
if NETWORKS:                                         # what the suite computes for them lies there
    os.environ.setdefault("ONNX_HOME", tempfile.mkdtemp())


def cases_of_operators(compute=loader.load_node_model_tests):
    """The suite's cases of single operators. ONNX computes what they expect when they are listed,
    which takes seconds. So they are kept in the cache's folder for other processes."""
    name = f"onnx {onnx.__version__}, numpy {np.__version__}, python {platform.python_version()}"
    store = cache.opened(cache.Named, "cases of ONNX's operators")
    kept = store and store.find(name)
    if kept:
        return pickle.loads(kept)
    cases = compute()
    if store:
        store.put(name, pickle.dumps(cases))
    return cases


def suites():
    """The suite's classes of tests, without what is not run here."""
    with (pytest.MonkeyPatch.context() as patch, warnings.catch_warnings()):
        patch.setattr(loader, "load_node_model_tests", cases_of_operators)
        warnings.simplefilter("ignore")              # about what the suite computes itself
        suite = onnx.backend.test.BackendTest(whet.onnx.backend, __name__)
    for name in EXCEPTIONS:
        suite.exclude(f"^{name}_cpu$")
    for name, tests in suite.test_cases.items():
        if name != "OnnxBackendRealModelTest" or NETWORKS:
            for test in [t for t in vars(tests) if t.endswith("_cuda")]:
                delattr(tests, test)
            yield name, tests


CASES = dict(suites())
globals().update(CASES)


def test_exceptions_are_few_and_are_tests_of_the_suite():
    names = {name for tests in CASES.values() for name in vars(tests) if name.startswith("test_")}
    assert {f"{name}_cpu" for name in EXCEPTIONS} <= names
    assert len(names) > 1500
    assert len(EXCEPTIONS) <= 0.01 * len(names)


def test_cases_of_operators_are_computed_once(tmp_path, monkeypatch):
    monkeypatch.setenv("WHET_CACHE_DIR", str(tmp_path))
    computed = []

    def compute():
        computed.append("a case")
        return list(computed)

    assert cases_of_operators(compute) == cases_of_operators(compute) == computed == ["a case"]
