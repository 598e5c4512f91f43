"""What optimizers keep beside parameters."""
import pytest
import whet
from whet import optim


@pytest.mark.parametrize("kind", [optim.NAdam, optim.ASGD])
def test_scalar_states_of_all_parameters_are_written_once_a_step(kind):
    ps = [whet.ones(2, requires_grad=True) for _ in range(2)]
    opt = kind(ps)
    for _ in range(3):
        for p in ps:
            p.grad = whet.ones(2)
        opt.step()
    one, other = ({k: t._version for k, t in opt.state[p].items()} for p in ps)
    assert one == other
