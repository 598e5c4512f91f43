"""What is scattered into parts of a tensor, and into tensors without dimensions."""
import math

import pytest
import whet

START = {"sum": 0.0, "prod": 1.0, "mean": 0.0, "amax": -math.inf, "amin": math.inf}
COMBINE = {"sum": lambda a, b: a + b, "prod": lambda a, b: a * b, "mean": lambda a, b: a + b,
           "amax": max, "amin": min}


def by_hand(rows, dim, index, values, reduce, include_self):
    """`scatter_reduce` of a matrix, element by element."""
    made, count = [list(row) for row in rows], {}
    for i, row in enumerate(index):
        for j, to in enumerate(row):
            at = (to, j) if dim == 0 else (i, to)
            before = made[at[0]][at[1]] if at in count or include_self else START[reduce]
            made[at[0]][at[1]] = COMBINE[reduce](before, values[i][j])
            count[at] = count.get(at, int(include_self)) + 1
    for (i, j), n in count.items():
        made[i][j] /= n if reduce == "mean" else 1
    return made


@pytest.mark.parametrize("include_self", [False, True])
@pytest.mark.parametrize("reduce", list(START))
@pytest.mark.parametrize("dim, index", [(1, [[0, 1, 2, 0]]), (0, [[0], [2], [0]]),
                                        (1, [[4, 4], [4, 4]]), (0, [[1, 1, 1]])])
@pytest.mark.parametrize("dtype", [whet.float32, whet.float64, whet.float16])
def test_what_an_index_does_not_name_stays(dtype, dim, index, reduce, include_self):
    x = whet.full((3, 5), 7.0, dtype=dtype)
    values = whet.arange(1.0, 1 + len(index) * len(index[0]), dtype=dtype).reshape(len(index), -1)
    made = x.scatter_reduce(dim, whet.tensor(index), values, reduce, include_self=include_self)
    wanted = by_hand(x.tolist(), dim, index, values.tolist(), reduce, include_self)
    assert whet.allclose(made, whet.tensor(wanted, dtype=dtype))


@pytest.mark.parametrize("call, wanted", [
    (lambda x, i, s: x.scatter_add(0, i, s), 12), (lambda x, i, s: x.scatter(0, i, s), 7),
    (lambda x, i, s: x.scatter_reduce(0, i, s, "amax"), 7)])
@pytest.mark.parametrize("index", [0, [0]])
def test_sources_with_a_dimension_go_into_tensors_without(index, call, wanted):
    for source in (7, [7], [7, 8, 9]):
        made = call(whet.tensor(5), whet.tensor(index), whet.tensor(source))
        assert made.equal(whet.tensor(wanted))
    source = whet.ones(3, requires_grad=True)
    call(whet.tensor(-1.0), whet.tensor(index), source).backward()
    assert source.grad.tolist() == [1, 0, 0]


def test_a_region_of_the_memory_around_a_view_is_replaced():
    memory = whet.arange(12.0)
    for x in (memory[3:9].view(2, 3), memory.view(3, 4)[:2, ::2], memory.view(3, 4).T, memory[5]):
        for offset in (None, 0, 1, 4):
            made = whet.as_strided_scatter(x, whet.tensor([-1.0, -2.0]), (2,), (2,), offset)
            copy = memory.clone()
            copy.as_strided((2,), (2,), x.storage_offset() if offset is None else offset).copy_(
                whet.tensor([-1.0, -2.0]))
            want = copy.as_strided(x.shape, x.stride(), x.storage_offset())
            assert made.tolist() == want.tolist() and made.stride() == x.stride()
    assert memory.tolist() == list(range(12))


def test_gradients_of_a_region_around_a_view():
    w = whet.arange(12.0, dtype=whet.float64).requires_grad_()
    src = whet.ones(2, dtype=whet.float64, requires_grad=True)
    assert whet.autograd.gradcheck(
        lambda w, src: whet.as_strided_scatter(w.view(3, 4)[:2, ::2], src, (2,), (2,), 1),
        (w, src))


def test_functions_that_give_floats_are_not_for_integers_in_place():
    with pytest.raises(RuntimeError, match="can't be cast"):
        whet.tensor([3, 4]).mvlgamma_(1)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("combine", [
    lambda x, i, s, **kw: x.index_reduce(0, i, s, "prod", **kw),
    lambda x, i, s, **kw: x.scatter_reduce(0, i[:, None].expand(4, 3), s, "prod", **kw)])
def test_second_derivatives_of_products_with_zeros(combine, include_self):
    x = whet.tensor([[0.0, 13, 2], [0, 0, 1], [15, 19, -2]], dtype=whet.float64)
    s = whet.tensor([[2.0, 0, 3], [0, 0, 0], [2, 3, 0], [2, 2, 0]], dtype=whet.float64)
    index = whet.tensor([0, 1, 2, 0])
    assert whet.autograd.gradgradcheck(
        lambda x, s: combine(x, index, s, include_self=include_self),
        (x.requires_grad_(), s.requires_grad_()))
