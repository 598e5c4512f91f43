"""Lists of launches for machine code: how many arguments and arrays there may be."""
import numpy as np
import pytest
from whet.cpu import native
from whet.jit.machine_code.native_runner import machine
from whet.jit.program.launch_entries import Fixed, Launch, Moving, Number
from whet.jit.program.launch_lists import Launched, ListWriter
from whet.passes.lower_llvm.calls.launch_list import MOST_ARRAYS


def copies(arguments):
    """A launch that copies all its arguments into the array which it returns, and that array."""
    out = np.zeros(len(arguments) + 2, np.int64)
    numbers = [Fixed(out), Number(len(out)), *arguments]
    return Launch(native.symbol("proof"), 1, 1, numbers), out


@pytest.mark.parametrize("count", [1998, 2100, 5000, native.MAX_ARGS - 2])
def test_a_list_has_room_for_what_one_launch_may_be_given(count):
    launch, out = copies([Number(k) for k in range(count)])
    lists = ListWriter([], 0, [])
    lists.add(Launched([launch]))
    lists.end()
    step, = lists.steps
    machine()[1](step.address, step.words, 0)
    assert (out[2:] == np.arange(count)).all()


def test_a_step_of_many_launches_is_several_lists():
    count = MOST_ARRAYS - 100
    arrays = [np.zeros(1) for _ in range(6 * count)]
    launches, outs = zip(*[copies([Moving(k, 8) for k in range(i * count, (i + 1) * count)])
                           for i in range(6)], strict=True)
    lists = ListWriter(range(len(arrays)), 0, [])
    lists.add(Launched(list(launches)))
    lists.end()
    assert all(len(step.values) <= MOST_ARRAYS for step in lists.steps)
    for step in lists.steps:
        machine()[1](step.address, step.words, 0, *[arrays[v] for v in step.values])
    want = [a.__array_interface__["data"][0] + 8 for a in arrays]
    assert np.concatenate([o[2:] for o in outs]).tolist() == want
