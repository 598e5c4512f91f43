"""Every op with its samples as an ONNX model of one node, run by the reference evaluator of the
`onnx` package and, where it is installed, by ONNX Runtime.

    python -m tests.onnx.operators               # all of them, at the newest opset and at 17
    python -m tests.onnx.operators relu slice    # some
    python -m tests.onnx.operators --write       # the table in docs/onnx.md

A result is right within `BOUND`, relative to 1 + its magnitude.
"""

import importlib.util
import pathlib
import sys
import warnings

import numpy as np
import whet
import whet.distributions  # It registers ops of its own.
from whet.ir.graph import OpNode, Ref, Type
from whet.onnx.write.model import Signature, build

from tests.ops.test_ops import REGISTRY, calls

BOUND = 3e-5
NEWEST, OLDEST = 26, 17
RUNTIME = importlib.util.find_spec("onnxruntime") is not None
# The op is right, the runner is not: (op, runner) -> what is wrong with it.
FAULTS = {
    ("softsign", "reference"): "the reference evaluator of Softsign refuses numbers",
    ("to_bfloat16", "runtime"): "ONNX Runtime gives no array of bfloat16",
}


class Case:
    """A sample call of an op: its graph of one node, its inputs, and what it gives."""

    def __init__(self, op, sample):
        self.inputs, operands, types = {}, [], {}
        for x in sample.args:
            if whet.is_tensor(x):
                number = len(types)
                types[number] = Type.of(x._array)
                self.inputs[f"x{number}"] = x._array
                x = Ref(number)
            operands.append(x)
        with whet.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = op(*sample.args, **sample.kwargs)
        self.results = [t._array for t in (made if isinstance(made, tuple) else (made,))]
        given = [(i, name) for i, name in enumerate(self.inputs)]
        outs = range(len(types), len(types) + len(self.results))
        types.update((o, Type.of(a)) for o, a in zip(outs, self.results))
        self.nodes, self.types = (
            [OpNode(op, tuple(operands), sample.kwargs, list(outs), "here:1")],
            types,
        )
        self.signature = Signature(given, [(o, f"y{k}") for k, o in enumerate(outs)])

    def model(self, opset):
        return build(self.nodes, self.types, self.signature, opset)

    def compare(self, got):
        for a, b in zip(got, self.results, strict=True):
            a = np.asarray(a)
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            if b.dtype.kind not in "fV":
                assert (a == b).all()
                continue
            a, b = a.astype(np.float64), b.astype(np.float64)
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            with np.errstate(all="ignore"):
                error = np.where(same, 0, np.abs(a - b) / (1 + np.abs(b)))
            assert error.size == 0 or error.max() <= BOUND, f"error {error.max():.2g}"


def cases(name):
    """The samples of an op, in f32."""
    op = REGISTRY[name]
    if op.samples is not None and not op.random:
        for sample in calls(op, dtype=whet.float32, grad=False):
            yield Case(op, sample)


def newest():
    import onnx

    return min(onnx.defs.onnx_opset_version(), NEWEST)


def reasons(name, opset):
    """Why ONNX cannot express samples of an op: none, where it can all of them."""
    return [str(p.why) for case in cases(name) for p in case.model(opset).problems]


def check(name, opset):
    """Run the samples of an op that can be expressed; raises where a result is another."""
    import onnx
    from onnx.reference import ReferenceEvaluator

    for case in cases(name):
        model = case.model(opset)
        if model.problems:
            continue
        onnx.checker.check_model(model.proto, full_check=True)
        if (name, "reference") not in FAULTS:
            case.compare(ReferenceEvaluator(model.proto).run(None, case.inputs))
        if RUNTIME and (name, "runtime") not in FAULTS:
            case.compare(run_in_runtime(model.proto, case.inputs))


def run_in_runtime(proto, inputs):
    """The results of a model in ONNX Runtime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), options, ["CPUExecutionProvider"]
    )
    return session.run(None, inputs)


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


def main():
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page())
        return
    names, failed = sys.argv[1:] or sorted(REGISTRY), 0
    for opset in (newest(), OLDEST):
        for name in names:
            try:
                check(name, opset)
            except Exception as e:
                failed += 1
                print(f"{name} at opset {opset}: {type(e).__name__}: {str(e)[:300]}")
    print(f"{len(names)} ops at opsets {newest()} and {OLDEST}: {failed} failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
