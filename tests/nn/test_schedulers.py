"""Learning rate schedulers: what their states share with them."""
import pytest
import whet
from whet import nn, optim


def test_a_rate_that_is_multiplied_is_so_at_an_epoch_that_was_named():
    opt = optim.SGD([nn.Parameter(whet.ones(1))], lr=1.0)
    schedule = optim.lr_scheduler.MultiplicativeLR(opt, lambda epoch: 0.5)
    opt.step()
    with pytest.warns(UserWarning, match="epoch parameter"):
        schedule.step(0)
    assert schedule.get_last_lr() == [0.5]


def test_a_schedulers_state_that_was_loaded_is_not_changed_by_its_steps():
    for make in (lambda o: optim.lr_scheduler.StepLR(o, 1),
                 lambda o: optim.lr_scheduler.LambdaLR(o, lambda epoch: 0.5 ** epoch),
                 lambda o: optim.lr_scheduler.SequentialLR(o, [
                     optim.lr_scheduler.ConstantLR(o), optim.lr_scheduler.StepLR(o, 1)], [1])):
        opt = optim.SGD([nn.Parameter(whet.ones(1))], lr=1.0)
        schedule = make(opt)
        saved = schedule.state_dict()
        before = list(saved["_last_lr"])
        schedule.load_state_dict(saved)
        for _ in range(3):
            opt.step()
            schedule.step()
        assert saved["_last_lr"] == before != schedule.get_last_lr()


@pytest.mark.parametrize("three_phase", [False, True])
def test_phases_of_one_cycle_are_in_the_state_as_pytorch_has_them(three_phase):
    opt = whet.optim.SGD([whet.ones(1, requires_grad=True)], lr=0.1, momentum=0.9)
    schedule = whet.optim.lr_scheduler.OneCycleLR(opt, 1.0, total_steps=10, three_phase=three_phase)
    up = {"start_lr": "initial_lr", "end_lr": "max_lr",
          "start_momentum": "max_momentum", "end_momentum": "base_momentum"}
    down = {"start_lr": "max_lr", "end_lr": "initial_lr",
            "start_momentum": "base_momentum", "end_momentum": "max_momentum"}
    last = {"start_lr": "initial_lr", "end_lr": "min_lr",
            "start_momentum": "max_momentum", "end_momentum": "max_momentum"}
    assert schedule.state_dict()["_schedule_phases"] == (
        [{"end_step": 2.0, **up}, {"end_step": 4.0, **down}, {"end_step": 9, **last}]
        if three_phase
        else [{"end_step": 2.0, **up}, {"end_step": 9, **down, "end_lr": "min_lr"}])


def test_schedulers_in_sequence_may_be_sequences_themselves():
    schedules = optim.lr_scheduler
    opt = optim.SGD([nn.Parameter(whet.ones(1))], lr=0.1)
    inner = schedules.SequentialLR(
        opt, [schedules.ConstantLR(opt, factor=0.5, total_iters=2),
              schedules.ExponentialLR(opt, gamma=0.9)], milestones=[2])
    outer = schedules.SequentialLR(
        opt, [inner, schedules.ExponentialLR(opt, gamma=0.8)], milestones=[3])
    assert outer.get_last_lr() == inner.get_last_lr() == [0.05]
    rates = []
    for _ in range(6):
        opt.step()
        outer.step()
        rates.append(round(opt.param_groups[0]["lr"], 4))
    assert rates == [0.1, 0.09, 0.1, 0.08, 0.064, 0.0512]


def test_a_sequence_starts_with_the_scheduler_whose_milestone_is_zero():
    schedules = optim.lr_scheduler
    opt = optim.SGD([nn.Parameter(whet.ones(1))], lr=1.0)
    schedule = schedules.SequentialLR(
        opt, [schedules.ConstantLR(opt, 0.5), schedules.ConstantLR(opt, 0.25)], milestones=[0])
    assert schedule.get_last_lr() == [0.25]


def test_schedulers_of_two_optimizers_are_refused_with_the_name_of_the_one():
    schedules = optim.lr_scheduler
    opt, other = (optim.SGD([nn.Parameter(whet.ones(1))], lr=1.0) for _ in range(2))
    both = [schedules.StepLR(opt, 1), schedules.StepLR(other, 1)]
    for make in (lambda: schedules.SequentialLR(opt, both, [1]),
                 lambda: schedules.ChainedScheduler(both)):
        with pytest.raises(ValueError, match=r"(?s)scheduler StepLR at index 1 has SGD \(.*"
                                             r"which is different from SGD\."):
            make()
