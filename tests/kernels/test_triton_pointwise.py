"""Scalar expressions and pointwise kernels as Triton source: the bits of the CPU's kernels, in
every type and layout; and as cubins."""
import itertools
import re
import subprocess
import sys

import numpy as np
import pytest
from whet.cpu.pointwise import Pointwise
from whet.dtypes import SHORT
from whet.ir import kernel as K
from whet.ir import scalar as S
from whet.ir.expressions import PARTS
from whet.passes.lower_llvm import scalar as llvm
from whet.passes.lower_llvm.builder import Module
from whet.passes.lower_triton import pointwise as lower
from whet.passes.lower_triton import scalar

from tests.kernels.test_pointwise import layouts, numbers
from tests.passes.test_scalar_lowering import TYPES, arity, grid, values
from tests.triton_runs import like, needs_triton, run_pointwise, same

pytestmark = [pytest.mark.filterwarnings("ignore::RuntimeWarning"), needs_triton]
X, Y = S.args(2)
PRIMITIVES = sorted({*S.PRIMITIVES} - {*PARTS})


def kernel(root, *types):
    return K.Pointwise((root,), types, (S.typeof(root, types),), "flat", "v" * (len(types) + 1))


def emitted(op, t):
    """Does LLVM have the primitive for this type?"""
    f = Module().fn("k", [(llvm.MEMORY[t], f"x{i}") for i in range(arity(op))])
    try:
        llvm.emit(f, [S.Expr(op, tuple(S.args(arity(op))))], f.args, [t] * arity(op), 0)
    except llvm.Unsupported:
        return False
    return True


LOWERED = {op: [t for t in TYPES if emitted(op, t)] for op in PRIMITIVES}


@pytest.mark.parametrize("op", PRIMITIVES)
def test_what_llvm_has_triton_has(op):
    for t in TYPES:
        root = S.Expr(op, tuple(S.args(arity(op))))
        if t in LOWERED[op]:
            assert f"{op}_kernel(" in lower.lower(kernel(root, *[t] * arity(op))).text
        else:
            with pytest.raises(scalar.Unsupported):
                lower.lower(kernel(root, *[t] * arity(op)))


@pytest.mark.drawn(2)
@pytest.mark.parametrize("op", PRIMITIVES)
def test_primitives_have_the_bits_of_the_cpu(op):
    n, tested = arity(op), 0
    root = S.Expr(op, tuple(S.args(n)))
    for t in ("bool", "u8", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64"):
        if t in LOWERED[op]:
            xs = [np.resize(x, 1024) if n == 1 else x[:1500] for x in grid(t, n)]
            want, = Pointwise(op, [root], n)(xs)
            out = like(want)
            run_pointwise([root], xs, [out])
            same(out, want)
            tested += 1
    assert tested


@pytest.mark.drawn(2)
@pytest.mark.parametrize("src", TYPES)
def test_casts(src):
    x = values(src)
    for dst in TYPES:
        want, = Pointwise("cast", [S.cast(X, dst)], 1)([x])
        out = like(want)
        run_pointwise([S.cast(X, dst)], [x], [out])
        same(out, want)


def test_ordinary_elements_take_the_short_way_to_the_same_bits():
    """Blocks in which no element asks for care: small angles, short quotients, no reflection."""
    x = np.linspace(0.25, 0.75, 1024)
    for t in ("f32", "f64"):
        a, b = x.astype(SHORT[t].np), (x[::-1] * 3).astype(SHORT[t].np)
        for root in ((S.sin(X), S.tan(X), S.erfinv(X), S.ndtri(X), S.lgamma(X), S.digamma(X),
                      S.trigamma(X), S.fmod(Y, X), S.mod(Y, X), S.pow(X, Y))):
            want, = Pointwise("short", [root], 2)([a, b])
            out = like(want)
            run_pointwise([root], [a, b], [out])
            same(out, want)


def test_halves_are_rounded_to_nearest_even():
    high = np.arange(2**16, dtype=np.uint32)[::7] << 16
    low = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0x0FFF, 0x1000, 0x1001, 0x3000, 0xFFFF],
                   np.uint32)
    x = (high[:, None] | low).ravel().view(np.float32)
    for t in ("f16", "bf16"):
        out = np.zeros(x.shape, SHORT[t].np)
        run_pointwise([S.cast(X, t)], [x], [out])
        same(out, x.astype(out.dtype))


def test_a_half_expression_is_rounded_where_it_casts_and_at_its_end():
    for t in ("f16", "bf16"):
        a, b = grid(t, 2)
        for root in (X * Y + X - Y, S.cast(X * Y, t) + X, S.nextafter(X, Y), S.maximum(X, 0.1) * 3):
            want, = Pointwise("half", [root], 2)([a, b])
            out = like(want)
            run_pointwise([root], [a, b], [out])
            same(out, want)


def test_numbers_take_the_type_of_what_they_meet():
    for t in ("i32", "u8", "i64", "f32", "f64", "bf16"):
        a = np.array([0, 1, 2, 100], SHORT[t].np)
        for root in (X + 3, 3 - X, S.where(X > 1, 7, X), X + S.where(X > 1, 1, 2),
                     S.where(X > 1, 1, 0) * X, S.where(S.lift(2) > 1, X, 0), S.maximum(X, 2),
                     S.minimum(0, X), S.where(X, X, 5)):
            want, = Pointwise("number", [root], 1)([a])
            out = like(want)
            run_pointwise([root], [a], [out])
            same(out, want)


@pytest.mark.drawn(2)
@pytest.mark.parametrize("seed", range(20))
def test_random_expressions(seed):
    """Operations on what other operations gave, with casts, choices and plain numbers between
    them."""
    rng = np.random.default_rng(seed)
    pick = lambda xs: xs[rng.integers(len(xs))]
    types = [pick(TYPES) for _ in range(3)]
    made = [(S.arg(i), t) for i, t in enumerate(types)]
    for _ in range(12):
        e, t = pick(made)
        other = pick([S.lift(2), *(x if u == t else S.cast(x, t) for x, u in made)])
        op = pick([o for o in PRIMITIVES if arity(o) < 3 and t in LOWERED[o]])
        root = pick([
            S.Expr(op, (e, other)[:arity(op)]),
            S.where(pick(made)[0], e, other),
            S.cast(e, pick(TYPES))])
        made.append((root, S.typeof(root, types)))
    roots = [e for e, _ in made[-4:]]
    xs = [np.resize(values(t, k), 257) for k, t in enumerate(types)]
    want = Pointwise("random", roots, 3)(xs)
    outs = [like(w) for w in want]
    source = run_pointwise(roots, xs, outs)
    for out, w in zip(outs, want):
        try:
            same(out, w)
        except AssertionError as e:
            raise AssertionError(f"{e}\n{K.text(roots)} of {types}\n{source.text}") from None


@pytest.mark.parametrize("shape, t",
                         [((3,), "f32"), ((33, 18), "bf16"), ((2, 3, 2, 3, 5), "bool"),
                          ((2, 3, 300), "i8")])
def test_layouts(shape, t):
    spaces, seconds = set(), list(layouts(shape, t, 1))
    for k, (_, a) in enumerate(layouts(shape, t)):
        for b in (seconds[k][1], seconds[3 * k % len(seconds)][1]):
            want, = Pointwise("add", [X + Y], 2)([a, b])
            out = like(want)
            text = run_pointwise([X + Y], [a, b], [out]).text
            same(out, want)
            spaces.add("row" in text)
    assert len(spaces) == 2


def test_transposed_operands_and_results_elsewhere():
    for m, n in [(31, 65), (64, 64), (70, 130), (9, 200)]:
        a, b = numbers((n, m)).T, numbers((m, n), seed=1)
        big = np.zeros((2 * m, n + 3), np.float32)
        out = big[::2, 1:n + 1]
        source = run_pointwise([X * Y], [a, b], [out])
        same(np.ascontiguousarray(out), a * b)
        assert (big.sum(dtype="f8") == pytest.approx((a * b).sum(dtype="f8"))
                and "32))[:, None]" in source.text)


def test_many_results_of_many_types():
    a, b = numbers(100), numbers(100, seed=1)
    roots = [X + Y, X < Y, S.cast(X, "i32"), S.cast(Y, "bf16"), S.cast(X, "u8")]
    want = Pointwise("many", roots, 2)([a, b])
    outs = [like(w) for w in want]
    run_pointwise(roots, [a, b], outs)
    for out, w in zip(outs, want):
        same(out, w)


def test_the_text():
    source = lower.lower(
        K.Pointwise((S.maximum(X * S.cast(Y, "f32") + S.exp(X), 0),), ("f32", "bf16"), ("f32",),
                    "flat",
                    "vsv"))
    assert source.text.endswith('''@triton.jit
def cast_mul_exp_add_max_kernel(x0, x1, y0, n):
    at = tl.program_id(0) * 1024 + tl.arange(0, 1024)
    here = at < n
    a0 = tl.load(x0 + at, here)
    a1 = tl.load(x1).to(tl.float32)
    v1 = a0 * a1
    v2 = exp_f32(a0)
    v3 = v1 + v2
    v4 = max_f32(v3, tl.full((), 0.0, tl.float32))
    tl.store(y0 + at, v4, here)
''')
    assert (re.findall(r"def (\w+)",
                       source.text) == ["exp_f32", "max_f32", "cast_mul_exp_add_max_kernel"])
    assert source.parameters == (("x0", "*fp32"), ("x1", "*bf16"), ("y0", "*fp32"), ("n", "i32"))
    assert source.programs({"n": 1025}) == 2


def test_a_kernel_that_reaches_too_far_is_found():
    from whet.passes.lower_triton import simulate
    source = lower.lower(kernel(X + Y, "f32", "f32"))
    a = numbers(10)
    with pytest.raises(simulate.OutOfBounds):
        simulate.run(source, [a, a[:9].copy(), np.zeros(10, np.float32)], {"n": 10})


def test_a_simulation_computes_what_is_read_and_takes_its_patches_back(monkeypatch):
    """Whether sums of integers overflow is told in debugging alone, and not computed otherwise."""
    from triton.language.semantic import TritonSemantic
    from triton.runtime import interpreter as ti
    from whet.passes.lower_triton import simulate

    def state():
        return ti.interpreter_builder.options, ti._get_np_dtype, ti.InterpreterBuilder.create_fma
    before, less, compared = state(), TritonSemantic.less_equal, []
    monkeypatch.setattr(TritonSemantic, "less_equal",
                        lambda *args: (compared.append(1), less(*args))[1])
    a, out = numbers(2000), np.zeros(2000, np.float32)
    simulate.run(lower.lower(kernel(X + Y, "f32", "f32")), [a, a, out], {"n": 2000})
    same(out, a + a)
    assert not compared and state() == before


def test_nothing_imports_triton_before_it_compiles():
    code = (
        "import sys, whet; from whet.passes.lower_triton import pointwise, rows, contract, "
        "compile, simulate; print('triton' in sys.modules)")
    assert (subprocess.run([sys.executable, "-c", code], capture_output=True,
                           text=True).stdout == "False\n")


# ---- as cubins -----------------------------------------------------------------------------------
def check(compiled, source):
    """No approximation, no lost subnormals, no contraction, no spilled registers."""
    assert compiled.binary[:4] == b"\x7fELF" and not compiled.stack
    assert not re.findall(r"\S*(?:approx|\.ftz|div\.full)\S*", compiled.ptx)
    assert "tl.fma" in source.text or not re.findall(r"\bfma\.rn", compiled.ptx)


@pytest.mark.drawn(3)
@pytest.mark.parametrize("op", PRIMITIVES)
def test_primitives_compile(op):
    from whet.passes.lower_triton import compile
    t = "f32" if "f32" in LOWERED[op] else "i32"
    source = lower.lower(kernel(S.Expr(op, tuple(S.args(arity(op)))), *[t] * arity(op)))
    check(compile.compile(source), source)


@pytest.mark.drawn(2)
@pytest.mark.parametrize(
    "types", ["bool bool", "bf16 f32", "f16 u8", "f32 bf16", "f64 i64", "u64 f32", "i64 f64"])
def test_types_compile(types):
    from whet.passes.lower_triton import compile
    src, dst = types.split()
    # a product and a sum that may not be contracted
    source = lower.lower(
        kernel(S.cast(X | Y if src == "bool" else S.maximum(X * Y + X, Y), dst), src, src))
    check(compile.compile(source), source)


def test_layouts_compile():
    from whet.passes.lower_triton import compile
    for space, access, dims in ((("rows", "vsv", 3), ("rows", "gvg", 4), ("tiles", "tvv", 2),
                                 ("tiles", "svt", 3))):
        source = lower.lower(
            K.Pointwise((X * S.cast(Y, "f32"),), ("f32", "bf16"), ("f32",), space, access), dims)
        check(compile.compile(source), source)
    assert (compile.compile(lower.lower(kernel(X * Y, "f32", "f32")),
                            aligned=("x0", "x1", "y0", "n")).ptx.count("ld.global.v4") >= 2)
    source = lower.lower(kernel(X * Y, "f32", "f32"), wide=True)
    check(compile.compile(source), source)


def test_every_space_has_a_source():
    for space, letters in (("flat", "vs"), ("rows", "vsg"), ("tiles", "vsgt")):
        for access in itertools.product(letters, letters, "v"):
            assert ("tl.store(y0" in lower.lower(
                K.Pointwise((X * S.cast(Y, "f32"),), ("f32", "i8"), ("f32",), space,
                            "".join(access)), 3).text)
