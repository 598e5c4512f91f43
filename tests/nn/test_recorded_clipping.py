"""Clipping in a trace: one op for the norms of all gradients, and one that scales them."""
import pytest
import whet
from whet import jit
from whet.ir.op import find_op
from whet.ir.parse import parse
from whet.ops.write_to_each import WriteToEach

SHAPES = [(3, 4), (5,), (1,), (40, 300), (2, 3, 4), ()]


def gradients(seed, dtype=whet.float32):
    draw = whet.Generator().manual_seed(seed)
    return [whet.randn(shape, generator=draw).to(dtype) for shape in SHAPES]


def clipping(params, norm_type=2.0):
    def clip(given):
        for p, g in zip(params, given):
            p.grad = g * 2
        params[4].grad = params[4].grad.transpose(0, 2).contiguous().transpose(0, 2)
        total = whet.nn.utils.clip_grad_norm_(params, 1.0, norm_type)
        return total, [p.grad for p in params]
    return clip


def parameters(dtype=whet.float32):
    return [whet.zeros(shape, dtype=dtype).requires_grad_() for shape in SHAPES]


def bits(t):
    return t.detach().contiguous().view(-1).view(whet.uint8).tolist()


def launched_by_python(traced):
    return [n.op.name for r in traced._calls.policy.held for n in r.program.called
            if n.op is not None]


@pytest.mark.parametrize("dtype", [whet.float32, whet.float64, whet.bfloat16, whet.float16],
                         ids=str)
@pytest.mark.parametrize("norm_type", [2.0, 1.0, float("inf")])
def test_a_traced_call_gives_eagers_bits(dtype, norm_type):
    eager = clipping(parameters(dtype), norm_type)
    traced = jit.trace(clipping(parameters(dtype), norm_type))
    for seed in range(6):
        given = gradients(seed, dtype)
        (total, scaled), (other, others) = eager(given), traced(given)
        assert bits(total) == bits(other)
        assert [*map(bits, scaled)] == [*map(bits, others)]
        assert [g._version for g in scaled] == [g._version for g in others]
    assert traced.explain(data=True)["calls"]["replayed"] >= 3


def test_all_gradients_are_scaled_by_one_node():
    traced = jit.trace(clipping(parameters()))
    for seed in range(4):
        traced(gradients(seed))
    names = [n.op.name for n in traced.recorded.nodes if n.op is not None]
    assert names.count("mul.each") == 1 and names.count("squares_of_each") == 1
    (write,) = [n for n in traced.recorded.nodes if isinstance(n.op, WriteToEach)]
    assert len(write.written()) == len(SHAPES)
    assert not launched_by_python(traced)
    text = str(traced.recorded)
    assert str(parse(text)) == text


def test_it_is_found_by_its_name():
    assert find_op("mul.each").name == "mul.each" and find_op("mul.each") is find_op("mul.each")
    for wrong in ("sum.each", "nothing.each", ".each", "mul.each.each"):
        assert find_op(wrong) is None


def test_gradients_that_share_memory_are_scaled_one_by_one():
    shared = whet.full((4,), 3.0)

    def clip(x):
        a, b = whet.zeros(4).requires_grad_(), whet.zeros(2).requires_grad_()
        a.grad = x * 1
        b.grad = a.grad[1:3]
        whet.nn.utils.clip_grad_norm_([a, b], 1.0)
        return a.grad
    traced = jit.trace(clip)
    for _ in range(5):
        assert bits(traced(shared)) == bits(clip(shared))


@pytest.mark.parametrize("value", [0.0, 1e-30, 1e30, float("inf"), float("nan")])
def test_norms_whose_squares_vanish_or_overflow(value):
    tensors = [whet.tensor([value, value]), whet.tensor([3.0, 4.0])]
    want = whet.stack([t.norm() for t in tensors]).norm()
    assert bits(whet.nn.utils.get_total_norm(tensors)) == bits(want)
    traced = jit.trace(whet.nn.utils.get_total_norm)
    for _ in range(4):
        assert bits(traced(tensors)) == bits(want)


@pytest.mark.parametrize("value", [1e-4, 3e-3, 1.0, 200.0])
def test_norms_of_halves_are_those_of_wider_numbers(value):
    tensors = [whet.full((n,), value, dtype=whet.float16) for n in (3, 700)]
    want = whet.stack([t.norm() for t in tensors]).norm()
    assert bits(whet.nn.utils.get_total_norm(tensors)) == bits(want)


def test_more_gradients_than_a_launch_has_room_for():
    params = [whet.zeros(3).requires_grad_() for _ in range(900)]

    def clip(x):
        for p in params:
            p.grad = x * 2
        return whet.nn.utils.clip_grad_norm_(params, 1.0), params[-1].grad
    traced = jit.trace(clip)
    for k in range(5):
        x = whet.tensor([1.0, k, 2.0])
        for a, b in zip(traced(x), clip(x), strict=True):
            assert bits(a) == bits(b)


def test_each_example_of_a_batch_has_a_norm_of_its_own():
    def scaled(x, y):
        total = whet.nn.utils.get_total_norm([x, y])
        return x / total, total
    x, y = whet.randn(5, 3), whet.randn(5, 2, 2)
    got = whet.vmap(scaled)(x, y)
    for i in range(5):
        for a, b in zip(got, scaled(x[i], y[i]), strict=True):
            assert whet.allclose(a[i], b)
