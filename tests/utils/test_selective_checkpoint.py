"""Selective checkpointing: results that a policy keeps are not computed again."""
import functools

import pytest
import whet
from whet import nn
from whet.utils.checkpoint import (
    CheckpointPolicy,
    check_backward_validity,
    checkpoint,
    create_selective_checkpoint_contexts,
    detach_variable,
    set_checkpoint_early_stop,
)
from whet.utils.flop_counter import FlopCounterMode

aten = whet.ops.aten


def model():
    whet.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.BatchNorm1d(4), nn.ReLU(),
                         nn.Linear(4, 4))


def gradients(run, traced=False):
    """Those of a step whose forward is `run(model, x)`."""
    m, x = model(), whet.linspace(-1, 1, 20).reshape(5, 4).requires_grad_()

    def step():
        m.zero_grad()
        x.grad = None
        run(m, x).square().sum().backward()
    made = whet.jit.trace(step) if traced else step
    for _ in range(5 if traced else 1):
        whet.manual_seed(1)
        made()
    return [x.grad, *[p.grad for p in m.parameters()]]


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("saved", [
    [], [aten.addmm.default], lambda ctx, op, *args, **kwargs: CheckpointPolicy.MUST_SAVE,
    lambda ctx, op, *args, **kwargs: True,
    lambda ctx, op, *args, **kwargs: CheckpointPolicy.PREFER_RECOMPUTE])
def test_gradients_are_those_without_checkpoints(saved, traced):
    contexts = functools.partial(create_selective_checkpoint_contexts, saved)
    got = gradients(lambda m, x: checkpoint(m, x, context_fn=contexts), traced)
    for a, b in zip(got, gradients(lambda m, x: m(x)), strict=True):
        assert whet.equal(a, b)


@pytest.mark.parametrize("saved, products", [([], 2), ([aten.mm.default], 1)])
def test_what_is_kept_is_not_computed_again(saved, products):
    contexts = functools.partial(create_selective_checkpoint_contexts, saved)
    x, w = whet.ones(2, 3, requires_grad=True), whet.ones(3, 4)
    with FlopCounterMode(display=False) as counter:
        y = checkpoint(lambda x: (x @ w).exp(), x, context_fn=contexts)
    with FlopCounterMode(display=False) as backward:
        y.sum().backward()
    assert counter.get_total_flops() == 48
    assert backward.get_total_flops() == 48 * products


@pytest.mark.parametrize("is_kept, calls", [(True, 1), (False, 2)])
def test_operators_of_ones_own_are_kept(is_kept, calls):
    ran = []

    @whet.library.custom_op(f"kept::sine{calls}", mutates_args=())
    def sine(x: whet.Tensor) -> whet.Tensor:
        ran.append(1)
        return x.sin()
    sine.register_autograd(lambda ctx, g: g * ctx.saved_tensors[0].cos(),
                           setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    x = whet.ones(2, requires_grad=True)
    contexts = functools.partial(create_selective_checkpoint_contexts, [sine] * is_kept)
    checkpoint(lambda x: sine(x).exp(), x, context_fn=contexts).sum().backward()
    assert len(ran) == calls
    expected, = whet.autograd.grad(x.sin().exp().sum(), x)
    assert whet.allclose(x.grad, expected)


def test_a_policy_is_asked_once_of_each_op():
    asked = []

    def policy(ctx, op, *args, **kwargs):
        asked.append((ctx.is_recompute, op, len(args), ctx.op_output.shape))
        return False
    contexts = functools.partial(create_selective_checkpoint_contexts, policy)
    x = whet.ones(2, 3, requires_grad=True)
    y = checkpoint(lambda x: (x @ x.mT).exp(), x, context_fn=contexts)
    y.sum().backward()
    assert asked == [(False, aten.mm.default, 2, (2, 2)), (False, aten.exp.default, 1, (2, 2))]


def test_a_kept_result_may_not_be_written_to_unless_it_is_said():
    def block(x):
        return (x @ x.mT).add_(1).sin()
    x = whet.ones(2, 3, requires_grad=True)
    y = checkpoint(block, x, context_fn=lambda: create_selective_checkpoint_contexts(
        [aten.mm.default]))
    with pytest.raises(RuntimeError, match="has been mutated"):
        y.sum().backward()
    y = checkpoint(block, x, context_fn=lambda: create_selective_checkpoint_contexts(
        [aten.mm.default], allow_cache_entry_mutation=True))
    y.sum().backward()


def test_a_block_must_do_the_same_both_times():
    turns = iter([True, False])
    x = whet.ones(2, 3, requires_grad=True)
    y = checkpoint(lambda x: x.sin().exp() if next(turns) else x.cos().exp(), x,
                   context_fn=lambda: create_selective_checkpoint_contexts([aten.exp.default]))
    with pytest.raises(RuntimeError, match="aten.cos encountered during backward but not found"):
        y.sum().backward()


def test_what_may_be_named():
    with pytest.raises(ValueError, match="OpOverloadPacket to a specific OpOverload"):
        create_selective_checkpoint_contexts([aten.mm])
    with pytest.raises(TypeError, match="either a function or a list of ops"):
        create_selective_checkpoint_contexts(3)


def test_the_second_run_may_go_to_the_end():
    runs = []

    def block(x):
        y = x.sin()
        runs.append(1)
        return y
    for early, seen in ((True, 1), (False, 2)):
        runs.clear()
        with set_checkpoint_early_stop(early):
            y = checkpoint(block, whet.ones(2, requires_grad=True))
        y.sum().backward()
        assert len(runs) == seen


def test_parts_that_other_checkpoints_are_made_of():
    x = whet.ones(2, requires_grad=True) * 2
    y, number = detach_variable((x, 3))
    assert y.is_leaf and y.requires_grad and number == 3
    with pytest.raises(RuntimeError, match="Only tuple of tensors"):
        detach_variable([x])
    check_backward_validity([x])
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        check_backward_validity([whet.ones(2)])
