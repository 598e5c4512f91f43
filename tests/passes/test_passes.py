"""The passes over recorded nodes: each can be left out, and what each does and leaves alone."""

import pytest
import whet
from whet import jit
from whet.cpu import native
from whet.nn import functional as F
from whet.passes import pipeline

from tests.passes.pass_cases import compiled, graph_of, written
from tests.together import bits, traced


def several(x, y):
    """Something for every pass."""
    z = (x * 2 + y).tanh()
    x.copy_(z * 0.5)
    return (z * y).sum(-1), z.mean(0)


def test_a_pass_changes_nothing_that_it_is_given(monkeypatch):
    """Neither the nodes nor what is known of their values: it makes a listing of its own."""
    changed = set()

    def unrolled(x, y):
        for _ in range(40):
            x = (x @ y * 0.5 + 1).tanh().sin()
        z = x @ y
        z.add_(1)
        return z

    def updated(x, y):
        x.mul_(0.9).add_(y)

    def watched(name, real):
        def one(g):
            before = [n.facts() for n in g.nodes], dict(g.root), len(g.arrays), set(g.visible)
            made = real(g)
            assert (([n.facts() for n in g.nodes], dict(g.root), len(g.arrays), set(g.visible))
                    == before), name
            changed.update([name] if made.nodes != g.nodes else [])
            return made
        return one
    monkeypatch.setattr(pipeline, "PASSES",
                        [(name, watched(name, real)) for name, real in pipeline.PASSES])
    for f in several, unrolled, updated:
        jit.trace(f)(whet.randn(8, 8), whet.randn(8, 8))
    assert changed >= {
        "in_place_to_new", "writes_to_values", "fuse_pointwise", "fuse_epilogues", "write_through",
        "roll_loops"}


@pytest.mark.parametrize("name", [name for name, _ in pipeline.PASSES])
def test_each_pass_can_be_left_out(name):
    x, y = whet.randn(6, 40), whet.randn(6, 40)
    runs = []
    for left_out in (), (name,), tuple(n for n, _ in pipeline.PASSES):
        f, xs = jit.trace(several, verify="off"), [x.clone() for _ in range(3)]
        with pipeline.without(*left_out):
            runs.append([[bits(r) for r in (*f(a, y), a)] for a in xs])
        assert f.explain(data=True)["paths"][0]["calls"]
    assert runs[0] == runs[1] == runs[2]
    assert [n for n, _ in pipeline.PASSES].count(name) == 1


def test_a_pass_that_is_not_there_cannot_be_left_out():
    with pytest.raises(ValueError, match="no pass is called melt"), pipeline.without("melt"):
        pass


# ---- layouts -------------------------------------------------------------------------------------
@pytest.mark.parametrize("fn",
                         [lambda x: (x.permute(0, 3, 1, 2) * 2 + 1).tanh(),
                          lambda x: x.transpose(1, 2).to(whet.float64) / 3 - 1,
                          lambda x: F.silu(x.contiguous(memory_format=whet.channels_last) + 1)
                          * 2])
def test_a_chain_in_another_order_of_memory_is_one_kernel(fn):
    path = graph_of(fn, whet.randn(2, 5, 6, 7))
    assert path["graph"].count("= fused(") == 1
    assert all("= clone_format(" in copy for copy, _, _ in path["unfused"])


# ---- what need not be done -----------------------------------------------------------------------
def ops_of(fn, *args, only=()):
    """The graph's operations, with the named passes alone."""
    with pipeline.without(*[n for n, _ in pipeline.PASSES if n not in only]):
        graph = graph_of(fn, *args)["graph"]
    lines = [line for line in graph.splitlines()
             if " = " in line and " = input " not in line and not line.startswith("  stream")]
    return [line.split(" = ")[1].split("(")[0] for line in lines if "= size_of(" not in line]


@pytest.mark.parametrize("fn, left", [
    (lambda x, y: x.exp() + x.exp(), ["exp", "add"]),
    (lambda x, y: (x + y).tanh() * (x + y).tanh(), ["add", "tanh", "mul"]),
    (lambda x, y: x.sum(0) * x.sum(0) + x.sum(0, keepdim=True), ["sum", "mul", "sum", "add"]),
    # 1 is not 1.0: its type may count
    (lambda x, y: x * 1 - x * 1.5 - x * 1.0, ["mul", "mul", "sub", "mul", "sub"]),
    (lambda x, y: x + 0.0 - (x + -0.0), ["add", "add", "sub"]),
    # two results are two tensors
    (lambda x, y: (x.exp(), x.exp()), ["exp", "exp"]),
    # one is written to
    (lambda x, y: (a := x.exp(), a.add_(1), x.exp() + a)[2:], ["exp", "exp", "add"]),
    (lambda x, y: (a := x.exp(), b := x.exp(), b.add_(1), a + b)[3:], ["exp", "exp", "add"]),
    # the operand is
    (lambda x, y: (z := y * 1, a := z.exp(), z.add_(1), b := z.exp(), a + b)[4:],
     ["mul", "exp", "exp", "add"]),
    # one is seen by a view
    (lambda x, y: (a := x.exp(), b := x.exp(), b[0], a + b)[2:], ["exp", "exp", "slice", "add"]),
    (lambda x, y: (a := x.exp(), a + x.exp()), ["exp", "add"]),
])
def test_each_thing_is_computed_once(fn, left):
    x, y = whet.randn(4, 5), whet.randn(4, 5)
    assert ops_of(fn, x, y, only=["merge_repeats"]) == left


def test_random_numbers_are_not_computed_once():
    f = jit.trace(lambda x: whet.rand_like(x) - whet.rand_like(x))
    for _ in range(3):
        assert f(whet.zeros(10)).abs().max() > 0


@pytest.mark.parametrize("fn, left", [
    (lambda x: x.mT.mT.exp(), ["transpose", "exp"]),
    (lambda x: x.reshape(x.shape).exp(), ["exp"]),
    (lambda x: x.view(20).view(4, 5) * x.view(20).sum(), ["view", "sum", "mul"]),
    # the last is a result
    (lambda x: (x * 1).exp() / 1 - 0, ["exp", "sub"]),
    # -0 + 0 is 0
    (lambda x: (x + 0).exp(), ["add", "exp"]),
    (lambda x: (x - (-0.0)).exp(), ["sub", "exp"]),
    (lambda x: (0 - x).exp() * (1 / x), ["sub", "exp", "div", "mul"]),
    # what it is the same as changes
    (lambda x: (y := x + 2, z := y * 1, y.add_(1), z + y)[3:], ["add", "mul", "add"]),
    (lambda x: (y := x + 2, z := y * 1, z.add_(1), z + y)[3:], ["add", "mul", "add"]),
    # a result is a tensor of its own
    (lambda x: x.mT.mT, ["transpose", "transpose"]),
])
def test_what_is_there_is_not_made_again(fn, left):
    assert ops_of(fn, whet.randn(4, 5), only=["drop_identities"]) == left


@pytest.mark.parametrize("fn, left", [
    (lambda x: x * (whet.ones(4, 1) / 3 + 1).expand(4, 5), ["constant", "expand", "mul"]),
    # a constant that is written to
    (lambda x: (c := whet.zeros(5) + 1, c.add_(1), x * c)[2:], ["zeros", "add", "mul"]),
    (lambda x: (c := whet.zeros(5), d := c * 2, c.add_(1), x * c + d)[3:],
     ["zeros", "mul", "mul", "add"]),
    # a result is new each time
    (lambda x: (whet.ones(5) * 2, x * 2), ["full", "mul", "mul"]),
    (lambda x: x * whet.rand(5).mul(0), ["draw random_uniform32", "mul", "mul"]),
])
def test_what_is_constant_is_computed_once_for_all(fn, left):
    got = ops_of(fn, whet.randn(4, 5), only=["fold_constants", "drop_unused"])
    assert got == left, got


@pytest.mark.parametrize("columns", [5, 8, 16, 24, 40, 47])
def test_much_may_follow_a_sum_of_short_lines(columns):
    """A panel of so heavy a kernel holds fewer columns than a line has."""
    def f(x, y):
        return (((x.sum(0) / y + y.exp()) * y.tanh()).sin() / (y * y + 1)).sqrt()
    traced = whet.jit.trace(f)
    for n in (2, 70):
        x, y = whet.randn(n, columns).double(), (whet.randn(columns) > 0).double() + 0.5
        assert all(traced(x, y).numpy().tobytes() == f(x, y).numpy().tobytes() for _ in range(2))


def test_a_constant_is_what_it_was_before_a_write_that_nobody_reads():
    """The recorded run's memory holds what was written to it."""
    def f():
        c = whet.zeros(5) + 1
        d = whet.zeros(5).index_add(0, whet.arange(5), c)
        c.add_(1)
        return d
    traced = whet.jit.trace(f, verify="off")
    assert traced().tolist() == traced().tolist() == f().tolist()


@compiled
def test_what_has_no_kernel_is_done_apart():
    """The truth has no remainder but NumPy's, whose exponentials are not ours."""
    t = whet.randn(4, 50) > 0
    graph_of(lambda x: x.exp() + whet.remainder(t, True), whet.randn(4, 50))
    graph_of(lambda x: (x.exp() + whet.remainder(t, True)).sum(-1), whet.randn(4, 50))
    written(lambda x, y: (x.exp_().add_(whet.remainder(t, True)),
                          y.exp_().add_(whet.remainder(t, True)))[:0], whet.randn(4, 50),
            whet.randn(4, 50))


def test_a_node_of_very_many_copies_is_one_step():
    path = graph_of(lambda x: whet.stack([a * 2 for a in x.unbind()]), whet.randn(600))
    assert len(path["python"]) == 1 and path["launches"] > 0


@pytest.mark.skipif(not native.enabled(),
                    reason="what is grouped goes by the kernels that there are")
@pytest.mark.parametrize("shape, weights", [
    ((20, 40, 33), (20, 40, 1)), ((20, 5, 7), (20, 5, 1)), ((3, 12, 256), (3, 12, 1)),
    ((64, 12, 70), (64, 1, 1)), ((64, 12, 70), (1, 12, 1)), ((17, 9000, 13), (17, 9000, 1)),
    ((2, 3, 50, 40), (2, 3, 50, 1)), ((40, 33), (1, 1)), ((3, 9000, 40), (3, 9000, 1)),
])
def test_weights_of_tokens_are_read_by_the_kernel_that_sums_over_them(shape, weights):
    axis, x, w = len(shape) - 2, whet.randn(*shape), whet.randn(*weights)
    fns = [lambda x, w: (x * w).sum(axis), lambda x, w: (x * w).sum(axis) / (w.sum(axis) + 2),
           lambda x, w: whet.where(w > 0, x, -9).amax(axis), lambda x, w: (x * w).argmin(axis),
           lambda x, w: (x - w)
           / ((x - w).abs().sum(axis, keepdim=True) + w.amax(axis, keepdim=True)),
           lambda x, w: (x.half() * w.half()).sum(axis)]
    was = whet.get_num_threads()
    try:
        for fn in fns:
            f = traced(fn, x, w)
            for threads in 1, 2:
                whet.set_num_threads(threads)
                assert bits(f(x, w)) == bits(fn(x, w))
    finally:
        whet.set_num_threads(was)
    # long columns are shared among threads, by kernels that read whole vectors
    if shape != (3, 9000, 40):
        assert [n.kind for n in traced(fns[0], x, w).graph.nodes] == ["rows"]
