"""Views: shapes and strides like NumPy's, shared memory, gradients, and what is refused."""
import numpy as np
import pytest
import whet


def numbers(*shape):
    return np.arange(float(np.prod(shape))).reshape(shape)


A = numbers(2, 3, 4)
PAIRS = [("view", lambda x: x.view(6, -1), lambda a: a.reshape(6, -1)),
         ("view of a permuted part", lambda x: x.permute(2, 0, 1).view(2, 2, 2, 3),
          lambda a: a.transpose(2, 0, 1).reshape(2, 2, 2, 3)),
         ("flatten", lambda x: x.flatten(1), lambda a: a.reshape(2, 12)),
         ("unflatten", lambda x: x.unflatten(2, (2, -1)), lambda a: a.reshape(2, 3, 2, 2)),
         ("unsqueeze", lambda x: x.unsqueeze(-1), lambda a: a[..., None]),
         ("squeeze", lambda x: x[:1, :, :1].squeeze(0), lambda a: a[0, :, :1]),
         ("squeeze all", lambda x: x[:1, :, :1].squeeze(), lambda a: a[0, :, 0]),
         ("expand", lambda x: x[:, :1].expand(5, -1, 3, -1),
          lambda a: np.broadcast_to(a[:, :1], (5, 2, 3, 4))),
         ("permute", lambda x: x.permute(2, 0, 1), lambda a: a.transpose(2, 0, 1)),
         ("transpose", lambda x: x.transpose(-1, 0), lambda a: a.swapaxes(2, 0)),
         ("movedim", lambda x: x.movedim((0, 1), (2, 0)), lambda a: np.moveaxis(a, (0, 1), (2, 0))),
         ("mT", lambda x: x.mT, lambda a: a.swapaxes(1, 2)),
         ("select", lambda x: x.select(1, -1), lambda a: a[:, -1]),
         ("narrow", lambda x: x.narrow(2, -3, 2), lambda a: a[:, :, 1:3]),
         ("slices", lambda x: x[:, 1:, ::3], lambda a: a[:, 1:, ::3]),
         ("mixed", lambda x: x[1, None, ..., -1], lambda a: a[1, None, ..., -1]),
         ("diagonal", lambda x: x.diagonal(-1, 1, 2), lambda a: a.diagonal(-1, 1, 2)),
         ("diagonal of swapped", lambda x: x.diagonal(1, 2, 0), lambda a: a.diagonal(1, 2, 0)),
         ("unfold", lambda x: x.unfold(2, 2, 1),
          lambda a: np.lib.stride_tricks.sliding_window_view(a, 2, 2)),
         ("unfold in steps", lambda x: x.unfold(1, 2, 2),
          lambda a: np.lib.stride_tricks.sliding_window_view(a, 2, 1)[:, ::2]),
         ("as_strided", lambda x: x.as_strided((2, 2),
                                               (5, 1), 3), lambda a: np.array([[3.0, 4], [8, 9]])),
         ("T", lambda x: x[0].T, lambda a: a[0].T),
         ("view_as", lambda x: x.view_as(whet.zeros(4, 6)), lambda a: a.reshape(4, 6)),
         ("chunk", lambda x: x.chunk(3, 2)[1], lambda a: a[:, :, 2:4]),
         ("split", lambda x: x.split((1, 3), 2)[1], lambda a: a[:, :, 1:]),
         ("unbind", lambda x: x.unbind(1)[2], lambda a: a[:, 2]),
         ("tensor_split", lambda x: x.tensor_split(3, 2)[0], lambda a: a[:, :, :2]),
         ("hsplit", lambda x: x.hsplit(3)[1], lambda a: a[:, 1:2]),
         ("swapaxes", lambda x: x.swapaxes(0, 1), lambda a: a.swapaxes(0, 1)),
         ("of nothing", lambda x: x[:0].view(0, 12), lambda a: a[:0].reshape(0, 12)),
         ("atleast_3d", lambda x: whet.atleast_3d(x[0]), lambda a: a[0][..., None]), ]


@pytest.mark.parametrize("name, ours, theirs", PAIRS, ids=[p[0] for p in PAIRS])
def test_a_view_shows_what_numpy_shows(name, ours, theirs):
    x = whet.tensor(A, requires_grad=True)
    y, want = ours(x), theirs(A)
    assert tuple(y.shape) == want.shape and (y.numpy(force=True) == want).all()
    assert y._is_view() and y._base is x
    if want.size:
        assert y.untyped_storage() == x.untyped_storage()
        g = np.random.default_rng(0).normal(size=want.shape)
        y.backward(whet.tensor(g))
        grad = np.zeros(A.size)
        # the elements are their own places
        np.add.at(grad, want.astype(int).reshape(-1), g.reshape(-1))
        np.testing.assert_allclose(x.grad.numpy().reshape(-1), grad)


@pytest.mark.parametrize("name, ours, theirs", PAIRS, ids=[p[0] for p in PAIRS])
def test_a_view_without_history_is_the_same(name, ours, theirs):
    x = whet.tensor(A)
    y = ours(x)
    assert (y.numpy() == theirs(A)).all() and y._base is x and not y.requires_grad
    with whet.no_grad():
        z = ours(whet.tensor(A, requires_grad=True))
    assert (z.numpy() == theirs(A)).all() and not z.requires_grad and z.stride() == y.stride()


def test_reshape_copies_only_where_it_must():
    x = whet.tensor(A)
    assert x.reshape(24)._base is x
    y = x.permute(2, 0, 1).reshape(24)
    assert y._base is None and y.tolist() == A.transpose(2, 0, 1).reshape(24).tolist()
    w = whet.tensor(A, requires_grad=True)
    (w.permute(2, 0, 1).reshape(24) * whet.arange(24.0, dtype=whet.float64)).sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), numbers(4, 2, 3).transpose(1, 2, 0))


def test_views_of_other_element_types():
    x = whet.tensor([1.0, -2.0])
    assert (x.view(whet.int32).tolist() == [1065353216, -1073741824]
            and x.view(whet.uint8).shape == (8,))
    assert x.view(whet.int32).view(whet.float32).tolist() == [1, -2]
    x.view(whet.int32).zero_()
    assert x.tolist() == [0, 0]
    assert whet.zeros(4, 4).t()[:, :2].view(whet.int32).stride() == (1, 4)
    assert whet.zeros(3, 4)[:, :2].view(whet.float64).shape == (3, 1)
    for bad in (lambda: whet.tensor(1.0).view(whet.int16), lambda: whet.zeros(3).view(whet.float64),
                lambda: whet.zeros(4, 4).t().view(whet.float64)):
        with pytest.raises(RuntimeError):
            bad()


def test_parts_of_complex_numbers_are_views():
    c = whet.tensor([[1 + 2j, 3 + 4j], [5 + 6j, 7 + 8j]])
    assert (whet.view_as_real(c).tolist() == [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
            and c.real.stride() == (4, 2))
    c.imag[0] = 9.0
    c.real = c.real * 2
    assert c.tolist() == [[2 + 9j, 6 + 9j], [10 + 6j, 14 + 8j]]
    assert whet.view_as_complex(whet.view_as_real(c))._base is c
    x = whet.ones(3, 2, requires_grad=True)
    (whet.view_as_complex(x) * (2 - 1j)).real.sum().backward()
    assert x.grad.tolist() == [[2, 1]] * 3
    r = whet.ones(2)
    assert r.real is r and r.conj() is r
    with pytest.raises(RuntimeError, match="imag is not implemented"):
        whet.imag(r)


@pytest.mark.parametrize(
    "make, error, text",
    [(lambda x: x.view(5, 5), RuntimeError, r"shape '\[5, 5\]' is invalid for input of size 24"),
     (lambda x: x.view(-1, -1), RuntimeError, "only one dimension can be inferred"),
     (lambda x: x.view(), TypeError, "view"),
     (lambda x: x.permute(2, 0, 1).view(24), RuntimeError, r"Use .reshape\(...\) instead"),
     (lambda x: x[:0].view(-1, 0), RuntimeError, "ambiguous"),
     (lambda x: x.expand(3, 3, 4), RuntimeError, "expanded size of the tensor"),
     (lambda x: x.expand(4), RuntimeError, "number of sizes provided"),
     (lambda x: x.permute(0, 1), RuntimeError, "does not match the length"),
     (lambda x: x.permute(0, 0, 1), RuntimeError, "duplicate dims"),
     (lambda x: x.transpose(0, 3), IndexError, "Dimension out of range"),
     (lambda x: x.t(), RuntimeError, "<= 2 dimensions"),
     (lambda x: x.select(0, 2), IndexError, "index 2 out of range"),
     (lambda x: x.narrow(1, 2, 2), RuntimeError, "exceeds dimension size"),
     (lambda x: x.diagonal(0, 1, -2), RuntimeError, "identical"),
     (lambda x: x.unfold(1, 4, 1), RuntimeError, "maximum size"),
     (lambda x: x.unfold(1, 2, 0), RuntimeError, "step is 0"),
     (lambda x: x.as_strided((5, 5), (5, 1)), RuntimeError, "out of bounds for storage"),
     (lambda x: x.as_strided((2,), (-1,)), RuntimeError, "Negative strides"),
     (lambda x: x.split(0), RuntimeError, "split_size can only be 0"),
     (lambda x: x.split((1, 2), 2), RuntimeError, "sum exactly to 4"),
     (lambda x: x.chunk(0), RuntimeError,
      "greater than 0"), (lambda x: x[0, 0, 0].unbind(), IndexError, "no dimensions"),
     (lambda x: x.hsplit(2), RuntimeError, "not divisible"),
     (lambda x: whet.broadcast_tensors(x, whet.ones(3)),
      RuntimeError,
      "must match the size of tensor b"),
     (lambda x: x.unflatten(1, (2, 2)), RuntimeError, "don't multiply up"),
     (lambda x: x.flatten(2, 1), RuntimeError, "start_dim cannot come after"),
     (lambda x: x.movedim((0, 0), (1, 2)), RuntimeError,
      "repeated dim"), (lambda x: x.squeeze((0, 0)), RuntimeError, "multiple times")])
def test_what_is_refused(make, error, text):
    with pytest.raises(error, match=text):
        make(whet.tensor(A))


def test_as_strided_never_leaves_the_memory():
    x = whet.zeros(10)[3:7]
    assert x.as_strided((7,), (1,)).numel() == 7 and x.as_strided((10,), (1,), 0).numel() == 10
    for size, stride, offset in ((((8,), (1,), None), ((11,), (1,), 0), ((2, 2), (8, 2), 0),
                                  ((1,), (1,), 10))):
        with pytest.raises(RuntimeError, match="out of bounds"):
            x.as_strided(size, stride, offset)


def test_joining():
    x, y = numbers(2, 3), numbers(2, 3) + 10
    a, b = whet.tensor(x, requires_grad=True), whet.tensor(y, requires_grad=True)
    for ours, theirs in ((whet.cat([a, b], 1), np.concatenate([x, y], 1)),
                         (whet.stack([a, b], -1), np.stack([x, y], -1)),
                         (whet.hstack([a, b]), np.hstack([x, y])),
                         (whet.vstack([a, b]), np.vstack([x, y])),
                         (whet.dstack([a, b]), np.dstack([x, y])),
                         (whet.column_stack([a[:, 0], b]), np.column_stack([x[:, 0],
                             y]))):
        np.testing.assert_array_equal(ours.numpy(force=True), theirs)
    (whet.cat([a, b, a], 1) * whet.arange(9.0)).sum().backward()
    assert a.grad.tolist() == [[6, 8, 10]] * 2 and b.grad.tolist() == [[3, 4, 5]] * 2
    assert whet.cat([whet.zeros(0), whet.ones(2, 1)]).shape == (2, 1)
    assert whet.cat([whet.ones(1), whet.tensor([True])]).tolist() == [1, 1]
    for bad, error, text in ((lambda: whet.cat([]), ValueError,
                              "non-empty"), (lambda: whet.cat(a), TypeError, "tuple of Tensors"),
                             (lambda: whet.cat([a, whet.ones(2, 2)], 0), RuntimeError,
                              "Expected size 3 but got size 2 for tensor "
                              "number 1"), (lambda: whet.cat([a, whet.tensor(1.0)]), RuntimeError,
                                            "zero-dimensional"),
                             (lambda: whet.stack([a, whet.ones(2)]), RuntimeError, "equal size")):
        with pytest.raises(error, match=text):
            bad()


@pytest.mark.parametrize("ours, theirs", [
    (lambda x: x.repeat(2, 1, 3), lambda a: np.tile(a, (2, 1, 3))),
    (lambda x: x.tile(2), lambda a: np.tile(a, 2)),
    (lambda x: x.repeat_interleave(2, 1), lambda a: np.repeat(a, 2, 1)),
    (lambda x: x.roll((1, -2), (0, 2)), lambda a: np.roll(a, (1, -2), (0, 2))),
    (lambda x: x.repeat_interleave(whet.tensor([2, 0, 1]), 1),
     lambda a: np.repeat(a, [2, 0, 1], 1)),
    (lambda x: x.roll(5), lambda a: np.roll(a, 5)),
    (lambda x: x.flip(0, 2), lambda a: a[::-1, :, ::-1]),
    (lambda x: x.rot90(1, (1, 2)), lambda a: np.rot90(a, 1, (1, 2))),
    (lambda x: x.tril(-1), lambda a: np.tril(a, -1)),
    (lambda x: x.triu(1), lambda a: np.triu(a, 1)),
    (lambda x: whet.diag_embed(x[0], 1).sum(0),
     lambda a: np.stack([np.diag(r, 1) for r in a[0]]).sum(0)),
     (lambda x: x[0, :, :1].diag(), lambda a: a[0, :1, 0]),
     (lambda x: whet.kron(x[0], x[1]), lambda a: np.kron(a[0], a[1])),
    (lambda x: x.select_scatter(x[0] * 2, 0, 1), lambda a: np.stack([a[0], a[0] * 2])),
    (lambda x: x.slice_scatter(x[:, :, :2] * 3, 2, 0, 4, 2),
     lambda a: _with(a, (..., slice(0, 4, 2)), a[:, :, :2] * 3)),
    (lambda x: x[0, :, :3].diagonal_scatter(x[1, 0, :3]),
     lambda a: _with(a[0, :, :3], (range(3), range(3)), a[1, 0, :3]))])
def test_movement(ours, theirs):
    x = whet.tensor(A, requires_grad=True)
    np.testing.assert_array_equal(ours(x).numpy(force=True), theirs(A))
    assert whet.autograd.gradcheck(ours, (x,))


def _with(a, where, value):
    r = a.copy()
    r[where] = value
    return r


def test_padding_by_zeros_of_both_signs():
    """Calls are found again by their attributes, and the two zeros are equal."""
    for value in (-0.0, 0.0, -0.0, 0, -0.0, None):
        y = whet.nn.functional.pad(whet.ones(1), (1, 1), value=value)
        assert np.signbit(np.asarray(y)).tolist() == [value is not None and str(value) == "-0.0",
                                                      False, str(value) == "-0.0"]


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_padding(mode):
    from whet.ops.pad import pad
    x = whet.tensor(A, requires_grad=True)
    widths = ((0, 0), (1, 2), (3, 0))
    want = np.pad(A, widths, **({"mode": mode, "constant_values": 7} if mode == "constant" else {
        "mode": {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode]}))
    got = pad(x[None], (3, 0, 1, 2), mode, 7 if mode == "constant" else None)
    np.testing.assert_array_equal(got[0].numpy(force=True), want)
    assert pad(x, (-1, -1), value=1.0).shape == (2, 3, 2) and pad(x, (-4, 2)).shape == (2, 3, 2)
    assert whet.autograd.gradcheck(lambda x: pad(x[None], (3, 0, 1, 2), mode), (x,))
    for bad in ((4, 0), (5, 5, 0, 0)) if mode in ("reflect", "circular") else ((-9, 0),):
        if mode == "circular" and bad == (4, 0):
            continue
        with pytest.raises(RuntimeError):
            pad(x[None], bad + (0, 0) * (2 - len(bad) // 2), mode)


def test_reshaping_dense_memory_gives_dense_strides():
    """Whichever way it is called, traced or not; of one element NumPy would keep any stride."""
    x = whet.arange(6.0).view(2, 3).diagonal(-1)
    assert x.stride() == (4,)

    def f(x):
        return x.reshape(-1), x.reshape(1), x.view(-1), whet.reshape(x, (1,)), x.reshape(1, 1)
    for call in (f, f, whet.jit.trace(f)):
        assert [t.stride() for t in call(x)] == [(1,)] * 4 + [(1, 1)]


@pytest.mark.parametrize("make, strides", [
    (lambda: whet.empty(0, 3), (3, 1)),
    (lambda: whet.ones(3, 0) * 2, (1, 1)),
    (lambda: whet.ones(3, 4)[whet.zeros(3, dtype=whet.bool)], (4, 1)),
    (lambda: whet.ones(2, 3, 4)[:, :0], (12, 4, 1))])
def test_strides_without_elements_are_those_of_a_tensor_laid_anew(make, strides):
    for way in (make, whet.jit.trace(make)):
        assert way().stride() == strides
        assert way().stride() == strides


def test_pieces_of_unsafe_splits_may_be_written_to():
    for pieces in (lambda x: whet.unsafe_split(x, 2), lambda x: whet.unsafe_chunk(x, 2),
                   lambda x: whet.unsafe_split_with_sizes(x, [2, 2])):
        x = whet.ones(4, requires_grad=True)
        first, second = pieces(x * 1)
        first.mul_(3)
        (first.sum() + second.sum()).backward()
        assert x.grad.tolist() == [3, 3, 1, 1]


def test_a_tensor_may_be_set_to_a_storage():
    x = whet.arange(4.)
    for storage in (x.storage(), x.untyped_storage()):
        y = whet.empty(0).set_(storage, 1, (2,), (2,))
        y.add_(1)
        assert y.data_ptr() == x.data_ptr() + 4
    assert x.tolist() == [0, 3, 2, 5] and whet.empty(0).set_(x.storage()).tolist() == x.tolist()


def test_parts_and_groups_of_elements_must_lie_one_after_the_other():
    x = whet.zeros(4, 4, 8, dtype=whet.int16)
    assert x.view(whet.int64).stride() == (8, 2, 1) and x.view(whet.int8).stride() == (64, 16, 1)
    for t, dtype, what in (
            (x[..., 1:5], whet.int32, r"storage_offset\(\) must be divisible by 2 .* got 1"),
            (x.as_strided((3, 3, 2), (8, 1, 1)), whet.int32,
             r"stride\(1\) must be divisible by 2 to view Short as Int .* got 1"),
            (x[..., ::2], whet.int32, r"stride\(-1\) must be 1 to view Short as Int .* got 2"),
            (x[..., ::2], whet.int8, r"stride\(-1\) must be 1 to view Short as Char .* got 2"),
            (x[0, 0].expand(3, 8).T, whet.int32, r"size\(-1\) must be divisible by 2")):
        with pytest.raises(RuntimeError, match=what):
            t.view(dtype)


def test_transposed_numbers_are_themselves():
    x = whet.tensor(3.0)
    assert x.mT.tolist() == x.mH.tolist() == x.T.tolist() == x.H.tolist() == 3.0
    with pytest.raises(RuntimeError, match="Got 1-D tensor"):
        _ = whet.ones(2).mT


def test_a_new_dimension_steps_past_what_lies_within():
    x = whet.ones(3, 4)
    assert x.unsqueeze(0).stride() == (12, 4, 1) and x.unsqueeze(1).stride() == (4, 4, 1)
    assert x[..., None].stride() == (4, 1, 1) and x.t().unsqueeze(0).stride() == (4, 1, 4)
    assert x[None, :, None].stride() == (12, 4, 4, 1) and x.expand(2, 3, 4).stride() == (0, 4, 1)


def test_plus_is_the_tensor_itself():
    x = whet.tensor([1.0, -2.0])
    assert +x is x and x.positive() is x and whet.positive(x) is x
    assert np.positive(x) is not x
    with pytest.raises(RuntimeError, match="bool"):
        _ = +whet.tensor([True])


def test_elements_are_mapped_beside_those_of_two_tensors():
    x = whet.tensor([[1, 2], [3, 4]])
    assert x.map2_(whet.tensor([1, 10]), x, lambda a, b, c: a * b + c) is x
    assert x.tolist() == [[2, 22], [6, 44]]
    with pytest.raises(RuntimeError, match="requires grad"):
        whet.ones(2, requires_grad=True).map2_(whet.ones(2), whet.ones(2), lambda a, b, c: a)
