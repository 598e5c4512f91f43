"""In-place writes to views: values, gradients, versions, and who may write to what."""
import gc
import weakref

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet.utils.checkpoint import checkpoint

CASES = []


def case(gradient):
    """A program from a (2, 3) leaf 0.25, 0.5, ... 1.5 to a number, with the leaf's gradient
    (computed with PyTorch)."""
    def keep(program):
        CASES.append((program, gradient))
        return program
    return keep


@case([18.0, 36.0, 54.0, 8.0, 10.0, 12.0])
def row_scaled(w):
    x = w * 2
    x[0].mul_(3)
    return (x * x).sum()


@case([21.5, 21.0, 22.5, 23.0, 21.0, 24.0])
def column_replaced(w):
    x = w.clone()
    x[:, 1] = w[:, 0].detach()*0 + w.sum()
    return (x ** 2).sum()


@case([0.1875, 2.21484, 1.6875, 3.04688, 0.58594, 6.75])
def diagonal_written(w):
    x = w * 1
    x.diagonal().copy_(w[0, :2] * w[1, :2])
    return (x * x * x).sum()


@case([0.0625, 0.5, 1.6875, 0.0, 0.0, 0.0])
def view_before_base_is_written(w):
    x = w * 1
    v = x[0]
    x.mul_(w)
    return (v * v).sum()


@case([0.0, 1.0, 1.5, 0.0, 2.5, 3.0])
def view_of_zeros_before_base_is_written(w):
    x = whet.zeros(2, 3)
    v = x.t()[1:]
    x.add_(w)
    return (v * v).sum()


@case([8.5, 14.25, 12.0, 9.375, 10.0, 3.0])
def two_views(w):
    x = w * 1
    a = x[0]
    b = x[:, 0]
    a.mul_(2)
    b.mul_(w[:, 1])
    return (x * x).sum() + (a * 3).sum() + (b * 5).sum()


@case([0.0, 1.64872, 4.234, 3.0, 13.96137, 22.40845])
def transposed_slice(w):
    x = w * 1
    x.t()[1:].exp_()
    return (x * whet.arange(6.).view(2, 3)).sum()


@case([25.5, 26.0, 37.0, 27.0, 38.0, 28.0])
def chain_of_views(w):
    x = w * 1
    x.view(3, 2)[1:].t()[0].add_(w.sum())
    return (x ** 2).sum()


@case([1.66667, 2.16667, 1.16667, 1.16667, 1.16667, 1.16667])
def masked(w):
    x = w * 1
    x[w.detach() > 0.6] = w.mean()
    return (x * x).sum()


@case([1.5, 4.0, 2.5, 12.9375, 30.625, 13.9375])
def index_added(w):
    x = w * 1
    x[:, 1:].index_add_(1, whet.tensor([0, 0]), w[:, :2] * w[:, 1:])
    return (x * x).sum()


@case([1.0, 1.25, 3.0, 0.25, 0.5, 1.5])
def accumulated(w):
    x = whet.zeros(4)
    x.index_put_((whet.tensor([1, 1, 2]), ), w[0] * w[1], accumulate=True)
    return (x * whet.arange(4.)).sum()


@case([0.0625, 0.5, 1.6875, 4.0, 7.8125, 13.5])
def squeezed_in_place(w):
    x = (w * 1).unsqueeze(0)
    x.squeeze_(0)
    x.t_()
    x.mul_(w.t())
    return (x * x).sum()


@case([31.5625, 32.0, 33.1875, 31.5, 31.5, 31.5])
def filled(w):
    x = w * w
    x[1].fill_(w.sum())
    return (x * x).sum()


@case([0.0, 3.0, 10.5, 22.0, 37.5, 27.0])
def overlapping(w):
    x = w * 1
    v = x.view(-1).unfold(0, 2, 1)
    return (v * v * whet.arange(10.).view(5, 2)).sum()


@case([0.625, 0.625, 0.375, 4.0, 7.8125, 3.0])
def strided(w):
    x = w * 1
    x.as_strided((2, 2), (2, 1), 1).mul_(w[:, :2])
    return (x * x).sum()


@case([2.875, 8.0, 16.125, 28.0, 44.375, 66.0])
def parts_of_complex(w):
    x = whet.complex(w, w * 2)
    x.real.mul_(w)
    whet.view_as_real(x)[..., 1].add_(w * w)
    return (whet.view_as_real(x) ** 2).sum()


@case([0.5625, 1.5, 1.5, 0.0, 2.5, 0.0])
def scattered(w):
    x = w * 1
    x[1:].scatter_(1, whet.tensor([[2, 0]]), (w * w)[:1, :2])
    return (x * x).sum()


@case([2.40625, 0.0, 0.0, 0.0, 0.15625, 0.1875])
def written_twice(w):
    x = whet.ones(2, 3)
    x[0] = w[0]
    x[0, 1:] = w[1, 1:] * x[0, :1].clone()
    return (x * x).sum()


@pytest.mark.parametrize("program, gradient", CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_gradients_through_writes_to_views(program, gradient):
    w = whet.arange(1.0, 7.0).view(2, 3).div(4).requires_grad_()
    program(w).backward()
    np.testing.assert_allclose(w.grad.numpy().reshape(-1), gradient, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("program", [c[0] for c in CASES], ids=lambda f: f.__name__)
def test_second_gradients_through_writes_to_views(program):
    w = whet.arange(1.0, 7.0, dtype=whet.float64).view(2, 3).div(4).requires_grad_()

    def fn(w):
        return program(w)
    if program.__name__ in ("accumulated", "view_of_zeros_before_base_is_written", "written_twice"):
        pytest.skip("starts from float32 zeros")
    assert whet.autograd.gradcheck(fn, (w,), atol=1e-4)
    g, = whet.autograd.grad(fn(w), w, create_graph=True)
    if g.requires_grad:
        assert whet.autograd.gradgradcheck(fn, (w,), atol=1e-4)


def test_a_write_is_seen_by_every_view():
    x = whet.zeros(2, 3)
    v, t = x[0], x.t()
    v[1] = 5
    assert t[1, 0] == 5 and x[0, 1] == 5
    assert x._version == v._version == t._version == 1


def test_base_of_a_view_of_a_view_is_the_first_tensor():
    x = whet.zeros(2, 3, 4)
    v = x[0].t()[1:]
    assert v._base is x and v._is_view() and not x._is_view()


def test_a_view_of_a_tensor_that_gets_a_history_has_one():
    x = whet.zeros(3)
    v = x[1:]
    w = whet.ones(3, requires_grad=True)
    x.add_(w)
    assert v.requires_grad and not v.is_leaf
    (v * 2).sum().backward()
    assert w.grad.tolist() == [0, 2, 2]


def test_a_view_of_a_stale_view_has_a_history():
    x = whet.zeros(3)
    v = x[1:]
    w = whet.ones(3, requires_grad=True)
    x.mul_(w)
    assert v[1:].requires_grad
    v[1:].sum().backward()
    assert w.grad.tolist() == [0, 0, 0]


def _layout(name, a):
    return {"transposed": a.T, "strided": a[::2, ::3], "reversed": a[::-1, ::-1]}[name]


@pytest.mark.parametrize("layout", ["transposed", "strided", "reversed"])
def test_write_to_a_view_of_a_base_that_is_not_row_major(layout):
    base, want = (_layout(layout, np.arange(24.0).reshape(4, 6)) for _ in range(2))
    w = whet.ones(base.shape, dtype=whet.float64, requires_grad=True)
    x = whet.from_numpy(base)
    x.mul_(w)
    x[1].mul_(3)
    x.diagonal().mul_(2)
    x.sum().backward()
    want[1] *= 3
    for k in range(min(want.shape)):
        want[k, k] *= 2
    np.testing.assert_allclose(w.grad.numpy(), want)


def test_a_changed_saved_tensor_raises_and_names_both_ops():
    x = whet.ones(2, 3, requires_grad=True)
    y = x.exp()
    y[0].add_(1)
    with pytest.raises(RuntimeError, match=r"`add_`.*`exp` saved"):
        y.sum().backward()


def test_a_write_through_a_sibling_view_is_noticed():
    x = whet.ones(2, 3, requires_grad=True) * 1
    y = x[0].sin()
    x[0, 0] = 3
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*`sin` saved"):
        y.sum().backward()


def test_a_write_through_detach_is_noticed():
    x = whet.ones(3, requires_grad=True)
    y = x.exp()
    y.detach().zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_write_through_data_is_not():
    x = whet.ones(3, requires_grad=True)
    y = x.exp()
    y.data.zero_()
    y.sum().backward()
    assert x.grad.tolist() == [0, 0, 0]


def test_a_leaf_cannot_be_written_nor_its_views():
    x = whet.ones(2, 3, requires_grad=True)
    for write in (lambda: x.add_(1), lambda: x.zero_(), lambda: x.__setitem__(0, 1.0),
                  lambda: x.t_(), lambda: x.masked_fill_(x > 0, 1.0)):
        with pytest.raises(
                RuntimeError,
                match="leaf Variable that requires grad is being used in an in-place operation"):
            write()
    for write in ((lambda: x[0].add_(1), lambda: x.view(-1).index_fill_(0, whet.tensor([0]), 1.0),
                   lambda: x.t().unsqueeze_(0))):
        with pytest.raises(RuntimeError, match="view of a leaf Variable that requires grad"):
            write()
    assert x.tolist() == [[1, 1, 1]] * 2
    with whet.no_grad():
        x.add_(1)
        x[0] = 7.0
    assert x.tolist() == [[7, 7, 7], [2, 2, 2]] and x.is_leaf


def test_one_of_several_views_cannot_be_written_with_history():
    x = whet.ones(4, requires_grad=True) * 1
    a, b = x.chunk(2)
    with pytest.raises(RuntimeError, match="multiple views"):
        a.mul_(2)
    row, _ = whet.ones(2, 2, requires_grad=True).mul(1).unbind(0)
    with pytest.raises(RuntimeError, match="multiple views"):
        row.mul_(2)
    plain, _ = whet.ones(4).chunk(2)
    plain.mul_(2)


def test_a_view_made_in_no_grad_mode_cannot_be_written_with_history():
    x = whet.ones(3, requires_grad=True) * 1
    with whet.no_grad():
        v = x[0:2]
    with pytest.raises(RuntimeError, match="no_grad"):
        v.mul_(whet.ones(2, requires_grad=True))


def test_an_expanded_view_cannot_be_written():
    x = whet.zeros(3, 1).expand(3, 4)
    with pytest.raises(RuntimeError, match="single memory location"):
        x.add_(1)
    whet.zeros(3, 1).expand(3, 1).add_(1)


def test_read_only_memory_cannot_be_written():
    a = np.zeros(3)
    a.flags.writeable = False
    x = whet.from_numpy(a)
    for write in ((lambda: x.add_(1), lambda: x.__setitem__(0, 1.0), lambda: x[1:].zero_(),
                   lambda: x.expand(2, 3)[0].zero_())):
        with pytest.raises(RuntimeError, match="read-only"):
            write()
    assert a.tolist() == [0, 0, 0]


def test_a_failed_write_changes_nothing():
    x = whet.zeros(2, 3)
    bad = [
        lambda: x.copy_(whet.ones(2, 2)), lambda: x.__setitem__(0, whet.ones(2)),
        lambda: x.__setitem__(whet.tensor([0, 5]), 1.0),
        lambda: x.index_add_(0, whet.tensor([0, 7]), whet.ones(2, 3)),
        lambda: x.scatter_(0, whet.tensor([[0, 9]]), whet.ones(1, 2)),
        lambda: x.fill_(whet.ones(2)), lambda: x.__setitem__(
            (0, 5), 1.0), lambda: x.masked_scatter_(whet.ones(2, 3) > 0, whet.ones(2)),
        lambda: x.index_copy_(0, whet.tensor([3]), whet.ones(1, 3)),
        lambda: x.put_(whet.tensor([0, 60]), whet.ones(2)), lambda: x.__setitem__(0, 1j)]
    for write in bad:
        with pytest.raises((RuntimeError, IndexError)):
            write()
    assert x._version == 0 and not x.any()


def test_metadata_is_changed_in_place_with_history():
    w = whet.arange(6.0).requires_grad_()
    x = (w * 1).view(2, 3).clone()
    y = x.unsqueeze_(0).transpose_(0, 2).squeeze_()
    assert y is x and tuple(x.shape) == (3, 2)
    (x * whet.arange(6.0).view(3, 2)).sum().backward()
    assert w.grad.tolist() == [0, 2, 4, 1, 3, 5]


def test_views_and_writes_leave_no_reference_cycles():
    gc.collect()
    gc.disable()
    try:
        w = whet.ones(2, 3, requires_grad=True)
        x = w * 2
        x[0].mul_(w[1])
        v = x.t()[1:]
        x.add_(1)
        a, b = v.unbind(0)
        y = x[whet.tensor([0, 1])].sum() + v.sum() + a.sum()
        refs = [weakref.ref(t) for t in (x, v, a, b, y, y.grad_fn)]
        y.backward()
        del x, v, a, b, y
        assert [r() for r in refs] == [None] * len(refs)
    finally:
        gc.enable()


def _squares(b, w):
    b.diagonal().copy_(b.diagonal() ** 2)


def _another_row(b, w):
    b[0] = b[1] * b[2]


def _product(b, w):
    b[:2] = b[1:3] @ w


def _interpolated(b, w):
    b[0].lerp_(b[1], b[2])


def _itself(b, w):
    b.mul_(b)


def _bound_by_itself(b, w):
    b.clamp_min_(b)


def _traced(b, w):
    b[0].copy_(_times(b[1], w[0]))


_times = whet.jit.trace(lambda v, w: v * w)


@pytest.mark.parametrize("write", [_squares, _another_row, _product, _interpolated, _itself,
                                   _bound_by_itself, _traced])
def test_a_write_that_reads_the_memory_it_writes_to_makes_no_circle(write):
    """Nodes save views of what is written to, and those hold no base that leads to the nodes."""
    x, w = whet.ones(3, 3, requires_grad=True), whet.ones(3, 3, requires_grad=True)
    gc.collect()
    gc.disable()
    try:
        for _ in range(4):
            b = x * 1
            write(b, w)
            ref = weakref.ref(b)
            del b
            assert ref() is None
    finally:
        gc.enable()


def test_a_quotient_may_be_written_to():
    """Its gradients read the operands, as in PyTorch."""
    x = whet.tensor([1.0, 2.0, 4.0], requires_grad=True)
    (2 / x).mul_(3).sum().backward()
    assert x.grad.tolist() == [-6.0, -1.5, -0.375]
    whet.nn.functional.normalize(x, dim=0).mul_(2).sum().backward()


def test_a_second_derivative_through_a_saved_view():
    x = whet.tensor([1.0, 2.0, 3.0], requires_grad=True)
    v = (x * 1)[1:]
    g, = whet.autograd.grad((v ** 3).sum(), x, create_graph=True)
    assert g.tolist() == [0.0, 12.0, 27.0]
    assert whet.autograd.grad(g.sum(), x)[0].tolist() == [0.0, 12.0, 18.0]


def test_copy_converts_and_carries_gradients():
    x = whet.zeros(2, 3)
    src = whet.ones(3, dtype=whet.float64, requires_grad=True)
    x.copy_(src * 2)
    x.sum().backward()
    assert (x.tolist() == [[2] * 3] * 2 and src.grad.dtype is whet.float64
            and src.grad.tolist() == [4, 4, 4])
    n = whet.zeros(3, dtype=whet.int64)
    n.copy_(whet.tensor([1.9, -1.9, 3.0], requires_grad=True))
    assert n.tolist() == [1, -1, 3] and not n.requires_grad


def test_writing_over_its_own_memory():
    x = whet.arange(6.0)
    x[1:] = x[:-1]
    assert x.tolist() == [0, 0, 1, 2, 3, 4]
    y = whet.arange(9.0).view(3, 3)
    y.copy_(y.t())
    assert y.tolist() == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]
    z = whet.arange(3.0)
    z[whet.tensor([2, 1, 0])] = z
    assert z.tolist() == [2, 1, 0]


def test_what_the_gradient_does_not_read_may_be_overwritten():
    for change in ((lambda x, k: (x * 2, x), lambda x, k: (x * k, x), lambda x, k:
                    (x + k, k), lambda x, k: (x / k, x))):
        w, k = whet.ones(3, requires_grad=True), whet.full((3,), 2.0)
        y, written = change(w * 1, k)
        written.add_(1)
        y.sum().backward()
        assert w.grad is not None
    w = whet.ones(3, requires_grad=True)
    y = w / 2
    y += 1
    y.sum().backward()
    assert w.grad.tolist() == [0.5] * 3
    w = whet.ones(3, requires_grad=True)
    k = whet.ones(3)
    y = w * k
    k.add_(1)
    with pytest.raises(RuntimeError, match="`add_`.*`mul` saved"):
        y.sum().backward()


def test_results_that_no_backward_reads_may_be_written_to():
    """An op with positions or statistics beside its result saves those alone."""
    x = whet.randn(4, 3, 6, 6, requires_grad=True)
    w, b = whet.rand(3), whet.rand(3)
    makers = {
        "batch_norm": lambda: F.batch_norm(x, None, None, w, b, True),
        "layer_norm": lambda: F.layer_norm(x, (6,), whet.ones(6), whet.zeros(6)),
        "normalize": lambda: F.layer_norm(x, (6,)),
        "rms_norm": lambda: F.rms_norm(x, (6,)),
        "max_pool": lambda: F.max_pool2d(x, 2),
        "max": lambda: x.max(1).values,
        "sort": lambda: x.sort(1).values,
        "topk": lambda: x.topk(2, 1).values,
        "cummax": lambda: x.cummax(1).values, }
    for name, make in makers.items():
        expected, = whet.autograd.grad(F.relu(make()).mul(3).square().sum(), x)
        got, = whet.autograd.grad(F.relu_(make()).mul_(3).square().sum(), x)
        assert whet.equal(got, expected), name


def written_between_two_reads(x):
    """An operand is written to after the first of the ops that read it."""
    y = x.sin()
    x.mul_(3)
    return y + x.cos()


@pytest.mark.parametrize("write", [
    lambda x: x.mul_(x), lambda x: x.addcmul_(x, x), lambda x: x.div_(x[:1]),
    lambda x: x[1:].mul_(x[1:]), lambda x: x.pow_(2), written_between_two_reads])
def test_pack_hooks_and_checkpoints_keep_what_an_op_read_before_a_write(write):
    """An operand may lie in the memory that is written, by its own op or by a later one."""
    def f(q):
        x = q * 2
        return write(x).sum() + x.sum()
    value = whet.tensor([-1.0, 2.0, 3.0], dtype=whet.float64)
    expected = [((f(value + d) - f(value - d)).sum() / 2e-6).item()
                for d in whet.eye(3, dtype=whet.float64) * 1e-6]
    q = value.clone().requires_grad_()
    with whet.autograd.graph.saved_tensors_hooks(lambda t: t.numpy().copy(), whet.from_numpy):
        f(q).sum().backward()
    assert q.grad.tolist() == pytest.approx(expected, rel=1e-5, abs=1e-5)
    again = value.clone().requires_grad_()
    checkpoint(f, again, use_reentrant=False).sum().backward()
    assert whet.equal(again.grad, q.grad)


def test_what_a_write_to_a_view_saved_is_dropped_by_the_backward():
    w = whet.ones(3, requires_grad=True)
    x = w * 1
    factor = whet.ones(3) * 2
    saved = weakref.ref(factor)
    x[:].mul_(factor)
    del factor
    loss = x.sum()
    loss.backward()
    assert saved() is None
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


ERASING = {
    "zero_": lambda y, v: y.zero_(),
    "fill_": lambda y, v: y.fill_(v.sum()),
    "copy_": lambda y, v: y.copy_(v),
    "normal_": lambda y, v: y.normal_(),
    "eq_": lambda y, v: y.eq_(v),
    "heaviside_": lambda y, v: y.heaviside_(v.detach()),
}


@pytest.mark.parametrize("write", ERASING.values(), ids=ERASING)
@pytest.mark.parametrize("part", [lambda y: y, lambda y: y[:1]], ids=["whole", "view"])
def test_a_write_that_reads_nothing_of_a_tensor_gives_it_a_gradient_of_zero(write, part):
    x = whet.ones(2, 3, requires_grad=True)
    v = whet.ones(3, requires_grad=True)
    y = x * 2
    region = part(y)
    write(region, v)
    assert y.requires_grad and region.requires_grad
    y.sum().backward()
    left = 6 - region.numel()
    assert x.grad.sum().item() == 2 * left


def test_a_result_of_a_function_that_lies_in_its_input_is_not_written_to():
    class Flat(whet.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view(-1)

        @staticmethod
        def backward(ctx, g):
            return g.view(2, 3) * 5

    class Same(Flat):
        @staticmethod
        def forward(ctx, x):
            return x
    x = whet.ones(2, 3, requires_grad=True) * 1
    for f in (Flat, Same):
        y = f.apply(x)
        for t in (y, y[:1]):
            with pytest.raises(RuntimeError, match="inside a custom Function"):
                t.mul_(2)
            with whet.no_grad():
                t.mul_(1)
    Flat.apply(x).clone().mul_(2).sum().backward()


def test_a_view_that_was_made_a_leaf_is_not_written_to():
    x = whet.ones(3).detach()[:2].requires_grad_()
    with pytest.raises(RuntimeError, match="view of a leaf"):
        x.mul_(2)
