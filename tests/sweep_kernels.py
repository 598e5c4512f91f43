"""Every family of kernels, through every form that a kernel can have: all must give the same bits,
and touch nothing that is not theirs.

    python -m tests.sweep_kernels [families]            all forms (also: make sweep-kernels)
    python -m tests.sweep_kernels --part 60 --seed 3    60 cases, in few forms

A form is a process: its target, its native or its plain way, guards at the end or at the beginning
of buffers, checked kernels or not, and kernels that are in no cache or come from disk. In a process
each case runs eagerly, twice (the second call may be a recipe of machine code), with different
numbers of threads, and traced. Where kernels are in no cache, all of that meets brief kernels
first; then they are exchanged for full ones while cases run, and all is run once more. Results are
compared in the process, and with those of the first form; the operands' gaps must hold what they
held. What ends a process by a signal is reported with the case that it was at.
"""

import argparse
import faulthandler
import itertools
import os
import pickle
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

THREADS = (1, 3)
CLOSE = dict(
    rtol=2e-2, atol=2e-2
)  # what the reference may differ by: it adds in an order of its own, and halves have few digits


@dataclass(frozen=True)
class Form:
    """How a process runs its kernels. `kernels`: "cold" (none is in a cache), "disk" (those of the
    cold process with this target and these checks)."""

    target: str
    kernels: str = "cold"
    native: bool = True
    guard: str = "end"
    checked: bool = True

    def __str__(self):
        return " ".join(
            [
                self.target,
                self.kernels,
                "native" if self.native else "plain",
                f"guard at the {self.guard}",
                "checked" * self.checked,
            ]
        )

    def environment(self, folder):
        return {
            **os.environ,
            "WHET_CPU": self.target,
            "WHET_NATIVE": str(int(self.native)),
            "WHET_GUARD": self.guard,
            "WHET_CHECK": "2" if self.checked else "1",
            "WHET_CACHE_DIR": f"{folder}/{self.target}{self.checked}",
            "WHET_CACHE": "1",
        }


def targets():
    """The targets of this machine, the widest first."""
    from whet.passes.lower_llvm import targets

    names = ["neon"] if targets._best() == "neon" else ["baseline", "avx2", "avx512"]
    return names[: names.index(targets._best()) + 1][::-1]


def all_forms():
    for target in targets():
        yield Form(target)
        yield Form(target, "disk", native=False, guard="begin")
        yield Form(target, checked=False, guard="begin")
        yield Form(target, "disk", checked=False)
    yield Form("numpy", native=False, checked=False)


def few_forms():
    """Those of the widest target, and NumPy: a mask that is wrong in all of its forms alike gives
    the same bits in each, but not NumPy's numbers."""
    best = targets()[0]
    return [
        Form(best),
        Form(best, "disk", native=False, guard="begin"),
        Form("numpy", native=False, checked=False),
    ]


# ---- in a process --------------------------------------------------------------------------------
class Run:
    """The cases of a process, and what came of them."""

    def __init__(self, names, form):
        import whet

        from tests.kernel_cases import FAMILIES

        self.form, self.whet = form, whet
        self.cases = {
            f"{family.__name__}: {case.name}": case
            for family in FAMILIES.values()
            for case in family().cases()
        }
        if names is not None:
            self.cases = {name: self.cases[name] for name in names}
        self.results, self.wrong, self.traces = {}, [], {}

    def compare(self, name, how, call):
        """Run a case: its results must be those of its first run."""
        from tests.kernel_cases import gaps

        case = self.cases[name]
        arrays = case.arrays()
        before = [gaps(a) for a in arrays]
        try:
            got = [
                t.detach().numpy().copy() for t in flat(call(*map(self.whet.from_numpy, arrays)))
            ]
        except Exception as e:
            self.wrong.append(f"{name}, {how}: {type(e).__name__}: {e}")
            return
        if not all(np.array_equal(b, gaps(a)) for b, a in zip(before, arrays, strict=True)):
            self.wrong.append(
                f"{name}, {how}: something was written between the elements of an operand"
            )
        got += [a.copy() for a in arrays]
        want = self.results.setdefault(name, got)
        self.wrong += [f"{name}, {how}: {d}" for d in [difference(want, got)] if d]

    def once(self, how):
        """Every case in every way that does not depend on what is compiled."""
        for name, case in self.cases.items():
            print(f"{name}, {how}", flush=True)
            for n in THREADS:
                self.whet.set_num_threads(n)
                for call in ("called first", "called again"):
                    self.compare(name, f"{how}, {n} threads, {call}", case.call)
            if self.form.target != "numpy":
                self.traced(name, how)

    def traced(self, name, how):
        f = self.traces.get(name)
        if f is None:
            f = self.traces[name] = self.whet.jit.trace(self.cases[name].call, verify="off")
        for k in range(3):
            self.compare(name, f"{how}, traced, call {k}", f)

    def swapped(self):
        """All cases, again and again, while their kernels are exchanged."""
        from whet.cpu import tiered_compilation

        t = threading.Thread(target=tiered_compilation.compile_well)
        t.start()
        while t.is_alive():
            for name, case in self.cases.items():
                print(f"{name}, exchanged", flush=True)
                self.compare(name, "while kernels are exchanged", case.call)
                self.compare(name, "while kernels are exchanged, traced", self.traces[name])
                if not t.is_alive():
                    break


def serve(path, form):
    """The process of a form: the names of cases come from stdin."""
    faulthandler.enable()
    generators = generators_seen()
    from whet.cpu import native, tiered_compilation

    run = Run(pickle.load(sys.stdin.buffer), form)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if form.kernels == "cold" and form.target != "numpy":
            with tiered_compilation.form("brief"):
                run.once("brief")
                run.swapped()
        run.once("full")
    met = generators | {
        kind for kind in kinds() if any(re.match(kind, key) for key in native._found)
    }
    Path(path).write_bytes(
        pickle.dumps(
            (run.results, run.wrong, met, sum(bool(f._table) for f in run.traces.values()))
        )
    )


def kinds():
    """Patterns of the keys of kernels, all of which cases must meet."""
    from tests.kernel_cases import FAMILIES

    return {kind for family in FAMILIES.values() for kind in family.kinds}


def flat(x):
    """The tensors of a result."""
    return [t for part in x for t in flat(part)] if isinstance(x, tuple | list) else [x]


def difference(want, got):
    """How two lists of arrays differ in their bits, or None."""
    for k, (a, b) in enumerate(zip(want, got, strict=True)):
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            return f"result {k} is {b.dtype}{b.shape}, not {a.dtype}{a.shape}"
        if a.tobytes() != b.tobytes():
            x, y = (
                np.ascontiguousarray(v).reshape(-1).view(np.uint8).reshape(v.size, -1)
                for v in (a, b)
            )
            bad = (x != y).any(1)
            at = np.unravel_index(int(bad.argmax()), a.shape)
            where = f"{b[at]} for {a[at]} at {tuple(map(int, at))}"
            return f"{bad.sum()} of {a.size} elements of result {k}; {where}"
    return None


def far(want, got):
    """The same up to the digits that another order of sums changes."""
    for k, (a, b) in enumerate(zip(want, got, strict=True)):
        exact = a.dtype.kind in "iub"
        if a.shape != b.shape or not (
            np.array_equal(a, b)
            if exact
            else np.allclose(
                *(v.astype("c16" if v.dtype.kind == "c" else "f8") for v in (a, b)),
                **CLOSE,
                equal_nan=True,
            )
        ):
            return f"result {k} is far from the reference's"
    return None


def generators_seen():
    """A set that fills with the generators of passes/lower_llvm that are asked for kernels, and
    whether they are to be brief."""
    from whet.passes.lower_llvm import builder

    GENERATORS, Module = Path(builder.__file__).parent, builder.Module
    found, make = set(), Module.fn

    def fn(self, name, args, *rest, **more):
        if args[:1] == [("ptr", "args")] and args[-1:] == [("i64", "worker")]:
            frame, outer = sys._getframe(1), None
            while frame is not None:
                if GENERATORS in Path(frame.f_code.co_filename).parents:
                    outer = frame
                frame = frame.f_back
            found.add(
                (
                    f"{Path(outer.f_code.co_filename).stem}.{outer.f_code.co_qualname}"
                    if outer
                    else "?",
                    self.brief,
                )
            )
        return make(self, name, args, *rest, **more)

    Module.fn = fn
    return found


# ---- all of them ---------------------------------------------------------------------------------
@dataclass
class Outcome:
    """What came of some forms: what was wrong, what kinds of kernels were met, with (their
    generators, whether briefly); how many cases there were and how many were compiled whole."""

    wrong: list
    met: set
    cases: int
    compiled: int


def unlike(name, got, form, firsts):
    """What is wrong with a case's results: they must have the bits that a form had before."""
    from tests.kernel_cases import FAMILIES

    exact = FAMILIES[name.split(":")[0]].exact
    group = (
        "numpy"
        if form.target == "numpy"
        else "baseline"
        if form.target == "baseline" and not exact
        else ""
    )
    want, wrong = firsts.setdefault((name, group), got), []
    if same := difference(want, got):
        wrong.append(f"{name}: other bits than in the first form: {same}")
    if group and (name, "") in firsts and (apart := far(firsts[name, ""], got)):
        wrong.append(f"{name}: {apart}")
    return wrong


def sweep(forms, names=None, say=lambda text: None):
    """Run cases (all, or those named) through forms."""
    outcome, firsts = Outcome([], set(), 0, 0), {}
    with tempfile.TemporaryDirectory() as folder:
        for form in forms:
            start, path = time.time(), f"{folder}/results"
            p = subprocess.run(
                [sys.executable, "-m", "tests.sweep_kernels", "--serve", path, repr(form)],
                env=form.environment(folder),
                input=pickle.dumps(names),
                capture_output=True,
            )
            if p.returncode:
                last = p.stdout.decode().splitlines()[-1:] or ["before the first case"]
                told = re.findall(r"^whet: .*$|^\w*Error: .*$|^Fatal .*$", p.stderr.decode(), re.M)
                outcome.wrong.append(
                    f"[{form}] {last[0]}: ended with {p.returncode}: "
                    f"{'; '.join(told) or p.stderr.decode()[-400:]}"
                )
                say(outcome.wrong[-1])
                continue
            results, wrong, met, compiled = pickle.loads(Path(path).read_bytes())
            outcome.met |= met
            outcome.cases, outcome.compiled = (
                outcome.cases + len(results),
                outcome.compiled + compiled,
            )
            for name, got in results.items():
                wrong += unlike(name, got, form, firsts)
            outcome.wrong += [f"[{form}] {w}" for w in wrong]
            say(
                f"[{form}] {len(results)} cases, {compiled} traced, {len(wrong)} wrong, "
                f"{time.time() - start:.0f} s"
            )
            for w in wrong[:10]:
                say(f"    {w}")
    return outcome


def part(seed, count, families=()):
    """The names of some cases, of each family alike many, and in a family of each first word."""
    from tests.kernel_cases import FAMILIES

    chosen, r, each = (
        [FAMILIES[f] for f in families] or list(FAMILIES.values()),
        random.Random(seed),
        [],
    )
    for family in chosen:
        words: dict = {}
        for case in family().cases():
            words.setdefault(case.name.split()[0], []).append(f"{family.__name__}: {case.name}")
        for names in words.values():
            r.shuffle(names)
        each.append(in_turn(r.sample(list(words.values()), len(words))))
    return in_turn(each)[:count]


def in_turn(lists):
    """The first of each list, then the second of each, and so on."""
    return [x for row in itertools.zip_longest(*lists) for x in row if x is not None]


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("families", nargs="*")
    a.add_argument("--part", type=int)
    a.add_argument("--seed", type=int, default=0)
    a.add_argument("--serve", nargs=2)
    a = a.parse_args()
    if a.serve:
        return serve(a.serve[0], eval(a.serve[1], {"Form": Form}))
    names = part(a.seed, a.part or 1 << 30, a.families)
    found = sweep(
        few_forms() if a.part else all_forms(), names, lambda text: print(text, flush=True)
    )
    missing = set() if a.part or a.families else kinds() - found.met
    print(
        f"{found.cases} cases, {len(found.wrong)} wrong; "
        f"kinds of kernels that none met: {', '.join(sorted(missing)) or 'none'}"
    )
    return int(bool(found.wrong or missing))


if __name__ == "__main__":
    sys.exit(main())
