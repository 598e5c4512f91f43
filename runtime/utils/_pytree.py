"""Containers as trees: their leaves in order, and what builds them up again.

PyTorch has no public form of these functions, so programs take them from where they are.
"""
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass
from typing import Any, NamedTuple


class NodeDef(NamedTuple):
    """How containers of a class are taken apart and put together."""
    flatten_fn: Any
    unflatten_fn: Any
    flatten_with_keys_fn: Any = None


def _dict_flatten(d):
    return list(d.values()), list(d)


def _dict_unflatten(values, context):
    return dict(zip(context, values, strict=True))


def _dict_flatten_with_keys(d):
    values, names = _dict_flatten(d)
    return [(MappingKey(k), v) for k, v in zip(names, values)], names


def _sequence_flatten_with_keys(x):
    """What serves every class whose own way to flatten says no keys."""
    parts, context = SUPPORTED_NODES[_kind(x)].flatten_fn(x)
    return [(SequenceKey(i), part) for i, part in enumerate(parts)], context


SUPPORTED_NODES: dict[Any, NodeDef] = {
    tuple: NodeDef(lambda t: (list(t), None), lambda parts, _: tuple(parts)),
    list: NodeDef(lambda x: (list(x), None), lambda parts, _: list(parts)),
    dict: NodeDef(_dict_flatten, _dict_unflatten, _dict_flatten_with_keys),
    OrderedDict: NodeDef(
        _dict_flatten, lambda parts, keys: OrderedDict(zip(keys, parts)), _dict_flatten_with_keys),
    defaultdict: NodeDef(
        lambda d: (list(d.values()), [d.default_factory, list(d)]),
        lambda parts, told: defaultdict(told[0], zip(told[1], parts)),
        lambda d: ([(MappingKey(k), v) for k, v in d.items()], [d.default_factory, list(d)])),
    deque: NodeDef(lambda d: (list(d), d.maxlen), lambda parts, most: deque(parts, maxlen=most)),
    namedtuple: NodeDef(
        lambda t: (list(t), type(t)), lambda parts, cls: cls(*parts),
        lambda t: ([(GetAttrKey(k), v) for k, v in zip(t._fields, t)], type(t)))}


def register_pytree_node(cls, flatten_fn, unflatten_fn, *, flatten_with_keys_fn=None, **names):
    """Containers of a class are trees: `flatten_fn(x)` gives (parts, context), and
    `unflatten_fn(parts, context)` builds one. `flatten_with_keys_fn(x)` gives ([(key, part), ...],
    context), for paths; without it the keys are positions.

    >>> from whet.utils._pytree import register_pytree_node, tree_map
    >>> class Pair:
    ...     def __init__(self, a, b): self.a, self.b = a, b
    >>> register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda parts, _: Pair(*parts))
    >>> tree_map(lambda x: 10 * x, Pair(1, [2, 3])).b
    [20, 30]
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node")
    SUPPORTED_NODES[cls] = NodeDef(flatten_fn, unflatten_fn, flatten_with_keys_fn)


_register_pytree_node = register_pytree_node    # its name in packages from before it was public


def _kind(tree):
    """The class under which a container is known, or None for a leaf."""
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return namedtuple
    return type(tree) if type(tree) in SUPPORTED_NODES else None


@dataclass
class TreeSpec:
    """What is left of a tree without its leaves."""
    type: Any
    context: Any
    children_specs: list

    def __post_init__(self):
        self.num_nodes = 1 + sum(c.num_nodes for c in self.children_specs)
        self.num_leaves = sum(c.num_leaves for c in self.children_specs) if self.type else 1
        self.num_children = len(self.children_specs)

    def is_leaf(self):
        return self.type is None

    def unflatten(self, leaves):
        """The tree with these leaves."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but "
                             f"the spec refers to a pytree that holds {self.num_leaves} items")
        return self._built(iter(leaves))

    def _built(self, leaves):
        if self.type is None:
            return next(leaves)
        return SUPPORTED_NODES[self.type].unflatten_fn(
            [c._built(leaves) for c in self.children_specs], self.context)

    def flatten_up_to(self, tree):
        """The parts of a tree of the same form, where this one has leaves."""
        if self.type is None:
            return [tree]
        if _kind(tree) is not self.type:
            raise ValueError(f"Type mismatch; expected {self.type!r}, but got {type(tree)!r}.")
        parts, context = SUPPORTED_NODES[self.type].flatten_fn(tree)
        if self.type in (dict, OrderedDict) and set(context) == set(self.context):
            parts = [tree[k] for k in self.context]
        elif context != self.context or len(parts) != self.num_children:
            raise ValueError(
                f"Node arity or context mismatch; expected {self.num_children} parts with "
                f"{self.context!r}, but got {len(parts)} with {context!r}.")
        return [x for c, p in zip(self.children_specs, parts) for x in c.flatten_up_to(p)]


class LeafSpec(TreeSpec):
    """A leaf."""

    def __init__(self):
        super().__init__(None, None, [])


def _split(tree, leaves, is_leaf):
    kind = _kind(tree)
    if kind is None or is_leaf is not None and is_leaf(tree):
        leaves.append(tree)
        return LeafSpec()
    parts, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_split(p, leaves, is_leaf) for p in parts])


def tree_flatten(tree, is_leaf=None):
    """(leaves in order, the `TreeSpec`)

    >>> from whet.utils._pytree import tree_flatten, tree_unflatten
    >>> leaves, spec = tree_flatten({"a": 1, "b": [2, (3, 4)]})
    >>> leaves, tree_unflatten([10 * x for x in leaves], spec)
    ([1, 2, 3, 4], {'a': 10, 'b': [20, (30, 40)]})
    """
    leaves: list = []
    spec = _split(tree, leaves, is_leaf)
    return leaves, spec


def tree_unflatten(leaves, treespec):
    """The tree of this form with these leaves."""
    return treespec.unflatten(leaves)


def tree_leaves(tree, is_leaf=None):
    """The leaves, in order."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree, is_leaf=None):
    """The `TreeSpec` of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func, tree, *rests, is_leaf=None):
    """The tree with func(leaf, ...) for each leaf, and for what lies there in trees of its form.

    >>> from whet.utils._pytree import tree_map
    >>> tree_map(lambda a, b: a + b, [1, (2, 3)], [10, (20, 30)])
    [11, (22, 33)]
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *(spec.flatten_up_to(r) for r in rests)))


def tree_map_(func, tree, *rests, is_leaf=None):
    """Call func(leaf, ...) for each leaf; the tree as it was."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for parts in zip(leaves, *(spec.flatten_up_to(r) for r in rests)):
        func(*parts)
    return tree


def tree_map_only(type_or_predicate, func, tree, is_leaf=None):
    """`tree_map` of leaves of a type, or of those for which a predicate holds."""
    wanted = _is_wanted(type_or_predicate)
    return tree_map(lambda x: func(x) if wanted(x) else x, tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    """Does a predicate hold for all leaves?"""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def _is_wanted(type_or_predicate):
    """The predicate that a type, several, or a predicate stands for."""
    if callable(type_or_predicate) and not isinstance(type_or_predicate, type):
        return type_or_predicate
    return lambda x: isinstance(x, type_or_predicate)


def tree_map_only_(type_or_predicate, func, tree, is_leaf=None):
    """`tree_map_` of leaves of a type, or of those for which a predicate holds."""
    wanted = _is_wanted(type_or_predicate)
    return tree_map_(lambda x: func(x) if wanted(x) else None, tree, is_leaf=is_leaf)


def tree_all_only(type_or_predicate, pred, tree, is_leaf=None):
    """Does a predicate hold for all leaves of a type?"""
    wanted = _is_wanted(type_or_predicate)
    return all(pred(x) for x in tree_leaves(tree, is_leaf) if wanted(x))


def tree_any_only(type_or_predicate, pred, tree, is_leaf=None):
    """Does a predicate hold for any leaf of a type?"""
    wanted = _is_wanted(type_or_predicate)
    return any(pred(x) for x in tree_leaves(tree, is_leaf) if wanted(x))


def tree_iter(tree, is_leaf=None):
    """An iterator over the leaves."""
    return iter(tree_leaves(tree, is_leaf))


def tree_is_leaf(tree, is_leaf=None):
    """Is it a leaf, no container?"""
    return _kind(tree) is None or is_leaf is not None and is_leaf(tree)


# ---- paths ---------------------------------------------------------------------------------------
@dataclass(frozen=True)
class MappingKey:
    """The way into a part of a dict."""
    key: Any

    def __str__(self):
        return f"[{self.key!r}]"

    def get(self, container):
        """The part."""
        return container[self.key]


@dataclass(frozen=True)
class SequenceKey:
    """The way into a part of a list or a tuple."""
    idx: int

    def __str__(self):
        return f"[{self.idx!r}]"

    def get(self, container):
        """The part."""
        return container[self.idx]


@dataclass(frozen=True)
class GetAttrKey:
    """The way into a field of a named tuple."""
    name: str

    def __str__(self):
        return f".{self.name}"

    def get(self, container):
        """The part."""
        return getattr(container, self.name)


def tree_leaves_with_path(tree, is_leaf=None):
    """(path, leaf) of each leaf, in order.

    >>> from whet.utils._pytree import keystr, tree_leaves_with_path
    >>> [(keystr(path), x) for path, x in tree_leaves_with_path({"a": [1, 2], "b": 3})]
    [("['a'][0]", 1), ("['a'][1]", 2), ("['b']", 3)]
    """
    if tree_is_leaf(tree, is_leaf):
        return [((), tree)]
    with_keys = SUPPORTED_NODES[_kind(tree)].flatten_with_keys_fn or _sequence_flatten_with_keys
    return [((key, *path), x) for key, part in with_keys(tree)[0]
            for path, x in tree_leaves_with_path(part, is_leaf)]


def tree_flatten_with_path(tree, is_leaf=None):
    """([(path, leaf), ...], the `TreeSpec`)"""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """`tree_map` of func(path, leaf, ...)."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    return spec.unflatten([func(path, x, *others) for (path, x), *others in zip(
        found, *(spec.flatten_up_to(r) for r in rests))])


def keystr(kp):
    """A path as Python would write it."""
    return "".join(map(str, kp))


def key_get(obj, kp):
    """What lies at the end of a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


def tree_any(pred, tree, is_leaf=None):
    """Does a predicate hold for any leaf?"""
    return any(map(pred, tree_leaves(tree, is_leaf)))
