"""Are two results the same, within the bounds that PyTorch's own tests use?"""
import torch
import whet

from .findings import SHAPE, TYPE, VALUE, Differs
from .translate import back


def kind_of(x):
    """The sort of thing that a result is, by which both sides are alike."""
    for kind in (bool, int, float, complex, str):
        if type(x) is kind:
            return kind
    return tuple if isinstance(x, tuple | list) else None


def same(theirs, mine, check_values=True):
    """Raise Differs where whet's result is not torch's."""
    if isinstance(theirs, torch.Tensor):
        return same_tensor(theirs, mine, check_values)
    if isinstance(theirs, tuple | list):
        if not isinstance(mine, tuple | list) or len(mine) != len(theirs):
            raise Differs(SHAPE, f"{len(theirs)} results, but {shown(mine)}")
        for a, b in zip(theirs, mine):
            same(a, b, check_values)
    elif isinstance(theirs, dict):
        same(list(theirs), list(mine))
        same(list(theirs.values()), list(mine.values()), check_values)
    elif isinstance(theirs, torch.dtype):
        if str(theirs).rpartition(".")[2] != str(mine).rpartition(".")[2]:
            raise Differs(TYPE, f"{theirs}, but {mine}")
    elif kind_of(theirs) is not None:
        if kind_of(theirs) is not kind_of(mine):
            raise Differs(TYPE, f"{theirs!r}, but {mine!r}")
        if check_values and kind_of(theirs) is not str:
            close(torch.as_tensor(theirs), torch.as_tensor(mine))
    elif (theirs is None) is not (mine is None):
        raise Differs(SHAPE, f"{theirs!r}, but {mine!r}")


def same_tensor(theirs, mine, check_values):
    if not isinstance(mine, whet.Tensor):
        raise Differs(SHAPE, f"a tensor, but {shown(mine)}")
    if str(theirs.dtype).rpartition(".")[2] != str(mine.dtype).rpartition(".")[2]:
        raise Differs(TYPE, f"{theirs.dtype}, but {mine.dtype}")
    if tuple(theirs.shape) != tuple(mine.shape):
        raise Differs(SHAPE, f"{tuple(theirs.shape)}, but {tuple(mine.shape)}")
    if check_values:
        close(theirs.detach(), back(mine))


def close(theirs, mine):
    try:
        torch.testing.assert_close(mine, theirs, equal_nan=True)
    except AssertionError as e:
        text = " ".join(str(e).split("\n")[2:])[:150]
        if theirs.numel() < 7:
            text += f" {theirs.tolist()}, but {mine.tolist()}"
        raise Differs(VALUE, text) from None


def shown(x):
    """A short form of an argument or a result."""
    if isinstance(x, torch.Tensor | whet.Tensor):
        strides = "" if x.is_contiguous() else f" strides {tuple(x.stride())}"
        data = f" {x.tolist()}" if 0 < x.numel() < 4 else ""
        return f"<{str(x.dtype).rpartition('.')[2]} {tuple(x.shape)}{strides}{data}>"
    if isinstance(x, dict):
        return "{" + ", ".join(f"{k}={shown(v)}" for k, v in x.items()) + "}"
    if isinstance(x, tuple | list):
        return "(" + ", ".join(map(shown, x)) + ")"
    return str(x)[:120]
