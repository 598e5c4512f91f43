"""Parts of sparse tensors, asked of tensors that have none; copies of parts; other sizes, in
place."""
import pytest
import whet

WANTED = {"coalesce": "sparse coordinate", "indices": "sparse coordinate",
          "is_coalesced": "sparse coordinate", "crow_indices": "sparse row compressed",
          "col_indices": "sparse row compressed", "ccol_indices": "sparse column compressed",
          "row_indices": "sparse column compressed", "values": "sparse"}


@pytest.mark.parametrize("name", WANTED)
def test_dense_tensors_say_whose_part_it_is(name):
    said = f"{name} expected {WANTED[name]} tensor layout but got whet.strided"
    with pytest.raises(RuntimeError, match=said):
        getattr(whet.ones(2, 3), name)()
    if name.endswith(("indices", "values")):
        with pytest.raises(RuntimeError, match=said):
            getattr(whet, f"{name}_copy")(whet.ones(2, 3))


def test_sparse_tensors_say_which_layout_has_a_part():
    coo = whet.eye(2).to_sparse()
    with pytest.raises(RuntimeError, match="but got whet.sparse_coo"):
        coo.crow_indices()
    with pytest.raises(RuntimeError, match="but got whet.sparse_csr"):
        coo.to_sparse_csr().coalesce()
    assert whet.Tensor.values(coo).tolist() == [1, 1]


def test_copies_of_parts():
    csr = whet.tensor([[0., 2.], [3., 4.]]).to_sparse_csr()
    assert whet.crow_indices_copy(csr).tolist() == [0, 1, 3]
    assert whet.col_indices_copy(csr).tolist() == [1, 0, 1]
    values = whet.values_copy(csr)
    assert values.tolist() == [2, 3, 4] and values.data_ptr() != csr.values().data_ptr()
    csc = csr.to_dense().to_sparse_csc()
    assert whet.ccol_indices_copy(csc).tolist() == [0, 1, 3]
    assert whet.row_indices_copy(csc).tolist() == [1, 0, 1]
    assert whet.indices_copy(csr.to_sparse_coo()).tolist() == [[0, 1, 1], [1, 0, 1]]
    with pytest.raises(TypeError, match="must be Tensor, not int"):
        whet.values_copy(3)


def test_a_sparse_tensor_gets_another_size_in_place():
    s = whet.sparse_coo_tensor([[0, 1]], [[1., 2.], [3., 4.]], (3, 2)).coalesce()
    assert s.sparse_resize_((5, 3), 1, 1) is s and s.shape == (5, 3) and s.is_coalesced()
    assert s.to_dense()[:3].tolist() == [[1, 2, 0], [3, 4, 0], [0, 0, 0]]
    assert s.sparse_resize_and_clear_((2, 3, 4), 2, 1) is s
    assert (s._nnz(), s.sparse_dim(), s.dense_dim(), s.shape) == (0, 2, 1, (2, 3, 4))
    assert s.sparse_resize_((7,), 1, 0).shape == (7,) and s.to_dense().tolist() == [0] * 7


@pytest.mark.parametrize("size, dims, error, said", [
    ((5, 3), (2, 0), RuntimeError, "changing the number of sparse dimensions .from 1 to 2."),
    ((5, 3), (2, 1), RuntimeError, "'len.size. == sparse_dim . dense_dim' is not satisfied"),
    ((5, 1), (1, 1), RuntimeError, r"shrinking the size of dense dimensions .from \[2\] to \[1\]"),
    ((2, 2), (1, 1), RuntimeError, "shrinking the size of sparse dimensions"),
    ((5, -1), (1, 1), RuntimeError, "non-negative"),
    (5, (1, 1), TypeError, "must be tuple of ints, not int")])
def test_sizes_that_do_not_fit_are_errors(size, dims, error, said):
    s = whet.sparse_coo_tensor([[0, 1]], [[1., 2.], [3., 4.]], (3, 2))
    with pytest.raises(error, match=said):
        s.sparse_resize_(size, *dims)
    assert s.shape == (3, 2) and s.to_dense().sum() == 10


@pytest.mark.parametrize("name", ["sparse_resize_", "sparse_resize_and_clear_"])
def test_only_tensors_of_coordinates_get_another_size(name):
    for x in (whet.ones(2, 2), whet.eye(2).to_sparse_csr()):
        with pytest.raises(NotImplementedError, match=f"Could not run '{name}'"):
            getattr(x, name)((3, 3), 2, 0)
    leaf = whet.sparse_coo_tensor([[0]], [1.], (2,), requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        getattr(leaf, name)((3,), 1, 0)


@pytest.mark.parametrize("nnz, coalesced", [(0, True), (1, True), (2, False)])
def test_tensors_with_fewer_than_two_places_are_coalesced(nnz, coalesced):
    at, values = whet.arange(nnz).expand(2, nnz), whet.ones(nnz)
    assert whet.sparse_coo_tensor(at, values, (3, 3)).is_coalesced() is coalesced
    assert not whet.sparse_coo_tensor(at, values, (3, 3), is_coalesced=False).is_coalesced()


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr"])
def test_values_of_sparse_tensors_are_rounded_and_change_their_sign_in_place(layout):
    dense = whet.tensor([[1.26, 0.], [0., -2.5]])
    more = {"blocksize": (1, 1)} if layout == "sparse_bsr" else {}
    sparse = dense.to_sparse(layout=getattr(whet, layout), **more)
    for options in ({}, {"decimals": 1}):
        whet.testing.assert_close(whet.round(sparse, **options).to_dense(),
                                  dense.round(**options))
    twice = sparse.clone()
    assert twice.round_() is twice and whet.equal(twice.to_dense(), dense.round())
    assert sparse.neg_() is sparse and whet.equal(sparse.to_dense(), -dense)


def test_places_that_are_named_twice_are_summed_before_they_are_rounded():
    s = whet.sparse_coo_tensor([[0, 0]], [1.4, 0.4], (2,))
    assert s.round().to_dense().tolist() == [2, 0]
    with pytest.raises(RuntimeError, match="in-place on uncoalesced"):
        s.round_()
    whet.testing.assert_close(s.neg_().to_dense(), whet.tensor([-1.8, 0]))


def test_spsolve_solves_with_a_matrix_of_rows():
    a = whet.tensor([[2., 1.], [0., 4.]], dtype=whet.float64)
    b = whet.tensor([[4., 1.], [8., 2.]], dtype=whet.float64)
    for right in (b, b[:, 0]):
        found = whet.sparse.spsolve(a.to_sparse_csr(), right)
        whet.testing.assert_close(found, whet.linalg.solve(a, right))
    with pytest.raises(RuntimeError, match="must be of layout whet.sparse_csr"):
        whet.sparse.spsolve(a.to_sparse(), b)
