"""Every op with its samples, in every type that it takes, as an ONNX model of one node: accepted by
the checker with all shapes inferred, run by the reference evaluator of the `onnx` package and by
ONNX Runtime, where that is there (`make peers`).

    python -m tests.onnx.operators               # all of them, at the newest opset and at 17
    python -m tests.onnx.operators relu slice    # some
    python -m tests.onnx.operators --write       # the table in docs/onnx.md

Whole numbers, bools and what is only moved must be the same. Other numbers are right within
`BOUNDS`, relative to 1 + their magnitude.
"""

import collections
import os
import pathlib
import sys
import tempfile
import warnings

import numpy as np
import whet
import whet.distributions  # It registers ops of its own.
from whet.ir.graph import OpNode, Ref, Type
from whet.onnx.write.complex_values import as_pairs
from whet.onnx.write.model import Signature, build
from whet.ops.sample_inputs import Sample

from tests.export.onnx_runtime import Runtime
from tests.ops.test_ops import REGISTRY, calls

BOUNDS = {2: 5e-3, 4: 3e-5, 8: 1e-6}  # by bytes of a real number; bfloat16 has its own
BOUND_OF_BFLOAT16 = 2e-2
NEWEST, OLDEST = 26, 17
TYPES = (
    whet.float32, whet.float64, whet.float16, whet.bfloat16, whet.int64, whet.int32, whet.int16,
    whet.int8, whet.uint8, whet.bool, whet.complex64)  # fmt: skip
# The op is right, the runner is not: (op, runner) -> what is wrong with it.
FAULTS = {
    ("det", "reference"): "the reference evaluator of Det refuses its own number of one matrix",
    ("softsign", "reference"): "the reference evaluator of Softsign refuses numbers",
}


def is_bfloat16(a):
    return a.dtype == whet.bfloat16.np


def widened(a):
    """An array, of bfloat16 as float32."""
    a = np.asarray(a)
    if is_bfloat16(a):
        return (a.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return a.astype(np.float32) if a.dtype.name == "bfloat16" else a


class Case:
    """A sample call of an op: its graph of one node, its inputs, and what it gives."""

    def __init__(self, op, sample):
        self.inputs, operands, types = {}, [], {}
        for x in sample.args:
            if whet.is_tensor(x):
                number = len(types)
                types[number] = Type.of(x._array)
                self.inputs[f"x{number}"] = as_pairs(x._array)
                x = Ref(number)
            operands.append(x)
        with whet.no_grad(), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            made = op(*sample.args, **sample.kwargs)
        self.results = [t._array for t in (made if isinstance(made, tuple) else (made,))]
        given = [(i, name) for i, name in enumerate(self.inputs)]
        outs = range(len(types), len(types) + len(self.results))
        types.update((o, Type.of(a)) for o, a in zip(outs, self.results))
        self.results = list(map(as_pairs, self.results))
        self.nodes, self.types = (
            [OpNode(op, tuple(operands), sample.kwargs, list(outs), "here:1")],
            types,
        )
        self.signature = Signature(given, [(o, f"y{k}") for k, o in enumerate(outs)])

    def model(self, opset):
        """The model; where that has no form, one whose operands but the first are constants."""
        model = build(self.nodes, self.types, self.signature, opset)
        if not model.problems or len(self.inputs) < 2:
            return model
        given, *held = self.signature.inputs
        held = [(i, name, self.inputs[name]) for i, name in held]
        signature = Signature([given], self.signature.outputs, held)
        again = build(self.nodes, self.types, signature, opset)
        if again.problems:
            return model
        self.inputs = {given[1]: self.inputs[given[1]]}
        return again

    def has_bfloat16(self):
        return any(is_bfloat16(a) for a in [*self.inputs.values(), *self.results])

    def compare(self, got):
        for a, b in zip(got, self.results, strict=True):
            bound = BOUND_OF_BFLOAT16 if is_bfloat16(b) else BOUNDS.get(b.dtype.itemsize, 0)
            a, b = widened(a), widened(b)
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            if b.dtype.kind != "f" or self.only_moves(b):
                assert ((a == b) | ((a != a) & (b != b))).all(), "other numbers"
                continue
            a, b = a.astype(np.float64), b.astype(np.float64)
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            with np.errstate(all="ignore"):
                error = np.where(same, 0, np.abs(a - b) / (1 + np.abs(b)))
            assert error.size == 0 or error.max() <= bound, f"error {error.max():.2g}"

    def only_moves(self, made):
        """Is each element of a result one of the operands'?"""
        there = [x.reshape(-1) for x in map(widened, self.inputs.values()) if x.dtype == made.dtype]
        return made.size > 1 and bool(there) and np.isin(made, np.concatenate(there)).all()


def samples(op, dtype):
    """The samples of an op in a type; numbers that an op does not promote are Python's."""
    for sample in calls(op, dtype=dtype, grad=False):
        args = list(sample.args)
        for i in getattr(op, "keep", ()):
            if whet.is_tensor(args[i]) and dtype is not whet.bfloat16:
                args[i] = args[i].reshape(-1)[0].item() if args[i].numel() else 1
        yield Sample(*args, **sample.kwargs)


def cases(name, types=(whet.float32,)):
    """The different samples of an op, in some types."""
    op, seen = REGISTRY[name], set()
    if op.samples is None or op.random:
        return
    for dtype in types:
        try:
            with np.errstate(all="ignore"):
                found = list(samples(op, dtype))
        except Exception:  # there are none in this type
            continue
        for sample in found:
            key = str([(x.dtype, x.shape) if whet.is_tensor(x) else x for x in sample.args])
            if (key, str(sample.kwargs)) in seen:
                continue
            seen.add((key, str(sample.kwargs)))
            try:
                yield Case(op, sample)
            except Exception:  # the op does not take this type
                if dtype is whet.float32:
                    raise


def newest():
    import onnx

    return min(onnx.defs.onnx_opset_version(), NEWEST)


def reasons(name, opset):
    """Why ONNX cannot express samples of an op: none, where it can all of them."""
    return [str(p.why) for case in cases(name) for p in case.model(opset).problems]


class InRuntime:
    """Runs models in ONNX Runtime, in its own process; files lie in a folder meanwhile."""

    def __init__(self):
        self.folder, self.process, self.count = tempfile.TemporaryDirectory(), Runtime(), 0

    def __call__(self, case, proto):
        if case.has_bfloat16():  # its Python has no arrays of it
            return
        import onnx

        self.count += 1
        path = os.path.join(self.folder.name, f"{self.count}.onnx")
        onnx.save(proto, path)
        try:
            case.compare(self.process.run(path, list(case.inputs.values()), self.folder.name))
        finally:
            os.unlink(path)

    def close(self):
        self.process.close()
        self.folder.cleanup()


def in_reference(case, proto):
    """Run a model in the reference evaluator."""
    import ml_dtypes
    from onnx.reference import ReferenceEvaluator

    given = {k: a.view(ml_dtypes.bfloat16) if is_bfloat16(a) else a for k, a in case.inputs.items()}
    case.compare(ReferenceEvaluator(proto).run(None, given))


def outcomes(name, opset, types=(whet.float32,), runtime=None):
    """For each sample of an op: None where its model gives what the op gives, else the reason why
    there is none. Raises where a result is another."""
    import onnx

    for case in cases(name, types):
        model = case.model(opset)
        if model.problems:
            yield str(model.problems[0].why)
            continue
        onnx.checker.check_model(model.proto, full_check=True)
        if (name, "reference") not in FAULTS:
            in_reference(case, model.proto)
        if runtime is not None:
            runtime(case, model.proto)
        yield None


def check(name, opset):
    """Run the samples of an op that can be expressed; raises where a result is another."""
    for _ in outcomes(name, opset):
        pass


# ---- the table of what cannot be expressed -------------------------------------------------------
PAGE = pathlib.Path(__file__).parents[2] / "docs" / "onnx.md"
BEGIN, END = "<!-- what ONNX cannot express -->", "<!-- end -->"


def whole_reasons(name):
    """Why ONNX cannot express an op, or some calls of it; none where it can all."""
    op = REGISTRY[name]
    if op.random and not op.samples:
        return ["random numbers"]
    found = list(cases(name))
    if found:
        return sorted({str(p.why) for case in found for p in case.model(newest()).problems})
    return [] if op.onnx is not None else ["ONNX has no such operator"]


def table():
    """What cannot be expressed, by reasons, and how many ops can, by families."""
    by_reason, families = {}, {}
    for name, op in sorted(REGISTRY.items()):
        found = whole_reasons(name)
        family = families.setdefault(op.family, [0, 0])
        family[bool(found)] += 1
        for reason in found:
            by_reason.setdefault(reason, []).append(f"`{name}`")
    lines = [
        "| family | ops that have a form | that have none, or not for all calls |",
        "|---|---|---|",
    ]
    lines += [f"| {f} | {a} | {b} |" for f, (a, b) in sorted(families.items())]
    lines += ["", "| why | ops |", "|---|---|"]
    lines += [f"| {reason} | {' '.join(ops)} |" for reason, ops in sorted(by_reason.items())]
    return "\n".join(lines)


def page():
    """The page with the table as it is now."""
    before, rest = PAGE.read_text().split(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}"


def survey(names, opset, runtime):
    """How many ops have samples that differ, at an opset; what was found is printed."""
    equal, refused, wrong = 0, collections.defaultdict(collections.Counter), 0
    for name in names:
        try:
            for why in outcomes(name, opset, TYPES, runtime):
                equal += why is None
                if why is not None:
                    refused[why][name] += 1
        except Exception as e:
            wrong += 1
            print(f"{name} at opset {opset}: {type(e).__name__}: {str(e)[:300]}")
    for why, ops in sorted(refused.items()):
        print(f"  {why}: {' '.join(sorted(ops))}")
    count = sum(ops.total() for ops in refused.values())
    print(f"opset {opset}: {len(names)} ops, {equal} samples equal, {count} refused, "
          f"{wrong} ops wrong")
    return wrong


def main():
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page())
        return
    names = sys.argv[1:] or sorted(REGISTRY)
    runtime = InRuntime() if Runtime.is_there() else None
    wrong = sum(survey(names, opset, runtime) for opset in (newest(), OLDEST))
    if runtime is not None:
        runtime.close()
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
