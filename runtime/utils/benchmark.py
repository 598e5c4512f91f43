"""Statements timed as `torch.utils.benchmark` times them: on a number of threads, in blocks that
are long enough for the clock, with the spread told beside the median.

    >>> from whet.utils import benchmark
    >>> t = benchmark.Timer("x @ x", setup="import whet; x = whet.ones(8, 8)", label="products")
    >>> t.timeit(100).number_per_run
    100

`Compare` puts several measurements side by side.
"""
from __future__ import annotations

import contextlib
import math
import statistics
import textwrap
import timeit as clock
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

import whet

__all__ = ["Compare", "Measurement", "Timer"]

UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))
NAMES = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
MOST_LOOPS = 1 << 30
# of the median: a spread between the quartiles that makes a measurement doubtful
WIDE = 0.1
RUNS = 5                         # fewer say nothing of the spread


def unit_of(seconds: float) -> tuple[str, float]:
    """The unit in which a time is printed, and its seconds."""
    return next(((u, s) for u, s in UNITS if seconds >= s), UNITS[-1])


class Measurement:
    """Times of a statement: `raw_times` are seconds of whole runs, each of `number_per_run`
    loops."""

    def __init__(self, number_per_run: int, raw_times: Iterable[float], timer: Timer) -> None:
        self.number_per_run, self.raw_times = number_per_run, list(raw_times)
        self.timer = timer

    @property
    def times(self) -> list[float]:
        """Seconds of one loop, by each run."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self) -> float:
        """The median of the times."""
        return statistics.median(self.times)

    @property
    def mean(self) -> float:
        """The mean of the times."""
        return statistics.fmean(self.times)

    @property
    def iqr(self) -> float:
        """How far the quartiles of the times lie apart."""
        if len(self.raw_times) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.times, n=4, method="inclusive")
        return high - low

    @property
    def has_warnings(self) -> bool:
        """Were there so few runs, or such a spread, that little can be said?"""
        return len(self.raw_times) < RUNS or self.iqr > WIDE * self.median

    @property
    def significant_figures(self) -> int:
        """The number of digits of the median that the spread leaves meaningful."""
        spread = max(self.iqr, self.median * 1e-4)
        return max(1, min(4, math.ceil(-math.log10(spread / self.median)) if self.median else 1))

    label = property(lambda self: self.timer.label)
    sub_label = property(lambda self: self.timer.sub_label or self.timer.stmt)
    description = property(lambda self: self.timer.description)
    num_threads = property(lambda self: self.timer.num_threads)
    env = property(lambda self: self.timer.env)

    @property
    def title(self) -> str:
        """The statement by the names that it was given."""
        t = self.timer
        return ": ".join(x for x in (t.label, t.sub_label) if x) or t.stmt

    def __repr__(self) -> str:
        unit, scale = unit_of(self.median)
        n = len(self.raw_times)
        lines = [f"<{__name__}.Measurement>", self.title]
        lines += [self.description] if self.description else []
        lines += [f"setup: {self.timer.setup}"] if self.timer.setup != "pass" else []
        lines.append(f"  {'Median: ' * (n > 1)}{self.median / scale:.2f} {unit}")
        if n > 1:
            low, _, high = statistics.quantiles(self.times, n=4, method="inclusive")
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} "
                         f"({low / scale:.2f} to {high / scale:.2f})")
        threads = f"{self.num_threads} thread{'s' * (self.num_threads > 1)}"
        lines.append(f"  {n} measurement{'s' * (n > 1)}, {self.number_per_run} "
                     f"runs {'per measurement, ' * (n > 1) or ', '}{threads}")
        if n >= RUNS and self.has_warnings:
            lines.append(f"  WARNING: Interquartile range is {self.iqr / self.median:.1%} of the "
                         "median measurement.")
        return "\n".join(lines)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Measurements of the same statement as one each."""
        groups: dict[Any, list[Measurement]] = {}
        for m in measurements:
            key = (m.label, m.sub_label, m.description, m.env, m.num_threads, m.number_per_run)
            groups.setdefault(key, []).append(m)
        return [Measurement(ms[0].number_per_run, [t for m in ms for t in m.raw_times],
                            ms[0].timer) for ms in groups.values()]


class Timer:
    """Times a statement. `globals` are the names that it knows, `num_threads` those that compute
    meanwhile."""

    def __init__(self, stmt: str = "pass", setup: str = "pass", global_setup: str = "",
                 timer: Callable[[], float] = clock.default_timer,
                 globals: dict[str, Any] | None = None, label: str | None = None,
                 sub_label: str | None = None, description: str | None = None,
                 env: str | None = None, num_threads: int = 1, language: Any = "python") -> None:
        if str(language).lower().rpartition(".")[2] not in ("python", "py"):
            raise ValueError("only statements of Python are timed")
        if not isinstance(stmt, str):
            raise ValueError("stmt must be a string")
        if global_setup:
            raise ValueError("global_setup is C++ only")
        self.stmt, self.setup = _lines_of(stmt), _lines_of(setup)
        self.label, self.sub_label, self.description = label, sub_label, description
        self.env, self.num_threads = env, num_threads
        self._timer = clock.Timer(self.stmt, self.setup, timer, {} if globals is None else globals)

    def _run(self, number: int) -> float:
        return max(self._timer.timeit(number), 1e-9)

    @contextlib.contextmanager
    def _threads(self) -> Iterator[None]:
        """So many threads compute inside. What is planned for others is forgotten: they change
        once a measurement, if at all."""
        before = whet.get_num_threads()
        if before != self.num_threads:
            whet.set_num_threads(self.num_threads)
        try:
            yield
        finally:
            if before != self.num_threads:
                whet.set_num_threads(before)

    def timeit(self, number: int = 1000000) -> Measurement:
        """One run of this number of loops, after a hundredth as many to warm up."""
        with self._threads():
            self._run(max(number // 100, 1))
            return Measurement(number, [self._run(number)], self)

    def repeat(self, repeat: int = -1, number: int = -1) -> Measurement:
        """PyTorch's has none either."""
        raise NotImplementedError("See `Timer.blocked_autorange`.")

    def _loops(self, seconds: float) -> int:
        """Loops of a run that takes so long, and so much that the clock's own steps do not
        count."""
        number = 1
        # The first run loads what later ones find.
        while min(self._run(number), self._run(number)) < seconds and number < MOST_LOOPS:
            number *= 10
        return number

    def blocked_autorange(self, callback: Callable[[int, float], Any] | None = None,
                          min_run_time: float = 0.2) -> Measurement:
        """Runs until they have taken `min_run_time` seconds, each a thousandth of it or longer."""
        return self._runs(min_run_time, callback, lambda m: True)

    def adaptive_autorange(self, threshold: float = 0.1, *, min_run_time: float = 0.01,
                           max_run_time: float = 10.0,
                           callback: Callable[[int, float], Any] | None = None) -> Measurement:
        """Runs until the quartiles lie less than `threshold` of the median apart."""
        def is_enough(m: Measurement) -> bool:
            return sum(m.raw_times) >= max_run_time or (
                len(m.raw_times) >= RUNS and m.iqr < threshold * m.median)
        return self._runs(min_run_time, callback, is_enough)

    def _runs(self, seconds: float, callback: Callable[[int, float], Any] | None,
              is_enough: Callable[[Measurement], bool]) -> Measurement:
        """Runs until they have taken so long, and are enough."""
        with self._threads():
            found = Measurement(self._loops(seconds / 1000), [], self)
            taken = 0.0
            while taken < seconds or not is_enough(found):
                found.raw_times.append(self._run(found.number_per_run))
                taken += found.raw_times[-1]
                if callback is not None:
                    callback(found.number_per_run, found.raw_times[-1])
            return found


def _lines_of(code: str) -> str:
    """Code that may be indented as a whole, as in a string of several lines."""
    return textwrap.dedent(code).strip() or "pass"


class Compare:
    """Measurements side by side: a table for each label, a row for each statement (`sub_label`), a
    column for each `description`, numbers of threads below each other."""

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results: list[Measurement] = []
        self._trims = self._highlights = self._rowwise = False
        self.extend_results(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """More measurements."""
        results = list(results)
        for r in results:
            if not isinstance(r, Measurement):
                raise ValueError(
                    f"Expected an instance of `Measurement`, got {type(r)} instead.")
        self._results += results

    def trim_significant_figures(self) -> None:
        """Show no more figures than the spread allows."""
        self._trims = True

    def colorize(self, rowwise: bool = False) -> None:
        """Mark the best of each column, or row, with a star."""
        self._highlights, self._rowwise = True, rowwise

    def highlight_warnings(self) -> None:
        """Doubtful ones are marked by `!` anyway."""

    def print(self) -> None:
        """Print the tables."""
        print(self)

    def __str__(self) -> str:
        merged = Measurement.merge(self._results)
        labels = dict.fromkeys(m.label or "" for m in merged)
        return "\n".join(self._table(label, [m for m in merged if (m.label or "") == label])
                         for label in labels)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.print()

    def _table(self, label: str, found: list[Measurement]) -> str:
        unit, scale = unit_of(min(m.median for m in found))
        columns = list(dict.fromkeys(m.description or "" for m in found))
        rows = sorted(dict.fromkeys((m.num_threads, m.env or "", m.sub_label) for m in found),
                      key=lambda row: row[0])
        cells = {((m.num_threads, m.env or "", m.sub_label), m.description or ""): m for m in found}
        best = self._best(cells, rows, columns)
        texts = {at: self._text(m, scale) + "*" * (at in best) for at, m in cells.items()}
        names = {r: f"{'(' + r[1] + ') ' if r[1] else ''}{r[2]}" for r in rows}
        left = max(6, *(len(n) + 6 for n in names.values()))
        widths = [max(len(c), *(len(texts.get((r, c), "")) for r in rows)) + 2 for c in columns]
        head = " " * left + "".join(f"|{c:^{w + 2}}" for c, w in zip(columns, widths, strict=True))
        lines = [f"[{f' {label} ' if label else '':-^{len(head) - 2}}]", head]
        threads = None
        for r in rows:
            if r[0] != threads:
                threads = r[0]
                lines.append(f"{f'{threads} threads: ':-<{len(head)}}")
            lines.append(f"      {names[r]:<{left - 6}}" + "".join(
                f"|{texts.get((r, c), ''):>{w}}  " for c, w in zip(columns, widths, strict=True)))
        return "\n".join([*lines, "", f"Times are in {NAMES[unit]} ({unit}).", ""])

    def _text(self, m: Measurement, scale: float) -> str:
        value = m.median / scale
        if self._trims and value:
            digits = m.significant_figures - 1 - math.floor(math.log10(value))
            value = round(value, digits)
            text = f"{value:.{max(digits, 0)}f}"
        else:
            text = f"{value:.1f}"
        return ("! " if len(m.raw_times) >= RUNS and m.has_warnings else "") + text

    def _best(self, cells: dict[Any, Measurement], rows: list[Any],
              columns: list[str]) -> set[Any]:
        """The cells that are marked."""
        if not self._highlights:
            return set()
        groups = ([[(r, c) for c in columns] for r in rows] if self._rowwise else
                  [[(r, c) for r in rows] for c in columns])
        known = [[at for at in g if at in cells] for g in groups]
        return {min(g, key=lambda at: cells[at].median) for g in known if len(g) > 1}
