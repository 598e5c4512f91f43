"""What eager has NumPy do is done by launches in replays where elements are few."""
import numpy as np
import pytest
import whet
from whet import jit


def steps_in_python(f):
    """What the recording of a traced function leaves to Python, by the ops' names."""
    (path,) = jit.report.explain.facts(f)["paths"]
    return [step.split(" = ")[1].split("(")[0] for step in path["python"]]


def put(x, index, values):
    y = x * 2
    y[index, 2] = values
    return y


def put_number(x, index, values):
    y = x * 2
    y.mT[1:, index] = 3.5
    return y


FUNCTIONS = {
    "a column": lambda x, index, values: x[index, 1],
    "rows of a part": lambda x, index, values: x[:, 1:5][index],
    "columns": lambda x, index, values: x.mT[:, index],
    "put into a column": put,
    "a number put into columns": put_number,
    "index_select": lambda x, index, values: x.mT.index_select(1, index),
    "gather": lambda x, index, values: x.mT.gather(1, index[None]),
    "index_fill": lambda x, index, values: x.index_fill(0, index, 2.0),
    "bincount": lambda x, index, values: whet.bincount(index, minlength=64),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_few_elements_at_indices_take_no_step_in_python(name):
    f = FUNCTIONS[name]
    traced = jit.trace(f)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x = whet.from_numpy(rng.normal(size=(64, 8)).astype(np.float32))
        index = whet.from_numpy(rng.permutation(64)[:5])
        values = whet.from_numpy(rng.normal(size=5).astype(np.float32))
        assert np.array_equal(traced(x, index, values).numpy(), f(x, index, values).numpy())
    assert steps_in_python(traced) == []


@pytest.mark.parametrize("name", ["index_select", "put into a column"])
def test_an_index_out_of_range_is_eagers_error_in_a_replay(name):
    traced = jit.trace(FUNCTIONS[name])
    x, values = whet.randn(64, 8), whet.randn(3)
    for _ in range(4):
        traced(x, whet.tensor([1, 2, 63]), values)
    for index in ([0, 64, 1], [0, -65, 1]):
        with pytest.raises(IndexError):
            traced(x, whet.tensor(index), values)


@pytest.mark.parametrize("rows, wide", [(20_000, 2), (2000, 20)])
def test_many_elements_stay_with_numpy(rows, wide):
    """Many indices, or few that name much: one thread would take longer than NumPy."""
    traced = jit.trace(lambda x, index: x[:, :wide][index])
    x = whet.randn(rows, wide + 1)
    index = whet.arange(rows).flip(0)
    for _ in range(4):
        made = traced(x, index)
    assert np.array_equal(made.numpy(), x.numpy()[::-1, :wide])
    assert "index" in steps_in_python(traced)


def test_a_column_is_read_and_written_where_it_lies():
    """What a replay works in does not grow with the matrix that a column is part of."""
    def f(x, index):
        x[index, 2] = x[index, 0] + 1
        return x
    traced = jit.trace(f)
    x, index = whet.zeros(100_000, 4), whet.tensor([5, 99_999, 5])
    for call in range(4):
        x[:, 0] = call
        traced(x, index)
        assert x[:, 2].nonzero().flatten().tolist() == [5, 99_999] and x[5, 2] == call + 1
    assert steps_in_python(traced) == []
    assert traced.explain(data=True)["paths"][0]["memory"]["arena"] < 1e6


def test_what_is_put_may_share_memory_with_where_it_goes():
    def f(x, index):
        x[index, 2] = x[:3, 2]
        return x
    traced = jit.trace(f)
    for _ in range(4):
        x = whet.arange(24.0).reshape(6, 4).clone()
        assert traced(x, whet.tensor([1, 2, 3]))[:, 2].tolist() == [2, 2, 6, 10, 18, 22]
