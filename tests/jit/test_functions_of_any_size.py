"""What people compute of sizes is replayed at sizes that no run had, with eager's bits."""
import math

import pytest
import whet
from whet import jit
from whet.ir.graph import OpNode
from whet.ir.symbolic_size import Unsized
from whet.jit.policy import account, many_sizes
from whet.jit.program.numbers_from_sizes import NumbersFromSizes
from whet.jit.program.size_expressions import SizeExpressions, Sizes
from whet.jit.program.sized_program import SizedProgram
from whet.nn import functional as F
from whet.ops.registry import REGISTRY

from .functions_of_any_size import FUNCTIONS

SIZES = range(41, 53)
# two recordings and a plan come first; ranges of sizes have plans of their own, and ways their own
LEAST = 4


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_sizes_that_no_run_had_are_replayed(name, monkeypatch):
    monkeypatch.setattr(account, "GRACE", math.inf)
    monkeypatch.setattr(many_sizes, "SOUNDING", 1 << 30)
    fn, make = FUNCTIONS[name]
    traced = jit.trace(fn)
    with whet.no_grad():
        for n in SIZES:
            x = make(n)
            before = whet.get_rng_state()
            wanted = fn(x)
            whet.set_rng_state(before)
            assert traced(x).numpy().tobytes() == wanted.numpy().tobytes()
    ledger = traced._calls.policy.summary()
    assert ledger.unseen + ledger.sized >= LEAST, ledger


def running_mean(x):
    held = whet.zeros(8)
    held += 1
    mean = x[0] + (x - x[0]) / held
    return x - mean + mean.to(whet.float64).sum(0).float()


@pytest.mark.parametrize("name", [
    "running_mean", "unpack_size", "outer_rope", "sdpa", "ln_", "bn_eval", "knn", "ntxent", "unet"])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_what_has_no_plan_for_unknown_sizes_is_done_by_eagers_code(name, which, monkeypatch):
    monkeypatch.setattr(account, "GRACE", math.inf)
    launches = SizedProgram.launches

    def some(self, node):
        if isinstance(node, OpNode) and node.outs and node.outs[0] % 3 != which:
            raise Unsized("a plan wants the number")
        return launches(self, node)
    monkeypatch.setattr(SizedProgram, "launches", some)
    fn, make = {**FUNCTIONS, "running_mean": (running_mean, FUNCTIONS["knn"][1])}[name]
    traced = jit.trace(fn)
    with whet.no_grad():
        for n in (20, 21, 33, 40, 64, 21, 50):
            x = make(n)
            assert traced(x).numpy().tobytes() == fn(x).numpy().tobytes()


def test_a_size_that_was_the_same_in_both_lists_is_told_apart_from_a_number():
    sizes = SizeExpressions(Sizes([41, 44], [42, 45]), [41, 44])
    sizes.read_numbers = NumbersFromSizes([], {}, None, sizes.facts)
    sizes.note_shape([sizes.facts.symbols[1] // 2])         # 22 in both lists
    node, other = (OpNode(REGISTRY["eye"], (), dict(n=n, m=3), [1], "") for n in (22, 22))
    with pytest.raises(Unsized, match="was the same in both lists"):
        sizes.attributes(node, other, ())
    node.attrs["n"] = other.attrs["n"] = 23
    assert sizes.attributes(node, other, ()) == dict(n=23, m=3)


def test_taps_go_by_the_names_of_what_they_are_made_of():
    """A graph that was read from a file may have them in another order."""
    at = dict(tap=1, count=2, dtype=whet.float32, mode="linear", n=5, out=8, scale=None,
              align_corners=False, antialias=False)
    for name in ("resized_places", "resized_weights"):
        forward = REGISTRY[name].forward
        assert forward(**at).tobytes() == forward(**dict(sorted(at.items()))).tobytes()


@pytest.mark.parametrize("fn, shape", [
    (lambda x: F.pad(x, (2, 2), "reflect"), (1, 2, "n")),
    (lambda x: F.pad(x, (0, 0, 3, 0), "circular"), (1, 2, "n", 4)),
    (lambda x: F.pad(x, (-2, 1), "replicate"), (1, 2, "n")),
    (lambda x: F.group_norm(x, 2), (1, "n", 4)),
    (lambda x: F.interpolate(x, size=(6, 2), mode="bicubic", antialias=True), (1, 2, "n", 3)),
    (lambda x: F.interpolate(x, scale_factor=(0.5, 2), mode="bilinear", antialias=True),
     (1, 2, "n", 3)),
], ids=["reflect", "circular", "replicate", "group_norm", "bicubic", "bilinear"])
def test_what_an_op_asks_of_sizes_is_asked_at_every_size(fn, shape, monkeypatch):
    """A size that eager refuses, or for which it takes other ways, comes again and again."""
    monkeypatch.setattr(account, "GRACE", math.inf)
    monkeypatch.setattr(many_sizes, "SOUNDING", 1 << 30)
    traced = jit.trace(fn)

    def called(f, x):
        try:
            return f(x).numpy().tobytes()
        except RuntimeError as e:
            return str(e).splitlines()[0]
    for n in (8, 8, 10, 12, 16, 20, 8, 6, 5, 5, 4, 4, 4, 3, 3, 2, 2, 2, 1, 1, 9, 9, 7, 7, 11, 30):
        x = whet.randn([n if s == "n" else s for s in shape])
        assert called(traced, x) == called(fn, x)
    assert traced._calls.policy.summary().replayed > 4


@pytest.mark.parametrize("mode", ["constant", "replicate"])
def test_how_much_may_be_cut_is_asked_of_every_amount(mode, monkeypatch):
    monkeypatch.setattr(account, "GRACE", math.inf)
    traced = jit.trace(lambda x, n: F.pad(x, (n, -n), mode))
    x = whet.randn(1, 2, 5)
    for n in (2, 2, 3, 4, 1, 5, 4):
        assert traced(x, n).equal(F.pad(x, (n, -n), mode))
    for n in (6, 6, 6, 12):
        with pytest.raises(RuntimeError, match="resulted in a negative output size"):
            traced(x, n)
    assert traced._calls.policy.summary().replayed > 2


def test_sizes_that_broadcast_shapes_gives_are_numbers_that_vary(monkeypatch):
    """What it compares is a guard, and what it returns is of the type int."""
    monkeypatch.setattr(account, "GRACE", math.inf)

    def fn(x):
        return x * 2, whet.broadcast_shapes((x.shape[0], 3), (4, 1))
    traced = jit.trace(fn)
    for n in (4, 1, 4, 1, 4, 1, 4):
        _, shape = traced(whet.ones(n))
        assert shape == (4, 3) and [type(n) for n in shape] == [int, int]
    for _ in range(3):
        with pytest.raises(RuntimeError, match="cannot be broadcast"):
            traced(whet.ones(2))
    assert traced._calls.policy.summary().replayed > 2

    def widened(x):
        shape = whet.broadcast_shapes((x.shape[0], 3), (3,))
        return x[:, :1].expand(shape), shape
    traced = jit.trace(widened)
    for n in (5, 5, 7, 9, 12, 14, 17):
        wide, shape = traced(whet.ones(n, 3))
        assert wide.shape == shape == (n, 3) and type(shape[0]) is int
    assert traced._calls.policy.summary().unseen > 1


def test_constants_that_python_went_on_from_are_asked_again():
    """A scale that is no scale at some sizes: eager mode says so, and so does the traced one."""
    def fn(x):
        scale = whet.ones(2) * (len(x) - 5)
        return whet.distributions.Normal(x[:, :2], scale).log_prob(x[:, :2])
    traced = jit.trace(fn)
    for n in (9, 12, 14, 17, 22, 33, 8, 7, 6):
        x = whet.randn(n, 4)
        assert traced(x).equal(fn(x))
    for n in (5, 4):
        with pytest.raises(ValueError, match="scale"):
            traced(whet.randn(n, 4))


def test_an_error_of_a_function_of_sizes_comes_where_eager_has_it():
    calls = []

    def fn(x):
        calls.append(1)
        return x * math.log(len(x) - 5)
    traced = jit.trace(fn)
    for n in (9, 12, 14, 17, 22, 33, 8, 7, 6):
        traced(whet.randn(n, 4))
    before = len(calls)
    for n in (5, 4):
        with pytest.raises(ValueError, match="domain"):
            traced(whet.randn(n, 4))
    assert len(calls) == before + 2


def test_pieces_that_are_not_all_of_a_tensor_at_some_sizes_are_refused():
    def fn(x):
        return x.split([2, len(x) // 2])[1] * 2
    traced = jit.trace(fn)
    for n in (3, 4, 3, 4):
        assert traced(whet.ones(n, 4)).equal(fn(whet.ones(n, 4)))
    with pytest.raises(RuntimeError, match="sum exactly"):
        traced(whet.ones(9, 4))


def test_a_way_that_goes_by_elements_made_of_sizes_is_chosen_again():
    def fn(x):
        return x * 2 if (whet.arange(len(x)).square().sum() > 2000).item() else x * 3
    traced = jit.trace(fn)
    for n in (*range(20, 40), *range(3, 20)):
        assert traced(whet.ones(n, 4)).equal(fn(whet.ones(n, 4))), n
    assert traced._calls.policy.summary().unseen >= LEAST
