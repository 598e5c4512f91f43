"""Gathering kernels against NumPy: every item size, axis and split over threads; indices out of
range are found."""
import numpy as np
import pytest
from whet.cpu import gather, grid_sampling, taped_launches, thread_pool
from whet.cpu.duplicate_indices import COMBINATIONS

pytestmark = pytest.mark.skipif(gather.REFERENCE, reason="NumPy alone is wanted")


@pytest.mark.parametrize("dtype", ["?", "f2", "f4", "f8", "i8", "c8"])
@pytest.mark.parametrize("shape, axis",
                         [((7,), 0), ((5, 9), 0), ((5, 9), 1), ((40, 3, 4), 1), ((3, 4, 70), 0),
                          ((20, 30, 5), 2), ((1, 6, 1), 1)])
def test_along_is_take_along_axis(dtype, shape, axis):
    rng = np.random.default_rng(0)
    a = (rng.standard_normal(shape) * 100).astype(dtype)
    for count in (1, 5, 33):
        index = rng.integers(-shape[axis],
                             shape[axis], [count if d == axis else n for d, n in enumerate(shape)])
        out, fine = gather.along(a, index, axis, wrap=True)
        assert fine and out.tobytes() == np.take_along_axis(a, index, axis).tobytes()


@pytest.mark.parametrize("shape, axis",
                         [((7,), 0), ((5, 9), 0), ((5, 9), 1), ((40, 3, 4), 1), ((3, 4, 70), 0),
                          ((20, 30, 5), 2), ((4, 3, 0), 0)])
@pytest.mark.parametrize("dtype", ["i1", "f4", "f8"])
def test_rows_are_take(dtype, shape, axis):
    rng = np.random.default_rng(0)
    a = (rng.standard_normal(shape) * 100).astype(dtype)
    for count in (0, 1, 50):
        index = rng.integers(-shape[axis], shape[axis], count)
        out, fine = gather.rows(a, index, axis, wrap=True)
        assert fine and out.tobytes() == a.take(index, axis).tobytes()
        out, fine = gather.rows(a, index % shape[axis], axis)
        assert fine and out.tobytes() == a.take(index, axis).tobytes()


def test_rows_of_any_number_of_bytes():
    rng = np.random.default_rng(0)
    for size in [*range(1, 70), 127, 128, 129, 200]:
        a, index = rng.integers(0, 256, (5, size)).astype("u1"), np.array([4, 0, 4, 2])
        assert gather.rows(a, index, 0)[0].tobytes() == a[index].tobytes()


def test_bad_indices_are_found_and_nothing_is_read_there():
    a = np.arange(12.0).reshape(3, 4)
    for k in (4, -1, 2**62, -2**63 + 1):
        index = np.zeros((3, 5), np.int64)
        index[1, 2] = k
        assert not gather.along(a, index, 1)[1]
        for axis in (0, 1):
            for count in (2, 40):
                assert not gather.rows(a, np.array([0, k] * count), axis)[1]
    assert gather.along(a, np.full((3, 5), -4), 1, wrap=True)[1]
    assert not gather.along(a, np.full((3, 5), -5), 1, wrap=True)[1]
    assert (not gather.rows(a[:0], np.array([0]), 0)[1]
            and gather.rows(a[:0], np.zeros(0, np.int64), 0)[1])


INDICES_OF_SLICES = [((9, 5), 0), ((9, 5), 1), ((4, 6, 70), 1), ((20, 3, 4), 2), ((3, 40, 2), 0)]


def expanded(index, shape, axis):
    """A vector of indices as one of elements, without a copy."""
    at = [-1 if d == axis else 1 for d in range(len(shape))]
    return np.broadcast_to(index.reshape(at), [len(index) if d == axis else n
                                               for d, n in enumerate(shape)])


@pytest.mark.parametrize("shape, axis", INDICES_OF_SLICES)
@pytest.mark.parametrize("step", [1, 3, -1])
def test_an_expanded_index_names_slices(shape, axis, step):
    """The bits of an index that lies element by element, whatever steps the vector has."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal(shape).astype("f4")
    vector = rng.integers(0, shape[axis], 60)[::step]
    index = expanded(vector, shape, axis)
    assert gather.repeats(index, axis) and not gather.repeats(index.copy(), axis)
    out, fine = gather.along(a, index, axis)
    assert fine and out.tobytes() == gather.along(a, index.copy(), axis)[0].tobytes()
    source = rng.standard_normal(index.shape).astype("f4")
    for how in COMBINATIONS:
        by_slices, by_elements = a.copy(), a.copy()
        assert gather.put(by_slices, index, source, axis, how, each=True)
        assert gather.put(by_elements, index.copy(), source, axis, how, each=True)
        assert by_slices.tobytes() == by_elements.tobytes()


def test_a_bad_expanded_index_writes_nothing():
    a = np.arange(12.0, dtype="f4").reshape(3, 4)
    for k in (3, -1, 2**62):
        index = expanded(np.array([0, k]), (3, 4), 0)
        assert not gather.along(a, index, 0)[1]
        b = a.copy()
        assert not gather.put(b, index, np.ones((2, 4), "f4"), 0, "sum", each=True)
        assert (b == a).all()


def test_threads_share_the_work():
    before = thread_pool.get_num_threads()
    rng = np.random.default_rng(0)
    a, i = rng.standard_normal((300, 1000)).astype("f4"), rng.integers(0, 1000, (300, 1000))
    try:
        for threads in (1, 2, 4):
            thread_pool.set_num_threads(threads)
            assert (gather.along(a, i, 1)[0] == np.take_along_axis(a, i, 1)).all()
            assert (gather.rows(a, i[0] % 300, 0)[0] == a[i[0] % 300]).all()
    finally:
        thread_pool.set_num_threads(before)


@pytest.mark.parametrize("how", ["sum", "put", "amax"])
@pytest.mark.parametrize("lying", ["one element", "one row", "turned", "gaps"])
def test_a_source_that_does_not_lie_in_rows_is_put_by_a_kernel(lying, how):
    rng = np.random.default_rng(3)
    index = rng.integers(0, 7, 31)
    source = {"one element": np.broadcast_to(np.float32(2), (31, 5)),
              "one row": np.broadcast_to(rng.standard_normal(5).astype("f4"), (31, 5)),
              "turned": rng.standard_normal((5, 31)).astype("f4").T,
              "gaps": rng.standard_normal((31, 10)).astype("f4")[:, ::2]}[lying]
    made, wanted = (np.ones((7, 5), "f4") for _ in range(2))
    assert gather.put(made, index, source, 0, how)
    assert gather.put(wanted, index, source.copy(), 0, how)
    assert made.tobytes() == wanted.tobytes() and made.any()


def test_planes_are_sampled_where_they_lie():
    """An image that is shown many times, parts of channels and images in another order are not
    copied."""
    rng = np.random.default_rng(0)
    whole = rng.standard_normal((4, 6, 30)).astype("f4")
    places = [rng.integers(-1, 32, (4, 9)).astype("i4") for _ in range(2)]
    weights = [rng.standard_normal((4, 9)).astype("f4") for _ in places]
    for x in (np.broadcast_to(whole[:1], whole.shape), whole[:, 1::2], whole[::-1], whole):
        g = rng.standard_normal((*x.shape[:2], 9)).astype("f4")
        for sample, *operands in ((grid_sampling.sums, x, places, weights),
                                  (grid_sampling.products, x, g, places)):
            tape = taped_launches.Tape()
            made = tape.listen(sample, *operands)
            assert len(tape.launches) == 1
            of_copy = sample(x.copy(), *operands[1:])
            assert np.array(made).tobytes() == np.array(of_copy).tobytes()
