"""Every op with its samples in native libraries: which have machine code, and are their bits those
of eager mode?

    python -m tests.export.operators               # all of them
    python -m tests.export.operators sort slice    # some
    python -m tests.export.operators --fast        # bits are not compared

Each sample is a graph of one node. Those that have machine code become libraries of many of them,
first of fixed sizes, then of a first size that differs, where an op takes one. Results are compared
at each level that this machine has.
"""

from __future__ import annotations

import argparse
import inspect
import os
import pathlib
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import whet
import whet.distributions  # It registers ops of its own.
from whet.cpu import native
from whet.ir.graph import Graph, Input, OpNode, Ref, Type
from whet.jit import Dim
from whet.jit.export.dims import Dims
from whet.jit.export.exported import Exported, Samples
from whet.jit.export.graph_values import inputs as inputs_of
from whet.jit.export.graph_values import results as results_of
from whet.jit.export.library.level_program import built
from whet.jit.export.library.programs_within_bounds import Ways
from whet.jit.export.signature import Parameter, Signature
from whet.jit.export.sized_graph import SizedGraph
from whet.jit.export.tree_structure import TensorPart, TuplePart
from whet.ops.registry import REGISTRY
from whet.tensor import wrap

from tests.export.test_library import CALL, levels, same_arrays
from tests.ops.test_ops import calls

TOGETHER = 40  # samples in a library
LEAST, MOST, EXAMPLE = 10, 13, 11  # the first size, where it differs


class Case:
    """A sample call of an op, by its arrays."""

    def __init__(self, op: Any, number: int, sample: Any) -> None:
        self.op, self.attrs = op, sample.kwargs
        self.line = f"{op.name}:{number}"
        self.operands = list(sample.args)
        self.arrays = [x._array for x in sample.args if whet.is_tensor(x)]

    def run(self, arrays: Sequence[Any]) -> list[Any]:
        """What eager mode gives."""
        given = iter(arrays)
        operands = [wrap(next(given)) if whet.is_tensor(x) else x for x in self.operands]
        with whet.no_grad(), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            made = self.op(*operands, **self.attrs)
        return [t._array for t in (made if isinstance(made, tuple) else (made,))]

    def resized(self, n: int) -> list[Any]:
        """The arrays with `n` in the place of the first operand's first size."""
        first = self.arrays[0].shape[0]
        return [np.ascontiguousarray(np.take(a, np.arange(n) % first, 0))
                if a.ndim and a.shape[0] == first else a for a in self.arrays]

    def takes_sizes(self) -> bool:
        """Does the op take another first size, with a result that has it, too?"""
        if not self.arrays or not self.arrays[0].ndim or not self.arrays[0].shape[0]:
            return False
        try:
            made = {n: self.run(self.resized(n)) for n in (1 + self.arrays[0].shape[0], MOST)}
        except Exception:  # an op may raise anything
            return False
        return all(y.ndim and y.shape[0] == n for n, ys in made.items() for y in ys)


def cases(name: str) -> Iterator[Case]:
    """The samples of an op, in float32."""
    op = REGISTRY[name]
    if op.samples is not None and not op.random:
        for k, sample in enumerate(calls(op, dtype=whet.float32, grad=False)):
            yield Case(op, k, sample)


def exported(chosen: Sequence[Case], n: int | None = None) -> Exported:
    """Samples as one exported function; `n`: the first size in the example, where it differs."""
    nodes, types, given, places = list[Any](), dict[int, Type](), list[Any](), dict[int, Any]()
    graph_inputs, outs = list[Input](), list[Any]()

    def value(t: Type) -> int:
        types[len(types)] = t
        return len(types) - 1

    for case in chosen:
        arrays = case.arrays if n is None else case.resized(n)
        refs, numbers = iter(zip(case.arrays, arrays)), list[Any]()
        for x in case.operands:
            if whet.is_tensor(x):
                before, a = next(refs)
                if n is not None and before.ndim and before.shape[0] == case.arrays[0].shape[0]:
                    places[len(given)] = {0: 0}
                name, x = f"x{len(given)}", Ref(value(Type(a.dtype, a.shape)))
                graph_inputs.append(Input(int(x), f"argument {len(given)}", name))
                given.append(a)
            numbers.append(x)
        made = [value(Type.of(a)) for a in case.run(arrays)]
        nodes.append(OpNode(case.op, tuple(numbers), case.attrs, made, case.line))
        outs += [(v, f"y{v}") for v in made]
    g = Graph(nodes, types, graph_inputs, outs, "samples")
    dims = None if n is None else Dims([Dim("n", min=LEAST, max=MOST)], places, (n,))
    kind = inspect.Parameter.POSITIONAL_ONLY
    parameters = [Parameter(x.name, kind, TensorPart(x.name, i), False)
                  for i, x in enumerate(graph_inputs)]
    output = TuplePart("output", [TensorPart(name, i) for i, (_, name) in enumerate(outs)])
    sizes = [None if n is None else ["n", *map(str, types[v].shape[1:])] for v, _ in outs]
    signature = Signature(parameters, output, inputs_of(g, dims), results_of(g, sizes))
    sized = None if dims is None else SizedGraph(g, dims, {})
    results = [a for case in chosen
               for a in case.run(case.arrays if n is None else case.resized(n))]
    return Exported("samples", g, {}, signature, [], Samples(given, results), sized)


# ---- which have machine code ---------------------------------------------------------------------
def refusal(case: Case) -> str | None:
    """Why a library has no place for a sample, in the words of an error; None where it has."""
    try:
        made = built(exported([case]).graph, {})
    except Exception as e:
        return f"{type(e).__name__}: {e}"
    return "NumPy or Python does it" if made.refused else None


def way(case: Case) -> str | None:
    """Why sizes have lists of their own each; None where one list is for all."""
    try:
        ways = Ways(exported([case], EXAMPLE))
        ways.find()
    except Exception as e:
        return f"{type(e).__name__}: {e}"
    return next(iter(ways.alone.values()), None)


# ---- are its bits eager's ------------------------------------------------------------------------
def differing(chosen: Sequence[Case], n: int | None = None) -> set[str]:
    """The samples for which a library of them all gives other bits at some level."""
    made, found = exported(chosen, n), set[str]()
    owner = [case.line for case in chosen for _ in case.run(case.arrays)]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.so"
        made.compile(path, threads=2)
        for level in levels():
            model = CALL.Model(path, level=level, threads=2)
            for size in (None,) if n is None else range(LEAST, MOST + 1):
                arrays = [case.arrays if size is None else case.resized(size) for case in chosen]
                wanted = [y for case, xs in zip(chosen, arrays) for y in case.run(xs)]
                flat = [np.ascontiguousarray(x).reshape(x.shape) for xs in arrays for x in xs]
                got = model(*flat, sizes=None if size is None else {"n": size})
                found.update(f"{line} at {level}" + (f", {size}" if size else "")
                             for line, a, b in zip(owner, got, wanted, strict=True)
                             if not same_arrays([a], [np.ascontiguousarray(b).reshape(b.shape)]))
            model.close()
    return found


def groups(found: Sequence[Case]) -> Iterator[Sequence[Case]]:
    """So many at a time as a library holds."""
    for i in range(0, len(found), TOGETHER):
        yield found[i : i + TOGETHER]


class Survey:
    """What becomes of the samples of some ops."""

    def __init__(self, names: Sequence[str]) -> None:
        native.sources = {}
        self.refused, self.alone = dict[str, str](), dict[str, str]()
        self.held, self.sized = list[Case](), list[Case]()
        for case in (c for name in names for c in cases(name)):
            why = refusal(case)
            if why is not None:
                self.refused[case.line] = why
                continue
            self.held.append(case)
            if case.takes_sizes():
                self.sized.append(case)
                why = way(case)
                if why is not None:
                    self.alone[case.line] = why

    def wrong(self) -> list[str]:
        """The samples whose bits are others in a library."""
        found = [differing(g) for g in groups(self.held)]
        together = [c for c in self.sized if c.line not in self.alone]
        apart = [c for c in self.sized if c.line in self.alone]
        found += [differing(g, EXAMPLE) for cs in (together, apart) for g in groups(cs)]
        return sorted(set().union(*found))


def main() -> None:
    """Look at the ops named, or at all."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--fast", action="store_true", help="do not compare bits")
    options = parser.parse_args()
    if os.environ.get("WHET_CACHE") != "0":  # a kernel's text is known where it is written only
        again = [sys.executable, "-m", "tests.export.operators", *sys.argv[1:]]
        os.execve(sys.executable, again, os.environ | {"WHET_CACHE": "0"})
    survey = Survey(options.names or sorted(REGISTRY))
    print(f"{len(survey.held)} samples have machine code, {len(survey.sized)} with a size that "
          "differs")
    for title, of in (("refused", survey.refused), ("each size by itself", survey.alone)):
        print(f"{title}: {len(of)}")
        by_reason: dict[str, list[str]] = {}
        for line, why in of.items():
            by_reason.setdefault(why, []).append(line)
        for why, lines in by_reason.items():
            print(f"  {why[:300]}: {' '.join(lines)}")
    wrong = [] if options.fast else survey.wrong()
    print(f"{len(wrong)} have other bits: {' '.join(wrong)}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
