"""The functions and methods of dense tensors that lead to sparse ones. What they do is in
`whet.sparse`, which is imported when the first is called."""
import importlib

from ..composite import Composite
from ..layouts import PARTS, no_such_part
from .surface import FUNCTIONS, METHODS, function, method


def _rules():
    return importlib.import_module("whet.sparse").RULES


@method()
def to_sparse(self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
    """The tensor as a sparse one, with a number of sparse dimensions, or a layout.

    >>> import whet
    >>> whet.eye(2).to_sparse().indices()
    tensor([[0, 1],
            [0, 1]])
    """
    return _rules()["to_sparse"](self, sparse_dim, layout=layout, blocksize=blocksize,
                                 dense_dim=dense_dim)


@method()
def to_sparse_coo(self):
    """The elements that are not zero, with their places.

    >>> import whet
    >>> whet.eye(2).to_sparse_coo().values()
    tensor([1., 1.])
    """
    return _rules()["to_sparse_coo"](self)


@method()
def to_sparse_csr(self, dense_dim=None):
    """The elements that are not zero, row by row.

    >>> import whet
    >>> whet.eye(2).to_sparse_csr().crow_indices()
    tensor([0, 1, 2])
    """
    return _rules()["to_sparse_csr"](self, dense_dim=dense_dim)


@method()
def to_sparse_csc(self, dense_dim=None):
    """The elements that are not zero, column by column.

    >>> import whet
    >>> whet.eye(2).to_sparse_csc().ccol_indices()
    tensor([0, 1, 2])
    """
    return _rules()["to_sparse_csc"](self, dense_dim=dense_dim)


@method()
def to_sparse_bsr(self, blocksize, dense_dim=None):
    """The blocks that are not zero, row by row."""
    return _rules()["to_sparse_bsr"](self, blocksize, dense_dim=dense_dim)


@method()
def to_sparse_bsc(self, blocksize, dense_dim=None):
    """The blocks that are not zero, column by column."""
    return _rules()["to_sparse_bsc"](self, blocksize, dense_dim=dense_dim)


@method()
def sparse_mask(self, mask):
    """The elements at the places of a sparse tensor.

    >>> import whet
    >>> whet.tensor([[1., 2.], [3., 4.]]).sparse_mask(whet.eye(2).to_sparse()).values()
    tensor([1., 4.])
    """
    return _rules()["sparse_mask"](self, mask)


@method()
def sparse_dim(self):
    """How many sparse dimensions there are: none.

    >>> import whet
    >>> whet.eye(2).to_sparse().sparse_dim()
    2
    """
    return 0


@method()
def dense_dim(self):
    """How many dense dimensions there are: all.

    >>> import whet
    >>> whet.eye(2).to_sparse().dense_dim()
    0
    """
    return self.ndim


@function("dsmm", method=False)
def spmm(input, mat2):
    """The product of two matrices, of which the first may be sparse.

    >>> import whet
    >>> whet.spmm(whet.eye(2).to_sparse(), whet.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    return FUNCTIONS["mm"](input, mat2)


@function()
def smm(input, mat):
    """The product of a sparse matrix and a dense one, as a sparse one.

    >>> import whet
    >>> whet.smm(whet.eye(2).to_sparse(), whet.ones(2, 1)).to_dense()
    tensor([[1.],
            [1.]])
    """
    return _rules()["smm"](input, mat)


@function()
def sspaddmm(input, mat1, mat2, *, beta=1, alpha=1):
    """beta times a sparse matrix and alpha times a product, as a sparse one.

    >>> import whet
    >>> eye = whet.eye(2).to_sparse()
    >>> whet.sspaddmm(eye, eye, whet.ones(2, 2)).to_dense()
    tensor([[2., 1.],
            [1., 2.]])
    """
    return _rules()["sspaddmm"](input, mat1, mat2, beta=beta, alpha=alpha)


@function("hsmm", method=False)
def hspmm(mat1, mat2):
    """The product of a sparse matrix and a dense one, as the rows that have entries.

    >>> import whet
    >>> whet.hspmm(whet.tensor([[0., 2.], [0., 0.]]).to_sparse(), whet.ones(2, 3)).to_dense()
    tensor([[2., 2., 2.],
            [0., 0., 0.]])
    """
    return _rules()["hspmm"](mat1, mat2)


# ---- what only sparse tensors have ---------------------------------------------------------------
def _part(name):
    def part(self):
        if issubclass(type(self), Composite):
            return getattr(self, name)()
        raise no_such_part(name, self.layout)
    part.__name__ = part.__qualname__ = name
    part.__doc__ = (f"`{name}()` of a {PARTS[name]} tensor. A dense one has none, and raises "
                    "RuntimeError.")
    return part


METHODS.update({name: _part(name) for name in PARTS})


def _resizes(name, what):
    def resize(self, size, sparse_dim, dense_dim):
        if issubclass(type(self), Composite):
            return getattr(self, name)(size, sparse_dim, dense_dim)
        raise NotImplementedError(
            f"Could not run '{name}' with arguments of layout {self.layout}: it is there for "
            "tensors of layout whet.sparse_coo")
    resize.__name__ = resize.__qualname__ = name
    resize.__doc__ = f"Give a sparse tensor another size, {what}, in place."
    return resize


METHODS["sparse_resize_"] = _resizes("sparse_resize_", "with the entries that it has")
METHODS["sparse_resize_and_clear_"] = _resizes("sparse_resize_and_clear_", "without entries")
