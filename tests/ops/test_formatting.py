"""What tensors print as: the texts are PyTorch's (with `whet` for `torch` in type names)."""
import pytest
import whet


@pytest.fixture(autouse=True)
def default_options():
    yield
    whet.set_printoptions(profile="default")


LINES = """
whet.tensor(1.5)  ->  tensor(1.5000)
whet.tensor(3)  ->  tensor(3)
whet.tensor(True)  ->  tensor(True)
whet.tensor(1+2j)  ->  tensor(1.+2.j)
whet.tensor(float("nan"))  ->  tensor(nan)
whet.tensor([])  ->  tensor([])
whet.zeros(0, 3)  ->  tensor([], size=(0, 3))
whet.zeros(2, 0, 2, dtype=whet.int64)  ->  tensor([], size=(2, 0, 2), dtype=whet.int64)
whet.tensor([1, -20, 300])  ->  tensor([  1, -20, 300])
whet.tensor([True, False])  ->  tensor([ True, False])
whet.tensor([1.0, 2.0, -3.0])  ->  tensor([ 1.,  2., -3.])
whet.tensor([1.5, -2.25, 1000.0])  ->  tensor([   1.5000,   -2.2500, 1000.0000])
whet.tensor([1e-5, 1.0])  ->  tensor([1.0000e-05, 1.0000e+00])
whet.tensor([1e9, 1.0])  ->  tensor([1.0000e+09, 1.0000e+00])
whet.tensor([float("inf"), -1.0, float("nan")])  ->  tensor([inf, -1., nan])
whet.tensor([float("inf"), -1.5, float("nan")])  ->  tensor([    inf, -1.5000,     nan])
whet.tensor([-0.0, 0.0])  ->  tensor([-0., 0.])
whet.tensor([1.0, 2.5], dtype=whet.float64)  ->  tensor([1.0000, 2.5000], dtype=whet.float64)
whet.tensor([1.0, 2.5], dtype=whet.bfloat16)  ->  tensor([1.0000, 2.5000], dtype=whet.bfloat16)
whet.tensor([1.0, 2.5], dtype=whet.float16)  ->  tensor([1.0000, 2.5000], dtype=whet.float16)
whet.tensor([1, 2], dtype=whet.uint8)  ->  tensor([1, 2], dtype=whet.uint8)
whet.tensor([1 + 2j, -3.5 - 0.25j])  ->  tensor([ 1.0000+2.0000j, -3.5000-0.2500j])
whet.arange(2000)  ->  tensor([   0,    1,    2,  ..., 1997, 1998, 1999])
whet.ones(3, requires_grad=True)  ->  tensor([1., 1., 1.], requires_grad=True)
whet.tensor([1.0]).expand(3)  ->  tensor([1., 1., 1.])
"""


@pytest.mark.parametrize("line", LINES.strip().split("\n"))
def test_one_line(line):
    source, text = line.split("  ->  ")
    assert repr(eval(source)) == text


MATRIX = "whet.arange(6.0).view(2, 3)", """\
tensor([[0., 1., 2.],
        [3., 4., 5.]])"""
CUBE = "whet.arange(24).view(2, 3, 4)", """\
tensor([[[ 0,  1,  2,  3],
         [ 4,  5,  6,  7],
         [ 8,  9, 10, 11]],

        [[12, 13, 14, 15],
         [16, 17, 18, 19],
         [20, 21, 22, 23]]])"""
LONG = "whet.arange(30) * 1000", """\
tensor([    0,  1000,  2000,  3000,  4000,  5000,  6000,  7000,  8000,  9000,
        10000, 11000, 12000, 13000, 14000, 15000, 16000, 17000, 18000, 19000,
        20000, 21000, 22000, 23000, 24000, 25000, 26000, 27000, 28000, 29000])"""
SCIENTIFIC = "whet.arange(1200.0).view(30, 40) / 7", """\
tensor([[0.0000e+00, 1.4286e-01, 2.8571e-01,  ..., 5.2857e+00, 5.4286e+00,
         5.5714e+00],
        [5.7143e+00, 5.8571e+00, 6.0000e+00,  ..., 1.1000e+01, 1.1143e+01,
         1.1286e+01],
        [1.1429e+01, 1.1571e+01, 1.1714e+01,  ..., 1.6714e+01, 1.6857e+01,
         1.7000e+01],
        ...,
        [1.5429e+02, 1.5443e+02, 1.5457e+02,  ..., 1.5957e+02, 1.5971e+02,
         1.5986e+02],
        [1.6000e+02, 1.6014e+02, 1.6029e+02,  ..., 1.6529e+02, 1.6543e+02,
         1.6557e+02],
        [1.6571e+02, 1.6586e+02, 1.6600e+02,  ..., 1.7100e+02, 1.7114e+02,
         1.7129e+02]])"""


@pytest.mark.parametrize("source, text", [MATRIX, CUBE, LONG, SCIENTIFIC])
def test_several_lines(source, text):
    assert repr(eval(source)) == text


def test_history_is_shown():
    w = whet.ones(2, requires_grad=True)
    assert repr(w * 2) == "tensor([2., 2.], grad_fn=<MulBackward0>)"
    assert repr(w.detach()) == "tensor([1., 1.])"
    assert repr(whet.ones(12, dtype=whet.float64, requires_grad=True).view(3, 4)) == (
        "tensor([[1., 1., 1., 1.],\n        [1., 1., 1., 1.],\n        [1., 1., 1., 1.]], "
        "dtype=whet.float64, grad_fn=<ViewBackward0>)")


def test_default_type_is_not_shown():
    whet.set_default_dtype(whet.float64)
    try:
        assert (repr(whet.tensor(1.0)) == "tensor(1.)"
                and repr(whet.tensor(1.0).float()) == "tensor(1., dtype=whet.float32)")
    finally:
        whet.set_default_dtype(whet.float32)


def test_options():
    x = whet.tensor([1.12345, 2.0])
    whet.set_printoptions(precision=2)
    assert repr(x) == "tensor([1.12, 2.00])"
    whet.set_printoptions(profile="default", sci_mode=True)
    assert repr(x) == "tensor([1.1235e+00, 2.0000e+00])"
    whet.set_printoptions(profile="default", threshold=5, edgeitems=1)
    assert repr(whet.arange(10)) == "tensor([0,  ..., 9])"
    assert (repr(whet.arange(9).view(
        3, 3)) == "tensor([[0,  ..., 2],\n        ...,\n        [6,  ..., 8]])")
    whet.set_printoptions(profile="default", linewidth=20)
    assert repr(whet.arange(6)) == "tensor([0, 1, 2, 3,\n        4, 5])"
    with pytest.raises(ValueError, match="profile must be one of"):
        whet.set_printoptions(profile="loud")


def test_formatting_touches_nothing():
    w = whet.ones(3, requires_grad=True)
    x = w * 2
    assert "grad_fn" in repr(x) and f"{whet.tensor(2.5):.1f}" == "2.5" and f"{x}" == str(x)
    assert x._version == 0 and whet.is_grad_enabled()


def test_a_large_tensor_prints_at_once():
    assert repr(whet.zeros(3000, 3000)).count("...") == 7
    assert "..." in repr(whet.zeros(1, 1, 100_000))


def test_subclasses_show_their_name():
    class Named(whet.Tensor):
        pass
    assert repr(whet.ones(1).as_subclass(Named)) == "Named([1.])"
    assert repr(whet.nn.Parameter(
        whet.ones(1))).startswith("Parameter containing:\ntensor([1.], requires_grad=True)")
