"""What ops are in ONNX: a part of them that is drawn anew each day; `make onnx-tests` runs all."""

import datetime
import random

import pytest
import whet
from whet.ops.registry import REGISTRY

pytest.importorskip("onnx")
from tests import drawn  # noqa: E402
from tests.onnx import operators  # noqa: E402

DAY = drawn.draw() or datetime.date.today().toordinal()
TODAY = random.Random(DAY).sample(sorted(REGISTRY), 40)


@pytest.mark.parametrize("name", sorted({"add", "relu", "slice", "linear", "convolution", *TODAY}))
def test_an_op_gives_its_result(name):
    operators.check(name, operators.newest())


@pytest.mark.parametrize("name", ["amax", "mean", "gelu", "layer_norm", "split", "index_put"])
def test_an_op_gives_its_result_at_the_oldest_opset(name):
    operators.check(name, operators.OLDEST)


@pytest.mark.parametrize(
    "name", ["convolution", "max_pool", "pow", "div_floor", "scatter_reduce", "cumprod", "sort"])
def test_an_op_gives_its_result_in_every_type(name):
    assert None in list(operators.outcomes(name, operators.newest(), operators.TYPES))


def test_an_operator_is_computed_in_a_type_that_runners_have():
    for case in operators.cases("cummax", [whet.int16]):
        nodes = case.model(operators.newest()).proto.graph.node
        (to,) = {a.i for n in nodes if n.op_type == "Cast" for a in n.attribute} - {5}
        assert to == 6 and "Where" in [n.op_type for n in nodes]  # 16 bits by way of 32


def test_all_that_cannot_be_expressed_is_told():
    assert operators.reasons("gcd", operators.newest())
    assert not operators.reasons("softmax", operators.newest())


def test_the_table_of_what_cannot_be_expressed_is_current():
    assert operators.PAGE.read_text() == operators.page(), (
        "run `python -m tests.onnx.operators --write`"
    )
