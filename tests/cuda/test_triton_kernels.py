"""Kernels that users write in Triton: launched, differentiated, batched; what is known of them."""
import functools

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet.cuda import device_state, user_kernels
from whet.library import wrap_triton

from tests.triton_runs import needs_triton

triton = pytest.importorskip("triton")
tl = triton.language

from tests.cuda import triton_kernels as k  # noqa: E402

pytestmark = needs_triton
EQUAL = functools.partial(whet.testing.assert_close, rtol=0, atol=0)
CLOSE = functools.partial(whet.testing.assert_close, rtol=1e-5, atol=1e-5)


# ---- operators -----------------------------------------------------------------------------------
def test_an_operator_of_a_kernel_has_gradients(gpus):
    (x, there), (y, other) = k.both(7, 33), k.both(7, 33, seed=1)
    made = k.add(there, other)
    EQUAL(made.cpu(), x + y)
    (made * made).sum().backward()
    EQUAL(there.grad.cpu(), 2 * (x + y).detach())
    EQUAL(other.grad.cpu(), there.grad.cpu())


def test_a_row_that_is_no_power_of_two(gpus):
    x, there = k.both(5, 37)
    g = whet.randn(5, 37)
    x.softmax(1).backward(g)
    made = k.softmax(there)
    CLOSE(made.cpu(), x.softmax(1))
    made.backward(g.cuda())
    CLOSE(there.grad.cpu(), x.grad)


def test_products_of_two_dimensions_of_programs(gpus):
    (a, left), (b, right) = k.both(37, 20), k.both(20, 70, seed=1)
    (a @ b).sum().backward()
    made = k.matmul(left, right)
    CLOSE(made.cpu(), a @ b)
    made.sum().backward()
    CLOSE(left.grad.cpu(), a.grad)
    CLOSE(right.grad.cpu(), b.grad)
    CLOSE(k.matmul(right.T, left.T).cpu(), (a @ b).T)            # strides are arguments


def test_a_norm_and_its_backward(gpus):
    (x, there), (w, weight), (b, bias) = k.both(6, 50), k.both(50, seed=1), k.both(50, seed=2)
    g = whet.randn(6, 50)
    want = F.layer_norm(x, (50,), w, b)
    want.backward(g)
    made, _, _ = k.norm(there, weight, bias)
    made.backward(g.cuda())
    CLOSE(made.cpu(), want)
    for mine, theirs in ((there, x), (weight, w), (bias, b)):
        CLOSE(mine.grad.cpu(), theirs.grad)


def test_a_kernel_that_writes_in_place_is_told_by_the_version(gpus):
    x, _ = k.both(40)
    there = x.detach().cuda()
    before = there._version
    assert k.scale_(there, 0.5) is None
    EQUAL(there.cpu(), x.detach() * 0.5)
    assert there._version == before + 1
    w = whet.ones(40, device="cuda", requires_grad=True)
    product = w * there
    k.scale_(there, 2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


def test_a_launch_by_itself_counts_versions_of_what_it_writes_to(gpus):
    x, y, out = (whet.ones(8, device="cuda") for _ in range(3))
    wrap_triton(k.add_kernel)[(1,)](x, y, out, 8, BLOCK=8)
    assert [t._version for t in (x, y, out)] == [0, 0, 1]


def test_tensors_without_elements_are_made_by_the_function(gpus):
    made = k.softmax(whet.empty(3, 5, device="meta"))
    assert made.is_meta and made.shape == (3, 5)


def test_an_operator_is_checked(gpus):
    (_, x), (_, y) = k.both(2, 3), k.both(2, 3, seed=1)
    found = whet.library.opcheck(k.add, (x.detach(), y.detach()))
    assert found == {"test_schema": "SUCCESS", "test_faketensor": "SUCCESS"}
    x = whet.ones(4, device="cuda")
    assert whet.library.opcheck(k.scale_, (x, 2.0))["test_schema"] == "SUCCESS"


def test_a_batch_of_calls_is_made_one_by_one(gpus):
    (x, there), (y, other) = k.both(4, 3, 9), k.both(3, 9, seed=1)
    made = whet.vmap(k.add, in_dims=(1, None))(there.movedim(0, 1), other)
    EQUAL(made.cpu(), x + y)
    grads = whet.vmap(whet.func.grad(lambda t: k.softmax(t).square().sum()))(there)
    want = whet.vmap(whet.func.grad(lambda t: t.softmax(1).square().sum()))(x)
    CLOSE(grads.cpu(), want)
    outs = whet.vmap(lambda t: k.norm(t, whet.ones(9, device="cuda"), whet.zeros(9, device="cuda")))
    assert [o.shape for o in outs(there)] == [(4, 3, 9), (4, 3), (4, 3)]


def test_a_rule_for_batches_goes_before_that(gpus):
    calls = []

    @whet.library.triton_op("kernels_of_tests::batched", mutates_args=())
    def op(x: whet.Tensor) -> whet.Tensor:
        calls.append(x.shape)
        return k.add(x, x)

    @op.register_vmap
    def _(info, in_dims, x):
        return op(x), in_dims[0]
    x, there = k.both(5, 8)
    EQUAL(whet.vmap(op)(there).cpu(), 2 * x)
    assert calls == [(5, 8)]


def test_a_kernel_for_the_cpu_is_another_function(gpus):
    @whet.library.triton_op("kernels_of_tests::on_both", mutates_args=())
    def op(x: whet.Tensor) -> whet.Tensor:
        return k.add(x, x)
    x, there = k.both(8)
    with pytest.raises(ValueError, match=r"cannot be accessed from Triton .*WHET_GPU=sim"):
        op(x)
    op.register_kernel("cpu", lambda x: x * 2)
    EQUAL(op(x), op(there).cpu())


# ---- arguments -----------------------------------------------------------------------------------
@triton.jit
def places_kernel(out, n: tl.int64, flag, nothing, factor, BLOCK: tl.constexpr,
                  KIND: tl.constexpr = "plain"):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    number = x + tl.num_programs(0) * (y + tl.num_programs(1) * z)
    at = tl.arange(0, BLOCK)
    value = number * factor
    if flag:
        value = -value
    if nothing is not None:
        value = value + tl.load(nothing)
    if KIND == "twice":
        value = value * 2
    tl.store(out + number * n + at, value)


def places(grid, *args, **options):
    out = whet.full((24, 4), -1.0, device="cuda")
    wrap_triton(places_kernel)[grid](out, 4, *args, BLOCK=4, **options)
    return out.cpu()[:, 0]


def test_grids_of_three_dimensions_flags_and_what_is_left_out(gpus):
    numbers = whet.arange(24.0)
    EQUAL(places((2, 3, 4), False, None, 1.5), numbers * 1.5)
    EQUAL(places([4, 6], True, None, 2), -numbers * 2)
    one = whet.full((1,), 7.0, device="cuda")
    EQUAL(places((24,), False, one, 0.5, KIND="twice", num_warps=2, num_stages=1),
          (numbers * 0.5 + 7) * 2)
    EQUAL(places(lambda meta: (meta["BLOCK"], 6), False, None, 1), numbers)
    EQUAL(places((0, 3), False, None, 1.0), whet.full((24,), -1.0))


def test_numbers_are_told_at_each_call(gpus):
    """One plan serves them all, but for those that are known to be multiples of 16, or 1."""
    x = whet.arange(64.0)
    for n, factor in ((64, 2.0), (48, -3.0), (17, 0.25), (19, 5.0), (1, 4.0), (0, 1.0)):
        there, want = x.cuda(), x.clone()
        want[:n] *= factor
        wrap_triton(k.scale_kernel)[(2,)](there, factor, n, BLOCK=32)
        EQUAL(there.cpu(), want)
    plans = [plan for key, plan in gpus.plans.items()
             if type(key[0]) is tuple and key[0][0] == "given kernel"]
    assert len(plans) == 3 and all(plan.run is not None for plan in plans)


def test_another_grid_is_another_plan(gpus):
    for programs in (1, 2, 3):
        x = whet.ones(24, device="cuda")
        wrap_triton(k.scale_kernel)[(programs,)](x, 2.0, 24, BLOCK=8)
        assert x.tolist() == [2] * 8 * programs + [1] * 8 * (3 - programs)


def test_where_tensors_lie_is_known(gpus):
    x = whet.arange(40.0).cuda()
    for part in (x[16:], x[3:], x[5:21]):
        want = part.cpu() * 3
        wrap_triton(k.scale_kernel)[(1,)](part, 3.0, part.numel(), BLOCK=64)
        EQUAL(part.cpu(), want)


WRONG = {
    "no grid": (RuntimeError, "outside of the scope of a kernel",
                lambda w, x: w(x, x, x, 8, BLOCK=8)),
    "no tuple": (TypeError, "a grid is a tuple", lambda w, x: w[1](x, x, x, 8, BLOCK=8)),
    "four sizes": (TypeError, "a grid is a tuple", lambda w, x: w[1, 1, 1, 1](x, x, x, 8, BLOCK=8)),
    "half a program": (TypeError, "whole numbers", lambda w, x: w[(0.5,)](x, x, x, 8, BLOCK=8)),
    "less than none": (TypeError, "whole numbers", lambda w, x: w[(-1,)](x, x, x, 8, BLOCK=8)),
    "too few": (TypeError, "missing a required argument: 'BLOCK'",
                lambda w, x: w[(1,)](x, x, x, 8)),
    "too many": (TypeError, "too many", lambda w, x: w[(1,)](x, x, x, 8, 8, 8)),
    "twice": (TypeError, "multiple values", lambda w, x: w[(1,)](x, x, x, 8, 8, BLOCK=8)),
    "unknown": (KeyError, "Keyword argument foo was specified but unrecognised",
                lambda w, x: w[(1,)](x, x, x, 8, BLOCK=8, foo=1)),
    "warps": (ValueError, "power of 2", lambda w, x: w[(1,)](x, x, x, 8, BLOCK=8, num_warps=3)),
    "clusters": (NotImplementedError, "num_ctas",
                 lambda w, x: w[(1,)](x, x, x, 8, BLOCK=8, num_ctas=2)),
    "text": (TypeError, "must be a tensor, a number", lambda w, x: w[(1,)](x, "x", x, 8, BLOCK=8)),
    "a tensor that is to be known": (TypeError, "constexpr cannot be a tensor",
                                     lambda w, x: w[(1,)](x, x, x, 8, BLOCK=x)),
    "the CPU's": (ValueError, r"Pointer argument \(at 2\) cannot be accessed from Triton",
                  lambda w, x: w[(1,)](x, x, x.cpu(), 8, BLOCK=8)),
    "two devices": (RuntimeError, "cuda:0 and cuda:1",
                    lambda w, x: w[(1,)](x, x.to("cuda:1"), x, 8, BLOCK=8)),
    "complex": (TypeError, "no pointers to whet.complex64",
                lambda w, x: w[(1,)](x, whet.view_as_complex(x.view(4, 2)), x, 8, BLOCK=8)),
    "in a transform": (RuntimeError, "register_vmap", lambda w, x: whet.vmap(
        lambda t: w[(1,)](t, t, t, 1, BLOCK=1))(x.view(8, 1))),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_arguments_that_are_wrong(gpus, wrong):
    error, words, call = WRONG[wrong]
    x = whet.zeros(8, device="cuda")
    with pytest.raises(error, match=words):
        call(wrap_triton(k.add_kernel), x)
    assert x.tolist() == [0] * 8 and x._version == 0


def test_what_is_no_kernel_is_refused():
    with pytest.raises(RuntimeError, match=r"annotated with triton\.jit or triton\.autotune"):
        wrap_triton(lambda x: x)


def test_names_and_types_of_an_operator_are_checked():
    with pytest.raises(ValueError, match="must have a type annotation"):
        whet.library.triton_op("kernels_of_tests::untyped", lambda x: x, mutates_args=())
    with pytest.raises(ValueError, match="sequence of the names"):
        whet.library.triton_op("kernels_of_tests::text", k.scale_kernel.fn, mutates_args="x")


def test_addresses_outside_of_tensors_are_errors(gpus):
    x = whet.zeros(8, device="cuda")
    wrap_triton(k.add_kernel)[(4,)](x, x, x, 32, BLOCK=8)
    with pytest.raises(RuntimeError, match="outside of all operands"):
        whet.cuda.synchronize()


SCALE = tl.constexpr(2)


@triton.jit
def global_kernel(x):
    tl.store(x, SCALE)


def test_a_global_that_has_changed_is_an_error(gpus, monkeypatch):
    x = whet.zeros(1, device="cuda")
    wrap_triton(global_kernel)[(1,)](x)
    assert x.item() == 2
    monkeypatch.setitem(globals(), "SCALE", tl.constexpr(3))
    with pytest.raises(RuntimeError, match="Global variable SCALE has changed"):
        wrap_triton(global_kernel)[(1,)](x)


# ---- streams -------------------------------------------------------------------------------------
def test_launches_go_to_the_stream_that_is_chosen(gpus_of):
    for seed in range(8):
        gpus_of(seed)
        x = whet.ones(32, device="cuda")
        for _ in range(2):               # by a plan that was found out, and again
            side = whet.cuda.Stream()
            side.wait_stream(whet.cuda.current_stream())
            with whet.cuda.stream(side):
                k.scale_(x, 3.0)
            whet.cuda.current_stream().wait_stream(side)
            k.scale_(x, 0.5)
        assert x.tolist() == [2.25] * 32


# ---- what is known of a kernel -------------------------------------------------------------------
@triton.jit
def _store(p, value, mask):
    tl.store(p, value, mask=mask)


@triton.jit(noinline=True)
def _store_apart(p, value):
    tl.store(p, value)


@triton.jit
def tangled_kernel(read, either, other, carried, lock, places, apart, swapped, n, flag,
                   BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if flag > 2:
        chosen = either + at
    else:
        chosen = other + at
    total, to, again = tl.zeros((BLOCK,), tl.float32), carried + at, read + at
    for _ in range(n):
        total += tl.load(again)
        again += BLOCK
        _store(to, total, at < n)
        to += BLOCK
    tl.atomic_add(lock, 1)
    if n > 100:
        return
    while n > 3:
        n -= 1
        total += tl.load(again + tl.load(places + at))
        again += 1
    _store(chosen, total, at < n)
    _store_apart(apart, n)
    last = read + at
    for _ in range(2):
        tl.store(swapped + at, tl.load(last))
        last = places + at


def test_what_a_kernel_writes_to_is_read_off_its_code():
    from whet.passes.lower_triton.user_kernels import given, written
    pointers = dict.fromkeys(
        "read either other carried lock places apart swapped".split(), "*fp32")
    source = given(tangled_kernel, {**pointers, "places": "*i32", "lock": "*i32", "n": "i32",
                                    "flag": "i32"}, {"BLOCK": 64}, {})
    with pytest.raises(Exception, match="type"):         # `last` changes its type
        written(source)
    source = given(tangled_kernel, {**pointers, "places": "*i32", "read": "*i32", "lock": "*i32",
                                    "n": "i32", "flag": "i32"}, {"BLOCK": 64}, {})
    assert written(source) == ("either", "other", "carried", "lock", "apart", "swapped")


def test_the_same_kernel_is_compiled_without_a_gpu():
    from whet.passes.lower_triton import compile
    from whet.passes.lower_triton.user_kernels import given
    kinds = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}
    made = compile.compile(given(k.add_kernel, kinds, {"BLOCK": 1024}, {"num_warps": 8}), 90,
                           ("x", "y", "out", "n"))
    assert made.name == "add_kernel" and made.warps == 8 and made.binary[:4] == b"\x7fELF"
    assert "ld.global.v4.b32" in made.ptx                # the hints arrive
    assert made.ptx.count(".param .") == 4 + 2           # of ours, and two of Triton's


def test_a_name_stands_for_all_that_decides(gpus):
    from whet.passes.lower_triton.user_kernels import given
    kinds = {"x": "*fp32", "factor": "fp32", "n": "i32"}
    made = [given(kernel, kind, {"BLOCK": b}, options).key
            for kernel in (k.scale_kernel,)
            for kind in (kinds, kinds | {"n": "i64"}) for b in (8, 8.0, 16)
            for options in ({}, {"num_warps": 2})]
    assert len(set(made)) == len(made)
    assert given(k.scale_kernel, kinds, {"BLOCK": 8}, {}).key == made[0]


def test_a_copy_lies_as_its_tensor_does(gpus):
    x = whet.arange(12.0).cuda().view(3, 4).T
    assert user_kernels.laid_like(x._array).strides == x._array.strides


def test_a_launch_on_an_idle_driver():
    """Machine code makes it, by a grid of three dimensions."""
    from whet.cuda.simulated.idle import IdleDriver
    with device_state.use(IdleDriver()):
        out = whet.empty(24, 4, device="cuda")
        for _ in range(3):
            wrap_triton(places_kernel)[(2, 3, 4)](out, 4, False, None, 1.5, BLOCK=4)
        assert out._version == 3


def test_numbers_of_numpy_are_numbers(gpus):
    x = whet.ones(8, device="cuda")
    wrap_triton(k.scale_kernel)[(np.int64(1),)](x, np.float64(2.0), 8, BLOCK=8)
    assert x.tolist() == [2] * 8
