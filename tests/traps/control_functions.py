"""`cond` and `while_loop`: control flow as functions."""

import whet

from tests.traps.harness import Box, leaf, outcome, ramp, shares, thrice, trap


# ---- control flow as functions -------------------------------------------------------------------
@trap
def a_cond_whose_predicate_flips():
    """The recording knows one branch only."""
    w = ramp(3)
    def f(x):
        return whet.cond(x.sum() > 4, lambda x: (x * w).exp(), lambda x: x - w, (x,)) * 2
    def calls(f):
        for scale in (1, 0.5, 3, 0.1):
            yield from thrice(lambda: f(ramp(3) * scale))
            w.add_(0.25)
    return f, calls


@trap
def a_cond_over_what_a_closure_holds():
    """A branch reads a tensor that is another one at the next call, and a number that changes."""
    box = Box(w=ramp(2), k=2)
    def f(x):
        return whet.cond(x[0] > 1, lambda x: x * box.w, lambda x: x * box.k, (x,))
    def calls(f):
        for k in range(3):
            yield from thrice(lambda: [f(ramp(2) + 1), f(ramp(2) - 1)])
            box.w, box.k = ramp(2) + k, box.k + 1
    return f, calls


@trap
def a_branch_that_leaves_something_behind():
    """The branch that is not taken counts, prints and writes; the recording must not run it for
    that."""
    log, seen = [], ramp(2)
    def down(x):
        log.append(len(log))
        print("down")
        seen.add_(1)
        return -x
    def f(x):
        return whet.cond(x.sum() > 0, lambda x: x * 2, down, (x,))
    def calls(f):
        for sign in (1, -1, 1, -1):
            for y in thrice(lambda: f(ramp(2) * sign)):
                yield y, list(log), seen
    return f, calls


@trap
def a_cond_that_gives_an_operand_back():
    """The result of one branch is the operand itself, of the other a tensor of its own."""
    def f(x):
        return whet.cond(x.sum() > 0, lambda x: x, lambda x: x.neg(), (x,))
    def calls(f):
        for sign in (1, -1, 1, -1):
            for _ in range(3):
                x = ramp(2) * sign
                y = f(x)
                y.add_(1)
                yield x, y, shares(x, y)
    return f, calls


@trap
def random_numbers_in_one_branch():
    """Drawn anew at each call, and only where that branch is taken."""
    def f(x):
        return (whet.cond(x.sum() > 0, lambda x: x + whet.rand(2), lambda x: x * 2, (x,))
                + whet.rand(2))
    def calls(f):
        for sign in (1, -1, 1, -1):
            yield from thrice(lambda: f(ramp(2) * sign))
    return f, calls


@trap
def gradients_through_a_cond():
    """One branch reads w twice, the other not at all."""
    w = leaf(3)
    def f(x):
        return (whet.cond(x.sum() > 0, lambda x: x * w * w, lambda x: x * x, (x,)) * x).sum()
    def calls(f):
        for sign in (1, -1, 1, -1):
            for _ in range(3):
                x = (ramp(3) * sign).requires_grad_()
                f(x).backward()
                yield x.grad, w.grad
                w.grad = None
    return f, calls


@trap
def a_while_loop_of_any_number_of_rounds():
    """None at first, then many."""
    def f(n, x):
        return whet.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, (x * 1.25).sin()),
                               (whet.tensor(0), x))
    def calls(f):
        for n in (0, 3, 1, 0, 50):
            yield from thrice(lambda: f(whet.tensor(n), ramp(3)))
    return f, calls


@trap
def what_is_carried_is_the_callers():
    """After no round the results are not the operands, and a write to one does not reach the
    other."""
    def f(n, x, y):
        return whet.while_loop(lambda i, x, y: i < n, lambda i, x, y: (i + 1, y, x),
                               (whet.tensor(0), x, y))
    def calls(f):
        for n in (0, 2, 1, 0):
            for _ in range(3):
                x, y = ramp(2), ramp(2) + 1
                _, a, b = f(whet.tensor(n), x, y)
                a.mul_(7)
                yield x, y, a, b
    return f, calls


@trap
def a_body_that_writes_to_what_it_carries():
    """The operand of the caller changes with the first round."""
    def f(x):
        return whet.while_loop(lambda x: x.sum() < 20, lambda x: x.mul_(2), (x,))
    def calls(f):
        for k in (1, 4, 40, 1):
            for _ in range(3):
                x = ramp(2) * k
                yield f(x), x
    return f, calls


@trap
def an_error_in_a_later_round():
    """An index runs out of the table after some rounds."""
    table = ramp(4)
    def f(i):
        return whet.while_loop(lambda i, s: i != 2, lambda i, s: (i + 1, s + table[i.reshape(1)]),
                               (i, table[:1] * 0))
    def calls(f):
        for i in (0, 1, 2, 3, 0):
            yield from thrice(lambda: outcome(lambda: f(whet.tensor(i))))
    return f, calls


@trap
def conds_in_a_scan_in_a_while_loop():
    """Each step and each round goes its own way."""
    def step(c, x):
        c = whet.cond(x > c, lambda c: c + x, lambda c: c * 0.5, (c,))
        return c, c * x
    def f(xs):
        def body(i, xs):
            return i + 1, whet.scan(step, xs[0] * 0, xs, reverse=True)[1]
        return whet.while_loop(lambda i, xs: (i < 5) & (xs.abs().sum() < 100), body,
                               (whet.tensor(0), xs))
    def calls(f):
        for sign in (1, -1, 0.1, 1):
            yield from thrice(lambda: f(ramp(4) * sign - 1))
    return f, calls


@trap
def gradients_through_rounds_and_steps():
    """A recurrent cell in a scan, its state scaled down by a while_loop."""
    w = leaf(2, 2)
    def f(h, xs):
        h = whet.while_loop(lambda h: h.sum() > 2, lambda h: h * 0.5 + w[0] * 0.01, (h,))[0]
        h, ys = whet.scan(lambda h, x: ((h @ w + x).tanh(), h * x), h, xs)
        return (h * ys).sum()
    def calls(f):
        for k in (1, 1, 5, 0.1, 5):
            for _ in range(3):
                f(ramp(2) * k, ramp(3, 2)).backward()
                yield w.grad
                w.grad = None
    return f, calls
