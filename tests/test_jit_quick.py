"""The short way into a replay: each thing that it compares is changed once, and the result must be eager's."""
import whet
from whet import jit


def same(a, b):
    return a.dtype is b.dtype and a.shape == b.shape and a.numpy().tobytes() == b.numpy().tobytes()


def test_arguments_around_one_array_are_not_one_later():
    f = jit.trace(lambda x, y: x * 2 + y)
    for k in range(4):
        x = whet.ones(3)
        assert f(x, x.detach()).tolist() == [3.0] * 3
        assert f(whet.full((3,), 2.0), whet.full((3,), k + 5.0)).tolist() == [k + 9.0] * 3


def test_an_argument_around_the_array_of_a_captured_tensor():
    w = whet.ones(3)
    f = jit.trace(lambda x: x * 2 + w)
    for k in range(4):
        assert f(w.detach()).tolist() == [3.0] * 3
        assert f(whet.full((3,), k + 5.0)).tolist() == [2 * k + 11.0] * 3


def test_captured_tensors_around_one_array_part():
    a = whet.ones(3)
    b = a.detach()
    f = jit.trace(lambda x: x * (a + 2 * b))
    for _ in range(3):
        assert f(whet.ones(3)).tolist() == [3.0] * 3
    a.data = whet.full((3,), 10.0)
    for _ in range(3):
        assert f(whet.ones(3)).tolist() == [12.0] * 3
