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
