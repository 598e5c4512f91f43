"""Context variables: read, set, set for a while, in other contexts and threads, and hidden."""
import concurrent.futures
import contextlib
import contextvars
import functools
import operator
import threading

import whet
from whet import nn

from tests.traps.harness import Box, leaf, mlp, outcome, ramp, state, thrice, trap

MODE = contextvars.ContextVar("mode", default="train")


@trap
def a_context_variable_without_a_value():
    """LookupError, a default of the call, a default of the variable: three different things."""
    bare, own = contextvars.ContextVar("bare"), contextvars.ContextVar("own", default=2.0)
    def f(x):
        try:
            x = x * bare.get()
        except LookupError as e:
            x = x - len(e.args)
        return x + own.get(5.0) + own.get()
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        a, b = bare.set(3.0), own.set(2.0)
        yield from thrice(lambda: f(ramp(2)))
        bare.reset(a)
        yield from thrice(lambda: f(ramp(2)))
        own.reset(b)
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def equal_values_of_a_context_variable():
    """1, 1.0, True, nan and -0.0 are told apart."""
    var = contextvars.ContextVar("var", default=1)
    def f(x): return x.to(whet.int32) * var.get(), str(var.get())
    def calls(f):
        for value in (1, 1.0, True, 1, 0.0, -0.0, float("nan"), float("nan"), 2**70 % 97, 1.0):
            token = var.set(value)
            yield from thrice(lambda: f(ramp(2)))
            var.reset(token)
    return f, calls


@trap
def a_module_reads_a_context_variable():
    """A layer goes by a global one, in two contexts by turns."""
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(3, 2)
        def forward(self, x): return self.inner(x) if MODE.get() == "train" else -self.inner(x)
    layer = Layer()
    other = contextvars.copy_context()
    other.run(MODE.set, "eval")
    def calls(f):
        for k in range(8):
            yield f(leaf(2, 3)) if k % 3 else other.run(f, leaf(2, 3))
    return layer, calls


@trap
def a_context_variable_is_set_and_left_so():
    """To a constant, to None, to a tensor of the call, to the argument itself."""
    var = contextvars.ContextVar("var")
    def f(x, what):
        if what == "text":
            var.set("on")
        elif what == "none":
            var.set(None)
        elif what == "tensor":
            var.set(x * 3)
        elif what == "argument":
            var.set(x)
        return x + 1
    def calls(f):
        for what in ("text", "none", "tensor", "argument", "text"):
            for _ in range(4):
                x = ramp(2)
                yield f(x, what), var.get(), var.get() is x
                var.set("before")
    return f, calls


@trap
def a_token_outlives_the_call():
    """It is returned, or kept in an object, and used by the caller or by the next call."""
    var, o = contextvars.ContextVar("var", default=1.0), Box(token=None)
    def given(x): return x * var.get(), var.set(var.get() + 1)
    def calls(f):
        for _ in range(5):
            y, o.token = f(ramp(2))
            yield y, var.get(), o.token.old_value is o.token.MISSING
        var.reset(o.token)
        yield var.get()
    return given, calls


@trap
def a_token_is_kept_by_the_function():
    """A switch that the next call turns back."""
    var, o = contextvars.ContextVar("var", default=1.0), Box(token=None)
    def f(x):
        if o.token is None:
            o.token = var.set(7.0)
        else:
            var.reset(o.token)
            o.token = None
        return x * var.get()
    def calls(f):
        for _ in range(7):
            yield f(ramp(2)), var.get(), o.token is None
    return f, calls


@trap
def a_token_of_the_caller_is_used_up():
    """reset() with a token that was made outside: once it works, then it is an error."""
    var = contextvars.ContextVar("var", default=1.0)
    def f(x, token):
        var.reset(token)
        return x * var.get()
    def calls(f):
        for _ in range(5):
            token = var.set(2.0)
            yield f(ramp(2), token), outcome(lambda: f(ramp(2), token))[1], var.get()
    return f, calls


@trap
def a_context_variable_counts_calls():
    """Each call adds one, under a loop that sets it back at times."""
    depth = contextvars.ContextVar("depth", default=0)
    def f(x):
        depth.set(depth.get() + 1)
        return x * depth.get()
    def calls(f):
        for k in range(14):
            if k in (4, 9):
                depth.set(0)
            yield f(ramp(2)), depth.get(), type(depth.get()).__name__
    return f, calls


@trap
def a_context_variable_holds_a_container():
    """Its default is a list, which all contexts share; what it is set to is a dict."""
    seen = contextvars.ContextVar("seen", default=[])  # noqa: B039
    facts = contextvars.ContextVar("facts")
    def f(x):
        seen.get().append(len(seen.get()))
        return x * facts.get({"k": 2.0})["k"] + len(seen.get())
    def calls(f):
        yield from thrice(lambda: (f(ramp(2)), list(seen.get())))
        facts.set({"k": 3.0})
        yield from thrice(lambda: (f(ramp(2)), list(seen.get())))
        facts.get()["k"] = 4.0
        yield from thrice(lambda: (f(ramp(2)), list(seen.get())))
        seen.set([])
        yield from thrice(lambda: (f(ramp(2)), list(seen.get())))
    return f, calls


@trap
def a_context_variable_is_set_for_a_while():
    """A context manager that sets and resets, also where the block raises."""
    scale = contextvars.ContextVar("scale", default=1.0)
    @contextlib.contextmanager
    def scaled(by):
        token = scale.set(scale.get() * by)
        try:
            yield
        finally:
            scale.reset(token)
    def f(x, fail):
        with scaled(2.0):
            y = x * scale.get()
            with scaled(3.0):
                y = y + scale.get()
                if fail:
                    raise ValueError("inside", scale.get())
        return y * scale.get()
    def calls(f):
        for fail in (False, False, False, True, True, False, True, False):
            yield outcome(lambda: f(ramp(2), fail)), scale.get()
        with scaled(5.0):
            yield from thrice(lambda: f(ramp(2), False))
    return f, calls


@trap
def an_error_after_a_context_variable_was_set():
    """What was set before the exception stays set."""
    var = contextvars.ContextVar("var", default="never")
    def f(x, n):
        var.set("begun")
        y = x.reshape(n, -1)
        var.set("done")
        return y
    def calls(f):
        for n in (2, 2, 2, 3, 3, 2, 3, 2):
            yield outcome(lambda: f(ramp(4), n)), var.get()
            var.set("between")
    return f, calls


@trap
def a_branch_on_data_sets_a_context_variable():
    """Which of two values it gets is decided by numbers: a replay that is given up sets none."""
    var = contextvars.ContextVar("var", default="start")
    def f(x):
        var.set("seen")
        if x.sum() > 10:
            var.set("large")
            x = x * 2
        return x + 1
    def calls(f):
        for k in (1, 1, 1, 9, 9, 9, 1, 9, 1):
            yield f(ramp(3) * k), var.get()
    return f, calls


@trap
def threads_have_contexts_of_their_own():
    """A thread starts without values; the main one keeps its own."""
    var = contextvars.ContextVar("var", default=1.0)
    def f(x):
        y = x * var.get()
        var.set(-1.0)
        return y
    def calls(f):
        var.set(4.0)
        for value in (None, 2.0, None, 3.0, 2.0, None):
            got = []
            def work(value=value, got=got):
                if value is not None:
                    var.set(value)
                got.extend([f(ramp(2)), var.get()])
            t = threading.Thread(target=work)
            t.start()
            t.join()
            yield got, var.get(), f(ramp(2)), var.get()
            var.set(4.0)
    return f, calls


@trap
def a_pool_of_threads_reads_the_callers_context():
    """copy_context().run in a worker, as task groups do."""
    var = contextvars.ContextVar("var", default=0.5)
    def f(x): return (x * var.get()).sum() * x
    def calls(f):
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            for k in (1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 1.0):
                token = var.set(k)
                yield pool.submit(contextvars.copy_context().run, f, ramp(3)).result(), f(ramp(3))
                var.reset(token)
                yield pool.submit(f, ramp(3)).result()
    return f, calls


@trap
def a_context_is_copied_and_entered_inside():
    """The function runs a part of its work in another context."""
    var = contextvars.ContextVar("var", default=1.0)
    def part(x, k):
        var.set(k)
        return x * var.get()
    def f(x):
        y = contextvars.copy_context().run(part, x, 3.0)
        return y * var.get() + len([v for v in contextvars.copy_context() if v is var])
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        var.set(2.0)
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def context_variables_by_other_ways(trace):
    """A getattr, a dict of them, methodcaller, partial, map, a default argument, an argument."""
    names = {"a": contextvars.ContextVar("a", default=1.0),
             "b": contextvars.ContextVar("b", default=2.0)}
    o = Box(**names)
    get, partial = operator.methodcaller("get"), functools.partial(names["b"].get, 0.0)
    ways = [trace(lambda x: x * getattr(o, "".join(["", "a"])).get()),
            trace(lambda x: x * sum(v.get() for v in names.values())),
            trace(lambda x: x * get(names["b"])), trace(lambda x: x * partial()),
            trace(lambda x, v=names["a"]: x * v.get()),
            trace(lambda x: x * sum(map(get, names.values()))),
            trace(lambda x: x * globals()["".join(["MO", "DE"])].get().count("a"))]
    by_argument = trace(lambda x, v: x * v.get())
    def calls(f):
        for k in (None, 5.0, 6.0):
            if k:
                names["a"].set(k), names["b"].set(-k), MODE.set("a" * int(k))
            for _ in range(3):
                yield [f(ramp(2)), *[w(ramp(2)) for w in ways],
                       *[by_argument(ramp(2), v) for v in names.values()]]
        MODE.set("train")
    return lambda x: x * o.b.get(), calls


@trap
def a_context_variable_is_another_one():
    """The name leads to a new variable of the same name and default; a tensor is what it holds."""
    o = Box(var=contextvars.ContextVar("var", default=2.0))
    def f(x): return x * o.var.get()
    def calls(f):
        yield from thrice(lambda: f(leaf(2)))
        o.var.set(whet.tensor(5.0))
        yield from thrice(lambda: f(leaf(2)))
        o.var.get().add_(1)
        yield from thrice(lambda: f(leaf(2)))
        o.var = contextvars.ContextVar("var", default=2.0)
        yield from thrice(lambda: f(leaf(2)))
        o.var.set(leaf(2))
        yield from thrice(lambda: f(leaf(2)))
    return f, calls


@trap
def a_training_step_goes_by_a_context_variable():
    """The rate of a step, the loss it keeps, and whether it is a dry run."""
    model, rate = mlp(), contextvars.ContextVar("rate", default=0.1)
    last = contextvars.ContextVar("last", default=None)
    opt = whet.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    def step(x):
        opt.zero_grad()
        loss = model(x).square().mean() * rate.get()
        loss.backward()
        last.set(loss.detach())
        opt.step()
        return loss
    def calls(f):
        for k in range(10):
            token = rate.set(0.5) if k in (5, 6, 7) else None
            yield f(ramp(2, 3)), last.get(), state(model, opt)
            if token is not None:
                rate.reset(token)
    return step, calls
