"""Repeats calls in machine code: see passes/lower_llvm/calls/op_calls.py.

This is the Python side of the native types. `first` makes a call the ordinary way and records its
launches. If the call consists of launches, or is a view, it becomes a recipe. Only ops that allow
it (`is_repeatable`, `launches`) are remembered. Their forward must depend on shapes, strides,
types, attributes and numbers alone, and check data only in the kernel (`verdict`)."""
import array
import ctypes as C
import functools
import threading
from typing import Any

import numpy as np

from .. import dtypes
from ..autograd import modes
from ..autograd.unsaved_input import Shape
from ..passes.lower_llvm.calls import op_layouts as L  # layouts only: no LLVM is loaded by it
from . import (
    indexed,
    native,
    object_layouts,
    recipe_words,
    recorded_call,
    sized_recipes,
    tensor_layouts,
    thread_pool,
)
from .taped_launches import Tape

# the block of memory that is shared with machine code, once there is some, and its address
ctx: Any = None
ctx_at: Any = None


def _source():
    from ..passes.lower_llvm.calls.op_calls import source
    return source()


def load():
    """(Base, Cell, Node, functions) made of machine code, or None where that cannot be."""
    global ctx, ctx_at
    if not native.enabled():
        return None
    buffer = (C.c_int64 * (L.CTX_BYTES // 8))()
    ctx, ctx_at = buffer, C.addressof(buffer)
    native.export("whet_ctx", ctx_at)
    for name in ("array_new", "heap_take", "heap_give"):
        native.export(f"whet_{name}", native.symbol(name))
    at = native.image("entries", _source, L.NAMES)
    types = _types(at)
    if not tensor_layouts.proved(L, *types):
        object_layouts.warn(["the fields of native types"], object_layouts.PLAIN)
        return None
    functions = {
        name: native.function(at[name], name, flags=flags)
        for name, flags in (("apply", native.METH_FASTCALL), ("write", native.METH_FASTCALL),
                            ("call_key", native.METH_FASTCALL),
                            ("next_number", native.METH_NOARGS),
                            ("set_flags", native.METH_O), ("wrap", native.METH_O),
                            ("view_of", native.METH_FASTCALL),
                            ("resized", native.METH_FASTCALL))}
    sized_recipes.resized = functions.pop("resized")
    _set(L.CTX["asarray"], as_memory)
    return (*types, functions, at)


def as_memory(x):
    """What a tensor wraps: an array, or the memory of a device itself."""
    return x if hasattr(type(x), "held") else np.asarray(x)


def _set(offset, thing):
    """Store an object in CTX, which owns it from then on."""
    native._forever(thing)
    ctx[offset // 8] = id(thing)


class _Member(C.Structure):
    _fields_ = [("name", C.c_char_p), ("type", C.c_int), ("offset", C.c_ssize_t),
                ("flags", C.c_int), ("doc", C.c_char_p)]


def _members(fields):
    """A PyMemberDef table: name -> (type, offset, read-only?)."""
    table = (_Member * (len(fields) + 1))(
        *[_Member(n.encode(), t, o, ro, None) for n, (t, o, ro) in fields.items()])
    native._forever(table)
    return C.addressof(table)


class _GetSet(C.Structure):
    _fields_ = [("name", C.c_char_p), ("get", C.c_void_p), ("set", C.c_void_p), ("doc", C.c_char_p),
                ("closure", C.c_void_p)]


def _getset(name, get, set_=None):
    """A PyGetSetDef table of one attribute."""
    table = (_GetSet * 2)(_GetSet(name, get, set_))
    native._forever(table)
    return C.addressof(table)


def _dict_getset():
    """`__dict__` of a native type with a dictionary."""
    return _getset(
        b"__dict__", *[
            C.cast(getattr(C.pythonapi, f), C.c_void_p)
            for f in ("PyObject_GenericGetDict", "PyObject_GenericSetDict")])


def _methods(table):
    """A PyMethodDef table: name -> (address, flags)."""
    made = (native.MethodDef * (len(table) + 1))(
        *[native.MethodDef(n.encode(), a, fl, None) for n, (a, fl) in table.items()])
    native._forever(made)
    return C.addressof(made)


# kinds of members: Py_T_OBJECT, Py_T_LONGLONG, Py_T_PYSSIZET
OBJECT, I64, SIZE = 6, 17, 19


def _tensor_members(T):
    """name -> (kind, offset, is it read alone?) of a tensor's fields."""
    return dict(_array=(OBJECT, T["array"], 0),
                _node=(OBJECT, T["node"], 0),
                _grad=(OBJECT, T["grad"], 0),
                _cell=(OBJECT, T["cell"], 0),
                _base=(OBJECT, T["base"], 0),
                _extra=(OBJECT, T["extra"], 0),
                _hist=(I64, T["hist"], 0),
                _rg=(I64, T["rg"], 0),
                __dictoffset__=(SIZE, T["dict"], 1),
                __weaklistoffset__=(SIZE, T["weak"], 1))


def _cell_members(K):
    """name -> (kind, offset, is it read alone?) of a version cell's fields."""
    return dict(v=(I64, K["v"], 0),
                h=(I64, K["h"], 0),
                writer=(OBJECT, K["writer"], 0),
                shown=(I64, K["shown"], 0),
                aside=(OBJECT, K["aside"], 0))


def _node_members(N):
    """name -> (kind, offset, is it read alone?) of an autograd node's fields."""
    return dict(op=(OBJECT, N["op"], 1),
                attrs=(OBJECT, N["attrs"], 1),
                seq=(I64, N["seq"], 0),
                nin=(I64, N["nin"], 1),
                pre_hooks=(OBJECT, N["pre_hooks"], 0),
                post_hooks=(OBJECT, N["post_hooks"], 0),
                trace=(OBJECT, N["trace"], 0),
                released_=(I64, N["released"], 0),
                out_array=(OBJECT, N["out_array"], 0),
                out_cell=(OBJECT, N["out_cell"], 0),
                out_version=(I64, N["out_version"], 0),
                nout=(I64, N["nout"], 1),
                outlines=(OBJECT, N["outlines"], 0),
                kept_outputs=(OBJECT, N["kept_outputs"], 0),
                __weaklistoffset__=(SIZE, N["weak"], 1),
                **{f"edge{i}": (OBJECT, N["edges"] + 8 * i, 0) for i in range(L.NODE_IN)},
                **{f"saved{i}": (OBJECT, N["saved"] + 8 * i, 0) for i in range(L.NODE_IN)},
                **{f"version{i}": (I64, N["versions"] + 8 * i, 0) for i in range(L.NODE_IN)})


def _types(at):
    # Py_tp_dealloc, _setattro, _traverse, _members
    free, give, see, mem = 52, 69, 71, 72
    nb = dict(add=7, subtract=36, multiply=29, true_divide=37, matrix_multiply=75, negative=30,
              absolute=6)
    T, K, N = L.T, L.C, L.N
    slots = [(nb[n], at[f"nb_{n}"]) for n in L.SLOTS]
    base = native.make_type("whet.tensor.Tensor", T["size"], [
        (free, at["tensor_dealloc"]), (see, at["tensor_traverse"]),
        (mem, _members(_tensor_members(T))),
        (give, at["tensor_setattr"]), (73, _dict_getset()), (5, at["subscript"]), *slots],
        native.COLLECTED)
    cells = native.make_type("whet.Cell", K["size"],
                             [(free, at["cell_dealloc"]), (mem, _members(_cell_members(K)))])
    nodes = native.make_type("whet.NativeNode", N["size"], [
        (free, at["node_dealloc"]), (mem, _members(_node_members(N))),
        (73, _getset(b"edges", at["node_edges"])),
        (64,
         _methods({"saved_inputs": (at["node_saved_inputs"], native.METH_NOARGS),
                   "release": (at["node_release"], native.METH_NOARGS)}))])
    return base, cells, nodes


def type_of_nodes(name, nodes, dealloc):
    """The type of native nodes under another name: they may become ones of it."""
    # Py_tp_base, _dealloc
    return native.make_type(name, L.N["size"], [(48, id(nodes)), (52, dealloc)])


# ---- recipes -------------------------------------------------------------------------------------
_recipes: list = []
_retired: list = []
_known: set = set()
_changing = threading.RLock()    # held while recipes are added or dropped
_nothing = bytes(L.CTX["desc"] - L.CTX["table"])    # of tables without recipes


# an op's call in Python, and what follows its forward: `begin` brings them
_run: Any = None
_finish: Any = None
# of calls on devices, and the type of arrays there: `whet.cuda.recipes` brings both
elsewhere: Any = None
elsewhere_type: Any = None


def first(op, inputs, attrs):
    """Make a call the ordinary way. Remember it if possible, and if the same call has been made
    before: sizes that never come again are not worth a recipe. If many sizes come, one recipe is
    made for all of them: see `sized_recipes.py`."""
    kinds = _kinds(op, inputs)
    if kinds is None:
        if elsewhere is not None:
            elsewhere(op, inputs, attrs)
        return _run(op, inputs, attrs)
    arrays = [x._array if k == L.TENSOR else x for x, k in zip(inputs, kinds)]
    layout = _layout(arrays, attrs)
    if layout in op.refused:
        return _run(op, inputs, attrs)
    kind = None
    if not came_before(op, layout):
        kind = sized_recipes.kind_of(op, attrs, kinds, arrays)
        if kind is None or not kind.comes(sized_recipes.sizes_of(arrays, attrs)):
            return _run(op, inputs, attrs)
    return _finish(op, inputs, attrs, _remembered(op, attrs, kinds, arrays, layout, kind))


def learn(op, inputs, attrs):
    """Make a recipe for an in-place call that is about to happen, if the same call has been made
    before."""
    if (not op.is_repeatable or modes.state.flags & (modes.SPECIAL | modes.INFERENCE)
            or len(inputs) > L.MAX_IN):
        return
    if (not all(type(x) in _NUMBER_KINDS or type(x) in _tensor_types and
                x._array.flags.c_contiguous and x._array.ndim <= L.MAX_DIMS for x in inputs)):
        return
    kinds = [L.TENSOR if type(x) in _tensor_types else getattr(L, _NUMBER_KINDS[type(x)])
             for x in inputs]
    arrays = [x._array if k == L.TENSOR else x for x, k in zip(inputs, kinds)]
    layout = _layout(arrays, attrs)
    if (came_before(op, layout) and layout not in op.refused
            and (_hash(op, kinds, arrays), id(attrs) if attrs else 0, None) not in _known):
        with modes.no_grad():
            _remembered(op, attrs, kinds, arrays, layout)


# the kinds of operands that are numbers; complex ones only where a kernel reads them
_NUMBER_KINDS = {float: "FLOAT", int: "INT", complex: "COMPLEX"}


def _layout(arrays, attrs):
    """Everything on which a recipe depends."""
    lie = [(x.shape, x.strides, x.dtype) if type(x) is np.ndarray else None for x in arrays]
    return (*lie, *attrs.items()) if attrs else tuple(lie)


def _kinds(op, inputs):
    """The kind of each operand of a call; None if no recipe can be made for such a call."""
    flags = modes.state.flags
    if (flags & modes.SPECIAL or flags & modes.CASTS and op.cast_product
            or not (op.is_repeatable or op.launches or recorded_call.moves_onto_new(op)
                    or op.writes is not None)
            or type(inputs) is not tuple or len(inputs) > L.MAX_IN):
        return None
    kinds = []
    for x in inputs:
        if (type(x) in _tensor_types and type(x._array) is np.ndarray
                and x._array.ndim <= L.MAX_DIMS and x._array.flags.aligned):
            kinds.append(L.TENSOR)
        elif type(x) is float:
            kinds.append(L.FLOAT)
        elif type(x) is int:
            kinds.append(L.INT)
        elif type(x) is complex and op.dynamic_numbers:
            kinds.append(L.COMPLEX)
        elif x is None:
            kinds.append(L.NOTHING)
        else:
            return None
    return kinds


def came_before(op, layout):
    """Has such a call been made before, as far as hashes tell? From now on it has."""
    known, h = op.met, hash(layout)
    if h in known:
        return True
    if len(known) > MOST_MET:
        known.clear()
    known.add(h)
    return False


def _remembered(op, attrs, kinds, arrays, layout, kind=None):
    """The result of a call, which machine code repeats from now on if possible. If its `kind` is
    worth it, so are calls of other sizes."""
    if not (op.is_view or op.dynamic_numbers):
        recorded_call.apart(arrays)
    result = recipe = None
    for way in recorded_call.ways(op, arrays):
        tape = Tape()
        found = tape.listen(way, *arrays, **attrs)
        result = found if result is None else result
        made = found if type(found) is tuple else (found,)
        unfit = (found is None or type(found) is tuple and len(found) == 1
                 or not op.is_view and recorded_call.reuses(made, arrays))
        recipe = None if unfit else recipe_words.recipe(op, kinds, arrays, made, tape)
        if recipe is not None:
            break
    if recipe is not None:
        sized = None if kind is None else kind.recipe(op, attrs, kinds, arrays, way, recipe)
        if sized is None:
            words, tables = recipe_words.with_table_addresses(recipe.words)
            _insert(op, attrs, kinds, arrays, words, [*recipe.owned, *tables])
        else:
            _insert_sized(op, attrs, kinds, arrays, sized)
    else:
        if kind is not None:
            kind.refuse()
        refuse(op, layout)
    return result


def refuse(op, layout):
    """Note that such calls are not launches, so that it is not tried again."""
    if len(op.refused) > MOST_REFUSED:
        op.refused.clear()
    op.refused.add(layout)


def written(op, inputs, attrs):
    """Make an in-place call by launches alone, if such a call has been made before; machine code
    makes the next one. Was it possible?"""
    writes = op.writes
    kinds = None if writes is None else _kinds(writes, inputs)
    if kinds is None or kinds[0] != L.TENSOR or modes.state.flags & modes.INFERENCE:
        return False
    arrays = [x._array if k == L.TENSOR else x for x, k in zip(inputs, kinds)]
    layout = _layout(arrays, attrs)
    if (not arrays[0].flags.c_contiguous and indexed.walk(arrays[0]) is None
            or layout in writes.refused or not came_before(writes, layout)):
        return False
    recorded_call.apart(arrays)
    tape = writes.listen(arrays, attrs)
    recipe = tape and recipe_words.recipe(writes, kinds, arrays, (arrays[0],), tape)
    if recipe is None:
        refuse(writes, layout)
    else:
        words, tables = recipe_words.with_table_addresses(recipe.words)
        _insert(writes, attrs, kinds, arrays, words, [*recipe.owned, *tables])
    return tape is not None


def _hash(op, kinds, arrays, of_sizes=True):
    """The hash of a call, as machine code computes it."""
    words = [id(op), len(kinds)]
    for a, k in zip(arrays, kinds):
        if k == L.TENSOR and type(a) is elsewhere_type:
            words.append(id(a.kind) + L.ELSEWHERE)
        elif k == L.TENSOR:
            words.append(id(a.dtype) + a.ndim)
            for size, step in zip(a.shape, a.strides) if of_sizes else ():
                words += size, step
        else:
            words.append(L.NO_OPERAND if k == L.NOTHING else k)
    h, mask = words[0], 0xFFFFFFFFFFFFFFFF
    for word in words[1:]:
        h = (h ^ word & mask) * -7046029254386353131 & mask
        h ^= h >> 29
    return h


MAX_RECIPES = 1 << 16
# of an op's calls without recipes: so many are known to have come, and so many to be refused
MOST_MET, MOST_REFUSED = 1 << 14, 1000


def _insert(op, attrs, kinds, arrays, words, owned, by_plan=None):
    if len(_recipes) >= MAX_RECIPES:
        forget()
    h = _hash(op, kinds, arrays)
    known = h, id(attrs) if attrs else 0, by_plan
    if known in _known:
        return
    block = array.array("q", words)
    _chain("table", h, L.BUCKETS, attrs, block, block.buffer_info()[0], owned)
    _known.add(known)


def _insert_sized(op, attrs, kinds, arrays, recipe):
    """Insert a recipe whose words machine code computes for each call's sizes."""
    h = _hash(op, kinds, arrays, of_sizes=False)
    block = recipe.block
    _chain("sized", h, L.SIZED_BUCKETS, attrs, block, block.ctypes.data, recipe.owned)


def _chain(table, h, buckets, attrs, block, address, owned):
    """Put a recipe first in the chain of its hash."""
    bucket, following = (L.CTX[table] + 8 * (h & (buckets - 1))) // 8, L.R["next"] // 8
    stored = attrs or _empty
    block[L.R["hash"] // 8] = h if h < 1 << 63 else h - (1 << 64)
    block[L.R["attrs"] // 8] = id(stored)
    kept = block, owned, stored
    with _changing:
        _recipes.append(kept)
        # Nothing is called in between: Python that the garbage collector enters may forget all.
        block[following] = ctx[bucket]
        ctx[bucket] = address


def forget():
    """Drop all recipes. They depend on the number of threads, on tables of plans, and on result
    types that follow the default type."""
    if ctx is None:
        return
    global _recipes, _retired
    with _changing:
        # At once, with the interpreter's lock held.
        memoryview(ctx).cast("B")[L.CTX["table"]:L.CTX["desc"]] = _nothing
        forgotten, _recipes = _recipes, []
        # Calls that are being made come back to their recipes.
        _retired = [*_retired, *forgotten] if ctx[L.CTX["inside"] // 8] else []
        _known.clear()
        sized_recipes.forget()


# ---- setting up ----------------------------------------------------------------------------------
_tensor_types: tuple = ()
_empty: dict = {}


def begin(tensor, node, cell, record, several, stale, run, finish):
    """Give the machine code its classes and functions."""
    _set(L.CTX["tensor"], tensor)
    _set(L.CTX["parameter"], tensor)
    _set(L.CTX["node"], node)
    _set(L.CTX["cell"], cell)
    _set(L.CTX["slow"], first)
    _set(L.CTX["record"], record)
    _set(L.CTX["several"], several)
    _set(L.CTX["stale"], stale)
    _set(L.CTX["empty"], _empty)
    _set(L.CTX["modes"], _modes)
    _set(L.CTX["shape"], Shape.of)
    _set(L.CTX["size"], "size")
    global _tensor_types, _run, _finish
    _run, _finish = run, finish
    _tensor_types = (tensor,)
    dtypes.on_default_change.append(forget)
    thread_pool.on_change.append(forget)


def also_elsewhere(learn, array_type, kind_at):
    """Repeat calls on arrays of this type too: `learn(op, inputs, attrs)` may have a recipe for
    one. An object at an offset in an array, shared by all arrays that are alike, identifies its
    layout."""
    global elsewhere, elsewhere_type
    elsewhere, elsewhere_type = learn, array_type
    ctx[L.CTX["kind_at"] // 8] = kind_at
    _set(L.CTX["elsewhere"], array_type)


def repeat_by_plan(op, attrs, kinds, arrays, recipe, in_place):
    """Let machine code repeat a call on a device from now on."""
    by_plan = "in place" if in_place else "anew"
    _insert(op, attrs, kinds, arrays, recipe.words, recipe.owned, by_plan)


def is_plain(x):
    """Is it a tensor of a class that machine code knows?"""
    return type(x) in _tensor_types


def declined(function):
    """Register the function that is called if the native entries decline a call, in the role of
    `first`. It is never freed, because a thread may be about to call it."""
    _set(L.CTX["slow"], function)


def log_to(address, clock):
    """Let machine code note calls in the log at an address, by a clock of the system; for 0,
    nowhere. Notes are taken of threads whose modes say so."""
    ctx[L.CTX["clock"] // 8] = clock
    ctx[L.CTX["log"] // 8] = address


def also(parameter):
    """Treat a subclass without operators of its own as a tensor."""
    global _tensor_types
    _set(L.CTX["parameter"], parameter)
    _tensor_types = (*_tensor_types[:1], parameter)


def _modes():
    """The modes of this thread. Machine code has a copy of them until another thread runs."""
    return modes.set_native_flags(modes.state.flags)


def know_calls_by(sizes, immutable):
    """Tell the machine code that makes keys of calls the type of tensors' sizes, and which types
    have immutable objects."""
    _set(L.CTX["sizes"], sizes)
    _set(L.CTX["immutable"], frozenset(immutable))


def views(getitem, reshape):
    """Set the Python functions behind the native `tensor[...]` and `tensor.reshape`."""
    _set(L.CTX["getitem"], getitem)
    _set(L.CTX["reshape"], reshape)


_next = {"method": 0, "function": 0}


def _fill_descriptor(k, op, attrs, count, slow, writer=None, reflected=None):
    """Fill descriptor k: `op` is called for `count` positional operands, `slow` for all other
    calls. With `writer` (a name) the op writes in place."""
    at = L.CTX["desc"] + L.DESC["size"] * k
    _set(at + L.DESC["op"], op)
    _set(at + L.DESC["attrs"], attrs or _empty)
    _set(at + L.DESC["slow"], slow)
    ctx[(at + L.DESC["count"]) // 8] = count
    if reflected is not None:
        _set(at + L.DESC["reflected"], reflected)
    if writer is not None:
        _set(at + L.DESC["writer"], writer)


def operator(slot, op, count, slow, reflected):
    """What an operator slot of the native type calls."""
    _fill_descriptor(L.SLOTS.index(slot), op, None, count, slow, reflected=reflected)


def _next_descriptor(kind, first, end):
    k = first + _next[kind]
    if k >= end:
        raise RuntimeError(
            f"there are more native {kind}s than descriptors: raise the number in the generator")
    _next[kind] += 1
    return k


def method(base, at, op, attrs, count, slow, name, doc, writer=None):
    """A native method `name` of `base` in front of the Python function `slow`."""
    k = _next_descriptor("method", len(L.SLOTS), L.THUNKS)
    _fill_descriptor(k, op, attrs, count, slow, writer)
    return plain_method(base, at[f"method{k}"], name, doc)


def function(at, op, attrs, count, slow, doc):
    """A native function in front of the Python function `slow`."""
    k = _next_descriptor("function", L.THUNKS, L.DESCRIPTORS)
    _fill_descriptor(k, op, attrs, count, slow)
    definition = native.MethodDef(slow.__name__.encode(),
                                  at["function"],
                                  native.METH_FASTCALL | native.METH_KEYWORDS,
                                  doc.encode())
    native._forever(definition)
    make = C.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = C.py_object, [C.c_void_p, C.py_object, C.py_object]
    return make(C.addressof(definition), k, "whet")


@functools.lru_cache(None)
def _descr_new():
    make = C.pythonapi.PyDescr_NewMethod
    make.restype, make.argtypes = C.py_object, [C.py_object, C.c_void_p]
    return make


def plain_method(base, address, name, doc):
    """A method descriptor of `base` made of machine code."""
    definition = native.MethodDef(name.encode(),
                                  address,
                                  native.METH_FASTCALL | native.METH_KEYWORDS, (doc or "").encode())
    native._forever(definition)
    return _descr_new()(base, C.addressof(definition))
