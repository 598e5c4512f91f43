"""Methods that are errors in PyTorch, too, and questions about memory."""
import pytest
import whet


@pytest.mark.parametrize("name, args", [("eig", ()), ("symeig", (True,)), ("reinforce", (1.0,)),
                                        ("lstsq", (whet.ones(2, 1),)),
                                        ("solve", (whet.ones(2, 1),))])
def test_what_pytorch_removed_says_what_to_write_instead(name, args):
    with pytest.raises(RuntimeError, match="is now removed. Use `whet"):
        getattr(whet.eye(2), name)(*args)


@pytest.mark.parametrize("kind", ["ipu", "mtia", "xpu"])
def test_a_move_to_devices_that_are_not_there_is_the_error_of_to(kind):
    with pytest.raises(RuntimeError) as there:
        whet.ones(2).to(kind)
    with pytest.raises(RuntimeError) as by_name:
        getattr(whet.ones(2), kind)()
    assert str(there.value) == str(by_name.value)
    assert not getattr(whet.ones(2), f"is_{kind}")


def test_volatile_is_false_with_a_warning():
    x = whet.ones(2)
    with pytest.warns(UserWarning, match="always False"):
        assert x.volatile is False
    with pytest.warns(UserWarning, match="no_grad"):
        x.volatile = True
    assert not x.is_xla


def test_tensors_of_the_same_memory_size_and_steps_are_set_to_each_other():
    x = whet.arange(6.0).view(2, 3)
    assert x.is_set_to(x) and x.is_set_to(x.view(2, 3)) and x.is_set_to(x.detach())
    for other in (x.t(), x.clone(), x[:1], x.view(3, 2), x.view(whet.int32)):
        assert not x.is_set_to(other)
    empty = whet.empty(0)
    assert empty.is_set_to(empty.detach()) and not empty.is_set_to(whet.empty(0))
    with pytest.raises(TypeError, match="must be Tensor, not int"):
        x.is_set_to(3)
    y = whet.zeros(6)
    assert not y.is_set_to(x) and y.set_(x).is_set_to(x)
