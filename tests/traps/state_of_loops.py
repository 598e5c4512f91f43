"""What training loops leave in attributes: one tensor under two names, views, tensors with their
graphs; dataclasses that make their fields."""
import dataclasses

import whet

from tests.traps.harness import Box, leaf, outcome, ramp, thrice, trap


# ---- one tensor under two names ------------------------------------------------------------------
@trap
def two_names_of_one_tensor_part():
    """`logged[k] = metrics[k] = loss`: later each name holds a tensor of its own, and is read."""
    o = Box(a=ramp(2), b=ramp(2))
    def f(x):
        y = o.a * 2 + o.b
        o.a = o.b = x + y
        return y
    def calls(f):
        for k in range(5):
            yield f(ramp(2) * k), o.a, o.b, o.a is o.b
        o.b = ramp(2)
        yield from thrice(lambda: (f(ramp(2)), o.a, o.b, o.a is o.b))
        o.a, o.b = o.b, o.a.clone()
        yield from thrice(lambda: (f(ramp(2)), o.a, o.b, o.a is o.b))
    return f, calls


@trap
def one_of_two_names_is_written_to():
    """A write by one name is seen by the other, as long as they are one."""
    o = Box(a=None, b=None)
    def f(x):
        o.a.add_(x)
        return o.b * 2
    def calls(f):
        for one in (True, True, True, True, False, False, False, True, True, False):
            o.a = ramp(2)
            o.b = o.a if one else ramp(2)
            yield f(ramp(2)), o.a, o.b
        o.b = o.a.view(2)
        yield from thrice(lambda: (f(ramp(2)), o.a, o.b))
    return f, calls


@trap
def an_attribute_is_the_argument():
    """self.x = x, where x is what it was before, or another."""
    o = Box(x=ramp(2), n=0)
    def f(x):
        same = o.x is x
        y = o.x * 3 if same else o.x - x
        o.x = x
        o.n += 1
        return y, same
    def calls(f):
        x = ramp(2)
        for other in (x, x, x, x, ramp(2), ramp(2), ramp(2), x, x, x):
            yield f(other), o.x, o.n, o.x is other
    return f, calls


@trap
def names_change_places():
    """Two names of one tensor among three: which two, differs."""
    o = Box(a=None, b=None, c=None)
    def f(x):
        if o.a is o.b:
            return x + o.c
        if o.b is o.c:
            return x * o.a
        return x - o.a
    def calls(f):
        for pattern in ("xxy", "xxy", "xxy", "xxy", "xyy", "xyy", "xyy", "xyx", "xyx", "xyz", "xyz",
                        "xxx", "xxx", "xxy"):
            made = {k: ramp(2) + i for i, k in enumerate("xyz")}
            o.a, o.b, o.c = (made[k] for k in pattern)
            yield f(ramp(2)), o.a, o.b, o.c
    return f, calls


@trap
def two_names_and_an_error_midway():
    """What was left before the error is left."""
    o = Box(a=ramp(2), b=None)
    o.b = o.a
    def f(x, i):
        o.a = o.b = o.a + x
        y = x[i]
        o.b = o.b * 2
        return y
    def calls(f):
        for i in (0, 1, 0, 1, 0, 5, 0, 5, 1):
            yield outcome(lambda: f(ramp(2), whet.tensor(i))), o.a, o.b, o.a is o.b
    return f, calls


@trap
def a_parameter_under_another_name():
    """o.last is sometimes a weight that the function reaches otherwise."""
    w = leaf(2)
    o = Box(last=ramp(2), w=w)
    def f(x):
        y = (o.last * x * o.w).sum()
        y.backward()
        o.last = x
        return y.detach()
    def calls(f):
        for k in range(12):
            if k in (4, 5, 9):
                o.last = w
            w.grad = None
            yield f(ramp(2)), w.grad, o.last is w
    return f, calls


# ---- views ---------------------------------------------------------------------------------------
@trap
def an_attribute_is_a_view_of_something():
    """self.x, y = batch: rows of tables that others write to."""
    o, table = Box(row=None), ramp(6, 2)
    def f(x):
        o.row.mul_(2)
        return o.row + x
    def calls(f):
        for i in (0, 1, 2, 3, 3, 3):
            o.row = table[i]
            yield f(ramp(2)), table, o.row._base is table
        o.row = ramp(2)
        yield from thrice(lambda: (f(ramp(2)), o.row))
        for i in range(3):
            o.row = table.T[i % 2][::3]
            yield f(ramp(2)), table
    return f, calls


@trap
def a_view_of_what_the_function_writes_to():
    """o.row and the table that it is a row of, or of another table."""
    o, table = Box(row=None), ramp(6, 2)
    def f(x):
        table[1] = x
        return o.row * 2, table.sum()
    def calls(f):
        for of in (table, table, table, table, ramp(6, 2), ramp(6, 2), ramp(6, 2), table):
            for i in (0, 1, 1, 2):
                o.row = of[i]
                yield f(ramp(2) * i), o.row
    return f, calls


@trap
def gradients_through_a_view_that_is_an_attribute():
    """The base asks for gradients at some calls, after the view was made."""
    w = leaf(2)
    o = Box(row=None)
    def f(x):
        return (o.row * x * w).sum()
    def calls(f):
        for k in range(10):
            base = ramp(2, 2)
            o.row = base[0]
            if k in (5, 6, 7):
                base.mul_(w)                 # o.row has a history by that
            w.grad = None
            y = f(ramp(2))
            y.backward()
            yield y, w.grad, o.row.requires_grad
    return f, calls


# ---- tensors with their graphs -------------------------------------------------------------------
@trap
def a_copy_of_a_loss_is_kept_with_its_graph():
    """self.loss = loss.clone(), which nobody differentiates; others look at its graph."""
    w = leaf(2)
    o = Box(loss=None)
    def f(x):
        loss = (w * x).sum()
        o.loss = loss.clone()
        loss.backward()
        return loss.detach()
    def calls(f):
        for k in range(6):
            w.grad = None
            yield f(ramp(2) * k), o.loss, w.grad, o.loss.grad_fn is not None
            yield outcome(lambda: o.loss.backward())
    return f, calls


@trap
def a_kept_graph_is_gone_on_with():
    """o.h is read where it has a graph, which is another at each call."""
    w = leaf(2)
    o = Box(h=ramp(2))
    def f(x):
        o.h = o.h * w + x
        return o.h.sum()
    def calls(f):
        for k in range(8):
            y = f(ramp(2))
            if k % 3 == 2:
                w.grad = None
                y.backward()
                yield w.grad
                o.h = o.h.detach()
            yield y, o.h
    return f, calls


@trap
def a_kept_graph_is_asked_about():
    """Its grad_fn, whether it is a leaf."""
    w = leaf(2)
    o = Box(h=ramp(2))
    def f(x):
        was = o.h.grad_fn is None, o.h.is_leaf, o.h.requires_grad
        o.h = x * (w if x.shape[0] == 2 else 1)
        return was
    def calls(f):
        for n in (2, 2, 2, 2, 3, 3, 3, 2, 3, 2):
            yield f(ramp(n)[:2] if n == 2 else ramp(3)), o.h
    return f, calls


@trap
def a_kept_graph_is_differentiated_inside():
    """backward() of what the call before left."""
    w = leaf(2)
    o = Box(loss=None)
    def f(x):
        if o.loss is not None:
            o.loss.backward()
        o.loss = (w * x).sum()
        return x * 2
    def calls(f):
        for k in range(8):
            yield f(ramp(2) * k), w.grad
    return f, calls


# ---- dataclasses that make their fields ----------------------------------------------------------
@dataclasses.dataclass
class Log:
    """With a list of its own."""
    step: int = 0
    losses: list = dataclasses.field(default_factory=list)


@trap
def a_dataclass_makes_a_field():
    """default_factory: the field is given, or it is made."""
    log = Log()
    def f(x, losses=None):
        log.step += 1
        made = Log(log.step) if losses is None else Log(log.step, losses)
        made.losses.append(log.step * 2)
        return x * log.step, made.step, len(made.losses), made.losses[-1]
    def calls(f):
        for _ in range(5):
            yield f(ramp(2)), log.step
        for k in range(5):
            yield f(ramp(2), [1] * (k // 3)), log.step
    return f, calls


@trap
def a_variable_of_a_function_is_compared_by_identity():
    """`x is mark`, where mark lies in a cell: an object, and later a number that varies."""
    o = Box(n=0)
    def make(mark):
        def setting(m):
            nonlocal mark
            mark = m
        def f(x):
            o.n += 1
            n = o.n
            setting(n if x.shape[0] == 2 else None)
            return x * n, n is mark
        return f, setting
    f, setting = make(None)
    def calls(f):
        for shape in (3, 3, 3, 3, 2, 2, 2, 2, 3, 2):
            yield f(ramp(shape)), o.n
    return f, calls


@trap
def two_functions_of_one_code_with_other_marks():
    """Two closures of one code: one compares with an object, one with a number that varies."""
    o, one = Box(n=0), object()
    def make(mark):
        return lambda n: n is mark()
    of_object, of_number = make(lambda: one), make(lambda: o.n)
    def f(x):
        o.n += 1
        return x * o.n, of_object(o.n), of_number(o.n)
    def calls(f):
        for _ in range(6):
            yield f(ramp(2)), o.n
    return f, calls


# ---- what is gone on with, differentiated by others ----------------------------------------------
@trap
def others_differentiate_what_is_gone_on_with():
    """The graph behind o.h is freed at some calls, alive at others, kept at others still."""
    w = leaf(2)
    o = Box(h=ramp(2))
    def f(x):
        o.h = (o.h * w + x).tanh()
        return o.h.sum()
    def calls(f):
        for how in "llfllkllddlfflkkldlffl":
            y, w.grad = f(ramp(2)), None
            if how in "fk":
                yield outcome(lambda: y.backward(retain_graph=how == "k")), w.grad
            if how == "d":
                o.h = o.h.detach()
            yield y, o.h, outcome(lambda: o.h.sum().backward(retain_graph=True)), w.grad
    return f, calls


@trap
def a_hidden_state_is_detached_inside():
    """repackage_hidden: the step detaches what the step before left with its graph."""
    w = leaf(2)
    o = Box(h=(ramp(2), ramp(2)), n=0)
    def f(x):
        h, c = (y.detach() for y in o.h)
        h = (h * w + x).tanh()
        c = c * h
        o.h = h, c
        loss = (h + c).sum()
        if o.n % 2 == 0:
            loss.backward()
        o.n += 1
        return loss.detach()
    def calls(f):
        for k in range(14):
            w.grad = None
            yield f(ramp(2) * (k % 3)), w.grad, o.h
            if k in (6, 9):
                o.h = o.h[0].clone(), o.h[1]
            if k == 11:
                o.h[0].data.mul_(2)
    return f, calls


@trap
def a_view_with_a_graph_is_gone_on_with():
    """o.h is a part of what has a graph; its base is written to between calls."""
    w = leaf(4)
    o = Box(h=None)
    def f(x):
        return (o.h * x).sum() * o.h[0]
    def calls(f):
        for k in range(12):
            base = w * (k + 1)
            o.h = base[k % 2:k % 2 + 2]
            if k in (5, 8):
                base.mul_(2)
            w.grad = None
            y = f(ramp(2))
            y.backward()
            yield y, w.grad, o.h
            if k == 9:
                base.add_(1)
                yield outcome(lambda: f(ramp(2)).backward()), w.grad
    return f, calls


@trap
def second_derivatives_through_what_is_kept():
    """create_graph of what goes on with o.h."""
    w = leaf(2)
    o = Box(h=None)
    def f(x):
        y = (o.h * x * w).sum()
        g, = whet.autograd.grad(y, w, create_graph=True)
        return g
    def calls(f):
        for k in range(8):
            v = leaf(2)
            o.h = v * v if k % 4 else v
            g = f(ramp(2))
            w.grad = None
            outcome(lambda: (g * g).sum().backward())
            yield g, v.grad, w.grad
    return f, calls


@trap
def what_is_kept_is_saved_and_written_to():
    """A backward wants what o.h held: others write to it before."""
    w = leaf(2)
    o = Box(h=None)
    def f(x):
        return (o.h * w * x).sum()
    def calls(f):
        for k in range(10):
            o.h = w.detach() * 2 if k % 2 else (w * 2)
            y, w.grad = f(ramp(2)), None
            if k in (4, 7, 8):
                with whet.no_grad():
                    o.h.add_(1)
            yield outcome(lambda: y.backward()), w.grad, o.h
    return f, calls


# ---- positions that come once --------------------------------------------------------------------
@trap
def positions_and_draws():
    """An op of which nobody says that it takes all sizes, on what has none of the position's."""
    o = Box(table=ramp(40, 2))
    weights = ramp(2, 3)
    def f(i, x):
        drawn = whet.multinomial(weights, 1).flatten()
        o.table[i] = drawn.float() + x
        return o.table[:i].sum(), drawn.numpy()
    def calls(f):
        for i in (*range(2, 20), 39, -1, 3, 40, 21, 22):
            yield outcome(lambda: f(i, ramp(2) * i)), o.table
        weights[0, 0] = 0
        for i in range(23, 30):
            yield f(i, ramp(2)), o.table
        o.table = o.table.double()
        for i in range(5, 12):
            yield f(i, ramp(2)), o.table
    return f, calls


@trap
def positions_and_an_op_that_goes_by_them():
    """The same op on a part whose size is the position, and on one whose size is not."""
    table = ramp(40)
    def f(i):
        return (whet.multinomial(table[:i] * 0 + 1, 1), whet.multinomial(table[i:i + 3], 2),
                whet.linalg.norm(table[i - 2:i]))
    def calls(f):
        for i in (*range(4, 20), 30, 38, 5, 6, 2):
            yield outcome(lambda: f(i))
    return f, calls


@trap
def positions_under_guards_that_change():
    """A number of another kind, a weight that gets a gradient: other plans for all positions."""
    w = leaf(2)
    o = Box(total=0)
    table = ramp(60, 2)
    def f(i):
        part = table[i:i + 3]
        o.total += (part * w.detach()).sum().item()
        return part * 2
    def calls(f):
        for i in range(1, 45):
            if i in (12, 21, 33):
                o.total = 0
            if i == 26:
                w.grad = ramp(2)
            if i == 30:
                w.requires_grad_(False)
            yield f(i), o.total
    return f, calls


@trap
def positions_and_a_setting_of_numpy():
    """`t.numpy()` computes under NumPy's settings for errors."""
    import numpy as np
    table = ramp(40, 2)
    def f(i):
        return (1 / (table[i] - 2.5)).numpy() * 2
    def calls(f):
        for i in range(2, 16):
            yield f(i)
        with np.errstate(all="raise"):
            for i in range(16, 24):
                yield outcome(lambda: f(i))
        for i in range(24, 30):
            yield f(i)
    return f, calls


# positions that an attribute holds: small, large, none that there is, from the end
POSITIONS = (*range(6), 15, 16, 1, 2, -1, -16, -17, 3, 0, 0, 4, 4, 40, -2, 5, 0, 1, 7)


def at_positions(f, o):
    for k, at in enumerate((*POSITIONS, True, 3, None, 2, 1.0, 4, 1 << 45, 1)):
        o.at = at
        yield outcome(lambda: f(ramp(3) + k)), o.at, o.rows.sum(0)


@trap
def a_row_at_a_position_in_an_attribute():
    """It is written to, and moves on where that succeeded."""
    o = Box(rows=ramp(16, 3), at=0)
    def f(x):
        o.rows[o.at] = x
        o.at += 1
        return o.rows.sum(0) * o.at
    return f, lambda f: at_positions(f, o)


@trap
def rows_up_to_a_position_in_an_attribute():
    """Of a negative one the rows are counted from the end, and past the end there are no more."""
    o = Box(rows=ramp(16, 3), at=0)
    def f(x):
        kept = o.rows[:o.at]
        kept += 1
        return kept.sum(0) + x, o.rows[o.at:].sum(0) * x, kept
    return f, lambda f: at_positions(f, o)
