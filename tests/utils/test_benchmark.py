"""`whet.utils.benchmark`: what is timed, and how it is told."""
import pytest
import whet
from whet.utils import benchmark
from whet.utils.benchmark import Compare, Measurement, Timer


class Clock:
    """A clock on which each loop of `work()` takes so long."""

    def __init__(self, seconds):
        self.seconds, self.now = seconds, 0.0

    def __call__(self):
        return self.now

    def work(self):
        self.now += self.seconds


def timer(seconds=2e-6, **kwargs):
    c = Clock(seconds)
    return Timer("work()", globals={"work": c.work}, timer=c, **kwargs), c


def test_one_run():
    t, c = timer(num_threads=2, label="sums", sub_label="short", description="ours")
    m = t.timeit(500)
    assert m.number_per_run == 500 and m.median == m.mean == pytest.approx(2e-6) and m.iqr == 0
    assert c.now == pytest.approx((500 + 5) * 2e-6)         # loops that warm up are not counted
    text = repr(m)
    assert "sums: short" in text and "2.00 us" in text and "500 runs , 2 threads" in text


def test_runs_until_enough_time_has_passed():
    t, _ = timer()
    seen = []
    m = t.blocked_autorange(lambda n, s: seen.append((n, s)), min_run_time=0.1)
    assert sum(m.raw_times) >= 0.1 and len(seen) == len(m.raw_times)
    assert m.raw_times[0] >= 0.1 / 1000 and m.median == pytest.approx(2e-6)
    assert not m.has_warnings and "measurements" in repr(m)


def test_a_spread_is_told():
    m = Measurement(10, [1e-3, 1e-3, 2e-3, 3e-3, 3e-3, 1e-3], timer()[0])
    assert m.iqr == pytest.approx(1.75e-4) and m.has_warnings and "WARNING" in repr(m)
    assert m.significant_figures == 1
    assert Measurement(10, [1e-3] * 6, timer()[0]).significant_figures == 4


def test_adaptive_runs_end_where_the_spread_is_small():
    t, c = timer(1e-5)
    m = t.adaptive_autorange(min_run_time=0.001)
    assert len(m.raw_times) >= 5 and c.now < 0.1


def test_threads_are_as_before(monkeypatch):
    before, seen = whet.get_num_threads(), []
    Timer("seen.append(whet.get_num_threads())", globals={"seen": seen, "whet": whet},
          num_threads=before + 1).timeit(1)
    assert {*seen} == {before + 1} and whet.get_num_threads() == before


def test_a_statement_of_several_lines():
    found = []
    Timer("""
        for k in range(3):
            found.append(k)
    """, setup="""
        start = 1
    """, globals={"found": found}).timeit(1)
    assert found == [0, 1, 2] * 2


def measured(seconds, **kwargs):
    return Measurement(10, [10 * seconds] * 6, timer(**kwargs)[0])


def test_a_table():
    results = [measured(s * n, label="products", sub_label=f"[{n}, {n}]", description=d,
                        num_threads=threads)
               for n in (8, 64) for threads in (1, 2)
               for d, s in (("ours", 1e-6), ("theirs", 3e-6))]
    table = str(Compare(results))
    lines = table.splitlines()
    assert lines[0].startswith("[-") and " products " in lines[0]
    assert "ours" in lines[1] and "theirs" in lines[1]
    assert [x.split(":")[0] for x in lines if "threads" in x] == ["1 threads", "2 threads"]
    assert "Times are in microseconds (us)." in table
    rows = [x for x in lines if "[64, 64]" in x]
    assert len(rows) == 2 and all("64.0" in r and "192.0" in r for r in rows)
    assert len({len(x) for x in lines[:-2] if x}) == 1      # all as wide


def test_marks_and_figures():
    compare = Compare([measured(1.23456e-3, description="a"), measured(2e-3, description="b")])
    compare.trim_significant_figures()
    compare.colorize(rowwise=True)
    assert "1.235*" in str(compare) and "2.000*" not in str(compare)
    compare.extend_results([measured(1e-4, description="c")])
    assert "100.0*" in str(compare)


def test_what_is_no_measurement():
    with pytest.raises(ValueError, match="Measurement"):
        Compare([3])
    with pytest.raises(ValueError, match="Python"):
        Timer("x", language="cpp")
    with pytest.raises(NameError):
        Timer("nobody_knows").timeit(1)


def test_a_real_statement():
    m = benchmark.Timer("x + x", globals={"x": whet.ones(8)}).blocked_autorange(min_run_time=0.01)
    assert 0 < m.median < 1e-3
