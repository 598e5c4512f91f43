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
    return METHODS["view"](input, dtype if size is None else size)


def slice_(input, dim=0, start=None, end=None, step=1):
    d = dims.one(dim, input.ndim)
    return input[(slice(None),) * d + (slice(start, end, step),)]


VIEWS = {"alias": alias, "expand": expand, "permute": permute, "view": view, "slice": slice_, **{
    name: FUNCTIONS.get(name) or METHODS[name]
    for name in ("as_strided detach diagonal select split split_with_sizes squeeze t transpose "
                 "unbind unfold unsqueeze view_as_complex view_as_real").split()},
    **{name: METHODS[name] for name in PARTS if name.endswith(("indices", "values"))}}


def copied(name, view):
    """The function that copies the result, or each of several, of a view."""
    @functools.wraps(view)
    def copy(*args, **kwargs):
        r = view(*args, **kwargs)
        return tuple([x.clone() for x in r]) if isinstance(r, tuple | list) else r.clone()
    copy.__name__ = copy.__qualname__ = name
    of = name.removesuffix("_copy")
    says, doc = f"A copy of the result of `{of}`, in memory of its own.", view.__doc__ or ""
    copy.__doc__ = docstrings.of_variant(says, of, name, doc) if f"whet.{of}(" in doc else says
    return with_out(copy, name)


FUNCTIONS.update({f"{name}_copy": copied(f"{name}_copy", view) for name, view in VIEWS.items()})
