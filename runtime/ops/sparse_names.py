"""The functions and methods of dense tensors that lead to sparse ones. What they do is in
`whet.sparse`, which is imported when the first is called."""
import importlib

from .surface import function, method


def _rules():
    return importlib.import_module("whet.sparse").RULES


@method()
def to_sparse(self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
    """The same as a sparse tensor: of so many sparse dimensions, or of a layout."""
    return _rules()["to_sparse"](self, sparse_dim, layout=layout, blocksize=blocksize,
                                 dense_dim=dense_dim)


@method()
def to_sparse_coo(self):
    """The elements that are not zero, with their places."""
    return _rules()["to_sparse_coo"](self)


@method()
def to_sparse_csr(self, dense_dim=None):
    """The elements that are not zero, row by row."""
    return _rules()["to_sparse_csr"](self, dense_dim=dense_dim)


@method()
def to_sparse_csc(self, dense_dim=None):
    """The elements that are not zero, column by column."""
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
    """The elements at the places of a sparse tensor."""
    return _rules()["sparse_mask"](self, mask)


@method()
def sparse_dim(self):
    """How many sparse dimensions there are: none."""
    return 0


@method()
def dense_dim(self):
    """How many dense dimensions there are: all."""
    return self.ndim


@function(method=False)
def spmm(input, mat2):
    """The product of a sparse matrix and a dense one."""
    return _rules()["mm"](input, mat2)


@function()
def smm(input, mat):
    """The product of a sparse matrix and a dense one, as a sparse one."""
    return _rules()["smm"](input, mat)


@function()
def sspaddmm(input, mat1, mat2, *, beta=1, alpha=1):
    """beta times a sparse matrix and alpha times a product, as a sparse one."""
    return _rules()["sspaddmm"](input, mat1, mat2, beta=beta, alpha=alpha)


@function(method=False)
def hspmm(mat1, mat2):
    """The product of a sparse matrix and a dense one, as the rows that have entries."""
    return _rules()["hspmm"](mat1, mat2)
