"""Could code see which error its caller handles? Python chains it to the errors that are raised
meanwhile (`__context__`), and a `raise` without an operand raises it again."""
import dis
from collections.abc import Iterator
from types import CodeType
from typing import NamedTuple

CHAINED = "__context__"
_CACHE, _BEGINS, _RAISES = dis.opmap.get("CACHE", 0), dis.opmap["PUSH_EXC_INFO"], dis.opmap[
    "RAISE_VARARGS"]


class _Covered(NamedTuple):
    """Part of some code, and where it goes on after an error, in bytes."""
    start: int
    end: int
    target: int


def sees_handled_error(code: CodeType) -> bool:
    """Could some code see which error was being handled when it was called?

        >>> from whet.jit.guards.handled_errors import sees_handled_error
        >>> def again(f):
        ...     try: f()
        ...     except ValueError: raise
        >>> def last(): raise
        >>> sees_handled_error(again.__code__), sees_handled_error(last.__code__)
        (False, True)
    """
    if CHAINED in code.co_names or CHAINED in code.co_consts:
        return True
    raw = code.co_code
    bare = [i for i in range(0, len(raw), 2) if raw[i] == _RAISES and not raw[i + 1]]
    if not bare:
        return False
    covered = list(_covered(code.co_exceptiontable))
    return not all(_is_in_handler(raw, covered, i) for i in bare)


def _is_in_handler(raw: bytes, covered: list[_Covered], place: int) -> bool:
    """Does an `except`, a `finally` or a `with` of this code handle an error at a place? There, the
    code that an error leads to only puts back what was handled before."""
    while (found := _innermost(covered, place)) is not None:
        if raw[found.target] != _BEGINS:
            return True
        # of a block whose errors are handled: go on where that handler's own errors lead to
        ends = _innermost(covered, found.target)
        if ends is None:
            return False
        place = ends.target
    return False


def _innermost(covered: list[_Covered], place: int) -> _Covered | None:
    return next((c for c in covered if c.start <= place < c.end), None)


def _covered(table: bytes) -> Iterator[_Covered]:
    """The entries of a code's exception table (`Objects/exception_handling_notes.txt`)."""
    numbers, n, is_more = [], 0, False
    for byte in table:
        n = (n << 6 if is_more else 0) | byte & 0x3F
        is_more = bool(byte & 0x40)
        if not is_more:
            numbers.append(n)
    for start, length, target, _ in zip(*[iter(numbers)] * 4):
        yield _Covered(2 * start, 2 * (start + length), 2 * target)
