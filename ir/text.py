"""Graphs as text. `ir/parse.py` reads it back: `parse(str(g)) == g`.

    graph "step":
      stream 0 = (42, 0)
      %0 = input "argument 0" "x" : f32[64,10]
      %1 = input "outside" "model.weight" : f32[20,10]
      %2 = linear(%0, %1, None) : f32[64,20]                       # train.py:12
      write add_scaled(%1, %2, -0.1)                               # train.py:14
      return %2, %1 "gradient of model.bias"

A type is its letters, its sizes and, where they are not those of C order, its strides in bytes: `f32[4,3]@(4,16)`. An array is a type with its
elements, `f32[2](1.0, nan)`, their bytes, `f32[1](hex "0000c07f")`, or a name in a table beside the text, `f32[1000](@0)`; without
brackets it is a NumPy scalar. Everything is written to the bit.
"""
import functools
import json
import math
import re
import struct

import numpy as np

from . import questions
from .graph import GROUPS, Ref, Type

WRITTEN = 64                             # elements of an array that is written out
KEYWORDS = frozenset(("input", "draw", "write", "guard", "ask", "return", "stream", "graph", "into", "uncounted")) | GROUPS
_NAME = re.compile(r"[A-Za-z_]\w*\Z")


@functools.lru_cache(None)
def types():
    """(letters -> whet type, NumPy type -> letters)"""
    from whet import dtypes
    return {d.short: d for d in dtypes.ALL.values()}, {d.np: d.short for d in dtypes.ALL.values()}


def short(dtype):
    """f32 for float32."""
    found = types()[1].get(dtype)
    if found is None:                        # (a second name of a type)
        from whet import dtypes
        found = dtypes.from_numpy(dtype).short
    return found


def type_text(t):
    """`f32[4,3]`; with the strides where they are not those of C order."""
    strides = "" if t.strides == Type(t.dtype, t.shape).strides else "@(" + ",".join(map(str, t.strides)) + ")"
    return f"{short(t.dtype)}[{','.join(map(str, t.shape))}]{strides}"


def value_text(x, table=None):
    """A Python value as text that says all of it. Arrays too large to be written out go to `table`."""
    t = type(x)
    if t is Ref:
        return repr(x)
    if isinstance(x, np.ndarray | np.generic):
        return _array_text(x, table)
    if x is None or x is ... or t is bool or t is int:
        return "..." if x is ... else str(x)
    if t is float:
        return repr(x) if x == x or struct.pack("<d", x) == struct.pack("<d", math.nan) else f'nan "{struct.pack("<d", x).hex()}"'
    if t is complex:
        return f"complex({value_text(x.real)}, {value_text(x.imag)})"
    if t is str:
        return json.dumps(x)
    if t is bytes:
        return f'bytes "{x.hex()}"'
    if t is tuple:
        return f"({', '.join(value_text(y, table) for y in x)}{',' if len(x) == 1 else ''})"
    if t is list:
        return f"[{', '.join(value_text(y, table) for y in x)}]"
    if t is slice:
        return f"slice{value_text((x.start, x.stop, x.step), table)}"
    if t.__module__.startswith("whet") and t.__name__ == "Size":
        return f"Size{value_text(tuple(x))}"
    if t.__module__.startswith("whet") and t.__name__ == "dtype":
        return f"whet.{x.name}"
    if t.__module__.startswith("whet") and t.__name__ == "_Named":           # a memory format
        return repr(x)
    if t.__module__.startswith("whet") and t.__name__ == "device":
        return f'device "{x}"'
    return f"<{t.__name__}>"                 # (shown, but not read back)


def _array_text(a, table):
    head = type_text(Type.of(a)) if type(a) is np.ndarray else short(a.dtype)
    a = np.asarray(a)
    if a.size > WRITTEN:
        if table is None:
            return f"{head}(...)"
        table.append(np.ascontiguousarray(a).reshape(a.shape))
        return f"{head}(@{len(table) - 1})"
    with np.errstate(all="ignore"):
        wide = a.astype(np.float64) if a.dtype.kind in "fV" else a           # (V: bfloat16)
        numbers = wide.reshape(-1).tolist()
        same = np.array(numbers, wide.dtype).astype(a.dtype).tobytes() == a.tobytes()
    return f"{head}({', '.join(map(value_text, numbers))})" if same else f'{head}(hex "{a.tobytes().hex()}")'


def name_of(op):
    """An op's name; the gradients of complex operands have names of their own."""
    return op.name + (".complex" if _is_complex(op) else "")


def name_text(op):
    """An op by its name."""
    return name_of(op) if _NAME.match(op.name) and op.name not in KEYWORDS else json.dumps(name_of(op))


def _is_complex(op):
    made = getattr(op.base, "_grads", {})
    return any(type(k) is tuple and type(got) is tuple and got[0] is op for k, got in made.items())


def _question_text(fn, table):
    try:
        name, cells, defaults = questions.name_of(fn)
    except questions.Unknown:
        return json.dumps(getattr(fn, "__qualname__", type(fn).__name__))
    said = [*(f"{k}={value_text(v, table)}" for k, v in cells.items()), *(value_text(v, table) for v in defaults)]
    return json.dumps(name) + (f"{{{', '.join(said)}}}" if said else "")


def head(n, table=None, most=None):
    """What a node does, without its types and the nodes in it; with so many operands and results at `most`."""
    made = ", ".join([*(f"%{o}" for o in n.outs[:most]), *_more(n.outs, most)])
    made = f"{made} = " if made else ""
    ins = [*(value_text(x, table) for x in n.ins[:most]), *_more(n.ins, most)]
    if n.kind == "guard":
        return f"guard {ins[0]} == {value_text(n.value, table)}"
    if n.kind == "ask":
        return f"ask {_question_text(n.attrs['question'], table)}({', '.join(ins)}) == {value_text(n.value, table)}"
    attrs = [f"{k}={value_text(v, table)}" for k, v in n.attrs.items() if k != "into" and not (k == "generator" and type(v) is not int)]
    if n.kind == "roll":
        return f"{made}roll {n.value.rounds} times{f' by {n.value.several}' if n.value.several > 1 else ''}({', '.join(ins)})"
    if n.kind in GROUPS:
        into = ", ".join(f"%{int(x)} -> %{int(place)}" for x, place in n.attrs.get("into", {}).items())
        name = f"contract {name_text(n.op)}" if n.kind == "contract" else n.kind
        return f"{made}{name}({', '.join(ins if n.kind == 'contract' else ins + attrs)})" + (f" into ({into})" if into else "")
    kind = "" if n.kind == "op" else f"{n.kind} "
    return f"{made}{kind}{name_text(n.op)}({', '.join(ins + attrs)})" + (" uncounted" if n.kind == "write" and not n.value else "")


def _more(xs, most):
    return [f"... {len(xs) - most} more"] if most is not None and len(xs) > most else []


def lines(nodes, types=None, indent="", table=None):
    """The lines of nodes."""
    for n in nodes:
        made = _type_after(types, n.outs)
        inner = n.value.body if n.kind == "roll" else n.members
        said = indent + head(n, table) + made + (" {" if inner else "")
        where = n.line if n.line == n.line.strip() and n.line.isprintable() and not n.line.startswith('"') else json.dumps(n.line)
        yield f"{said:<90}  # {where}" if n.line else said
        for name, body in getattr(n.op, "bodies", {}).items():
            yield f"{indent}  {name}:"
            yield from lines(body.program.nodes, body.program.arrays, indent + "    ", table)
            yield f"{indent}    return {', '.join(f'%{x}' for x in body.results)}"
        if n.kind == "roll":
            for name, (kind, value, *more) in n.value.inputs.items():
                more = [f" %{x}" if kind == "carried" else f" {x}" for x in more]
                yield f"{indent}  %{name} = {kind} %{value}{''.join(more)}{_type_after(types, [name])}"
        if inner:
            yield from lines(inner, types, indent + "  ", table)
        if n.kind == "roll":
            for first, (kind, what, *more) in n.value.results.items():
                yield f"{indent}  %{first} " + (f"last as %{what}" if kind == "last" else
                                                f"kept in %{more[0]} at {more[1]} as {', '.join(f'%{v}' for v in what)}")
        if inner:
            yield indent + "}"


def _type_after(types, values):
    if types is None or not values:
        return ""
    return f" : {', '.join(type_text(t if type(t) is Type else Type.of(t)) for t in map(types.__getitem__, values))}"


def write(g, table=None):
    """A graph as text. Arrays of more than 64 elements are put into the list `table` and named by their places in it."""
    out = [f"graph {json.dumps(g.name)}:"]
    table = [] if table is None else table
    out += [f"  stream {i} = ({seed}, {offset})" for i, (seed, offset) in enumerate(g.streams)]
    out += [f"  %{x.value} = input {json.dumps(x.place)} {json.dumps(x.name)} : {type_text(g.types[x.value])}" for x in g.inputs]
    out += lines(g.nodes, g.types, "  ", table)
    wanted = ", ".join(f"%{v}" + (f" {json.dumps(name)}" if name else "") for v, name in g.results)
    return "\n".join([*out, f"  return {wanted}".rstrip()])
