"""Text as tokens, read from left to right, and the Python values in it: the inverse of
`ir/value_text.py`. Nothing that is read is run."""
from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np

from .op import find_op
from .values import Array, Ref, Type, short, types

DEEP = 40                                # brackets within brackets
LARGEST = 1 << 62                        # bytes, and elements of a dimension
NEXT = {"line": "the end of the line", "end": "the end"}
# in an array of this kind
NUMBERS: dict[str, type] = {"b": bool, "i": int, "u": int, "c": complex}

T = TypeVar("T")


class ParseError(ValueError):
    """Raised for text that is not a graph, with the place (`line` and `column`, from 1)."""

    def __init__(self, what: str, source: str, line: int, column: int) -> None:
        shown = source.splitlines()[line - 1] if 0 < line <= len(source.splitlines()) else ""
        super().__init__(
            f"line {line}, column {column}: {what}\n  {shown}\n  {' ' * (column - 1)}^")
        self.line, self.column = line, column


_TOKEN = re.compile(r"""
    (?P<space>[ \t]+) | (?P<comment>\#[^\n]*) | (?P<line>\n)
  | (?P<number>-?(?:\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+|inf\b))
  | (?P<string>"(?:[^"\\\n]|\\.)*")
  | (?P<name>[A-Za-z_]\w*(?:\.\w+)*)
  | (?P<mark>\.\.\.|->|==|[%@=():,{}\[\]])
""", re.X)


class Token(NamedTuple):
    """A token of the text: its kind, its text and its place."""
    kind: str
    text: str
    line: int
    column: int


def tokens(source: str) -> tuple[list[Token], dict[int, str]]:
    """The tokens of a text, and the comments by their lines."""
    found, comments, line, start, pos = [], {}, 1, 0, 0
    while pos < len(source):
        m = _TOKEN.match(source, pos)
        if m is None:
            raise ParseError(f"unexpected character {source[pos]!r}", source, line, pos - start + 1)
        kind, text = str(m.lastgroup), m[0]
        if kind == "comment":
            comments[line] = text[1:].strip()
        elif kind == "line":
            found.append(Token(kind, text, line, pos - start + 1))
            line, start = line + 1, m.end()
        elif kind != "space":
            found.append(Token(kind, text, line, pos - start + 1))
        pos = m.end()
    return [*found, Token("end", "", line, pos - start + 1)], comments


class Reader:
    """A text that is read: `at` is the token that comes next. `constants` are the arrays that
    the text names by numbers."""

    def __init__(self, source: str, constants: Sequence[Array] = (),
                 ops: Mapping[str, Any] | None = None) -> None:
        self.ops = ops or {}
        self.source, self.constants, self.at, self.deep = source, constants, 0, 0
        self.tokens, self.comments = tokens(source)

    def fail(self, what: str, token: Token | None = None) -> NoReturn:
        """Raise a ParseError at a token, by default the next one."""
        token = token or self.tokens[self.at]
        raise ParseError(what, self.source, token.line, token.column)

    @property
    def next(self) -> Token:
        """The token that comes next."""
        return self.tokens[self.at]

    @property
    def after(self) -> Token:
        """The token after that."""
        return self.tokens[min(self.at + 1, len(self.tokens) - 1)]

    def sees(self, text: str, kind: str = "mark") -> bool:
        """Is this the next token?"""
        return self.tokens[self.at][:2] == (kind, text)

    def take(self, text: str | None = None, kind: str | None = None,
             what: str | None = None) -> Token:
        """Consume the next token, which must be this one."""
        have = self.tokens[self.at]
        if text is not None and have.text != text or kind is not None and have.kind != kind:
            self.fail(
                f"expected {what or repr(text or kind)}, found "
                f"{NEXT.get(have.kind, repr(have.text))}")
        self.at += 1
        return have

    def skip(self, text: str, kind: str = "mark") -> bool:
        """Take it if it is there."""
        if self.sees(text, kind):
            self.at += 1
            return True
        return False

    def end_line(self) -> str:
        """The comment of the line that ends here."""
        token = self.next
        if token.kind != "end":
            self.take(kind="line", what="the end of the line")
        said = self.comments.pop(token.line, "")
        if said.startswith('"'):
            try:
                said = json.loads(said)
            except ValueError:
                self.fail("the comment is no text", token)
        while self.next.kind == "line":
            self.at += 1
        return said

    def many(self, close: str, one: Callable[[], T]) -> list[T]:
        """Things between here and a closing mark, commas between them."""
        out: list[T] = []
        while not self.skip(close):
            if out:
                self.take(",")
                if self.skip(close):
                    break
            out.append(one())
        return out

    def listed(self, one: Callable[[], T]) -> list[T]:
        """Things with commas between them, at least one."""
        out = [one()]
        while self.skip(","):
            out.append(one())
        return out

    def inside(self, one: Callable[[], T], what: str) -> T:
        """What is read within brackets, which may be nested only so deeply."""
        self.deep += 1
        if self.deep > DEEP:
            self.fail(f"{what} are nested too deeply")
        try:
            return one()
        finally:
            self.deep -= 1

    # ---- values ----
    def integer(self) -> int:
        """A whole number."""
        token = self.take(kind="number", what="a whole number")
        if not token.text.lstrip("-").isdigit() or len(token.text) > 40:
            self.fail(f"expected a whole number, found {token.text}", token)
        return int(token.text)

    def ref(self) -> Ref:
        """The number of a value."""
        self.take("%", "mark")
        token = self.next
        n = self.integer()
        if not 0 <= n < 1 << 31:
            self.fail("the number of a value is out of range", token)
        return Ref(n)

    def string(self) -> str:
        """A text in quotes."""
        token = self.take(kind="string", what="a text")
        try:
            return str(json.loads(token.text))
        except ValueError:
            self.fail("this text is badly written", token)

    def bytes(self) -> bytes:
        """Bytes, as a text of hexadecimal digits."""
        token = self.next
        said = self.string()
        try:
            return bytes.fromhex(said)
        except ValueError:
            self.fail("expected pairs of hexadecimal digits", token)

    def value(self) -> Any:
        """A Python value, or a reference."""
        return self.inside(self._value, "brackets")

    def _value(self) -> Any:
        token = self.next
        if token.kind == "string":
            return self.string()
        if token.kind == "number" and token.text.lstrip("-").isdigit():
            return self.integer()
        if self.sees("%"):
            return self.ref()
        self.at += 1
        if token.kind == "number":
            return float(token.text)
        if token.kind == "name":
            return self.named(token.text, token)
        if token.kind == "mark" and token.text == "...":
            return ...
        if token.kind == "mark" and token.text == "(":
            return tuple(self.many(")", self.value))
        if token.kind == "mark" and token.text == "[":
            return self.many("]", self.value)
        self.fail("expected a value", token)

    def named(self, text: str, token: Token) -> Any:
        """A value that begins with a name."""
        if text in CONSTANTS:
            return CONSTANTS[text]
        read = _READ.get(text)
        if read is not None:
            return read(self, token)
        if text.startswith("whet."):
            return self.of_ours(text[5:], token)
        if text in types()[0]:
            return self.array(text, token)
        self.fail(f"there is no value {text}", token)

    def of_ours(self, name: str, token: Token) -> Any:
        """A type or a memory format of whet's."""
        from whet import dtypes
        from whet.layouts import (
            channels_last,
            channels_last_3d,
            contiguous_format,
            preserve_format,
            strided,
        )
        formats = {
            repr(f): f
            for f in (channels_last, channels_last_3d, contiguous_format, preserve_format, strided)}
        found = dtypes.NAMED.get(name) or formats.get(f"whet.{name}")
        return found if found is not None else self.fail(f"there is no whet.{name}", token)

    def type(self) -> Type:
        """A value's type."""
        token = self.take(kind="name", what="a type")
        if token.text not in types()[0]:
            self.fail(f"there is no type {token.text}", token)
        return self.type_of(token.text, token)

    def strides(self) -> list[int] | None:
        """Strides in bytes, if they are written."""
        if self.sees("@") and self.tokens[self.at + 1].text == "(":
            self.at += 2
            return self.many(")", self.integer)
        return None

    def type_of(self, letters: str, token: Token) -> Type:
        """A type, from its sizes on."""
        self.take("[")
        shape = self.many("]", self.integer)
        strides = self.strides()
        wrong = (strides is not None
                 and (len(strides) != len(shape) or any(abs(s) >= LARGEST for s in strides)))
        if any(not 0 <= n < LARGEST for n in shape) or len(shape) > 64 or wrong:
            self.fail("these sizes and strides are not possible", token)
        t = Type(types()[0][letters].np, shape, strides)
        return t if t.nbytes < LARGEST else self.fail("these sizes are not possible", token)

    def array(self, letters: str, token: Token) -> Any:
        """An array, from its type on; without brackets a NumPy scalar."""
        scalar = not self.sees("[")
        t = Type(types()[0][letters].np, ()) if scalar else self.type_of(letters, token)
        self.take("(", "mark")
        flat = self.elements(letters, t, token)
        if scalar:
            return flat.reshape(())[()]
        low, high = t.span
        if low or high > t.nbytes or not _apart(t):
            self.fail("a constant of these strides has gaps, or elements in one place", token)
        a: Array = np.ndarray(t.shape, t.dtype, bytearray(high), 0, t.strides)
        a[...] = flat.reshape(t.shape)
        return a

    def elements(self, letters: str, t: Type, token: Token) -> Array:
        """The elements of an array, after the bracket."""
        if self.skip("@"):
            return self.constant(t)
        if self.skip("hex", "name"):
            raw = self.bytes()
            if len(raw) != t.nbytes:
                self.fail(f"expected {t.nbytes} bytes, found {len(raw)}", token)
            self.take(")")
            return np.frombuffer(raw, t.dtype)
        numbers = self.many(")", self.value)
        if len(numbers) != t.size:
            self.fail(f"expected {t.size} elements of {letters}, found {len(numbers)}", token)
        allowed = NUMBERS.get(t.dtype.kind, float)
        if any(type(x) is not allowed for x in numbers):
            self.fail(f"these are not all elements of {letters}", token)
        try:
            with np.errstate(all="ignore"):
                return np.array(numbers,
                                t.dtype if t.dtype.kind in "biuc" else np.float64).astype(t.dtype)
        except OverflowError:
            self.fail(f"these are not all elements of {letters}", token)

    def constant(self, t: Type) -> Array:
        """An array of the table of constants given beside the text."""
        at = self.next
        k = self.integer()
        if not 0 <= k < len(self.constants):
            self.fail(f"there is no constant {k} in the table", at)
        flat = self.constants[k]
        if (flat.dtype, flat.size) != (t.dtype, t.size):
            self.fail(f"constant {k} has {flat.size} elements of {short(flat.dtype)}", at)
        self.take(")")
        return np.asarray(flat).reshape(-1)

    def op(self) -> Any:
        """An op, by its name."""
        token = self.next
        name = (self.string()
                if token.kind == "string" else self.take(kind="name", what="an op").text)
        found = self.ops.get(name) or find_op(name)
        return found if found is not None else self.fail(f"there is no op {name}", token)


# ---- values that begin with a name ---------------------------------------------------------------
CONSTANTS: dict[str, Any] = {"None": None, "True": True, "False": False, "inf": math.inf}


def _nan(reader: Reader, token: Token) -> Any:
    if reader.next.kind != "string":
        return math.nan
    raw = reader.bytes()
    return struct.unpack("<d", raw)[0] if len(raw) == 8 else reader.fail("expected 8 bytes", token)


def _complex(real: Any, imaginary: Any) -> complex:
    return complex(float(real), float(imaginary))


def _slice(start: Any, stop: Any, step: Any) -> slice:
    return slice(start, stop, step)


def _size(*parts: Any) -> Any:
    from whet.tensor import Size
    if any(type(p) is not int for p in parts):
        raise TypeError("a size is a whole number")
    return Size(list(parts))


def _made(make: Callable[..., Any]) -> Callable[[Reader, Token], Any]:
    """What reads `name(part, ...)`."""
    def read(reader: Reader, token: Token) -> Any:
        reader.take("(")
        parts = reader.many(")", reader.value)
        try:
            return make(*parts)
        except (ValueError, TypeError):
            reader.fail(f"{token.text} of what?", token)
    return read


def _device(reader: Reader, token: Token) -> Any:
    from whet.devices import device
    said = reader.string()
    try:
        return device(said)
    except RuntimeError as e:
        reader.fail(str(e), token)


_READ: dict[str, Callable[[Reader, Token], Any]] = {
    "nan": _nan, "bytes": lambda reader, token: reader.bytes(), "device": _device,
    "complex": _made(_complex), "slice": _made(_slice), "Size": _made(_size)}


def _apart(t: Type) -> bool:
    """Does every element of a constant lie in a place of its own?"""
    need = t.dtype.itemsize
    for s, n in sorted((s, n) for s, n in zip(t.strides, t.shape) if n > 1):
        if s < need:
            return not t.size
        need = s * n
    return True


def operands(reader: Reader) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Operands and attributes, after the opening bracket."""
    ins: list[Any] = []
    attrs: dict[str, Any] = {}

    def one() -> None:
        token = reader.next
        if token.kind == "name" and reader.after.text == "=":
            reader.at += 2
            if token.text in attrs:
                reader.fail(f"{token.text} is given twice", token)
            attrs[token.text] = reader.value()
        elif attrs:
            reader.fail("an operand comes after an attribute", token)
        else:
            ins.append(reader.value())
    reader.many(")", one)
    return tuple(ins), attrs


def made_types(reader: Reader, outs: Sequence[int], types: dict[int, Type]) -> None:
    """The types of results."""
    reader.take(":", what="the types of the results")
    for i, o in enumerate(outs):
        if i:
            reader.take(",")
        token = reader.next
        t = reader.type()
        if types.setdefault(o, t) != t:
            reader.fail(f"%{o} has two types", token)
