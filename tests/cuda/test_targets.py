"""What is said of compiled kernels: what they need, and what their code must not have."""
import pytest
from whet.ir import kernel as K
from whet.ir import scalar as S
from whet.passes.lower_triton import pointwise
from whet.passes.lower_triton.source import Source

from tests.cuda import targets
from tests.triton_runs import needs_triton

pytestmark = needs_triton
X, Y = S.args(2)
OURS = pointwise.lower(
    K.Pointwise((X * Y + S.exp(X) / Y,), ("f32", "f32"), ("f32",), "flat", "vvv"))
POINTERS = (("x", "*fp32"), ("y", "*fp32"))


def of(line):
    """A kernel of one line that gives `b` of `a`."""
    text = ("@triton.jit\ndef kernel(x, y):\n    at = tl.arange(0, 128)\n"
            f"    a = tl.load(x + at)\n    {line}\n    tl.store(y + at, b)\n")
    return Source("kernel", text, POINTERS, "1")


def found(source, name):
    return targets.TARGETS[name].build(source)[1]


@pytest.mark.parametrize("name", targets.TARGETS)
def test_our_kernels_are_exact_for_every_target(name):
    need, wrong = targets.TARGETS[name].build(OURS)
    assert not wrong and not need.spilled and need.registers > 8 and 0 < need.occupancy <= 1
    assert not found(of("b = tl.fma(a, a, 1.0)"), name)


@pytest.mark.parametrize("name", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("line", ["b = tl.exp(a)", "b = tl.rsqrt(a)", "b = 1.0 / a",
                                  "b = tl.sqrt(a)", "b = tl.sin(a)"])
def test_what_is_approximate_is_found(name, line):
    assert any("approx" in w or "div.full" in w or "does not ask" in w
               for w in found(of(line), name))


@pytest.mark.parametrize("name", targets.TARGETS)
def test_products_that_are_contracted_with_sums_are_found(monkeypatch, name):
    told = OURS.options()
    monkeypatch.setattr(Source, "options", lambda source: told | {"enable_fp_fusion": True})
    assert "fma" in " ".join(found(of("b = a * a + 1.5"), name))


def test_long_expressions_have_threads_enough():
    """Of eight elements of each thread numbers were spilled."""
    source = pointwise.lower(
        K.Pointwise((S.Expr("lgamma", (X,)),), ("f32",), ("f32",), "flat", "vv"))
    need, wrong = targets.TARGETS["sm_80"].build(source, ("x0", "y0"))
    assert need.warps == 8 and not need.spilled and not wrong and OURS.warps == 4


def test_occupancies_are_those_of_the_makers_tables():
    of = {name: t.occupancy for name, t in targets.TARGETS.items()}
    assert of["sm_90"](32, 0, 4) == 1 and of["sm_90"](33, 0, 4) == 48 / 64
    assert of["sm_90"](128, 0, 4) == 0.25 and of["sm_80"](255, 0, 8) == 0.125
    assert of["sm_80"](32, 100 << 10, 4) == 4 / 64 and of["sm_90"](32, 100 << 10, 4) == 8 / 64
    assert of["sm_90"](16, 0, 1) == 0.5             # as many programs as there may be
    assert of["gfx942"](64, 0, 4) == 1 and of["gfx942"](65, 0, 4) == 7 / 8
    assert of["gfx942"](512, 0, 4) == 1 / 8 and of["gfx942"](64, 40 << 10, 4) == 1 / 8
