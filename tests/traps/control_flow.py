"""Paths that depend on data: if, while, for, early return, recursion, generators, exceptions."""
import contextlib
import math

import whet
import whet.nn.functional as F

from tests.traps.harness import Box, leaf, outcome, ramp, shares, thrice, trap


@trap
def an_if_on_the_data():
    """The branch of the first call is taken for ever."""
    def f(x):
        if x.sum() > 0:
            return x * 2
        return x - 1
    def calls(f):
        for sign in (1, -1, 1):
            yield from thrice(lambda: f(ramp(3) * sign))
    return f, calls


@trap
def a_while_until_it_is_small():
    """The number of rounds is the data's."""
    def f(x):
        rounds = 0
        while x.norm() > 1:
            x, rounds = x / 2, rounds + 1
        return x, rounds
    def calls(f):
        for scale in (1, 8, 0.1, 1000):
            yield from thrice(lambda: f(ramp(3) * scale))
    return f, calls


@trap
def newtons_method_until_it_stands_still():
    """A loop that ends when two values are the same to the last bit."""
    def f(a):
        x, before, steps = a.clone(), None, 0
        while (before is None or not whet.equal(x, before)) and steps < 50:
            x, before, steps = (x + a / x) / 2, x, steps + 1
        return x, steps
    def calls(f):
        for n in (2.0, 9.0, 1e6):
            yield from thrice(lambda: f(whet.tensor([n])))
    return f, calls


@trap
def the_collatz_sequence():
    """Two branches in a loop, on an integer that is a tensor."""
    def f(n):
        steps = whet.tensor(0)
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        return n, steps
    def calls(f):
        for start in (6, 7, 1, 27, 6):
            yield from thrice(lambda: f(whet.tensor(start)))
    return f, calls


@trap
def a_for_over_a_number_from_the_data():
    """range(int(n)) and range(n) with a tensor n."""
    def f(x, n):
        for i in range(int(n.max())):
            x = x + i
        for _ in range(n[0]):
            x = x * 2
        return x
    def calls(f):
        for n in ([1, 3], [2, 0], [0, 0], [1, 3]):
            yield from thrice(lambda: f(ramp(3), whet.tensor(n)))
    return f, calls


@trap
def a_loop_over_rows_is_left_early():
    """for row in x, with break, continue and else."""
    def f(x):
        total, met = whet.zeros(2), "end"
        for row in x:
            if row[0] < 0:
                continue
            if row.sum() > 10:
                met = "break"
                break
            total = total + row
        else:
            total = total * 100
        return total, met
    def calls(f):
        for x in (ramp(3, 2), ramp(3, 2) * 10, ramp(3, 2) - 1, ramp(5, 2), ramp(0, 2)):
            yield from thrice(lambda: f(x))
    return f, calls


@trap
def an_early_return_of_another_kind():
    """The structure of the result depends on the data."""
    def f(x):
        if x.isnan().any():
            return None
        if (x < 0).any():
            return {"negative": x.abs()}
        if not x.any():
            return x, x
        return x + 1
    def calls(f):
        for x in (ramp(2), -ramp(2), whet.zeros(2), ramp(2) * float("nan"), ramp(2)):
            yield from thrice(lambda: f(x))
    return f, calls


@trap
def a_recursion_as_deep_as_the_data_says():
    """A helper that calls itself, and two that call each other."""
    def down(x, n): return x if n <= 0 else down(x * 1.5, n - 1)
    def even(n): return True if n == 0 else odd(n - 1)
    def odd(n): return False if n == 0 else even(n - 1)
    def f(x, n): return down(x, n), even(n)
    def calls(f):
        for n in (2, 0, 5, 2):
            yield from thrice(lambda: f(ramp(2), whet.tensor(n)))
    return f, calls


@trap
def a_recursion_too_deep():
    """RecursionError is an outcome, and the next call is as usual."""
    def down(x, n): return x + n if n < 50 else down(x, n)
    def f(x, n): return down(x, n)
    def calls(f):
        yield from thrice(lambda: f(ramp(2), 3))
        yield outcome(lambda: f(ramp(2), 99))[:2]
        yield from thrice(lambda: f(ramp(2), 3))
    return f, calls


@trap
def a_generator_inside_is_left_early():
    """A generator function gives tensors until the data says stop; its finally runs."""
    log = []
    def halves(x):
        try:
            while True:
                yield x
                x = x / 2
        finally:
            log.append("closed")
    def f(x):
        pieces = halves(x)
        for y in pieces:
            if y.max() < 1:
                break
        pieces.close()
        return y
    def calls(f):
        for scale in (1, 16, 0.25, 1):
            yield from thrice(lambda: (f(ramp(3) * scale), list(log)))
    return f, calls


@trap
def a_generator_that_is_sent_to():
    """A coroutine in the old style keeps its state between sends, not between calls."""
    def averager():
        total, n, mean = 0.0, 0, None
        while True:
            total, n = total + (yield mean), n + 1
            mean = total / n
    def f(xs):
        a = averager()
        next(a)
        return [a.send(x) for x in xs]
    def calls(f):
        for k in range(4):
            yield f([ramp(2), ramp(2) + k])
        for k in range(4):
            yield f([ramp(2), ramp(2) + 1, ramp(2) * k])
    return f, calls


@trap
def a_value_that_is_refused():
    """raise on data, on some calls only; the message has the number in it."""
    def f(x):
        if x.min() < 0:
            raise ValueError(f"negative: {x.min().item()}")
        return x.sqrt()
    def calls(f):
        for x in (ramp(3), ramp(3) - 1, ramp(3) - 2, ramp(3)):
            yield from thrice(lambda: outcome(lambda: f(x)))
    return f, calls


@trap
def an_assertion_about_the_data():
    """assert, with a message made of values."""
    def f(x):
        assert x.sum() < 100, ("too much", x.tolist())
        return x.exp()
    def calls(f):
        for scale in (1, 100, 1):
            yield from thrice(lambda: outcome(lambda: f(ramp(2) * scale)))
    return f, calls


@trap
def an_exception_is_caught_inside():
    """try/except/else/finally, with an effect in each."""
    def f(x, log):
        try:
            y = x.view(2, -1)
        except RuntimeError as e:
            log.append(str(e))
            y = x[:-1].view(2, -1)
        else:
            log.append("else")
        finally:
            log.append("finally")
        return y * 2
    def calls(f):
        for n in (4, 5, 4):
            for _ in range(3):
                log = []
                yield f(ramp(n), log), log
    return f, calls


@trap
def an_exception_changes_on_its_way():
    """raise ... from ...: the cause is part of what is raised."""
    def f(x, i):
        try:
            return x[i] + 1
        except IndexError as e:
            raise LookupError(f"no row {i}") from e
    def calls(f):
        for i in (0, 2, 3, 0):
            yield from thrice(lambda: outcome(lambda: f(ramp(3, 2), i)))
    return f, calls


@trap
def what_was_written_before_an_exception_stays():
    """Eagerly, the first in-place operation has happened when the second one fails."""
    def f(x, y):
        x.add_(1)
        x.mul_(y)
        return x.sum()
    def calls(f):
        for n in (3, 4, 3):
            for _ in range(3):
                x = ramp(3)
                yield outcome(lambda: f(x, ramp(n))), x
    return f, calls


@trap
def an_exception_of_ones_own():
    """A BaseException with attributes, raised after a captured tensor was written to."""
    total = whet.zeros(2)
    class Stop(BaseException): pass
    def f(x):
        total.add_(x)
        if total[0] > 3:
            raise Stop("enough", total[0].item())
        return total * 2
    def calls(f):
        for _ in range(9):
            yield outcome(lambda: f(ramp(2))), total
    return f, calls


@trap
def a_suppressed_exception_leaves_half_the_work():
    """contextlib.suppress ends the block in the middle."""
    def f(x, i):
        y = x * 2
        with contextlib.suppress(IndexError):
            y = y + x[i]
            y = y * 10
        return y
    def calls(f):
        for i in (0, 7, 1):
            yield from thrice(lambda: f(ramp(3), i))
    return f, calls


@trap
def four_paths_alternate():
    """Two nested decisions; every order of them comes by."""
    def f(x, y):
        if x.sum() > 0:
            z = x * y if y.sum() > 0 else x / y
        else:
            z = x + y if y.sum() > 0 else x - y
        return z.exp()
    def calls(f):
        for k in (0, 0, 0, 1, 2, 3, 3, 2, 1, 0, 2, 2):
            yield f(ramp(2) * (1 if k & 1 else -1), ramp(2) * (1 if k & 2 else -1))
    return f, calls


@trap
def more_paths_than_anyone_keeps():
    """One path for each of forty values."""
    def f(x, n):
        k = int(n)
        return x * k if k % 3 else x + k
    def calls(f):
        for n in [*range(40), 3, 3, 3, 4, 4, 4]:
            yield f(ramp(2), whet.tensor(n))
    return f, calls


@trap
def and_or_not_on_tensors():
    """Short circuits: what is not evaluated has no effect."""
    def f(x, log):
        def big(t):
            log.append("asked")
            return t.max() > 3
        return x * 2 if (x.min() > 0 and big(x)) or not x.any() else x * 3
    def calls(f):
        for x in (ramp(3), ramp(8), -ramp(3), whet.zeros(3), ramp(8)):
            for _ in range(3):
                log = []
                yield f(x, log), log
    return f, calls


@trap
def a_write_in_one_branch_only():
    """A captured tensor is written to on some calls."""
    worst = whet.zeros(1)
    def f(x):
        if x.max() > worst:
            worst.copy_(x.max())
        return x / worst
    def calls(f):
        for scale in (1, 1, 1, 3, 2, 2, 5, 1):
            yield f(ramp(3) * scale), worst
    return f, calls


@trap
def the_same_question_before_and_after_a_write():
    """One expression, two answers within a call."""
    def f(x):
        first = bool(x[0] > 0)
        x.sub_(1)
        return x * (2 if x[0] > 0 else 3) + (10 if first else 20)
    def calls(f):
        for shift in (0, 3, -3, 0):
            yield from thrice(lambda: f(ramp(3) + shift))
    return f, calls


@trap
def a_chain_of_comparisons():
    """0 < a < b asks twice, and not always."""
    def f(x): return x * 2 if 0 < x.sum() < 10 else x * 3 if x.sum() != 0 else x - 1
    def calls(f):
        for scale in (1, -1, 100, 0, 1):
            yield from thrice(lambda: f(ramp(3) * scale))
    return f, calls


@trap
def pythons_own_max_and_sorted():
    """max(a, b) and sorted([...]) of tensors decide by bool and return one of the objects given."""
    def f(a, b, c):
        m = max(a, b)
        return m * 2, sorted([a, b, c], reverse=True), min(a, b, c) is c, m is a
    def calls(f):
        for order in ((1, 2, 3), (2, 1, 0), (1, 1, 1), (3, 2, 1)):
            yield from thrice(lambda: f(*map(whet.tensor, order)))
    return f, calls


@trap
def any_and_all_of_pieces():
    """Builtins that stop at the first answer."""
    def f(x):
        return (x + 1 if any(row.sum() > 5 for row in x) else x - 1 if all(row[0] > 0 for row in x)
                else x * 0)
    def calls(f):
        for x in (ramp(3, 2), ramp(3, 2) * 2, -ramp(3, 2), ramp(3, 2)):
            yield from thrice(lambda: f(x))
    return f, calls


@trap
def a_value_is_looked_for_in_a_tensor():
    """`in` on a tensor and on a list of tensors."""
    def f(x, n): return (x * 2 if n in x else x * 3), 2.0 in x.tolist()
    def calls(f):
        for n in (1.0, 4.0, 9.0, 1.0):
            yield from thrice(lambda: f(ramp(4), n))
            yield from thrice(lambda: f(ramp(4), whet.tensor(n)))
    return f, calls


@trap
def a_comprehension_filters_by_data():
    """How many pieces there are is the data's doing."""
    def f(x):
        kept = [row * i for i, row in enumerate(x) if row.sum() > 2]
        return whet.stack(kept) if kept else x[:0]
    def calls(f):
        for scale in (1, 3, 0, 1):
            yield from thrice(lambda: f(ramp(3, 2) * scale))
    return f, calls


@trap
def a_match_on_the_shape():
    """Structural pattern matching on Size, with a guard on the values."""
    def f(x):
        match x.shape:
            case (): return x + 1
            case (n,) if n > 3: return x[:3]
            case (n,) if x[0] > 1: return x * n
            case (a, b): return x.reshape(b, a)
            case _: return -x
    def calls(f):
        for x in (ramp(), ramp(5), ramp(2), ramp(2) + 1, ramp(2, 3), ramp(1, 1, 1), ramp(5)):
            yield from thrice(lambda: f(x))
    return f, calls


@trap
def a_nan_decides():
    """x > 0 and x <= 0 are both false."""
    def f(x): return x * 2 if x > 0 else x * 3 if x <= 0 else x.nan_to_num(7.0)
    def calls(f):
        for n in (1.0, -1.0, float("nan"), float("inf"), -0.0, 1.0):
            yield from thrice(lambda: f(whet.tensor(n)))
    return f, calls


@trap
def a_parameter_decides():
    """The deciding value is no argument, and is changed in place between calls."""
    gate = whet.nn.Parameter(whet.tensor([1.0]))
    def f(x): return x * gate if gate > 0 else x + 1
    def calls(f):
        for n in (1.0, -1.0, 2.0):
            with whet.no_grad():
                gate.fill_(n)
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_random_number_decides():
    """Rejection sampling: how much of the generator is used depends on what it gives."""
    def f(n):
        kept = []
        while len(kept) < n:
            u = whet.rand(2)
            if u.norm() < 1:
                kept.append(u)
        return whet.stack(kept)
    def calls(f):
        for _ in range(6):
            yield f(4)
        yield whet.rand(1)
    return f, calls


@trap
def the_paths_differ_in_gradients():
    """abs() by hand: the derivative belongs to the path taken."""
    def f(w):
        return (w * 3 if w.sum() > 0 else w.exp()).sum()
    def calls(f):
        for sign in (1, -1, 1):
            for _ in range(3):
                w = (ramp(3) * sign).requires_grad_()
                y = f(w)
                y.backward()
                yield y, w.grad
    return f, calls


@trap
def a_branch_on_an_integer_argument():
    """Python's own numbers decide, beside the data."""
    def f(x, n):
        if n == 0:
            return x
        return f_of(x, n) if x.sum() > 0 else x - n
    def f_of(x, n): return math.sqrt(n) * x
    def calls(f):
        for n in (0, 4, 4, 4, 9, 0):
            yield from thrice(lambda: f(ramp(2), n))
        yield from thrice(lambda: f(-ramp(2), 4))
    return f, calls


@trap
def a_branch_that_returns_its_argument():
    """On one path the result is the input itself, on the other it is new."""
    def f(x): return x if x[0] > 1 else x.view(-1) if x[0] == 1 else x.clone()
    def calls(f):
        for shift in (0.0, 0.5, 3.0, 0.0):
            for _ in range(3):
                x = ramp(2) + shift
                y = f(x)
                yield y, y is x, shares(y, x)
    return f, calls


@trap
def an_error_in_the_data():
    """Indices out of bounds on some calls: the error comes at that call, with its numbers."""
    def f(x, i): return x[i] * 2
    def calls(f):
        for i in ([0, 2], [0, 3], [-3, -1], [5, -9], [1, 1]):
            yield from thrice(lambda: outcome(lambda: f(ramp(3, 2), whet.tensor(i))))
    return f, calls


@trap
def shapes_that_do_not_fit():
    """An op's own error, then good shapes again, then another error."""
    box = Box(n=0)
    def f(a, b):
        box.n += 1
        return a @ b + box.n
    def calls(f):
        for b in (ramp(3, 2), ramp(2, 2), ramp(3, 2), ramp(3), ramp(3, 2, dtype=whet.float64)):
            yield from thrice(lambda: outcome(lambda: f(leaf(2, 3), b)))
        yield box.n
    return f, calls


ERRORS_ABOUT_NUMBERS = {
    "embedding": lambda t, i: F.embedding(i, t),
    "index": lambda t, i: t[i],
    "scatter": lambda t, i: t.scatter(0, i[:, None], 1.0),
    "index_add": lambda t, i: t.index_add(0, i, t[:3]),
    "take": lambda t, i: t.take(i * 4),
    "set": lambda t, i: t.clone().__setitem__(i, 1.0),
    "one_hot": lambda t, i: F.one_hot(i, 8),
    "loss": lambda t, i: F.cross_entropy(t[:3], i),
    "inverse": lambda t, i: whet.linalg.inv(whet.eye(3) * (i.max() < 8))}


@trap
def errors_about_numbers_are_caught(trace):
    """An index out of range and the like, caught by the function: the next call has none."""
    def catching(name):
        def f(t, i):
            try:
                return "ok", ERRORS_ABOUT_NUMBERS[name](t, i)
            except (IndexError, RuntimeError) as e:
                return "error", str(e)
        return f
    first, *others = map(catching, ERRORS_ABOUT_NUMBERS)
    others = [trace(f) for f in others]

    def calls(f):
        for last in (1, 2, 3, 9, 9, 9, 4, 5, 8, 8, 8, 6, 7, 20):
            yield [g(ramp(8, 8), whet.tensor([0, 1, last])) for g in (f, *others)]
    return first, calls
