"""Programs that are lists of launches for machine code, with nodes that Python runs between them.
`builder.py` makes them."""
from __future__ import annotations

import ctypes as C
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from whet.cpu import memory
from whet.ir.graph import Node, Ref, Type
from whet.strided_memory import strided

from ..machine_code.native_runner import machine
from ..refusals.replay_miss import Miss, broken
from ..values.same_bits import template
from .kept_between_calls import Steady
from .launch_lists import ARENA, LaunchList
from .list_lifetimes import Windows
from .node_kinds import KINDS
from .program import Program, makes

NO_LAUNCHES = LaunchList(long=False, address=0, words=0, values=[])


def part_of(a: np.ndarray, offset: int, t: Type) -> np.ndarray:
    """A tensor of this type that begins some bytes after an array's first element. If its dtype
    differs from the array's, it is in C order."""
    size = t.dtype.itemsize
    if a.dtype != t.dtype:
        a = a.reshape(-1).view(t.dtype)
    made: np.ndarray = strided(a, t.shape, [s // size for s in t.strides], offset // size)
    return made


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LaunchProgram(Program):
    """A program whose lists machine code runs."""

    env: list[Any]  # the arrays of values that are the same at each call
    # values that Python reads in the arena, or in another value:
    # value -> (the value whose memory it is in, bytes to its first element, its type)
    local: dict[int, tuple[int, int, Type]]
    checks: dict[int, Node | None]  # address of a check's flag -> the check's node
    stopped: C.c_int64  # the address of the flag that ended a list, or 0
    steady: Steady  # what is kept between calls
    looks: dict[Node, list[int]] = field(default_factory=dict)  # which of `local` a node reads
    windows: Windows | None = None  # when the list uses which memory, if a check may need it

    # ---- running ---------------------------------------------------------------------------------
    def with_memory(
        self, inputs: Sequence[np.ndarray], spent: Mapping[int, np.ndarray]
    ) -> list[Any]:
        env = self.env.copy()
        if self.arena:
            env[ARENA] = memory.empty(self.arena, np.uint8)
        for n, a in zip(self.outside, inputs):
            env[n] = a
        for n in self.fresh:
            env[n] = spent[n] if n in spent else template(self.arrays[n])
        return env

    def take_steps(self, env: list[Any]) -> None:
        for one in self.steps:
            if isinstance(one, LaunchList):
                long = self.lets_others_run(one)
                self.launch(one.address, one.words, long, [env[r] for r in one.values])
            elif makes(one) in self.needs:
                self.do(one, env)
            else:
                self.needs[makes(one)] = memory.growth(lambda node=one: self.do(node, env))

    def lets_others_run(self, launches: LaunchList) -> bool:
        """May other Python threads run while machine code runs this list?"""
        return launches.long

    def launch(self, address: int, words: int, long: bool, arrays: Sequence[Any]) -> None:
        """Run a list of launches. If it ended at a check, raise Miss."""
        try:
            machine()[1](address, words, long, *arrays)
            if self.stopped.value:
                raise Miss(broken(self.stop()))
        except BaseException:
            # An interrupt comes when the list is done. What this list says must not end the next.
            self.stop()
            raise

    def stop(self) -> Node | None:
        """The node of the check that ended a list, if one did. Resets the flag for later lists."""
        at = self.stopped.value
        if not at:
            return None
        C.c_int64.from_address(at).value = self.stopped.value = 0
        return self.checks[at]

    def do(self, node: Node, env: list[Any]) -> None:
        """Run a node in Python."""
        if self.local:
            looks = self.looks.get(node)
            if looks is None:
                looks = self.looks[node] = self.looks_of(node)
            self.look(looks, env)
        ins = [env[x] if type(x) is Ref else x for x in node.ins]
        KINDS[node.kind].run(node, ins, self, env)

    def looks_of(self, node: Node) -> list[int]:
        """The operands of a Python node that are views: of the arena, or of another value."""
        named = {*node.refs(), *node.attrs.get("into", {}).values()}
        return [n for n in self.local if n in named]

    def look(self, values: Sequence[int], env: list[Any]) -> None:
        """Make views of these values, in the arena or in another value."""
        for n in values:
            if env[n] is None:
                root, offset, t = self.local[n]
                env[n] = (np.ndarray(t.shape, t.dtype, env[ARENA], offset, t.strides)
                          if root == ARENA else part_of(env[root], offset, t))

    def forget(self) -> None:
        for g in self.steady.guards:
            g.forget()

    # ---- what it is ------------------------------------------------------------------------------
    @property
    def only_launches(self) -> LaunchList | None:
        one = self.steps[0] if len(self.steps) == 1 else None
        return one if isinstance(one, LaunchList) else None

    @property
    def launches_and_views(self) -> LaunchList | None:
        lists = [one for one in self.steps if isinstance(one, LaunchList)]
        return None if self.called or len(lists) > 1 else lists[0] if lists else NO_LAUNCHES

    def kept(self) -> int:
        """The bytes of the arrays that it holds, with those of inner programs."""
        own: dict[int, int] = {}
        programs = [self]
        for p in programs:  # grows
            for a in (*p.keep, *p.env):
                if type(a) is LaunchProgram:
                    programs.append(a)
                elif type(a) is np.ndarray:
                    while type(a.base) is np.ndarray:
                        a = a.base
                    own[id(a if a.base is None else a.base)] = memory.taken(a.nbytes)
        return sum(own.values())
