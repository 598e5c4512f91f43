"""The words in which kernels note bad data: each launch under way has two, which are clean when the
next one gets them."""
import pytest
import whet
from whet.cuda import deferred_errors

from tests.triton_runs import needs_triton

pytestmark = needs_triton
OUT = r"index 9 is out of bounds.*by `{}`"


@pytest.fixture
def few(monkeypatch, gpus_of):
    """(a vector, a bad index, a good one) on a device that has words for two launches."""
    monkeypatch.setattr(deferred_errors, "SLOTS", 2)
    gpus_of()
    return whet.arange(4.0).cuda(), whet.tensor([9]).cuda(), whet.tensor([1]).cuda()


def test_words_are_clean_when_others_get_them(few):
    x, bad, good = few
    for _ in range(3):
        with pytest.raises(IndexError, match=OUT.format("index")):
            x[bad].cpu()
        for _ in range(3):
            assert x[good].tolist() == [1.0]


def test_launches_that_are_under_way_have_words_of_their_own(few):
    x, bad, good = few
    x[good], x.index_select(0, bad)
    with pytest.raises(IndexError, match=OUT.format("index_select")):
        whet.cuda.synchronize()
    x[bad], x.index_select(0, good)
    with pytest.raises(IndexError, match=OUT.format("index")):
        whet.cuda.synchronize()
    whet.cuda.synchronize()
    assert x[good].tolist() == [1.0]


def test_where_no_words_are_left_what_was_noted_is_told(few):
    x, bad, good = few
    with pytest.raises(IndexError, match=OUT.format("index")):
        for index in (bad, good, good):
            x[index]
    assert [x[good] for _ in range(5)][-1].tolist() == [1.0]
    whet.cuda.synchronize()


def test_words_of_a_stream_that_nobody_waited_for_are_not_read_yet(gpus_of):
    """Its launch has written nothing there, or who waits for another stream would hear of it."""
    for seed in range(6):
        gpus_of(seed)
        x, bad = whet.arange(4.0).cuda(), whet.tensor([9]).cuda()
        s = whet.cuda.Stream()
        s.wait_stream(whet.cuda.current_stream())
        with whet.cuda.stream(s):
            x[bad]
        assert x.tolist() == [0, 1, 2, 3]
        with pytest.raises(IndexError, match=OUT.format("index")):
            s.synchronize()
