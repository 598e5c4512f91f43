"""Random functions, called eagerly and traced: every call must come to the same, to the bit. A
trace is replayed by its compiled program, and in turn by one that lacks one of the passes, or by
what the interpreter says that the recorded graph means; or recording is given up halfway.

    python -m tests.fuzz_jit --seconds 60 --seed 1

A program is plain data: what the arguments and the captured things are, the lines of a function,
and what is done between its calls. The lines are made of the steps of tests/fuzz.py and the texts
of tests/fuzz_parts.py; each is tried while the function is made, so that most functions run.
Between calls there are other data, shapes, dtypes and captured values, gradients taken through the
results, writes to them. A program becomes Python source that runs twice, eagerly and traced, and
all that can be seen after each call is compared."""
import copy
import json
import re
import sys

from tests import fuzz_harness
from tests.fuzz_parts import HEAD
from tests.fuzz_programs import program
from tests.fuzz_sides import compare
from tests.fuzz_text import source


def smaller(p):
    """Programs that are a little smaller."""
    yield from _fewer_steps(p)
    for k in range(len(p["returns"])):
        yield _other(p, returns=p["returns"][:k] + p["returns"][k + 1:])
    yield from _fewer_calls(p)
    yield from _fewer_inputs(p)
    yield from _plainer(p)


def _other(p, **kw):
    return {**copy.deepcopy(p), **kw}


def _fewer_steps(p):
    """A step less, or an operand in place of its result, or no mode around it."""
    for k in range(len(p["steps"]))[::-1]:
        step, rest = p["steps"][k], p["steps"][:k] + p["steps"][k + 1:]
        pattern = re.compile(rf"\b{step['out']}\b(\[\d\])?")
        uses = [s for s in rest if any(pattern.search(t) for t in s["ops"].values())]
        if not uses:
            yield _other(p, steps=rest, returns=[t for t in p["returns"] if not pattern.search(t)])
        else:
            drop = {id(s) for s in uses}
            gone = re.compile("|".join([pattern.pattern] + [rf"\b{s['out']}\b" for s in uses]))
            yield _other(p, steps=[s for s in rest if id(s) not in drop],
                         returns=[t for t in p["returns"] if not gone.search(t)])
        for o in dict.fromkeys([*step["ops"].values(), "x0"]):
            if re.match(r"[xvwbt]", o):
                new = [{**s, "ops": {n: pattern.sub(o, t) for n, t in s["ops"].items()}}
                       for s in rest]
                yield _other(p, steps=new, returns=[pattern.sub(o, t) for t in p["returns"]])
        if step["mode"]:
            yield _other(p, steps=[*p["steps"][:k], {**step, "mode": None}, *p["steps"][k + 1:]])


def _fewer_calls(p):
    """A call less, or less that happens around one."""
    calls = p["calls"]
    for k in range(len(calls)):
        yield _other(p, calls=calls[:k] + calls[k + 1:])
        for j in range(len(calls[k]["changes"])):
            c = {**calls[k], "changes": calls[k]["changes"][:j] + calls[k]["changes"][j + 1:]}
            yield _other(p, calls=[*calls[:k], c, *calls[k + 1:]])
        for key in list(calls[k]["after"]):
            if key in ("poke", "take", "late", "spoil") and calls[k]["after"][key] is not False:
                c = {**calls[k], "after": {n: v for n, v in calls[k]["after"].items() if n != key}}
                yield _other(p, calls=[*calls[:k], c, *calls[k + 1:]])


def _fewer_inputs(p):
    """Without the last input, if nobody reads it."""
    last = len(p["inputs"]) - 1
    texts = [*p["returns"], *[t for s in p["steps"] for t in s["ops"].values()]]
    if last > 0 and not any(re.search(rf"\bx{last}\b", t) for t in texts):
        yield _other(p, inputs=p["inputs"][:-1],
                     calls=[{**c, "changes": [x for x in c["changes"] if x[:2] != ["input", last]]}
                            for c in p["calls"]])


def _plainer(p):
    """With plainer tensors, sizes, settings or names."""
    for group in ("inputs", "captured"):
        for k in range(len(p[group])) if group == "inputs" else list(p[group]):
            for key, plain in dict(layout="plain", special=False, inner=False, grad=False,
                                   dtype="float32").items():
                if p[group][k].get(key, plain) != plain:
                    q = _other(p)
                    q[group][k][key] = plain
                    yield q
    for k, n in p["sizes"].items():
        if n not in (2, 3):
            yield _other(p, sizes={**p["sizes"], k: 2})
    for key, plain in dict(closure=False, keep=False, form="tuple", steady=True, pack=None,
                           look=False).items():
        if p[key] != plain:
            yield _other(p, **{key: plain})
    for k, t in p["names"].items():
        if t != k:
            old = re.escape(t)
            q = json.loads(re.sub(old, k, json.dumps(dict(steps=p["steps"], returns=p["returns"]))))
            yield _other(p, names={**p["names"], k: k}, **q)


def shown(p):
    """A program to be read."""
    out = [source(p)[len(HEAD):].strip()]
    out += [f"x{i}: {json.dumps(d)}" for i, d in enumerate(p["inputs"])]
    out += [f"{p['names'][n]}: {json.dumps(v)}"
            for n, v in [*p["captured"].items(), *p["numbers"].items()] if p["names"][n] in out[0]]
    out += [f"call {i}: {json.dumps(c)}" for i, c in enumerate(p["calls"])]
    out += [f"{p['sizes']} verify={p['verify']} keep={p['keep']} steady={p['steady']}"]
    return "\n".join(["    " + line for line in "\n".join(out).split("\n")])


class Program(fuzz_harness.Program):
    """A program, as plain data."""

    def __init__(self, data):
        self.data = data

    @classmethod
    def drawn(cls, seed):
        return cls(program(seed))

    def compared(self, form, counts):
        return compare(self.data, form, counts)

    def smaller(self):
        return map(Program, smaller(self.data))

    def __str__(self):
        return shown(self.data)


if __name__ == "__main__":
    sys.exit(fuzz_harness.main(__spec__.name))
