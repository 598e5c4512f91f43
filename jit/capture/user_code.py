"""What a recorder knows of the code that it records."""
from __future__ import annotations

from collections.abc import Set
from types import CodeType
from typing import NamedTuple


class UserCode(NamedTuple):
    """`codes`: all code of the user that the function can reach. `caller`: the code that calls the
    function. `notices_numbers` and `notices_truths`: see `CodeFacts` in `names_in_code.py`.
    `makes_generators`: could it make generators of NumPy without being noticed?"""
    codes: Set[CodeType] = frozenset()
    caller: CodeType | None = None
    notices_numbers: bool = False
    notices_truths: bool = False
    makes_generators: bool = False
