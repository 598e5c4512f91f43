"""The passes over recorded nodes: each can be left out, and what each does and leaves alone."""
import pytest
import whet
from whet import jit
from whet.passes import pipeline


def bits(x):
    return x.dtype, tuple(x.shape), x.numpy().tobytes()


def several(x, y):
    """Something for every pass."""
    z = (x * 2 + y).tanh()
    x.copy_(z * 0.5)
    return (z * y).sum(-1), z.mean(0)


@pytest.mark.parametrize("name", [name for name, _ in pipeline.PASSES])
def test_each_pass_can_be_left_out(name):
    x, y = whet.randn(6, 40), whet.randn(6, 40)
    runs = []
    for left_out in (), (name,), tuple(n for n, _ in pipeline.PASSES):
        f, xs = jit.trace(several, verify="off"), [x.clone() for _ in range(3)]
        with pipeline.without(*left_out):
            runs.append([[bits(r) for r in (*f(a, y), a)] for a in xs])
        assert f.explain(data=True)["paths"][0]["calls"]
    assert runs[0] == runs[1] == runs[2]
    assert [n for n, _ in pipeline.PASSES].count(name) == 1


def test_a_pass_that_is_not_there_cannot_be_left_out():
    with pytest.raises(ValueError, match="no pass is called melt"), pipeline.without("melt"):
        pass
