"""Attention of halves on simulated devices: close to what float64 gives, whatever the sizes, masks
and layouts; the same bits in traced functions."""
import pytest
import whet
from whet.nn.functional import scaled_dot_product_attention as attention
from whet.passes.lower_triton import attention as lower
from whet.passes.lower_triton import compile

from tests.cuda.planted_faults import Fault
from tests.triton_runs import needs_triton

pytestmark = [needs_triton, pytest.mark.usefixtures("no_host")]
CLOSE = {whet.float16: 2e-3, whet.bfloat16: 2e-2}


def operands(batch, queries, keys, features, values=None, dtype=whet.float16):
    """Queries, keys and values."""
    whet.manual_seed(0)
    sizes = (queries, features), (keys, features), (keys, values or features)
    return [whet.randn(*batch, *s).to(dtype) for s in sizes]


def results(call, xs):
    """The result of a call and the gradients of its operands, as float64 on the CPU."""
    xs = [x.detach().requires_grad_() for x in xs]
    y = call(*xs)
    weights = whet.linspace(-1, 1, y.numel(), dtype=whet.float64).reshape(y.shape).to(y.device)
    (y.double() * weights).sum().backward()
    return [t.detach().cpu().double() for t in (y, *(x.grad for x in xs))]


def kernels(gpus):
    """The names of the kernels of attention that ran."""
    return {s.name for _, s, _ in gpus.kernels if s.name.startswith("attention")}


def check(xs, mask=None, **at):
    """The same on a device as in float64 on the CPU."""
    there = None if mask is None else mask.cuda()
    got = results(lambda *x: attention(*x, attn_mask=there, **at), [x.cuda() for x in xs])
    exact = None if mask is None else mask if mask.dtype is whet.bool else mask.double()
    want = results(lambda *x: attention(*x, attn_mask=exact, **at), [x.double() for x in xs])
    for a, b in zip(got, want, strict=True):
        assert a.shape == b.shape
        assert (a - b).abs().max() <= CLOSE[xs[0].dtype] * max(1, b.abs().max())


SIZES = {
    "whole tiles": ((2,), 128, 128, 16), "one query": ((1, 2), 1, 70, 16),
    "no batch": ((), 65, 33, 32), "features that are no power of two": ((2, 1), 40, 50, 20, 24),
    "many features": ((1,), 70, 40, 128), "three dimensions of batches": ((2, 1, 2), 30, 20, 16)}


@pytest.mark.parametrize("is_causal", (False, True))
@pytest.mark.parametrize("name", SIZES)
def test_sizes(gpus, name, is_causal):
    check(operands(*SIZES[name]), is_causal=is_causal)
    assert kernels(gpus) == {"attention_forward", "attention_gradient_of_queries",
                             "attention_gradient_of_keys"}


def test_bfloat16_and_a_scale(gpus):
    check(operands((2,), 150, 130, 16, dtype=whet.bfloat16), is_causal=True, scale=0.3)


@pytest.mark.parametrize("kind", ("bool", "float", "a row for all"))
def test_masks(gpus, kind):
    xs = operands((2, 3), 40, 70, 16)
    mask = whet.randn(*((70,) if kind == "a row for all" else (3, 40, 70)))
    check(xs, mask > 0 if kind != "float" else mask.half())
    assert len(kernels(gpus)) == 3


def test_what_sees_nothing_is_zero(gpus):
    xs = operands((1,), 33, 40, 16)
    mask = whet.ones(33, 40, dtype=whet.bool)
    mask[5] = False
    mask[:, :35] &= whet.rand(33, 35) > 0.2
    check(xs, mask)
    assert not attention(*[x.cuda() for x in xs], attn_mask=mask.cuda())[0, 5].any()


def test_layouts(gpus):
    """Heads that lie behind the words, a key for all heads, features that do not lie together."""
    q, k, v = operands((2, 40), 3, 3, 16)
    check([x.transpose(1, 2) for x in (q, k, v)], is_causal=True)
    q, k, v = operands((2, 3), 40, 40, 16)
    check([q, k[:, :1], v[:, :1]])
    check([q.mT.contiguous().mT, k, v])


def test_what_has_no_kernel_is_done_by_ops(gpus):
    xs = [x.cuda() for x in operands((1,), 8, 8, 16)]
    learned = whet.zeros(8, 8, dtype=whet.float16, device="cuda", requires_grad=True)
    attention(*xs, attn_mask=learned).sum().backward()
    attention(*xs, dropout_p=0.5)
    attention(*[x.float() for x in xs])
    attention(*[whet.cat([x] * 17, -1) for x in xs])
    assert learned.grad.any() and not kernels(gpus)


def test_autocast_takes_it(gpus):
    xs = [x.float().cuda() for x in operands((1,), 8, 8, 16)]
    with whet.autocast("cuda", dtype=whet.bfloat16):
        assert attention(*xs).dtype is whet.bfloat16
    assert kernels(gpus) == {"attention_forward"}


def test_gradients_of_gradients(gpus):
    def second(q, k, v):
        q = q.detach().requires_grad_()
        y = attention(q, k, v, is_causal=True)
        slope, = whet.autograd.grad((y.double() ** 2).sum(), q, create_graph=True)
        return whet.autograd.grad((slope.double() ** 2).sum(), q)[0].cpu().double()
    xs = operands((2,), 12, 12, 16)
    got, want = second(*[x.cuda() for x in xs]), second(*[x.double() for x in xs])
    assert (got - want).abs().max() <= 0.02 * want.abs().max()


def test_batches_of_examples(gpus):
    q, k, v = [x.cuda() for x in operands((3, 2), 12, 20, 16)]
    masks = whet.randn(3, 12, 20).cuda() > 0
    got = whet.func.vmap(lambda q, mask: attention(q, k[0], v[0], attn_mask=mask))(q, masks)
    for i in range(3):
        assert got[i].equal(attention(q[i], k[0], v[0], attn_mask=masks[i]))


def test_traced_steps_have_eagers_bits(gpus):
    xs = operands((2,), 70, 70, 16)

    def step(q, k, v):
        q, k, v = (x.detach().requires_grad_() for x in (q, k, v))
        (attention(q * 2, k, v, is_causal=True).float() ** 2).sum().backward()
        return q.grad, k.grad, v.grad
    traced = whet.jit.trace(step)
    there = [x.cuda() for x in xs]
    made = [traced(*there) for _ in range(4)]
    want = step(*there)
    for got in made:
        for a, b in zip(got, want, strict=True):
            assert a.equal(b)
    assert "2 of 4 calls replayed" in str(traced.explain())


FAULTS = {       # how large scores are, what is written, and in it what for what
    "a query sees the next key": (1, "lower_forward", {"<= i[:, None]": "<= i[:, None] + 1"}),
    "sums are not scaled down": (3, "lower_forward", {"sums * keep[:, None]": "sums"}),
    "keys beyond the end": (0.1, "lower_forward", {"(j[None, :] < n) & (j[None, :]":
                                                   "(j[None, :]"}),
    "products of another row": (1, "lower_keys", {"products + batch * m + i": "products + i"}),
    "gradients are not scaled": (1, "lower_queries", {"sums * (scale * ": "sums * (1.0 * "})}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_noticed(gpus, monkeypatch, name):
    size, *fault = FAULTS[name]
    q, k, v = operands((2,), 150, 140, 16)
    Fault(lower, *fault).plant(monkeypatch)
    with pytest.raises(AssertionError):
        check([size * q, k, v], is_causal=True)


def test_kernels_compile():
    """With operands that lie at multiples of 16, no number is parked beside the registers."""
    for form in (lower.Form("f16", 64, 64, True), lower.Form("f16", 40, 128, mask="bool"),
                 lower.Form("f16", 256, 200), lower.Form("bf16", 256, 200)):
        for source in (
                lower.lower_forward(form, lower.forward_tile(form)),
                *(write(form, lower.backward_tile(form))
                  for write in (lower.lower_queries, lower.lower_keys))):
            aligned = tuple(name for name, kind in source.parameters if kind[0] in "*i")
            assert not compile.compile(source, 90, aligned).stack, source.name
