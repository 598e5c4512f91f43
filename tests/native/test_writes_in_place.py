"""Writes in place that machine code repeats: bits, versions, histories and errors are those of
calls that it has not seen."""
import numpy as np
import pytest
import whet
from whet.cpu import gather, repeated_calls
from whet.ops import advanced_indexing, calls_without_python, random

pytestmark = pytest.mark.skipif(repeated_calls.ctx is None, reason="no machine code")
INDEX, PAIR = [0, 3, 2, 3, 0], [1, 0, 2, 0, 1]
DTYPES = ("float32", "float64", "int64", "int8", "bool", "float16", "bfloat16", "complex64")
TIMES = 4 + calls_without_python.TURNS


def put_if(x, i, j, s):
    x[x.bool()] = 3
    return x


def set_rows(x, i, j, s):
    x[i] = s
    return x


def set_places(x, i, j, s):
    x[i, j] = 2
    return x


def set_columns(x, i, j, s):
    x[:, j] = 2
    return x


WRITES = [
    lambda x, i, j, s: x.scatter_add_(0, i[:, None].expand(5, 3), s),
    lambda x, i, j, s: x.scatter_add_(0, i[:, None].repeat(1, 3), s),
    lambda x, i, j, s: x.scatter_(0, i[:2, None], 2),
    lambda x, i, j, s: x.scatter_(0, i[:, None], s),
    lambda x, i, j, s: x.scatter_reduce_(0, i[:, None].expand(5, 3), s, "amax"),
    lambda x, i, j, s: x.index_add_(0, i, s), lambda x, i, j, s: x.index_copy_(0, i[::2], s[::2]),
    lambda x, i, j, s: x.index_fill_(1, j, 1), lambda x, i, j, s: x.index_put_((i,), s, True),
    lambda x, i, j, s: x.index_put_((i, j), s[:, 0], True), lambda x, i, j, s: x.copy_(s[:4]),
    lambda x, i, j, s: x.copy_(s[0]), lambda x, i, j, s: x.copy_(j[:3]),
    lambda x, i, j, s: x.masked_fill_(x.bool(), 2), put_if, set_rows, set_places, set_columns]


def outcome(write, dtype, grad, layout, at=INDEX):
    """What a write leaves behind, or its error."""
    memory = (whet.arange(24) % 5).to(dtype)
    x = {"plain": memory[:12].view(4, 3), "turned": memory[:12].view(3, 4).t(),
         "apart": memory.view(4, 6)[:, ::2], "late": memory[12:].view(4, 3)}[layout]
    s = (whet.arange(15) % 7).view(5, 3).to(dtype)
    if grad:
        s.requires_grad_()
        x = (x.clone().requires_grad_() * 1)[:] if layout == "late" else x
    try:
        out = write(x, whet.tensor(at), whet.tensor(PAIR), s)
    except (RuntimeError, IndexError, NotImplementedError, ValueError) as e:
        return type(e), str(e), memory.tolist(), x._version
    seen = x.detach()
    return (seen.view(whet.int16) if dtype == "bfloat16" else seen).numpy().tobytes(), \
        memory.tolist(), x._version, x.requires_grad, x.grad_fn and x.grad_fn.name(), out is x


@pytest.mark.parametrize("layout", ["plain", "turned", "apart", "late"])
@pytest.mark.parametrize("write", WRITES)
def test_a_write_leaves_behind_what_the_first_one_does(write, layout):
    for dtype in DTYPES:
        dtype = getattr(whet, dtype)
        for grad in (False, True) if dtype is whet.float32 else (False,):
            calls_without_python.forget()
            repeated_calls.forget()
            first = outcome(write, dtype, grad, layout)
            assert [outcome(write, dtype, grad, layout) for _ in range(TIMES)] == [first] * TIMES


@pytest.mark.parametrize("write", WRITES)
def test_a_bad_index_is_refused_with_the_same_words(write):
    calls_without_python.forget()
    repeated_calls.forget()
    bad = [0, 3, 2, 4, 0]
    first = outcome(write, whet.float32, False, "plain", bad)
    for _ in range(TIMES):
        outcome(write, whet.float32, False, "plain")
    assert [outcome(write, whet.float32, False, "plain", bad) for _ in range(3)] == [first] * 3


def test_operands_that_share_memory_with_what_is_written_to():
    def fresh():
        a = whet.arange(12.0)
        return a, a[:8].view(4, 2), whet.tensor([3, 0, 0])
    for source in (lambda a: a[2:8].view(3, 2), lambda a: a[6:12].view(3, 2), lambda a: a[:3, None]
                   .expand(3, 2), lambda a: whet.ones(3, 2)):
        wanted = None
        for k in range(TIMES):
            if k == 0:
                repeated_calls.forget()
            elif k % 3 == 0:                 # machine code knows such a call of other memory
                x = whet.zeros(4, 2)
                x.index_add_(0, whet.tensor([3, 0, 0]), whet.ones(3, 2))
            a, x, i = fresh()
            x.index_add_(0, i, source(a))
            wanted = a.tolist() if wanted is None else wanted
            assert a.tolist() == wanted


def test_columns_of_one_matrix_are_written_to_from_each_other():
    """Their elements are apart, or one column is the other's shifted; machine code knows such
    calls of memory that is apart."""
    i = whet.tensor([3, 0, 2])
    for source in (lambda a: a[:3, 1], lambda a: a[1:4, 2], lambda a: a[2, :3]):
        wanted = None
        for k in range(TIMES):
            if k == 0:
                repeated_calls.forget()
            elif k % 3 == 0:
                whet.zeros(4, 4)[:, 2].index_put_((i,), whet.ones(3, 4)[:, 2])
            a = whet.arange(16.0).view(4, 4).clone()
            a[:, 2].index_put_((i,), source(a))
            wanted = a.tolist() if wanted is None else wanted
            assert a.tolist() == wanted


def test_a_column_is_written_to_by_machine_code(monkeypatch):
    x, i, s = whet.zeros(1000, 4), whet.tensor([7, 999]), whet.ones(2)
    for _ in range(TIMES):
        x[:, 2].index_put_((i,), s)
    monkeypatch.setattr(advanced_indexing.put_op, "write", None)
    x[:, 2].index_put_((i,), s * 5)
    assert x[:, 2].nonzero().flatten().tolist() == [7, 999] and x.sum() == 10


def test_an_index_that_is_written_to():
    for _ in range(TIMES):
        i = whet.tensor([2, 0, 1])
        assert i.index_put_((i,), whet.tensor([5, 6, 7])).tolist() == [6, 7, 5]


def test_memory_that_may_not_be_written_to():
    x, i = whet.zeros(4), whet.tensor([1, 2])
    for _ in range(TIMES):
        x.index_fill_(0, i, 1.0)
    x._array.flags.writeable = False
    with pytest.raises(RuntimeError, match="read-only"):
        x.index_fill_(0, i, 2.0)
    assert x.tolist() == [0, 1, 1, 0]


def test_what_is_saved_for_a_backward_may_not_be_written_to():
    x, i = whet.ones(4), whet.tensor([1, 2])
    w = whet.ones(4, requires_grad=True)
    for _ in range(TIMES):
        x.index_fill_(0, i, 1.0)
    y = (x * w).sum()
    x.index_fill_(0, i, 2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_a_constant_that_a_write_reads_is_not_written_to():
    x = whet.zeros(3)
    for _ in range(TIMES):
        x[whet.tensor([0, 1])] = 1.0
        x.add_(1.0)
    assert x.tolist() == [2.0, 2.0, float(TIMES)]


@pytest.mark.parametrize("n", [6, 7, repeated_calls.L.MAX_IN, repeated_calls.L.MAX_IN + 1])
def test_calls_of_many_operands(n):
    parts = [whet.randn(2, 3, requires_grad=k % 3 == 0) for k in range(n)]
    arrays = [p.detach().numpy() for p in parts]
    for _ in range(5):
        row, deep = whet.cat(parts), whet.stack(parts, 1)
        assert np.array_equal(row.detach().numpy(), np.concatenate(arrays))
        assert np.array_equal(deep.detach().numpy(), np.stack(arrays, 1))
        parts[0].grad = None
        (row.sum() + deep.square().sum()).backward()
        assert np.allclose(parts[0].grad.numpy(), 1 + 2 * arrays[0])


def test_whole_numbers_of_random_words():
    words = np.array([0, 1, 7, (1 << 31) - 1, 1 << 31, (1 << 32) - 1], np.uint32)
    for low, span in ((0, 1), (-5, 10), (-(1 << 63), 77), ((1 << 63) - 100, 100), (3, 1 << 32)):
        wanted = [int(w) * span // (1 << 32) + low for w in words]
        for _ in range(4):
            assert random.range_op(whet.tensor(words), low=low, span=span).tolist() == wanted


def test_elements_where_a_mask_is_true():
    for shape, of_mask in (((3, 4), (3, 4)), ((3, 4), (4,)), ((4,), (3, 4)), ((), ()),
                           ((2, 0), (2, 0))):
        x, mask = whet.randn(shape), whet.randn(of_mask) > 0
        a, m = np.broadcast_arrays(x.numpy(), mask.numpy())
        for t in (x, x.clone().requires_grad_()):
            assert t.masked_select(mask).tolist() == a[m].tolist()
            assert t.masked_select(mask).requires_grad == t.requires_grad


def test_a_gradient_that_is_put_onto_zeros_is_put_there_by_machine_code(monkeypatch):
    # sizes that no other test has
    x, i = whet.randn(13, 11, requires_grad=True), whet.tensor([0, 10, 2, 10, 7])
    reads = [lambda: x.index_select(0, i), lambda: x.gather(1, i[:3, None]),
             lambda: x.sort(1)[0]]

    def gradients():
        found = []
        for read in reads:
            x.grad = None
            read().square().sum().backward()
            found.append((x.grad.tolist(), x.grad._version))
        return found
    wanted, *_ = [gradients() for _ in range(3)]
    monkeypatch.setattr(gather, "put", None)           # Python does not come here any more
    assert gradients() == wanted


def test_results_in_the_memory_of_operands_are_not_taken_for_new_ones():
    """The last backward of a recurrent layer puts gradients over what the layer kept."""
    def gradients():
        whet.manual_seed(0)
        layer, found = whet.nn.GRU(2, 3), []
        for _ in range(6):
            layer.zero_grad()
            layer(whet.randn(4, 1, 2), whet.randn(1, 1, 3))[0].sum().backward()
            found.append([p.grad.tolist() for p in layer.parameters()])
        return found
    repeated_calls.forget()
    known = gradients()
    with pytest.MonkeyPatch.context() as m:
        m.setattr(repeated_calls, "came_before", lambda op, layout: False)
        repeated_calls.forget()
        assert known == gradients()
