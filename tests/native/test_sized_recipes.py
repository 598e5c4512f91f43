"""Calls of ops with sizes that nobody has seen, by recipes that machine code gives these sizes: the
same bits, histories and errors as without."""
import gc
import sys
import threading
import weakref

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet.cpu import repeated_calls, sized_recipes
from whet.ops.pointwise_family import PointwiseOp
from whet.ops.registry import REGISTRY
from whet.passes.lower_llvm.calls import op_layouts as L
from whet.passes.lower_llvm.calls import size_code

from tests.ops.test_ops import TESTED, Make, domains

pytestmark = pytest.mark.skipif(sized_recipes.resized is None,
                                reason="there is no machine code for calls")
STEPS = 14                       # sizes in turn


@pytest.fixture(autouse=True)
def nothing_known():
    repeated_calls.forget()
    yield
    repeated_calls.forget()


@pytest.fixture
def counted(monkeypatch):
    """How many recipes for many sizes were made."""
    made = []
    insert = repeated_calls._insert_sized

    def listened(op, *rest):
        made.append(op.name)
        insert(op, *rest)
    monkeypatch.setattr(repeated_calls, "_insert_sized", listened)
    return made


@pytest.fixture
def by_python(monkeypatch):
    """The names of ops whose calls Python makes."""
    came, first = [], repeated_calls.first

    def listened(op, inputs, attrs):
        came.append(op.name)
        return first(op, inputs, attrs)
    repeated_calls.declined(listened)
    yield came
    repeated_calls.declined(first)


def without_recipes(monkeypatch):
    monkeypatch.setattr(sized_recipes, "SEEN", 1 << 40)
    repeated_calls.forget()


def grown(x, step):
    """A size, or whatever has some, that is larger by a few where it is more than one."""
    if isinstance(x, int) and not isinstance(x, bool):
        return x + step if x > 1 else x
    return tuple(grown(n, step) for n in x) if isinstance(x, tuple) else x


class Grow(Make):
    """Makes tensors of grown sizes."""

    def __init__(self, step, dtype):
        super().__init__(step, dtype, grad=False)
        self.step = step

    def __call__(self, *shape, **kwargs):
        return super().__call__(*grown(shape, self.step), **kwargs)


def calls(op, step, dtype):
    """The op's samples with other sizes; of most ops some are calls that raise."""
    make = Grow(step, dtype)
    if isinstance(op, PointwiseOp):
        for shape in ((3,), (4, 5), (2, 1, 6)):
            yield [make(*shape, low=max(d.low, -100), high=min(d.high, 100),
                        dtype={"f": dtype, "i": whet.int64, "b": whet.bool}[d.kind])
                   for d in domains(op)], {}
        return
    try:
        samples = list(op.samples(make))
    except RuntimeError:                     # what makes them wants the sizes that it asked for
        samples = []
    for s in samples:
        sizes = {k: grown(v, step) if k in op.size_attrs else v for k, v in s.kwargs.items()}
        yield s.args, sizes


def outcome(op, args, kwargs):
    """A call's results as bits, or the type of its error."""
    try:
        made = op(*args, **kwargs)
    except (RuntimeError, ValueError, IndexError, TypeError) as e:
        return type(e).__name__
    found = made if isinstance(made, tuple) else (made,)
    return [(t.shape, t.stride(), t.dtype, t._array.tobytes()) for t in found]


# they trust who calls them that sizes fit
TRUSTING = {"alignments", "alignments_backward", "sparse_row_sums", "unfold_sum", "unslice"}
SIZED = [n for n in TESTED if REGISTRY[n].any_sizes and REGISTRY[n].family != "window"
         and n not in TRUSTING]


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", SIZED)
def test_every_op_has_the_bits_that_it_has_without(name, monkeypatch):
    op = REGISTRY[name]
    dtype = whet.float32 if not isinstance(op, PointwiseOp) or 2 in op.kinds else whet.int64
    given = [c for step in range(STEPS) for c in calls(op, step, dtype)]
    got = [outcome(op, *c) for c in given]
    without_recipes(monkeypatch)
    for mine, c in zip(got, given, strict=True):
        assert mine == outcome(op, *c), c


W, B = whet.linspace(-1, 1, 24 * 16).reshape(24, 16), whet.linspace(0, 1, 24)
TABLE = whet.linspace(-1, 1, 30 * 16).reshape(30, 16)
FUNCTIONS = {
    "pointwise": lambda x: (x * 2 + 1).relu() * x.exp(),
    "with numbers": lambda x: x.clamp(-0.5, 0.5) + 3,
    "broadcast": lambda x: x + B[:16],
    "reduced": lambda x: (x.sum(), x.mean(-1), x.amax(0), x.argmax(-1)),
    "rows": lambda x: (x.softmax(-1), x.log_softmax(0), F.layer_norm(x, (16,))),
    "products": lambda x: (F.linear(x, W, B), x @ x.t(), x.t() @ x),
    "moved": lambda x: (whet.cat([x, x]), whet.stack([x, x], 1), x.t().contiguous(), x.flip(0)),
    "views": lambda x: (x.unsqueeze(1) + 1, x.reshape(-1) * 2, x[None].expand(3, -1, -1) + 0,
                        x.reshape(len(x), 4, 4).transpose(0, 1).reshape(-1, 4)),
    "parts": lambda x: sum(x.chunk(4, 1)),
    "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
    "picked": lambda x: TABLE[whet.arange(len(x)) % 30] + x,
    "half": lambda x: x.half() @ x.half().t(),
    "complex": lambda x: (x + 1j * x).exp(),
}


def bits(made):
    return [t._array.tobytes() for t in (made if isinstance(made, tuple) else (made,))]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("lie", ["dense", "part", "turned"])
def test_functions_over_sizes(name, lie, monkeypatch, counted):
    """Sizes at random, with empty ones and those of one element among them, of tensors that lie
    densely, have gaps, or are transposed."""
    fn, rng = FUNCTIONS[name], np.random.default_rng(len(name))
    sizes = [int(n) for n in rng.permutation(np.r_[0:40, 60:70, 127:130, 511:514])]

    def operand(n):
        wide = whet.tensor(np.random.default_rng(n).standard_normal((n + 1, 20)).astype("f4"))
        x = wide[:n, :16]
        return {"dense": x.contiguous(), "part": x, "turned": x.t().contiguous().t()}[lie]
    given = [operand(n) for n in sizes if n > 1 or name not in ("reduced", "parts")]
    got = [bits(fn(x)) for x in given]
    assert counted
    without_recipes(monkeypatch)
    assert got == [bits(fn(x)) for x in given]


def test_new_sizes_enter_no_python(by_python):
    def fn(n):
        x = whet.ones(n, 16)
        return F.layer_norm((F.linear(x, W, B)[:, :16] * 2 + x).softmax(-1), (16,)).sum()
    for n in range(40, 60):
        fn(n)
    by_python.clear()
    for n in range(60, 80):
        fn(n)
    assert not {*by_python} & {"linear", "mul", "add", "softmax", "layer_norm", "sum"}


def test_products_that_go_many_ways_by_their_sizes_enter_no_python(by_python):
    """A recipe holds for a range of sizes. It is planned with the nearest size that came before, so
    that it holds for the call that asks, too."""
    w, rng = whet.randn(128, 64), np.random.default_rng(0)

    def products(n):
        with whet.no_grad():
            h = whet.ones(4, n, 128) @ w
            return h.mT @ h, h @ h.mT, h.reshape(-1, 64).mT @ h.reshape(-1, 64)
    sizes = rng.permutation(np.arange(5, 305))
    for n in sizes[:150]:
        products(int(n))
    by_python.clear()
    for n in sizes[150:]:
        products(int(n))
    assert len([name for name in by_python if name == "matmul"]) < 30


@pytest.mark.parametrize("copied", [
    lambda x: x.transpose(1, 3).contiguous(), lambda x: x[:, :1].expand_as(x).contiguous(),
    lambda x: x.contiguous(memory_format=whet.channels_last), lambda x: x[..., 1:].contiguous(),
    lambda x: x.flip(0).mT.clone(memory_format=whet.contiguous_format)])
def test_copies_into_another_order_enter_no_python(copied, by_python, monkeypatch):
    """Neither of sizes that were there before, nor of new ones."""
    def made(x):
        y = copied(x)
        return bits(y), y.stride()
    given = [whet.randn(3, 4, n, 5) for n in (*[6] * 5, *range(40, 70), 6)]
    got = [made(x) for x in given[:-6]]
    by_python.clear()
    got += [made(x) for x in given[-6:]]
    assert "clone_format" not in by_python
    without_recipes(monkeypatch)
    assert got == [made(x) for x in given]


@pytest.mark.parametrize("parts", [
    lambda x: x.unfold(-1, 8, 3), lambda x: x.unfold(-1, 3, 4), lambda x: x.unfold(1, 2, 1),
    lambda x: F.pad(x, (2, 3), mode="reflect"), lambda x: F.pad(x, (2, 3), mode="circular"),
    lambda x: F.pad(x, (2, -3), mode="replicate"),
    lambda x: whet.stft(x[0], 16, 5, window=whet.ones(16), return_complex=True).abs()])
def test_gradients_of_overlapping_parts_enter_no_python(parts, by_python, monkeypatch):
    def gradient(x):
        y = parts(x)
        return bits(whet.autograd.grad(y, x, whet.linspace(0, 1, y.numel()).reshape(y.shape)))
    given = [whet.randn(2, 3, n, requires_grad=True) for n in (*[16] * 5, *range(40, 70), 16)]
    got = [gradient(x) for x in given[:-1]]
    by_python.clear()
    got.append(gradient(given[-1]))
    assert not {*by_python} & {"unfold_sum", "unpad_by_index", "fft_c2r"}
    without_recipes(monkeypatch)
    assert got == [gradient(x) for x in given]


def test_gradients_and_what_a_backward_asks_of_shapes(by_python):
    """Inputs that no gradient reads are known to a backward by shape alone."""
    w = whet.linspace(-1, 1, 16 * 24).reshape(16, 24).requires_grad_()
    for n in range(40, 64):
        x = whet.linspace(-1, 1, n * 16).reshape(n, 16).requires_grad_()
        by_python.clear()
        loss = ((x @ w).softmax(-1) + x.mean()).square().mean()
        gx, gw = whet.autograd.grad(loss, (x, w))
        a, b = (t.detach().double().requires_grad_() for t in (x, w))
        ex, ew = whet.autograd.grad(((a @ b).softmax(-1) + a.mean()).square().mean(), (a, b))
        for got, expected in ((gx, ex), (gw, ew)):
            assert whet.allclose(got.double(), expected, 1e-3, 1e-6)
    assert not {*by_python} & {"matmul", "softmax", "add", "mean", "square", "expand"}


def test_writes_in_place():
    for n in range(40, 64):
        x = whet.zeros(n, 3)
        x += 1
        x.mul_(3).add_(x)
        assert x.tolist() == [[6.0] * 3] * n and x._version == 3


def test_errors_are_those_of_python():
    expand = REGISTRY["expand"]
    for n in range(40, 60):
        x = whet.ones(n, 16)
        assert (x @ x.t()).shape == (n, n) and expand(x[None], size=(3, n, 16)).shape == (3, n, 16)
        whet.index_select(x, 0, whet.tensor([n - 1]))
    for n in range(60, 64):
        x = whet.ones(n, 16)
        with pytest.raises(RuntimeError, match=f"{n}"):
            x @ x
        with pytest.raises(IndexError):
            whet.index_select(x, 0, whet.tensor([n]))
        with pytest.raises((RuntimeError, ValueError)):
            expand(x[None], size=(3, n + 1, 16))


def test_what_is_in_use_is_nobody_elses():
    """A call that comes while another works with a recipe's words is made without it."""
    for n in range(40, 60):
        whet.ones(n, 16) + 1
    blocks = [block for block, *_ in repeated_calls._recipes if block[L.R["code"] // 8]]
    assert blocks
    for block in blocks:
        block[L.R["busy"] // 8] = 1
    before = [bytes(block) for block in blocks]
    for n in (59, 71):                       # the sizes that the words are of, and others
        assert (whet.ones(n, 16) + 1).tolist() == [[2.0] * 16] * n
    assert before == [bytes(block) for block in blocks]


def test_threads_with_other_sizes():
    """Some calls are several launches, between which other threads run."""
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for n in rng.integers(17000, 40000, 60):
            x = whet.full((int(n), 64), 0.5)
            y = (x * 2 + 1).sum(-1)
            if y.shape != (n,) or y[0].item() != 128 or x.sum().item() != 32 * n:
                wrong.append(n)
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_recipes_own_the_tables_that_they_look_up(monkeypatch):
    """Kinds of calls may be forgotten before the recipes that were made for them."""
    tables, begin = [], size_code.Lookup.__init__

    def listened(self, *args):
        tables.append(weakref.ref(self))
        begin(self, *args)
    monkeypatch.setattr(size_code.Lookup, "__init__", listened)

    def sums():
        for n in range(1, 40):
            for m in range(1, 30):
                assert (whet.ones(n, m) * 2).sum(0).tolist() == [2 * n] * m
    sums()
    assert tables
    sized_recipes.forget()
    gc.collect()
    assert None not in [table() for table in tables]
    sums()
    repeated_calls.forget()
    gc.collect()
    assert {table() for table in tables} == {None}


def test_strides_that_no_size_tells(monkeypatch, counted):
    """Parts of tensors of several widths."""
    given = [whet.linspace(0, 1, n * w, dtype=whet.float64).reshape(n, w)[:, 1:17]
             for n, w in zip(range(40, 80), range(90, 20, -1))]

    def fn(x):
        return x * 2, x.sum(-1), x.exp() + x, x.reshape(-1)
    got = [bits(fn(x)) for x in given]
    assert {"mul", "sum", "exp"} <= {*counted}
    without_recipes(monkeypatch)
    assert got == [bits(fn(x)) for x in given]


def test_a_recipe_with_other_words_than_a_call_has_is_not_kept(monkeypatch, counted):
    recipe = sized_recipes.recipe_words.recipe

    def altered(op, kinds, arrays, made, tape, *reader):
        found = recipe(op, kinds, arrays, made, tape, *reader)
        if reader:
            found.words[-1] += 1
        return found
    monkeypatch.setattr(sized_recipes.recipe_words, "recipe", altered)
    for n in range(40, 80):
        assert (whet.ones(n, 16) * 3).tolist() == [[3.0] * 16] * n
    assert not counted


def test_calls_of_several_places():
    """The same op on tensors of several widths: one recipe for them, or one each."""
    for n in range(40, 60):
        for width in (16, 48, 96):
            x = whet.linspace(0, 1, n * width).reshape(n, width)
            assert x.sum(0).tolist() == [x[:, k].contiguous().sum().item() for k in range(width)] \
                or np.allclose(x.sum(0).numpy(), x.numpy().sum(0), 1e-4)


@pytest.mark.parametrize("setting", ["threads", "default type"])
def test_recipes_are_forgotten_while_others_are_made(setting):
    """By settings of another thread, between any two steps of this one."""
    before, switch, wrong = whet.get_num_threads(), sys.getswitchinterval(), []

    def work():
        for n in range(1, 60):
            for m in range(1, 60):
                x = whet.ones(n, m)
                if (x + x).sum(0)[0].item() != 2 * n:
                    wrong.append((n, m))
    thread = threading.Thread(target=work)
    sys.setswitchinterval(1e-5)
    try:
        thread.start()
        while thread.is_alive():
            if setting == "threads":
                whet.set_num_threads(1)
                whet.set_num_threads(2)
            else:
                whet.set_default_dtype(whet.float32)
        thread.join()
    finally:
        sys.setswitchinterval(switch)
        whet.set_num_threads(before)
    assert not wrong


def test_recipes_are_forgotten_by_what_a_call_sets_free():
    """The garbage collector may come to objects whose ends are Python, in the midst of a call."""
    class Ends:
        def __init__(self):
            self.me = self

        def __del__(self):
            repeated_calls.forget()
            whet.ones(5, 3) + whet.ones(5, 3)
    w = whet.ones(7, 7, requires_grad=True)
    for n in range(2, 300):
        Ends()
        x = whet.ones(n, 7)
        assert ((x @ w).relu() + x.mean()).sum().item() == n * 56
