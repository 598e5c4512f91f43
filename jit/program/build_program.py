"""Builds a program from recorded nodes, for the CPU or for the device that values are on."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from . import builder
from .builder import DEFAULT, Options

if TYPE_CHECKING:
    from whet.ir.graph import Node

    from .program import Program
    from .value_layouts import Values


def build(nodes: Sequence[Node], values: Values, outside: Iterable[int], results: Iterable[int],
         options: Options = DEFAULT) -> Program:
    """The program that computes `results`: see `builder.build`. `values`: the values of the run."""
    outside, results = list(outside), list(results)
    named = {*outside, *results, *(x for n in nodes for x in n.named())}
    homes = {n: d for n, d in values.devices.items() if n in named}
    if not homes:
        return builder.build(nodes, values.arrays, outside, results, options)
    # only who uses a device loads what works there
    from . import device_builder
    left = [f"{name} left it alone: it works on a device" for name in options.rewrites]
    options = replace(options, notes=[*options.notes, *left])
    return device_builder.build_there(nodes, values.arrays, outside, results, homes, options)
