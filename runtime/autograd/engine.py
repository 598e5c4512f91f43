"""Backward: one walk over the recorded nodes, newest first.

Nodes are numbered when they are made and an input's node is always older, so descending numbers are
a topological order: no recursion, no use counts. Gradients wait in a dict keyed by node. Leaves
(edges that are tensors) are finished at the end.
"""
import math
import sys
import threading
import warnings
from operator import attrgetter
from typing import Any

import numpy as np

from .. import devices, function_protocol
from ..composite import Composite
from ..dtypes import COMPLEX, FLOAT
from ..size import Size
from ..tensor_base import REQUIRES_GRAD, Base, is_strided, wrap
from . import modes
from .hooks import Hooks, check_count, retain_at
from .inplace import edge_of
from .node import GradientEdge, Node, OutputOf, Shortcut, in_full


class Later:
    """What the engine asks of ops, which are loaded after it: `ops/creation.py` brings it."""
    literal: Any
    zeros_like: Any
    lies_as: Any
    copy_laid_as: Any


later = Later()

_by_number = attrgetter("seq")
_accumulating = threading.RLock()
getrefcount = sys.getrefcount


def _reach(roots):
    """Every node under the roots, oldest first."""
    seen = set(roots)
    stack = list(roots)
    while stack:
        for e in stack.pop().edges:
            if e is not None and e not in seen and not isinstance(e, Base):
                seen.add(e)
                stack.append(e)
    return sorted(seen, key=_by_number)


def _needed(order, targets):
    """The nodes from which one of the target edges can be reached."""
    need: set = set()
    for n in order:
        if n in targets or _leads_on(n, need, targets):
            need.add(n)
    return need


def _leads_on(node, need, targets):
    """Does one of its edges lead to a target?"""
    for e in node.edges:
        if e is not None and (e in need or id(e) in targets):
            return True
    return False


def _in_part(node, need, targets):
    """Is a short cut needed for some of its edges alone (or might fail for the others)?"""
    return node in need and (node.stale() or not all(
        e is None or e in need or id(e) in targets for e in node.edges))


def run(roots, gradients, keep, create, targets=None, accumulate=True, level=None):
    """Propagate `gradients` from the edges `roots`. Returns {edge or id(leaf): gradient} for the
    targets (a dict of keys). `level`: the function transform (autograd/levels.py) whose history it
    is; the layers beneath it record what runs, whether it does or not."""
    grads: dict = {}
    leaves: dict = {}
    start = []
    for e, g in zip(roots, gradients):
        if isinstance(e, Base):
            _give_leaf(leaves, e, g)
        else:
            grads[e] = g if e not in grads else grads[e] + g
            start.append(e)
    order = _reach(start)
    need = None if targets is None else _needed(order, targets)
    state = modes.state
    before = state.flags
    watched = before & (modes.SPECIAL | modes.CASTS)
    if create or targets is not None or watched:
        whole = create or watched
        short = [
            n for n in order if isinstance(n, Shortcut) and (
                whole or _in_part(n, need, targets) or targets is not None and n.shares())]
        if short:
            for n in short:
                n.open()
            order = _reach(start)
            need = None if targets is None else _needed(order, targets)
    outer, outer_walk = state.pending, state.walk
    quiet = level is not None and level.quiet

    def end():
        state.pending, state.walk = outer, outer_walk
        if level is not None:
            level.quiet = quiet
        modes.set_flags(before & ~modes.SPECIAL | state.flags & modes.SPECIAL)
    try:
        try:
            state.pending = grads, leaves
            state.walk = modes.Walk(order, need, targets)
            if level is not None:
                level.quiet = quiet or not create and bool(before & modes.GRAD)
            modes.set_flags(before | modes.GRAD if create else before & ~modes.GRAD)
            return _walk(order, grads, leaves, keep, create, targets, need, accumulate)
        finally:
            end()
    finally:
        end()                       # again: an interrupt may come in the midst of it


def _release(node, observers):
    """Drop what a node has saved."""
    node.release()
    for o in observers:
        o.freed(node)


def _walk(order, grads, leaves, keep, create, targets, need, accumulate):
    """Take the gradients through the nodes, newest first, and finish the leaves."""
    captured, state = {}, modes.state
    for node in reversed(order):
        g = grads.pop(node, None)
        if g is None or (need is not None and node not in need):
            continue
        if type(node) is OutputOf:
            if node.pre_hooks:
                g = _run_pre_hooks(node.pre_hooks, g)
            if targets is not None and node in targets:
                captured[node] = g
            _add_to_output(grads, node, g)
            continue
        if node.pre_hooks:
            g = _run_pre_hooks(node.pre_hooks, g)
        if targets is not None and node in targets:
            captured[node] = g
            if not _leads_on(node, need, targets):
                continue
        try:
            results = _backward(node, g, keep, need, targets)
        except BaseException:
            if not keep and isinstance(node, Shortcut):
                node.broke_off()
            raise
        if node.post_hooks:
            results = _run_post_hooks(node, results, g)
        if state.anomaly:
            _check_nan(node, results)
        if not keep:
            _release(node, state.observers)
        for e, r in zip(node.edges, results):
            if r is None or e is None:
                continue
            if isinstance(e, Base):
                if targets is None or id(e) in targets:
                    _give_leaf(leaves, e, r)
            else:
                have = grads.get(e)
                grads[e] = r if have is None else have + r
        del results, g
    if targets is not None:
        for k, (leaf, g) in leaves.items():
            captured[k] = _leaf_hooks(leaf, g)
        if not accumulate:
            return captured
    _accumulate_leaves(leaves, create)
    return captured


def _add_to_output(grads, output, g):
    """Add a gradient to those of one output of a node that has several."""
    parent = output.parent
    slots = grads.get(parent)
    if slots is None:
        slots = grads[parent] = [None] * parent.nout
    # a backward that reads the output has an edge of its own to it: gradients come one by one
    have = slots[output.index]
    slots[output.index] = g if have is None else have + g


def _accumulate_leaves(leaves, create):
    """Add the gradients that arrived at leaves to their `.grad`, and empty the dict."""
    for key in list(leaves):
        leaf, g = leaves.pop(key)
        # a hook may have called requires_grad_(False) since
        if leaf._rg & REQUIRES_GRAD:
            _accumulate(leaf, _leaf_hooks(leaf, g), create)


def _backward(node, g, keep, need, targets):
    """The gradients that a node gives. Some ops write over what they saved where nothing else reads
    it again, and some can leave out what does not lead to a target."""
    op = node.op
    walk: Any = modes.state.walk
    walk.at = node
    try:
        if need is not None and getattr(op, "wants_needs", False):
            return op.backward(node, g, tuple([
                e is not None and (e in need or id(e) in targets) for e in node.edges]))
        return (op.backward if keep else getattr(op, "last_backward", op.backward))(node, g)
    finally:
        walk.at = None


def _give_leaf(leaves, leaf, g):
    try:
        if leaf._array.dtype is not g._array.dtype:
            g = cast_gradient(g, leaf)
    except AttributeError:                   # a sparse one
        g = cast_gradient(g, leaf)
    have = leaves.get(id(leaf))
    leaves[id(leaf)] = (leaf, g) if have is None else (leaf, have[1] + g)


def cast_gradient(g, like):
    """A gradient in the type of the tensor that it belongs to: the real part, if that is real."""
    if g.dtype.category == COMPLEX and like.dtype.category != COMPLEX:
        g = g.real
    return g if g.dtype is like.dtype else g.to(like.dtype)


def _leaf_hooks(leaf, g):
    hooks = leaf._extra and leaf._extra.get("hooks")
    return _run_pre_hooks(hooks, g) if hooks else g


def _run_pre_hooks(hooks, g):
    for h in list(hooks.values()) if len(hooks) == 1 else sorted(hooks.values(), key=_turn):
        r = h(g)
        if r is not None:
            g = r
    return g


def _turn(hook):
    """Tensors' hooks come first, then what retains gradients, then the node's own."""
    return getattr(hook, "turn", 0)


def _run_post_hooks(node, results, g):
    outs = tuple(g) if isinstance(g, list) else (g,)
    for h in list(node.post_hooks.values()):
        r = h(tuple(results), outs)
        if r is not None:
            r = r if isinstance(r, tuple | list) else (r,)
            check_count(h, r, results)
            results = r
    return results


def _check_nan(node, results):
    if not modes.state.check_nan:
        return
    for i, r in enumerate(results):
        if issubclass(type(r), Composite):
            r = r._held
        if r is not None and r.dtype.category >= FLOAT and bool((r != r).any()):
            if node.trace:
                warnings.warn(
                    f"Error detected in {node.name()}. Traceback of forward call that caused the "
                    f"error:\n{node.trace}",
                    stacklevel=4)
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")


def _accumulate(leaf, g, create):
    """leaf.grad += g. A gradient that nothing else references becomes `.grad` itself if its layout
    is the leaf's; else `.grad` gets the leaf's layout."""
    extra = leaf._extra
    if extra and "node" in extra:
        g = _run_pre_hooks(extra["node"].pre_hooks, g)
    with _accumulating:
        have = leaf._grad
        if have is None:
            try:
                a = g._array
                mine = (getrefcount(g) <= _unshared and g._cell is None and a.flags.writeable
                        and later.lies_as(a, leaf._array))
            except AttributeError:           # a sparse one
                mine = False
            leaf._grad = g if mine else later.copy_laid_as(g if create else g.detach(), leaf)
        elif create or issubclass(type(have), Composite):
            leaf._grad = have + g
        else:
            have.add_(g)
    if not extra:
        return
    for h in list(extra.get("post_accumulate", {}).values()):
        r = h(leaf)
        if r is not None:
            raise TypeError(
                "post accumulate grad hooks should return None, but one returned "
                f"{type(r).__name__}")
    if "node" in extra:
        for h in list(extra["node"].post_hooks.values()):
            h((), (g,))


def _references():
    """What `getrefcount` says in `_accumulate` of a gradient that only `run` and `_accumulate`
    hold (it depends on the interpreter)."""
    def accumulate(leaf, g, create):
        return getrefcount(g)

    def hooks(leaf, g):
        return g
    leaves = {0: (None, object())}
    leaf, g = leaves.pop(0)
    return accumulate(leaf, hooks(leaf, g), False)


_unshared = _references()


# ---- the public calls ----------------------------------------------------------------------------
def as_tuple(x):
    one = x is None or hasattr(x, "_array") or isinstance(x, Composite | GradientEdge)
    return (x,) if one else tuple(x)


def _tensors_of(roots):
    """The tensors among what a backward starts from."""
    return [t for t in roots if not isinstance(t, GradientEdge)]


def _start(tensors, gradients, what):
    """The edges to start from and their gradients, checked."""
    roots, gs = [], []
    if gradients is None:
        gradients = [None] * len(tensors)
    if len(gradients) != len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(gradients)} gradients")
    for i, (t, g) in enumerate(zip(tensors, gradients)):
        e, g = (_at_edge if isinstance(t, GradientEdge) else _at_tensor)(t, g, i, what)
        roots.append(e)
        gs.append(g)
    return roots, gs


def _at_tensor(t, g, i, what):
    """Where a backward from a tensor starts, and with which gradient."""
    if issubclass(type(t), Composite):
        g = g if g is None else t._values_of(g)
        t = t._held
    if not hasattr(t, "_array"):
        raise TypeError(f"{what}: element {i} is not a Tensor but {type(t).__name__}")
    e = edge_of(t)
    if e is None:
        raise RuntimeError(
            f"element {i} of tensors does not require grad and does not have a grad_fn"
            + _beyond([t]))
    if g is None:
        _check_implied(t._array.size, t.dtype)
        a = t._array
        if devices.is_elsewhere(a):
            g = devices.beyond.filled(a.index, a.shape, a.dtype, 1)
        else:                                # quickest for what most losses are
            g = np.ones(a.shape, a.dtype) if a.shape else np.array(1, a.dtype)
        g = later.literal(g) if modes.state.observers else wrap(g)
    else:
        _check_given(g, i, t._array.shape, t.dtype)
    return e, g


def _at_edge(edge, g, i, what):
    """Where a backward from a gradient edge starts. One made of a tensor knows what that was."""
    outline: Any = edge.outline or (None, None, None)
    shape, dtype, device = outline
    if g is None:
        if shape is None:
            raise RuntimeError(f"{what}: element {i} is an edge that was made of no tensor; it "
                               "needs a gradient to start with")
        _check_implied(math.prod(shape), dtype)
        g = later.literal(np.ones(shape, dtype.np)).to(device)
    else:
        _check_given(g, i, shape, dtype)
    return edge.edge(), g


def _check_implied(size, dtype):
    """May a backward start with a gradient of one?"""
    if size != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if dtype.category == COMPLEX:
        raise RuntimeError(
            f"grad can be implicitly created only for real scalar outputs but got {dtype!r}")


def _check_given(g, i, shape, dtype):
    """Does a gradient fit an output (of shape and type None: any)?"""
    if not hasattr(g, "_array"):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
    if shape is not None and g._array.shape != tuple(shape):
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {g.shape} and output[{i}] "
            f"has a shape of {Size(shape)}.")
    if dtype is not None and (g.dtype.category == COMPLEX) != (dtype.category == COMPLEX):
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same "
            f"dtype. Mismatch in dtype: grad_output[{i}] has a dtype of {g.dtype} and "
            f"output[{i}] has a dtype of {dtype}.")


def _beyond(tensors):
    """What to add to an error about the history of tensors inside of a transform."""
    level = modes.level_of(tensors)
    if level is None:
        return ""
    return (
        f" Inside of a {level.name}, the history of a tensor reaches back to the arguments of "
        f"{level.name}, not to tensors from outside. To differentiate with respect to a tensor "
        f"from outside, pass it to {level.name} as an argument, and use func.grad(f, argnums) "
        "inside.")


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False,
             grad_variables=None, inputs=None):
    """Accumulate the gradients of the tensors into the leaves' `.grad` (only of `inputs`, where
    given). `grad_variables` is an older name of `grad_tensors`.

    >>> import whet
    >>> x = whet.tensor(3., requires_grad=True)
    >>> whet.autograd.backward(x ** 2)
    >>> x.grad
    tensor(6.)
    """
    if grad_variables is not None:
        modes.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
                "`backward()`. Please only use `grad_tensors`.")
        grad_tensors = grad_variables
    tensors = as_tuple(tensors)
    level = modes.deferred(_tensors_of(tensors))
    if level is not None:
        return level.now(backward, tensors, grad_tensors, retain_graph, create_graph, None,
                         inputs)
    if grad_tensors is not None:
        grad_tensors = as_tuple(grad_tensors)
    roots, gs = _start(tensors, grad_tensors, "backward")
    keep = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        run(roots, gs, keep, create_graph, level=modes.level_of(_tensors_of(tensors)))
        return
    inputs = as_tuple(inputs)
    if not inputs:
        raise RuntimeError("'inputs' argument to backward() cannot be empty.")
    targets = _targets(inputs)
    for t in inputs:
        retain_grad(t)
    got = run(roots, gs, keep, create_graph, targets, accumulate=False,
              level=modes.level_of(_tensors_of(tensors)))
    with modes.enable_grad() if create_graph else modes.no_grad():
        for t, k in zip(inputs, _keys(inputs)):
            if k in got and not t.retains_grad:
                _accumulate(t, got.pop(k), create_graph)


def _keys(inputs):
    out = []
    for t in inputs:
        e = t.edge() if isinstance(t, GradientEdge) else edge_of(t)
        out.append(id(t) if e is None else id(e) if isinstance(e, Base) else in_full(e))
    return out


def _targets(inputs):
    for t in inputs:
        if isinstance(t, GradientEdge):
            continue
        if not hasattr(t, "_array"):
            raise TypeError(f"inputs must be Tensors, got {type(t).__name__}")
        if not t.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    return dict.fromkeys(_keys(inputs))


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False,
         allow_unused=None, materialize_grads=False):
    """The gradients of the sum of the outputs with respect to each input, as a tuple: see
    `whet.autograd.grad`."""
    outputs, inputs = as_tuple(outputs), as_tuple(inputs)
    if allow_unused is None:
        allow_unused = materialize_grads
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    grad_outputs = None if grad_outputs is None else as_tuple(grad_outputs)
    if (not all(map(is_strided, (*outputs, *inputs)))
            and function_protocol.foreign((outputs, inputs), {})):
        return function_protocol.hand_over(grad, (outputs, inputs, grad_outputs), {
            "retain_graph": retain_graph, "create_graph": create_graph,
            "allow_unused": allow_unused, "materialize_grads": materialize_grads})
    level = modes.deferred(_tensors_of(outputs))
    if level is not None:
        return level.now(grad, outputs, inputs, grad_outputs, retain_graph, create_graph,
                         allow_unused, materialize_grads)
    roots, gs = _start(outputs, grad_outputs, "grad")
    keep = create_graph if retain_graph is None else retain_graph
    targets = _targets(inputs)
    got = run(roots, gs, keep, create_graph, targets, accumulate=False,
              level=modes.level_of(_tensors_of(outputs)))
    result = []
    for i, (t, k) in enumerate(zip(inputs, _keys(inputs))):
        g = got.get(k)
        if g is None and not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {i} appears to not have been used in the "
                "graph. Set allow_unused=True if this is the desired behavior."
                + _beyond(_tensors_of(outputs)))
        if g is None and materialize_grads:
            g = later.zeros_like(t)
        result.append(g)
    return tuple(result)


def depends_on_others(outputs, inputs):
    """Do the outputs depend on tensors that somebody outside may differentiate by: does their
    history reach other leaves than the inputs?

    The function may have closed over them, so its arguments alone do not decide. No gradient can be
    asked for the variables of a transform that has ended.
    """
    own = {id(t) for t in inputs}
    seen, stack = set(), [e for e in map(edge_of, outputs) if e is not None]
    while stack:
        edge = stack.pop()
        if isinstance(edge, Base):
            if id(edge) not in own and not (edge._extra and "ended" in edge._extra):
                return True
        elif edge is not None and edge not in seen:
            seen.add(edge)
            stack.extend(edge.edges)
    return False



# ---- hooks ---------------------------------------------------------------------------------------
def register_tensor_hook(t, hook):
    if not t.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    e = edge_of(t)

    def checked(g):
        r = hook(g)
        if r is not None and not hasattr(r, "_array") and not isinstance(r, Composite):
            raise TypeError(f"expected a Tensor or None from the hook, got {type(r).__name__}")
        for called, what in (("size", "shape"), ("type", "dtype")) if r is not None else ():
            before, after = getattr(g, what), getattr(r, what)
            if before != after:
                raise RuntimeError(f"hook '{getattr(hook, '__name__', type(hook).__name__)}' has "
                                   f"changed the {called} of value: {before} to {after}")
        return r
    if isinstance(e, Base):
        if t._extra is None:
            t._extra = {}
        return t._extra.setdefault("hooks", Hooks()).add(checked)
    in_full(e)
    if e.pre_hooks is None:
        e.pre_hooks = Hooks()
    return e.pre_hooks.add(checked)


def register_post_accumulate_hook(t, hook):
    if not t.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if not t.is_leaf:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    if t._extra is None:
        t._extra = {}
    return t._extra.setdefault("post_accumulate", Hooks()).add(hook)


def retain_grad(t):
    if not t.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if t.is_leaf or t.retains_grad:
        return
    retain_at(t, in_full(edge_of(t)))
    t._extra = t._extra or {}
    t._extra["retains_grad"] = True


__all__ = ["Node", "backward", "grad", "run"]
