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
