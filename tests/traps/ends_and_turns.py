"""How a call goes on and ends: finally, exceptions, generators, classes made inside, recursion."""
import contextlib
import functools
import itertools
import operator

import whet
from whet import nn

from tests.traps.harness import outcome, ramp, thrice, trap


# ---- control of the flow -------------------------------------------------------------------------
@trap
def finally_has_the_last_word():
    """return in finally, and a write that happens whatever is raised."""
    done = whet.zeros(2)
    def f(x, n):
        try:
            done.add_(1)
            return x.reshape(n, -1)
        except RuntimeError:
            done.mul_(2)
            raise KeyError("no such shape") from None
        finally:
            done.sub_(0.5)
            if n == 3:
                return done * 1              # noqa: B012
    def calls(f):
        for n in (2, 2, 2, 3, 3, 3, 4, 5, 5, 5):
            yield outcome(lambda: f(ramp(4), n)), done.clone()
    return f, calls


@trap
def a_context_manager_keeps_count():
    """with-blocks of a generator, nested, one of which swallows an error."""
    log = []
    @contextlib.contextmanager
    def block(name):
        log.append("+" + name)
        try:
            yield len(log)
        except ValueError:
            log.append("!" + name)
        finally:
            log.append("-" + name)
    def f(x, bad):
        with block("a"), block("b"):
            y = x * 2
            if bad:
                raise ValueError
            return y
        return x
    def calls(f):
        for bad in (False, False, False, True, True, False):
            yield f(ramp(2), bad), list(log)
            log.clear()
    return f, calls


@trap
def an_exception_with_state():
    """An exception carries a tensor and a count to its handler."""
    class Stop(Exception):
        raised = 0
        def __init__(self, value):
            super().__init__("stop")
            self.value = value
            Stop.raised += 1
    def inner(x):
        if x.sum() > 5:
            raise Stop(x * 2)
        return x
    def f(x):
        try:
            return inner(x)
        except Stop as e:
            return e.value + 1
    def calls(f):
        for k in (1, 1, 1, 4, 4, 4, 1):
            yield f(ramp(2) * k), Stop.raised
    return f, calls


@trap
def an_exception_leaves_with_a_tensor():
    """The caller catches what was computed."""
    class Found(Exception):
        pass
    def f(x):
        y = x * 2
        if y.sum() > 5:
            raise Found(y)
        return y
    def calls(f):
        for k in (1, 1, 1, 4, 4, 4, 1):
            try:
                yield f(ramp(2) * k)
            except Found as e:
                yield "found", e.args[0]
    return f, calls


@trap
def a_generator_made_outside_per_call():
    """zip, map, filter, chain over tensors and numbers that change."""
    weights = [1.0, 2.0, 3.0]
    def f(xs):
        total = 0
        for w, x in zip(itertools.cycle(weights[:2]), filter(lambda t: t.ndim == 1, xs)):
            total = total + w * x
        return total, functools.reduce(operator.add, map(lambda t: t.sum(), xs))
    def calls(f):
        yield from thrice(lambda: f([ramp(2), ramp(2, 2), ramp(2) * 3]))
        weights[1] = -2.0
        yield from thrice(lambda: f([ramp(2), ramp(2, 2), ramp(2) * 3]))
        yield from thrice(lambda: f([ramp(2)]))
    return f, calls


@trap
def values_are_sent_into_a_generator():
    """A running mean by a generator that is kept between calls."""
    def averager():
        total, n = 0.0, 0
        value = yield
        while True:
            total, n = total + value, n + 1
            value = yield total / n
    g = averager()
    next(g)
    def f(x): return x - g.send(x.mean().item())
    def calls(f):
        for k in range(5):
            yield f(ramp(2) * k)
    return f, calls


@trap
def a_walrus_and_a_chained_comparison():
    """(n := ...) inside a comprehension, and a < b < c on data."""
    def f(x):
        parts = [y for k in range(3) if (y := (x * k).sum()) > 1]
        return parts, x * 2 if 0 < x.max() < 3 else x - 1
    def calls(f):
        for k in (1, 1, 1, 5, 5, 5, -1, 1):
            yield f(ramp(2) * k)
    return f, calls


@trap
def a_class_is_made_inside():
    """A class statement in the function, over its arguments."""
    def f(x, k):
        class Local:
            scale = k * 2
            def __call__(self, t): return t * self.scale
        return Local()(x)
    def calls(f):
        for k in (1.0, 2.0, 1.0, 3.0):
            yield from thrice(lambda: f(ramp(2), k))
    return f, calls


@trap
def a_recursive_structure_of_modules():
    """A tree of modules whose depth changes between calls."""
    class Tree(nn.Module):
        def __init__(self, depth):
            super().__init__()
            self.scale = nn.Parameter(whet.tensor(float(depth + 1)))
            self.children_of_it = nn.ModuleList([Tree(depth - 1) for _ in range(2)] if depth
                                                else [])
        def forward(self, x):
            return sum((c(x) for c in self.children_of_it), x * self.scale)
    tree = Tree(1)
    def f(x): return tree(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        tree.children_of_it[0] = Tree(1)
        yield from thrice(lambda: f(ramp(2)))
        tree.children_of_it[1].scale = tree.scale
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


def _in_and_out_of_a_handler(f):
    """The results of calls outside of an `except`, within one, and outside again."""
    yield from thrice(lambda: outcome(lambda: f(ramp(2))))
    try:
        raise KeyError("the caller's")
    except KeyError:
        yield from thrice(lambda: outcome(lambda: f(ramp(2))))
    yield from thrice(lambda: outcome(lambda: f(ramp(2))))


@trap
def the_caller_handles_an_error():
    """Errors that are raised meanwhile are chained to it."""
    @contextlib.contextmanager
    def telling():
        try:
            yield
        except ValueError as e:
            print(repr(e.__context__))
    def f(x):
        with telling():
            raise ValueError
        return x * 2
    return f, _in_and_out_of_a_handler


@trap
def the_callers_error_is_raised_again():
    """`raise` without an operand, where the function itself handles none."""
    def again():
        raise
    def f(x):
        try:
            with contextlib.nullcontext():
                again()
        except RuntimeError:
            return x
        except KeyError:
            return x * 2
    return f, _in_and_out_of_a_handler


@trap
def an_error_of_its_own_is_raised_again():
    """`raise` within handlers, loops and contexts: the function's own error."""
    def f(x):
        for i in range(2):
            try:
                try:
                    with contextlib.suppress(KeyError):
                        [][i]
                except IndexError as e:
                    with contextlib.nullcontext():
                        if x.shape[0] > i and e.args:
                            raise
            except IndexError:
                x = x * 2
        return x
    return f, _in_and_out_of_a_handler
