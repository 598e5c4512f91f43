"""Recordings for sizes that were never seen, made without a run: the bits of eager mode, and a run
where it takes one."""
import math
import random
import types

import pytest
import whet
import whet.nn.functional as F
from whet import jit
from whet.cpu import native, tiered_compilation
from whet.ir.symbolic_size import Unsized
from whet.jit.policy import account, many_sizes, pause
from whet.jit.program.programs_of_sizes import ProgramOfSizes
from whet.jit.replay import families
from whet.jit.replay.sized_calls import SizedCall
from whet.jit.tables import sized_table

from .ledgers import unrun


@pytest.fixture(autouse=True, params=["a table for each size", "a table for all sizes"])
def form(request, monkeypatch):
    """All recordings are worth while; the two forms in which sizes that no run had are served."""
    monkeypatch.setattr(account, "GRACE", math.inf)
    monkeypatch.setattr(many_sizes, "SOUNDING", 1 << 30)
    if request.param == "a table for each size":
        monkeypatch.setattr(sized_table, "sized", lambda *_: None)
    return request.param


def a_family(f):
    """The family of a traced function."""
    return next(r.sizes.family for r in f._calls.policy.held if r.sizes.family)


W, B = whet.linspace(-1, 1, 24 * 16).reshape(24, 16), whet.linspace(0, 1, 24)
NORM = whet.nn.LayerNorm(16)


@whet.no_grad()
def attention(x):
    return (x @ x.t() * 0.25).softmax(-1) @ x


@whet.no_grad()
def perceptron(x):
    return F.gelu(F.linear(NORM(x), W, B)).log_softmax(-1)


@whet.no_grad()
def joined(x):
    y = whet.cat([x, x * 2], 0)
    return y, y[:7].sum(0), y.t() * 2, x[:9] + 1, x[0]


@whet.no_grad()
def reduced(x):
    return x.sum(), x.mean(0), x.amax(1), (x - x.mean()).abs().max(0)[0]


@whet.no_grad()
def gathered(x):
    index = (x[:, 0] * 0).long()
    return whet.zeros_like(x).index_add(0, index, x * 2), x[index] + 1


@whet.no_grad()
def moved(x):
    return (
        x.view(-1, 4, 4).transpose(0, 1).reshape(4, -1),
        whet.zeros_like(x) + x,
        x.unsqueeze(0).expand(3, -1, -1) * 2,
    )


@whet.no_grad()
def halves(x):
    a, *b = x.split(4)
    return a * 2, [y + 1 for y in b]


def tensors(out):
    return [t for x in out for t in tensors(x)] if isinstance(out, tuple | list) else [out]


def same(a, b):
    a, b = tensors(a), tensors(b)
    assert len(a) == len(b)
    for x, y in zip(a, b):
        assert (x.shape, x.stride(), x.dtype) == (y.shape, y.stride(), y.dtype)
        assert x.numpy().tobytes() == y.numpy().tobytes()


EDGES = [2, 3, 4, 7, 8, 9, 12, 13, 15, 16, 17, 28, 29, 31, 32, 33, 47, 48, 63, 64,
         65, 100, 127, 128, 129, 300, 1000, 1, 2049]


@pytest.mark.parametrize("fn", [attention, perceptron, reduced, gathered])
def test_what_is_planned_again_is_what_would_be_planned_afresh(fn):
    f = jit.trace(fn)
    # a kernel compiled in haste has another address later
    with tiered_compilation.form("full"):
        f(whet.randn(20, 16)), f(whet.randn(21, 16))
        family = a_family(f)
        assert sum(is_planned_alike(family, n) for n in EDGES if n > 1) > 5


def is_planned_alike(family, n):
    """Is a plan for n rows what it would be from scratch? False where it is not planned again."""
    try:
        if not family.plans[0].replan([n]):
            return False
    except Unsized:
        return False
    afresh = SizedCall(family.first, family.other, family.sizes, [n], family.steady)
    afresh.finish()
    mine, other = (ProgramOfSizes(call.forward) for call in (family.plans[0], afresh))
    served = [k for k in (*range(2, 200), n) if mine.numbers([k]) is not None]
    assert n in served
    assert served == [k for k in (*range(2, 200), n) if other.numbers([k]) is not None]
    for k in served:
        assert mine.numbers([k]) == other.numbers([k])
    return True


def test_what_kernels_of_the_forward_ask_does_not_bind_the_backward():
    """Their questions are no conditions of types: one plan is planned again for all sizes."""
    w = whet.randn(16, 48, requires_grad=True)
    f = jit.trace(lambda x: (x @ w).tanh() @ w.t())
    with tiered_compilation.form("full"):
        for n in (20, 21):
            f(whet.randn(n, 16)).sum().backward()
        family = a_family(f)
        assert len(family.plans[0].programs) > 1
        assert [n for n in EDGES if n > 1 and not is_planned_alike(family, n)] == []


def test_kernels_that_a_plan_lacks_are_compiled_with_later_calls(form, monkeypatch):
    # its kernels are in no cache
    monkeypatch.setattr(native, "at_hand", lambda key: key in native._found)
    monkeypatch.setattr(pause, "WASTED", math.inf)    # each call is asked what it is
    change = whet.Tensor.tanh if "all" in form else whet.Tensor.sigmoid

    @whet.no_grad()
    def fn(x):
        return change(x @ x.t()).softmax(-1).cos() @ x
    f = jit.trace(fn)
    for n in (20, 21, 22):
        f(whet.randn(n, 16))
    policy = f._calls.policy
    with monkeypatch.context() as poor:
        poor.setattr(type(policy), "affords_kernel", lambda self, seconds: False)
        x = whet.randn(100, 16)
        same(f(x), fn(x))
        assert policy.summary().compiling and f._calls.recordings.order and not unrun(f)
    for _ in range(3):
        same(f(x), fn(x))
    assert unrun(f) and not f._calls.recordings.order


@pytest.mark.parametrize("first", [(20, 21), (3, 300)])
@pytest.mark.parametrize("fn", [attention, perceptron, joined, reduced, gathered, moved])
def test_each_size_gives_what_eager_gives(fn, first):
    f = jit.trace(fn)
    sizes = [*first, *random.Random(0).sample(EDGES, len(EDGES))]
    for n in sizes + sizes[:9]:
        x = whet.randn(n, 16)
        same(f(x), fn(x))
    ledger = f._calls.policy.summary()
    if first == (20, 21) or fn not in (joined, moved):       # at 3 a slice of 9 is another one
        assert (
            unrun(f) > len(sizes) // 2 and ledger.recorded + ledger.resized <= len(sizes) // 3
        ), ledger


def test_a_plan_is_used_after_one_for_sizes_where_its_numbers_are_none():
    """A plan may divide by what is zero at sizes of another plan."""
    fn = jit.trace(lambda x: x.roll(5, 0))
    for n in [11, 257, 5, 129] * 3:
        same(fn(x := whet.randn(n, 16)), x.roll(5, 0))
    assert unrun(fn)


def test_a_library_function_that_looks_at_sizes_is_run():
    f = jit.trace(halves)
    for n in (3, 4, 8, 9, 20, 5):
        x = whet.randn(n, 16)
        for _ in range(2):
            same(f(x), halves(x))
    assert unrun(f) == 0


def test_a_function_that_is_told_what_is_no_guard_is_run():
    @whet.no_grad()
    def fn(x):
        if x.nbytes > 800:
            x = x * 2
        return x + 1
    f = jit.trace(fn)
    for n in (20, 30, 40, 60, 45, 70):
        x = whet.randn(n, 4)
        same(f(x), fn(x))
    assert unrun(f) == 0


def test_what_python_decides_by_a_size_is_a_guard():
    @whet.no_grad()
    def fn(x):
        if x.shape[0] > 50:
            x = x * 2
        return x + 1
    f = jit.trace(fn)
    for n in (20, 30, 60, 70, 45, 80, 50, 51, 3, 300):
        x = whet.randn(n, 4)
        same(f(x), fn(x))
    assert unrun(f) == 6


@pytest.mark.parametrize("form", ["a table for each size"], indirect=True)
def test_a_recording_that_was_made_without_a_run_is_compared_later(form):
    f = jit.trace(attention)
    for n in (20, 30, 31, 33):
        f(whet.randn(n, 16))
    r, = f._calls.recordings.by_key[f._calls.learned.key((whet.randn(33, 16),), {})[0]]
    assert r.unseen
    r.checks.at = 0
    r.limit()
    x = whet.randn(33, 16)
    same(f(x), attention(x))
    r, = f._calls.recordings.by_key[f._calls.learned.key((x,), {})[0]]
    assert not r.unseen and f._calls.policy.ledger.checked == 1


def test_a_wrong_plan_is_not_used(monkeypatch):
    evaluate = ProgramOfSizes.program

    def wrong(self, values, recorded=None):
        p = evaluate(self, values, recorded)
        p.keep[0][1] -= 1                    # one unit of work less
        return p
    monkeypatch.setattr(ProgramOfSizes, "program", wrong)
    f = jit.trace(perceptron)
    for n in (20, 30, 40, 50):
        x = whet.randn(n, 16)
        same(f(x), perceptron(x))
    among = [r.sizes for rs in f._calls.recordings.models.values() for r in rs]
    assert unrun(f) == 0 and [s.is_alone for s in among if s.is_alone or s.family] == [True]


def test_a_part_that_is_not_there_is_an_error_as_in_eager_mode():
    for fn in (lambda x: x[6] * 2, lambda x: x.narrow(0, 2, 8) + 1, lambda x: x.select(0, 5).exp()):
        f = jit.trace(whet.no_grad()(fn))
        for n in (20, 30, 31, 40):
            same(f(whet.ones(n, 4)), fn(whet.ones(n, 4)))
        assert unrun(f)
        with pytest.raises((IndexError, RuntimeError)):
            f(whet.ones(4, 4))


def test_what_is_cut_to_size_is_run():
    @whet.no_grad()
    def fn(x):
        return x[:8] * 2, x[-2:] + 1
    f = jit.trace(fn)
    for n in (5, 7, 6, 9, 12, 8):
        x = whet.randn(n, 4)
        same(f(x), fn(x))


def test_sizes_that_differ_apart_have_a_symbol_each():
    @whet.no_grad()
    def fn(q, k):
        return (q @ k.t()).softmax(-1) @ k
    f = jit.trace(fn)
    rng = random.Random(1)
    for n, m in [
        (20, 30),
        (21, 33),
        *[(rng.randrange(2, 90), rng.randrange(2, 90)) for _ in range(40)],
        (50, 50),
        (51, 51),
    ]:
        q, k = whet.randn(n, 8), whet.randn(m, 8)
        same(f(q, k), fn(q, k))
    assert unrun(f)


def test_weights_that_are_written_to_are_packed_again_for_all_sizes():
    w = whet.randn(40, 16)

    @whet.no_grad()
    def fn(x):
        return F.linear(x, w)
    f = jit.trace(fn)
    for n in (50, 60, 70, 80, 70, 80, 90):
        x = whet.randn(n, 16)
        same(f(x), fn(x))
        w.mul_(0.5)
        same(f(x), fn(x))
    assert unrun(f) >= 2


def test_what_cannot_be_planned_says_why():
    f = jit.trace(lambda x: whet.linalg.eigvals(x @ x.mT).abs() * 2)
    for n in (20, 30, 40):
        x = whet.randn(n, 4)
        same(f(x), whet.linalg.eigvals(x @ x.mT).abs() * 2)
    among = [r.sizes for rs in f._calls.recordings.models.values() for r in rs]
    assert any(s.is_alone and "eig may" in s.unsized for s in among)
    assert not any(families.serves(r) for rs in f._calls.recordings.models.values() for r in rs)


def test_explain_of_a_program_for_sizes_that_never_ran():
    """Its graphs are those of the run that was recorded: types and attributes of one size."""
    def f(x, y):
        x = whet.cat([x - x.sum(-1, keepdim=True), y], 1)[:, :16]
        return x - x.mean(0, keepdim=True)
    t = jit.trace(f)
    for n in (9, 149, 237, 50):
        t(whet.ones(n, 16), whet.ones(n, 16))
    assert t.explain(data=True)["paths"]


# ---- sizes that Python is told -------------------------------------------------------------------
PLACES, LOWER = whet.linspace(-2, 2, 400 * 16).reshape(400, 16), whet.ones(400, 400).tril() == 0


def heads(x):
    n, width = x.shape
    q, k = x.view(n, 2, width // 2).transpose(0, 1), (x * 2).view(n, 2, -1).transpose(0, 1)
    scores = (q @ k.transpose(-1, -2) / math.sqrt(width)).masked_fill(LOWER[:n, :n], -math.inf)
    return (scores.softmax(-1) @ k).transpose(0, 1).reshape(x.shape) + PLACES[:n]


def counted(x):
    steps = whet.arange(x.shape[0])
    return PLACES[steps] + x / x.shape[0], x.sum(0) * x.size(0) ** -0.5, x.numel() * x


def padded(x):
    more = -x.shape[0] % 8
    return F.pad(x, (0, 0, 0, more)), whet.cat([x, whet.zeros(8 - x.shape[0] % 8, 16)])


def longer(x):
    return F.pad(x, (1, 0, 2, 0)), whet.cat([x, whet.zeros(x.shape[0] + 3, 16)])


def ends(x):
    n = x.shape[0]
    return x[n - 1], x[n // 2:].sum(0), x[-min(n, 10):] * 2, x[max(n - 4, 0)] + 1


def made_as_large(x):
    n = x.shape[0]
    return x + whet.zeros(x.shape), x.new_zeros(n, 1) + x, whet.full((n, 2), 0.5), x.expand(x.shape)


def by_a_length(x):
    return x * len(x), [x.sum() * k for k in range(min(x.shape[0], 3))]


def by_data(x):
    return x * 2 if x.sum() > -1e9 else x - 1, x.mean().item() * 0.0 + x


TOLD = [heads, counted, padded, longer, ends, made_as_large, by_a_length, by_data]


@pytest.mark.parametrize("first", [(20, 21), (8, 16, 24), (2, 3)])
@pytest.mark.parametrize("fn", TOLD)
def test_sizes_that_python_is_told(fn, first):
    f = jit.trace(whet.no_grad()(fn))
    for n in [*first, *random.Random(1).sample([n for n in EDGES if n <= 300], 20)]:
        x = whet.randn(n, 16)
        same(f(x), fn(x))
    if fn not in (by_a_length, padded):
        assert unrun(f) >= 4


def halves_of_eight(x):
    n = x.shape[0]
    return (x * (n / 8)).sum(0) + (x * math.ceil(n / 8)).amax(0), n / 8, float(math.ceil(n / 8))


@pytest.mark.parametrize("fn", [
    halves_of_eight,
    lambda x: (x * (x.shape[0] // 8) + x * -(-x.shape[0] // 8),),
    lambda x: (x * 2, math.sqrt(x.shape[0]) + math.ceil(x.shape[0] / 8))])
def test_numbers_that_were_equal_of_the_first_sizes_are_told_apart(fn):
    """Of multiples of 8, an eighth and an eighth rounded up are one number to all passes."""
    f = jit.trace(whet.no_grad()(fn))
    for n in (48, 256, 72, 128, 15, 70, 33, 41, 40, 80, 81):
        x = whet.randn(n, 16)
        (got, *numbers), (want, *others) = f(x), fn(x)
        same(got, want)
        assert numbers == others


def test_a_size_that_two_runs_do_not_tell_from_another_is_computed_anew():
    """Of multiples of 64 a size rounded up is the size."""
    def fn(x):
        up = -(-x.shape[0] // 64) * 64
        return whet.zeros(up, 2), whet.arange(up)[:x.shape[0]] * 2, PLACES[:up]
    f = jit.trace(fn)
    for n in (64, 128, 192, 70, 65, 3, 130, 256):
        same(f(whet.ones(n, 16)), fn(whet.ones(n, 16)))
    assert not f._calls.policy.summary().failed


def test_an_error_about_a_told_size_is_eagers():
    f = jit.trace(
        lambda x: (whet.zeros(x.shape[0] - 10), x.view(2, -1), whet.arange(40 - x.shape[0])))
    for n in (20, 22, 24):
        same(f(whet.ones(n, 4)), f.fn(whet.ones(n, 4)))
    for n, words in ((8, "negative"), (50, "inconsistent")):
        for call in (f, f.fn):
            with pytest.raises(RuntimeError, match=words):
                call(whet.ones(n, 4))


def test_what_only_one_size_does_besides_is_done(capsys):
    seen = []

    def fn(x):
        if x.shape[0] > 50:
            seen.append(x.shape[0])
        return x.view(x.shape[0], 2, 2) * 2
    f = jit.trace(fn)
    for n in (20, 30, 40, 60, 45, 70, 44):
        same(f(whet.ones(n, 4)), whet.ones(n, 2, 2) * 2)
    assert seen == [60, 70]


def test_a_told_size_that_is_kept_is_the_size_of_the_call():
    kept = []

    class Box:
        size = 0

    box = Box()

    def fn(x):
        box.size = x.shape[0]
        return x * 2, x.shape[0] + 1, x.shape
    f = jit.trace(fn)
    for n in (20, 30, 40, 60, 45, 70, 44):
        out, more, shape = f(whet.ones(n, 4))
        assert (box.size, more, shape) == (n, n + 1, (n, 4))
        assert {type(v) for v in (box.size, more, *shape)} == {int} and type(shape) is whet.Size
    assert not kept


@pytest.mark.parametrize("fn", [
    lambda x: (x.nbytes, x * 2), lambda x: (str(x.nbytes), x * 2),
    lambda x: (2 ** x.shape[0], x * 2)])
def test_calls_of_a_size_that_was_run_give_that_sizes_numbers(fn):
    """The lists of launches of several runs are one plan's; what they give besides is not."""
    f = jit.trace(fn)
    for n in (3, 5, 4, 8, 6, 6, 8, 6, 4):
        told, doubled = f(whet.ones(n, 4))
        assert told == fn(whet.ones(n, 4))[0] and doubled.shape == (n, 4)


@pytest.mark.parametrize("fn", [
    lambda x: x * (2 if type(x.shape[0]) is int else 3),
    lambda x: x * {int: 2, float: 3}.get(type(x.size(0)), 5),
    lambda x: x * len([n for n in map(type, x.shape) if n is int]),
    lambda x: x * type(x.numel())(2.5)])
def test_a_told_size_is_an_int_from_the_first_call_on(fn):
    f = jit.trace(fn)
    for n in (3, 3, 5, 6, 7):
        same(f(whet.ones(n, 4)), whet.ones(n, 4) * 2)


def test_what_a_told_size_lies_in_is_given_back_once():
    def fn(x):
        part, pair = slice(0, x.shape[0]), (x.shape[0], 1)
        return part, (part,), pair, [pair]
    f = jit.trace(fn)
    for n in (3, 3, 4, 5, 6):
        part, (other,), pair, (same_pair,) = f(whet.ones(n))
        assert part is other and pair is same_pair and (part, pair) == (slice(0, n), (n, 1))


def test_threads_that_replay_one_family_at_other_sizes():
    import threading
    table, rounds = whet.randn(50, 16), 60

    @whet.no_grad()
    def fn(x, index):
        return (F.linear(x, W) + table[index].sum(-1, keepdim=True)).softmax(-1)
    f = jit.trace(fn)
    sizes = [20, 21, *range(30, 62)]
    for n in sizes:
        f(whet.randn(n, 16), whet.randint(50, (n,)))
    wrong = []

    def work(seed):
        rng, g = random.Random(seed), whet.Generator().manual_seed(seed)
        for _ in range(rounds):
            n = rng.choice(sizes)
            x, bad = whet.randn(n, 16, generator=g), rng.random() < 0.2
            index = whet.randint(50, (n,), generator=g)
            index[0] = 70 if bad else 0
            try:
                got = f(x, index).numpy().tobytes()
            except IndexError:
                got = None
            if got != (None if bad else fn(x, index).numpy().tobytes()):
                wrong.append((n, bad, got is None))
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and unrun(f) >= 20


def test_a_tensor_outside_of_another_type_is_no_matter_of_sizes():
    """The plan for all positions is for a table of floats: a run with another table is like the
    recorded ones in all but that."""
    state = types.SimpleNamespace(table=whet.zeros(40, 2))

    @jit.trace(verify="off")
    def f(i, x):
        state.table[i] = x + 1
        return state.table[:i].sum()
    for table in (state.table, state.table.double(), state.table.T.contiguous().T):
        state.table = table
        for i in range(2, 12):
            assert f(i, whet.ones(2)).item() == table[:i].sum().item()
            assert table[i].tolist() == [2, 2]


def test_an_op_of_one_size_is_no_hindrance():
    """Sampling asks of its sizes what it likes, where these are the same at each position."""
    table, logits = whet.zeros(40, 2), whet.zeros(2, 3)

    @jit.trace
    def f(i):
        table[i] = whet.multinomial(whet.softmax(logits, -1), 1).flatten().float()
        return table[i].clone().numpy()
    for i in range(2, 30):
        f(i)
    assert unrun(f) > 10


def test_a_text_that_grows_by_cat():
    """Sizes from 1 on, the last of them cut off, in a function that a decorator of ours calls."""
    weight = whet.linspace(-1, 1, 12 * 12).reshape(12, 12)

    def grown(ids, temperature=1.0, most=8):
        seen = ids if ids.size(1) <= most else ids[:, -most:]
        logits = weight[seen].sum(1) / temperature
        return whet.cat((ids, whet.argmax(logits, dim=-1, keepdim=True)), dim=1)
    f = jit.trace(whet.no_grad()(grown))
    ids = whet.tensor([[1], [5]])
    for _ in range(60):
        now = f(ids, temperature=0.9, most=8)
        assert now.tolist() == grown(ids, 0.9, 8).tolist()
        ids = now
    assert unrun(f)


@pytest.mark.parametrize("step", [1, 2, 3, 4, 5, 9])
def test_elements_that_lie_near_each_other_at_some_sizes(step):
    """How near is a part of a kernel's name: a plan for a step that is unknown asks which."""
    @jit.trace
    def f(x):
        return x[:, :1] * 2, x.t()[1:].clone()
    for n in (*range(step + 1, step + 12), 3, 2, 7):
        x = whet.arange(3 * n).reshape(3, n).float()
        same(f(x), (x[:, :1] * 2, x.t()[1:].clone()))
