"""Graphs: what a recorded run did, as a list of nodes over numbered values.

A value is the memory that a tensor lay in; a node reads some and makes others, in the order of the run. Text form, a line a node:

    %2 = mul(%0, 2.0)                    # model.py:12
    write add(%1, %2)                    in place: operand 0 is changed
    %3 = draw random_uniform32(shape=(4,))   new numbers at each replay
    guard %3 == [0.25, ...]              Python saw the value and went on from there
    ask check(%3) == None                or asked something of it, or wants an error raised
    %4, %5 = fused(%0, %1){%4 = mul x0 x1; ...}

A `cond` or `while_loop` is an op whose `bodies` are programs, shown under it.
"""


class Ref(int):
    """A value's number, as an operand."""
    __slots__ = ()

    def __repr__(self):
        return f"%{int(self)}"


class Node:
    """One thing that happened. kind: "op", "write" (in place, into operand 0), "draw" (random numbers), "guard" (a value that Python
    saw), "ask" (a question about values, with its answer), "fused" and "rows" (see passes/fuse.py; `value` are the nodes,
    `roots` the expressions), "roll" (passes/roll.py). Operands are `Ref`s or Python values; `outs` are value numbers."""
    __slots__ = ("kind", "op", "ins", "attrs", "outs", "line", "value", "roots", "needs")

    def __init__(self, kind, op, ins, attrs, outs, line, value=None):
        self.kind, self.op, self.ins, self.attrs, self.outs, self.line, self.value = kind, op, ins, attrs, outs, line, value
        self.needs = None                    # which operands had a history; () where none was kept

    def refs(self):
        """The values among the operands."""
        return [x for x in self.ins if type(x) is Ref]

    def __str__(self):
        args = [*map(_short, self.ins), *(f"{k}={_short(v)}" for k, v in self.attrs.items() if k != "generator")]
        made = ", ".join(f"%{o}" for o in self.outs)
        if self.kind == "ask":
            return f"ask {self.attrs['question'].__qualname__}({', '.join(map(_short, self.ins))}) == {self.value!r}"
        if self.kind == "guard":
            return f"guard {self.ins[0]!r} == {_short(self.value)}"
        if self.kind == "fused":
            into = ", ".join(f"%{int(x)} into %{int(place)}" for x, place in self.attrs.get("into", {}).items())
            return f"{made} = fused({', '.join(map(_short, self.ins))})" + "{" + "; ".join(m.op.name for m in self.value) + "}" + f" {into}".rstrip()
        if self.kind == "roll":
            return f"{made} = roll {self.value.rounds} times({args[0]}..{args[-1]})"
        if self.kind == "rows":
            inner = "; ".join(m.op.name for m in self.value[0].value)
            return f"{made} = rows {self.op.name}({', '.join(args)})" + "{" + inner + "}"
        name = f"{self.kind} {self.op.name}" if self.kind != "op" else self.op.name
        return (f"{made} = " if made else "") + f"{name}({', '.join(args)})"


def _short(x):
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        return repr(x.item()) if not x.shape else f"array{list(x.shape)}"
    return repr(x)


def text(nodes, arrays=None):
    """The nodes as text, with shapes and lines where they are known."""
    out = []
    for n in nodes:
        types = "".join(f" : {arrays[o].dtype}{list(arrays[o].shape)}" for o in n.outs[:1]) if arrays is not None else ""
        out.append(f"{str(n) + types:<90}" + (f"# {n.line}" if n.line else ""))
        for name, body in getattr(n.op, "bodies", {}).items():
            out.append(f"  {name}:")
            out += ["    " + line for line in text(body.program.nodes, arrays).splitlines()]
            out.append(f"    -> {', '.join(f'%{x}' for x in body.results)}")
        if n.kind == "roll":
            out += [f"    %{name}: {kind} " + ", ".join([f"%{value}", *map(str, more)]) for name, (kind, value, *more) in n.value.inputs.items()]
            out += ["    " + line for line in text(n.value.body, arrays).splitlines()]
    return "\n".join(x.rstrip() for x in out)
