"""Random functions, called eagerly and traced: every call must come to the same, to the bit. A
trace is replayed by its compiled program, and in turn by one that lacks one of the passes, or by
what the interpreter says that the recorded graph means; or recording is given up halfway.

    python -m tests.fuzz_jit --seconds 60 --seed 1

A program is plain data: what the arguments and the captured things are, the lines of a function
(made of the steps of tests/fuzz.py and of the `TEXTS` below, each tried while the function is made,
so that most functions run), and what is done between its calls: other data, shapes, dtypes and
captured values, gradients taken through the results, writes to them. It becomes Python source that
runs twice, eagerly and traced, and all that can be seen after each call is compared. A wrong
program is made as short as possible and printed."""
import argparse
import collections
import copy
import faulthandler
import json
import os
import re
import sys
import time
from concurrent import futures

from tests import fuzz, sweep_kernels
from tests.fuzz_parts import HEAD
from tests.fuzz_programs import program
from tests.fuzz_sides import compare, said
from tests.fuzz_text import source


# ---- making them shorter -------------------------------------------------------------------------
def shorten(p, wrong):
    """The program without what it takes none of to be wrong."""
    tried = set()

    def better(q):
        key = json.dumps(q)
        if key in tried:
            return False
        tried.add(key)
        return wrong(q)
    changed = True
    while changed:
        changed = False
        for q in _smaller(p):
            if better(q):
                p, changed = q, True
                break
    return p


def _smaller(p):
    """Programs that are a little smaller."""
    def other(**kw):
        return {**copy.deepcopy(p), **kw}
    for k in range(len(p["steps"]))[::-1]:
        step, rest = p["steps"][k], p["steps"][:k] + p["steps"][k + 1:]
        pattern = re.compile(rf"\b{step['out']}\b(\[\d\])?")
        uses = [s for s in rest if any(pattern.search(t) for t in s["ops"].values())]
        if not uses:
            yield other(steps=rest, returns=[t for t in p["returns"] if not pattern.search(t)])
        else:
            drop = {id(s) for s in uses}
            gone = re.compile("|".join([pattern.pattern] + [rf"\b{s['out']}\b" for s in uses]))
            yield other(steps=[s for s in rest if id(s) not in drop],
                        returns=[t for t in p["returns"] if not gone.search(t)])
        for o in dict.fromkeys([*step["ops"].values(), "x0"]):
            if re.match(r"[xvwbt]", o):
                new = [{**s, "ops": {n: pattern.sub(o, t) for n, t in s["ops"].items()}}
                       for s in rest]
                yield other(steps=new, returns=[pattern.sub(o, t) for t in p["returns"]])
        if step["mode"]:
            yield other(steps=[*p["steps"][:k], {**step, "mode": None}, *p["steps"][k + 1:]])
    for k in range(len(p["returns"])):
        yield other(returns=p["returns"][:k] + p["returns"][k + 1:])
    calls = p["calls"]
    for k in range(len(calls)):
        yield other(calls=calls[:k] + calls[k + 1:])
        for j in range(len(calls[k]["changes"])):
            c = {**calls[k], "changes": calls[k]["changes"][:j] + calls[k]["changes"][j + 1:]}
            yield other(calls=[*calls[:k], c, *calls[k + 1:]])
        for key in list(calls[k]["after"]):
            if key in ("poke", "take", "late", "spoil") and calls[k]["after"][key] is not False:
                c = {**calls[k], "after": {n: v for n, v in calls[k]["after"].items() if n != key}}
                yield other(calls=[*calls[:k], c, *calls[k + 1:]])
    if len(p["inputs"]) > 1:
        name = rf"\bx{len(p['inputs']) - 1}\b"
        if not any(re.search(name, t)
                   for t in [*p["returns"], *[t for s in p["steps"] for t in s["ops"].values()]]):
            last = len(p["inputs"]) - 1
            yield other(inputs=p["inputs"][:-1],
                        calls=[{**c,
                                "changes": [x for x in c["changes"] if x[:2] != ["input", last]]}
                               for c in calls])
    for group in ("inputs", "captured"):
        for k in range(len(p[group])) if group == "inputs" else list(p[group]):
            for key, plain in dict(layout="plain", special=False, inner=False, grad=False,
                                   dtype="float32").items():
                if p[group][k].get(key, plain) != plain:
                    q = other()
                    q[group][k][key] = plain
                    yield q
    for k, n in p["sizes"].items():
        if n not in (2, 3):
            yield other(sizes={**p["sizes"], k: 2})
    for key, plain in dict(closure=False, keep=False, form="tuple", steady=True, pack=None,
                           look=False).items():
        if p[key] != plain:
            yield other(**{key: plain})
    for k, t in p["names"].items():
        if t != k:
            old = re.escape(t)
            q = json.loads(re.sub(old, k, json.dumps(dict(steps=p["steps"], returns=p["returns"]))))
            yield other(names={**p["names"], k: k}, **q)


def show(p):
    """A program to be read."""
    out = [source(p)[len(HEAD):].strip()]
    out += [f"x{i}: {json.dumps(d)}" for i, d in enumerate(p["inputs"])]
    out += [f"{p['names'][n]}: {json.dumps(v)}"
            for n, v in [*p["captured"].items(), *p["numbers"].items()] if p["names"][n] in out[0]]
    out += [f"call {i}: {json.dumps(c)}" for i, c in enumerate(p["calls"])]
    out += [f"{p['sizes']} verify={p['verify']} keep={p['keep']} steady={p['steady']} kernels: "
            f"{p['kernels']}"]
    return "\n".join(["    " + line for line in "\n".join(out).split("\n")])


# ---- many of them --------------------------------------------------------------------------------
class Worker(fuzz.Worker):
    """A process that compares programs sent to it. With `lives` another takes its place after so
    many: where there is no cache on disk, its first programs find no kernels."""

    def __init__(self, lives=None, **env):
        super().__init__("tests.fuzz_jit", **env)
        self.lives, self.count = lives, 0

    def __call__(self, p):
        if self.count == self.lives:
            self.close()
            self.process, self.count = None, 0
        self.count += 1
        r = super().__call__(p)
        return r if isinstance(r, dict) else dict(why=str(r[0]), paths=0, replays=0, refused=None)


def serve():
    """Read programs, one a line; answer with what came of them."""
    faulthandler.enable()
    for line in sys.stdin:
        try:
            answer = compare(json.loads(line))
        except Exception as e:
            answer = dict(why=f"the comparison raised {said(e)}", paths=0, replays=0, refused=None)
        print(json.dumps(answer, default=str), flush=True)         # (reasons are objects)


OFTEN = 200                      # programs after which it is told how far it got
COLD = dict(lives=20, WHET_CACHE="0")


def workers():
    """Ways to run, of which a program draws one: each target, native or plain, with kernels on disk
    or none."""
    first, *narrow = sweep_kernels.targets()
    ways = [Worker(WHET_NATIVE="1"), Worker(WHET_NATIVE="1", **COLD), Worker(WHET_NATIVE="0"),
            Worker(WHET_NATIVE="0", WHET_GUARD="begin", **COLD),
            Worker(WHET_NATIVE="1", WHET_GUARD="end", WHET_CHECK="2", **COLD)]
    return [*ways, *(Worker(WHET_CPU=t, WHET_NATIVE="1", WHET_GUARD="end", **COLD) for t in narrow)]


def rounds(seed, count, ways, seconds=float("inf"), length=8, skip=()):
    """Run programs; gives (seed, why, program, worker) of each wrong one, and at last how many were
    run, compiled and replayed."""
    end, counts = time.time() + seconds, [0, 0, 0]
    pools, waiting = [futures.ThreadPoolExecutor(1) for _ in ways], collections.deque()

    def finished(most):
        while len(waiting) > most:
            s, p, way, answer = waiting.popleft()
            r = answer.result()
            for k, one in enumerate((True, r["paths"], r["replays"])):
                counts[k] += bool(one)
            if counts[0] % OFTEN == 0:
                print(f"{counts[0]} programs so far", file=sys.stderr, flush=True)
            if r["why"]:
                yield s, r["why"], p, way
    for s in range(seed, seed + count):
        if time.time() > end:
            break
        if s not in skip:
            p = program(s, length)
            k = int(p["kernels"]["way"] * len(ways))
            waiting.append((s, p, ways[k], pools[k].submit(ways[k], p)))
        yield from finished(8)
    yield from finished(0)
    for pool in pools:
        pool.shutdown()
    yield tuple(counts)


def again(p, way):
    """Run a program once more, in a process like `way`'s; one that finds no kernels, if that is so
    there."""
    other = like.setdefault(tuple(way.env.items()), Worker(way.lives and 1, **way.env))
    return other(p)


like = {}


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("--seconds", type=float, default=10)
    a.add_argument("--seed", type=int, default=0)
    a.add_argument("--rounds", type=int, default=10 ** 9)
    a.add_argument("--length", type=int, default=8)
    a.add_argument("--serve", type=int)
    a.add_argument("--raw", action="store_true", help="do not make wrong programs shorter")
    a = a.parse_args()
    if a.serve is not None:
        return serve()
    ways, wrong = workers(), 0
    for found in rounds(a.seed, a.rounds, ways, a.seconds, a.length):
        if len(found) == 3:
            done, compiled, replayed = found
            break
        wrong += 1
        seed, why, p, way = found
        if not a.raw:
            p = shorten(p, lambda q: again(q, way)["why"])
            why = again(p, way)["why"]
        print(f"seed {seed} with {way.env}: {why}\n{show(p)}", flush=True)
    for w in [*ways, *like.values()]:
        w.close()
    print(f"{done} programs, {compiled} compiled, {replayed} replayed, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    os.environ.setdefault("WHET_CACHE_DIR",
                          os.path.join(os.path.dirname(__file__), "..", ".whet-cache"))
    sys.exit(main())
