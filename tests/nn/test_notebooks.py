"""What notebooks show of modules and tensors."""
import xml.etree.ElementTree as tree

import pytest
import whet
from whet import nn


def page(x):
    return tree.fromstring(f"<body>{x._repr_html_()}</body>")


def test_a_module_is_a_tree_with_numbers_of_parameters():
    model = nn.Sequential(
        nn.Linear(4, 8), nn.ModuleList([nn.ReLU(), nn.Linear(8, 2)]), nn.ModuleDict())
    root, = page(model)
    assert root.tag == "details" and "open" not in root[2].keys()
    assert ["".join(e.itertext()) for e in root.iter() if e.tag in ("summary", "div")] == [
        "Sequential 58 parameters",
        "(0): Linear(in_features=4, out_features=8, bias=True) 40 parameters",
        "(1): ModuleList 18 parameters", "(0): ReLU()",
        "(1): Linear(in_features=8, out_features=2, bias=True) 18 parameters",
        "(2): ModuleDict()"]


def test_members_that_are_none_or_not_there_yet_are_shown():
    model = nn.Sequential(nn.LazyLinear(2))
    model.register_module("later", None)
    said = "".join(page(model).itertext())
    assert "LazyLinear" in said and "(later): None" in said and "parameters" not in said


def test_a_module_without_members_says_what_it_prints():
    class Own(nn.Module):
        def __repr__(self):
            return "<mine & mine>"
    assert "".join(page(Own()).itertext()) == "<mine & mine>"


@pytest.mark.parametrize("t, facts", [
    (whet.ones(2, 3), "2 × 3, whet.float32"), (whet.tensor(1), "a number, whet.int64"),
    (nn.Parameter(whet.ones(3)), "3, whet.float32")], ids=["matrix", "number", "parameter"])
def test_a_tensor_has_its_shape_and_type_below_it(t, facts):
    shown = page(t)
    assert shown.find("pre").text == repr(t) and shown.find("p").text == facts
