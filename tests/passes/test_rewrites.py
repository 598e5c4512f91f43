"""Rewrites that change bits: only where they are asked for, within their bounds, and only where
every precondition holds."""
import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet import jit, nn
from whet.cpu import native
from whet.ir.graph import Graph
from whet.ir.parse import parse
from whet.jit.program.reproducer import seeded, values
from whet.passes import pipeline

pytestmark = pytest.mark.filterwarnings("error::whet.jit.TraceWarning")


def rewritten(text, name, steady=()):
    """(the text of a graph after a rewrite, without places in the code; what the rewrite said)"""
    g = parse(text)
    env = values(g, [seeded(g.types[x.value], x.value) for x in g.inputs])
    arrays = [env.get(v, np.empty(0)) for v in range(max(env) + 1)]
    nodes, _, log = pipeline.rewrite(g.nodes, g.roots(), arrays, {v for v, _ in g.results}, [name],
                                     set(steady))
    return ([
        line.strip()
        for line in str(Graph.of(nodes, arrays, g.inputs, g.results, g.name)).splitlines()[1:]
        if "input" not in line], log)


LAYERS = '''graph "f":
  %0 = input "argument 0" "x" : f32[2,3,6,6]
  %1 = input "outside" "w" : f32[4,3,3,3]
  %2 = input "outside" "mean" : f32[1,4,1,1]
  %3 = input "outside" "invstd" : f32[1,4,1,1]
  %4 = input "outside" "weight" : f32[1,4,1,1]
  %5 = input "outside" "bias" : f32[1,4,1,1]
  %6 = convolution(%0, %1, stride=(1, 1), padding=(1, 1), dilation=(1, 1), groups=1) : f32[2,4,6,6]
  %7 = batch_norm_eval(%6, %2, %3, %4, %5) : f32[2,4,6,6]
  return %7
'''


def test_a_batch_norm_goes_into_the_weights_before_it():
    got, log = rewritten(LAYERS, "fold_batch_norm", range(1, 6))
    assert got == [
        "%8 = mul(%3, %4) : f32[1,4,1,1]",
        "%9 = view(%8, size=(4, 1, 1, 1)) : f32[4,1,1,1]",
        "%10 = mul(%1, %9) : f32[4,3,3,3]",
        "%11 = neg(%2) : f32[1,4,1,1]",
        "%12 = mul(%11, %8) : f32[1,4,1,1]",
        "%13 = add(%12, %5) : f32[1,4,1,1]",
        "%14 = view(%13, size=(4,)) : f32[4]",
        "%7 = convolution(%0, %10, %14, stride=(1, 1), padding=(1, 1), dilation=(1, 1), groups=1) "
        ": f32[2,4,6,6]",
        "return %7"]
    assert log == ["fold_batch_norm put batch_norm_eval into the weights of convolution"]


@pytest.mark.parametrize("change, steady, reason", [
    ((), (2, 3, 4, 5), "its weights may be others at each call"),
    ((), (1, 2, 3, 4), "its weights may be others at each call"),
    ((("return %7", "return %7, %6"),), range(1,
                                               6), "the output of convolution is used elsewhere"),
    ((("return %7", "%8 = relu(%6) : f32[2,4,6,6]\n  return %7, %8"),), range(
        1, 6), "the output of convolution is used elsewhere"),
    ((("  return %7", "  write add(%6, 1.0)\n  return %7"),), range(
        1, 6), "the output of convolution is used elsewhere"),
    ((("  %7 =", "  write add(%0, 1.0)\n  %7 ="),), range(
        1, 6), "what convolution reads is written to in between"),
    ((("return %7", "%8 = relu(%1) : f32[4,3,3,3]\n  return %7, %8"),), range(
        1, 6), "the weight of convolution is used elsewhere"),
    ((("f32", "f16"),), range(1, 6), "it is not float32 or float64 throughout, but float16"),
    ((("1,4,1,1", "1,1,1,6"),), range(1, 6), "its channels are not those of the weight"), ])
def test_a_batch_norm_that_is_left_alone(change, steady, reason):
    text = LAYERS
    for a, b in change:
        text = text.replace(a, b)
    got, log = rewritten(text, "fold_batch_norm", steady)
    assert log == [f"fold_batch_norm left batch_norm_eval alone: {reason}"]
    assert (got == [
        line.strip() for line in str(parse(text)).splitlines()[1:] if "input" not in line])


CHAIN = '''graph "f":
  %0 = input "argument 0" "a" : f32[100,2]
  %1 = input "argument 1" "b" : f32[2,100]
  %2 = input "argument 2" "c" : f32[100,2]
  %3 = matmul(%0, %1) : f32[100,100]
  %4 = matmul(%3, %2) : f32[100,2]
  return %4
'''
NUMBERS = '''graph "f":
  %0 = input "argument 0" "a" : f32[4]
  %1 = mul(%0, 2) : f32[4]
  %2 = mul(3.5, %1) : f32[4]
  %3 = add(%2, 0.1) : f32[4]
  %4 = add(%3, 0.2) : f32[4]
  return %4
'''


def test_products_of_matrices_are_ordered_by_cost():
    got, log = rewritten(CHAIN, "reassociate")
    assert (got == [
        "%5 = matmul(%1, %2) : f32[2,2]", "%4 = matmul(%0, %5) : f32[100,2]", "return %4"])
    assert log == ["reassociate ordered a product of 3 matrices: 800 multiplications, not 40000"]


def test_numbers_are_one():
    got, log = rewritten(NUMBERS, "reassociate")
    assert (got == [
        "%2 = mul(%0, 7.0) : f32[4]",
        f"%4 = add(%2, {float(np.float32(0.1) + np.float32(0.2))!r}) : f32[4]", "return %4"])
    assert len(log) == 2


@pytest.mark.parametrize("text, change", [
    # a result
        (CHAIN, (("return %4", "return %4, %3"),)),
    # another reader
        (CHAIN, (("return %4", "%5 = relu(%3) : f32[100,100]\n  return %4, %5"),)),
    # another writer
        (CHAIN, (("  %4 =", "  write add(%3, 1.0)\n  %4 ="),)),
    # an operand is written to in between
    (CHAIN, (("  %4 =", "  write add(%0, 1.0)\n  %4 ="),)),
    (CHAIN, (("f32", "f16"),)), (CHAIN, (("f32", "i64"),)),
    (CHAIN,
     (("[100,2]", "[2,100]"), ("[2,100]\n  %2", "[100,2]\n  %2"), ("[100,100]", "[2,2]"),
      ("%1 = input \"argument 1\" \"b\" : f32[2,100]",
                                                                            # cheapest already
                                                                            "%1 = input \"argument 1\" \"b\" : f32[100,2]"))),
    (NUMBERS, (("return %4", "return %4, %1, %3"),)),
    (NUMBERS, (("f32", "i64"), ("3.5", "3"), ("0.1", "1"), ("0.2", "2"))),
    (NUMBERS, (("f32", "f16"),)),
    # the numbers alone overflow
        (NUMBERS, (("%0, 2)", "%0, 3e38)"), ("0.1", "3e38"), ("0.2", "3e38"))),
    # or vanish
        (NUMBERS, (("%0, 2)", "%0, 1e-30)"), ("3.5", "1e-30"), ("0.1", "inf"))), ])
def test_what_is_not_reassociated(text, change):
    for a, b in change:
        text = text.replace(a, b)
    got, log = rewritten(text, "reassociate")
    assert (log == [] and got == [
        line.strip() for line in str(parse(text)).splitlines()[1:] if "input" not in line])


# ---- in a trace ----------------------------------------------------------------------------------
def notes(f):
    return [note.split(" (")[0] for p in f.explain(data=True)["paths"] for note in p["rewrites"]]


def network():
    m = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
                      nn.Conv2d(8, 4, 3, groups=2), nn.BatchNorm2d(4), nn.Flatten(),
                      nn.Linear(4 * 16, 5), nn.BatchNorm1d(5))
    for x in m:
        if hasattr(x, "running_mean"):
            (x.running_mean.normal_(),
             x.running_var.uniform_(0.5, 2),
             x.weight.data.uniform_(0.5, 2),
             x.bias.data.normal_())
    return m.eval()


def close(a, b):
    return (a - b).abs().max() <= 1e-5 * b.abs().max()


def test_folded_weights_follow_the_weights():
    m, x = network(), whet.randn(2, 3, 6, 6)
    f = jit.trace(m, rewrites=["fold_batch_norm"])
    with whet.no_grad():
        for _ in range(3):
            got = f(x)
        assert notes(
            f) == ["fold_batch_norm put batch_norm_eval into the weights of convolution"] * 2 + [
                "fold_batch_norm put batch_norm_eval into the weights of linear"]
        assert (close(got, m(x))
                and got.tolist() != m(x).tolist()), "bits change, or nothing was rewritten"
        p, = f.explain(data=True)["paths"]
        before = p["calls"]
        for tensors in (([m[0].weight], [m[3].bias], [m[1].running_var, m[4].running_mean],
                         [m[6].weight, m[7].weight, m[7].bias], [m[1].weight.data])):
            for t in tensors:
                t.mul_(1.5)
            assert close(f(x), m(x)) and close(f(x + 1), m(x + 1))
        m[0].weight.data = whet.randn(8, 3, 3, 3)
        assert close(f(x), m(x)) and close(f(x), m(x))
        m[1].running_mean.numpy()[:] = 3.0
        assert close(f(x), m(x)) and close(f(x), m(x))
        p, = f.explain(data=True)["paths"]
        assert p["calls"] >= before + 10
    assert jit.trace(m).rewrites == ()


def test_folded_weights_are_computed_once(monkeypatch):
    """Machine code passes over what nobody wrote to: the launches stand behind their guards."""
    if not native.enabled():
        pytest.skip("needs machine code")
    m, x = network(), whet.randn(2, 3, 6, 6)
    f = jit.trace(m, rewrites=["fold_batch_norm"])
    with whet.no_grad():
        for _ in range(3):
            want = f(x)
        p = next(iter(f._table.values()))[0].program
        assert p.steady.lasting and p.steady.derived and len(p.steady.guards) > 10
        shapes = {p.arrays[value].shape for value in p.steady.derived}
        for a in p.keep:                     # what is kept is used as it is
            if type(a) is np.ndarray and a.shape in shapes:
                a[...] = 0
        assert f(x).tolist() != want.tolist()
        m[0].weight.add_(0), m[3].weight.add_(0), m[6].weight.add_(0)
        for x_ in m:
            for t in (*x_.parameters(), *x_.buffers()):
                t.add_(0)
        assert f(x).tolist() == want.tolist()


def test_in_training_mode_nothing_is_folded():
    m, x = network().train(), whet.randn(4, 3, 6, 6)
    runs = []
    for wrap in (lambda m: m, lambda m: jit.trace(m, rewrites=["fold_batch_norm"])):
        n = network()
        n.load_state_dict(m.state_dict())
        n.train()
        f = wrap(n)
        with whet.no_grad():
            runs.append([f(x).tolist() for _ in range(4)])
    assert runs[0] == runs[1]
    assert set(notes(f)) == {"fold_batch_norm left batch_norm alone: it is in training mode"}


def test_where_gradients_flow_nothing_is_rewritten():
    m, x = network(), whet.randn(2, 3, 6, 6)
    f = jit.trace(m, rewrites=["fold_batch_norm", "reassociate"])
    for _ in range(4):
        a, b = f(x), m(x)
        assert a.tolist() == b.tolist()
        a.sum().backward()
    assert (set(notes(f)) == {
        f"{name} left it alone: gradients flow through its results"
        for name in ("fold_batch_norm", "reassociate")})


def test_without_being_asked_no_bit_changes():
    m, x = network(), whet.randn(2, 3, 6, 6)
    f = jit.trace(m)
    with whet.no_grad():
        assert all(f(x).tolist() == m(x).tolist() for _ in range(4)) and not notes(f)


@pytest.mark.parametrize("shape, channels", [((2, 16, 9, 9), 8), ((4, 64, 5, 5), 32)])
def test_the_bound_of_folding(shape, channels):
    conv, bn = nn.Conv2d(shape[1], channels, 3), nn.BatchNorm2d(channels).eval()
    (bn.running_mean.normal_(), bn.running_var.uniform_(0.01, 4), bn.weight.data.normal_(),
     bn.bias.data.normal_())
    x = whet.randn(shape) * whet.randn(shape).exp()
    f = jit.trace(lambda x: bn(conv(x)), rewrites=["fold_batch_norm"])
    with whet.no_grad():
        f(x)
        got, want = f(x).double(), bn(conv(x)).double()
        scale = (bn.weight / (bn.running_var + bn.eps).sqrt()).double()
        by_channel = scale.abs().reshape(1, -1, 1, 1)
        sums = F.conv2d(x.double().abs(), conv.weight.double().abs(), conv.bias.double().abs())
        shift = bn.running_mean.double().abs() * scale.abs() + bn.bias.double().abs()
        terms = sums * by_channel + shift.reshape(1, -1, 1, 1)
        k = conv.weight[0].numel()
        assert (((got - want).abs() <= (k + 8) * np.finfo(np.float32).eps * terms).all()
                and (got != want).any())


def test_matrices_in_a_trace_within_the_bound():
    a, b, c, d = whet.randn(60, 3), whet.randn(3, 50), whet.randn(50, 4), whet.randn(4, 70)
    f = jit.trace(lambda a, b, c, d: a @ b @ c @ d, rewrites=["reassociate"])
    f(a, b, c, d)
    got, want = f(a, b, c, d), a @ b @ c @ d
    bound = (3 + 50 + 4) * np.finfo(np.float32).eps * (a.abs() @ b.abs() @ c.abs() @ d.abs())
    assert (((got - want).abs() <= bound).all() and notes(f) == [
        "reassociate ordered a product of 4 matrices: 14040 multiplications, not 37800"])


def test_a_rewrite_that_goes_wrong_is_not_used(monkeypatch):
    def wrong(g, steady, log):
        return (g.of([type(n)(n.op, (n.ins[0], 3.0), n.attrs, n.outs, n.line)
                      for n in g.nodes]), set())
    monkeypatch.setitem(pipeline.REWRITES, "reassociate", wrong)
    f = jit.trace(lambda x: x * 2, rewrites=["reassociate"], strict=True)
    with pytest.raises(jit.TraceError, match="a rewrite moved a result by more than its rounding"):
        f(whet.ones(3))


@pytest.mark.parametrize("rewrites", ["reassociate", ["melt"]])
def test_only_known_rewrites(rewrites):
    with pytest.raises(ValueError,
                       match="rewrites are a list of some of 'fold_batch_norm', 'reassociate'"):
        jit.trace(lambda x: x, rewrites=rewrites)


def test_rewritten_programs_are_recorded_again_too():
    m, x = network(), whet.randn(2, 3, 6, 6)
    f = jit.trace(m, rewrites=["fold_batch_norm"], verify="always")
    with whet.no_grad():
        for _ in range(4):
            assert f(x).tolist() == m(x).tolist()
    assert f.explain(data=True)["paths"][0]["checked"] == 3
