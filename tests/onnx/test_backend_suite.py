"""ONNX's own suite of backends: each operator by itself, simple models, models from PyTorch.

`make onnx-tests` runs the networks as well, whose weights the package makes up.
"""
import os
import tempfile
import warnings

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnx.backend.test")

import onnx.backend.test
import whet.onnx.backend

from .backend_exceptions import EXCEPTIONS

NETWORKS = os.environ.get("WHET_ONNX_NETWORKS") == "1"
if NETWORKS:                                         # what the suite computes for them lies there
    os.environ.setdefault("ONNX_HOME", tempfile.mkdtemp())


def suites():
    """The suite's classes of tests, without what is not run here."""
    with warnings.catch_warnings():
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
