"""Random training and inference steps as researchers write them, called eagerly and traced: every
call must come to the same, and what can be replayed must be.

    python -m tests.fuzz_steps --seconds 60 --seed 1

Other fuzzers draw from one kind of thing each. Here a program is a whole step: a model, a form of
its data, a loss with terms and transforms beside it, an optimizer with a schedule, an update, the
Python around them, and calls whose sizes differ, between which others change the model. After each
call its result or its error, the model, the optimizer and all other state are compared.
Beyond that, no replay may turn out to go another way than its own run, and a program of parts that
docs/replays.md promises must be replayed mostly, once it is under way.
"""
import ast
import collections
import contextlib
import dataclasses
import random
import re
import sys
import types

from tests import fuzz_harness, step_losses, step_models, step_updates
from tests.observed import Raised, observed, outcome

HEAD = """
import collections, copy, dataclasses, gc, io, math, random, time, types
import numpy as np
import whet as torch
from whet import nn
from whet.nn import functional as F
from whet.func import functional_call, grad, vmap
torch.manual_seed(3), random.seed(3), np.random.seed(3)
rng = np.random.default_rng(3)
class Base(nn.Module):
    def forward(s, x, mask=None): return s.head(s.features(x, mask))
def labels(b): return rng.integers(0, 3, b)
"""
INPUTS = {
    "vec": "x = rng.standard_normal((b, 6 - bad)).astype('f4')",
    "seq": "x = rng.standard_normal((b, n, 6 - bad)).astype('f4')",
    "img": "x = rng.standard_normal((b, 3 - bad, n, n)).astype('f4')",
    "tok": "x = rng.integers(0, 20, (b, n)) + 50 * bad"}
CALL = """
import sys
traced = "traced" in sys.argv
trace = torch.jit.trace if traced else (lambda f: f)
"""
WARM = 15                        # calls of which nobody asks whether they are replayed
KNOWN = 2                        # calls of a size after which another should be replayed
LATE = 8                         # as many of these say how much is replayed
SHARE = 0.6                      # of them: what must be
# what no function may be refused for
UNFOUNDED = re.compile(r"goes another way|making a recording of it raised|compiled wrongly")


# ---- parts ---------------------------------------------------------------------------------------
@dataclasses.dataclass(frozen=True)
class Part:
    """A part of a step: its texts by section, the kinds of data that it is for."""
    slot: str
    name: str
    kinds: tuple
    flags: tuple
    texts: dict

    def statements(self, section):
        """The statements of a section."""
        return statements(self.texts.get(section, ""))


def statements(text):
    """The texts of the statements of a text."""
    lines, found = text.strip("\n").split("\n"), []
    for s in ast.parse(text).body:
        first = min([s.lineno, *(d.lineno for d in getattr(s, "decorator_list", ()))])
        found.append("\n".join(lines[first - 1:s.end_lineno]))
    return tuple(found)


def parts(*texts):
    """{slot: its parts}, of texts as tests/step_models.py has them."""
    found = {}
    for block in "\n".join(texts).split("\n== ")[1:]:
        head, _, rest = block.partition("\n")
        names, kinds, *flags = (h.split() for h in head.split(" : "))
        first, *sections = re.split(r"^-- (\w+)\n", rest, flags=re.M)
        texts = {"setup": first, **dict(zip(sections[::2], sections[1::2]))}
        kinds = INPUTS if kinds == ["*"] else kinds
        part = Part(*names, tuple(kinds), sum(flags, []), texts)
        found.setdefault(part.slot, []).append(part)
    return found


PARTS = parts(step_models.MODELS, step_models.DATA, step_losses.LOSSES, step_losses.TERMS,
              step_losses.TRANSFORMS, step_losses.INFERENCES, step_updates.UPDATES,
              step_updates.AFTER, step_updates.RESULTS)
OPTIMIZERS, SCHEDULES, BETWEEN, NEW_MODEL = (
    text.strip().split("\n\n") for text in (step_updates.OPTIMIZERS, step_updates.SCHEDULES,
                                          step_updates.BETWEEN, step_updates.NEW_MODEL))


# ---- programs ------------------------------------------------------------------------------------
@dataclasses.dataclass(frozen=True)
class Call:
    """A call of `step` or `infer`, with a batch of `b` of length `n`; `bad`: of a wrong shape.
    `before`: a statement that is run before it."""
    what: str
    b: int
    n: int
    bad: bool = False
    before: str = ""

    def __str__(self):
        bad = ", bad=True" if self.bad else ""
        return f"{self.what}(*given({self.b}, {self.n}{bad}))"


@dataclasses.dataclass
class Program(fuzz_harness.TwoSided):
    """A step, an inference and the calls of them, as texts. `manner`: they are functions of a
    module, of a function, or methods. `is_limited`: the policy decides as it does for users.
    `is_documented`: all of it is what docs/replays.md promises."""
    setup: tuple
    given: tuple
    params: str
    step: tuple
    infer: tuple
    calls: tuple
    manner: str = "module"
    is_limited: bool = False
    is_documented: bool = False

    @classmethod
    def drawn(cls, seed):
        return Writer(random.Random(seed)).program()

    def source(self):
        """The module of the program; `trace` is what is put on its functions."""
        given = "\n".join(["def given(b, n, bad=False):",
                           *(indented(s) for s in self.given)])
        return "\n".join([given, MANNERS[self.manner](self)])

    def smaller(self):
        half = len(self.calls) // 2
        for k in range(len(self.calls) if half else 0):
            if k == 0 and half > 1:
                yield dataclasses.replace(self, calls=self.calls[:half])
                yield dataclasses.replace(self, calls=self.calls[half:])
            yield dataclasses.replace(self, calls=self.calls[:k] + self.calls[k + 1:])
        yield from self._plainer()
        for name in ("step", "infer", "setup"):
            own = getattr(self, name)
            for k in reversed(range(len(own))):
                for inner in (), *bodies(own[k]):
                    less = (*own[:k], *inner, *own[k + 1:])
                    yield dataclasses.replace(self, **{name: less})

    def _plainer(self):
        """Programs of the same statements that are called in plainer ways."""
        if self.manner != "module":
            yield dataclasses.replace(self, manner="module")
        for name in ("b", "n", "bad", "before"):
            plain = dict(b=self.calls[0].b, n=self.calls[0].n, bad=False, before="")[name]
            for k in (slice(None), *(slice(k, k + 1) for k in range(len(self.calls)))):
                calls = list(self.calls)
                calls[k] = [dataclasses.replace(c, **{name: plain}) for c in calls[k]]
                if tuple(calls) != self.calls:
                    yield dataclasses.replace(self, calls=tuple(calls))

    def seen(self, traced):
        with unsounded(self.is_limited):
            side = Side(self, traced)
            seen = [side.call(c) for c in self.calls]
        return [*seen, side.complaint()], side.step

    def place(self, k):
        return f"call {k}" if k < len(self.calls) else "what was said of the traced function"

    def compared(self, form, counts):
        with untouched_threads():
            if isinstance(outcome(lambda: Side(self, False)), Raised):
                counts["not built"] += 1     # made too short
                return None
            wrong = super().compared(form, counts)
        counts["limited"] += self.is_limited
        counts["documented"] += self.is_documented
        return wrong

    def __str__(self):
        calls = "\n".join(f"{c.before + chr(10) if c.before else ''}show(lambda: {c})"
                          for c in self.calls)
        limits = "" if self.is_limited else LIMITS
        return f"{HEAD}{limits}{CALL}{self.source()}\n{SHOW}\n{calls}\n{TOLD}"


LIMITS = """
from whet.jit.policy import account, many_sizes, timing
account.GRACE, many_sizes.SOUNDING, timing.EARLY = float("inf"), 1 << 30, 10**9
"""
SHOW = """
def show(call):
    try:
        out = call()
    except Exception as e:
        out = f"{type(e).__name__}: {e}"
    sums = [p.detach().double().sum().item().hex() for p in m.state_dict().values()]
    print(repr(out)[:300], sums, {k: v for k, v in vars(S).items() if isinstance(v, int | float)})
"""
TOLD = "print(step.explain(), file=sys.stderr) if traced else None"


def indented(text, by=1):
    """A text, further to the right."""
    return "\n".join("    " * by + line for line in text.split("\n"))


def function(head, body, by=0):
    """The text of a function."""
    return indented("\n".join([f"def {head}:", *(indented(s) for s in body or ("pass",))]), by)


def in_module(p):
    return "\n".join(["S = types.SimpleNamespace(n=0)", *p.setup,
                      function(f"step({p.params})", p.step),
                      function(f"infer({p.params})", p.infer),
                      "step, infer = trace(step), trace(infer)"])


def in_function(p):
    inner = ["S = types.SimpleNamespace(n=0)", *p.setup, function(f"step({p.params})", p.step),
             function(f"infer({p.params})", p.infer),
             "return dict(locals(), step=trace(step), infer=trace(infer))"]
    return function("make()", inner) + "\nglobals().update(make())"


def in_class(p):
    held = " ".join(p.step + p.infer + p.given)
    names = [n for n in bound(p.setup) if re.search(rf"\b{n}\b", held)] or ["m"]
    kept = [f"S.{n} = {n}" for n in names]
    taken = f"{', '.join(names)}, = {', '.join(f'S.{n}' for n in names)},"
    params = f"S, {p.params}"
    return "\n".join(["class Trainer:", function("__init__(S)", ["S.n = 0", *p.setup, *kept], 1),
                      function(f"step({params})", [taken, *p.step], 1),
                      function(f"infer({params})", [taken, *p.infer], 1),
                      "S = Trainer()", *(f"{n} = S.{n}" for n in names),
                      "step, infer = trace(S.step), trace(S.infer)"])


MANNERS = {"module": in_module, "function": in_function, "class": in_class}


def bound(texts):
    """The names that statements bind, in order."""
    names = {}
    for s in ast.parse("\n".join(texts)).body:
        if isinstance(s, ast.FunctionDef | ast.ClassDef):
            names[s.name] = None
        elif isinstance(s, ast.Assign):
            targets = [n for t in s.targets for n in ast.walk(t)]
            names.update({n.id: None for n in targets
                          if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)})
    return [n for n in names if n != "S"]


def bodies(text):
    """What stands within a statement, as statements: what may take its place."""
    (s,) = ast.parse(text).body
    for name in ("body", "orelse"):
        inner = getattr(s, name, None)
        if isinstance(inner, list) and inner and not isinstance(s, ast.FunctionDef | ast.ClassDef):
            yield tuple(ast.unparse(i) for i in inner)


# ---- drawing them --------------------------------------------------------------------------------
class Writer:
    """Draws programs. Most of them are documented: they have parts alone that are replayed."""

    def __init__(self, r):
        self.r, self.kind, self.is_documented = r, r.choice([*INPUTS, "seq"]), r.random() < 0.7
        self.flags = ()

    def fit(self, slot):
        """The parts of a slot that may be drawn."""
        barred = {"each"} if self.is_documented else set()
        if "leaves" in self.flags:
            barred.add("maps")
        return [p for p in PARTS[slot] if self.kind in p.kinds and not barred & {*p.flags}]

    def part(self, slot, plain=0.0):
        """A part of a slot; the first of them with a chance of `plain`."""
        fit = self.fit(slot)
        return fit[0] if self.r.random() < plain else self.r.choice(fit)

    def some(self, slot, counts):
        """Different parts of a slot."""
        return self.r.sample(self.fit(slot), self.r.choice(counts))

    def program(self):
        r = self.r
        model, optimizer = self.part("model"), r.choice(OPTIMIZERS)
        self.flags = model.flags
        data = self.part("data", 0.2)
        middle = [self.part("forward", 0.6), self.part("loss", 0.2),
                  *self.some("term", [0, 0, 1, 2, 3]),
                  *self.some("transform", [0, 0, 1, 1, 2])]
        update, schedule = self.part("update", 0.3), r.choice([None, *SCHEDULES] * 2 + [None] * 9)
        after = self.some("after", [0, 1, 2, 3, 4])
        result, infer = self.part("result", 0.2), self.part("infer")
        within = ["sch.step()"] if schedule and r.random() < 0.7 else []
        setup = [*model.statements("setup"), "m = Net()", f"opt = {optimizer}",
                 *([f"sch = {schedule}"] if schedule else ())]
        for p in (data, *middle, update, *after, result, infer):
            setup += p.statements("setup")
        taken = data.statements("step")
        step = ["S.n += 1", *taken]
        for p in (*middle, update):
            step += p.statements("step")
        step += within
        for p in (*after, result):
            step += p.statements("step")
        manner = r.choice(["module", "module", "function", "class"])
        calls = tuple(self.calls(optimizer, manner, schedule if not within else None))
        return Program(
            tuple(setup), (f"{INPUTS[self.kind]}", "y = labels(b)", *data.statements("given")),
            data.texts["params"].strip(), tuple(step), (*taken, *infer.statements("step")),
            calls, manner, r.random() < 0.15, self.is_documented)

    def calls(self, optimizer, manner, outside):
        """What is called, and what comes between the calls."""
        r = self.r
        bs, ns = Sizes(r, 2, 12), Sizes(r, 4, 12)
        changes, wrong = r.choice([0, 0.05, 0.2]), r.choice([0, 0.04])
        if self.is_documented:
            changes = wrong = 0
        infers = r.choice([0, 0.1, 0.4])
        for _ in range(r.choice([20, 30, 30, 45])):
            before = "sch.step()" if outside else ""
            if r.random() < changes:
                before = r.choice(BETWEEN)
                if manner == "module" and r.random() < 0.1:
                    before = r.choice(NEW_MODEL).replace("{opt}", optimizer)
            yield Call("infer" if r.random() < infers else "step", bs.next(), ns.next(),
                       r.random() < wrong, before)


class Sizes:
    """The sizes of a dimension, call by call: one, a few that recur, ever larger ones, or any."""

    def __init__(self, r, least, most):
        self.r, self.least, self.most = r, least, most
        self.how = r.choice(["one", "one", "few", "any", "any", "grows", "odd"])
        self.few = [r.randint(least, most) for _ in range(3)]
        self.now = least

    def next(self):
        """The next one."""
        r = self.r
        if self.how == "one":
            return self.few[0]
        if self.how == "few":
            return r.choice(self.few)
        if self.how == "grows":
            self.now = min(self.now + r.choice([0, 0, 1]), self.most + 4)
            return self.now
        if self.how == "odd" and r.random() < 0.2:
            return r.choice([0, 1, 1, 2])
        return r.randint(self.least, self.most)


# ---- running them --------------------------------------------------------------------------------
@contextlib.contextmanager
def unsounded(is_limited):
    """No call is eager to see how long that takes, unless the policy decides as for users."""
    from whet.jit.policy import many_sizes
    before = many_sizes.SOUNDING
    many_sizes.SOUNDING = before if is_limited else 1 << 30
    try:
        yield
    finally:
        many_sizes.SOUNDING = before


@contextlib.contextmanager
def untouched_threads():
    """Programs may set how many threads there are."""
    import whet
    before = whet.get_num_threads()
    try:
        yield
    finally:
        whet.set_num_threads(before)


class Side:
    """One of the two ways to run a program, in a module of its own."""

    def __init__(self, program, traced):
        import whet
        self.space = {"__name__": "program", "trace": whet.jit.trace if traced else lambda f: f}
        self.program, self.threads = program, whet.get_num_threads()
        whet.set_num_threads(self.threads)
        for text in (HEAD, program.source()):
            exec(compile(text, "<program>", "exec"), self.space)
        self.step, self.infer = self.space["step"], self.space["infer"]
        self.traced = [f for f in (self.step, self.infer) if traced]
        self.names = ["m", "opt", *(n for n in bound(program.setup) if n not in ("m", "opt"))]
        self.late, self.sizes, self.reasons = [], collections.Counter(), []

    def call(self, call):
        """What a call comes to, and what it leaves in the module."""
        if call.before:
            outcome(lambda: exec(call.before, self.space))
        given = outcome(lambda: self.space["given"](call.b, call.n, call.bad))
        f, before = self.space[call.what], self.replayed(call)
        out = outcome(lambda: f(*given))
        self.note(call, before)
        held = [self.space[n] for n in self.names if n in self.space and n != "sch"
                and not isinstance(self.space[n], types.FunctionType | type)]
        schedule = self.space.get("sch")
        return observed(out, given, vars(self.space["S"]), held, self.streams(),
                        schedule and schedule.state_dict())

    def streams(self):
        """Where random numbers have come to."""
        import numpy as np
        import whet
        return whet.get_rng_state(), str(np.random.get_state()), hash(random.getstate())

    def replayed(self, call):
        """How many calls of the function did not run it as users do."""
        if not self.traced:
            return 0
        ledger = self.space[call.what]._calls.policy.summary()
        return ledger.replayed + ledger.checked

    def note(self, call, before):
        """Note whether a call was replayed, and why none could be."""
        if not self.traced:
            return
        refusals = self.space[call.what]._calls.refusals
        self.reasons += [r for r in (refusals.why, refusals.drift) if r]
        if call.what == "step":
            size = call.b, call.n
            if self.sizes.total() >= WARM and self.sizes[size] >= KNOWN:
                self.late.append(self.replayed(call) > before)
            self.sizes[size] += 1

    def complaint(self):
        """What is wrong with how the traced functions were refused, or with how seldom they were
        replayed; None where nothing is."""
        for why in self.reasons:
            if UNFOUNDED.search(str(why)):
                return f"refused: {why}"
        expected = self.program.is_documented and not self.program.is_limited
        if expected and len(self.late) >= LATE and sum(self.late) < SHARE * len(self.late):
            return (f"replayed {sum(self.late)} of {len(self.late)}: {self.step._why}\n"
                    f"{self.step.explain()}")
        return None


if __name__ == "__main__":
    sys.exit(fuzz_harness.main(__spec__.name))
