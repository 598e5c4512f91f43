"""`cond`, `while_loop` and `scan`: eagerly what the Python means; traced the same to the bit, with
one recording for both branches and for any number of rounds where they only compute, and another
recording for each way where they do not."""
import numpy as np
import pytest
import whet
from whet import jit, nn
from whet.cpu import native
from whet.jit.capture.control_nodes import NextValue, While


def same(a, b):
    if isinstance(a, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return (a.dtype is b.dtype and a.shape == b.shape
            and a.detach().numpy().tobytes() == b.detach().numpy().tobytes())


def facts(f):
    return f.explain(data=True)


def recordings(f):
    got = facts(f)
    assert not got["refused"], got["refused"]
    return len(got["paths"])


def positive(x):
    return x.sum() > 0


UPS = [1, -1, 1, 1, -1, -1, 1]


def both_ways(f, paths, signs=UPS):
    """Trace f and call it with positive and negative numbers."""
    t = jit.trace(f)
    for i, sign in enumerate(signs):
        x = sign * (whet.arange(6.0) + i / 7 + 0.5).reshape(2, 3)
        assert same(t(x), f(x))
    assert recordings(t) == paths
    return t


# ---- eagerly -------------------------------------------------------------------------------------
def test_cond_runs_one_branch():
    ran = []

    def branch(name):
        return lambda x: ran.append(name) or x + 1
    x = whet.ones(2)
    for pred in (True, whet.tensor(True), whet.tensor([[2.0]]), False, whet.tensor(0)):
        assert same(whet.cond(pred, branch("t"), branch("f"), (x,)), x + 1)
    assert ran == ["t", "t", "t", "f", "f"] and whet.cond(True, lambda: 3, lambda: 4) == 3


@pytest.mark.parametrize("args",
                         [("a", abs, abs, ()), (whet.tensor([True, False]), abs, abs, ()),
                          (True, 3, abs, ()), (True, abs, abs, whet.ones(1)),
                          (True, abs, abs, (3,)), (None, abs, abs, ())])
def test_cond_checks_what_it_is_given(args):
    with pytest.raises(RuntimeError, match="cond"):
        whet.cond(*args)


def test_while_loop_goes_on_until_it_is_false():
    i, x = whet.while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, x * 2),
                           (whet.tensor(0), whet.ones(2)))
    assert i.item() == 4 and same(x, whet.full((2,), 16.0))
    assert whet.while_loop(lambda n: n < 4, lambda n: n + 1, (0,)) == (4,)
    nested = whet.while_loop(lambda d: d["n"] < 2, lambda d:
                             ({"n": d["n"] + 1, "xs": [d["xs"][0] * 2]},),
                             ({"n": whet.tensor(0), "xs": [x]},))
    assert same(nested[0]["xs"][0], x * 4)


def test_while_loop_never_gives_back_its_operands():
    x = whet.ones(2)
    for rounds in (0, 1, 2):
        _, y = whet.while_loop(lambda i, x: i < rounds, lambda i, x: (i + 1, x),
                               (whet.tensor(0), x))
        assert y is not x and same(y, x) and not np.shares_memory(y.numpy(), x.numpy())


@pytest.mark.parametrize(
    "body",
    [lambda x: x.sum(), lambda x: x.double(), lambda x: (x, x), lambda x: [[x]], lambda x: None])
def test_while_loop_keeps_what_is_carried_as_it_is(body):
    with pytest.raises(RuntimeError, match="while_loop: Expected"):
        whet.while_loop(lambda x: x.sum() < 9, body, (whet.ones(2),))


def test_while_loop_checks_what_it_is_given():
    x = whet.ones(2)
    for args in ((abs, 3, (x,)), (abs, abs, x), (abs, abs, ("a",)),
                 (lambda x: x, lambda x: x, (x,))):
        with pytest.raises(RuntimeError, match="while_loop"):
            whet.while_loop(*args)


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("reverse", [False, True])
def test_scan_is_a_loop_over_slices(dim, reverse):
    x = whet.randn(3, 4)
    carry, ys = whet.scan(lambda c, x: (c * 0.5 + x.sum(), {"y": x * c}), whet.tensor(1.0), x,
                          dim=dim, reverse=reverse)
    c, want, slices = whet.tensor(1.0), [], list(x.unbind(dim))
    for s in slices[::-1] if reverse else slices:
        want.append(s * c)
        c = c * 0.5 + s.sum()
    assert same(carry, c) and same(ys["y"], whet.stack(want[::-1] if reverse else want, dim))


def test_scan_checks_what_it_is_given():
    x, c = whet.ones(3, 2), whet.zeros(2)
    for args in ((3, c, x), (lambda c, x: (c, x), (), x), (lambda c, x: (c, x), c, whet.ones(0, 2)),
                 (lambda c, x: (c, x), c, (x, whet.ones(4, 2))), (lambda c, x: (c.sum(), x), c, x),
                 (lambda c, x: c, c, x), (lambda c, x:
                                          (c, 3), c, x), (lambda c, x: ((c,), x), c, x)):
        with pytest.raises(RuntimeError, match="scan"):
            whet.scan(*args)
    with pytest.raises(IndexError):
        whet.scan(lambda c, x: (c, x), c, x, dim=2)


def test_gradients_flow_as_through_any_code():
    def run(functions):
        x, w = whet.arange(1.0, 4.0).requires_grad_(), whet.full((3,), 0.3, requires_grad=True)
        if functions:
            y = whet.cond(x.sum() > 0, lambda x: x * w * w, lambda x: -x, (x,))
            _, y = whet.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * w + x),
                                   (whet.tensor(0), y))
            _, ys = whet.scan(lambda c, a: (c + a * w.sum(), c * a), whet.tensor(0.5), y)
        else:
            y, c, ys = x * w * w, whet.tensor(0.5), []
            for _ in range(3):
                y = y * w + x
            for a in y.unbind():
                ys.append(c * a)
                c = c + a * w.sum()
            ys = whet.stack(ys)
        (ys * ys).sum().backward()
        return x.grad, w.grad
    assert same(run(True), run(False))


# ---- traced: one recording -----------------------------------------------------------------------
def test_both_branches_are_in_one_recording():
    w = whet.randn(3)

    def f(x):
        y = x.exp()
        return (whet.cond(positive(x), lambda a: (a * 2).tanh() + w * y, lambda a:
                          (a.abs().sqrt() + x), (x,)) + 1)
    t = both_ways(f, 1)
    assert "true:" in str(t.graph) and "false:" in str(t.graph)
    w.mul_(2)
    both_ways(f, 1)


def test_an_outside_tensor_is_read_afresh_in_either_branch():
    w, v = whet.ones(3), whet.ones(3)
    t = jit.trace(lambda x: whet.cond(positive(x), lambda x: x * w, lambda x: x - v, (x,)))
    for sign in UPS:
        x = whet.ones(2, 3) * sign
        assert same(t(x), t.fn(x))
        w.add_(1)
        v.mul_(3)
    assert recordings(t) == 1


def test_branches_in_branches_and_several_results():
    def inner(x):
        return whet.cond(x.max() > 4, lambda x: [x * 2, {"s": x.sum()}],
                         lambda x: [x / 3, {"s": x.mean()}], (x,))

    def f(x):
        a, b = whet.cond(positive(x), inner, lambda x: [x.neg(), {"s": x.min() * 2}], (x,))
        return a * b["s"], b["s"]
    both_ways(f, 1)


def test_what_is_written_to_inside_of_a_branch_is_its_own():
    def up(x):
        y = x * 2
        y[0] += 1
        y.mul_(x)
        return y
    both_ways(lambda x: whet.cond(positive(x), up, lambda x: x.clone().add_(5), (x,)), 1)


def test_the_number_of_rounds_is_free():
    def f(n, x):
        return whet.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, (x * 1.5 + i).sin()),
                               (n * 0, x))
    for first in (0, 1, 3):
        t = jit.trace(f)
        for n in (first, 5, 0, 100, 1, 2, first):
            x = whet.randn(4)
            assert same(t(whet.tensor(n), x), f(whet.tensor(n), x))
        assert recordings(t) == 1 and "body:" in str(t.graph)


def test_what_is_carried_may_change_places_or_stay():
    def f(n, a, b, c):
        return whet.while_loop(lambda i, a, b, c: i < n, lambda i, a, b, c: (i + 1, b, a + b, c),
                               (n * 0, a, b, c))
    for first in (0, 1, 4):
        t = jit.trace(f)
        for n in (first, 0, 1, 2, 7):
            xs = whet.tensor(n), whet.randn(3), whet.randn(3), whet.randn(2)
            got = t(*xs)
            assert same(got, f(*xs))
            assert (not any(
                np.shares_memory(a.numpy(), b.numpy()) for i, a in enumerate(got)
                for b in (*xs, *got[:i])))
        assert recordings(t) == 1


@pytest.mark.parametrize("first", [0, 1, 2, 5])
def test_machine_code_hands_on_what_is_carried(first):
    """Over one round and over three; between ten thousands of rounds Python comes to word."""
    def f(n, a, b, c, d, k):
        return whet.while_loop(
            lambda i, a, b, c, d, k: i < n, lambda i, a, b, c, d, k:
            (i + 1, a * 0.5 + c * k, a, b, (d + a).sin(), k), (n * 0, a, b, c, d, k))
    t = jit.trace(f)
    for n in (first, 0, 1, 2, 3, 4, 5, 6, 7, 20_001):
        xs = whet.tensor(n), *(whet.randn(3) for _ in range(5))
        got, want = t(*xs), f(*xs)
        assert same(got, want)
        assert (not any(
            np.shares_memory(a.numpy(), b.numpy()) for i, a in enumerate(got)
            for b in (*xs, *got[:i])))
    assert recordings(t) == 1
    node = next(n for rs in t._table.values() for r in rs for n in r.program.nodes
                if n.kind == "op" and n.op.name == "while_loop")
    assert (node.op.rounds is not None) == native.enabled()


def test_newtons_method():
    def f(a):
        def close(x, before):
            return (x - before).abs().max() > 1e-6
        return whet.while_loop(close, lambda x, before: ((x + a / x) / 2, x + 0), (a + 1, a * 0))[0]
    t = jit.trace(f)
    for scale in (1.0, 100.0, 1e-3, 4.0):
        a = (whet.rand(5) + 0.5) * scale
        assert same(t(a), f(a))
    assert recordings(t) == 1


def test_a_cond_in_a_while_loop_in_a_cond():
    def body(i, x):
        return i + 1, whet.cond(x.sum() > 3, lambda x: x / 2, lambda x: x * 3 + 1, (x,))

    def f(x):
        return whet.cond(positive(x),
                         lambda x: whet.while_loop(lambda i, x: i < 9, body, (x.sum() * 0, x))[1],
                         lambda x: x - 1, (x,))
    both_ways(f, 1)


def test_modules_are_branches():
    big = nn.Sequential(nn.Linear(3, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3),
                        nn.Softmax(-1))
    small = nn.Linear(3, 3)

    @whet.no_grad()
    def f(x):
        return whet.cond(positive(x), big, small, (x,))
    t = both_ways(f, 1)
    with whet.no_grad():
        small.weight.mul_(2)
        big[0].weight.mul_(2)
    for sign in UPS:
        x = whet.ones(2, 3) * sign
        assert same(t(x), f(x))


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_is_recorded_as_the_loop_that_it_is(reverse):
    w = whet.randn(4, 4) / 2

    def f(h, xs):
        return whet.scan(lambda h, x: ((h @ w + x).tanh(), (h * x).sum()), h, xs, reverse=reverse)
    t = jit.trace(f)
    for _ in range(4):
        args = whet.randn(2, 4), whet.randn(7, 2, 4)
        assert same(t(*args), f(*args))
    assert recordings(t) == 1


def test_a_scan_over_conds():
    def f(xs):
        return whet.scan(
            lambda c, x: (c + x, whet.cond(x > 0, lambda c: c * 2, lambda c: c - 1, (c,))),
            xs[0] * 0, xs)
    t = jit.trace(f)
    for _ in range(5):
        xs = whet.randn(6)
        assert same(t(xs), f(xs))
    assert recordings(t) == 1


# ---- traced: what is no node ---------------------------------------------------------------------
@pytest.mark.parametrize("up, down", [
    (lambda x: x, lambda x: -x),                                             # an operand comes back
    (lambda x: x[0], lambda x: x[1]),                                        # a view of one
    # a view of what was made
    (lambda x: (x * 2).T, lambda x: (x * 3).T),
    (lambda x: x * 2, lambda x: x.sum()),                                    # other shapes
    (lambda x: x * 2, lambda x: x.double()),                                 # other types
    (lambda x: (x * 2, x * 3), lambda x: [x * 2, x * 3]),                    # other structures
    (lambda x: [y := x * 2, y], lambda x: [x * 2, x * 3]),                   # one result twice
    (lambda x: 1, lambda x: 2),
    # a write to an operand, taken first
    (lambda x: x.add_(1) * 2, lambda x: x * 2),
    (lambda x: x * 2, lambda x: x.sub_(1) * 2),                              # and not taken first
    (lambda x: x * 2, lambda x: x.view(7)),                                  # an error
    (lambda x: x * 2, lambda x: (x.detach().requires_grad_() * 2)),
])
def test_branches_that_do_more_have_recordings_of_their_own(up, down):
    def f(x):
        return whet.cond(positive(x), up, down, (x,))
    t = jit.trace(f)
    for sign in UPS:
        x, y = whet.ones(2, 3) * sign, whet.ones(2, 3) * sign
        try:
            want = f(y)
        except RuntimeError:
            with pytest.raises(RuntimeError):
                t(x)
            continue
        got = t(x)
        if type(want) is int:
            assert got == want
            continue
        assert same(got, want) and same(x, y) and (got is x) == (want is y)


class Outside:
    """What a branch may touch, and branches that touch it."""

    def __init__(self):
        self.log, self.box, self.weight = [], {"n": 0}, whet.ones(3, requires_grad=True)
        self.bn, self.kept = nn.BatchNorm1d(3), whet.zeros(2, 3)
        self.weight.grad = self.grad = whet.ones(3)

    def is_untouched(self):
        return (not self.log and self.box == {"n": 0} and self.weight.grad is self.grad
                and same(self.grad, whet.ones(3)) and self.weight.requires_grad
                and self.bn.training and same(self.bn.running_mean, whet.zeros(3))
                and same(self.kept, whet.zeros(2, 3))
                and whet.get_default_dtype() is whet.float32)

    def writes(self, x):
        self.box["n"] += 1
        return x * 2

    def appends(self, x):
        self.log.append(1)
        return x * 2

    def prints(self, x):
        print("here")
        return x * 2

    def differentiates(self, x):
        (self.weight * 2).sum().backward()
        return x * 2

    def needs(self, x):
        self.weight.requires_grad_(False)
        return x * 2

    def drops(self, x):
        self.weight.grad = None
        return x * 2

    def switches(self, x):
        self.bn.eval()
        return x * 2

    def fills(self, x):
        whet.mul(x, 3, out=self.kept)
        return self.kept * 2

    def draws(self, x):
        return x + whet.rand(3)

    def seeds(self, x):
        whet.manual_seed(3)
        return x * 2

    def sets(self, x):
        whet.set_default_dtype(whet.float64)
        return x * 2

    def swallows(self, x):
        try:
            self.kept.add_(1)
        except BaseException:
            pass
        return x * 2


@pytest.mark.parametrize("name", [
    "writes", "appends", "prints", "differentiates", "needs", "drops", "switches", "bn", "fills",
    "draws", "seeds", "sets", "swallows"])
def test_the_branch_that_is_not_taken_leaves_no_trace(name, capsys):
    outside, x, state = Outside(), whet.ones(2, 3), whet.get_rng_state()
    other = getattr(outside, name)
    t = jit.trace(lambda x: whet.cond(positive(x), lambda x: x + 1, other, (x,)))
    for _ in range(3):
        assert same(t(x), x + 1)
    assert outside.is_untouched() and not capsys.readouterr().out
    assert whet.equal(whet.get_rng_state(), state)


def test_what_a_branch_keeps_is_not_used_outside():
    def f(x):
        kept = []

        def up(x):
            kept.append(x * 3)
            return x * 2
        y = whet.cond(positive(x), up, lambda x: x / 2, (x,))
        return y + kept[0] if kept else y
    t = jit.trace(f)
    for sign in UPS:
        x = whet.ones(2, 3) * sign
        assert same(t(x), f(x))


@pytest.mark.filterwarnings("ignore::whet.jit.TraceWarning")
def test_rounds_that_are_not_alike_are_recorded_one_by_one():
    def counting(x):
        n = []

        def body(x):
            n.append(1)
            return x * len(n)
        return whet.while_loop(lambda x: x.sum() < 50, body, (x,))

    def laid_out(x):
        return whet.while_loop(lambda x: x.sum() < 50, lambda x: (x * 2).T.contiguous().T, (x,))

    def in_place(x):
        return whet.while_loop(lambda x: x.sum() < 50, lambda x: x.mul_(2), (x,))

    def a_value(x):
        return whet.while_loop(lambda x: x.sum() < 50, lambda x: x * 2
                               if x[0, 0] > 3 else x * 3, (x,))

    def random(x):
        return whet.while_loop(lambda x: x.sum() < 50, lambda x: x + whet.rand(2, 2), (x,))
    for f in (counting, laid_out, in_place, a_value, random):
        t = jit.trace(f)
        for k in (1, 1, 20, 1, 5, 5, 1):
            x, y = whet.ones(2, 2) * k, whet.ones(2, 2) * k
            whet.manual_seed(k)
            got = t(x)
            whet.manual_seed(k)
            assert (same(got, f(y)) and same(x, y)
                    and got[0].stride() == f(y.clone())[0].stride()), f.__name__


@pytest.mark.parametrize("kind", ["cond", "while", "scan", "all"])
def test_gradients_through_a_traced_call(kind):
    w = whet.randn(3).requires_grad_()

    def f(x):
        if kind in ("cond", "all"):
            x = whet.cond(positive(x), lambda x: x * w * w, lambda x: x - w, (x,))
        if kind in ("while", "all"):
            x = whet.while_loop(lambda x: x.abs().sum() < 20, lambda x: x * 1.5 + w * 0.1 + 0.01,
                                (x,))[0]
        if kind in ("scan", "all"):
            x = whet.scan(lambda c, r: (c * 0.5 + r * w, c + r), w * 0, x)[1]
        return x

    def step(x):
        w.grad = None
        (f(x) * x).sum().backward()
        return w.grad
    inside, outside = jit.trace(step), jit.trace(f)
    for sign in (1, 1, -1, 1, -1, -1, 1, 0.1):
        x = whet.linspace(0.3, 2, 6).reshape(2, 3) * sign
        want = step(x).clone()
        assert same(inside(x).clone(), want)
        w.grad = None
        (outside(x) * x).sum().backward()
        assert same(w.grad, want)


def test_an_error_in_a_branch_or_a_body_is_eagers():
    table = whet.arange(5.0)

    def f(i, x):
        y = whet.cond(i >= 0, lambda i: table[i.reshape(1)] * 2, lambda i: table[:1] + i, (i,))
        return (whet.while_loop(lambda n, y: n > 0, lambda n, y: (n - 1, y + table[n.reshape(1)]),
                                (i, y))[1] + x)
    t = jit.trace(f)
    for i in (1, -1, 3, 9, 2, 9, -2, 4):
        i, x = whet.tensor(i), whet.randn(1)
        try:
            want = f(i, x)
        except IndexError as e:
            with pytest.raises(IndexError, match=str(e)[:20]):
                t(i, x)
        else:
            assert same(t(i, x), want)


# ---- the node of a loop --------------------------------------------------------------------------
@pytest.mark.parametrize("carried, results", [
    ([(True, 0), (False, 1), (False, 2)], (3, 10, 20)),
    ([(True, 0), (True, 0), (False, 1)], (3, 3, 2)),
    ([(True, 0), (False, 2), (False, 1)], (3, 20, 10)),
    ([(True, 0), (False, 2), (False, 2)], (3, 20, 20)),
])
def test_rounds_carry_what_they_make_keep_and_exchange(carried, results):
    def loop(*state):
        return whet.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, a, b), state)
    start = [whet.tensor(n) for n in (0, 10, 20)]
    node, = whet.export(loop, *start).graph.nodes
    made = While("while_loop", [NextValue(*c) for c in carried], **node.op.bodies)
    made.join()
    assert [int(a) for a in made.forward(*[t.numpy() for t in start])] == list(results)
    assert [int(a) for a in made.run_by_python([t.numpy() for t in start])] == list(results)
