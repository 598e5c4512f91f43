"""Rolling: repeated steps of an unrolled loop are one body that machine code goes round; the
same bits, and nothing that must not move is rolled."""
import numpy as np
import pytest
import whet
from whet import jit
from whet.cpu import native
from whet.ir.interpret import Diverged, interpret
from whet.ir.parse import ParseError, parse
from whet.ir.verify import VerifyError, verify
from whet.jit.report.explain import graph_inputs
from whet.passes import pipeline
from whet.passes import roll_loops as pass_

pytestmark = pytest.mark.skipif(not native.enabled(),
                                reason="without machine code nothing is rolled")


def bits(x):
    return ([y.detach().numpy().tobytes()
             for y in x] if isinstance(x, tuple | list) else x.detach().numpy().tobytes())


def rolled(f, *args, loops=1, calls=3, grads=()):
    """Trace f, compare some calls with eager's, count the loops, and read the graph again as it
    is printed; gives the trace."""
    t = jit.trace(f)
    for k in range(calls):
        args = [a * 1.01 if k else a for a in args]
        for g in grads:
            g.grad = None
        want = bits(f(*args)), [bits(g.grad) for g in grads]
        for g in grads:
            g.grad = None
        assert (bits(t(*args)), [bits(g.grad) for g in grads]) == want
    facts = t.explain(data=True)
    assert not facts["refused"] and str(t.graph).count(" = roll ") == loops, t.explain()
    table = []
    g = parse(t.graph.text(table), table)
    assert verify(g) == t.graph and str(g) == str(t.graph)
    arrays = [x._array for x in graph_inputs(t, args)]
    assert [a.tobytes() for a in interpret(g, *arrays)[:len(t.recorded.results)]] \
        == [a.tobytes() for a in interpret(t.recorded, *arrays)]
    return t


N = 64


def cell(h, w, x):
    return (h @ w + x).tanh()


def weights(n=4):
    return whet.randn(n, n) / 2


def test_a_recurrence_is_rolled():
    def f(h, w, x):
        for _ in range(N):
            h = cell(h, w, x)
        return h
    t = rolled(f, whet.randn(2, 4), weights(), whet.randn(2, 4))
    path, = t.explain(data=True)["paths"]
    assert path["launches"] < 30 and path["after"] < 30 and "carried" in str(t.graph)


@pytest.mark.parametrize("rounds", [97, 98, 99, 111, 112])
def test_an_odd_and_an_even_number_of_rounds(rounds):
    def f(h, w):
        for _ in range(rounds):
            h = (h @ w).softmax(-1)
        return h
    rolled(f, whet.randn(2, 4), weights())


def forwards(xs):
    return [xs[i] for i in range(N)]


def of_a_copy(xs):
    return xs.flip(0).unbind()


def backwards_and_turned(xs):
    return [xs[i].T.T for i in reversed(range(N))]


@pytest.mark.parametrize("rows", [forwards, of_a_copy, backwards_and_turned])
def test_rows_of_a_tensor_follow_each_other(rows):
    def f(h, w, xs):
        for x in rows(xs):
            h = cell(h, w, x)
        return h
    t = rolled(f, whet.randn(2, 4), weights(), whet.randn(N, 2, 4))
    assert "along" in str(t.graph)


def test_what_is_read_of_every_round_is_kept():
    def f(h, w, xs):
        hs = []
        for i in range(N):
            h = cell(h, w, xs[i])
            hs.append(h)
        total = hs[0]
        for a in hs[1:]:
            total = (total @ w) + a
        return whet.stack(hs[:20]), total, h
    rolled(f, whet.randn(2, 4), weights(), whet.randn(N, 2, 4), loops=2)


def test_two_that_are_carried_begin_with_one_tensor():
    def f(x, w):
        a = b = x
        for _ in range(N):
            a, b = (a @ w + b).sin(), (b @ w).cos() + a
        return a, b
    rolled(f, whet.randn(2, 4), weights())


def test_what_is_carried_over_two_rounds_is_no_single_body():
    def f(x, w):
        a, b = x, x + 1
        for _ in range(N):
            a, b = b, (a @ w).sin() * b
        return b
    t = jit.trace(f)
    x, w = whet.randn(2, 4), weights()
    for _ in range(3):
        assert bits(t(x, w)) == bits(f(x, w))


def test_a_loop_in_a_loop():
    def f(h, w, v):
        for _ in range(12):
            for _ in range(12):
                h = (h @ w).tanh()
            h = (h @ v).sin()
        return h
    t = jit.trace(f)
    args = whet.randn(2, 4), weights(), weights()
    for _ in range(3):
        assert bits(t(*args)) == bits(f(*args))
    assert " = roll " in str(t.graph) and t.explain(data=True)["paths"][0]["launches"] < 60


def test_a_training_step_of_a_recurrence():
    w = weights().requires_grad_()

    def f(h, xs):
        hs = []
        for i in range(N):
            h = cell(h, w, xs[i])
            hs.append(h)
        loss = (whet.stack(hs) ** 2).mean()
        loss.backward()
        return loss
    t = jit.trace(f)
    for _ in range(4):
        h, xs = whet.randn(2, 4), whet.randn(N, 2, 4)
        w.grad = None
        want = bits(f(h, xs)), bits(w.grad)
        w.grad = None
        assert (bits(t(h, xs)), bits(w.grad)) == want
    assert str(t.graph).count(" = roll ") >= 1
    out = jit.trace(lambda h, xs: sum(
        whet.scan(lambda h, x: (cell(h, w, x), (h * h).sum()), h, xs)[1].unbind()))
    for _ in range(4):
        w.grad = None
        out.fn(h, xs).backward()
        want = bits(w.grad)
        w.grad = None
        out(h, xs).backward()
        assert bits(w.grad) == want


@pytest.mark.parametrize("rounds", [67, 70])
def test_both_ways_through_an_lstm_are_rolled(rounds):
    """The way back reads parts of what the way there kept, and joins what it makes; the first
    rounds are left over from the way there."""
    lstm = whet.nn.LSTM(4, 6, proj_size=5)

    def step(x):
        lstm.zero_grad()
        loss = lstm(x)[0].square().mean()
        loss.backward()
        return loss
    t, x = jit.trace(step), whet.randn(rounds, 2, 4)
    for _ in range(4):
        want = bits(step(x)), [bits(p.grad) for p in lstm.parameters()]
        assert (bits(t(x)), [bits(p.grad) for p in lstm.parameters()]) == want
    path = t.explain(data=True)["paths"][0]
    assert str(t.graph).count(" = roll ") >= 2 and path["after"] < path["nodes"] // 7


def test_a_thousand_steps_are_few_nodes():
    def f(x, y):
        for _ in range(1000):
            x = x * 0.99 + y.tanh()
        return x
    t = rolled(f, whet.randn(64), whet.randn(64))
    assert t.explain(data=True)["paths"][0]["after"] <= 6


# ---- what is not rolled --------------------------------------------------------------------------
def unrolled(f, *args):
    rolled(f, *args, loops=0)


def test_few_rounds_stay():
    def f(h, w, rounds):
        for _ in range(rounds):
            h = (h @ w).sin() @ w @ w @ w @ w @ w @ w @ w @ w @ w @ w @ w @ w @ w @ w
        return h
    unrolled(lambda h, w: f(h, w, pass_.LEAST), whet.randn(2, 4), weights())
    rolled(lambda h, w: f(h, w, pass_.LEAST + 1), whet.randn(2, 4), weights())
    unrolled(lambda h, w: whet.stack([(h := (h @ w).sin()) for _ in range(pass_.WORK // 2)]),
             whet.randn(2, 4),
             weights())


def test_steps_with_other_numbers_stay():
    def f(h, w):
        for i in range(N):
            h = (h @ w) * (i + 0.5)
        return h
    unrolled(f, whet.randn(2, 4), weights())


def test_steps_that_end_in_another_shape_stay():
    def f(h):
        for _ in range(N):
            h = whet.cat([h, h[:1]]).softmax(0)
        return h
    unrolled(f, whet.randn(2))


def test_steps_that_write_stay():
    kept = whet.zeros(2, 4)

    def f(h, w):
        for _ in range(N):
            h = (h @ w).sin()
            kept.add_(h)
        return h, kept * 1
    t = jit.trace(f)
    h, w = whet.randn(2, 4), weights()
    for _ in range(3):
        kept.zero_()
        want = bits(f(h, w))
        kept.zero_()
        # with these passes the writes are values
        with pipeline.without("writes_to_values", "in_place_to_new"):
            assert bits(t(h, w)) == want
    assert " = roll " not in str(t.graph)


def test_steps_whose_results_are_returned_stay():
    def f(h, w):
        hs = []
        for _ in range(N):
            h = (h @ w).sin()
            hs.append(h)
        return hs
    unrolled(f, whet.randn(2, 4), weights())


def test_steps_that_read_here_and_there_stay():
    def f(h, w, xs):
        for i in range(N):
            h = cell(h, w, xs[i * i % N])
        return h
    unrolled(f, whet.randn(2, 4), weights(), whet.randn(N, 2, 4))


def test_steps_that_read_other_tensors_stay():
    many = [weights() for _ in range(N)]

    def f(h):
        for w in many:
            h = (h @ w).sin()
        return h
    unrolled(f, whet.randn(2, 4))


def test_steps_that_read_what_is_far_behind_stay():
    def f(h, w):
        hs = [h, h * 2, h * 3]
        for _ in range(N):
            hs.append((hs[-1] @ w).sin() + hs[-3])
        return hs[-1]
    t = jit.trace(f)
    h, w = whet.randn(2, 4), weights()
    for _ in range(3):
        assert bits(t(h, w)) == bits(f(h, w))


def test_rounds_with_guards_stay():
    def f(h, w):
        for _ in range(N):
            h = (h @ w).sin()
            if h.sum() > 1e6:
                h = h * 0
        return h
    t = jit.trace(f)
    h, w = whet.randn(2, 4), weights()
    for k in range(4):
        h, w = (h * whet.inf, w) if k == 2 else (h, w)
        assert bits(t(h, w)) == bits(f(h, w))
    assert " = roll " not in str(t.graph)


def test_a_random_program_of_steps():
    """Bodies of random operations on random choices of what came before: with loops the bits are
    those of without."""
    rng = np.random.default_rng(3)
    for _ in range(25):
        steps = [
            (rng.integers(6), rng.integers(4), rng.integers(4)) for _ in range(rng.integers(1, 6))]
        keep, rounds, late = rng.integers(3), int(rng.integers(9, 30)), rng.integers(2)

        def f(a, b, w, xs, steps=steps, keep=keep, rounds=rounds, late=late):
            out = []
            for i in range(rounds):
                c = xs[i]
                for what, j, k in steps:
                    p, q = (a, b, c, w)[j], (a, b, c, w)[k]
                    if what == 0:
                        a, b = (p @ q).tanh(), a
                    elif what == 1:
                        b = p * q + a
                    elif what == 2:
                        a = p.T.softmax(-1)
                    elif what == 3:
                        c = (p + q).sum(0, keepdim=True) * q
                    elif what == 4:
                        a = b.sin() - p
                    else:
                        b = p.clone() @ q.T
                out.append((a, b)[keep % 2])
            return (a, b, whet.stack(out[late:])) if keep else (a, b)
        args = [whet.randn(4, 4) for _ in range(3)] + [whet.randn(30, 4, 4)]
        t = jit.trace(f, verify="off")
        for _ in range(2):
            assert bits(t(*args)) == bits(f(*args)), steps


def along_rows():
    def f(h, w, xs):
        for x in xs.unbind():
            h = cell(h, w, x)
        return h
    args = whet.randn(2, 4), weights(), whet.randn(N, 2, 4)
    return rolled(f, *args), args


@pytest.mark.parametrize(
    "marked, change, says",
    [(" = carried ", lambda line: line.replace("f32[2,4]", "f32[4,2]"), "is f32"),
     (" = carried ", lambda line: line.replace(" = carried %", " = carried %99"),
      "before it is made"), (" = carried ", lambda line: line.rsplit(" %", 1)[0] + " %0 : f32[2,4]",
                             "of the round before"),
     (" = along ", lambda line: line.replace(" = along ", " = about "), "there is no op about"),
     (" last as ", lambda line: line.replace(" last as %", " last as %99"), "is not %"),
     (" last as ", lambda line: "", "not what its rounds give"),
     (" = roll ", lambda line: line.replace(" times", " time"), "expected 'times'")])
def test_a_loop_that_is_wrong_is_refused(marked, change, says):
    text = str(along_rows()[0].graph)
    line = next(x for x in text.splitlines() if marked in x)
    with pytest.raises((VerifyError, ParseError), match=says):
        verify(parse(text.replace(line, change(line), 1)))


def test_a_round_reads_nothing_outside_of_its_operand():
    t, args = along_rows()
    along = next(line for line in str(t.graph).splitlines() if " = along " in line)
    *_, step = along.split(" : ")[0].split()
    far = parse(str(t.graph).replace(along, along.replace(f" {step} :", " 1000000 :"), 1))
    with pytest.raises(Diverged, match="outside of its operand"):
        interpret(far, *[x._array for x in graph_inputs(t, args)])
