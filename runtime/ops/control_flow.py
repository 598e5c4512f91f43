"""Control flow as functions: `cond`, `while_loop`, `scan`. Eagerly they are what the Python means,
and gradients flow as through any code.

A trace makes one node of a `cond` or a `while_loop`, so that the other branch, or another number of
rounds, needs no other recording (`jit/capture/control_flow.py`); a `scan` is the loop that it
stands for.
"""
from ..autograd import modes
from . import dims
from .registry import is_tensor
from .surface import FUNCTIONS as F
from .surface import function


def leaves(x, found=None):
    """What is in nested tuples, lists and dicts, in order."""
    found = [] if found is None else found
    if isinstance(x, tuple | list):
        for y in x:
            leaves(y, found)
    elif isinstance(x, dict):
        for y in x.values():
            leaves(y, found)
    else:
        found.append(x)
    return found


def like(x, values):
    """The nested tuples, lists and dicts of `x` with the next of some values for each of its
    leaves."""
    if isinstance(x, tuple | list):
        parts = [like(y, values) for y in x]
        return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
    if isinstance(x, dict):
        return type(x)((k, like(y, values)) for k, y in x.items())
    return next(values)


def structure(x):
    """The nested tuples, lists and dicts of `x`, to be compared."""
    if isinstance(x, tuple | list):
        return type(x), tuple([structure(y) for y in x])
    if isinstance(x, dict):
        return type(x), tuple([(k, structure(y)) for k, y in x.items()])
    return None


def _one(name, pred):
    """Check a predicate: a bool, or a tensor of one element."""
    if not isinstance(pred, bool) and (not is_tensor(pred) or pred.numel() != 1):
        raise RuntimeError(
            f"{name}: Expected pred to be bool or single-element tensor, but got {pred}.")
    return pred


def _tensors(name, x, what):
    for t in leaves(x):
        if not is_tensor(t):
            raise RuntimeError(
                f"{name}: Expect {what} to be a tuple of possibly nested dict/list/tuple that "
                f"only consists of tensor leaves, but got {t.__class__.__name__}.")


@function(method=False)
def cond(pred, true_fn, false_fn, operands=()):
    """`true_fn(*operands)` where `pred` (a bool or a tensor of one element) is true, else
    `false_fn(*operands)`.

    >>> import whet
    >>> def f(x):
    ...     return whet.cond(x.sum() > 0, lambda x: x * 2, lambda x: -x, (x,))
    >>> f(whet.ones(2)), f(-whet.ones(2))
    (tensor([2., 2.]), tensor([1., 1.]))

    In a trace both branches are in one recording, provided that they give tensors of the same
    shapes, types and layouts, made by them, and do nothing but compute; otherwise, and where
    gradients flow, each branch has a recording of its own.
    """
    _one("cond", pred)
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("cond: Expect both branches to be callable.")
    if not isinstance(operands, tuple | list):
        raise RuntimeError(
            "cond: Expect operands to be a tuple of possibly nested dict/list/tuple that only "
            f"consists of tensor leaves, but got {operands.__class__.__name__}.")
    _tensors("cond", operands, "operands")
    if modes.state.observers and is_tensor(pred):
        return modes.state.observers[-1].cond(pred, true_fn, false_fn, operands)
    return (true_fn if pred else false_fn)(*operands)


@function(method=False)
def while_loop(cond_fn, body_fn, carried_inputs):
    """Call `carried = body_fn(*carried)` as long as `cond_fn(*carried)` is true (a bool or a tensor
    of one element); gives `carried`.

    >>> import whet
    >>> start = whet.tensor(0), whet.ones(2)
    >>> whet.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), start)
    (tensor(3), tensor([8., 8.]))

    What is carried keeps its shapes and types. The results are never the inputs themselves. In a
    trace the number of rounds is free.
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("while_loop: Expect cond_fn and body_fn to be callable.")
    if not isinstance(carried_inputs, tuple | list):
        raise RuntimeError(
            "while_loop: Expect carried_inputs to be a tuple of possibly nested dict/list/tuple "
            "that only consists of tensor or int leaves, but got "
            f"{carried_inputs.__class__.__name__}.")
    carried = tuple(carried_inputs)
    for x in leaves(carried):
        if not is_tensor(x) and type(x) not in (int, float, bool):
            raise RuntimeError(
                "while_loop: Expect carried_inputs to be a tuple of possibly nested "
                "dict/list/tuple that only consists of tensor or int leaves, but got "
                f"{x.__class__.__name__}.")
    if modes.state.observers:
        return modes.state.observers[-1].while_loop(cond_fn, body_fn, carried)
    return rounds(cond_fn, body_fn, carried)


def rounds(cond_fn, body_fn, carried, done=lambda what, now: None):
    """A while_loop. `done("asked", answer)` is called after each question, `done("made",
    carried)` after each round."""
    first = leaves(carried)
    while True:
        answer = _one("while_loop: cond_fn", cond_fn(*carried))
        done("asked", answer)
        if not answer:
            break
        made = body_fn(*carried)
        made = tuple(made) if isinstance(made, tuple | list) else (made,)
        if structure(made) != structure(carried):
            raise RuntimeError(
                "while_loop: Expected body_fn_output and carried_inputs to have the same structure")
        for i, (x, y) in enumerate(zip(leaves(made), leaves(carried))):
            _stays("while_loop: Expected body_fn_output and carried_inputs", i, x, y)
        carried = made
        done("made", carried)
    return _copied(carried, first)


def _copied(carried, first):
    """The results of a loop: copies of those that are still what was given."""
    return like(carried,
                iter([x.clone() if is_tensor(x) and any(x is g for g in first) else x
                      for x in leaves(carried)]))


def rounds_apart(any_of, chosen, cond_fn, body_fn, carried):
    """A while_loop for several examples at once: it goes on while `any_of(answer)`, and those that
    are done keep what they carry, by `chosen(answer, new, old)`."""
    going, first = True, leaves(carried)
    while True:
        going = cond_fn(*carried) & going
        if not any_of(going):
            return _copied(carried, first)
        made = body_fn(*carried)
        made = tuple(made) if isinstance(made, tuple | list) else (made,)
        if structure(made) != structure(carried):
            raise RuntimeError(
                "while_loop: Expected body_fn_output and carried_inputs to have the same structure")
        pairs = list(zip(leaves(made), leaves(carried)))
        for i, (x, y) in enumerate(pairs):
            _stays("while_loop: Expected body_fn_output and carried_inputs", i, x, y)
        carried = like(carried, iter([chosen(going, x, y) for x, y in pairs]))


def _stays(what, i, x, before):
    """Check that something that is carried keeps its shape and type."""
    now, then = [(f"a {x.dtype} of shape {list(x.shape)}") if is_tensor(x) else x.__class__.__name__
                 for x in (x, before)]
    if now != then:
        raise RuntimeError(
            f"{what} to have same metadata but found: pair[{i}] differ: {now} vs {then}")


@function(method=False)
def scan(combine_fn, init, xs, *, dim=0, reverse=False):
    """`carry, y = combine_fn(carry, x)` for each slice `x` of `xs` along `dim`, from `init` on;
    gives the last carry and the stacked `y`s.

    >>> import whet
    >>> xs = whet.tensor([1.0, 2.0, 3.0])
    >>> whet.scan(lambda total, x: (total + x, total * x), whet.tensor(0.0), xs)
    (tensor(6.), tensor([0., 2., 9.]))

    `reverse` goes from the last slice to the first. All of it may be nested tuples, lists and dicts
    of tensors.
    """
    if not callable(combine_fn):
        raise RuntimeError(f"scan: Combine_fn must be a callable, but got {combine_fn}")
    _tensors("scan", init, "init"), _tensors("scan", xs, "xs")
    if not leaves(init):
        raise RuntimeError("scan() operator requires init leaves.")
    along = [dims.one(dim, x.ndim) for x in leaves(xs)]
    counts = {x.shape[d] for x, d in zip(leaves(xs), along)}
    if len(counts) != 1 or 0 in counts:
        raise RuntimeError("scan: All xs leaves must have the same scan dimension, of at least 1")
    slices = [x.unbind(d) for x, d in zip(leaves(xs), along)]
    ys: list = []
    carry, n = init, counts.pop()
    for i in reversed(range(n)) if reverse else range(n):
        made = combine_fn(carry, like(xs, iter([s[i] for s in slices])))
        if not isinstance(made, tuple | list) or len(made) != 2:
            raise RuntimeError(
                "scan: combine_fn must give a pair, the carry and the output, but got "
                f"{made.__class__.__name__}")
        if structure(made[0]) != structure(carry):
            raise RuntimeError("scan: The structure of the carry must stay what it is in init")
        _tensors("scan", made[1], "the outputs of combine_fn")
        for k, (x, y) in enumerate(zip(leaves(made[0]), leaves(carry))):
            _stays("scan: Expected init and carry", k, x, y)
        if ys and structure(made[1]) != structure(ys[0]):
            raise RuntimeError("scan: combine_fn must give outputs of one structure")
        carry = made[0]
        ys.append(made[1])
    if reverse:
        ys.reverse()
    columns = zip(*[leaves(y) for y in ys])
    return carry, like(
        ys[0], iter([F["stack"](column, dims.one(dim, column[0].ndim + 1)) for column in columns]))
