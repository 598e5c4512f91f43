"""Nested tensors: what they hold, what functions of them are (those of each part), their gradients,
and their errors."""
import copy
import io
import pickle

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet import nested

from tests.nested_parts import LENGTHS, WIDTH, near, nt_of, parts, same, with_gaps


# ---- what they are -------------------------------------------------------------------------------
def test_what_is_asked_of_one():
    nt = nested.nested_tensor([whet.ones(2, 3), whet.ones(4, 3)])
    assert isinstance(nt, whet.Tensor) and whet.is_tensor(nt)
    assert nt.is_nested and not whet.ones(2).is_nested and not nt.is_sparse
    assert nt.layout is whet.jagged and nt.dtype is whet.float32 and nt.device.type == "cpu"
    assert (nt.dim(), nt.ndim, len(nt), nt.numel(), nt.size(0), nt.size(-1)) == (3, 3, 2, 18, 2, 3)
    assert nt.offsets().tolist() == [0, 2, 6] and nt.offsets().dtype is whet.int64
    assert nt.lengths() is None and nt.values().shape == (6, 3) and nt.is_contiguous()
    assert whet.is_floating_point(nt) and whet.numel(nt) == 18 and nt.nbytes == 72
    assert not hasattr(nt, "no_such_name")
    with pytest.raises(IndexError, match="out of range"):
        nt.size(3)


def test_the_ragged_size_is_a_symbol():
    nt, other = nt_of(), nt_of()
    j = nt.shape[1]
    assert repr(nt.shape) == f"whet.Size([4, {j}, 4])"
    assert repr(j)[0] == "j" and f"{2 * j}"[0] == "2"
    assert (nt * 2).shape == nt.shape and hash((nt * 2).shape) == hash(nt.shape)
    assert nt.shape != other.shape and j != 2 and whet.is_same_size(nt, nt + 1)
    assert nt.stride() == (4 * j, 4, 1)


def test_its_text():
    nt = nested.nested_tensor([[1., 2.], [3.]])
    j = nt.shape[1]
    assert repr(nt) == (f"NestedTensor(size=(2, {j}), offsets=tensor([0, 2, 3]), "
                        "contiguous=True)")
    assert "requires_grad=True" in repr(nt.requires_grad_()) and "grad_fn=<Mul" in repr(nt * 2)
    assert "contiguous=False" in repr(with_gaps()[0])


def test_made_of_lists_of_tensors_and_of_numbers():
    xs = parts()
    nt = nested.nested_tensor(xs, dtype=whet.float32, requires_grad=True)
    same(nt, [x.float() for x in xs])
    assert nt.is_leaf and nt.requires_grad and nt.dtype is whet.float32
    same(nested.nested_tensor([[1, 2], [3]]), [whet.tensor([1, 2]), whet.tensor([3])])
    same(nested.nested_tensor(xs, layout=whet.strided), xs)
    same(nested.nested_tensor(nt, requires_grad=False), [x.float() for x in xs])
    dense = whet.arange(12.).reshape(2, 3, 2)
    same(nested.as_nested_tensor(dense), list(dense))
    same(nested.as_nested_tensor(nt, dtype=whet.float64), [x.float().double() for x in xs])


def test_made_of_values():
    values = whet.arange(12.).reshape(6, 2)
    offsets = whet.tensor([0, 2, 2, 6])
    nt = nested.nested_tensor_from_jagged(values, offsets, max_seqlen=4)
    same(nt, [values[:2], values[2:2], values[2:]])
    assert nt.values() is values and nt.offsets() is offsets
    same(nested.nested_tensor_from_jagged(values, lengths=whet.tensor([1, 5])),
         [values[:1], values[1:]])
    gaps = nested.nested_tensor_from_jagged(values, offsets, whet.tensor([1, 0, 3]))
    same(gaps, [values[:1], values[2:2], values[2:5]])
    assert gaps.lengths().tolist() == [1, 0, 3] and not gaps.is_contiguous()
    same(gaps.contiguous(), [values[:1], values[2:2], values[2:5]])
    assert gaps.contiguous().lengths() is None
    wide = nested.nested_tensor_from_jagged(whet.ones(3, 6), offsets, jagged_dim=2)
    assert wide.shape[2] == nt.shape[1] and wide[0].shape == (3, 2)


def test_narrow_and_masked_select():
    nt, xs = with_gaps()
    same(nt, xs)
    x = whet.arange(8.).reshape(2, 4)
    same(nested.narrow(x, 1, 1, 2), [x[0, 1:3], x[1, 1:3]])
    mask = whet.tensor([[True, False, True, True], [False, False, True, False]])
    same(nested.masked_select(x, mask), [x[0][mask[0]], x[1][mask[1]]])
    with pytest.raises(RuntimeError, match="exceeds dimension size"):
        nested.narrow(x, 1, 3, 2)
    with pytest.raises(RuntimeError, match="dimension 1"):
        nested.narrow(x, 0, 0, 2)


@pytest.mark.parametrize("make, message", [
    (lambda: nested.nested_tensor([]), "no tensors"),
    (lambda: nested.nested_tensor([whet.ones(2, 3), whet.ones(2, 4)]),
     "only . allowed to be ragged"),
    (lambda: nested.nested_tensor([whet.ones(2), whet.ones(2, dtype=whet.int64)]), "same dtype"),
    (lambda: nested.nested_tensor([whet.tensor(1.)]), "ragged"),
    (lambda: nested.nested_tensor([[1.]], layout=whet.sparse_coo), "layout"),
    (lambda: nested.nested_tensor_from_jagged(whet.ones(3)), "At least one of offsets or lengths"),
    (lambda: nested.nested_tensor_from_jagged(whet.ones(3), whet.tensor([0, 2])), "end with the 3"),
    (lambda: nested.nested_tensor_from_jagged(whet.ones(3), whet.tensor([0, 4, 3])), "be within"),
    (lambda: nested.nested_tensor_from_jagged(whet.ones(3), whet.tensor([0, 3]),
                                              whet.tensor([4])), "be within"),
    (lambda: nested.nested_tensor_from_jagged(whet.ones(3), whet.tensor([0, 3]), jagged_dim=2),
     "jagged_dim"),
    (lambda: nested.nested_tensor_from_jagged(whet.ones(3), whet.tensor([0., 3])), "whole numbers"),
    (lambda: nested.as_nested_tensor(whet.ones(3)), "at least 2 dimensions")])
def test_what_cannot_be_made(make, message):
    with pytest.raises(RuntimeError, match=message):
        make()


def test_copies():
    nt = nested.nested_tensor(parts(), requires_grad=True)
    for new in (pickle.loads(pickle.dumps(nt)), copy.deepcopy(nt), copy.copy(nt)):
        same(new, parts())
        assert new.requires_grad and new.is_leaf
    file = io.BytesIO()
    whet.save({"a": nt.detach(), "b": with_gaps()[0]}, file)
    file.seek(0)
    there = whet.load(file)
    same(there["a"], parts())
    same(there["b"], with_gaps()[1])
    assert nt.clone().shape == nt.shape and not nt.detach().requires_grad
    assert nt.to(whet.float32).shape == nt.shape and nt.half().dtype is whet.float16
    assert nt.to("cpu") is nt and nt.data.values() is not nt.values()


def test_two_that_share_offsets_do_so_after_pickling():
    nt = nt_of()
    a, b = pickle.loads(pickle.dumps((nt, nt * 2)))
    same(a + b, [x * 3 for x in parts()])


# ---- functions of single elements ----------------------------------------------------------------
ELEMENTS = {
    "a number": lambda x: x + 1, "from a number": lambda x: 2 - x, "halves": lambda x: x / 2,
    "sin": whet.sin, "gelu": F.gelu, "silu": F.silu, "leaky": lambda x: F.leaky_relu(x, 0.2),
    "elu": F.elu, "softplus": F.softplus, "power": lambda x: x.abs() ** 1.5, "negative":
    lambda x: -x,
    "clamp": lambda x: x.clamp(-1, 1), "with itself": lambda x: x * x.exp(),
    "where": lambda x: whet.where(x > 0, x, 0.), "rounded": lambda x: x.round(decimals=1),
    "filled": lambda x: x.masked_fill(x > 0, 2.), "compared": lambda x: x >= 0.5,
    "not": lambda x: ~(x > 0), "logical": lambda x: (x > 0) & (x < 1), "modulo": lambda x: x % 0.3,
    "larger of two": lambda x: whet.maximum(x, x * 2), "max of two": lambda x: x.max(x * 2),
    "lerp": lambda x: whet.lerp(x, x.exp(), 0.3), "absolute": abs, "sub": lambda x: whet.sub(x, 2,
                                                                                   alpha=3),
    "prelu": lambda x: F.prelu(x, whet.full((1,), 0.3, dtype=whet.float64)),
    "ones": whet.ones_like, "zeros": whet.zeros_like, "full": lambda x: whet.full_like(x, 3.),
    "float": lambda x: x.float(), "is nan": whet.isnan, "add out": lambda x: x.add(x, alpha=2)}


@pytest.mark.parametrize("name", ELEMENTS)
@pytest.mark.parametrize("gaps", [False, True])
def test_functions_of_elements_are_those_of_each_part(name, gaps):
    nt, xs = with_gaps() if gaps else (nt_of(), parts())
    f = ELEMENTS[name]
    found = f(nt)
    assert found.shape == nt.shape
    same(found, [f(x) for x in xs])


def test_random_values_keep_the_structure():
    nt = nt_of()
    for f in (whet.rand_like, whet.randn_like, whet.empty_like, F.dropout,
              lambda x: x.sigmoid().bernoulli(), lambda x: whet.randint_like(x, 5)):
        assert f(nt).shape == nt.shape
    assert F.dropout(nt, training=False).shape == nt.shape


DENSE = {
    "of the width": (WIDTH,), "a row": (1, WIDTH), "a number": (), "one": (1,), "ones": (1, 1, 1),
    "for all": (1, 1, WIDTH), "for each part": (4, 1, WIDTH), "a number for each part": (4, 1, 1),
    "padded": (4, 5, WIDTH), "padded numbers": (4, 5, 1)}


@pytest.mark.parametrize("name", DENSE)
def test_dense_operands_broadcast(name):
    shape = DENSE[name]
    d = whet.tensor(np.random.default_rng(5).standard_normal(shape))
    nt, xs = nt_of(), parts()

    def of_part(i):
        if len(shape) < 3:
            return d
        row = d[i if shape[0] > 1 else 0]
        return row[:LENGTHS[i]] if shape[1] > 1 else row
    same(nt * d, [x * of_part(i) for i, x in enumerate(xs)])
    same(d - nt, [of_part(i) - x for i, x in enumerate(xs)])
    assert whet.add(d, nt).shape == nt.shape


def test_dense_operands_beside_other_places_of_the_ragged_dimension():
    nt, xs = nt_of().transpose(1, 2), [x.t() for x in parts()]
    d = whet.tensor(np.random.default_rng(5).standard_normal((4, WIDTH, 1)))
    same(nt + d, [x + d[i] for i, x in enumerate(xs)])
    same(nt * d[:1], [x * d[0] for x in xs])
    gaps, ys = with_gaps()
    same(gaps * d[:3].mT, [y * d[i].t() for i, y in enumerate(ys)])
    same(whet.ones(4, 1, WIDTH).expand_as(nt.mT), [whet.ones(n, WIDTH) for n in LENGTHS])


def test_operands_that_do_not_fit():
    nt = nt_of()
    for other in (nt_of(), whet.ones(3, 1, WIDTH), whet.ones(5, WIDTH), whet.ones(4, 3, WIDTH),
                  nt.mT, nt.sum(-1)):
        with pytest.raises(RuntimeError, match="cannot call binary pointwise function add with"):
            nt + other
    with pytest.raises(NotImplementedError, match="more dimensions"):
        nt + whet.ones(1, 4, 1, WIDTH)
    with pytest.raises(NotImplementedError, match="dense tensor cannot hold"):
        whet.ones(WIDTH).add_(nt)
    with pytest.raises(TypeError):
        nt + "text"


def test_comparisons_with_what_is_no_operand():
    nt = nt_of()
    assert (nt == None) is False and (nt != None) is True           # noqa: E711
    assert (nt == "text") is False


def test_buffers_of_modules():
    module = whet.nn.Module()
    module.register_buffer("x", nt_of())
    other = copy.deepcopy(module)
    other.x.zero_()
    other.load_state_dict(module.state_dict())
    same(other.x, parts())
    same(other.float().x, [x.float() for x in parts()])


def test_in_place():
    nt, xs = nested.nested_tensor(parts()), parts()
    assert nt.mul_(2).add_(whet.ones(WIDTH)) is nt
    before = nt
    nt += 1
    assert nt is before
    same(nt, [x * 2 + 2 for x in xs])
    same(nt.copy_(nt_of()), xs)
    same(nt.copy_(nt * 2), [x * 2 for x in xs])
    same(nt.zero_(), [x * 0 for x in xs])
    nt[1] = whet.ones(1, WIDTH)
    nt[..., 0] = 5
    assert nt[1].tolist() == [[5, 1, 1, 1]] and nt[2][:, 0].tolist() == [5] * 5
    assert F.relu(nt, inplace=True).shape == nt.shape


# ---- reductions ----------------------------------------------------------------------------------
REDUCTIONS = {
    name: (lambda name: lambda x, d, **k: getattr(x, name)(d, **k))(name)
    for name in "sum mean amax amin prod logsumexp argmax argmin var std nansum".split()}
REDUCTIONS |= {"max": lambda x, d, **k: x.max(d, **k)[0], "min": lambda x, d, **k: x.min(d, **k)[1],
               "any": lambda x, d, **k: (x > 0).any(d, **k), "norm": lambda x, d, **k: x.norm(
                   dim=d, **k), "all": lambda x, d, **k: (x > -1).all(d, **k),
               "largest norm": lambda x, d, **k: x.norm(whet.inf, d, **k),
               "whole numbers": lambda x, d, **k: (x * 9).long().sum(d, **k),
               "largest of them": lambda x, d, **k: (x * 9).long().amax(d, **k)}
LONGER = 3, 2, 5, 2                      # a variance is of two, at least


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_are_those_of_each_part(name, keepdim):
    f, nt, xs = REDUCTIONS[name], nt_of(lengths=LONGER), parts(lengths=LONGER)
    near(f(nt, 1, keepdim=keepdim), whet.stack([f(x, 0, keepdim=keepdim) for x in xs]))
    near(f(nt.mT, 2, keepdim=keepdim), whet.stack([f(x.t(), 1, keepdim=keepdim) for x in xs]))
    same(f(nt, 2, keepdim=keepdim), [f(x, 1, keepdim=keepdim) for x in xs])
    same(f(nt.mT, -2, keepdim=keepdim), [f(x.t(), 0, keepdim=keepdim) for x in xs])


@pytest.mark.parametrize("name", "sum mean amax amin prod norm std max any".split())
def test_reductions_of_everything(name):
    for nt, xs in ((nt_of(), parts()), with_gaps()):
        near(getattr(nt, name)(), getattr(whet.cat(xs), name)())


def test_reductions_of_parts_with_gaps_leave_these_out():
    nt, xs = with_gaps()
    near(nt.sum(1), whet.stack([x.sum(0) for x in xs]))
    near(nt.amax(1), whet.stack([x.amax(0) for x in xs]))
    near(nt.mean((0, 1)), whet.cat(xs).mean(0))
    near(nt.sum((0, 1, 2), keepdim=True), whet.cat(xs).sum().reshape(1, 1, 1))
    near(nt.sum(axis=1, keepdims=True), whet.stack([x.sum(0, keepdim=True) for x in xs]))


def test_a_part_of_no_rows():
    nt = nt_of(lengths=(2, 0, 3))
    assert nt.sum(1)[1].tolist() == [0] * WIDTH and nt.mean(1)[1].isnan().all()
    assert nt.amax(1)[1].tolist() == [-whet.inf] * WIDTH
    assert len(nt.softmax(1)[1]) == 0 and nt.to_padded_tensor(0.).shape == (3, 3, WIDTH)
    none = nt_of(lengths=(0, 0))
    assert none.sum() == 0 and none.softmax(1).shape == none.shape
    assert none.to_padded_tensor(0.).shape == (2, 0, WIDTH)


@pytest.mark.parametrize("f, message", [
    (lambda x: x.sum(0), "batch dimension but not the ragged"),
    (lambda x: x.sum((1, 2)), "ragged and non-batch"),
    (lambda x: x.softmax(0), "across the batch dimension"), (lambda x: x.sum(5), "out of range"),
    (lambda x: x.long().mean(1), "infer output dtype")])
def test_reductions_that_there_are_not(f, message):
    with pytest.raises((RuntimeError, IndexError), match=message):
        f(nt_of())


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "cumsum", "cumprod", "logcumsumexp"])
def test_from_row_to_row(name):
    for nt, xs in ((nt_of(), parts()), with_gaps()):
        f = getattr(whet, name)
        same(f(nt, 1), [f(x, 0) for x in xs])
        same(f(nt, 2), [f(x, 1) for x in xs])
        same(f(nt.mT, 2), [f(x.t(), 1) for x in xs])
    same(F.softmin(nt, 1), [F.softmin(x, 0) for x in xs])
    same(F.softmax(nt, 1, dtype=whet.float64), [F.softmax(x, 0) for x in xs])


def test_softmax_of_large_numbers():
    nt = nested.nested_tensor([[1e4, 1e4], [-1e4, 0., -whet.inf]], dtype=whet.float64)
    same(nt.softmax(1), [x.softmax(0) for x in nt])


# ---- shapes --------------------------------------------------------------------------------------
SHAPES = {
    "transpose": lambda x, b: x.transpose(0 + b, 1 + b), "permute": lambda x, b: x.permute(
        *range(b), 1 + b, b),
    "unsqueeze": lambda x, b: x.unsqueeze(b), "behind": lambda x, b: x.unsqueeze(-1),
    "squeezed": lambda x, b: x.unsqueeze(b).squeeze(b), "unflatten": lambda x, b: x.unflatten(
        -1, (2, 2)), "flatten": lambda x, b: x.unflatten(-1, (2, 2)).flatten(-2),
    "before it": lambda x, b: x.unflatten(-1, (2, 2)).transpose(b, 1 + b).transpose(
        b + 1, b + 2).flatten(b, b + 1),
    "select": lambda x, b: x.select(-1, 1), "select before": lambda x, b: x.mT.select(b, 1),
    "narrow": lambda x, b: x.narrow(-1, 1, 2), "last": lambda x, b: x[..., -1],
    "slice": lambda x, b: x[..., 1:3], "new": lambda x, b: x[..., None],
    "chunk": lambda x, b: x.chunk(2, -1)[1], "split": lambda x, b: x.split([1, 3], dim=-1)[1],
    "flip": lambda x, b: x.flip(-1), "sort": lambda x, b: x.sort(-1)[0],
    "topk": lambda x, b: x.topk(2, -1)[1], "glu": lambda x, b: F.glu(x, -1),
    "chosen": lambda x, b: x.index_select(-1, whet.tensor([2, 0])), "mT": lambda x, b: x.mT,
    "normalize": lambda x, b: F.normalize(x, dim=-1), "cumulated": lambda x, b: x.cumsum(-1),
    "cat": lambda x, b: whet.cat([x, x * 2], -1), "stack": lambda x, b: whet.stack([x, x * 2], -1),
    "stack before": lambda x, b: whet.stack([x, x * 2], b), "contiguous": lambda x, b:
    x.mT.contiguous(), "expand": lambda x, b: x.unsqueeze(-1).expand(*x.shape, 3)}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_are_those_of_each_part(name):
    f = SHAPES[name]
    for nt, xs in ((nt_of(), parts()), with_gaps()):
        same(f(nt, 1), [f(x, 0) for x in xs])


def test_views_name_the_ragged_size_by_its_symbol_or_minus_one():
    nt, xs = nt_of(), parts()
    j = nt.shape[1]
    for sizes in ((4, -1, 2, 2), (4, j, 2, 2), (4, j, -1, 2), (-1, j, 2, 2), (4, -1, -1, 2)):
        same(nt.view(sizes), [x.reshape(-1, 2, 2) for x in xs])
        same(nt.reshape(*sizes), [x.reshape(-1, 2, 2) for x in xs])
    same(nt.view(4, -1, 2, 2).view_as(nt), xs)
    wide = nt.view(4, -1, 2, 2).transpose(1, 2).transpose(2, 3)
    same(wide.reshape(4, 4, nt.shape[1]), [x.t() for x in xs])
    for sizes in ((4, 3, 4), (-1, 4), (4, -1), (4, nt_of().shape[1], 4)):
        with pytest.raises(RuntimeError, match="cannot view shape"):
            nt.view(*sizes)


def test_pieces_of_the_batch():
    nt, xs = nt_of(), parts()
    same(nt[1:3], xs[1:3])
    same(nt[-2:, :, 1:], [x[:, 1:] for x in xs[-2:]])
    assert len(nt[3:1]) == 0
    for piece, want in zip(nt.chunk(3), (xs[:2], xs[2:]), strict=True):
        same(piece, want)
    same(with_gaps()[0][1:], with_gaps()[1][1:])
    same(whet.cat([nt, nt_of(1)]), xs + parts(1))
    assert [x.tolist() for x in nt] == [x.tolist() for x in xs] == nt.tolist()
    assert nt[-1].tolist() == xs[-1].tolist() and nt[2, 1].tolist() == xs[2][1].tolist()
    assert nt.select(0, 1).tolist() == nt[np.int64(1)].tolist() == xs[1].tolist()
    with pytest.raises(IndexError, match="out of bounds"):
        nt[4]


@pytest.mark.parametrize("f, message", [
    (lambda x: x.transpose(0, 1), "batch dimension"), (lambda x: x.permute(1, 0, 2), "batch"),
    (lambda x: x.unsqueeze(0), "dim=0"), (lambda x: x.squeeze(1), "ragged dim"),
    (lambda x: x.flatten(0, 1), "dim=0"), (lambda x: x.flatten(1, 2), "ragged dim"),
    (lambda x: x.chunk(2, 1), "ragged dim"), (lambda x: x.split(1), "dim=0"),
    (lambda x: x.select(1, 0), "ragged dim"), (lambda x: x[:, 0], "ragged dim"),
    (lambda x: x[:, :2], "ragged dim"), (lambda x: x[None], "dim=0"),
    (lambda x: whet.cat([x, x], 1), "ragged dim"), (lambda x: whet.cat([x, nt_of()], 2), "share"),
    (lambda x: whet.stack([x, x]), "dim=0"), (lambda x: x.unbind(1), "dim=0"),
    (lambda x: x.expand(4, 5, 4), "cannot view")])
def test_shapes_that_there_are_not(f, message):
    with pytest.raises((RuntimeError, ValueError), match=message):
        f(nt_of())


def test_padding():
    nt, xs = nt_of(), parts()
    dense = nt.to_padded_tensor(-1.)
    assert dense.shape == (4, 5, WIDTH)
    for row, x in zip(dense, xs, strict=True):
        near(row[:len(x)], x)
        assert (row[len(x):] == -1).all()
    wide = nested.to_padded_tensor(nt, 0., (4, 6, WIDTH + 1))
    near(wide[:, :5, :WIDTH], nt.to_padded_tensor(0.))
    assert (wide[:, 5:] == 0).all() and (wide[..., WIDTH:] == 0).all()
    near(with_gaps()[0].to_padded_tensor(0.).sum((0, 1)), whet.cat(with_gaps()[1]).sum(0))
    near(nt.mT.to_padded_tensor(0.), nt.to_padded_tensor(0.).mT)
    with pytest.raises(RuntimeError, match="Truncation is not supported"):
        nt.to_padded_tensor(0., (4, 3, WIDTH))
    with pytest.raises(NotImplementedError, match="nested"):
        whet.ones(2).to_padded_tensor(0.)


# ---- what there is not ---------------------------------------------------------------------------
@pytest.mark.parametrize("f, name", [
    (whet.linalg.svd, "svd"), (lambda x: F.conv1d(x, x), "conv1d"), (whet.tril, "tril"),
    (lambda x: whet.einsum("bij->b", x), "einsum"), (lambda x: x.argmax(), "argmax"),
    (lambda x: x.gather(2, x.long()), "gather"), (lambda x: x[whet.tensor([0])], "getitem"),
    (lambda x: F.cross_entropy(x, x.sum(-1).long()), "cross_entropy"),
    (lambda x: x.squeeze(), "squeeze"), (lambda x: x.median(1), "median")])
def test_what_there_is_not_says_so(f, name):
    with pytest.raises(NotImplementedError, match=rf"'{name}' with arguments of layout "
                       r"whet.jagged.*values.*to_padded_tensor"):
        f(nt_of())


def test_numbers_are_of_one_element():
    nt = nt_of()
    for f in (float, int, lambda x: x.item()):
        with pytest.raises(RuntimeError, match="44 elements"):
            f(nt)
    with pytest.raises(RuntimeError, match="ambiguous"):
        bool(nt)
    with pytest.raises(RuntimeError, match="to_padded_tensor"):
        nt.numpy()
    assert float(nested.nested_tensor([[2.5]])) == 2.5
