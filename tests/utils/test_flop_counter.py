"""`whet.utils.flop_counter`: what is counted, for which module and under which name."""
import pickle

import pytest
import whet
from whet import nn
from whet.utils.flop_counter import FlopCounterMode, register_flop_formula
from whet.utils.module_tracker import ModuleTracker

aten = whet.ops.aten


def counted(run, **how):
    with FlopCounterMode(display=False, **how) as counter:
        run()
    return {module: {str(op): number for op, number in counts.items()}
            for module, counts in counter.get_flop_counts().items()}


def test_layers_forward_and_backward_are_counted_apart():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2, bias=False))
    counts = counted(lambda: model(whet.ones(5, 3)).sum().backward())
    assert counts == {
        "Global": {"aten.addmm": 120, "aten.mm": 360},
        "Sequential": {"aten.addmm": 120, "aten.mm": 360},
        "Sequential.0": {"aten.addmm": 120, "aten.mm": 120}, "Sequential.2": {"aten.mm": 240}}


def test_convolutions_are_counted_by_pytorchs_formulas():
    model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 4, 3, groups=2, stride=2),
                          nn.ConvTranspose2d(4, 6, 3, groups=2, stride=2))
    counts = counted(lambda: model(whet.ones(2, 3, 8, 8)).sum().backward())
    assert counts["Sequential.0"] == {"aten.convolution": 27648, "aten.convolution_backward": 27648}
    assert counts["Sequential.1"] == {"aten.convolution": 2592, "aten.convolution_backward": 7776}
    assert counts["Sequential.2"] == {"aten.convolution": 3888, "aten.convolution_backward": 11664}


@pytest.mark.parametrize("run, number", [
    (lambda a: a @ a.mT, 72), (lambda a: whet.einsum("ij,kj->ik", a, a), 72),
    (lambda a: whet.addmm(whet.ones(3, 3), a, a.mT), 72),
    (lambda a: whet.ones(2, 3, 4) @ a.mT, 144),
    (lambda a: nn.functional.scaled_dot_product_attention(*[whet.ones(1, 2, 6, 4)] * 3), 1152),
    (lambda a: whet.vmap(lambda r: r @ a.mT)(whet.ones(7, 2, 4)), 336),
    (lambda a: nn.LSTM(3, 4)(whet.ones(5, 2, 3)), 2240)])
def test_products_are_counted_however_they_come(run, number):
    assert sum(counted(lambda: run(whet.ones(3, 4)))["Global"].values()) == number


def test_the_second_run_of_what_is_checkpointed_is_counted():
    x, w = whet.ones(2, 3, requires_grad=True), whet.ones(3, 4)
    run = whet.utils.checkpoint.checkpoint
    assert counted(lambda: run(lambda x: (x @ w).exp(), x).sum().backward())["Global"] == {
        "aten.mm": 3 * 48}


def test_what_is_counted_is_computed_as_ever():
    x = whet.randn(3, 4, requires_grad=True)
    expected, = whet.autograd.grad((x @ x.mT).sin().mul_(2).sum(), x)
    with FlopCounterMode(display=False):
        got, = whet.autograd.grad((x @ x.mT).sin().mul_(2).sum(), x)
        drawn = whet.rand(3)
    assert whet.equal(got, expected) and len(drawn) == 3


def test_a_traced_function_is_counted_and_one_that_counts_is_not_recorded():
    traced = whet.jit.trace(lambda x: (x @ x).sin())
    for _ in range(4):
        traced(whet.ones(2, 2))
    assert counted(lambda: traced(whet.ones(2, 2)))["Global"] == {"aten.mm": 16}

    @whet.jit.trace
    def counts(x):
        with FlopCounterMode(display=False) as counter:
            x = x @ x
        return x, counter.get_total_flops()
    with pytest.warns(whet.jit.TraceWarning, match="FlopCounterMode counts what runs"):
        assert [counts(whet.ones(2, 2))[1] for _ in range(5)] == [16] * 5


def test_formulas_of_ones_own():
    def twice(a, b, out_shape):
        return 2 * out_shape[0]
    assert counted(lambda: whet.ones(3, 3) @ whet.ones(3, 3), custom_mapping={aten.mm: twice})[
        "Global"] == {"aten.mm": 6}
    with pytest.raises(RuntimeError, match="duplicate registrations"):
        register_flop_formula(aten.mm)(twice)
    with pytest.raises(ValueError, match="expected each target to be OpOverloadPacket"):
        register_flop_formula(whet.mm)(twice)


def test_an_operator_of_ones_own_is_counted_by_its_formula_or_by_what_it_calls():
    @whet.library.custom_op("flops::square", mutates_args=())
    def square(x: whet.Tensor) -> whet.Tensor:
        return x @ x
    x = whet.ones(3, 3)
    assert counted(lambda: square(x))["Global"] == {"aten.mm": 54}
    register_flop_formula(square)(lambda shape, out_shape: shape[0])
    assert counted(lambda: square(x))["Global"] == {"<CustomOpDef(flops::square)>": 3}
    with pytest.raises(RuntimeError, match="duplicate registrations"):
        register_flop_formula(square)(lambda shape, out_shape: 1)


def test_the_table_shows_what_is_outside_of_modules_where_there_is_such(capsys):
    layer = nn.Linear(30, 40, bias=False)
    with FlopCounterMode():
        layer(whet.ones(2, 30))
        whet.ones(20, 30) @ whet.ones(30, 10)
    assert capsys.readouterr().out == """\
Module          FLOP    % Total
-----------  -------  ---------
Global       16.800K    100.00%
 - aten.mm   16.800K    100.00%
 Linear       4.800K     28.57%
  - aten.mm   4.800K     28.57%
"""


def test_a_tracker_knows_which_modules_backward_runs():
    inner = nn.Linear(2, 2)
    model, seen = nn.Sequential(inner, nn.Tanh()), []
    with ModuleTracker() as tracker:
        y = model(whet.ones(1, 2))
        inner.weight.register_hook(lambda g: seen.append((tracker.is_bw, set(tracker.parents))))
        y.sum().backward()
        assert not tracker.is_bw and tracker.parents == {"Global"}
    assert seen == [(True, {"Global", "Sequential", "Sequential.0"})]


def test_a_tracker_leaves_modules_as_they_were():
    with ModuleTracker():
        nn.ReLU()(whet.ones(1))
    assert nn.Module._hooks is None
    whet.export(nn.ReLU(), whet.ones(1))


def test_names_of_ops_are_one_object_each():
    assert pickle.loads(pickle.dumps(aten.mm)) is aten.mm
    assert pickle.loads(pickle.dumps(aten.mm.default)) is aten.mm.default
    assert (aten.mm.default.overloadpacket is aten.mm
            and str(aten.mm.default) == "aten.mm.default" and aten.mm.default.name() == "aten::mm")
    with pytest.raises(AttributeError, match="no attribute 'nothing_of_the_kind'"):
        getattr(aten, "nothing_of_the_kind")  # noqa: B009
