"""Views in memory of their own: `NAME_copy(input, ...)` is what `NAME` gives, copied."""
import functools

from ..layouts import PARTS
from . import dims, docstrings
from .out_arguments import with_out
from .surface import FUNCTIONS, METHODS


def alias(input):
    return METHODS["view"](input, input.shape)


def expand(input, size):
    return METHODS["expand"](input, size)


def permute(input, dims):
    return METHODS["permute"](input, dims)


def view(input, size=None, *, dtype=None):
    if size is None or isinstance(size, type(input.dtype)):
        return METHODS["view"](input, dtype if size is None else size)
    return METHODS["reshape"](input, size)      # the copy need not be a view of it first


def slice_(input, dim=0, start=None, end=None, step=1):
    d = dims.one(dim, input.ndim)
    return input[(slice(None),) * d + (slice(start, end, step),)]


VIEWS = {"alias": alias, "expand": expand, "permute": permute, "view": view, "slice": slice_, **{
    name: FUNCTIONS.get(name) or METHODS[name]
    for name in ("as_strided detach diagonal select split split_with_sizes squeeze t transpose "
                 "unbind unfold unsqueeze view_as_complex view_as_real").split()},
    **{name: METHODS[name] for name in PARTS if name.endswith(("indices", "values"))}}

# operands and their result, of those whose views show no example as functions
EXAMPLES = {
    "alias": "whet.arange(2) -> tensor([0, 1])",
    "detach": "whet.arange(2) -> tensor([0, 1])",
    "expand": "whet.tensor([[1], [2]]), (2, 2) -> tensor([[1, 1], [2, 2]])",
    "permute": "whet.tensor([[1], [2]]), (1, 0) -> tensor([[1, 2]])",
    "view": "whet.arange(4), (2, 2) -> tensor([[0, 1], [2, 3]])",
    "slice": "whet.arange(4), 0, 1, 3 -> tensor([1, 2])",
    "diagonal": "whet.eye(2) -> tensor([1., 1.])",
    "split": "whet.arange(3), 2 -> (tensor([0, 1]), tensor([2]))",
    "split_with_sizes": "whet.arange(3), [1, 2] -> (tensor([0]), tensor([1, 2]))",
    "squeeze": "whet.ones(1, 2) -> tensor([1., 1.])",
    "unfold": "whet.arange(4), 0, 2, 2 -> tensor([[0, 1], [2, 3]])",
    "indices": "whet.eye(2).to_sparse() -> tensor([[0, 1], [0, 1]])",
    "values": "whet.eye(2).to_sparse() -> tensor([1., 1.])",
    "crow_indices": "whet.eye(2).to_sparse_csr() -> tensor([0, 1, 2])",
    "col_indices": "whet.eye(2).to_sparse_csr() -> tensor([0, 1])",
    "ccol_indices": "whet.eye(2).to_sparse_csc() -> tensor([0, 1, 2])",
    "row_indices": "whet.eye(2).to_sparse_csc() -> tensor([0, 1])"}


def copied(name, view):
    """The function that copies the result, or each of several, of a view."""
    @functools.wraps(view)
    def copy(*args, **kwargs):
        r = view(*args, **kwargs)
        return tuple([x.clone() for x in r]) if isinstance(r, tuple | list) else r.clone()
    copy.__name__ = copy.__qualname__ = name
    of = name.removesuffix("_copy")
    says, doc = f"A copy of the result of `{of}`, in memory of its own.", view.__doc__ or ""
    if of in EXAMPLES:
        operands, shown = EXAMPLES[of].split(" -> ")
        copy.__doc__ = docstrings.with_example(says, f"whet.{name}({operands})", shown)
    else:
        copy.__doc__ = docstrings.of_variant(says, of, name, doc)
    return with_out(copy, name)


FUNCTIONS.update({f"{name}_copy": copied(f"{name}_copy", view) for name, view in VIEWS.items()})
