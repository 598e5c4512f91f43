"""Texts with places for values: `"%d: %.3f" % (i, loss)`, `"{}: {:.3f}".format(i, loss)`."""
from __future__ import annotations

import re
import string
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from .varying_numbers import NUMBERS, value_of

# of these the text is the same at each call
FIXED = str, int, float, bool, type(None)
_PLACE = re.compile(
    r"%(?:(?P<flags>[-+ 0]*)(?P<width>\d*)(?P<digits>\.\d+)?(?P<kind>[diufFeEgGsr])|%)")

# a string, or which of the values is written there, and how `format` writes it
Place: TypeAlias = "str | tuple[int, str]"


class Template(NamedTuple):
    """A text that some code has for a constant, and the offset at which its places are filled."""
    text: str
    offset: int
    is_percent: bool

    def places(self) -> list[Place] | None:
        """Its parts; None if it has places of another kind.

        >>> from whet.jit.values.text_templates import Template
        >>> Template("%d of %-8s", 0, True).places(), Template("{:.3f}", 0, False).places()
        ([(0, 'd'), ' of ', (1, '<8')], [(0, '.3f')])
        """
        return _of_percent(self.text) if self.is_percent else _of_format(self.text)


def _of_percent(text: str) -> list[Place] | None:
    places: list[Place] = []
    end = count = 0
    for m in _PLACE.finditer(text):
        if "%" in text[end:m.start()]:
            return None
        places.append(text[end:m.start()])
        end = m.end()
        if m["kind"] is None:
            places.append("%")
            continue
        way = _as_format(m["flags"], m["width"], m["digits"] or "", m["kind"])
        if way is None:
            return None
        places.append((count, way))
        count += 1
    places.append(text[end:])
    return None if "%" in text[end:] else [p for p in places if p != ""]


def _as_format(flags: str, width: str, digits: str, kind: str) -> str | None:
    """The specification for `format` that means what this one means to `%`; None where it writes
    some numbers otherwise."""
    is_text, is_whole = kind in "sr", kind in "diu"
    if is_text and (digits or set(flags) - {"-"}) or is_whole and digits:
        return None
    if "0" in flags and not is_whole:        # infinity
        return None
    sign = "+" if "+" in flags else " " if " " in flags else ""
    fill = "<" + sign if "-" in flags else sign + ("0" if "0" in flags else "")
    return fill + width + digits + ("" if is_text else "d" if is_whole else kind)


def _of_format(text: str) -> list[Place] | None:
    places: list[Place] = []
    count = 0
    for before, name, way, conversion in string.Formatter().parse(text):
        places += [before] if before else []
        if name is None:
            continue
        if conversion or "{" in (way or "") or not (name == "" or name.isdecimal()):
            return None
        places.append((int(name) if name else count, way or ""))
        count += 1
    return places


def filled(places: Sequence[Place], values: Sequence[Any]) -> list[Any] | None:
    """The parts of a text, with Numbers as (Number, how it is written, text), and None for what is
    not known. None if one of the Numbers is written in a way of which `format` has none."""
    parts: list[Any] = []
    for p in places:
        if isinstance(p, str):
            parts.append(p)
            continue
        v, way = values[p[0]], p[1]
        if type(v) not in NUMBERS:
            parts.append(format(v, way) if type(v) in FIXED and not _is_cut(v, way) else None)
        elif _is_cut(value_of(v), way):
            return None
        else:
            parts.append((v, way, format(value_of(v), way)))
    return parts


def _is_cut(v: object, way: str) -> bool:
    """Does `%d` write something that is no whole number, or `format` a text or None in another
    place?"""
    return way[-1:] == "d" and type(v) is float or type(v) in (str, type(None)) and way != ""
