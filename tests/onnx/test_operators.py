"""What ops are in ONNX: a part of them that is drawn anew each day; `make onnx-tests` runs all."""

import datetime
import random

import pytest
from whet.ops.registry import REGISTRY

pytest.importorskip("onnx")
from tests.onnx import operators  # noqa: E402

TODAY = random.Random(datetime.date.today().toordinal()).sample(sorted(REGISTRY), 60)


@pytest.mark.parametrize("name", sorted({"add", "relu", "slice", "linear", "convolution", *TODAY}))
def test_an_op_gives_its_result(name):
    operators.check(name, operators.newest())


@pytest.mark.parametrize("name", ["amax", "mean", "gelu", "layer_norm", "split", "index_put"])
def test_an_op_gives_its_result_at_the_oldest_opset(name):
    operators.check(name, operators.OLDEST)


def test_all_that_cannot_be_expressed_is_told():
    assert operators.reasons("gcd", operators.newest())
    assert not operators.reasons("softmax", operators.newest())


def test_the_table_of_what_cannot_be_expressed_is_current():
    assert operators.PAGE.read_text() == operators.page(), (
        "run `python -m tests.onnx.operators --write`"
    )
