"""Products of matrices and convolutions on simulated devices: what may be rounded, what is laid
anew, what is added in parts."""
import dataclasses

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet import tf32
from whet.cuda import products
from whet.passes.lower_triton import contract as lower

from tests.cuda.sweep import same
from tests.triton_runs import needs_triton

pytestmark = [needs_triton, pytest.mark.usefixtures("no_host")]


@pytest.fixture(autouse=True)
def exact():
    """Nothing may be rounded before a test and after it."""
    tf32.allowed = 0
    yield
    tf32.allowed = 0


def rounded(gpus):
    """How many kernels that ran may round to TF32."""
    return sum("tf32" in s.text for _, s, _ in gpus.kernels)


def test_products_are_rounded_where_the_program_says_so(gpus):
    x, w = whet.randn(40, 64).cuda(), whet.randn(64, 48).cuda()
    x @ w
    assert not rounded(gpus) and whet.get_float32_matmul_precision() == "highest"
    whet.set_float32_matmul_precision("high")
    assert whet.backends.cuda.matmul.allow_tf32
    assert ((x @ w).cpu() - x.cpu() @ w.cpu()).abs().max() < 0.05
    assert rounded(gpus) == 1
    F.conv2d(whet.randn(1, 16, 9, 7).cuda(), whet.randn(16, 16, 3, 3).cuda())
    x.double() @ w.double()
    assert rounded(gpus) == 1
    whet.backends.cuda.matmul.fp32_precision = "ieee"
    assert whet.get_float32_matmul_precision() == "highest"


def test_convolutions_are_rounded_where_the_program_says_so(gpus):
    x, w, b = whet.randn(1, 16, 9, 7), whet.randn(16, 16, 3, 3), whet.randn(16)
    assert not whet.backends.cudnn.allow_tf32
    whet.backends.cudnn.allow_tf32 = True
    got = F.conv2d(x.cuda(), w.cuda(), b.cuda(), padding=1).cpu()
    assert (got - F.conv2d(x, w, b, padding=1)).abs().max() < 0.05
    assert rounded(gpus) == 1 and whet.get_float32_matmul_precision() == "highest"


def test_a_traced_function_goes_by_the_setting(gpus):
    traced = whet.jit.trace(lambda x, w: (x @ w).relu())
    x, w = whet.randn(40, 64).cuda(), whet.randn(64, 48).cuda()
    for _ in range(3):
        traced(x, w)
    assert not rounded(gpus)
    whet.set_float32_matmul_precision("high")
    for _ in range(3):
        traced(x, w)
    assert rounded(gpus)


def test_the_setting_is_refused_inside_of_a_traced_function():
    def setting(x):
        whet.backends.cudnn.allow_tf32 = True
        return x + 1
    traced = whet.jit.trace(setting)
    traced(whet.ones(2))
    assert "it sets the precision of products" in str(traced.explain())
    with pytest.raises(RuntimeError, match="Invalid fp32 precision: half"):
        whet.backends.cuda.matmul.fp32_precision = "half"


@pytest.mark.parametrize("batch", ((), (2,)))
@pytest.mark.parametrize("turned", ("", "a", "b", "ab"))
@pytest.mark.parametrize("may", (False, True))
def test_matrices_that_lie_by_columns(gpus, may, turned, batch):
    tf32.allow(tf32.PRODUCTS, may)
    a, b = whet.randn(*batch, 70, 40), whet.randn(40, 80)
    a, b = (x.mT.contiguous().mT if name in turned else x for name, x in (("a", a), ("b", b)))
    got, want = a.cuda() @ b.cuda(), a @ b
    same(got, want) if not may else np.testing.assert_allclose(got.cpu(), want, atol=0.05)


@pytest.mark.parametrize("may", (False, True))
def test_a_matrix_that_stands_for_many_is_laid_once(gpus, may):
    tf32.allow(tf32.PRODUCTS, may)
    a, b = whet.randn(9, 70, 40), whet.randn(80, 40)
    there = b.cuda()
    whet.cuda.reset_peak_memory_stats()
    before = whet.cuda.memory_allocated()
    got = a.cuda() @ there.mT.expand(9, 40, 80)
    np.testing.assert_allclose(got.cpu(), a @ b.mT, atol=0.05 if may else 0)
    made = a.nbytes + got.nbytes
    assert whet.cuda.max_memory_allocated() - before < made + 4 * b.nbytes


def test_many_parts_of_a_product_are_added_in_order(gpus):
    a, b = whet.randn(5, 5000), whet.randn(5000, 7)
    same(F.linear(a.cuda(), b.mT.cuda(), whet.ones(7).cuda()), F.linear(a, b.mT, whet.ones(7)))
    assert "added_kernel" in {s.name for _, s, _ in gpus.kernels}


def gradients(x, w, b):
    """A convolution, and the gradients of its operands."""
    x, w, b = (t.detach().requires_grad_() for t in (x, w, b))
    y = F.conv2d(x, w, b)
    (y * y).sum().backward()
    return y, x.grad, w.grad, b.grad


def check_convolution():
    """Contractions that are cut into parts: the CPU's bits."""
    xs = whet.randn(2, 40, 14, 15), whet.randn(4, 40, 5, 5), whet.randn(4)
    for got, want in zip(gradients(*[x.cuda() for x in xs]), gradients(*xs), strict=True):
        same(got, want)


def test_parts_of_convolutions(gpus):
    check_convolution()
    assert {"added_kernel"} <= {s.name for _, s, _ in gpus.kernels}


@pytest.mark.parametrize("right,wrong", (
    ("tl.range(1, parts,", "tl.range(2, parts,"), ("x + p * n + at", "x + (parts - p) * n + at"),
    ("tl.load(e0 + at // each % count", "tl.load(e0 + at % count")))
def test_faults_are_noticed(gpus, monkeypatch, right, wrong):
    write = lower.lower_added

    def planted(*args):
        made = write(*args)
        return dataclasses.replace(made, text=made.text.replace(right, wrong))
    monkeypatch.setattr(lower, "lower_added", planted)
    monkeypatch.setattr(products, "_sources", {})
    with pytest.raises(AssertionError):
        check_convolution()


def test_halves_are_for_tensor_cores(gpus):
    xs = whet.randn(1, 8, 9, 9), whet.randn(8, 8, 3, 3), whet.randn(8)
    made = gradients(*[x.cuda().half() for x in xs])
    assert all(y.dtype is whet.float16 for y in made)
    for got, want in zip(made, gradients(*[x.half().double() for x in xs]), strict=True):
        assert (got.cpu().double() - want).abs().max() <= 3e-3 * want.abs().max()
    assert not any("ieee" in s.text for _, s, _ in gpus.kernels)


@pytest.mark.parametrize("k", [40, 9000])                # of one part, and of many
@pytest.mark.parametrize("dtype", [whet.float16, whet.bfloat16], ids=str)
def test_halves_with_a_bias_are_rounded_once(gpus, dtype, k):
    x, w = (whet.randn(n, k).div(k ** 0.5).to(dtype) for n in (16, 24))
    exact = x.double() @ w.double().mT
    bias = (0.3 - exact[0]).to(dtype)
    row, rows = exact + bias.double(), exact - 3 * exact.to(dtype).double()
    xc, wc = x.cuda(), w.cuda()
    for got, want in ((F.linear(xc, wc, bias.cuda()), row),
                      (whet.addmm(bias.cuda(), xc, wc.mT), row),
                      (whet.addmm(exact.to(dtype).cuda(), xc, wc.mT, beta=-3), rows)):
        assert got.dtype is dtype
        assert (got.cpu() != want.to(dtype)).double().mean() < 0.05
