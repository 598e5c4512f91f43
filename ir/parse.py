"""Text as a graph: the inverse of `ir/text.py`, which says what the text looks like. Nothing that is read is run or imported."""
import json
import math
import re
import struct

import numpy as np

from . import questions
from .graph import GROUPS, Graph, Input, Loop, Node, Ref, Type
from .text import short, types

DEEP = 40                                # brackets within brackets


class ParseError(ValueError):
    """Text that is no graph: what is wrong, and where (`line` and `column`, from 1)."""

    def __init__(self, what, source, line, column):
        shown = source.splitlines()[line - 1] if 0 < line <= len(source.splitlines()) else ""
        super().__init__(f"line {line}, column {column}: {what}\n  {shown}\n  {' ' * (column - 1)}^")
        self.line, self.column = line, column


_TOKEN = re.compile(r"""
    (?P<space>[ \t]+) | (?P<comment>\#[^\n]*) | (?P<line>\n)
  | (?P<number>-?(?:\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+|inf\b))
  | (?P<string>"(?:[^"\\\n]|\\.)*")
  | (?P<name>[A-Za-z_]\w*(?:\.\w+)*)
  | (?P<mark>\.\.\.|->|==|[%@=():,{}\[\]])
""", re.X)


class _Reader:
    """Text as tokens (kind, text, line, column), read from left to right."""

    def __init__(self, source, constants):
        self.source, self.constants, self.at, self.deep = source, constants, 0, 0
        self.tokens, self.comments, line, start, pos = [], {}, 1, 0, 0
        while pos < len(source):
            m = _TOKEN.match(source, pos)
            if m is None:
                raise ParseError(f"unexpected character {source[pos]!r}", source, line, pos - start + 1)
            kind, text = m.lastgroup, m[0]
            if kind == "comment":
                self.comments[line] = text[1:].strip()
            elif kind == "line":
                self.tokens.append((kind, text, line, pos - start + 1))
                line, start = line + 1, m.end()
            elif kind != "space":
                self.tokens.append((kind, text, line, pos - start + 1))
            pos = m.end()
        self.tokens.append(("end", "", line, pos - start + 1))

    def fail(self, what, token=None):
        _, _, line, column = token or self.tokens[self.at]
        raise ParseError(what, self.source, line, column)

    def peek(self, text=None, kind="mark"):
        have = self.tokens[self.at]
        return have if text is None else have[:2] == (kind, text)

    def take(self, text=None, kind=None, what=None):
        have = self.tokens[self.at]
        if text is not None and have[1] != text or kind is not None and have[0] != kind:
            found = {"line": "the end of the line", "end": "the end"}.get(have[0], repr(have[1]))
            self.fail(f"expected {what or repr(text or kind)}, found {found}")
        self.at += 1
        return have

    def skip(self, text, kind="mark"):
        """Take it if it is there."""
        if self.peek(text, kind):
            self.at += 1
            return True
        return False

    def end_line(self):
        """The comment of the line that ends here."""
        token = self.tokens[self.at]
        if token[0] != "end":
            self.take(kind="line", what="the end of the line")
        said = self.comments.pop(token[2], "")
        if said.startswith('"'):
            try:
                said = json.loads(said)
            except ValueError:
                self.fail("the comment is no text", token)
        while self.peek()[0] == "line":
            self.at += 1
        return said

    def many(self, close, one):
        """Things between here and a closing mark, commas between them."""
        out = []
        while not self.skip(close):
            if out:
                self.take(",")
                if self.skip(close):
                    break
            out.append(one())
        return out

    # ---- values ----
    def integer(self):
        token = self.take(kind="number", what="a whole number")
        if not token[1].lstrip("-").isdigit() or len(token[1]) > 40:
            self.fail(f"expected a whole number, found {token[1]}", token)
        return int(token[1])

    def ref(self):
        self.take("%", "mark")
        token = self.peek()
        n = self.integer()
        if not 0 <= n < 1 << 31:
            self.fail("the number of a value is out of range", token)
        return Ref(n)

    def string(self):
        token = self.take(kind="string", what="a text")
        try:
            return json.loads(token[1])
        except ValueError:
            self.fail("this text is badly written", token)

    def bytes(self):
        token = self.peek()
        try:
            return bytes.fromhex(self.string())
        except ValueError as e:
            if type(e) is ParseError:
                raise
            self.fail("expected pairs of hexadecimal digits", token)

    def value(self):
        """A Python value, or a reference."""
        self.deep += 1
        if self.deep > DEEP:
            self.fail("brackets are nested too deeply")
        try:
            return self._value()
        finally:
            self.deep -= 1

    def _value(self):
        kind, text, *_ = token = self.peek()
        if text == "%" and kind == "mark":
            return self.ref()
        self.at += 1
        if kind == "number":
            if text.lstrip("-").isdigit():
                self.at -= 1
                return self.integer()
            return float(text)
        if kind == "string":
            self.at -= 1
            return self.string()
        if kind == "mark" and text == "...":
            return ...
        if kind == "mark" and text == "(":
            return tuple(self.many(")", self.value))
        if kind == "mark" and text == "[":
            return self.many("]", self.value)
        if kind == "name":
            return self.named(text, token)
        self.fail("expected a value", token)

    def named(self, text, token):
        if text in ("None", "True", "False"):
            return {"None": None, "True": True, "False": False}[text]
        if text == "nan":
            if self.peek()[0] != "string":
                return math.nan
            raw = self.bytes()
            return struct.unpack("<d", raw)[0] if len(raw) == 8 else self.fail("expected 8 bytes", token)
        if text == "inf":
            return math.inf
        if text == "bytes":
            return self.bytes()
        if text in ("complex", "slice", "Size"):
            self.take("(")
            parts = self.many(")", self.value)
            try:
                if text == "complex":
                    real, imaginary = parts
                    return complex(*map(float, (real, imaginary)))
                if text == "slice":
                    start, stop, step = parts
                    return slice(start, stop, step)
                from whet.tensor import Size
                return Size([p if type(p) is int else self.fail("a size is a whole number", token) for p in parts])
            except (ValueError, TypeError) as e:
                if type(e) is ParseError:
                    raise
                self.fail(f"{text} of what?", token)
        if text == "device":
            from whet.devices import device
            said = self.string()
            try:
                return device(said)
            except RuntimeError as e:
                self.fail(str(e), token)
        if text.startswith("whet."):
            from whet import dtypes
            from whet.tensor import channels_last, channels_last_3d, contiguous_format, preserve_format, strided
            formats = {repr(f): f for f in (channels_last, channels_last_3d, contiguous_format, preserve_format, strided)}
            found = dtypes.ALL.get(text[5:]) or formats.get(text)
            return found if found is not None else self.fail(f"there is no {text}", token)
        if text in types()[0]:
            return self.array(text, token)
        self.fail(f"there is no value {text}", token)

    def type(self):
        """A value's type."""
        token = self.take(kind="name", what="a type")
        if token[1] not in types()[0]:
            self.fail(f"there is no type {token[1]}", token)
        return self.type_of(token[1], token)

    def strides(self):
        if self.peek("@") and self.tokens[self.at + 1][1] == "(":
            self.at += 2
            return self.many(")", self.integer)
        return None

    def type_of(self, letters, token):
        self.take("[")
        shape = self.many("]", self.integer)
        strides = self.strides()
        if any(not 0 <= n < 1 << 62 for n in shape) or len(shape) > 64 or strides is not None and (
                len(strides) != len(shape) or any(abs(s) >= 1 << 62 for s in strides)):
            self.fail("these sizes and strides are not possible", token)
        t = Type(types()[0][letters].np, shape, strides)
        return t if t.nbytes < 1 << 62 else self.fail("these sizes are not possible", token)

    def array(self, letters, token):
        """An array, from its type on; without brackets a NumPy scalar."""
        scalar = not self.peek("[")
        t = Type(types()[0][letters].np, ()) if scalar else self.type_of(letters, token)
        self.take("(", "mark")
        if self.skip("@"):
            at = self.peek()
            k = self.integer()
            flat = self.constants[k] if 0 <= k < len(self.constants) else self.fail(f"there is no constant {k} in the table", at)
            if (flat.dtype, flat.size) != (t.dtype, t.size):
                self.fail(f"constant {k} has {flat.size} elements of {short(flat.dtype)}", at)
            flat = np.asarray(flat).reshape(-1)
            self.take(")")
        elif self.skip("hex", "name"):
            raw = self.bytes()
            if len(raw) != t.nbytes:
                self.fail(f"expected {t.nbytes} bytes, found {len(raw)}", token)
            flat = np.frombuffer(raw, t.dtype)
            self.take(")")
        else:
            numbers = self.many(")", self.value)
            allowed = {"b": (bool,), "i": (int,), "u": (int,), "c": (complex,)}.get(t.dtype.kind, (float,))
            if len(numbers) != t.size or any(type(x) not in allowed for x in numbers):
                self.fail(f"expected {t.size} elements of {letters}, found {len(numbers)}" if len(numbers) != t.size else
                          f"these are not all elements of {letters}", token)
            try:
                with np.errstate(all="ignore"):
                    flat = np.array(numbers, t.dtype if t.dtype.kind in "biuc" else np.float64).astype(t.dtype)
            except OverflowError:
                self.fail(f"these are not all elements of {letters}", token)
        if scalar:
            return flat.reshape(())[()]
        low, high = t.span
        a = np.ndarray(t.shape, t.dtype, bytearray(high), 0, t.strides) if low == 0 and high <= t.nbytes and _apart(t) else \
            self.fail("a constant of these strides has gaps, or elements in one place", token)
        a[...] = flat.reshape(t.shape)
        return a

    # ---- nodes ----
    def op(self):
        token = self.peek()
        name = self.string() if token[0] == "string" else self.take(kind="name", what="an op")[1]
        found = find_op(name)
        return found if found is not None else self.fail(f"there is no op {name}", token)

    def operands(self):
        """Operands and attributes, after the opening bracket."""
        ins, attrs = [], {}

        def one():
            token, after = self.peek(), self.tokens[min(self.at + 1, len(self.tokens) - 1)]
            if token[0] == "name" and after[1] == "=":
                self.at += 2
                if token[1] in attrs:
                    self.fail(f"{token[1]} is given twice", token)
                attrs[token[1]] = self.value()
            elif attrs:
                self.fail("an operand comes after an attribute", token)
            else:
                ins.append(self.value())
        self.many(")", one)
        return tuple(ins), attrs

    def node(self, types):
        """A line that is a node, with the lines in it."""
        if self.peek("guard", "name"):
            self.at += 1
            x = self.ref()
            self.take("==")
            token = self.peek()
            value = self.value()
            if not isinstance(value, np.ndarray):
                self.fail("a guard compares with an array", token)
            return Node("guard", None, (x,), {}, [], self.end_line(), value)
        if self.peek("ask", "name"):
            return self.ask()
        if self.skip("write", "name"):
            op = self.op()
            token = self.take("(")
            ins, attrs = self.operands()
            if not ins or type(ins[0]) is not Ref:
                self.fail("a write changes its first operand, a value", token)
            counted = not self.skip("uncounted", "name")
            return Node("write", op, ins, attrs, [], self.end_line(), counted)
        outs = [self.ref()]
        while self.skip(","):
            outs.append(self.ref())
        outs = [int(o) for o in outs]
        self.take("=")
        if any(self.peek(kind, "name") for kind in GROUPS):
            return self.group(outs, types)
        if self.peek("roll", "name") and self.tokens[self.at + 1][0] == "number":
            return self.loop(outs, types)
        kind = "draw" if self.skip("draw", "name") else "op"
        token = self.peek()
        op = self.op()
        self.take("(")
        ins, attrs = self.operands()
        if kind == "draw" and (not op.random or type(attrs.get("generator")) is not int or type(attrs.get("shape")) is not tuple or ins):
            self.fail("a draw has a shape and the number of a generator's stream", token)
        self.made(outs, types)
        return Node(kind, op, ins, attrs, outs, self.end_line())

    def made(self, outs, types):
        """The types of results."""
        self.take(":", what="the types of the results")
        for i, o in enumerate(outs):
            if i:
                self.take(",")
            token = self.peek()
            t = self.type()
            if types.setdefault(o, t) != t:
                self.fail(f"%{o} has two types", token)

    def group(self, outs, types):
        kind = self.take()[1]
        if kind == "contract":               # (the name is that of the first node in it)
            self.take()
        self.take("(")
        ins, attrs = self.operands()
        if attrs.keys() - ({"axes"} if kind == "rows" else ()):
            self.fail("a group of nodes has no attributes")
        if self.skip("into", "name"):
            self.take("(")

            def one():
                x = self.ref()
                self.take("->")
                return x, self.ref()
            attrs = {**attrs, "into": dict(self.many(")", one))}
        self.made(outs, types)
        self.take("{")
        line, members = self.end_line(), []
        self.deep += 1
        if self.deep > DEEP:
            self.fail("groups are nested too deeply")
        while not self.skip("}"):
            members.append(self.node(types))
        self.deep -= 1
        self.end_line()
        if not members:
            self.fail("a group without nodes")
        op = None
        if kind == "contract":
            if len(members) != 2 or members[0].op is None:
                self.fail("a contraction with an epilogue is two nodes")
            op, attrs = members[0].op, {**members[0].attrs, **attrs}
        return Node(kind, op, ins, attrs, outs, line, members)

    def loop(self, outs, types):
        self.at += 1
        token = self.peek()
        rounds = self.integer()
        self.take("times")
        several = self.integer() if self.skip("by", "name") else 1
        if not 0 < rounds < 1 << 20 or not 0 < several < 1 << 20:
            self.fail("a loop has a number of rounds", token)
        self.take("(")
        ins, attrs = self.operands()
        if attrs:
            self.fail("a loop has no attributes")
        self.made(outs, types)
        self.take("{")
        line, inputs, body, results = self.end_line(), {}, [], {}
        self.deep += 1
        if self.deep > DEEP:
            self.fail("groups are nested too deeply")
        while not self.skip("}"):
            words = [t[1] for t in self.tokens[self.at:self.at + 5]]
            if words[0] == "%" and words[2:3] == ["="] and words[4:] == ["%"] and words[3] in ("same", "carried", "along"):
                name = int(self.ref())
                self.take("=")
                kind, value = self.take()[1], int(self.ref())
                more = [int(self.ref())] if kind == "carried" else [self.integer(), self.integer()] if kind == "along" else []
                inputs[name] = kind, value, *more
                self.made([name], types)
                self.end_line()
            elif words[0] == "%" and words[2:3] in (["last"], ["kept"]):
                first, kind = int(self.ref()), self.take()[1]
                results[first] = self.of_rounds(kind, rounds, several)
            else:
                body.append(self.node(types))
        self.deep -= 1
        self.end_line()
        if not body:
            self.fail("a loop without nodes")
        return Node("roll", None, ins, {}, outs, line, Loop(rounds, several, body, inputs, results))

    def of_rounds(self, kind, rounds, several):
        """What a loop gives of a value that its rounds make."""
        if kind == "last":
            self.take("as")
            found = kind, int(self.ref())
        else:
            self.take("in")
            head = int(self.ref())
            self.take("at")
            token = self.peek()
            at = self.integer()
            self.take("as")
            values = [int(self.ref())]
            while self.skip(","):
                values.append(int(self.ref()))
            if len(values) != rounds or not 0 <= at < several:
                self.fail("a value of each round is kept, in turn", token)
            found = kind, values, head, at
        self.end_line()
        return found

    def ask(self):
        self.at += 1
        token = self.peek()
        name, cells, defaults = self.string(), {}, []
        if self.skip("{"):
            def one():
                after = self.tokens[min(self.at + 1, len(self.tokens) - 1)]
                if self.peek()[0] == "name" and after[1] == "=":
                    key = self.take()[1]
                    self.at += 1
                    cells[key] = self.value()
                else:
                    defaults.append(self.value())
            self.many("}", one)
        try:
            question = questions.find(name, cells, defaults)
        except questions.Unknown as e:
            self.fail(str(e), token)
        self.take("(")
        ins, _ = self.operands()
        self.take("==")
        value = self.value()
        return Node("ask", None, ins, {"question": question}, [], self.end_line(), value)

    def graph(self):
        while self.peek()[0] == "line":
            self.at += 1
        self.take("graph", "name")
        name = self.string()
        self.take(":")
        self.end_line()
        streams, inputs, nodes, types = [], [], [], {}
        while self.skip("stream", "name"):
            token = self.peek()
            if self.integer() != len(streams):
                self.fail(f"this is stream {len(streams)}", token)
            self.take("=")
            position = self.value()
            if type(position) is not tuple or len(position) != 2 or any(type(p) is not int for p in position):
                self.fail("a stream has a seed and an offset", token)
            streams.append(position)
            self.end_line()
        while not self.peek("return", "name"):
            if self.peek()[0] == "end":
                self.fail("the graph ends without a return")
            start = self.at
            if self.peek("%"):
                x = self.ref()
                if self.skip("=") and self.skip("input", "name"):
                    inputs.append(Input(int(x), self.string(), self.string()))
                    self.made([int(x)], types)
                    self.end_line()
                    continue
                self.at = start
            nodes.append(self.node(types))
        self.at += 1
        results = []
        while self.skip(",") if results else self.peek("%"):
            v = int(self.ref())
            results.append((v, self.string() if self.peek()[0] == "string" else ""))
        self.end_line()
        self.take(kind="end", what="the end")
        return Graph(nodes, types, inputs, results, name, streams)


def _apart(t):
    """Does every element of a constant lie in a place of its own?"""
    need = t.dtype.itemsize
    for s, n in sorted((s, n) for s, n in zip(t.strides, t.shape) if n > 1):
        if s < need:
            return not t.size
        need = s * n
    return True


def find_op(name):
    """The op of a name: a defined one, or the gradient of a pointwise op, `mul_grad0`, also `.complex`. None where there is none."""
    from whet.ops.registry import REGISTRY
    name, complex_ = (name[:-8], True) if name.endswith(".complex") else (name, False)
    if name in REGISTRY and not complex_:
        return REGISTRY[name]
    if name.count("_grad") > 4:
        return None
    base, found, i = name.rpartition("_grad")
    base = find_op(base) if found else None
    if base is None or not hasattr(base, "gradient") or i and not i.isdecimal() or int(i or 0) >= base.nin or bool(i) != (base.nin > 1):
        return None
    got = base.gradient(int(i or 0), complex_)
    return got[0] if type(got) is tuple else None


def parse(source, constants=()):
    """The graph of a text; `constants` are the arrays that `write` put into its table.

    >>> import whet
    >>> from whet.ir.parse import parse
    >>> g = parse('''graph "double":
    ...   %0 = input "argument 0" "x" : f32[3]
    ...   %1 = mul(%0, 2) : f32[3]
    ...   return %1''')
    >>> parse(str(g)) == g
    True
    """
    return _Reader(source, list(constants)).graph()
