"""Where the fields of tensors, version cells and nodes lie, proved on types that were just made.

Their offsets are stated in `passes/lower_llvm/calls/op_layouts.py`, for machine code and for the
members that Python sees. What the interpreter adds to a type, or to a subclass, could move them.
"""

import ctypes as C
import sys
import types
import weakref
from typing import Any

from whet.passes.lower_llvm.calls.python_layouts import GC_HEAD

from .object_layouts import field


def proved(L: Any, tensors: type, cells: type, nodes: type) -> bool:
    """Does Python find in all fields what is laid at their offsets? In a subclass, too."""
    subclass = type("Subclass", (tensors,), {})
    many = range(L.NODE_IN)
    named = {f"_{k}": at for k, at in L.T.items()}
    in_node = {"released_" if k == "released" else k: at for k, at in L.N.items()}
    for name, at in (("edge", "edges"), ("saved", "saved"), ("version", "versions")):
        in_node.update({f"{name}{i}": L.N[at] + 8 * i for i in many})
    return (
        tensors.__basicsize__ == L.T["size"]
        and cells.__basicsize__ == L.C["size"]
        and nodes.__basicsize__ == L.N["size"]
        and sys.getsizeof(object.__new__(tensors)) == tensors.__basicsize__ + GC_HEAD
        and all(_found(object.__new__(t), named) for t in (tensors, subclass))
        and _found(object.__new__(cells), L.C)
        and _found(object.__new__(nodes), in_node)
        and all(_attributes(object.__new__(t), L.T["dict"]) for t in (tensors, subclass))
        and all(
            _references(object.__new__(t), at)
            for t, at in ((tensors, L.T["weak"]), (subclass, L.T["weak"]), (nodes, L.N["weak"]))
        )
    )


def _found(x: Any, offsets: dict[str, int]) -> bool:
    """Do the members find objects that are laid at all offsets at once? Numbers are addresses."""
    owner = next(t for t in type(x).__mro__[::-1] if t is not object)
    members = {
        k: at for k, at in offsets.items() if type(vars(owner).get(k)) is types.MemberDescriptorType
    }
    held = {k: object() for k in members}
    if any(not 0 < at <= type(x).__basicsize__ - 8 for at in members.values()):
        return False
    for k, at in members.items():
        C.c_uint64.from_address(id(x) + at).value = id(held[k])
    found = {k: getattr(x, k) for k in members}
    for at in members.values():
        C.c_uint64.from_address(id(x) + at).value = 0
    return all(found[k] is held[k] or found[k] == id(held[k]) for k in members)


def _attributes(x: Any, at: int) -> bool:
    """Is the dictionary of an instance at its offset?"""
    x.attribute = None
    return field(x, at) == id(vars(x))


def _references(x: Any, at: int) -> bool:
    """Is the list of weak references at its offset?"""
    made = weakref.ref(x)
    return field(x, at) == id(made)
